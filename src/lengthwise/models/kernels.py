"""The transformer computed faster, for training: flat batches without padding, stacks of runs, own backward passes.

`optimize` is the one way in. The model that defines the function is `lengthwise.models.transformer`; the law
tests/laws/test_kernels.py holds both equal, gradients too. docs/performance.md says what each part gains.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.models.attention_state import attention_bias, causal_mask, keys_seen
from lengthwise.models.config import Loops
from lengthwise.models.inputs import FlatGroup, flat_positions
from lengthwise.models.position_head import Classification, IdPrediction, Pointer, PointerLevel, PositionHead, point
from lengthwise.models.recurrence import Recurrence
from lengthwise.models.transformer import Attention, Block, Transformer, TransformerOutput
from lengthwise.nn.base import Modules, PositionEncoding, Scalars, ScoreContext
from lengthwise.nn.content import content_logits
from lengthwise.nn.recurrence import Learned


@dataclass(frozen=True)
class FlatContext:
    """`AttentionContext` of a flat batch: a bias per group, or None where the mask is causal and nothing is added."""

    encoding: PositionEncoding
    groups: tuple[FlatGroup, ...]
    ids: Int[Tensor, "R N L"]
    biases: tuple[Tensor | None, ...]
    """Of each group, [*rows, queries, keys]."""
    scale: Float[Tensor, "*runs A 1"] | None
    query_index: Int[Tensor, " A"] | None = None
    """The tokens that are queries, as positions on the flat axis; None: all."""

    @classmethod
    def of(
        cls, encoding: PositionEncoding, groups: Sequence[FlatGroup], ids: Int[Tensor, "R N L"],
        log_length: int | None,
    ) -> FlatContext:  # fmt: skip
        """Masks, biases and log-length factors of all groups."""
        biases, counts = [], []
        for group, part in zip(groups, ids.split([g.size for g in groups], dim=1), strict=True):
            own, tokens = group.sequences(part), group.tokens
            biases.append(attention_bias(encoding, own, own, None))
            counts.append(keys_seen(encoding, tokens, tokens, None, ids.device).repeat(group.rows))
        scale = None
        if log_length is not None:
            scale = (torch.cat(counts, dim=-1).float().log() / math.log(log_length))[..., None]
        return cls(encoding, tuple(groups), ids, tuple(biases), scale)

    def for_queries(self, at: Int[Tensor, " A"]) -> FlatContext:
        """The same for the groups' scored positions as queries; they lie ``at`` on the flat axis."""
        biases = []
        for group, bias in zip(self.groups, self.biases, strict=True):
            if bias is None:
                bias = causal_mask(group.tokens, group.tokens, self.ids.device)
            biases.append(bias[..., group.at, :])
        scale = None if self.scale is None else self.scale[..., at, :]
        return dataclasses.replace(self, biases=tuple(biases), scale=scale, query_index=at)

    @property
    def query_ids(self) -> Int[Tensor, "R A L"]:
        return self.ids if self.query_index is None else self.ids[:, self.query_index]

    def attend(
        self,
        q: Float[Tensor, "R H A d"],
        k: Float[Tensor, "R G N d"],
        v: Float[Tensor, "R F N e"],
        dropout: float,
        x: Float[Tensor, "R N D"] | None = None,
    ) -> Float[Tensor, "R A E"]:
        """Attention of every group, heads side by side; F and G are H, or 1 where all heads share keys or values.

        ``x`` is the layer's input, for an encoding that depends on content; all tokens are queries then.
        """
        sizes = [group.size for group in self.groups]
        queries = sizes if self.query_index is None else [group.scored for group in self.groups]
        keys = k.split(sizes, 2)
        # Where the same vectors are both, their gradients need to be put together only once.
        values = keys if v is k else v.split(sizes, 2)
        inputs = [None] * len(sizes) if x is None else x.split(sizes, 1)
        flat = zip(
            self.groups, self.biases, inputs, self.ids.split(sizes, 1), q.split(queries, 2), keys, values, strict=True
        )
        found = []
        for group, bias, own, ids, *parts in flat:
            query, key, value = (part.unflatten(2, (group.rows, -1)).transpose(1, 2).flatten(0, 1) for part in parts)
            if own is None:
                result = attention(query, key, value, bias, dropout)
            else:
                tokens = (group.sequences(own), group.sequences(ids))
                logits = content_logits(self.encoding, ScoreContext.of_last(group.tokens, query, key, *tokens, bias))
                weights = functional.dropout(torch.softmax(logits.float(), dim=-1), dropout).to(value.dtype)
                result = weights @ value
            found.append(result.transpose(1, 2).reshape(len(q), -1, *result.shape[1::2]))
        return torch.cat(found, dim=1).flatten(2)

    def counts(self) -> tuple[int, int, int]:
        """Queries, keys and pairs of them, of one run."""
        queries = [g.size if self.query_index is None else g.scored for g in self.groups]
        pairs = sum(g.tokens * count for g, count in zip(self.groups, queries, strict=True))
        return sum(queries), sum(g.size for g in self.groups), pairs


