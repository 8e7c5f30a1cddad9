"""The model: a decoder-only transformer whose position encoding acts through hooks, in every layer or by layer.

Each token comes with its position ids. The outputs are next-token logits and, under predictive position coupling, a
prediction of the next token's ids. `lengthwise.models.kernels` computes the same function faster for training.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.models.attention_state import Cache, attention_bias, causal_mask, keys_seen
from lengthwise.models.config import Loops, ModelConfig
from lengthwise.models.initial_weights import draw_initial_weights
from lengthwise.models.mixers import AttentionSpec, MixerSpec
from lengthwise.models.position_head import IdPrediction, PositionHead
from lengthwise.models.recurrence import Recurrence
from lengthwise.nn.base import Modules, PositionEncoding, Scalars, ScoreContext
from lengthwise.nn.content import content_logits
from lengthwise.positions.encodings import EncodingShape, EncodingSpec


@dataclass
class TransformerOutput:
    """Next-token ``logits``; ``position`` holds one prediction of the next id per level, or nothing."""

    logits: Float[Tensor, "B Q V"]
    position: tuple[IdPrediction, ...] = ()


@dataclass(frozen=True)
class AttentionContext:
    """What attention needs besides the tokens' vectors: encoding, position ids, mask."""

    encoding: PositionEncoding
    query_ids: Int[Tensor, "B A L"]
    new_ids: Int[Tensor, "B Q L"]
    """Position ids of the call's tokens."""
    key_ids: Int[Tensor, "B T L"]
    """Position ids of all tokens so far, those in the cache included."""
    bias: Float[Tensor, "... A T"] | None
    """Added to the scores, with −∞ at the keys that a query must not see; None: nothing is added but a causal mask."""
    scale: Float[Tensor, "... A 1"] | None
    """The log-length factors of the queries."""
    query_index: Int[Tensor, " A"] | slice
    """Which of the call's tokens are queries."""

    def for_queries(self, index: Int[Tensor, " A"] | slice) -> AttentionContext:
        """The same for some of the call's tokens as queries; keys are all tokens still."""
        bias, tokens = self.bias, self.new_ids.shape[1]
        if bias is None and tokens > 1:
            bias = causal_mask(tokens, self.key_ids.shape[1], self.key_ids.device)
        return dataclasses.replace(
            self,
            query_ids=self.query_ids[:, index],
            bias=None if bias is None else bias[..., index, :],
            scale=None if self.scale is None else self.scale[..., index, :],
            query_index=index,
        )


class Attention(nn.Module):
    """Multi-head attention with optional QK-norm (a learned gain per head) and log-length scaling of the queries."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.head_width, self.dropout = config.heads, config.head_width, config.dropout
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=config.bias)
        self.out = nn.Linear(config.width, config.width, bias=config.bias)
        self.gain = Scalars(torch.ones(config.heads)) if config.qk_norm else None

    def forward(
        self, x: Float[Tensor, "B Q D"], context: AttentionContext, cache: Cache | None, layer: int
    ) -> Float[Tensor, "B A D"]:
        """softmax(q·k/√d + bias)·v of every head, side by side, times the output matrix."""
        q, k, v = self.project(x, context)
        if cache is not None:
            k = cache.extend(f"keys {layer}", k, axis=2)
            v = cache.extend(f"values {layer}", v, axis=2)
        dropout = self.dropout if self.training else 0.0
        if context.encoding.has_scores:
            weights = self.weights_by_content(q, k, x, context, cache, layer)
            mixed = functional.dropout(weights, dropout).to(v.dtype) @ v
            return self.out(mixed.transpose(1, 2).flatten(2))
        causal = context.bias is None and q.shape[2] > 1
        # A bias of another type than q is read wrongly by some kernels of torch.
        bias = None if context.bias is None else context.bias.to(q.dtype)
        mixed = functional.scaled_dot_product_attention(q, k, v, bias, dropout, causal)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def weights(self, x: Float[Tensor, "B Q D"], context: AttentionContext) -> Float[Tensor, "B H A T"]:
        """The attention weights of the queries; the context must hold its mask as a bias."""
        q, k, _ = self.project(x, context)
        if context.encoding.has_scores:
            return self.weights_by_content(q, k, x, context)
        scores = q @ k.mT / math.sqrt(self.head_width)
        return torch.softmax(scores if context.bias is None else scores + context.bias, dim=-1)

    def weights_by_content(
        self, q: Tensor, k: Tensor, x: Tensor, context: AttentionContext, cache: Cache | None = None, layer: int = 0
    ) -> Float[Tensor, "B H Q T"]:
        """The attention weights under an encoding that depends on content; all tokens of the call are queries."""
        queries = q.shape[2]
        if cache is not None:
            q = cache.extend(f"queries {layer}", q, axis=2)
            x = cache.extend(f"inputs {layer}", x, axis=1)
        tokens = ScoreContext.of_last(queries, q, k, x, context.key_ids, context.bias)
        return torch.softmax(content_logits(context.encoding, tokens), dim=-1, dtype=torch.float32)

    def project(self, x: Float[Tensor, "B Q D"], context: AttentionContext) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [B, H, A, d], keys and values [B, H, Q, d]; queries and keys are normed, rotated and scaled."""
        q, k, v = self.qkv(x).unflatten(2, (3, self.heads, self.head_width)).permute(2, 0, 3, 1, 4)
        q = q[:, :, context.query_index]
        if self.gain is not None:
            q = functional.rms_norm(q, (self.head_width,)) * self.gain(q)
            k = functional.rms_norm(k, (self.head_width,))
        q = context.encoding.rotate(q, context.query_ids)
        k = context.encoding.rotate_keys(k, context.new_ids)
        return q if context.scale is None else q * context.scale, k, v


