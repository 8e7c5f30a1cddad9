"""Which values make strings fail wherever they stand: planted into many places of random prompts, and taken out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng, stream
from lengthwise.explanation.features import CLEAR, LEAST, surprise
from lengthwise.explanation.kinds import TOLD, WeakKind, of_kinds
from lengthwise.explanation.manners import Manner, manners
from lengthwise.explanation.mistakes import Failure, Mistake, Wrong, first_wrong, most_common_mistake
from lengthwise.explanation.model import Subject
from lengthwise.explanation.verdict import Share, Verdict
from lengthwise.tasks.kinds import SEEN, changed, drawn_of, select
from lengthwise.tasks.values import ANYWHERE, FIRST, INSIDE, LAST, Change, Values, spoken, with_values

SCREENED, AGAIN, NAMED = 24, 96, 3
"""Strings of each value that are asked first; fresh ones of the worst values; and values that are told at most."""
DRAWN = 16
"""Strings that are drawn for each one that is asked, as some may be of a kind that fails."""
WORST = 10
"""Values that are asked again."""
MORE = 3
"""So many times as many strings are asked with and without the values."""
FEW = 32
"""Strings with the worst value at further lengths; where it is too close to say, `AGAIN` more."""
SURE = 0.01
"""p, corrected, of a value that fails more often than others."""
LIKELY = 0.05
"""p of random strings that are right more often without these values."""
CERTAIN = 0.001
"""p of a kind that is right more often without these values."""
TOLD_STAGE = "told {}"
"""Of the strings that are counted."""
UNKNOWN = "Not known."
NONE, PARTLY, MOSTLY, DUE = HOWS = "not shown to be due to", "partly due to", "mostly due to", "due to"
"""How much of it is due to values, from none on."""
SIDES = "too large", "too small"
WRONG = "first goes wrong"
"""What a model does that does no one thing."""
ENOUGH = 0.75
"""Strings of a length that breaks are changed if so many random ones are right; else those of the last right length."""


@config
class Tested:
    """Strings of a failing kind, or random ones, as they are drawn, and without the values."""

    kind: str
    """Empty for random strings; these are of no kind that fails."""
    length: int
    drawn: Share
    without: Share
    """Those that are still of the kind then."""
    moved: Share = Share(0, 0)
    """Where most are no longer of the kind without the values: the same strings with all places moved round."""
    usual: Share = Share(0, 0)
    """Random strings without the values, beside these."""
    left: str = ""
    """What the model does in those that fail without the values, if that is one thing, and in how many."""

    @property
    def caused(self) -> bool:
        """Whether the values are surely why they fail, at least in part; moved round, at least half as many fail."""
        if not self.moved.n:
            return _worse(self.drawn, self.without) < (CERTAIN if self.kind else LIKELY)
        as_many = 2 * (1 - self.moved.value) >= 1 - self.drawn.value
        return as_many and _worse(self.moved, self.usual) < CERTAIN

    @property
    def how(self) -> str:
        """How much of it is due to the values."""
        if not self.caused:
            return NONE
        if self.moved.n:
            return PARTLY if _worse(self.drawn, self.moved) < CERTAIN else DUE
        left, drawn = 1 - self.without.value, 1 - self.drawn.value
        return DUE if 4 * left <= drawn else MOSTLY if 2 * left <= drawn else PARTLY

    def first(self, what: str, letter: str) -> str:
        """Whether values, which have a letter, are the cause, and how many are wrong with and without them."""
        one, other = self._said
        instead = f"with other {what}s in place of {letter}'s"
        if self.moved.n:
            usual = f" (random strings without {letter}'s: {self.usual.wrong})" * self.caused
            instead = f"with their {what}s in another order{usual}"
        drawn = f"at length {self.length}, of new ones {one} are wrong as drawn"
        return f"{self.how} {letter}: {drawn}, {other} {instead}{self._others}"

    @property
    def later(self) -> str:
        """The same of a further length, in fewer words."""
        one, other = self._said
        how = " that is not shown" if not self.caused else " partly" if self.how.startswith("partly") else ""
        return f"at {self.length}{how}: {one} and {other}{self._others}"

    @property
    def _said(self) -> tuple[str, str]:
        """How many are wrong as they are drawn, and without the values, or, where these are none, moved round."""
        return self.drawn.wrong, (self.moved if self.moved.n else self.without).wrong

    @property
    def _others(self) -> str:
        """What those do that have another cause, where that is not known."""
        return f" ({self.left})" * bool(self.left and not self.caused)


@config
class Value:
    """What makes strings fail wherever it stands, or in the first or the last place alone."""

    name: str
    where: str
    """`INSIDE`, `FIRST` or `LAST`."""
    right: int
    """Right ones of `CommonCause.each` strings with it in half of the places, or in the first or last."""
    manners: tuple[Manner, ...] = ()
    """What the model does in these, the most common first: one thing in most of them, or two in two places."""

    @property
    def does(self) -> str:
        """What it does in most of them, or at least in more than else; may be empty."""
        return self.manners[0].what if self.manners else ""

    @property
    def planted(self) -> str:
        """Where it stands in the strings that are counted: one that matters inside in half of all places."""
        return ANYWHERE if self.where == INSIDE else self.where


@config
class Neighbours:
    """Strings with so many places of a value, side by side or apart."""

    name: str
    places: int
    beside: Share
    apart: Share

    @property
    def matter(self) -> bool:
        """Whether surely more are wrong where they are side by side."""
        return _worse(self.beside, self.apart) < CERTAIN


@config
class CommonCause:
    """Right strings of a length by what stands in their prompts; all are fresh, and of no kind that fails."""

    what: str
    """What has the values: columns, or what tokens are called."""
    values: tuple[Value, ...]
    """Those that make strings fail, the worst of each place first."""
    length: int
    each: int
    others: int
    """Right ones of ``each`` strings with another value in half of the places."""
    tests: tuple[Tested, ...]
    """What becomes of strings without these values: of failing kinds, and of random strings where these break.

    At a length that breaks, and, where they are the cause there, at the longest that does."""
    by_length: tuple[tuple[int, Share], ...] = ()
    """Right strings with the worst one, where they were asked at other lengths, too."""
    neighbours: Neighbours | None = None
    """Of the worst one that matters anywhere, if places side by side are worse than apart."""
    example: Failure | None = None
    """A string with the worst one that fails."""
    sure: int = 0
    """How many of the `WORST` values surely fail where the worst one does, named or not."""
    train: int = 0
    """The longest trained length."""

    @property
    def strong(self) -> bool:
        """Whether most strings with one of them fail."""
        return any(2 * value.right < self.each for value in self.values)

    @property
    def strings(self) -> str:
        """The kind of strings that fails, those of other places than the worst left out: it completes "where …"."""
        return with_values(self.what, self._names, self.worst.where)

    @property
    def trained(self) -> int:
        """The longest trained length at which strings with the worst one break; else `length`."""
        within = [n for n, share in self.by_length if n <= self.train and share.breaks]
        return self.length if self.length <= self.train else within[-1] if within else self.length

    @property
    def named(self) -> str:
        """That those which are named are the worst, where more surely fail."""
        of = f"{self.sure}{' or more' * (self.sure == WORST)}"
        return f"the worst of {of}" if self.sure > len(self._names) else ""

    @property
    def _names(self) -> list[str]:
        return [value.name for value in self.values if value.where == self.worst.where]

    @property
    def worst(self) -> Value:
        """That with which most strings fail, of those that matter inside, if any do."""
        return _worst(self.values)

    @property
    def wrong(self) -> str:
        """How many strings with the worst one are wrong, where these break first, too; of several, with its name."""
        told = dict(self.by_length) | {self.length: Share(self.worst.right, self.each)}
        first = next((n for n, share in sorted(told.items()) if share.breaks), self.length)
        first = self.trained if self.trained != self.length else first
        told = {n: told[n] for n in dict.fromkeys((first, self.length))}
        counts = ", ".join(f"{share.wrong} at {n}" for n, share in told.items())
        return counts + f" ({self.worst.name})" * (len(self._names) > 1)

    @property
    def found(self) -> tuple[str, ...]:
        """How many strings are wrong with each value, and with others, in sentences."""
        counts = list[str]()
        for where in (INSIDE, FIRST, LAST):
            at = f"in half of the {self.what}s" if where == INSIDE else f"in the {where} {self.what}"
            some = [f"{self.each - value.right} with {value.name}" for value in self.values if value.where == where]
            counts += [f"{each} {at}" if number == 0 else each for number, each in enumerate(some)]
        others = f"{self.each - self.others} with other ones"
        told = f"Of {self.each} strings each, wrong at length {self.length}: {', '.join(counts)}; {others} (tested)."
        if (two := self.neighbours) is None:
            return (told,)
        return told, (
            f"Side by side they are worse: with {two.places} {self.what}s {two.name} side by side {two.beside.wrong} "
            f"are wrong, with {two.places} apart {two.apart.wrong}."
        )

    def of(self, kind: str) -> list[Tested]:
        """The tests of a kind, or of random strings, whose kind is empty."""
        return [each for each in self.tests if each.kind == kind]

    def mends(self, kind: str) -> bool:
        """Whether strings of a kind are mostly right without these values, at all lengths that were tested."""
        return bool(found := self.hows(kind)) and {*found} <= {DUE, MOSTLY}

    def hows(self, kind: str) -> list[str]:
        """How much strings of a kind, or random ones, fail by these values, at each length that was tested."""
        return [each.how for each in self.of(kind)]

    def causes(self, kind: str) -> bool:
        """Whether strings of a kind, or random ones, surely fail by these values, at least in part."""
        return any(each.caused for each in self.of(kind))

    def alike(self, mistake: Mistake | None) -> bool:
        """Whether a mistake may be one of those with the worst value, which stop, go on or write something.

        A digit that is one too large is not one too small.
        """
        does = [each.what for each in self.worst.manners if each.what]
        if mistake is None or not does:
            return True
        sides = [side for side in SIDES if side in mistake.what]
        same = len(sides) != 1 or any(sides[0] in each or not any(map(each.count, SIDES)) for each in does)
        return same and any(each.split()[0] == mistake.what.split()[0] for each in does)

    def said(self, kind: str, letter: str) -> str:
        """Whether these values, which have a letter, are why strings of a kind, or random ones, fail; may be empty.

        At each length at which that was tested.
        """
        said = [one.later if number else one.first(self.what, letter) for number, one in enumerate(self.of(kind))]
        return f"{'; '.join(said)}." if said else ""

    def due(self, kind: str, letter: str) -> str:
        """How much strings of a kind, or random ones, at least fail by these values, which have a letter; or where."""
        tests = self.of(kind)
        least = min(self.hows(kind), key=HOWS.index)
        if least != NONE:
            return f"{least} {letter}"
        first, last = tests[0], tests[-1]
        later = "not shown" if last.how == NONE else last.how.removesuffix(" to")
        return f"{first.how} {letter} at {first.length}, {later} at {last.length}"

    @property
    def does(self) -> str:
        """What the model does with the worst value, and where, as far as known; else how many fail with others."""
        worst, wrong, inside = self.worst, self.each - self.worst.right, self.worst.where == INSIDE
        if not worst.manners:
            return self.control
        which = f"{self.what}s {worst.name}" if inside else f"{worst.name} in the {worst.where} {self.what}"
        first, beside = worst.manners[0], ", above all side by side" * (self.neighbours is not None)
        if first.n == wrong and first.after:
            return f"Right after {which}{beside}, it {first.what or WRONG}."
        of, found = f" of {wrong} wrong answers", list[str]()
        for number, each in enumerate(worst.manners):
            part = first.n < wrong or any(other.fact for other in worst.manners)
            count = f" ({each.n}{of * (number == 0)})" * part
            does = each.what.removeprefix("writes ") if number else each.what or WRONG
            found.append(f"{does} {each.where(self.what)}".strip() + count)
        return f"With {which}{beside}, it {spoken(found)}."

    @property
    def control(self) -> str:
        """Which values of the ends fail, too, and how many fail with other values, in sentences."""
        worst, rest = self.worst, self.each - self.others
        ends = [
            f"{spoken(names, 'or')} in the {where} {self.what}"
            for where in (FIRST, LAST)
            if where != worst.where and (names := [each.name for each in self.values if each.where == where])
        ]
        also = f"Strings with {spoken(ends)} fail, too. " * bool(ends)
        return f"{also}With other {self.what}s in place of these, {rest} of {self.each} are wrong."


def common_cause(
    subject: Subject, verdict: Verdict, kinds: Sequence[WeakKind], lengths: Sequence[int],
    samples: int, seed: int, replayed: Callable[[Batch, str], Failure | None],
) -> CommonCause | None:  # fmt: skip
    """The values that make strings fail; None where none surely do, or no prompt of the task can be changed so.

    Each value is planted into half of the places of random prompts but the first and the last, then into the first, and
    into the last. The worst are asked again with fresh strings. Told are at most `NAMED` of each, the worst. Where
    nothing is found at the first length of `_lengths` that fails most strings, the next one is asked.

    Arguments:
        subject: the model, which has learned.
        verdict: right strings by length.
        kinds: failing kinds that the task names, the worst first.
        lengths: further ones at which strings with the worst value are asked.
        samples: strings of each of the last tests.
        seed: of all draws.
        replayed: what runs a string again alone and gives its failure.
    """
    kinds_named = [each.kind for each in kinds]
    found = list[CommonCause]()
    for length in _lengths(verdict, [each.length for each in kinds]):
        if subject.clock.costly(length):
            continue
        if found and found[-1].strong:
            break
        found += filter(None, [_at(_Asked(subject, length, kinds_named, seed))])
    cause = next((each for each in found if each.strong), next(iter(found), None))
    if cause is None:
        return None
    names, worst = {value.name: value.where for value in cause.values}, cause.worst
    shares, failing = dict[int, Share](), list[Wrong]()
    for n in lengths:
        asked = _Asked(subject, n, kinds_named[:TOLD], seed)
        share, wrong = asked.right(FEW, "lengths", [worst.name], worst.planted), asked.wrong
        if share.n == FEW and not (share.holds or share.breaks):  # that few do not tell
            share, wrong = (
                _total([share, asked.right(AGAIN, "more", [worst.name], worst.planted)]),
                [*wrong, *asked.wrong],
            )
        if share.n >= FEW:
            shares[n] = share
            failing += [] if share.holds else wrong
    asked = _Asked(subject, cause.length, kinds_named[:TOLD], seed)
    asked.right(AGAIN, TOLD_STAGE.format(worst.planted), [worst.name], worst.planted)
    failing += asked.wrong
    shares[cause.length] = Share(worst.right, cause.each)
    # One that does what most do, and short, so that it can be read.
    failing.sort(key=lambda each: (worst.does not in ("", *each.ways), each.batch.layout.length))
    ones = (select(each.batch, [each.row]) for each in failing)
    example = next(filter(None, (replayed(one, cause.strings) for one in ones)), None)
    tests, random = list[Tested](), [row.length for row in verdict.rows if row.random.breaks]
    for length in dict.fromkeys(each for each in (verdict.first("random", verdict.train), *random[-1:]) if each):
        if tests and not tests[0].caused:
            break
        tests += filter(None, [_of_random(_Asked(subject, length, kinds_named, seed), names, MORE * samples)])
    for number, each in enumerate(kinds):

        def test(length: int, number: int = number, kind: str = each.kind) -> Tested | None:
            return _of_kind(subject, kind, length, kinds_named[:number], names, samples, seed)

        some = [found for n in dict.fromkeys((each.length, each.worst.length)) if (found := test(n)) is not None]
        # Of those that tell nothing, the one with most wrong strings tells most.
        some = [found for found in some if found.caused][:1] or sorted(some, key=lambda one: one.drawn.value)[:1]
        farthest = max((n for n, share in each.by_length if share.breaks), default=0)
        if number < TOLD and any(found.caused and found.length < farthest for found in some):
            some += filter(None, [test(farthest)])
        tests += some
    return replace(cause, by_length=tuple(sorted(shares.items())), tests=tuple(tests), example=example)


def _at(asked: _Asked) -> CommonCause | None:
    """What is found at one length."""
    found: dict[str, list[Value]] = {INSIDE: [], FIRST: [], LAST: []}
    for where, some in found.items():
        first = {
            name: asked.right(SCREENED, f"first {where}", [name], where) for name in asked.values.named
            if all(name != value.name for value in itertools.chain(*found.values()))
        }  # fmt: skip
        first = {name: share for name, share in first.items() if share.n == SCREENED}
        every, worst = _total(first.values()), sorted(first, key=lambda name: (first[name].value, name))[:WORST]
        for name in worst:
            usual = Share(every.right - first[name].right, every.n - first[name].n)
            share = asked.right(AGAIN, f"again {where}", [name], where)
            if share.breaks and _worse(share, usual) * len(worst) * len(found) < SURE:
                some.append(Value(name, where, share.right))
    worst = [sorted(some, key=lambda value: value.right)[:NAMED] for some in found.values()]
    values = [_told(asked, value) for value in itertools.chain(*worst)]
    names = {value.name: value.where for value in values}
    if not names or not (rest := asked.values.others([*names])):
        return None
    others = asked.without_told.right(AGAIN, "others", rest, values[0].planted)
    if others.n < AGAIN:
        return None
    return CommonCause(
        asked.values.what, tuple(sorted(values, key=lambda value: (list(found).index(value.where), value.right))),
        asked.length, AGAIN, others.right, (), neighbours=_neighbours(asked, values),
        sure=len(found[_worst(values).where]), train=asked.subject.train,
    )  # fmt: skip


def _told(asked: _Asked, value: Value) -> Value:
    """A value that surely fails, as it is told: how many strings with it are right, and what the others do."""
    asked = asked.without_told
    share = asked.right(AGAIN, TOLD_STAGE.format(value.planted), [value.name], value.planted)
    right = share.right if share.n == AGAIN else value.right
    return replace(value, right=right, manners=asked.manners(value))


def right_with(cause: CommonCause, subject: Subject, kinds: Sequence[str], seed: int) -> Share:
    """Right ones of a model of strings with the worst value, none of them of one of these kinds, at a trained length.

    The strings are the same for all models. Of the kinds those that are told are left out.
    """
    asked, worst = _Asked(subject, cause.trained, kinds[:TOLD], seed), cause.worst
    return asked.right(AGAIN, TOLD_STAGE.format(worst.planted), [worst.name], worst.planted)


def _neighbours(asked: _Asked, values: Sequence[Value]) -> Neighbours | None:
    """Whether two places of the worst value, or else three, are worse side by side than apart."""
    inside = sorted((value for value in values if value.where == INSIDE), key=lambda value: value.right)
    for value, places in itertools.product(inside[:1], (2, 3)):
        found = Neighbours(value.name, places, *(asked.beside(value.name, places, apart) for apart in (False, True)))
        if found.matter:
            return found
    return None


def _lengths(verdict: Verdict, failing: Sequence[int]) -> list[int]:
    """The lengths that are asked, in order.

    The longest trained one at which a kind fails, the first longer one that breaks, if most strings are right there,
    and the last before any that is not right.
    """
    train, at = verdict.train, verdict.first("random", verdict.train)
    within = max((length for length in failing if length <= train), default=None)
    enough = any(row.length == at and row.random.value >= ENOUGH for row in verdict.rows)
    lengths = within, at if enough else None, max(verdict.of("random").held or 0, train)
    return list(dict.fromkeys(length for length in lengths if length is not None))


def _worst(values: Sequence[Value]) -> Value:
    return min(values, key=lambda value: (value.where != INSIDE, value.right))


def _worse(one: Share, other: Share) -> float:
    """p of so many wrong ones, or more, by chance alone."""
    return surprise(one.n - one.right, one.n, other.n - other.right, other.n)


def _total(shares: Collection[Share]) -> Share:
    return Share(sum(each.right for each in shares), sum(each.n for each in shares))


class _Asked:
    """Random strings of a length with values planted or taken out, none of them of a kind that fails anyway."""

    def __init__(self, subject: Subject, length: int, kinds: Sequence[str], seed: int) -> None:
        self.subject, self.length, self.kinds, self.seed = subject, length, kinds, seed
        self._last: tuple[Batch, ndarray] | None = None
        """The strings that were asked last, and which are right."""
        self.drawn = subject.task.batch(length, SEEN, stream(0, "kinds", "seen"))
        self.values = Values(subject.task, self.drawn)

    @property
    def without_told(self) -> _Asked:
        """The same, but that the kinds which are told alone are left out, as the row of the values says."""
        return _Asked(self.subject, self.length, self.kinds[:TOLD], self.seed)

    def right(self, count: int, stage: str, names: Sequence[str], where: str = ANYWHERE) -> Share:
        """Right ones of so many strings with one of these values in half of the places ``where``, or as drawn."""
        return self._ask(count, stage, names, self.values.planted(names, where) if names else _as_drawn)

    def beside(self, name: str, places: int, apart: bool) -> Share:
        """Right ones with so many places of a value inside, side by side or apart."""
        return self._ask(AGAIN, f"beside {places} {apart}", [name], self.values.beside(name, places, apart))

    def without(self, count: int, names: Mapping[str, str]) -> Share:
        """Right ones of so many strings without these values where they matter."""
        return self._ask(count, "none", [*names], self.values.without(names))

    def _ask(self, count: int, stage: str, names: Sequence[str], change: Change) -> Share:
        """Fewer, where not all can be changed; none where there is no time."""
        if not self.subject.clock.has(self.length, count):
            self._last = None
            return Share(0, 0)
        rng = stream(self.seed, "explain", "planted", self.length, stage, *names[:NAMED])
        base = self.subject.task.batch(self.length, DRAWN * count, rng, self.drawn.layout)
        return self.changed(base, self._without_kinds(change, count), rng)

    def changed(self, base: Batch, change: Change, rng: Rng) -> Share:
        """Right ones of strings that can be changed so."""
        with suppress(LengthwiseError):
            made = changed(self.subject.task, base, change, rng, self.drawn)[0]
            good = np.asarray(self.subject.right(made).all(axis=1))
            self._last = made, good
            return Share(int(good.sum()), made.size)
        return Share(0, 0)

    @property
    def wrong(self) -> list[Wrong]:
        """The first mistakes in the strings that were asked last."""
        return first_wrong(self.subject, *self._last) if self._last is not None else []

    def manners(self, value: Value) -> tuple[Manner, ...]:
        """What the model does in the last strings that fail, which have this value, and where."""
        column = value.name if self.values.what == "column" else ""
        known = [self._last] if self._last is not None else []
        return manners(self.subject.task, self.wrong, known, column, self.seed, inside=value.where == INSIDE)

    @property
    def left(self) -> str:
        """The same with a count, of nearly all of them; empty where they are few, or do nothing in common."""
        wrong = self.wrong
        found = most_common_mistake(wrong, CLEAR) if len(wrong) >= LEAST else None
        clear = found is not None and found.n >= CLEAR * found.of
        count = "all of these" if found is None or found.n == found.of else f"{found.n} of these {found.of}"
        return f"in {count} it {found.what}" if found is not None and clear else ""

    def _without_kinds(self, change: Change, count: int) -> Change:
        """The same for so many prompts, and none that is of one of the kinds then."""
        task, made = self.subject.task, 0

        def some(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
            nonlocal made
            if made == count:
                raise StopIteration
            change(prompt, free, pool, rng)
            tokens = task.vocab.decode(prompt.tolist())
            if any(task.of_kind(kind, tokens) for kind in self.kinds):
                raise ValueError("of a kind that fails")
            made += 1

        return some


def _as_drawn(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
    """Changes nothing."""


def _of_random(asked: _Asked, names: Mapping[str, str], count: int) -> Tested | None:
    """What becomes of random strings without these values; None where not all can be changed so."""
    drawn, without = asked.right(count, "random", []), asked.without(count, names)
    return Tested("", asked.length, drawn, without, left=asked.left) if min(drawn.n, without.n) == count else None


def _of_kind(
    subject: Subject, kind: str, length: int, worse: Sequence[str], names: Mapping[str, str], count: int, seed: int
) -> Tested | None:
    """What becomes of strings of a kind, and of no worse one, without these values; None where none is drawn."""
    asked, rng = _Asked(subject, length, [], seed), stream(seed, "explain", "planted", "kind", kind)
    if not subject.clock.has(length, 2 * count):
        return None
    with suppress(LengthwiseError):
        some = drawn_of(subject.task, length, count, kind, rng)
        some = select(some, [row for row in range(some.size) if not of_kinds(subject.task, worse, some, row)])
        before = Share(int(subject.right(some).all(axis=1).sum()), some.size)
        after = asked.changed(some, asked.values.own_instead(names, kind), rng)
        if 2 * after.n >= before.n:
            return Tested(kind, length, before, after, left=asked.left)
        usual = asked.without(AGAIN, names)
        return Tested(kind, length, before, after, asked.changed(some, asked.values.moved_round(), rng), usual)
    return None
