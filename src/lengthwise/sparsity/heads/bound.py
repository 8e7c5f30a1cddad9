"""Bounds the error at longer lengths of a head with a small error at one length (Theorem B), and estimates it.

Both are the project's own; the statement and constants of the paper's theorem are not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from lengthwise.core.errors import require
from lengthwise.sparsity.heads.attention import LocalHead
from lengthwise.sparsity.heads.theorem import Setting, admissible


@dataclass(frozen=True)
class Margins:
    """The largest error and the extreme denominators over all strings of one length, for Theorem B."""

    length: int
    strings: int
    error: float
    smallest_weight: float
    largest_weight: float


def measure_margins(setting: Setting, head: LocalHead, length: int) -> Margins:
    """Margins over every admissible string of ``length``."""
    strings = admissible(setting, length)
    output = head(strings.tokens)
    total = output.denominator
    error = float(output.error(strings.labels).max())
    return Margins(length, len(strings.labels), error, float(total.min()), float(total.max()))


@dataclass(frozen=True)
class ErrorBound:
    """A bound or estimate of the error, its ratio to the error at the training length, and its assumptions."""

    value: float
    factor: float
    assumptions: tuple[str, ...]

    @property
    def vacuous(self) -> bool:
        """Whether the bound is at least 1, which every error satisfies."""
        return self.value >= 1

    def render(self) -> str:
        """The bound and its assumptions, one per line."""
        note = " (says nothing: an error is at most 1)" if self.vacuous else ""
        lines = [f"error ≤ {self.value:.4g}{note}, {self.factor:.4g} times the error at the training length, if"]
        return "\n".join(lines + [f"  - {assumption}" for assumption in self.assumptions])


def theorem_b(margins: Margins, span: int, longer: int) -> ErrorBound:
    """ε·(Z_max/Z_min)·⌈ℓ/(L - 2λ - 1)⌉, for every admissible string of every length up to ``longer``.

    Raises `LengthwiseError` if L < 2(λ + 1), if a denominator is 0, or if ``longer`` is below L.
    """
    need = 2 * (span + 1)
    require(margins.length >= need, f"the bound needs a length of 2(λ + 1) = {need} or more, got {margins.length}")
    require(longer >= margins.length, f"the bound is for lengths of {margins.length} or more, got {longer}")
    require(margins.smallest_weight > 0, "a string without attention weight (0/0) leaves no bound; train further")
    windows = -(-longer // (margins.length - 2 * span - 1))
    factor = margins.largest_weight / margins.smallest_weight * windows
    return ErrorBound(
        value=margins.error * factor,
        factor=factor,
        assumptions=(
            f"every admissible string of length {margins.length} has error at most {margins.error:.4g} "
            f"and weight between {margins.smallest_weight:.4g} and {margins.largest_weight:.4g}",
            "every background token may stand at every free place, and S* at every place where it fits (C1)",
            f"S* has the same offset patterns at all lengths, of span at most λ = {span} (C2)",
            f"weights depend on a tuple's tokens and inner offsets only and vanish beyond span {span} (C3)",
            "votes are points of the probability simplex (C4)",
        ),
    )


def heuristic_error(error: float, k: int, length: int, longer: int, span: int | None) -> ErrorBound:
    """An estimate, not a bound, of the mean error at ``longer`` if stray attention grows like the number of k-tuples.

    ``span`` is λ of a local head (the number of tuples grows like ℓ) or None for a non-local one (like ℓ^k). The odds
    error/(1 - error) are multiplied by the ratio of the numbers of tuples. Raises `LengthwiseError` unless
    0 <= error < 1 and k <= length <= longer.
    """
    require(0 <= error < 1, f"an error to start from lies in [0, 1), got {error}")
    require(k <= length <= longer, f"lengths need k <= length <= longer, got {k}, {length}, {longer}")
    ratio = number_of_tuples(longer, k, span) / number_of_tuples(length, k, span)
    odds = error / (1 - error) * ratio
    value = odds / (1 + odds)
    return ErrorBound(
        value=value,
        factor=value / error if error else 1.0,
        assumptions=(
            "an estimate of the mean, not a bound",
            "the mean weight of an unplanted tuple and the weight of the planted one do not change with length",
            "votes of unplanted tuples are wrong as often at both lengths",
            f"tuples in reach grow by {ratio:.4g} from length {length} to {longer} "
            + ("(local: linearly)" if span is not None else f"(non-local: like the power k = {k})"),
        ),
    )


def number_of_tuples(length: int, k: int, span: int | None) -> int:
    """The number of k-subsets of ``length`` positions with a span of at most ``span`` (None: any span)."""
    if span is None:
        return comb(length, k)
    return sum(comb(min(span, length - 1 - start), k - 1) for start in range(length))