def attention(
    q: Float[Tensor, "B H A d"],
    k: Float[Tensor, "B G T d"],
    v: Float[Tensor, "B F T e"],
    bias: Float[Tensor, "*rows A T"] | None,
    dropout: float,
) -> Float[Tensor, "B H A e"]:
    """softmax(q·k/√d + bias)·v; without a bias the mask is causal.

    In bf16 on a CPU by plain products: the backward pass of torch's kernel takes 3 to 10 times as long there.
    """
    if v.shape[1] < q.shape[1]:
        return attention_shared(q, k, v[:, 0], bias)
    if not is_cpu_bf16(v):
        # A bias of another type than q is read wrongly by some kernels of torch.
        typed = None if bias is None else bias.to(q.dtype)
        return functional.scaled_dot_product_attention(q, k, v, typed, dropout, is_causal=bias is None)
    if bias is None:
        bias = causal_mask(q.shape[2], k.shape[2], q.device)
    shape = (*q.shape[:3], k.shape[2])
    bias = bias if bias.ndim == 2 else bias.expand(shape).flatten(0, 1)
    rows, keys = (x.flatten(0, 1).to(v.dtype) for x in (q, k))
    scores = torch.baddbmm(bias.to(v.dtype), rows, keys.mT, alpha=1 / math.sqrt(q.shape[3]))
    weights = functional.dropout(torch.softmax(scores.float(), dim=-1).to(v.dtype), dropout)
    return torch.bmm(weights, v.flatten(0, 1)).view(q.shape)


def is_cpu_bf16(x: Tensor) -> bool:
    """Whether autocast now makes products of ``x`` in bf16 on a CPU."""
    on = x.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    return on and torch.get_autocast_dtype("cpu") == torch.bfloat16


def attention_shared(
    q: Float[Tensor, "B H A d"], k: Float[Tensor, "B G T d"], v: Float[Tensor, "B T e"], bias: Tensor | None
) -> Float[Tensor, "B H A e"]:
    """`attention` with values that all heads share: one product with heads and queries side by side."""
    scores = q @ k.mT if k.shape[1] == q.shape[1] else (q.flatten(1, 2) @ k[:, 0].mT).unflatten(1, q.shape[1:3])
    scores = scores / math.sqrt(q.shape[3])
    weights = torch.softmax(scores if bias is None else scores + bias, dim=-1).to(v.dtype)
    return (weights.flatten(1, 2) @ v).unflatten(1, q.shape[1:3])


def rms_norm(
    x: Float[Tensor, "RB *rest D"],
    weight: Float[Tensor, "R D"] | None = None,
    eps: float | None = None,
    *,
    gain: Float[Tensor, "... 1"] | None = None,
) -> Float[Tensor, "RB *rest D"]:
    """RMSNorm over the last axis, scaled by each run's own ``weight``; ``eps`` defaults to the type's epsilon.

    A ``gain``, instead of a weight, is one number per vector, or one that several share. On a CPU gradients cannot be
    differentiated again.
    """
    if x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64):
        eps = torch.finfo(x.dtype).eps if eps is None else eps
        if weight is None:
            return _GainedRMSNorm.apply(x, gain, eps)  # type: ignore[return-value]
        return _RMSNorm.apply(x, weight, eps)  # type: ignore[return-value]
    normed = functional.rms_norm(x, x.shape[-1:], eps=eps)
    if weight is not None:
        normed = (normed.reshape(len(weight), -1, x.shape[-1]) * weight[:, None]).view_as(x)
    return normed if gain is None else normed * gain


