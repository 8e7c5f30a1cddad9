"""The coupling search: `propose_coupling` finds places that keep the parents of every token near, at every length.

It splits the sequences into segments (`find_segments`) and tries place formulas for one segment after the other
(`search_formulas`). `coupling_check.py` checks what it finds at longer lengths.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.sparsity.coupling.coupling_rule import ColumnRange, CouplingRule, PlaceFormula
from lengthwise.sparsity.coupling.dependence import Dependencies

DIVISORS = (2, 3)
ENOUGH_FOR_DIVISORS = 6
"""Lengths from which a size with a divisor is told from others: two periods of the largest."""


class NoCouplingError(LengthwiseError):
    """No rule of the family puts every parent within one place; the message names the reason."""


class MoreLengthsError(NoCouplingError):
    """These lengths have no rule; more of them may show sizes that are affine in the length up to rounding."""


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


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def find_segments(known: Sequence[Dependencies]) -> tuple[ColumnRange, ...] | None:
    """The segments that all lengths have in common; None if their sizes are not affine in the length.

    From six lengths on, a size may also be affine up to rounding down after a division by 2 or 3. Constant columns of
    a fixed number (``<bos>``, ``=`` …) become one segment each.
    """
    runs = [_column_groups(d) for d in known]
    if len({tuple(kind for kind, _ in run) for run in runs}) != 1:
        return None
    segments = []
    n = [d.length for d in known]
    for s, (in_prompt, varies) in enumerate(kind for kind, _ in runs[0]):
        size = _size(n, [run[s][1] for run in runs])
        if size is None:
            return None
        base, rate, divisor = size
        if rate == 0 and not varies:
            segments += [ColumnRange(1, 0, in_prompt, varies)] * base
        else:
            segments.append(ColumnRange(base, rate, in_prompt, varies, divisor))
    return tuple(segments)


def _size(lengths: Sequence[int], sizes: Sequence[int]) -> tuple[int, int, int] | None:
    """``(base, rate, divisor)`` with size ⌊(base + rate·n) / divisor⌋ at every length; None if there is none."""
    rate, rest = divmod(sizes[-1] - sizes[0], lengths[-1] - lengths[0])
    found = [(sizes[0] - rate * lengths[0], rate, 1)] if not rest else []
    if len(lengths) >= ENOUGH_FOR_DIVISORS:
        bases = [(d, d * sizes[0] - lengths[0] + remainder) for d in DIVISORS for remainder in range(d)]
        found += [(base, 1, d) for d, base in bases]
    for base, rate, divisor in found:
        if all((base + rate * n) // divisor == size for n, size in zip(lengths, sizes, strict=True)):
            return base, rate, divisor
    return None


def _column_groups(d: Dependencies) -> list[tuple[tuple[bool, bool], int]]:
    """((in the prompt, varies), size) of every range of equal columns."""
    result: list[tuple[tuple[bool, bool], int]] = []
    for i, varies in enumerate(d.varies):
        kind = (i < d.prompt_length, varies)
        if result and result[-1][0] == kind:
            result[-1] = (kind, result[-1][1] + 1)
        else:
            result.append((kind, 1))
    return result


@dataclass(frozen=True)
class _Link:
    """Pairs of tokens that should be close: their indices in two segments, and the lengths of their sequences."""

    left: Int[ndarray, " E"]
    right: Int[ndarray, " E"]
    length: Int[ndarray, " E"]


_Links = dict[tuple[int, int], _Link]
"""Links by (segment of the left token, segment of the right token)."""


def search_formulas(
    segments: tuple[ColumnRange, ...], known: Sequence[Dependencies]
) -> tuple[PlaceFormula | None, ...] | None:
    """Formulas for the segments that dependencies touch, None for the others; None if the search fails.

    The first growing segment of the answer gets place i. A depth-first search assigns the others, most linked first,
    and checks each candidate against all links to segments that already have a formula.
    """
    near, close, step = _links(segments, known)
    touched = {s for pair in near for s in pair}
    answers = [s for s in sorted(touched) if not segments[s].in_prompt and segments[s].per_length > 0]
    if not answers:
        return None
    anchor = answers[0]
    # What is counted from the end of the answer is so in units of the answer's size.
    unit = segments[anchor].divisor
    offset = segments[anchor].base if unit > 1 else 0
    for run, phase in _RUNS:
        formulas = {anchor: PlaceFormula(0, 0, 1, run, phase, offset, unit)}
        if _fits(near, formulas, anchor):
            found = _extend(segments, near, close, step, formulas, touched)
            if found is not None:
                return _finish(segments, found, known)
    return None


_RUNS = tuple((run, phase) for run in (1, 2, 3) for phase in range(run))


def _links(segments: tuple[ColumnRange, ...], known: Sequence[Dependencies]) -> tuple[_Links, _Links, _Links]:
    """Three kinds of links: ``near`` (predicting token, parent; at most 1 apart), ``close`` (predicted token, parent;
    preferably equal) and ``step`` (predicting token, predicted token; preferably consecutive).
    """
    near: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    close: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    step: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    for d in known:
        owner = np.repeat(np.arange(len(segments)), [s.size(d.length) for s in segments])
        start = np.concatenate([[0], np.cumsum([s.size(d.length) for s in segments])])
        for child, parent in d.edges().tolist():
            for links, left, right in ((near, child - 1, parent), (close, child, parent), (step, child - 1, child)):
                a, b = int(owner[left]), int(owner[right])
                links[a, b].append((left - int(start[a]), right - int(start[b]), d.length))
    return _arrays(near), _arrays(close), _arrays(step)


def _arrays(links: dict[tuple[int, int], list[tuple[int, int, int]]]) -> _Links:
    return {pair: _Link(*np.array(rows).T) for pair, rows in links.items()}


def _extend(
    segments: tuple[ColumnRange, ...],
    near: _Links,
    close: _Links,
    step: _Links,
    formulas: dict[int, PlaceFormula],
    touched: set[int],
) -> dict[int, PlaceFormula] | None:
    missing = touched - formulas.keys()
    if not missing:
        return formulas

    # The segment with most links to those with a formula has the most constrained candidates.
    def linked(s: int) -> int:
        return sum(len(link.length) for pair, link in near.items() if s in pair and set(pair) & formulas.keys())

    new = max(sorted(missing), key=linked)
    scored = []
    first = next(iter(formulas.values()))
    for plain in _candidates(segments[new]):
        formula = replace(plain, offset=first.offset, divisor=first.divisor)
        trial = {**formulas, new: formula}
        if _fits(near, trial, new):
            cost = _cost(close, trial, new), _cost(step, trial, new, ahead=1)
            scored.append((*cost, formula.run, abs(formula.shift), len(scored), trial))
    for *_, trial in sorted(scored, key=lambda item: item[:5]):
        found = _extend(segments, near, close, step, trial, touched)
        if found is not None:
            return found
    return None


def _candidates(segment: ColumnRange) -> list[PlaceFormula]:
    if segment.per_length == 0 and segment.base == 1:
        return [PlaceFormula(shift, tau, 0) for shift, tau in product(range(-4, 5), (0, 1))]
    # A slope of zero would put a growing segment into one place.
    slopes = (1, -1) if segment.per_length else (1, -1, 0)
    return [
        PlaceFormula(shift, tau, slope, run, phase)
        for slope, tau, (run, phase), shift in product(slopes, (0, 1, -1), _RUNS, range(-4, 5))
    ]


def _fits(near: _Links, formulas: dict[int, PlaceFormula], new: int) -> bool:
    return all(gaps.max() <= 1 for gaps in _gaps(near, formulas, new, 0))


def _cost(links: _Links, formulas: dict[int, PlaceFormula], new: int, ahead: int = 0) -> int:
    return sum(int(gaps.sum()) for gaps in _gaps(links, formulas, new, ahead))


def _gaps(links: _Links, formulas: dict[int, PlaceFormula], new: int, ahead: int) -> list[ndarray]:
    """Distances of right places from left places plus ``ahead``, for every link that the new formula completes."""
    return [
        np.abs(formulas[a](link.left, link.length) + ahead - formulas[b](link.right, link.length))
        for (a, b), link in links.items()
        if new in (a, b) and a in formulas and b in formulas
    ]


def _used_places(segments: tuple[ColumnRange, ...], found: dict[int, PlaceFormula], d: Dependencies) -> int:
    """The smallest place of a parent or a predicting token."""
    sizes = [segment.size(d.length) for segment in segments]
    parts = [found[s](np.arange(size), d.length) if s in found else np.zeros(size) for s, size in enumerate(sizes)]
    edges = d.edges()
    return int(np.concatenate(parts)[np.concatenate([edges[:, 0] - 1, edges[:, 1]])].min())


def _finish(
    segments: tuple[ColumnRange, ...], found: dict[int, PlaceFormula], known: Sequence[Dependencies]
) -> tuple[PlaceFormula | None, ...]:
    """Shift all formulas so that the smallest place that a dependency uses is 1, and place the end after the answer."""
    low = min(_used_places(segments, found, d) for d in known)
    result: list[PlaceFormula | None] = []
    for s, segment in enumerate(segments):
        formula = found.get(s)
        if formula is not None:
            formula = replace(formula, shift=formula.shift + 1 - low)
        elif s and not segment.in_prompt and segment.base == 1 and not segment.per_length:
            before, size = result[s - 1], segments[s - 1]
            if before is not None and before.slope == 1 and before.run == 1 and size.divisor == before.divisor:
                base = size.base if size.divisor == 1 else 0
                formula = replace(before, shift=before.shift + base, per_length=before.per_length + size.per_length)
                formula = replace(formula, slope=0)
        result.append(formula)
    return tuple(result)
