"""RoPE on longer contexts; none of these has parameters.

Position interpolation (Chen et al. 2023), NTK-aware scaling (bloc97 2023) and dynamic NTK scaling (emozilla 2023), YaRN
(Peng et al. 2023), Llama 3.1 (Dubey et al. 2024), LongRoPE (Ding et al. 2024), Self-Extend (Jin et al. 2024) and ReRoPE
(Su 2023).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor, nn

from lengthwise.core.errors import require
from lengthwise.nn.base import ScoreContext, Slots
from lengthwise.nn.rotary import Rotary, RotaryScores, ids_of_level


def check_extension(factor: float, length: int = 2, least: int = 1) -> None:
    """Raise `LengthwiseError` unless the factor is 1 or more and the trained length at least ``least``."""
    require(1 <= factor < math.inf, f"the factor of a longer context must be at least 1, got {factor}")
    require(length >= least, f"the trained length must be at least {least}, got {length}")


class PositionInterpolation(Rotary):
    """As `Rotary`, with ids p / factor: a context ``factor`` times longer has the angles of the trained one.

    The published use is with some fine-tuning. Called as `Rotary`. Raises `LengthwiseError` as it does, and for a
    factor below 1.

    >>> q, ids = torch.randn(2, 4, 10, 64), torch.arange(10).expand(2, 10)
    >>> torch.allclose(PositionInterpolation(64, factor=2.0)(q, 2 * ids), Rotary(64)(q, ids), atol=1e-5)
    True
    """

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *,
        factor: float = 4.0, base: float = 10_000.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        check_extension(factor)
        super().__init__(head_width, levels, base=base, slots=slots)
        self.frequencies = self.frequencies / factor


class NTKAware(Rotary):
    """As `Rotary` with base · factor^(d / (d − 2)), d the head width: the slowest pair is slower by ``factor``.

    Called as `Rotary`. Raises `LengthwiseError` as it does, for a factor below 1, and for a head width below 4.

    >>> NTKAware(64, factor=4.0)(torch.randn(2, 4, 10, 64), torch.arange(10).expand(2, 10)).shape
    torch.Size([2, 4, 10, 64])
    """

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *,
        factor: float = 4.0, base: float = 10_000.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        check_extension(factor)
        require(head_width >= 4, f"NTK-aware scaling needs a head width of at least 4, got {head_width}")
        super().__init__(head_width, levels, base=base * factor ** (head_width / (head_width - 2)), slots=slots)


CHUNK = 1 << 22
"""Numbers of rotated keys that are in memory at a time."""


class DynamicNTK(RotaryScores):
    """A query whose largest visible id is n − 1 ≥ length uses base · (factor · n / length − factor + 1)^(d / (d − 2)).

    Its keys, too: they are rotated anew for each such query, so that the logits are the same with a cache as without.
    (Public code rotates keys once, by the base at the time, and so caches what a full pass would not compute.)

    Raises `LengthwiseError` as `Rotary` does, and for a factor or length below 1 or a head width below 4.

    >>> q, k = torch.randn(2, 2, 4, 10, 16)
    >>> DynamicNTK(16, length=8)(q, k).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *,
        factor: float = 1.0, length: int = 2048, base: float = 10_000.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        check_extension(factor, length)
        require(head_width >= 4, f"dynamic NTK scaling needs a head width of at least 4, got {head_width}")
        super().__init__(head_width, levels, base, slots)
        self.factor, self.length = factor, length

    def level_logits(
        self, q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H T d"], tokens: ScoreContext, level: int
    ) -> Float[Tensor, "B H Q T"]:
        q_ids, k_ids = ids_of_level(tokens, level)
        visible = tokens.visible if tokens.visible.ndim == 4 else tokens.visible[None, None]
        largest = torch.where(visible, k_ids[:, None, None], 0).amax(-1)[:, 0]
        far = (largest >= self.length).any(0)
        logits = self.product(q, k, q_ids, k_ids)
        if not bool(far.any()):
            return logits
        columns = far.nonzero()[:, 0]
        size = max(1, CHUNK // k.numel())
        found = [
            self._own_frequencies(q[:, :, part], k, q_ids[:, part], k_ids, largest[:, part])
            for part in columns.split(size)
        ]
        return logits.index_copy(2, columns, torch.cat(found, dim=2))

    def _own_frequencies(
        self, q: Tensor, k: Tensor, q_ids: Tensor, k_ids: Tensor, largest: Tensor
    ) -> Float[Tensor, "B H Q T"]:
        width = q.shape[3]
        growth = (self.factor * (largest + 1) / self.length - self.factor + 1).clamp(min=1.0)
        exponents = torch.arange(width // 2, device=q.device, dtype=torch.float32) / (width // 2)
        base = self.rotary.base * growth ** (width / (width - 2))
        theta = base[..., None] ** -exponents  # [B, Q, f]
        angles = (q_ids[:, :, None] - k_ids[:, None, :])[..., None] * theta[:, :, None]  # [B, Q, T, f]
        cos, sin = angles.cos().to(q.dtype), angles.sin().to(q.dtype)
        (q1, q2), (k1, k2) = q.chunk(2, dim=-1), k.chunk(2, dim=-1)
        # q rotated by the difference of ids, times k.
        first = q1[:, :, :, None] * cos[:, None] - q2[:, :, :, None] * sin[:, None]
        second = q2[:, :, :, None] * cos[:, None] + q1[:, :, :, None] * sin[:, None]
        return torch.einsum("bhqtf,bhtf->bhqt", first, k1) + torch.einsum("bhqtf,bhtf->bhqt", second, k2)


class YaRN(Rotary):
    """As `Rotary` with frequencies (1 − γ) · θ / factor + γ · θ, and queries and keys times 0.1 · ln(factor) + 1.

    ``attention_factor`` replaces 0.1 · ln(factor) + 1, as the configurations of some models do.

    γ = clip((r − α) / (β − α), 0, 1), where r = length · θ / 2π is how often a pair rotates in the trained context of
    ``length`` tokens. With ``by_index`` γ is linear in the number of the pair instead,
    between the pairs that rotate β and α times, rounded outwards: so do the authors' code and most public code.

    Called as `Rotary`. Raises `LengthwiseError` as it does, and unless factor ≥ 1, length ≥ 1 and 0 < α < β.

    >>> YaRN(64, factor=4.0, length=128)(torch.randn(2, 4, 10, 64), torch.arange(10).expand(2, 10)).shape
    torch.Size([2, 4, 10, 64])
    """

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *,
        factor: float = 4.0, length: int = 2048, alpha: float = 1.0, beta: float = 32.0, by_index: bool = False,
        attention_factor: float | None = None, base: float = 10_000.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        check_extension(factor, length)
        require(0 < alpha < beta, f"yarn needs 0 < alpha < beta, got {alpha} and {beta}")
        super().__init__(head_width, levels, base=base, slots=slots)
        if attention_factor is None:
            attention_factor = 0.1 * math.log(factor) + 1
        require(0 < attention_factor < math.inf, f"attention_factor must be positive, got {attention_factor}")
        self.sharpening = attention_factor
        plain = self.frequencies.double()
        if by_index:
            kept = 1 - _ramp(head_width, length, base, alpha, beta)
        else:
            kept = ((length * plain / (2 * math.pi) - alpha) / (beta - alpha)).clamp(0, 1)
        self.frequencies = ((1 - kept) * plain / factor + kept * plain).float()

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return super().rotate(x, ids) * self.sharpening


def _ramp(head_width: int, length: int, base: float, alpha: float, beta: float) -> Float[Tensor, " f"]:
    """From 0 at the pair that rotates ``beta`` times to 1 at the one that rotates ``alpha`` times."""

    def pair(rotations: float) -> float:
        return head_width * math.log(length / (2 * math.pi * rotations)) / (2 * math.log(base))

    first, last = max(math.floor(pair(beta)), 0), min(math.ceil(pair(alpha)), head_width - 1)
    width = last - first if last != first else 0.001
    return ((torch.arange(head_width // 2, dtype=torch.float64) - first) / width).clamp(0, 1)


class Llama3Rotary(Rotary):
    """As `Rotary`; pairs of wavelength λ = 2π/θ above length / low have θ / factor, those below length / high keep θ.

    Between the two it is (1 − g) · θ / factor + g · θ with g = (length / λ − low) / (high − low).

    Called as `Rotary`. Raises `LengthwiseError` as it does, and unless factor ≥ 1, length ≥ 1 and 0 < low < high.

    >>> Llama3Rotary(64, factor=8.0, length=128)(torch.randn(2, 4, 10, 64), torch.arange(10).expand(2, 10)).shape
    torch.Size([2, 4, 10, 64])
    """

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *,
        factor: float = 8.0, length: int = 8192, low: float = 1.0, high: float = 4.0,
        base: float = 10_000.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        check_extension(factor, length)
        require(0 < low < high, f"llama3 needs 0 < low < high, got {low} and {high}")
        super().__init__(head_width, levels, base=base, slots=slots)
        plain = self.frequencies
        rotations = length * plain / (2 * math.pi)
        mixed = ((rotations - low) / (high - low)).clamp(0, 1)
        self.frequencies = torch.where(mixed == 1, plain, (1 - mixed) * plain / factor + mixed * plain)


class LongRoPE(Rotary):
    """As `Rotary` with frequencies θ_c / λ_c, and queries and keys times √(1 + ln(factor) / ln(length)).

    ``factors`` are the λ of the pairs, from the fastest. The authors search for them; the default is where such a
    search starts, λ_c = factor^(2c / (d − 2)), which is NTK-aware scaling. Ids below ``unscaled`` keep the angles of
    `Rotary`.

    Called as `Rotary`. Raises `LengthwiseError` as it does, unless factor ≥ 1 and length ≥ 2, and unless there is one
    positive factor for each pair.

    >>> rotary = LongRoPE(8, factors=[1.0, 1.1, 2.0, 4.0], factor=4.0, length=128)
    >>> rotary(torch.randn(2, 4, 10, 8), torch.arange(10).expand(2, 10)).shape
    torch.Size([2, 4, 10, 8])
    """

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *,
        factors: Sequence[float] | None = None, factor: float = 4.0, length: int = 2048, unscaled: int = 0,
        base: float = 10_000.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        check_extension(factor, length, 2)
        super().__init__(head_width, levels, base=base, slots=slots)
        half = head_width // 2
        if factors is None:
            factors = [factor ** (c / max(1, half - 1)) for c in range(half)]
        require(
            len(factors) == half and all(0 < each < math.inf for each in factors),
            f"longrope needs {half} positive factors for a head width of {head_width}, got {list(factors)}",
        )
        self.unscaled, self.sharpening = unscaled, math.sqrt(1 + math.log(factor) / math.log(length))
        self.factors = nn.Buffer(torch.tensor(factors, dtype=torch.float32), persistent=False)

    def angles(self, ids: Num[Tensor, "B T L"]) -> Float[Tensor, "B T f"]:
        plain = super().angles(ids)
        return torch.where(ids[..., self.level_of] < self.unscaled, plain, plain / self.factors)

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Num[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        return super().rotate(x, ids) * self.sharpening


class NearAndFar(RotaryScores):
    """Distances below ``near`` as in `Rotary`; others are those of `far_ids`."""

    near: int

    @abstractmethod
    def far_ids(self, q_ids: Int[Tensor, "B Q"], k_ids: Int[Tensor, "B T"]) -> tuple[Tensor, Tensor]:
        """The ids of queries and keys that are far from each other."""

    def level_logits(
        self, q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H T d"], tokens: ScoreContext, level: int
    ) -> Float[Tensor, "B H Q T"]:
        q_ids, k_ids = ids_of_level(tokens, level)
        near = (q_ids[:, :, None] - k_ids[:, None, :] < self.near)[:, None]
        far = self.product(q, k, *self.far_ids(q_ids, k_ids))
        return torch.where(near, self.product(q, k, q_ids, k_ids), far)


class SelfExtend(NearAndFar):
    """Distances below ``near`` as in `Rotary`; others become ⌊p/group⌋ − ⌊p′/group⌋ + near − ⌊near/group⌋.

    It needs no training. The first of N tokens counts as ⌊(N − 1)/group⌋ + near − ⌊near/group⌋ away from the last;
    `lengthwise.extend` chooses the smallest group for which that was trained. Ids that fall (negative distances) stay
    as they are.

    Raises `LengthwiseError` as `Rotary` does, and for ``near`` or ``group`` below 1.

    >>> q, k = torch.randn(2, 2, 4, 10, 16)
    >>> SelfExtend(16, near=4, group=3)(q, k).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *,
        near: int = 512, group: int = 4, base: float = 10_000.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        require(near >= 1 and group >= 1, f"near and group must be at least 1, got {near} and {group}")
        super().__init__(head_width, levels, base, slots)
        self.near, self.group = near, group

    def far_ids(self, q_ids: Int[Tensor, "B Q"], k_ids: Int[Tensor, "B T"]) -> tuple[Tensor, Tensor]:
        return q_ids // self.group + self.near - self.near // self.group, k_ids // self.group


class ReRoPE(NearAndFar):
    """Distances below ``near`` as in `Rotary`; a larger one, Δ, becomes near + leak · (Δ − near).

    ``leak`` 0 is ReRoPE, a number between 0 and 1 leaky ReRoPE. It needs no training. Ids that fall (negative
    distances) stay as they are.

    Raises `LengthwiseError` as `Rotary` does, and unless near ≥ 1 and 0 ≤ leak ≤ 1.

    >>> q, k = torch.randn(2, 2, 4, 10, 16)
    >>> ReRoPE(16, near=4)(q, k).shape
    torch.Size([2, 4, 10, 10])
    """

    def __init__(
        self, head_width: int, levels: int | Sequence[int] = 1, *,
        near: int = 512, leak: float = 0.0, base: float = 10_000.0, slots: Slots | None = None,
    ) -> None:  # fmt: skip
        require(near >= 1, f"near must be at least 1, got {near}")
        require(0 <= leak <= 1, f"leak must be between 0 and 1, got {leak}")
        super().__init__(head_width, levels, base, slots)
        self.near, self.leak = near, leak

    def far_ids(self, q_ids: Int[Tensor, "B Q"], k_ids: Int[Tensor, "B T"]) -> tuple[Tensor, Tensor]:
        return self.near * (1 - self.leak) + self.leak * q_ids, self.leak * k_ids
