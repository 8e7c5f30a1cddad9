"""Relative positions as a bias of attention.

ALiBi (Press et al. 2022), hard ALiBi (Jelassi et al. 2024), T5's bias (Raffel et al. 2020), Kerple (Chi et al. 2022),
FIRE (Li et al. 2024), Shaw et al. 2018, Transformer-XL (Dai et al. 2019) and the dynamic bias (Wang et al. 2021). ALiBi
with learned slopes and the local and coupled biases are ours.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import require
from lengthwise.nn.base import (
    Modules,
    PositionEncoding,
    Scalars,
    ScoreContext,
    Slots,
    add,
    at_distance,
    level_indices,
    normal_tables,
    not_none,
    on_level,
)
from lengthwise.nn.content import ContentEncoding

PAIRS = 1 << 20
"""Pairs of tokens whose hidden layer is in memory at a time when no gradient is needed."""


class RelativeBias(PositionEncoding):
    """The sum of a bias per level; subclasses say which bias a pair of ids of a level has.

    Input: ids of queries ``[B, Q]`` and keys ``[B, T]``, or with a last axis of levels. Output: what to add to the
    attention logits, ``[B, heads, Q, T]``. The causal mask is not part of it.
    """

    def __init__(self, levels: int | Sequence[int], slots: Slots | None, heads: int = 1) -> None:
        require(heads >= 1, f"heads must be at least 1, got {heads}")
        super().__init__(slots)
        self.levels = level_indices(levels)

    @abstractmethod
    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        """The bias of every pair of ids on one level; ``index`` counts the levels that are used, from 0."""

    def forward(
        self, queries: Int[Tensor, "B Q *L"], keys: Int[Tensor, "B T *L"] | None = None
    ) -> Float[Tensor, "B H Q T"]:
        """What to add to the attention logits; keys are the queries' tokens unless given."""
        return not_none(self.bias(queries, queries if keys is None else keys))

    def bias(self, queries: Int[Tensor, "B Q *L"], keys: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H Q T"] | None:
        """The sum over the levels; None without levels."""
        total = None
        for index, level in enumerate(self.levels):
            total = add(total, self.pair_bias(on_level(queries, level), on_level(keys, level), index))
        return None if total is None else total.to(self.dtype)


def distances(queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"]) -> Int[Tensor, "B Q T"]:
    """The query's id minus the key's id, for every pair."""
    return queries[:, :, None] - keys[:, None, :]


def by_rows(
    bias: Callable[[Tensor, Tensor], Tensor], queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"]
) -> Float[Tensor, "B H Q T"]:
    """``bias(queries, keys)``; without gradients, some queries at a time.

    An MLP's hidden layer holds ``width`` numbers per pair of tokens: gigabytes at 2,000 tokens, if made at once.
    """
    if torch.is_grad_enabled():
        return bias(queries, keys)
    rows = max(1, PAIRS // (keys.shape[0] * keys.shape[1]))
    return torch.cat([bias(piece, keys) for piece in queries.split(rows, dim=1)], dim=2)


class ALiBi(RelativeBias):
    """logit(i, j) − m_h · |p_i − p_j|, m_h = 2^(−8h/H) for head h = 1 … H, summed over the levels of the ids.

    Has no parameters. Where the number of heads is no power of two, see `alibi_slopes`. Raises `LengthwiseError`
    without heads.

    >>> alibi, ids = ALiBi(heads=4), torch.arange(10).expand(2, 10)
    >>> alibi(ids).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(self, heads: int, levels: int | Sequence[int] = 1, *, slots: Slots | None = None) -> None:
        super().__init__(levels, slots, heads)
        self.slopes = nn.Buffer(torch.tensor(alibi_slopes(heads), dtype=torch.float32), persistent=False)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        return -self.slopes[:, None, None] * distances(queries, keys).abs()[:, None]


def alibi_slopes(heads: int) -> list[float]:
    """2^(−8h/H) for h = 1 … H; if H is no power of two, the slopes of the power of two below it come first.

    The rest are every second slope (the 1st, 3rd, …) of the next power of two, as in the authors' code.
    """
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2.0 ** (-8 * (h + 1) / power) for h in range(power)]
    between = [2.0 ** (-8 * (h + 1) / (2 * power)) for h in range(0, 2 * power, 2)]
    return slopes + between[: heads - power]


class LearnedALiBi(RelativeBias):
    """logit(i, j) − softplus(m_h) · |p_i − p_j|, with a learned m_h per head; slopes start at those of `ALiBi`.

    Raises `LengthwiseError` without heads.

    >>> alibi, ids = LearnedALiBi(heads=4), torch.arange(10).expand(2, 10)
    >>> alibi(ids).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(self, heads: int, levels: int | Sequence[int] = 1, *, slots: Slots | None = None) -> None:
        super().__init__(levels, slots, heads)
        self.slope = Scalars(torch.tensor(alibi_slopes(heads)).expm1().log())

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        distance = distances(queries, keys).abs()[:, None].float()
        return -functional.softplus(self.slope(distance)) * distance


class HardALiBi(RelativeBias):
    """Head h = 1 … m: 0 where |p_i − p_j| < h, and −∞ elsewhere; the other heads: 0, as without positions.

    m = ``local_heads`` (None: half of them, ours). So the local heads tell a token its last m tokens and their order,
    and the other heads look them up anywhere. All levels of the ids have to be near. Has no parameters. Raises
    `LengthwiseError` unless 1 ≤ ``local_heads`` ≤ ``heads``.

    >>> bias, ids = HardALiBi(heads=4, local_heads=2), torch.arange(6)[None]
    >>> [int(head[-1].isfinite().sum()) for head in bias(ids)[0]]
    [1, 2, 6, 6]
    """

    def __init__(
        self, heads: int, levels: int | Sequence[int] = 1, *, local_heads: int | None = None, slots: Slots | None = None
    ) -> None:
        local_heads = (heads + 1) // 2 if local_heads is None else local_heads
        require(1 <= local_heads <= heads, f"local_heads must be 1 to {heads}, the number of heads, got {local_heads}")
        super().__init__(levels, slots)
        reach = [head + 1.0 if head < local_heads else math.inf for head in range(heads)]
        self.reach = nn.Buffer(torch.tensor(reach, dtype=torch.float32), persistent=False)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        far = distances(queries, keys).abs()[:, None] >= self.reach[:, None, None]
        return torch.zeros(far.shape, device=far.device).masked_fill(far, -math.inf)


class T5Bias(RelativeBias):
    """logit(i, j) + table[h, bucket(p_i − p_j)], summed over the levels of the ids; one table for all layers.

    With x = |p_i − p_j|, n = ``buckets`` and m = ``max_distance``, the bucket is x below n/2, and
    min(n − 1, n/2 + ⌊ln(x / (n/2)) / ln(m / (n/2)) · n/2⌋ beyond. Keys with larger ids than the query's (coupled ids
    fall) have n buckets of their own.

    Raises `LengthwiseError` unless ``buckets`` ≥ 2 and ``max_distance`` > ``buckets`` / 2.

    >>> bias, ids = T5Bias(heads=4), torch.arange(10).expand(2, 10)
    >>> bias(ids).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, heads: int, levels: int | Sequence[int] = 1, *,
        buckets: int = 32, max_distance: int = 128, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        require(
            buckets >= 2 and max_distance > buckets // 2,
            f"needs buckets >= 2 and max_distance > buckets / 2, got {buckets} and {max_distance}",
        )
        super().__init__(levels, slots)
        self.buckets, self.max_distance = buckets, max_distance
        self.table = nn.Embedding(2 * buckets, heads)
        nn.init.normal_(self.table.weight, std=0.02)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        distance = distances(queries, keys)
        bucket = log_bucket(distance.abs(), self.buckets, self.max_distance)
        return self.table(bucket + self.buckets * (distance < 0)).movedim(-1, 1)


def log_bucket(distance: Int[Tensor, "*s"], buckets: int, max_distance: int) -> Int[Tensor, "*s"]:
    """Distances below buckets/2 have a bucket each; beyond, buckets widen logarithmically up to ``max_distance``."""
    exact = buckets // 2
    scaled = torch.log(distance.clamp(min=1) / exact) / math.log(max_distance / exact) * (buckets - exact)
    return torch.where(distance < exact, distance, (exact + scaled.long()).clamp(max=buckets - 1))


class Kerple(RelativeBias):
    """logit(i, j) − r_h · ln(1 + s_h · |p_i − p_j|), or with ``form="power"``, logit(i, j) − r_h · |p_i − p_j|^s_h.

    r_h > 0 and s_h (> 0, and below 2 as a power) are learned per head and shared by the layers: the softplus of a
    parameter, or twice its sigmoid. They start as published, r_h uniform in 0 … 2 and s_h in 0 … 1 (``log``), or both
    in 0 … 1 (``power``); the authors bound them by clipping instead.

    Raises `LengthwiseError` without heads and for an unknown form.

    >>> kerple, ids = Kerple(heads=4), torch.arange(10).expand(2, 10)
    >>> kerple(ids).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, heads: int, levels: int | Sequence[int] = 1, *, form: str = "log", slots: Slots | None = None
    ) -> None:
        require(form in ("log", "power"), f"form must be 'log' or 'power', got {form!r}")
        super().__init__(levels, slots, heads)
        self.form = form
        factor, shape = torch.rand(2, heads).clamp(min=0.01, max=0.99)
        self.factor = Scalars((2 * factor if form == "log" else factor).expm1().log())
        self.shape = Scalars(shape.expm1().log() if form == "log" else (shape / 2).logit())

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        distance = distances(queries, keys).abs().float()[:, None]
        factor, shape = functional.softplus(self.factor(distance)), self.shape(distance)
        if self.form == "log":
            return -factor * torch.log1p(functional.softplus(shape) * distance)
        # At distance 0 the power is 0; ln 0 would make its gradient undefined.
        power = torch.exp(2 * shape.sigmoid() * distance.clamp(min=1).log())
        return -factor * power * (distance > 0)


class FIRE(RelativeBias):
    """logit(i, j) + f_h(ψ(|p_i − p_j|) / ψ(max(threshold, p_i, p_j))), ψ(x) = ln(c·x + 1), f an MLP 1 → width → heads.

    ``threshold`` and c (``scale`` is its initial value) are learned; one bias serves all layers. The normalizer is the
    maximum of the threshold and the position, so that f sees numbers in [0, 1] only. The key's id is part of it
    because coupled ids can fall; for ids that rise it changes nothing. Start with a threshold of about the training
    length: above all test lengths, FIRE would be a plain function of distance.

    Raises `LengthwiseError` unless ``threshold``, ``width`` and ``scale`` are positive and finite.

    >>> fire, ids = FIRE(heads=4), torch.arange(10).expand(2, 10)
    >>> fire(ids).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, heads: int, levels: int | Sequence[int] = 1, *,
        threshold: float = 32.0, width: int = 32, scale: float = 0.1, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        for name, value in (("threshold", threshold), ("width", width), ("scale", scale)):
            require(0 < value < math.inf, f"{name} must be finite and above 0, got {value}")
        super().__init__(levels, slots)
        self.threshold = Scalars(torch.tensor(float(threshold)))
        self.log_scale = Scalars(torch.tensor(float(scale)).log())
        self.hidden = nn.Linear(1, width)
        self.out = nn.Linear(width, heads)

    def argument(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"]) -> Float[Tensor, "B Q T"]:
        """The normalized distance: in [0, 1], and 1 at key id 0 for queries beyond the threshold."""
        distance = distances(queries, keys).abs().float()
        position = torch.maximum(queries[:, :, None], keys[:, None, :]).float()
        # The minimum instead of the maximum is a common bug: far queries would leave the range that training covers.
        normalizer = torch.maximum(self.threshold(position).abs(), position)
        scale = self.log_scale(distance).exp()
        return torch.log1p(scale * distance) / (torch.log1p(scale * normalizer) + 1e-6)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        return by_rows(self._mlp, queries, keys)

    def _mlp(self, queries: Tensor, keys: Tensor) -> Tensor:
        hidden = functional.relu(self.hidden(self.argument(queries, keys)[..., None].to(self.dtype)))
        return self.out(hidden).movedim(-1, 1)


class Shaw(ContentEncoding):
    """logit(i, j) = q_i · (k_j + Σ_ℓ A_ℓ[clip(p_i − p_j, −c, c)]) / √d, one table A_ℓ of 2c + 1 rows per level ℓ.

    c is ``clip``. The heads and the layers share the tables. The published variant that also adds vectors to values
    is left out, as in later work.

    Raises `LengthwiseError` unless ``clip`` is at least 1.

    >>> q, k = torch.randn(2, 2, 4, 10, 64)
    >>> Shaw(64)(q, k, torch.arange(10).expand(2, 10)).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *, clip: int = 16, slots: Slots | None = None
    ) -> None:
        require(clip >= 1, f"clip must be at least 1, got {clip}")
        super().__init__(slots)
        self.levels, self.clip = level_indices(levels), clip
        self.tables = normal_tables(len(self.levels), 2 * clip + 1, head_width)

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        q = tokens.queries / math.sqrt(tokens.q.shape[-1])
        rows = torch.arange(2 * self.clip + 1, device=q.device).expand(len(q), -1)
        for level, table in zip(self.levels, self.tables, strict=True):
            distance = distances(on_level(tokens.query_ids, level), on_level(tokens.ids, level))
            products = q @ table(rows)[:, None].mT
            scores = scores + at_distance(products, distance.clamp(-self.clip, self.clip) + self.clip)
        return scores


class TransformerXL(ContentEncoding):
    """logit(i, j) = [(q_i + u) · k_j + Σ_ℓ (q_i + v) · W_ℓ R(p_i − p_j)] / √d, R sines and cosines of the distance.

    u and v are learned per head, W_ℓ per head and level of the ids; all layers share them (the authors have a W per
    layer). R has half sines and half cosines of frequencies 10000^(−2c/width). The transposed matrices are stored.

    Raises `LengthwiseError` unless ``width`` is even.

    >>> q, k = torch.randn(2, 2, 4, 10, 16)
    >>> TransformerXL(heads=4, head_width=16)(q, k, torch.arange(10).expand(2, 10)).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, heads: int, head_width: int, levels: int | Sequence[int] = 1, *,
        width: int | None = None, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        width = heads * head_width if width is None else width
        require(width >= 2 and width % 2 == 0, f"width must be even and at least 2, got {width}")
        super().__init__(slots)
        self.heads, self.levels = heads, level_indices(levels)
        self.content, self.position = normal_tables(2, 1, heads * head_width)
        self.project = Modules[nn.Linear](
            nn.Linear(head_width, width, bias=False) for _ in range(len(self.levels) * heads)
        )
        frequencies = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)
        self.frequencies = nn.Buffer(frequencies, persistent=False)

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        factor = 1 / math.sqrt(tokens.q.shape[-1])
        first = torch.zeros(len(tokens.q), 1, dtype=torch.long, device=scores.device)
        scores = scores + factor * self._by_head(self.content(first)) @ tokens.k.mT
        heads = (factor * (tokens.queries + self._by_head(self.position(first)))).unbind(1)
        for number, level in enumerate(self.levels):
            start = number * self.heads
            projected = torch.stack([self.project[start + head](q) for head, q in enumerate(heads)], dim=1)
            ids = on_level(tokens.query_ids, level), on_level(tokens.ids, level)
            scores = scores + self._with_sinusoids(projected, *ids)
        return scores

    def _by_head(self, rows: Float[Tensor, "B N E"]) -> Float[Tensor, "B H N d"]:
        return rows.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def _with_sinusoids(
        self, x: Float[Tensor, "B H Q W"], queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B H Q T"]:
        """x · R(distance), by the addition theorems: sin(a − b) and cos(a − b) are products of those of a and b."""
        a, b = (ids[:, None, :, None] * self.frequencies for ids in (queries, keys))
        sine, cosine = x.chunk(2, dim=-1)
        rotated = torch.cat([sine * a.sin() + cosine * a.cos(), cosine * a.sin() - sine * a.cos()], dim=-1)
        return rotated @ torch.cat([b.cos(), b.sin()], dim=-1).mT


class LocalBias(RelativeBias):
    """logit(i, j) + Σ_ℓ s · table_ℓ[h, p_i − p_j] where |p_i − p_j| ≤ w on every level ℓ, and −∞ elsewhere.

    The window w is one of *ids*, not of tokens: coupled ids bring what a token depends on into it, however far away
    that is. What a head computes then depends on the tokens in the window alone, so that nothing in it changes with the
    length. s = ``scale`` is how many times faster than its own entries a bias of the table moves under Adam: a learning
    rate of 0.002 moves an entry by at most about 2 in 1,000 steps, and a sharp head needs biases of about 10.

    With ``sink``, tokens without a place (id 0), such as ``<bos>``, are seen from everywhere, with a bias of their own
    (an attention sink, Xiao et al. 2024). Attention averages, so that without a sink it can't tell one near token from
    two equal ones; the share of the sink shows how many there are.

    Raises `LengthwiseError` unless ``window`` is 0 or more and ``scale`` is positive.

    >>> bias, ids = LocalBias(heads=4, window=1), torch.tensor([[3, 2, 1, 3, 2, 1, 2, 3, 4]])
    >>> bias(ids).shape, bias(ids)[0, 0, -1].isfinite().nonzero().flatten().tolist()
    (torch.Size([1, 4, 9, 9]), [0, 3, 7, 8])
    """

    def __init__(
        self, heads: int, levels: int | Sequence[int] = 1, *,
        window: int = 4, scale: float = 12.0, sink: bool = False, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        require(window >= 0, f"window must be at least 0, got {window}")
        require(scale > 0, f"scale must be positive, got {scale}")
        super().__init__(levels, slots, heads)
        self.window_of_ids, self.scale, self.sink = window, scale, sink
        self.tables = normal_tables(len(self.levels), 2 * window + 1 + sink, heads)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        distance, reach = distances(queries, keys), self.window_of_ids
        row, far = distance.clamp(-reach, reach) + reach, distance.abs() > reach
        if self.sink:
            placeless = (keys == 0)[:, None, :]
            row, far = row.masked_fill(placeless, 2 * reach + 1), far & ~placeless
        near = self.tables[index](row).movedim(-1, 1)
        return (self.scale * near).masked_fill(far[:, None], -math.inf)


class DynamicBias(RelativeBias):
    """logit(i, j) + f_h(x), x = sign(Δ) · ln(1 + |Δ|), Δ = p_i − p_j; f an MLP 1 → width → … → heads with SiLU.

    ``depth`` is the number of hidden layers. With ``log=False``, x = Δ. One MLP serves all layers.

    Raises `LengthwiseError` unless ``width`` and ``depth`` are at least 1.

    >>> bias, ids = DynamicBias(heads=4), torch.arange(10).expand(2, 10)
    >>> bias(ids).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, heads: int, levels: int | Sequence[int] = 1, *,
        width: int = 32, depth: int = 2, log: bool = True, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        require(width >= 1 and depth >= 1, f"width and depth must be at least 1, got {width} and {depth}")
        super().__init__(levels, slots, heads)
        self.log = log
        widths = [1] + [width] * depth
        self.hidden = Modules[nn.Linear](nn.Linear(*pair) for pair in pairwise(widths))
        self.out = nn.Linear(width, heads)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        return by_rows(self._mlp, queries, keys)

    def _mlp(self, queries: Tensor, keys: Tensor) -> Tensor:
        distance = distances(queries, keys).float()
        x = (distance.sign() * distance.abs().log1p() if self.log else distance)[..., None]
        x = x.to(self.dtype)
        for layer in self.hidden:
            x = functional.silu(layer(x))
        return self.out(x).movedim(-1, 1)


class CoupledBias(RelativeBias):
    """logit(i, j) + Σ_ℓ table_ℓ[h, clip(p_i − p_j, −B/2, B/2 − 1)], one table of B = ``buckets`` rows per level ℓ.

    Distances keep their sign: coupled ids fall as well as rise. Tables serve all layers.

    Raises `LengthwiseError` unless ``buckets`` is even and at least 2.

    >>> bias, ids = CoupledBias(heads=4), torch.tensor([[3, 2, 1, 3, 2, 1, 2, 3, 4]])
    >>> bias(ids).shape
    torch.Size([1, 4, 9, 9])
    """

    def __init__(
        self, heads: int, levels: int | Sequence[int] = 1, *, buckets: int = 64, slots: Slots | None = None
    ) -> None:
        require(buckets >= 2 and buckets % 2 == 0, f"buckets must be even and at least 2, got {buckets}")
        super().__init__(levels, slots, heads)
        self.middle = buckets // 2
        self.tables = normal_tables(len(self.levels), buckets, heads)

    def pair_bias(self, queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B H Q T"]:
        distance = distances(queries, keys).clamp(-self.middle, self.middle - 1)
        return self.tables[index](distance + self.middle).movedim(-1, 1)
