"""A pre-norm decoder-only transformer that hears positions through an encoding.

Input at each step is a token and its position ids; output are next-token logits and, under predictive position
coupling, next-id predictions, one per level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.models import feed_forward
from lengthwise.models.attention import Attention
from lengthwise.models.cache import Cache
from lengthwise.models.config import ModelConfig
from lengthwise.models.fixed_shapes import lowered, mlp
from lengthwise.models.layers import Linear, TokenTable, take, with_taken
from lengthwise.models.norms import RMSNorm
from lengthwise.models.position_head import IdPrediction, PositionHead
from lengthwise.models.ragged import RaggedSight, Segment
from lengthwise.models.sight import BatchSight, Sight
from lengthwise.models.softmax import causal_mask, hide
from lengthwise.nn.base import PositionEncoding
from lengthwise.nn.module_list import Modules
from lengthwise.positions.encodings import EncodingShape, EncodingSpec


@dataclass
class TransformerOutput:
    """Next-token ``logits``; ``position`` holds one prediction of the next id per level, or nothing."""

    logits: Float[Tensor, "B Q V"]
    position: tuple[IdPrediction, ...] = ()


class Block(nn.Module):
    """Attention and MLP, each behind a norm (in Peri-LN between two) and added to the residual stream."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm1, self.norm2 = make_norm(config), make_norm(config)
        self.added1, self.added2 = make_added_norm(config), make_added_norm(config)
        self.attention = Attention(config)
        self.up = Linear(config.width, config.mlp_ratio * config.width, bias=config.bias)
        self.down = Linear(config.mlp_ratio * config.width, config.width, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "B Q D"], encoding: PositionEncoding, sight: Sight, cache: Cache | None, layer: int
    ) -> Float[Tensor, "B A D"]:
        """One layer; of the queries that ``sight`` asks for, where it does not ask for all."""
        if sight.at is None:
            asked = normed = self.norm1(x)
        else:
            # A norm of its own costs less than to gather from the other's, and to scatter that gradient.
            whole, x = with_taken(x, sight.at)
            normed, asked = self.norm1(whole), self.norm1(x)
        x = x + self.dropout(self.added1(self.attention(asked, normed, encoding, sight, cache, layer)))
        return x + self.dropout(self.added2(self._mlp(self.norm2(x))))

    def _mlp(self, x: Float[Tensor, "B A D"]) -> Float[Tensor, "B A D"]:
        if isinstance(self.up, Linear) and lowered(x):
            return mlp(x, self.up.weight, self.up.bias, self.down.weight, self.down.bias)
        if feed_forward.serves(x):
            up, up_bias, down, down_bias = *self.up.whole(), *self.down.whole()
            return feed_forward.feed_forward(x, up, up_bias, down, down_bias)
        return self.down(functional.gelu(self.up(x)))


