"""Where a model breaks: short failing strings, what they have in common, and which head looks elsewhere in them."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import numpy as np
from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.config import config
from lengthwise.core.errors import OutOfTimeError
from lengthwise.core.rng import stream
from lengthwise.core.table import Table
from lengthwise.core.vocab import SPECIALS
from lengthwise.explanation.clock import EARLY, FEW
from lengthwise.explanation.common_cause import CommonCause, common_cause
from lengthwise.explanation.coverage import covered, random_at, spread, suspected, turns
from lengthwise.explanation.features import (
    CLEAR,
    LEAST,
    Compared,
    Feature,
    telling_exactly,
    telling_feature,
    telling_nearby,
)
from lengthwise.explanation.kinds import NONE, Way, WeakKind, distinct, hard_strings, is_apart, weak_kinds, weakest_way
from lengthwise.explanation.mistakes import STOPS, Failure, Wrong, facts, first_wrong, most_common_mistake
from lengthwise.explanation.model import RandomStrings, Subject
from lengthwise.explanation.redrawn import Redrawn, redrawn
from lengthwise.explanation.verdict import CUT, LengthShares, Share, Verdict
from lengthwise.languages.automaton import Dfa
from lengthwise.models.generate import END
from lengthwise.tasks.kinds import select
from lengthwise.tasks.language import Language

AT_RANDOM = "found among random strings"
SOME = 10
"""Lengths at which strings with values are asked, about, beside those up to twice the training length, and the last."""
WITHIN, SHOWN = 2, 5
"""Failing strings of trained lengths, and of longer ones, that are shown at most."""
MOST_TIMES = 4
"""A length that stays too close to say is asked so often, each time with fresh strings."""
HARD_AT_LEAST = 8
"""Edited strings of each way, where few are asked."""
T = TypeVar("T")


@config
class Arm:
    """The same strings under ids that are all larger by ``shift``."""

    shift: int
    right: int


UNMOVED = 0.01
"""Of outputs that change less, the ids that were shifted are relative."""


@config
class Moved:
    """Trained strings under other position ids: larger than those of training, and, as a control, among these."""

    length: int
    n: int
    right: int
    known: int
    """The largest id of training."""
    inside: tuple[Arm, ...]
    """Shifts whose ids training showed, odd and even ones where there is room."""
    beyond: tuple[Arm, ...]
    """Shifts to the end of the ids of the first length that breaks, and of the longest one."""

    def breaks(self, arm: Arm) -> bool:
        """Whether strings that are right under their own ids become wrong."""
        return arm.right < CUT * self.right

    @property
    def to_blame(self) -> bool:
        """Whether the larger ids alone make right strings wrong, and ids that training showed do not."""
        return self._beyond and bool(self.inside) and not any(map(self.breaks, self.inside))

    @property
    def absolute(self) -> bool:
        """Whether ids that training showed make right strings wrong, too: the outputs depend on the ids themselves."""
        return any(map(self.breaks, self.inside))

    @property
    def harmless(self) -> bool:
        """Whether right strings stay right under all these ids."""
        return not self.absolute and not self._beyond

    @property
    def _beyond(self) -> bool:
        return any(map(self.breaks, self.beyond))

    @property
    def line(self) -> str:
        """The answer with all counts."""

        def counts(arms: Sequence[Arm]) -> str:
            return ", ".join(f"by {arm.shift}: {arm.right}" for arm in arms)

        parts = [f"{self.right} under their own ids"]
        parts += [f"shifted among ids that training showed, {counts(self.inside)}"] if self.inside else []
        parts += [f"shifted to ids above {self.known}, {counts(self.beyond)}"]
        return f"of {self.n} string{'s' * (self.n > 1)} of length {self.length} are right: {'; '.join(parts)}"

    @property
    def cause(self) -> list[str]:
        """The answer in sentences, with the share that decides."""
        if self.absolute:
            broken = [arm for arm in self.inside if self.breaks(arm)]
            odd, kept = ({arm.shift % 2 for arm in arms} for arms in (broken, set(self.inside) - set(broken)))
            numbers = " or ".join(str(arm.shift) for arm in broken)
            if not kept & odd:
                numbers = f"an {('even', 'odd')[odd.pop()]} number" if kept else "any number that was tried"
            most = max(arm.right for arm in broken)
            return [
                "It reads the absolute position.",
                f"Tested: with all ids shifted by {numbers}, at most {most} of {self.right} right strings stay right.",
            ]
        if not self._beyond:
            return ["Not position ids alone: right strings stay right under larger ones."]
        least, control = min(arm.right for arm in self.beyond), ""
        if self.inside:
            control = f"; to ids that training showed, {min(arm.right for arm in self.inside)}"
        return [
            f"It {'is' if self.inside else 'may be'} the position ids above {self.known}: training never showed them.",
            f"Tested: shifted to them, {least} of {self.right} right strings stay right{control}.",
        ]


@config
class Failures:
    """Shares by length, and the smallest failing strings."""

    rows: tuple[LengthShares, ...]
    smallest: tuple[Failure, ...]
    """A few of trained lengths, and those beyond."""
    moved: Moved | None
    """None where no length beyond training breaks, and where `ids` says why not."""
    feature: Feature | None
    """What tells failing strings from right ones, if one thing does."""
    train: int
    ids: str = ""
    """What is known of the position ids where no strings were moved to others."""
    tried: bool = True
    """Whether there are strings enough, failing and right ones of the same length, to look for a feature."""
    within: Compared | None = None
    """First wrong tokens of all failing strings of trained lengths; of tasks with answers."""
    border: Compared | None = None
    """Those of random strings of the first length beyond at which these break; without one, of edited strings.

    Where these share nothing, those of all longer ones, too."""
    kinds: tuple[WeakKind, ...] = ()
    """Kinds of strings on which it is worse than on random ones, the worst first."""
    ways: tuple[Way, ...] = ()
    """Right ones of the edited strings, by how they were made."""
    asked: tuple[Way, ...] = ()
    """Fresh strings of each kind that was asked, weak or not."""
    redrawn: tuple[Redrawn, ...] = ()
    """Which part of the prompt decides: of strings of a kind, or of random ones that break, where one surely does."""
    common: CommonCause | None = None
    """Values that make strings fail wherever they stand."""
    by_length: tuple[tuple[int, Share], ...] = ()
    """Right random strings at the lengths of `rows` and at further ones; of tasks with answers."""
    few: tuple[int, ...] = ()
    """Lengths of `rows` so costly that few strings were asked; see `Clock`."""
    ended: bool = False
    """Whether something was left out for want of time."""

    def __repr__(self) -> str:
        return f"Failures({' '.join([*itertools.chain(*self.findings), self.example.shown if self.example else ''])})"

    @property
    def edited(self) -> str:
        """Which edited strings surely fail more than others at the first length at which these break; else empty."""
        length = Verdict(self.rows, self.train).first("hard")
        row = next((row for row in self.rows if row.length == length), None)
        if length is None or row is None or (way := weakest_way(self.ways, row)) is None:
            return ""
        return f"Of edited strings, {way.at(length).wrong} are wrong at length {length} where {way.how}."

    @property
    def apart(self) -> WeakKind | None:
        """The kind of which next to none is right at a trained length, beside another of which surely nearly all are.

        None where random strings of trained lengths are mostly wrong, too.
        """
        worst = self.kinds[0] if self.kinds else None
        if worst is None or worst.length > self.train or worst.share.value > NONE:
            return None
        others = [share for way in self.asked if (share := way.at(worst.length)).n]
        return worst if Verdict(self.rows, self.train).trained.value > 0.5 and any(s.surely for s in others) else None

    @property
    def where(self) -> list[tuple[str, ...]]:
        """What tells failing strings from right ones, the most telling first, in sentences."""
        return [
            *((f"Where {kind.kind}: wrong {kind.wrong}.", *kind.does, *kind.where) for kind in self.kinds),
            *([(self.feature.line,)] if self.feature else []),
            *([(self.edited,)] if self.edited and not self.feature else []),
        ]

    @property
    def findings(self) -> list[tuple[str, ...]]:
        """The same, and what tells wrong tokens from right ones."""
        return [
            *self.where,
            *(each.details for each in (self.within, self.border) if each is not None and (each.enough or each.does)),
            *[(self.ids,)] * bool(self.ids),
        ]

    def table(self) -> Table:
        """Right strings of each kind and way of editing, by length."""
        random = {row.length: row.random for row in self.rows}
        lengths = sorted({*random, *(length for each in self.asked for length, _ in each.rows)})
        groups = [("drawn at random", "", random)]
        groups += [(f"where {each.how}", each.found, dict(each.rows)) for each in self.asked]
        groups += [("edited, in any way", "", {row.length: row.hard for row in self.rows})] if self.ways else []
        groups += [(f"edited: {way.how}", "", dict(way.rows)) for way in self.ways]

        def cell(share: Share | None) -> str | None:
            return None if share is None or not share.n else f"{share.right} of {share.n}"

        rows = tuple((name, said, *(cell(shares.get(length)) for length in lengths)) for name, said, shares in groups)
        return Table(("strings", "found", *map(str, lengths)), rows)

    @property
    def example(self) -> Failure | None:
        """A failing string of the length that is said to break, of random strings or else of edited ones; else any."""
        length, kind = first_break(Verdict(self.rows, self.train))

        def far(one: Failure) -> tuple[bool, bool, bool]:
            return one.length != length, kind not in ("", one.kind), one.length <= self.train

        return min(self.smallest, key=far, default=None)


def first_break(verdict: Verdict) -> tuple[int | None, str]:
    """The first length at which random strings break, and `AT_RANDOM`; else that of edited ones."""
    random = verdict.first("random")
    return (verdict.first("hard"), "") if random is None else (random, AT_RANDOM)


def find_failures(
    asked: RandomStrings, lengths: Sequence[int], learned: Dfa | None, *, further: bool = False
) -> Failures:
    """The shares of right strings, and small failing strings.

    Asked are ``lengths``, and those between them that narrow down where the model stops to be right and where it
    breaks, by bisection, and where random strings that are too close to say are right again, since a dip can begin
    there. The two lengths that this finds are asked once more, with as many fresh strings,
    and all of these strings count; then the search goes on if it must. Trained lengths that are too close to say are
    asked up to `MOST_TIMES`, and so are longer ones whose random strings seem right. Random strings are those of
    `accuracy`. Where ``further`` lengths may be asked, a few strings of kinds say which are worth it.

    A costly length (`Clock`) is asked once, with few strings. When time ends, what is known then is given back.
    """
    subject, samples, seed = asked.subject, asked.samples, asked.seed
    clock = subject.clock
    groups: dict[int, tuple[list[tuple[str, Batch, ndarray]], ...]] = {}
    known: dict[int, set[bytes]] = {}
    rows: dict[int, LengthShares] = {}
    made: dict[int, list[tuple[str, Batch, ndarray]]] = {}
    times = Counter[int]()

    def ask(length: int, *, again: bool = False) -> None:
        times[length] += 1
        rng = stream(
            seed, "explain", "failures", length, *["again"] * again, *[times[length] - 1] * (times[length] > 2)
        )
        every, drawn = asked.again(length) if again else asked(length)
        count = HARD_AT_LEAST if clock.costly(length) else max(HARD_AT_LEAST, samples // 5)
        made_hard = hard_strings(subject, length, count, rng, learned)
        hard = [*distinct(made_hard, known.setdefault(length, set()))]
        hard = hard if clock.has(length, sum(batch.size for _, batch in hard), EARLY) else []
        good = in_time(lambda: subject.all_right([batch for _, batch in hard]), [])
        hard = hard[: len(good)]
        groups[length] = (
            [(AT_RANDOM, *known) for known in drawn],
            [*(groups[length][1] if again else ()),
             *((*each, right) for each, right in zip(hard, good, strict=True))],
        )  # fmt: skip
        counted = [[each for each in group if not is_apart(subject.task, each[0])] for group in groups[length]]
        made[length] = counted[1]
        counts = (
            Share(sum(int(good.sum()) for *_, good in group), sum(batch.size for _, batch, _ in group), every)
            for group in counted
        )
        rows[length] = LengthShares(length, *counts)

    def verdict() -> Verdict:
        return Verdict([rows[length] for length in sorted(rows)], subject.train)

    def in_time(part: Callable[[], T], otherwise: T) -> T:
        with suppress(OutOfTimeError):
            return part()
        return otherwise

    def settle() -> None:
        while True:
            if doubted := [n for n in verdict().unclear if times[n] < MOST_TIMES and may_ask(n)]:
                ask(doubted[0], again=True)
                continue
            both = verdict(), verdict().of("random")
            edges = [*both[0].edges, *both[1].edges, *both[1].doubt_ends, *filter(None, [both[1].cliff])]
            middles = (some[len(some) // 2] for some in (subject.between(*edge) for edge in edges) if some)
            if (middle := next((n for n in middles if clock.has(n, FEW, EARLY)), None)) is not None:
                ask(middle)
                continue
            # The first that breaks as often as those before it: where fewer strings do, it can be by chance.
            often = {n: 2 for each in both for n in (each.held, each.broken())}
            often |= {both[1].broken(): max([2, *(times[n] for n in both[1].doubted)])}
            border = sorted(
                n for n, most in often.items() if n and times[n] < most and not rows[n].random.every and may_ask(n)
            )
            if not border:
                return
            ask(border[0], again=True)

    def may_ask(length: int) -> bool:
        return not clock.costly(length) and clock.has(length, samples, EARLY)

    for length in lengths:
        in_time(lambda length=length: ask(length), None)
    in_time(settle, None)
    sweep, suspects = sorted(rows), dict[int, list[str]]()
    drawn: dict[int, Share] = {}
    if verdict().learned and not isinstance(subject.task, Language):
        sweep = spread(subject, sweep) if further else sweep
        sweep = [n for n in sweep if n in rows or not clock.costly(n)]
        hard = {length: parts[1] for length, parts in groups.items()}
        suspects, drawn = in_time(
            lambda: (suspected(subject, sweep, seed, hard), random_at(subject, rows, sweep, seed)), (suspects, drawn)
        )
        doubted = {
            length
            for length, share in drawn.items()
            if not share.holds and length < (verdict().first("random") or length + 1)
        }
        for length in sorted({*suspects, *turns(drawn, subject.train), *doubted} - rows.keys()):
            if clock.has(length, FEW):
                in_time(lambda length=length: ask(length), None)
        in_time(settle, None)
        drawn |= {length: row.random for length, row in rows.items()}
    shares = verdict().rows
    smallest, strings = list[Failure](), dict[tuple[str, ...], bool]()
    if not verdict().learned:
        # Of a model that has not learned, longer strings say nothing.
        groups = {length: parts for length, parts in groups.items() if length <= subject.train}

    broken = verdict().broken(subject.train)
    first = {kind: verdict().first(kind, subject.train) for kind in ("random", "hard")}
    at = first["random"] or first["hard"]
    moved = None if at is None else in_time(lambda: _moved(subject, at, shares[-1].length, samples, seed), None)

    def replayed(one: Batch, kind: str) -> Failure | None:
        return in_time(lambda: _replayed(subject, one, kind if kind == AT_RANDOM else f"where {kind}"), None)

    parts = [(length, *part) for length, both in sorted(groups.items()) for part in itertools.chain(*both)]
    looked_at = Counter[int]()

    def mistakes_of(length: int, batch: Batch, good: ndarray) -> list[Wrong]:
        if clock.costly(length) and looked_at[length] >= FEW:
            return []
        looked_at[length] += int((~good).sum())
        return in_time(lambda: first_wrong(subject, batch, good), [])

    seen = [mistakes_of(length, batch, good) for length, _, batch, good in parts]
    mistakes = list(itertools.chain(*seen))
    counted = [
        (*each[1:], found) for each, found in zip(parts, seen, strict=True) if not is_apart(subject.task, each[1])
    ]
    free = list(itertools.chain(*(found for *_, found in counted)))
    kinds, kinds_asked, of_kind = in_time(
        lambda: weak_kinds(asked, groups, free, shares, learned, replayed, suspects), ((), (), {})
    )

    def compared(kind: str) -> Compared | None:
        return _compared(subject, [(kind, *each) for each in of_kind[kind]], seed, lambda _: True)

    kinds = tuple(dataclasses.replace(each, compared=compared(each.kind)) for each in kinds)
    kinds = in_time(lambda: tuple(covered(subject, kinds, sweep, seed, further=further)), kinds)
    for length, both in sorted(groups.items()):
        most = WITHIN if length <= subject.train else WITHIN + SHOWN
        for kind, batch, good in itertools.chain(*both):
            strings.update({symbols_of(batch, row): bool(good[row]) for row in range(batch.size)})
            for row in np.flatnonzero(~good) if len(smallest) < most else ():
                found = replayed(select(batch, [int(row)]), kind)
                if found is not None and all(found.tokens != known.tokens for known in smallest):
                    smallest.append(found)
                    if len(smallest) == most:
                        break
    for length, how in dict.fromkeys([(broken, ""), first_break(verdict())]):
        # One string of a length at which it breaks, which the shortest ones need not resemble.
        if length is None or any(each.length == length and how in ("", each.kind) for each in smallest):
            continue
        failing = (
            (kind, batch, np.flatnonzero(~good))
            for kind, batch, good in itertools.chain(*groups.get(length, ())) if how in ("", kind)
        )  # fmt: skip
        one = next((replayed(select(batch, rows[:1]), kind) for kind, batch, rows in failing if rows.size), None)
        smallest += [one] if one is not None else []
    border = [each for each in counted if (each[0] == AT_RANDOM) == (first["random"] is not None)]
    by_length = Counter((len(string), right) for string, right in strings.items())
    mixed = [n for n, right in by_length if right and by_length[n, False]]
    least = min(sum(by_length[n, right] for n in mixed) for right in (True, False))
    ids = ("", moved) if isinstance(moved, str) else (moved, "")
    within = _compared(subject, counted, seed, lambda length: length <= subject.train)
    at_border = _compared(subject, border, seed, lambda length: length == at)
    if at is not None and at_border is not None and not at_border.found:
        # More strings can show what those of one length do not.
        longer = _compared(subject, border, seed, lambda length: length >= at)
        at_border = longer if longer is not None and longer.found else at_border
    usual = [each for *_, found in (border if at is not None else counted) for each in found]
    inside = verdict().broken() in (None, *range(subject.train + 1))
    usual = [each for each in usual if (each.batch.layout.length <= subject.train) == inside]
    if (pool := within if inside else at_border) is not None and pool.does:
        typical = (each for each in usual if pool.does in each.ways and each.batch.layout.length in (broken, at))
        if (each := next(typical, None)) is not None:
            found = replayed(select(each.batch, [each.row]), AT_RANDOM)
            smallest = [*filter(None, [found]), *smallest]
    wrong_of = {kind: [one for *_, found in asked_of for one in found] for kind, asked_of in of_kind.items()}
    anew = [
        in_time(lambda wrong=wrong, which=which: redrawn(subject, wrong, which, seed), None)
        for which, wrong in (*wrong_of.items(), ("", usual))
    ]
    common = None
    if mistakes and verdict().learned and (kinds or broken is not None):
        named = [each for each in kinds if each.kind in subject.task.kinds]
        few = sorted(
            {*sweep[:: max(1, len(sweep) // SOME)], *(n for n in sweep if n <= 2 * subject.train), *sweep[-1:]}
        )
        common = in_time(lambda: common_cause(subject, verdict(), named, few, samples, seed, replayed), None)
    return Failures(
        tuple(shares), tuple(smallest), ids[0] or None, telling_feature(strings, seed), subject.train, ids[1],
        least >= 2 * LEAST, within, at_border, kinds, _ways(made), kinds_asked,
        tuple(each for each in anew if each is not None and each.cause), common, tuple(sorted(drawn.items())),
        tuple(n for n in sorted(rows) if clock.costly(n)), clock.ended,
    )  # fmt: skip


def _compared(
    subject: Subject, strings: Sequence[tuple[str, Batch, ndarray, list[Wrong]]], seed: int,
    chosen: Callable[[int], bool],
) -> Compared | None:  # fmt: skip
    """What tells first wrong tokens of strings of some lengths; None where none of them fails, or of a task of sets."""
    some = [each for each in strings if chosen(each[1].layout.length)]
    wrong = [(kind == AT_RANDOM, one) for kind, *_, found in some for one in found]
    if not wrong:
        return None
    ones, random = [one for _, one in wrong], sum(drawn for drawn, _ in wrong)
    lengths = tuple(sorted({one.batch.layout.length for one in ones}))
    mistake = most_common_mistake(ones, CLEAR) if len(ones) >= LEAST else None
    does = (mistake.what, mistake.n) if mistake is not None and 2 * mistake.n >= len(ones) else ("", 0)
    if len(ones) >= LEAST and (ended := _as_in_training(subject, ones)) is not None:
        does = ended
    tokens = facts(subject.task, ones, [each[1:3] for each in some], seed)
    # What it does may say of itself what is due there.
    tokens = [(frozenset(fact for fact in facts if fact not in does[0]), right) for facts, right in tokens]
    found = telling_nearby(tokens, seed, list(subject.task.details))
    same = [one for one in ones if does[0] in one.ways] if does[1] >= CLEAR * len(ones) else []
    rule = telling_exactly(facts(subject.task, same, [each[1:3] for each in some], seed), list(subject.task.details))
    return Compared(random, len(wrong) - random, lengths, found, len(wrong) >= 2 * LEAST, *does, _place(ones), rule)


def _place(wrong: Sequence[Wrong]) -> tuple[str, int]:
    """In which quarter of their answers or less most first mistakes are, and how many; empty if they are not."""
    sizes = [each.batch.tokens - each.batch.prompt_length for each in wrong]
    starts = np.array([each.at - each.batch.prompt_length + 1 for each in wrong])
    ends = np.array(sizes) - starts
    for at, words in ((starts, "{} {} of the answer"), (ends, "{} {} before its end")):
        low, high = (int(each) for each in np.quantile(at, (0.1, 0.9), method="nearest"))
        inside = int(((at >= low) & (at <= high)).sum())
        if len(wrong) >= LEAST and 4 * (high - low + 1) <= np.median(sizes) and inside >= CLEAR * len(wrong):
            unit = wrong[0].batch.unit + "s" * (low != high)
            return words.format(unit, f"{low} to {high}" if low != high else low), inside
    return "", 0


def _as_in_training(subject: Subject, wrong: Sequence[Wrong]) -> tuple[str, int] | None:
    """That longer answers stop where the longest one of training ends, and in how many; None if few do."""
    longest = subject.task.batch(subject.inside[-1], 1, stream(0, "explain", "unit"))
    most = longest.tokens - longest.prompt_length - 1
    ended = sum(each.ways[-1] == STOPS and each.at - each.batch.prompt_length == most for each in wrong)
    told = f"stops after {most} {longest.unit}s, as the longest answer of training does"
    return (
        (told, ended)
        if ended >= CLEAR * len(wrong) and min(each.batch.tokens for each in wrong) > longest.tokens
        else None
    )


def _ways(made: dict[int, list[tuple[str, Batch, ndarray]]]) -> tuple[Way, ...]:
    """The shares of edited strings, by how they were made."""
    found: dict[str, dict[int, Share]] = {}
    for length, group in sorted(made.items()):
        for how in dict.fromkeys(how for how, *_ in group):
            good = np.concatenate([good for other, _, good in group if other == how])
            found.setdefault(how, {})[length] = Share(int(good.sum()), len(good))
    return tuple(Way(how, tuple(shares.items())) for how, shares in found.items())


def symbols_of(batch: Batch, row: int) -> tuple[str, ...]:
    """What a string is about: its word, or its prompt, without special tokens."""
    tokens = batch.text(row) if batch.allowed is not None else batch.text(row)[: batch.prompt_length]
    return tuple(token for token in tokens if token not in SPECIALS)


def _moved(subject: Subject, broken: int, longest: int, samples: int, seed: int) -> Moved | str:
    """Trained strings, short ones if these are right, under other ids, large ones and those of training; or why not."""
    if subject.scheme is not None and subject.scheme.predicted:
        return "Position ids were not tested: the model makes them itself."
    inside = subject.inside
    known = int(subject.ids_of(inside[-1], 256, training=True).max())
    ends = dict.fromkeys(int(subject.ids_of(length).max()) for length in (broken, longest))
    if next(iter(ends)) <= known:
        return f"It is not new position ids: training showed all of length {broken}."
    if subject.network.rule is not None:
        return f"Position ids above {known} are new to it. A rule gives them, so they were not tested."
    for length in dict.fromkeys((inside[len(inside) // 2], inside[-1])):
        rng = stream(seed, "explain", "moved", length)
        strings = list(subject.task.test_strings(length, length, samples, rng).batches)
        most = max(int(subject.inputs(batch, rng)[1].max()) for batch in strings)
        n, room = sum(batch.size for batch in strings), known - most

        def right(shift: int, strings: Sequence[Batch] = strings) -> int:
            moved = dataclasses.replace(subject, shift=shift)
            return sum(int(moved.right(batch).all(axis=1).sum()) for batch in strings)

        if (own := right(0)) >= CUT * n:
            shifts = sorted({shift for shift in (1, 2, 3, room - 1, room) if 1 <= shift <= room})
            larger = sorted({end - most - back for end in ends for back in (1, 0) if end - back > known})
            outputs = subject.logits(strings[0])
            others = (dataclasses.replace(subject, shift=shift).logits(strings[0]) for shift in (*shifts, *larger))
            if all(np.allclose(other, outputs, rtol=0, atol=UNMOVED) for other in others):
                return "Position ids were not tested: larger ones change nothing, as they are relative or not used."
            arms = (tuple(Arm(shift, right(shift)) for shift in some) for some in (shifts, larger))
            return Moved(length, n, own, known, *arms)
    return "Position ids were not tested: too few trained strings are right."


def _replayed(subject: Subject, one: Batch, kind: str) -> Failure | None:
    """The failure of a single string, run again alone; None if it is right then."""
    right = subject.right(one)[0]
    if right.all():
        return None
    at = int(np.flatnonzero(one.scored)[int(right.argmin())])
    logits, names = subject.logits(one)[0, at - 1], one.vocab.tokens
    if one.allowed is None:
        position, expected, got = at, names[one.input_ids[0, at]], names[int(logits.argmax())]
    else:
        position = at - 1

        def words(held: ndarray) -> str:
            return ", ".join(names[n] for n in np.flatnonzero(held) if n >= END) or "nothing"

        expected, got = words(one.allowed[0, position]), words(logits > 0)
    sets = one.allowed is not None
    places = one.places[0, :, 0].tolist() if one.places.shape[-1] == 1 else ()
    return Failure(one.layout.length, kind, tuple(one.text(0)), position, expected, got, sets, tuple(places))