class _RMSNorm(torch.autograd.Function):
    """Keeps x and r = 1/√(mean(x²) + ε). With u = g·w: ∂x = r·(u − x·r²·mean(u·x)), ∂w = Σ r·g·x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        factor = _factor(x, eps)
        ctx.save_for_backward(x, factor, weight)
        result = (x * factor).contiguous()
        result.view(len(weight), -1, x.shape[-1]).mul_(weight[:, None])
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:  # type: ignore[override]
        x, factor, weight = ctx.saved_tensors
        by_run = (grads[0] * x).reshape(len(weight), -1, x.shape[-1])
        to_weight = None
        # Sums as products of matrices; autocast must not make bf16 of them.
        with torch.autocast("cpu", enabled=False):
            if ctx.needs_input_grad[1]:
                to_weight = (factor.reshape(len(weight), 1, -1) @ by_run)[:, 0]
            if not ctx.needs_input_grad[0]:
                return None, to_weight, None
            dot = (by_run @ weight[:, :, None]).view(factor.shape)
        scaled = torch.mul(grads[0].reshape(by_run.shape), weight[:, None], out=by_run).view(x.shape)
        return _to_input(scaled, x, factor, factor, dot, scaled), to_weight, None


class _GainedRMSNorm(torch.autograd.Function):
    """The same with a gain c per vector, or 1, instead of w: ∂c = Σ r·g·x, and ∂x has g for u and c·r for its first r.

    So the gain costs no pass over x of its own.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor | None, eps: float) -> Tensor:
        factor = _factor(x, eps)
        ctx.save_for_backward(x, factor, gain)
        return x * (factor if gain is None else factor * gain)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None, None]:  # type: ignore[override]
        x, factor, gain = ctx.saved_tensors
        along = grads[0] * x
        dot = along.sum(-1, keepdim=True)
        to_gain = (dot * factor).sum_to_size(gain.shape) if ctx.needs_input_grad[1] else None
        scale = factor if gain is None else factor * gain
        return _to_input(grads[0], x, factor, scale, dot, along), to_gain, None


def _factor(x: Float[Tensor, "*rows D"], eps: float) -> Float[Tensor, "*rows 1"]:
    size = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return size.square_().div_(x.shape[-1]).add_(eps).rsqrt_()


def _to_input(
    grad: Float[Tensor, "*rows D"], x: Float[Tensor, "*rows D"], factor: Float[Tensor, "*rows 1"],
    scale: Float[Tensor, "*rows 1"], dot: Float[Tensor, "*rows 1"], out: Float[Tensor, "*rows D"],
) -> Float[Tensor, "*rows D"]:  # fmt: skip
    """scale·(grad − x·r²·dot/D), written to ``out``, which is still in cache."""
    share = factor.square().mul_(dot).mul_(-1 / x.shape[-1])
    return torch.addcmul(grad, x, share, out=out).mul_(scale)


WeightAndBias = tuple[Tensor, Tensor | None]
"""Weight and bias with the run as their first axis; of a linear layer [R, E, D] and [R, E], for some or all outputs."""


class RunLayer(nn.Module):
    """A layer with a weight, and a bias or None: of one model, or of a stack, with the run as their first axis."""

    weight: nn.Parameter
    bias: nn.Parameter | None
    dimensions: int
    """Those of the weight of one model."""

    def weights(self) -> WeightAndBias:
        if self.weight.ndim > self.dimensions:
            return self.weight, self.bias
        return self.weight[None], None if self.bias is None else self.bias[None]


class RunLinear(RunLayer, nn.Linear):  # pyright: ignore[reportIncompatibleVariableOverride]
    """One batched product."""

    def forward(self, input: Float[Tensor, "RB *rest D"]) -> Float[Tensor, "RB *rest E"]:
        return product(input, *self.weights())

    def parts(self, sizes: Sequence[int]) -> list[WeightAndBias]:
        """The outputs in pieces of these sizes; multiply by `product`."""
        weight, bias = self.weights()
        biases = [None] * len(sizes) if bias is None else bias.split(list(sizes), 1)
        return list(zip(weight.split(list(sizes), 1), biases, strict=True))


