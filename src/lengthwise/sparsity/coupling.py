"""Rules of coupled ids: the search for one, its checks, and what theory says of it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise, product
from typing import Any

import numpy as np
import pydantic
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.deadline import check_time
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.sparsity.dependence import Dependencies


class _SizeFormula:
    """Leaves fields that were added later out of JSON while they have their defaults, so that hashes stay the same."""

    @pydantic.model_serializer(mode="wrap")
    def _without_defaults(self, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        added = {"divisor": 1, "offset": 0, "fold": None}
        return {key: value for key, value in handler(self).items() if key not in added or value != added[key]}


@dataclass(frozen=True)
class ColumnRange(_SizeFormula):
    """A segment of a rule: ``⌊(base + per_length·n) / divisor⌋`` neighbouring columns of the prompt or the answer.

    All of them vary, or all are constant.
    """

    base: int
    per_length: int
    in_prompt: bool
    varies: bool
    divisor: int = 1

    def size(self, length: int) -> int:
        """Number of tokens at ``length``."""
        return (self.base + self.per_length * length) // self.divisor

    def describe(self) -> str:
        """Its location and size as text."""
        where, what = "prompt" if self.in_prompt else "answer", "symbols" if self.varies else "fixed"
        size = linear(self.base, self.per_length)
        return f"{where}, {size if self.divisor == 1 else f'floor(({size}) / {self.divisor})'} {what}"


@dataclass(frozen=True)
class PlaceFormula(_SizeFormula):
    """place(i) = shift + per_length·⌊(n + offset) / divisor⌋ + slope·⌊(i + phase) / run⌋.

    With a ``fold``, of a segment of n + fold tokens, i is counted from the nearer end.
    """

    shift: int
    per_length: int
    slope: int
    run: int = 1
    phase: int = 0
    offset: int = 0
    divisor: int = 1
    fold: int | None = None

    def __call__(self, index: Int[ndarray, "*N"], length: int | ndarray) -> Int[ndarray, "*N"]:
        """Places of tokens by their index in the segment."""
        units = (length + self.offset) // self.divisor
        if self.fold is not None:
            index = np.minimum(index, length + self.fold - 1 - index)
        return self.shift + self.per_length * units + self.slope * ((index + self.phase) // self.run)

    def describe(self) -> str:
        """The formula as text."""
        step = "i" if self.phase == 0 else f"(i + {self.phase})"
        if self.fold is not None:
            step = f"min(i, {linear(self.fold - 1, 1)} - i)"
        step = step if self.run == 1 else f"floor({step} / {self.run})"
        times = "" if abs(self.slope) == 1 else abs(self.slope)
        tail = f" {'+' if self.slope > 0 else '-'} {times}{step}" if self.slope else ""
        whole = linear(self.shift, self.per_length)
        if self.per_length and self.divisor > 1:
            whole = whole.replace("n", f"floor(({linear(self.offset, 1)}) / {self.divisor})")
        return f"place {whole}{tail}"


def linear(base: int, per_length: int) -> str:
    """``base + per_length·n`` as text."""
    if per_length == 0:
        return str(base)
    term = {1: "n", -1: "-n"}.get(per_length, f"{per_length}n")
    return term if base == 0 else f"{term} {'+' if base > 0 else '-'} {abs(base)}"


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
        return "\n".join(
            f"{segment.describe():<34} {'none: no token needs it' if formula is None else formula.describe()}"
            for segment, formula in zip(self.segments, self.formulas, strict=True)
        )


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
        span, which = d.farthest(places)
        if span > 1:
            problems.append(f"at length {n} {which}, {span} places from where it is predicted")
        if d.unresolved:
            problems.append(f"length {n}: the parents of {len(d.unresolved)} answer tokens are not known")
        real, counts = np.unique(places[places > 0], return_counts=True)
        checks.append(LengthCheck(n, len(places), len(real), int(counts.max(initial=0)), span, n in rule.lengths))
    rounded = any(segment.divisor > 1 for segment in rule.segments)
    rounded |= any(f and (f.run > 1 or f.fold is not None) for f in rule.formulas)
    problems += _growth(checks, slack=1 if rounded else 0)
    if all(check.seen for check in checks):
        problems.append("no length was checked that the rule was not found from")
    return CouplingCheck(tuple(checks), tuple(problems))


def corrected(
    rule: CouplingRule, dependencies: Mapping[int, Dependencies], lengths: Sequence[int]
) -> tuple[CouplingRule, CouplingCheck]:
    """The rule and its check at ``lengths``; where it fails at one of them, a rule that is found from that one, too.

    Short lengths can have a rule by accident; the shortest length that it breaks at joins those that a rule is found
    from, until one holds, none is found, or no other length is left to check.
    """
    while not (check := check_coupling(rule, dependencies, lengths)).holds:
        unseen = (n for n in sorted(lengths) if n not in rule.lengths)
        broken = next((n for n in unseen if not check_coupling(rule, dependencies, [n]).holds), None)
        if broken is None:
            break
        try:
            rule = propose_coupling({n: dependencies[n] for n in (*rule.lengths, broken)})
        except NoCouplingError:
            break
    return rule, check


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


def same_places(found: Int[ndarray, " T"], reference: Int[ndarray, " T"], prompt_length: int, compared: ndarray) -> str:
    """How two assignments of places agree on the ``compared`` tokens (a mask ``[T]``), up to a constant, and a shift of
    the answer by at most one place: ``yes``, ``yes, up to a shift`` where numbers differ, ``reversed``, or ``no``.

    Of tokens that agree, the last of the prompt may be elsewhere or lack the place that was found for it, which makes
    the first answer look far: ``but for the last token of the prompt``.
    """
    last = prompt_length - 1
    prompt = np.flatnonzero(compared[:prompt_length])
    answer = np.flatnonzero(compared[prompt_length:]) + prompt_length
    for sign in (1, -1):
        gap = found - sign * reference
        if len(set(gap[prompt].tolist())) <= 1 and len(set(gap[answer].tolist())) <= 1:
            both = len(prompt) and len(answer)
            if not both or abs(int(gap[prompt[0]] - gap[answer[0]])) <= 1:
                if len(answer) and (abs(int(gap[last] - gap[answer[0]])) > 1 if reference[last] else found[last] > 0):
                    return "but for the last token of the prompt"
                return "reversed" if sign == -1 else "yes, up to a shift" if gap[compared].any() else "yes"
    return "no"


def not_told_apart(
    parents: Sequence[Collection[int]],
    places: Int[ndarray, " T"],
    symbols: Sequence[AbstractSet[Hashable]],
    prompt: int,
) -> int:
    """Of tokens with these parents, how many coupled ids leave in doubt which tokens these are (`in_one_place`)."""
    return len(in_one_place(parents, places, symbols, prompt))


def in_one_place(
    parents: Sequence[Collection[int]],
    places: Int[ndarray, " T"],
    symbols: Sequence[AbstractSet[Hashable]],
    prompt: int,
) -> list[tuple[int, int]]:
    """For each token of which coupled ids leave in doubt which tokens its parents are, a parent and what it is mixed
    up with.

    These are among the first ``prompt`` tokens, have one place and may be the same symbol, and the other is no parent.
    """
    pairs = (((p, q) for p, q in _rivals(each, symbols, prompt) if places[p] == places[q] > 0) for each in parents)
    return [pair for found in pairs if (pair := next(found, None)) is not None]


def doubt_of(lost: int, whole: int, example: str = "") -> str:
    """What to say of places where ``lost`` of so many predicted tokens are `not_told_apart`, with an example of two
    such tokens; empty for up to half."""
    return (
        f"{lost} of {whole} predicted tokens need a token of the prompt that shares its place with another{example}; "
        "the ids don't say which, so the model must tell by their order"
    ) * (2 * lost > whole)


def _rivals(
    parents: Collection[int], symbols: Sequence[AbstractSet[Hashable]], prompt: int
) -> Iterator[tuple[int, int]]:
    """Each parent in the prompt beside each other token of it that may be the same symbol and is no parent."""
    for p in parents:
        if p < prompt:
            yield from ((p, q) for q in range(prompt) if q not in parents and symbols[p] & symbols[q])


DIVISORS = (2, 3)
FOLDED_FROM = 8
"""The longest length from which tokens are counted from the nearer end: in short strings all of those are near."""
ENOUGH_FOR_DIVISORS = 6
"""Lengths from which a size with a divisor is told from others: two periods of the largest."""
HALVED_FROM = 4
"""Lengths from which the symbols of a prompt may be two halves: three short ones have more rules by accident."""


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
    at = f"at lengths {_list(lengths)}"
    grows = NoCouplingError(
        f"a token depends on ever more others, those counted that choose which are needed: {_list(sparsity)} {at}; "
        "a coupling fixed in advance needs a constant number (a scratchpad may give one; where the content chooses "
        "what matters, state places and let the model predict them, with scheme predictive-coupling)"
    )
    if len(known) > 2 and all(b > a for a, b in pairwise(sparsity)):
        raise grows
    segments = find_segments(known)
    for parts in dict.fromkeys((segments, halved(segments, known))):
        if parts is not None and (formulas := search_formulas(parts, known)) is not None:
            return CouplingRule(parts, formulas, lengths)
    # Where the number of parents grows in steps (a majority of 2m bits has as many as one of 2m - 1 bits), the given
    # lengths may still have a rule; the growth is the reason only if they have none.
    if len(known) > 2 and sparsity[-1] > sparsity[0] and all(b >= a for a, b in pairwise(sparsity)):
        raise grows
    if segments is None:
        kinds = {tuple(kind for kind, _ in _column_groups(d)) for d in known}
        if len(kinds) > 1 and _size(lengths, [d.tokens for d in known]) is not None:
            raise MoreLengthsError(
                f"which tokens are the same in all strings changes from length to length ({_list(lengths)}), and no "
                "rule of one form describes it"
            )
        raise MoreLengthsError(
            f"the layout is not affine in the length: {_list([d.tokens for d in known])} tokens {at}; write operands "
            "of one length each, padded if need be, and an answer of n, n/2 or n/3 symbols"
        )
    if not any(sparsity):
        raise NoCouplingError(f"no answer token depends on another token ({_list(sparsity)} parents {at})")
    far, which = known[-1].farthest(np.arange(known[-1].tokens))
    raise MoreLengthsError(
        "no rule that is affine in the index keeps every parent within one place: "
        f"at length {lengths[-1]} {which}, {far} tokens from where it is predicted"
    )


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


def halved(segments: tuple[ColumnRange, ...] | None, known: Sequence[Dependencies]) -> tuple[ColumnRange, ...] | None:
    """Segments whose symbols of the prompt are two halves where their number is even at every length."""
    if segments is None or len(known) < HALVED_FROM:
        return None
    parts = []
    for s in segments:
        splits = s.in_prompt and s.varies and s.per_length and all(s.size(d.length) % 2 == 0 for d in known)
        terms = s.base, s.per_length, 2 * s.divisor
        base, rate, divisor = (term // math.gcd(*terms) for term in terms)
        parts += [replace(s, base=base, per_length=rate, divisor=divisor)] * 2 if splits else [s]
    return tuple(parts)


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
    kinds = ((i < d.prompt_length, varies) for i, varies in enumerate(d.varies))
    return [(kind, sum(1 for _ in group)) for kind, group in groupby(kinds)]


_Links = dict[tuple[int, int], Int[ndarray, "3 E"]]
"""Pairs of tokens whose places are compared, by their segments: left index, right index, length of the sequence."""


def search_formulas(
    segments: tuple[ColumnRange, ...], known: Sequence[Dependencies]
) -> tuple[PlaceFormula | None, ...] | None:
    """Formulas for the segments that dependencies touch, None for the others; None if the search fails.

    The first growing segment of the answer gets place i. A depth-first search assigns the others, most linked first,
    and checks each candidate against all links to segments that already have a formula. Where two tokens of the prompt
    would share a place of which only one is needed (`not_told_apart`), every other place is tried, too; what they share
    is left only where nothing else is found. Last, tokens are counted from the nearer end (`_folds`).
    """
    near, close, step, rival = _links(segments, known)
    touched = {s for pair in near for s in pair}
    answers = [s for s in sorted(touched) if not segments[s].in_prompt and segments[s].per_length > 0]
    if not answers:
        return None
    anchor = answers[0]
    # What is counted from the end of the answer is so in units of the answer's size.
    unit = segments[anchor].divisor
    offset = segments[anchor].base if unit > 1 else 0

    def fits(formulas: dict[int, PlaceFormula], new: int, apart: bool) -> bool:
        if any(gaps.max() > 1 for gaps in _gaps(near, formulas, new, 0)):
            return False
        return not apart or all(gaps.all() for gaps in _gaps(rival, formulas, new, 0))

    def extended(
        formulas: dict[int, PlaceFormula], apart: bool, steps: int, folded: bool = False
    ) -> dict[int, PlaceFormula] | None:
        missing = touched - formulas.keys()
        if not missing:
            return formulas

        # The segment with most links to those with a formula has the most constrained candidates.
        def linked(s: int) -> int:
            return sum(links.shape[1] for pair, links in near.items() if s in pair and set(pair) & formulas.keys())

        new = max(sorted(missing), key=linked)
        scored = []
        for plain in _folds(segments[new], folded) or _candidates(segments[new], steps):
            check_time()
            formula = replace(plain, offset=offset, divisor=unit)
            trial = {**formulas, new: formula}
            if fits(trial, new, apart):
                far = sum(int(gaps.sum()) for gaps in _gaps(close, trial, new, 0))
                skipped = sum(int(gaps.sum()) for gaps in _gaps(step, trial, new, 1))
                scored.append((far, skipped, formula.run, abs(formula.shift), len(scored), trial))
        fitting = (trial for *_, trial in sorted(scored, key=lambda item: item[:5]))
        return next((found for trial in fitting if (found := extended(trial, apart, steps, folded))), None)

    tries = ((True, 1), (True, 2), (False, 1)) if rival else ((True, 1), (True, 2))
    for (apart, steps), (run, phase) in product(tries, _RUNS):
        formulas = {anchor: PlaceFormula(0, 0, 1, run, phase, offset, unit)}
        if fits(formulas, anchor, apart) and (found := extended(formulas, apart, steps)) is not None:
            return _finish(segments, found, known)
    if max(d.length for d in known) >= FOLDED_FROM:
        for first in (*_folds(segments[anchor], True), PlaceFormula(0, 0, 1, 1, 0, offset, unit)):
            if fits({anchor: first}, anchor, False) and (found := extended({anchor: first}, False, 1, True)):
                return _finish(segments, found, known)
    return None


_RUNS = tuple((run, phase) for run in (1, 2, 3) for phase in range(run))


def _links(segments: tuple[ColumnRange, ...], known: Sequence[Dependencies]) -> tuple[_Links, ...]:
    """Four kinds of links: ``near`` (predicting token, parent; at most 1 apart), ``close`` (predicted token, parent;
    preferably equal), ``step`` (predicting token, predicted token; preferably consecutive) and ``rival`` (`_rivals`;
    preferably apart).
    """
    found = tuple(defaultdict[tuple[int, int], list[tuple[int, int, int]]](list) for _ in range(4))
    for d in known:
        sizes = [s.size(d.length) for s in segments]
        owner = np.repeat(np.arange(len(segments)), sizes)
        start = np.concatenate([[0], np.cumsum(sizes)])
        edges = d.edges().tolist()
        pairs = (
            [(child - 1, parent) for child, parent in edges],
            edges,
            [(child - 1, child) for child, _ in edges],
            {pair for parents in d.parents for pair in _rivals(parents, d.symbols, d.prompt_length)},
        )
        for links, ends in zip(found, pairs, strict=True):
            for left, right in ends:
                a, b = int(owner[left]), int(owner[right])
                links[a, b].append((left - int(start[a]), right - int(start[b]), d.length))
    return tuple({pair: np.array(rows).T for pair, rows in links.items()} for links in found)


def _folds(segment: ColumnRange, folded: bool) -> list[PlaceFormula]:
    """Formulas that count the tokens of a segment from its nearer end; none where it does not grow as the length."""
    if not folded or (segment.per_length, segment.divisor) != (1, 1):
        return []
    return [PlaceFormula(shift, 0, slope, fold=segment.base) for slope, shift in product((1, -1), range(-4, 5))]


def _candidates(segment: ColumnRange, steps: int) -> list[PlaceFormula]:
    """Formulas for a segment; with 2 ``steps`` also those in which its tokens have every other place."""
    if segment.per_length == 0 and segment.base == 1:
        return [PlaceFormula(shift, tau, 0) for shift, tau in product(range(-4, 5), (0, 1))]
    # A slope of zero would put a growing segment into one place.
    slopes = (1, -1) if segment.per_length else (1, -1, 0)
    found = [
        PlaceFormula(shift, tau, slope, run, phase)
        for slope, tau, (run, phase), shift in product(slopes, (0, 1, -1), _RUNS, range(-4, 5))
    ]
    if steps > 1 and segment.per_length:
        found += [PlaceFormula(shift, tau, slope) for slope, tau in ((2, 0), (-2, 2)) for shift in range(-4, 5)]
    return found


def _gaps(links: _Links, formulas: dict[int, PlaceFormula], new: int, ahead: int) -> list[ndarray]:
    """Distances of right places from left places plus ``ahead``, for every link that the new formula completes."""
    return [
        np.abs(formulas[a](left, length) + ahead - formulas[b](right, length))
        for (a, b), (left, right, length) in links.items()
        if new in (a, b) and a in formulas and b in formulas
    ]


def _finish(
    segments: tuple[ColumnRange, ...], found: dict[int, PlaceFormula], known: Sequence[Dependencies]
) -> tuple[PlaceFormula | None, ...]:
    """Shift all formulas so that the smallest place that a dependency uses is 1, and place the end after the answer."""
    used: list[int] = []  # the smallest place of a parent or a predicting token, by length
    for d in known:
        sizes, edges = [segment.size(d.length) for segment in segments], d.edges()
        parts = [found[s](np.arange(size), d.length) if s in found else np.zeros(size) for s, size in enumerate(sizes)]
        used.append(int(np.concatenate(parts)[np.concatenate([edges[:, 0] - 1, edges[:, 1]])].min()))
    result: list[PlaceFormula | None] = []
    for s, segment in enumerate(segments):
        formula = found.get(s)
        if formula is not None:
            formula = replace(formula, shift=formula.shift + 1 - min(used))
        elif s and not segment.in_prompt and segment.base == 1 and not segment.per_length:
            before, size = result[s - 1], segments[s - 1]
            plain = before is not None and before.slope == 1 and before.run == 1 and before.fold is None
            if before is not None and plain and size.divisor == before.divisor:
                base = size.base if size.divisor == 1 else 0
                formula = replace(before, shift=before.shift + base, per_length=before.per_length + size.per_length)
                formula = replace(formula, slope=0)
        result.append(formula)
    return tuple(result)