class Transformer(nn.Module):
    """A decoder-only transformer for one vocabulary, one encoding and ids of given level kinds."""

    def __init__(
        self, config: ModelConfig, encoding: EncodingSpec, vocab_size: int, shape: EncodingShape, predicts_ids: bool
    ) -> None:
        super().__init__()
        self.config, self.shape = config, shape
        self.table = TokenTable(vocab_size, config.width)
        self.encoding = encoding.build(shape)
        self.blocks = Modules[Block](Block(config) for _ in range(config.layers))
        self.norm = make_norm(config)
        self.head = None if config.tied else Linear(config.width, vocab_size, bias=False)
        self.position_head = PositionHead(config, shape) if predicts_ids else None
        self._init_weights()

    def forward(
        self,
        input_ids: Int[Tensor, "B Q"],
        position_ids: Int[Tensor, "B Q L"],
        *,
        cache: Cache | None = None,
        at: Int[Tensor, " S"] | slice | None = None,
        visible: Bool[Tensor, "B Q"] | None = None,
        segments: Sequence[Segment] | None = None,
    ) -> TransformerOutput:
        """Logits after every token, or only after those ``at`` (positions within this call).

        With a ``cache`` the call's tokens follow those that the cache holds, which it then holds too. Tokens that are
        not ``visible`` are no keys to any later token, in every layer; each still sees itself. With ``segments`` a row
        holds all sequences of one run (see `ragged`), and ``at`` are the positions that the segments score. Raises
        `LengthwiseError` when ``visible`` meets a cache or a head that points at ids, which don't know of it.
        """
        pointing = self.position_head is not None and self.position_head.points
        require(
            visible is None or (cache is None and not pointing),
            "hidden tokens need a forward pass without a cache and a model without a pointing id head; "
            "leave out visible or the cache, or use id_head classification",
        )
        dtype = self.table.weight.dtype
        if segments is None:
            sight: Sight = self._sight(position_ids, cache, visible)
            key_ids = sight.key_ids
        else:
            sight = RaggedSight.of(segments, position_ids, self.encoding, self.config.log_length, dtype)
            key_ids = position_ids
        x = self._embedded(input_ids, position_ids)
        # Nothing reads the last layer's other positions but their keys and values (and a pointing id head).
        narrow = at is not None and not pointing
        for layer, block in enumerate(self.blocks):
            if narrow and layer == len(self.blocks) - 1:
                assert at is not None
                sight, at = sight.narrowed(at, dtype), None
            x = block(x, self.encoding, sight, cache, layer)
        hidden = self.norm(x)
        asked = hidden if at is None else take(hidden, at)
        logits = self.table.scores(asked) if self.head is None else self.head(asked)
        position: tuple[IdPrediction, ...] = ()
        if self.position_head is not None:
            position = self.position_head(hidden, key_ids, at, cache, segments)
        if cache is not None:
            cache.length += input_ids.shape[1]
        return TransformerOutput(logits, position)

    def attention(
        self, input_ids: Int[Tensor, "B T"], position_ids: Int[Tensor, "B T L"], at: slice
    ) -> Float[Tensor, "layers B H A T"]:
        """The attention weights of the queries ``at`` in every layer."""
        sight = self._sight(position_ids, None)
        x = self._embedded(input_ids, position_ids)
        asked = sight.narrowed(at, x.dtype)
        found = []
        for layer, block in enumerate(self.blocks):
            assert isinstance(block, Block)
            found.append(block.attention.weights(block.norm1(x)[:, at], block.norm1(x), self.encoding, asked))
            if layer < len(self.blocks) - 1:
                x = block(x, self.encoding, sight, None, layer)
        return torch.stack(found)

    def _embedded(self, input_ids: Tensor, position_ids: Tensor) -> Float[Tensor, "B Q D"]:
        """Token vectors, with positions where the encoding adds them."""
        x = self.table(input_ids)
        positions = self.encoding.embed(position_ids)
        return x if positions is None else x + positions

    def _sight(self, position_ids: Tensor, cache: Cache | None, visible: Tensor | None = None) -> BatchSight:
        """Masks, biases and factors are the same in all layers, so they are made once."""
        key_ids = position_ids if cache is None else cache.extend("ids", position_ids, axis=1)
        queries, keys = position_ids.shape[1], key_ids.shape[1]
        past = keys - queries
        device = position_ids.device
        bias = self.encoding.bias(position_ids, key_ids)
        if visible is not None:
            bias = hide(visible, self.table.weight.dtype, bias)
        causal = queries > 1
        if causal and (bias is not None or past):
            bias, causal = causal_mask(queries, keys, device, self.table.weight.dtype, bias), False
        scale = None
        if self.config.log_length is not None:
            count = torch.arange(past + 1, keys + 1, device=device, dtype=self.table.weight.dtype)
            if visible is not None:
                # A hidden token counts for itself only.
                count = (visible.cumsum(1) + ~visible)[:, None].to(self.table.weight.dtype)
            scale = (count.log() / math.log(self.config.log_length))[..., None]
        return BatchSight(position_ids, scale, None, key_ids, bias, causal)

    @torch.no_grad()
    def _init_weights(self) -> None:
        config = self.config
        residual = 1 / math.sqrt(2 * config.layers)
        for name, module in self.named_modules():
            if name.startswith("encoding"):
                continue
            if isinstance(module, nn.Linear):
                std = 0.02 if config.init == "small" else 1 / math.sqrt(module.in_features)
                if config.init == "fan_in" and name.endswith(("attention.out", "down")):
                    std *= residual
                nn.init.normal_(module.weight, std=std)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=config.table_std if config.init == "small" else 1.0)
        if config.init == "small":
            for module in (self.head, *(self.position_head.tables() if self.position_head else ())):
                if module is not None:
                    nn.init.normal_(module.weight, std=config.table_std)

    @property
    def parameter_count(self) -> int:
        """Number of trained numbers."""
        return sum(parameter.numel() for parameter in self.parameters())


def make_norm(config: ModelConfig) -> nn.Module:
    """RMSNorm or LayerNorm."""
    return nn.LayerNorm(config.width, bias=config.bias) if config.norm == "layer" else RMSNorm(config.width)


def make_added_norm(config: ModelConfig) -> nn.Module:
    """The norm of what a layer adds to the residual stream: RMSNorm in Peri-LN, otherwise none."""
    return RMSNorm(config.width) if config.norm == "peri" else nn.Identity()