class RunEmbedding(RunLayer, nn.Embedding):  # pyright: ignore[reportIncompatibleVariableOverride]
    """One gather from the runs' tables laid end to end.

    `index_select` has a faster backward pass on a CPU than `embedding`.
    """

    def forward(self, input: Int[Tensor, "*any"]) -> Float[Tensor, "*any D"]:
        tables, ids = self.weights()[0], input
        runs, size, width = tables.shape
        if runs > 1:
            offsets = torch.arange(0, runs * size, size, device=ids.device)
            ids = (ids.reshape(runs, -1) + offsets[:, None]).view(ids.shape)
        return tables.flatten(0, 1).index_select(0, ids.flatten()).view(*ids.shape, width)


class RunRMSNorm(RunLayer, nn.RMSNorm):  # pyright: ignore[reportIncompatibleVariableOverride]
    """Every run with its own weight."""

    def forward(self, x: Float[Tensor, "RB *rest D"]) -> Float[Tensor, "RB *rest D"]:
        return rms_norm(x, self.weights()[0], self.eps)


class RunLayerNorm(RunLayer, nn.LayerNorm):  # pyright: ignore[reportIncompatibleVariableOverride]
    """Every run with its own weight and bias."""

    def forward(self, input: Float[Tensor, "RB *rest D"]) -> Float[Tensor, "RB *rest D"]:
        (weight, bias), shape = self.weights(), self.normalized_shape
        if len(weight) == 1:
            return functional.layer_norm(input, shape, weight[0], None if bias is None else bias[0], self.eps)
        normed = functional.layer_norm(input, shape, eps=self.eps).reshape(len(weight), -1, input.shape[-1])
        normed = normed * weight[:, None]
        return (normed if bias is None else normed + bias[:, None]).view_as(input)


