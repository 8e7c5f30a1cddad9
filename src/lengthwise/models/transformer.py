"""The whole model in one file: a pre-norm decoder-only transformer that hears positions through an encoding.

Input at each step is a token and its position ids; output are next-token logits and, under predictive position
coupling, next-id predictions, one per level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.models.config import ModelConfig
from lengthwise.models.layers import Linear, TokenTable
from lengthwise.models.position_head import IdPrediction, PositionHead
from lengthwise.positions.encodings import EncodingShape, EncodingSpec
from lengthwise.positions.encodings.module_list import Modules
from lengthwise.positions.encodings.modules import PositionEncoding, Scalars


@dataclass
class TransformerOutput:
    """Next-token ``logits``; ``position`` holds one prediction of the next id per level, or nothing."""

    logits: Float[Tensor, "B Q V"]
    position: tuple[IdPrediction, ...] = ()


@dataclass
class Cache:
    """Keys and values of the tokens so far, in buffers of ``capacity`` tokens that never grow."""

    capacity: int
    length: int = 0
    keys: list[Tensor] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)
    ids: Tensor | None = None
    pointers: list[Tensor] = field(default_factory=list)

    def extend(self, name: str, new: Tensor, *, layer: int | None = None, axis: int) -> Tensor:
        """Write ``new`` behind what the buffer holds; returns all of it so far."""
        buffer = self._buffer(name, new, layer, axis)
        end = self.length + new.shape[axis]
        buffer.narrow(axis, self.length, new.shape[axis]).copy_(new)
        return buffer.narrow(axis, 0, end)

    def _buffer(self, name: str, new: Tensor, layer: int | None, axis: int) -> Tensor:
        store = getattr(self, name)
        missing = store is None if layer is None else len(store) <= layer
        if missing:
            shape = list(new.shape)
            shape[axis] = self.capacity
            fresh = new.new_empty(shape)
            if layer is None:
                setattr(self, name, fresh)
            else:
                store.append(fresh)
        store = getattr(self, name)
        return store if layer is None else store[layer]

    def select(self, rows: Tensor) -> None:
        """Keep some rows of the batch only."""
        self.keys = [keys[rows] for keys in self.keys]
        self.values = [values[rows] for values in self.values]
        self.ids = None if self.ids is None else self.ids[rows]
        self.pointers = [keys[rows] for keys in self.pointers]


@dataclass(frozen=True)
class Sight:
    """What attention of this call may see: ids of new tokens and all keys, the additive bias, the log-length factor.

    ``at`` limits the queries to A of the new tokens; ids are those of all new tokens still.
    """

    ids: Int[Tensor, "B Q L"]
    key_ids: Int[Tensor, "B T L"]
    bias: Float[Tensor, "*rows A T"] | None
    causal: bool
    scale: Float[Tensor, "... A 1"] | None
    at: Int[Tensor, " S"] | slice | None = None

    def narrowed(self, at: Int[Tensor, " S"] | slice, dtype: torch.dtype) -> Sight:
        """The same for the queries ``at`` only."""
        bias = self.bias
        if bias is None and self.causal:
            bias = causal_mask(self.ids.shape[1], self.key_ids.shape[1], self.ids.device, dtype)
        return Sight(
            self.ids,
            self.key_ids,
            None if bias is None else bias[..., at, :],
            False,
            None if self.scale is None else self.scale[..., at, :],
            at,
        )


class Attention(nn.Module):
    """Multi-head attention with optional QK-norm (learned gain per head) and log-length scaling of the queries."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.head_width, self.dropout = config.heads, config.head_width, config.dropout
        self.qkv = Linear(config.width, 3 * config.width, bias=config.bias)
        self.out = Linear(config.width, config.width, bias=config.bias)
        self.gain = Scalars(torch.ones(config.heads)) if config.qk_norm else None

    def forward(
        self, x: Float[Tensor, "B Q D"], encoding: PositionEncoding, sight: Sight, cache: Cache | None, layer: int
    ) -> Float[Tensor, "B A D"]:
        """Attend to everything visible, from the queries that ``sight`` asks for."""
        q, k, v = self._projected(x, encoding, sight)
        if cache is not None:
            k = cache.extend("keys", k, layer=layer, axis=2)
            v = cache.extend("values", v, layer=layer, axis=2)
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=sight.bias, is_causal=sight.causal, dropout_p=dropout
        )
        return self.out(mixed.transpose(1, 2).flatten(2))

    def weights(self, x: Float[Tensor, "B Q D"], encoding: PositionEncoding, sight: Sight) -> Float[Tensor, "B H A T"]:
        """The attention weights of the queries that ``sight`` asks for; ``sight`` must carry its mask as a bias."""
        q, k, _ = self._projected(x, encoding, sight)
        logits = q @ k.mT / math.sqrt(self.head_width)
        return torch.softmax(logits if sight.bias is None else logits + sight.bias, dim=-1)

    def _projected(self, x: Tensor, encoding: PositionEncoding, sight: Sight) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of the asked tokens, keys and values of all: normed, rotated and scaled, [B, heads, A or Q, d]."""
        if sight.at is None:
            q, k, v = self._heads(self.qkv(x), 3)
            query_ids = sight.ids
        else:
            asked, rest = self.qkv.parted(x[:, sight.at], x, x.shape[2])
            (q,), (k, v) = self._heads(asked, 1), self._heads(rest, 2)
            query_ids = sight.ids[:, sight.at]
        if self.gain is not None:
            q = functional.rms_norm(q, (self.head_width,)) * self.gain(q)
            k = functional.rms_norm(k, (self.head_width,))
        q, k = encoding.rotate(q, query_ids), encoding.rotate(k, sight.ids)
        if sight.scale is not None:
            q = q * sight.scale
        return q, k, v

    def _heads(self, x: Float[Tensor, "B Q E"], parts: int) -> tuple[Tensor, ...]:
        """Split into ``parts`` tensors of shape [B, heads, Q, head width]."""
        return x.unflatten(2, (parts, self.heads, self.head_width)).permute(2, 0, 3, 1, 4).unbind(0)


def hide(
    visible: Bool[Tensor, "B T"], dtype: torch.dtype, bias: Float[Tensor, "*rows T T"] | None
) -> Float[Tensor, "B H T T"]:
    """``bias`` (or zeros) with −∞ at hidden keys, except for a token's own query, which must see something."""
    tokens = visible.shape[1]
    hidden = ~visible[:, None, None, :] & ~torch.eye(tokens, dtype=torch.bool, device=visible.device)
    base = torch.zeros(len(visible), 1, tokens, tokens, device=visible.device, dtype=dtype) if bias is None else bias
    return base.masked_fill(hidden, -math.inf)


