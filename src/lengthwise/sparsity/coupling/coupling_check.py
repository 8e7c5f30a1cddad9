"""Checks a coupling rule at lengths that it was not found from: tokens per place, number of places, spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.sparsity.coupling.coupling_rule import CouplingRule
from lengthwise.sparsity.coupling.dependence import Dependencies


@dataclass(frozen=True)
class LengthCheck:
    """One length of a `CouplingCheck`."""

    length: int
    tokens: int
    places: int
    tokens_per_place: int
    span: int
    seen: bool


@dataclass(frozen=True)
class CouplingCheck:
    """The result of `check_coupling`: four requirements on a coupling, by length.

    (i) tokens per place do not grow, (ii) the number of places grows linearly, (iii) every span is at most 1, (iv) the
    rule holds at lengths that it was not found from.
    """

    checks: tuple[LengthCheck, ...]
    problems: tuple[str, ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether all requirements are met."""
        return not self.problems

    @property
    def tokens_per_place(self) -> int:
        """c: the largest number of tokens of one place."""
        return max(check.tokens_per_place for check in self.checks)


def check_coupling(
    rule: CouplingRule, dependencies: Mapping[int, Dependencies], lengths: Sequence[int] = (5, 10, 20, 40)
) -> CouplingCheck:
    """Check requirements (i) to (iv) at ``lengths`` against dependencies estimated there.

    The span of a dependency is the distance of the parent's place from that of the *predicting* token, the one before
    the predicted. A parent or predicting token without a place is a problem. Raises `LengthwiseError` if dependencies
    of a length are missing.
    """
    checks, problems = [], []
    for n in sorted(lengths):
        require(n in dependencies, f"no dependencies at length {n}; estimate them or leave the length out")
        d = dependencies[n]
        places = rule.places(n)
        if len(places) != d.tokens:
            problems.append(f"length {n}: the rule gives {len(places)} places to {d.tokens} tokens")
            continue
        edges = d.edges()
        used = places[np.unique(np.column_stack([edges[:, 0] - 1, edges[:, 1]]))] if len(edges) else np.array([1])
        if (used < 1).any():
            problems.append(f"length {n}: a token of a dependency has no place")
        gaps = np.abs(places[edges[:, 0] - 1] - places[edges[:, 1]])
        span = int(gaps.max(initial=0))
        if span > 1:
            problems.append(f"length {n}: a dependency spans {span} places")
        if d.unresolved:
            problems.append(f"length {n}: the parents of {len(d.unresolved)} answer tokens are not known")
        real, counts = np.unique(places[places > 0], return_counts=True)
        checks.append(LengthCheck(n, len(places), len(real), int(counts.max(initial=0)), span, n in rule.lengths))
    rounded = any(segment.divisor > 1 for segment in rule.segments) or any(f and f.run > 1 for f in rule.formulas)
    problems += _growth(checks, slack=1 if rounded else 0)
    if all(check.seen for check in checks):
        problems.append("no length was checked that the rule was not found from")
    return CouplingCheck(tuple(checks), tuple(problems))


def _growth(checks: list[LengthCheck], slack: int) -> list[str]:
    """What is wrong with the tokens per place and the number of places, which may be ``slack`` off a straight line."""
    if len(checks) < 2:
        return []
    problems = []
    first, last = checks[0], checks[-1]
    if last.tokens_per_place > first.tokens_per_place:
        problems.append(
            f"tokens per place grow from {first.tokens_per_place} to {last.tokens_per_place} "
            f"between lengths {first.length} and {last.length}"
        )
    rate = (last.places - first.places) / (last.length - first.length)
    straight = all(abs(c.places - first.places - rate * (c.length - first.length)) <= slack for c in checks)
    if rate <= 0 or not straight:
        problems.append(f"the number of places does not grow linearly: {', '.join(str(c.places) for c in checks)}")
    return problems


def same_places(
    found: Int[ndarray, " T"], reference: Int[ndarray, " T"], prompt_length: int, compared: ndarray
) -> bool:
    """Whether two assignments of places are equal on the ``compared`` tokens (a mask ``[T]``), up to reversal, a
    constant, and a shift of the answer by at most one place.
    """
    prompt = np.flatnonzero(compared[:prompt_length])
    answer = np.flatnonzero(compared[prompt_length:]) + prompt_length
    for sign in (1, -1):
        gap = found - sign * reference
        if len(set(gap[prompt].tolist())) <= 1 and len(set(gap[answer].tolist())) <= 1:
            both = len(prompt) and len(answer)
            if not both or abs(int(gap[prompt[0]] - gap[answer[0]])) <= 1:
                return True
    return False