class RunScalars(RunLayer, Scalars):
    """Every run with its own numbers."""

    def forward(self, x: Float[Tensor, "RB ..."]) -> Float[Tensor, ...]:
        """Each row's scalars, shaped to broadcast against ``x``."""
        by_run = self.weights()[0]
        by_row = by_run if len(by_run) == 1 else by_run.repeat_interleave(x.shape[0] // len(by_run), dim=0)
        return by_row.view(*by_row.shape, *[1] * (x.ndim - by_row.ndim))


class RunLearned(RunLayer, Learned):
    """Every run with its own numbers."""

    def forward(self, x: Float[Tensor, "RB ..."]) -> Float[Tensor, "rows ..."]:
        """Each row's numbers; one row where there is one run."""
        by_run = self.weights()[0]
        return by_run if len(by_run) == 1 else by_run.repeat_interleave(x.shape[0] // len(by_run), dim=0)


def product(
    x: Float[Tensor, "RB *rest D"], weight: Float[Tensor, "R E D"], bias: Float[Tensor, "R E"] | None
) -> Float[Tensor, "RB *rest E"]:
    """Each run's rows times its own matrix: one batched product, plain for one run."""
    runs, outputs, inputs = weight.shape
    if runs == 1:
        return functional.linear(x, weight.view(outputs, inputs), None if bias is None else bias.view(outputs))
    rows = x.reshape(runs, -1, inputs)
    result = rows @ weight.mT if bias is None else torch.baddbmm(bias[:, None], rows, weight.mT)
    return result.view(*x.shape[:-1], outputs)


class FlatAttention(Attention):
    """`Attention` for R runs."""

    qkv: RunLinear

    def forward(  # type: ignore[override]
        self, queries: Float[Tensor, "R A D"], x: Float[Tensor, "R N D"], context: FlatContext
    ) -> Float[Tensor, "R A D"]:
        """Attend from ``queries``, which are all or some tokens of ``x``, to all tokens of their sequences."""
        dropout = self.dropout if self.training else 0.0
        if not dropout and self.has_few_queries(context):
            return self.out(self.attend_unprojected(queries, x, context))
        width = x.shape[2]
        if context.query_index is None:
            q, k, v = self.by_head(self.qkv(x), 3)
        else:
            query, rest = self.qkv.parts((width, 2 * width))
            (q,), (k, v) = self.by_head(product(queries, *query), 1), self.by_head(product(x, *rest), 2)
        q, k = self.positioned(q, k, context)
        return self.out(context.attend(q, k, v, dropout, x if context.encoding.has_scores else None))

    def positioned(
        self, q: Float[Tensor, "R H A d"], k: Float[Tensor, "R H N d"], context: FlatContext
    ) -> tuple[Float[Tensor, "R H A d"], Float[Tensor, "R H N d"]]:
        if self.gain is not None:
            q, k = rms_norm(q, gain=self.gain(q)), rms_norm(k)
        if context.encoding.is_rotary:
            q = context.encoding.rotate(q, context.query_ids)
            k = context.encoding.rotate_keys(k, context.ids)
        return q if context.scale is None else q * context.scale, k

    def has_few_queries(self, context: FlatContext) -> bool:
        """Whether the queries are so few that `attend_unprojected` needs at most half of the products."""
        if context.query_index is None:
            return False
        queries, keys, pairs = context.counts()
        width = self.heads * self.head_width
        return 2 * (pairs * self.heads + queries * width) <= keys * width + pairs

    def attend_unprojected(
        self, queries: Float[Tensor, "R A D"], x: Float[Tensor, "R N D"], context: FlatContext
    ) -> Float[Tensor, "R A D"]:
        """What the queries take from the values, without values of all tokens (nor keys, where nothing changes them).

        A query averages the tokens' vectors, and the average is multiplied by the value matrix; q·(Kx) is (Kᵀq)·x. A
        key's bias adds the same to all scores of a query, so it has no effect; weights sum to 1, so a value's bias is
        added once.
        """
        width, split = x.shape[2], (self.heads, self.head_width)
        query, (key, key_bias), (value, value_bias) = self.qkv.parts((width, width, width))
        (q,) = self.by_head(product(queries, *query), 1)
        x = x.to(q.dtype)
        vectors = x[:, None]
        if self.gain is None and not context.encoding.is_rotary:
            q = q * math.sqrt(self.heads) if context.scale is None else q * (context.scale * math.sqrt(self.heads))
            q, k = q @ key.unflatten(1, split), vectors
        else:
            (k,) = self.by_head(product(x, key, key_bias), 1)
            q, k = self.positioned(q, k, context)
        averages = context.attend(q, k, vectors, 0.0).unflatten(2, (self.heads, width)).transpose(1, 2)
        taken = (averages @ value.unflatten(1, split).mT).transpose(1, 2).flatten(2)
        return taken if value_bias is None else taken + value_bias[:, None]

    def by_head(self, x: Float[Tensor, "R N E"], parts: int) -> tuple[Tensor, ...]:
        """Split into ``parts`` tensors of shape [R, heads, N, head width]."""
        return x.unflatten(2, (parts, self.heads, self.head_width)).permute(2, 0, 3, 1, 4).unbind(0)


class FlatRecurrence(Recurrence):
    """`Recurrence` for R runs, whose layers with weights have forms for runs of their own.

    Sequences of all groups go through it together, padded behind their ends, where nothing is read.
    """

    def forward(  # type: ignore[override]
        self, queries: Float[Tensor, "R A D"], x: Float[Tensor, "R N D"], context: FlatContext
    ) -> Float[Tensor, "R A D"]:
        groups, longest = context.groups, max(group.tokens for group in context.groups)
        parts = [
            functional.pad(part.unflatten(1, (group.rows, -1)), (0, 0, 0, longest - group.tokens))
            for group, part in zip(groups, x.split([group.size for group in groups], 1), strict=True)
        ]
        mixed = self.mixer(torch.cat(parts, dim=1).flatten(0, 1))[0].unflatten(0, (len(x), -1))
        rows = mixed.split([group.rows for group in groups], dim=1)
        found = [part[:, :, : group.tokens].flatten(1, 2) for group, part in zip(groups, rows, strict=True)]
        flat = torch.cat(found, dim=1)
        return flat if context.query_index is None else flat.index_select(1, context.query_index)


@dataclass
class GroupPointers(IdPrediction):
    """Pointers of the groups of a flat batch, whose rows are the runs."""

    parts: list[Pointer]
    groups: Sequence[FlatGroup]

    def loss(self, target: Int[Tensor, "R Q"]) -> Float[Tensor, "R Q"]:
        targets = target.split([group.scored for group in self.groups], dim=1)
        losses = [
            part.loss(group.sequences(own)) for part, group, own in zip(self.parts, self.groups, targets, strict=True)
        ]
        return torch.cat([loss.view(len(target), -1) for loss in losses], dim=1)

    def best(self) -> Int[Tensor, "R Q"]:
        runs = len(self.parts[0].ids) // self.groups[0].rows
        return torch.cat([part.best().view(runs, -1) for part in self.parts], dim=1)


class FlatPositionHead(PositionHead):
    """`PositionHead` for R runs."""

    def forward(  # type: ignore[override]
        self,
        hidden: Float[Tensor, "R Q D"],
        ids: Int[Tensor, "R N L"],
        at: Int[Tensor, " S"] | None,
        groups: Sequence[FlatGroup],
    ) -> tuple[IdPrediction, ...]:
        """One prediction per level after each token, or each of those ``at``, the groups' scored positions."""
        queries = hidden if at is None else hidden.index_select(1, at)
        result: list[IdPrediction] = []
        for level, module in enumerate(self.levels):
            if isinstance(module, PointerLevel):
                result.append(self.point_in_groups(*module.project(hidden), ids[..., level], groups))
            else:
                result.append(Classification(module(queries)))
        return tuple(result)

    def point_in_groups(self, query: Tensor, key: Tensor, ids: Tensor, groups: Sequence[FlatGroup]) -> GroupPointers:
        sizes = [group.size for group in groups]
        parts = []
        for group, *own in zip(groups, query.split(sizes, 1), key.split(sizes, 1), ids.split(sizes, 1), strict=True):
            q, k, i = (group.sequences(part) for part in own)
            parts.append(point(q, k, i, group.at, self.log_length))
        return GroupPointers(parts, groups)


def by_sequence(prediction: IdPrediction, sequences: int) -> IdPrediction:
    """The prediction of a flat batch of one group with a row for each of its ``sequences``."""
    if isinstance(prediction, GroupPointers):
        return prediction.parts[0]
    assert isinstance(prediction, Classification)
    return Classification(prediction.logits.reshape(sequences, -1, prediction.logits.shape[-1]))


class FlatBlock(Block):
    """`Block` for R runs."""

    attention: FlatAttention | FlatRecurrence

    def forward(self, x: Float[Tensor, "R N D"], context: FlatContext) -> Float[Tensor, "R A D"]:  # type: ignore[override]
        queries = normed = self.norm1(x)
        if context.query_index is not None:
            queries, x = (each.index_select(1, context.query_index) for each in (normed, x))
        x = x + self.dropout(self.added1(self.attention(queries, normed, context)))
        return x + self.dropout(self.added2(self.down(functional.gelu(self.up(self.norm2(x))))))


class FlatTransformer(Transformer):
    """`Transformer` for R runs on flat batches, made by `optimize`; its parameters have the same names and order."""

    table: RunEmbedding
    head: RunLinear | None
    blocks: Modules[FlatBlock]  # type: ignore[assignment]
    position_head: FlatPositionHead | None

    @property
    def runs(self) -> int:
        return len(self.table.weights()[0])

    def forward(  # type: ignore[override]
        self,
        input_ids: Int[Tensor, "B T"],
        position_ids: Int[Tensor, "B T L"],
        *,
        at: Int[Tensor, " S"] | slice | None = None,
        groups: Sequence[FlatGroup] | None = None,
        loops: Loops | None = None,
    ) -> TransformerOutput:
        """What each run's model gives for its own rows, as `Transformer.forward`; rows are ordered by run.

        With ``groups`` a row holds all sequences of one run, and ``at`` are the groups' scored positions on the
        flat axis.
        """
        if groups is None:
            rows, tokens = len(input_ids) // self.runs, input_ids.shape[1]
            group = FlatGroup(rows, tokens, slice(None) if at is None else at)
            positions = None if at is None else flat_positions([group]).to(input_ids.device)
            flat, flat_ids = (x.reshape(self.runs, rows * tokens, *x.shape[2:]) for x in (input_ids, position_ids))
            output = self.forward(flat, flat_ids, at=positions, groups=[group], loops=loops)
            logits = output.logits.reshape(len(input_ids), -1, output.logits.shape[-1])
            return TransformerOutput(logits, tuple(by_sequence(level, len(input_ids)) for level in output.position))
        assert at is None or isinstance(at, Tensor)
        contexts = self.flat_contexts(groups, position_ids)
        x = start = self.embed(input_ids, position_ids)
        pointing = self.position_head is not None and self.position_head.points
        require(
            self.config.loops != "tokens" or len(groups) == 1,
            f"a number of loops that grows with the tokens needs one group of lengths in a step, got {len(groups)}; "
            "set training.groups=1",
        )
        free, taught = loops or Loops(0, self.config.loops_for(groups[0].tokens))
        last = (free + taught) * len(self.blocks) - 1
        for step, context in enumerate(contexts * (free + taught)):
            if step > 0 and step % len(self.blocks) == 0:
                x = start + (x.detach() if step == free * len(self.blocks) else x)
            if step == last and at is not None and not (pointing or context.encoding.has_scores):
                context, at = context.for_queries(at), None
            x = self.blocks[step % len(self.blocks)](x, context)
        hidden = self.norm(x)
        position = () if self.position_head is None else self.position_head(hidden, position_ids, at, groups)
        hidden = hidden if at is None else hidden.index_select(1, at)
        return TransformerOutput(product(hidden, *(self.head or self.table).weights()), position)

    def flat_contexts(self, groups: Sequence[FlatGroup], ids: Int[Tensor, "R N L"]) -> list[FlatContext]:
        """What every layer's attention needs; layers with the same encoding share it."""
        encodings = [self.encoding.layer(layer) for layer in range(len(self.blocks))]
        log_length = self.config.log_length
        made = {each: FlatContext.of(each, groups, ids, log_length) for each in dict.fromkeys(encodings)}
        return [made[encoding] for encoding in encodings]


FOR_RUNS: dict[type[nn.Module], type[nn.Module]] = {
    nn.Linear: RunLinear,
    nn.Embedding: RunEmbedding,
    nn.RMSNorm: RunRMSNorm,
    nn.LayerNorm: RunLayerNorm,
    Scalars: RunScalars,
    Learned: RunLearned,
    Attention: FlatAttention,
    Recurrence: FlatRecurrence,
    Block: FlatBlock,
    PositionHead: FlatPositionHead,
    Transformer: FlatTransformer,
}
"""By class of a module, the class that computes the same for R runs; other modules compute as they are."""


def optimize(model: Transformer, to_parameter: Callable[[nn.Parameter], nn.Parameter] = lambda p: p) -> FlatTransformer:
    """A faster form of ``model`` that shares its parameters: gradients arrive in both, and training one trains both.

    It has no cache: generate and evaluate with ``model`` itself. ``to_parameter`` gives other parameters instead, such
    as those of a stack, with the run as their first axis.

    Raises `LengthwiseError` for a layer with weights that has no form for R runs.
    """
    # Modules of its own, with the very parameters.
    made = copy.deepcopy(model, memo={id(parameter): parameter for parameter in model.parameters()})
    for module in made.modules():
        layer, own = cast(Any, module), dict(module.named_parameters(recurse=False))
        found = next((FOR_RUNS[each] for each in FOR_RUNS if isinstance(module, each)), None)
        if found is None and own:
            raise LengthwiseError(
                f"{type(module).__name__} holds parameters itself, which can't train as a stack; hold them in "
                "torch.nn.Linear, in Scalars or EmbeddingTable of lengthwise.nn.base, or in lengthwise.nn.Learned"
            )
        if own:
            layer.dimensions, layer.bias = own["weight"].ndim, own.get("bias")
        if found is not None and (own or not issubclass(found, RunLayer)):  # a norm may have no weight
            layer.plain, layer.__class__ = type(module), found
        for name, parameter in own.items():
            setattr(layer, name, to_parameter(parameter))
    return made  # type: ignore[return-value]


def view(model: FlatTransformer, run: int) -> Transformer:
    """One run's model of a stack as an ordinary transformer that sees its weights: what `optimize` did, undone."""
    shared = {id(whole): nn.Parameter(whole.detach()[run]) for whole in model.parameters()}
    made = copy.deepcopy(model, memo=shared)
    for module in made.modules():
        module.__class__ = getattr(module, "plain", type(module))
    return made