def causal_mask(
    queries: int, keys: int, device: torch.device, dtype: torch.dtype, bias: Tensor | None = None
) -> Float[Tensor, "*rows Q T"]:
    """``bias`` (or zeros) with −∞ at keys behind the query, when the last key is the last query's own."""
    index = torch.arange(keys, device=device)
    base = torch.zeros(queries, keys, device=device, dtype=dtype) if bias is None else bias
    return base.masked_fill(index[None, :] > index[keys - queries :, None], -math.inf)


def attention_reference(
    q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H T d"], v: Float[Tensor, "B H T d"], bias: Tensor | None
) -> Float[Tensor, "B H Q d"]:
    """The slow, obvious formula: softmax(q·k/√d + bias) over the keys up to the query. The oracle of the fast path."""
    queries, keys = q.shape[2], k.shape[2]
    logits = q @ k.mT / math.sqrt(q.shape[3])
    if bias is not None:
        logits = logits + bias
    visible = torch.arange(keys)[None, :] <= torch.arange(queries)[:, None] + keys - queries
    return torch.softmax(logits.masked_fill(~visible, -math.inf), dim=-1) @ v


class Block(nn.Module):
    """Attention and MLP, each behind a norm and added to the residual stream."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm1, self.norm2 = make_norm(config), make_norm(config)
        self.attention = Attention(config)
        self.up = Linear(config.width, config.mlp_ratio * config.width, bias=config.bias)
        self.down = Linear(config.mlp_ratio * config.width, config.width, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "B Q D"], encoding: PositionEncoding, sight: Sight, cache: Cache | None, layer: int
    ) -> Float[Tensor, "B A D"]:
        """One layer; of the queries that ``sight`` asks for, where it does not ask for all."""
        mixed = self.attention(self.norm1(x), encoding, sight, cache, layer)
        x = (x if sight.at is None else x[:, sight.at]) + self.dropout(mixed)
        return x + self.dropout(self.down(functional.gelu(self.up(self.norm2(x)))))


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
    ) -> TransformerOutput:
        """Logits after every token, or only after those ``at`` (positions within this call).

        With a ``cache`` the call's tokens follow those that the cache holds, which it then holds too. Tokens that are
        not ``visible`` are no keys to any later token, in every layer; each still sees itself. Raises
        `LengthwiseError` when ``visible`` meets a cache or a head that points at ids, which don't know of it.
        """
        pointing = self.position_head is not None and self.position_head.points
        require(
            visible is None or (cache is None and not pointing),
            "hidden tokens need a forward pass without a cache and a model without a pointing id head; "
            "leave out visible or the cache, or use id_head classification",
        )
        sight = self._sight(position_ids, cache, visible)
        x = self._embedded(input_ids, position_ids)
        # Nothing reads the last layer's other positions but their keys and values (and a pointing id head).
        narrow = at is not None and not pointing
        for layer, block in enumerate(self.blocks):
            if narrow and layer == len(self.blocks) - 1:
                assert at is not None
                sight, at = sight.narrowed(at, x.dtype), None
            x = block(x, self.encoding, sight, cache, layer)
        hidden = self.norm(x)
        asked = hidden if at is None else hidden[:, at]
        logits = self.table.scores(asked) if self.head is None else self.head(asked)
        position: tuple[IdPrediction, ...] = ()
        if self.position_head is not None:
            position = self.position_head(hidden, sight.key_ids, at, cache)
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
            found.append(block.attention.weights(block.norm1(x), self.encoding, asked))
            if layer < len(self.blocks) - 1:
                x = block(x, self.encoding, sight, None, layer)
        return torch.stack(found)

    def _embedded(self, input_ids: Tensor, position_ids: Tensor) -> Float[Tensor, "B Q D"]:
        """Token vectors, with positions where the encoding adds them."""
        x = self.table(input_ids)
        positions = self.encoding.embed(position_ids)
        return x if positions is None else x + positions

    def _sight(self, position_ids: Tensor, cache: Cache | None, visible: Tensor | None = None) -> Sight:
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
        return Sight(position_ids, key_ids, bias, causal, scale)

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
    return nn.RMSNorm(config.width) if config.norm == "rms" else nn.LayerNorm(config.width, bias=config.bias)