class Block(nn.Module):
    """Attention (or another mixer) and MLP, each behind a norm (in Peri-LN between two), added to the residual stream.

    Another mixer is called ``attention``, too.
    """

    def __init__(self, config: ModelConfig, mixer: MixerSpec) -> None:
        super().__init__()
        self.norm1, self.norm2 = make_norm(config), make_norm(config)
        self.added1, self.added2 = make_added_norm(config), make_added_norm(config)
        plain = isinstance(mixer, AttentionSpec)
        self.attention = Attention(config) if plain else Recurrence(mixer.build(config.width, config.heads))
        self.up = nn.Linear(config.width, config.mlp_ratio * config.width, bias=config.bias)
        self.down = nn.Linear(config.mlp_ratio * config.width, config.width, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "B Q D"], context: AttentionContext, cache: Cache | None, layer: int
    ) -> Float[Tensor, "B A D"]:
        """One layer, at the context's queries."""
        attended = self.attention(self.norm1(x), context, cache, layer)
        x = x[:, context.query_index] + self.dropout(self.added1(attended))
        return x + self.dropout(self.added2(self.down(functional.gelu(self.up(self.norm2(x))))))


class Transformer(nn.Module):
    """A decoder-only transformer for one vocabulary, one encoding and ids of given level kinds."""

    def __init__(
        self, config: ModelConfig, encoding: EncodingSpec, vocab_size: int, shape: EncodingShape, predicts_ids: bool
    ) -> None:
        super().__init__()
        self.config, self.shape = config, shape
        self.table = nn.Embedding(vocab_size, config.width)
        self.encoding = encoding.build(shape)
        require(
            self.encoding.period <= config.layers,
            f"the pattern of encodings names {self.encoding.period} layers, but the model has {config.layers}; "
            "raise model.layers or shorten the pattern",
        )
        self.blocks = Modules[Block](Block(config, mixer) for mixer in config.mixers)
        self.norm = make_norm(config)
        self.head = None if config.tied else nn.Linear(config.width, vocab_size, bias=False)
        self.position_head = PositionHead(config, shape) if predicts_ids else None
        heads = [] if self.head is None else [self.head]
        draw_initial_weights(self, config, [*heads, *(self.position_head.tables() if self.position_head else ())])

    def forward(
        self,
        input_ids: Int[Tensor, "B Q"],
        position_ids: Int[Tensor, "B Q L"],
        *,
        cache: Cache | None = None,
        at: Int[Tensor, " S"] | slice | None = None,
        visible: Bool[Tensor, "B T"] | None = None,
        loops: Loops | None = None,
    ) -> TransformerOutput:
        """Logits after every token, or only after those ``at`` (positions within this call).

        With a ``cache`` the call's tokens follow those that the cache holds, which it then holds too. Of these T tokens
        those that are not ``visible`` are no keys of later tokens, in every layer; each still sees itself. ``loops``
        replaces the configured number; no gradient flows back through the free ones. Raises `LengthwiseError` when
        loops by tokens meet a cache.
        """
        pointing = self.position_head is not None and self.position_head.points
        require(
            cache is None or self.config.loops != "tokens",
            "a number of loops that grows with the tokens can't use a cache; pass whole sequences without one",
        )
        contexts = self.contexts(position_ids, cache, visible)
        x = start = self.embed(input_ids, position_ids)
        free, taught = loops or Loops(0, self.config.loops_for(input_ids.shape[1]))
        last = (free + taught) * len(self.blocks) - 1
        for step, context in enumerate(contexts * (free + taught)):
            if step > 0 and step % len(self.blocks) == 0:  # Every loop gets the input again.
                x = start + (x.detach() if step == free * len(self.blocks) else x)
            if step == last and at is not None and not (pointing or context.encoding.has_scores):
                # Of the last layer nothing else is read. A pointing head and scores by content read all tokens.
                context, at = context.for_queries(at), None
            x = self.blocks[step % len(self.blocks)](x, context, cache, step)
        hidden = self.norm(x)
        position: tuple[IdPrediction, ...] = ()
        if self.position_head is not None:
            position = self.position_head(hidden, contexts[0].key_ids, at, cache, visible)
        if cache is not None:
            cache.length += input_ids.shape[1]
        return TransformerOutput(self.logits(hidden if at is None else hidden[:, at]), position)

    def embed(self, input_ids: Int[Tensor, "B Q"], position_ids: Int[Tensor, "B Q L"]) -> Float[Tensor, "B Q D"]:
        """The tokens' vectors, plus those of their positions where the encoding adds any."""
        x, positions = self.table(input_ids), self.encoding.embed(position_ids)
        return x if positions is None else x + positions

    def logits(self, hidden: Float[Tensor, "*rest D"]) -> Float[Tensor, "*rest V"]:
        """A logit per token of the vocabulary, by the head or, if they are tied, by the token table."""
        return functional.linear(hidden, self.table.weight) if self.head is None else self.head(hidden)

    def attention(
        self, input_ids: Int[Tensor, "B T"], position_ids: Int[Tensor, "B T L"], at: slice
    ) -> Float[Tensor, "layers B H A T"]:
        """The attention weights of the queries ``at`` in every layer, loop by loop; every layer must have attention."""
        self.config.need_attention("showing attention weights")
        found, x = [], (start := self.embed(input_ids, position_ids))
        for step, context in enumerate(self.contexts(position_ids) * self.config.loops_for(input_ids.shape[1])):
            block = self.blocks[step % len(self.blocks)]
            x = x + start if step > 0 and step % len(self.blocks) == 0 else x
            # An encoding that depends on content needs all tokens as queries.
            some = not context.encoding.has_scores
            assert isinstance(block.attention, Attention)
            weights = block.attention.weights(block.norm1(x), context.for_queries(at if some else slice(None)))
            found.append(weights if some else weights[:, :, at])
            x = block(x, context, None, step)
        return torch.stack(found)

    def contexts(
        self, position_ids: Int[Tensor, "B Q L"], cache: Cache | None = None, visible: Tensor | None = None
    ) -> list[AttentionContext]:
        """What every layer's attention needs; layers with the same encoding share it."""
        if visible is not None:
            self.config.need_attention("hiding tokens")
        key_ids = position_ids if cache is None else cache.extend("ids", position_ids, axis=1)
        encodings = [self.encoding.layer(layer) for layer in range(len(self.blocks))]
        made = {
            encoding: self.context(encoding, position_ids, key_ids, visible) for encoding in dict.fromkeys(encodings)
        }
        return [made[encoding] for encoding in encodings]

    def context(
        self,
        encoding: PositionEncoding,
        ids: Int[Tensor, "B Q L"],
        key_ids: Int[Tensor, "B T L"],
        visible: Tensor | None,
    ) -> AttentionContext:
        """Masks, biases and log-length factors of one call under one encoding."""
        bias, scale = attention_bias(encoding, ids, key_ids, visible), None
        if self.config.log_length is not None:
            seen = keys_seen(encoding, ids.shape[1], key_ids.shape[1], visible, ids.device)
            count = seen[:, None] if visible is None else seen[:, None, :, None]
            scale = count.to(self.table.weight.dtype).log() / math.log(self.config.log_length)
        return AttentionContext(encoding, ids, ids, key_ids, bias, scale, slice(None))

    @property
    def parameter_count(self) -> int:
        """Number of trained parameters."""
        return sum(parameter.numel() for parameter in self.parameters())


def make_norm(config: ModelConfig) -> nn.RMSNorm | nn.LayerNorm:
    """RMSNorm or LayerNorm."""
    return nn.LayerNorm(config.width, bias=config.bias) if config.norm == "layer" else nn.RMSNorm(config.width)


def make_added_norm(config: ModelConfig) -> nn.Module:
    """The norm of what a layer adds to the residual stream: RMSNorm in Peri-LN, otherwise none."""
    return nn.RMSNorm(config.width) if config.norm == "peri" else nn.Identity()
