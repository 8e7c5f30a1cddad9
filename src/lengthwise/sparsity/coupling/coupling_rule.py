"""`CouplingRule` gives the places of a position coupling at every length; `propose_coupling` finds one, with checks.

The tokens of a sequence fall into *segments*: ranges of columns that vary (digits, letters) or are constant (``=``,
``<eos>``). A rule gives token i of a segment the place

    shift + per_length·n + slope·⌊(i + phase) / run⌋,     slope in {-1, 0, 1},

so it extends to every length n. Where the answer has about n/2 or n/3 symbols, ⌊(n + offset) / divisor⌋ stands for n.
Place 0 means no place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.sparsity.coupling.coupling_search import ColumnRange, PlaceFormula, find_segments, search_formulas
from lengthwise.sparsity.coupling.dependence import Dependencies


class NoCouplingError(LengthwiseError):
    """No rule of the family puts every parent within one place; the message names the reason."""


class MoreLengthsError(NoCouplingError):
    """These lengths have no rule; more of them may show sizes that are affine in the length up to rounding."""


@dataclass(frozen=True)
class CouplingRule:
    """Places for every length. ``formulas[s]`` is None where segment s gets no place.

    The rule was found from sequences of the ``lengths``.
    """

    segments: tuple[ColumnRange, ...]
    formulas: tuple[PlaceFormula | None, ...]
    lengths: tuple[int, ...]

    def places(self, length: int) -> Int[ndarray, " T"]:
        """The place of every token, prompt and answer, at ``length``; places start at 1, and 0 means none.

        Raises `LengthwiseError` for a length that has no sequence.
        """
        parts = []
        for segment, formula in zip(self.segments, self.formulas, strict=True):
            size = segment.size(length)
            require(size >= 0, f"the coupling has no sequence of length {length}; use {min(self.lengths)} or more")
            # Only tokens on which nothing depends have a place below 1 by the formula.
            parts.append(np.zeros(size, np.int64) if formula is None else formula(np.arange(size), length).clip(0))
        return np.concatenate(parts)

    def describe(self) -> str:
        """The rule as text, one line per segment."""
        lines = []
        for segment, formula in zip(self.segments, self.formulas, strict=True):
            lines.append(f"{segment.describe():<34} {'no place' if formula is None else formula.describe()}")
        return "\n".join(lines)


def propose_coupling(dependencies: Sequence[Dependencies] | Mapping[int, Dependencies]) -> CouplingRule:
    """The rule that keeps every parent within one place of the predicting token, with the closest parents.

    Needs dependencies at two lengths or more; with three, an accidental fit is unlikely. Raises `NoCouplingError` with
    the reason if no rule of the family does this.
    """
    known = list(dependencies.values()) if isinstance(dependencies, Mapping) else list(dependencies)
    require(len(known) >= 2, f"a rule needs dependencies at two lengths or more, got {len(known)}; estimate another")
    known.sort(key=lambda d: d.length)
    lengths = tuple(d.length for d in known)
    for d in known:
        if d.unresolved:
            raise NoCouplingError(
                f"at length {d.length} no set of earlier tokens was found that determines answer token "
                f"{d.unresolved[0] + 1}; give more examples or query the task"
            )
    sparsity = [d.sparsity for d in known]
    grows = NoCouplingError(
        f"the number of parents grows with length: {_list(sparsity)} at lengths {_list(lengths)}; "
        "a coupling fixed in advance needs a constant number (a scratchpad may give one; where the content chooses "
        "what matters, predict the places)"
    )
    if len(known) > 2 and all(b > a for a, b in pairwise(sparsity)):
        raise grows
    # Where the number of parents grows in steps (a majority of 2m bits has as many as one of 2m - 1 bits), the given
    # lengths may still have a rule; the growth is the reason only if they have none.
    in_steps = len(known) > 2 and sparsity[-1] > sparsity[0] and all(b >= a for a, b in pairwise(sparsity))
    segments = find_segments(known)
    if segments is None and in_steps:
        raise grows
    if segments is None:
        raise MoreLengthsError(
            f"the layout is not affine in the length: {_list([d.tokens for d in known])} tokens at lengths "
            f"{_list(lengths)}; write operands of one length each, padded if need be, and an answer of n, n/2 or n/3 "
            "symbols"
        )
    formulas = search_formulas(segments, known)
    if formulas is None and in_steps:
        raise grows
    if formulas is None:
        raise MoreLengthsError(
            f"no rule that is affine in the index keeps every parent within one place "
            f"({_list(sparsity)} parents at lengths {_list(lengths)}); a scratchpad that writes down what is far away, "
            "or another order of the answer, may have one"
        )
    return CouplingRule(segments, formulas, lengths)


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
        problems.append(f"the number of places does not grow linearly: {_list([c.places for c in checks])}")
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


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
