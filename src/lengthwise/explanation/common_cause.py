"""Which values make strings fail wherever they stand: planted into many places of random prompts, and taken out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress

from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng, stream
from lengthwise.explanation.features import surprise
from lengthwise.explanation.model import Subject
from lengthwise.explanation.verdict import Share, Verdict
from lengthwise.tasks.kinds import SEEN, changed, drawn_of
from lengthwise.tasks.values import Change, Values, half, spoken

FIRST, AGAIN, NAMED = 24, 96, 4
"""Strings of each value that are asked first; fresh ones of the worst values; and values that are told at most."""
DRAWN = 4
"""Strings that are drawn for each one that is asked, as some may be of a kind that fails."""
WORST = 8
"""Values that are asked again."""
SURE = 0.01
"""p, corrected, of a value that fails more often than others."""
CERTAIN = 0.001
"""p of a cause that is told: strings with these values against strings with as many others."""
ENOUGH = 0.75
"""Strings of a length that breaks are changed if so many random ones are right; else those of the last right length."""


@config
class OfKind:
    """Strings of a failing kind, as they are drawn, and of this kind without the values."""

    kind: str
    length: int
    drawn: Share
    without: Share


@config
class CommonCause:
    """Right strings of a length by what stands in their prompts; all are fresh."""

    what: str
    """What has the values: columns, or what tokens are called."""
    values: tuple[str, ...]
    length: int
    n: int
    many: int
    """Right ones of ``n`` in which half of the places have one of these values; none is of a kind that fails."""
    others: int
    """In which half of the places have other values."""
    none: int
    """In which no place has them."""
    random: int
    """As they are drawn."""
    kinds: tuple[OfKind, ...]
    """Kinds that are surely right more often without these values, and then not surely below `CUT`."""

    @property
    def kind(self) -> str:
        """The name of the kind of strings that fails."""
        return half(self.what, self.values)

    @property
    def whole(self) -> bool:
        """Whether most strings with them fail, and those without are right."""
        return 2 * self.many < self.n and Share(self.none, self.n).holds

    def explains(self, kind: str) -> bool:
        """Whether it is why the strings of a kind fail; without a kind, random strings alone are asked for."""
        return not kind or any(each.kind == kind for each in self.kinds)

    @property
    def cause(self) -> list[str]:
        """The counts, and which kind fails for the same reason, a sentence each."""
        values = f"{self.what}s {spoken(self.values)} break it."
        told = [
            values[:1].upper() + values[1:] if self.whole else f"In part, {values}",
            f"Tested: of {self.n} strings of length {self.length}, {self.many} are right with them in half of the "
            f"{self.what}s, {self.others} with others there; {self.none} with none of them, {self.random} at random.",
        ]
        for each in self.kinds[:1]:
            counts = f"{each.drawn.counts} are right, {each.without.counts} without them"
            told.append(f"So it is where {each.kind}: at length {each.length}, {counts}.")
        return told


def common_cause(
    subject: Subject, verdict: Verdict, kinds: Sequence[tuple[str, int]], samples: int, seed: int
) -> CommonCause | None:
    """The values that make strings fail; None where none surely do, or no prompt of the task can be changed so.

    Each value is planted into half of the places of random prompts. The worst are asked again with fresh strings, and
    at most `NAMED` of those that surely fail more often than other values did are tested together: in half of the
    places, against as many others, and in none. None of these strings is of ``kinds``.

    Arguments:
        subject: the model, which has learned.
        verdict: right strings by length.
        kinds: failing kinds that the task names, each with a length at which it fails.
        samples: strings of each of the last tests.
        seed: of all draws.
    """
    asked = _Asked(subject, _length(verdict), [kind for kind, _ in kinds], seed)
    first = {name: asked.right(FIRST, "first", [name]) for name in asked.values.named}
    first = {name: share for name, share in first.items() if share.n == FIRST}
    every = _total(first.values())
    worst = sorted(first, key=lambda name: (first[name].value, name))[:WORST]
    found: dict[str, Share] = {}
    for name in worst:
        own, fewer = asked.right(AGAIN, "again", [name]), first[name]
        if _worse(own, Share(every.right - fewer.right, every.n - fewer.n)) * len(worst) < SURE:
            found[name] = own
    names = sorted(found, key=lambda name: (found[name].right, name))[:NAMED]
    if not names or not (rest := asked.values.others(names)):
        return None
    many, others = asked.right(samples, "many", names), asked.right(samples, "others", rest)
    none, random = asked.right(samples, "none", names, without=True), asked.right(samples, "random", [])
    if min(each.n for each in (many, others, none, random)) < samples or _worse(many, others) >= CERTAIN:
        return None
    return CommonCause(
        asked.values.what, tuple(names), asked.length, samples, many.right, others.right, none.right, random.right,
        tuple(each for kind, length in kinds if (each := _of_kind(subject, kind, length, names, samples, seed))),
    )  # fmt: skip


def _length(verdict: Verdict) -> int:
    """The first longer length that breaks, if most strings are right there; else the last before any that is not."""
    at = verdict.first("random", verdict.train)
    enough = any(row.length == at and row.random.value >= ENOUGH for row in verdict.rows)
    return at if at is not None and enough else max(verdict.of("random").held or 0, verdict.train)


def _worse(one: Share, other: Share) -> float:
    """p of so many wrong ones, or more, by chance alone."""
    return surprise(one.n - one.right, one.n, other.n - other.right, other.n)


def _total(shares: Collection[Share]) -> Share:
    return Share(sum(each.right for each in shares), sum(each.n for each in shares))


class _Asked:
    """Random strings of a length with values planted or taken out, none of them of a kind that fails anyway."""

    def __init__(self, subject: Subject, length: int, kinds: Sequence[str], seed: int) -> None:
        self.subject, self.length, self.kinds, self.seed = subject, length, kinds, seed
        self.drawn = subject.task.batch(length, SEEN, stream(0, "kinds", "seen"))
        self.values = Values(subject.task, self.drawn)

    def right(self, count: int, stage: str, names: Sequence[str], *, without: bool = False) -> Share:
        """Right ones of so many strings; fewer, where not all can be changed."""
        rng = stream(self.seed, "explain", "planted", self.length, stage, *names[:NAMED])
        base = self.subject.task.batch(self.length, DRAWN * count, rng, self.drawn.layout)
        change = self.values.without(names) if without else self.values.planted(names) if names else _as_drawn
        return self.changed(base, self._without_kinds(change, count), rng)

    def changed(self, base: Batch, change: Change, rng: Rng) -> Share:
        """Right ones of strings that can be changed so."""
        with suppress(LengthwiseError):
            return _right(self.subject, changed(self.subject.task, base, change, rng, self.drawn)[0])
        return Share(0, 0)

    def _without_kinds(self, change: Change, count: int) -> Change:
        """The same for so many prompts, and none that is of one of the kinds then."""
        task, left = self.subject.task, iter(range(count))

        def some(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
            change(prompt, free, pool, rng)
            tokens = task.vocab.decode(prompt.tolist())
            if any(task.of_kind(kind, tokens) for kind in self.kinds) or next(left, None) is None:
                raise ValueError("of a kind, or enough")

        return some


def _as_drawn(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
    """Changes nothing."""


def _right(subject: Subject, batch: Batch) -> Share:
    return Share(int(subject.right(batch).all(axis=1).sum()), batch.size)


def _of_kind(subject: Subject, kind: str, length: int, names: Sequence[str], count: int, seed: int) -> OfKind | None:
    """What becomes of strings of a kind without these values, if that surely mends them."""
    asked, rng = _Asked(subject, length, [], seed), stream(seed, "explain", "planted", "kind", kind)
    with suppress(LengthwiseError):
        some = drawn_of(subject.task, length, count, kind, rng)
        before = _right(subject, some)
        after = asked.changed(some, asked.values.own_instead(names, kind), rng)
        if 2 * after.n >= count and not after.breaks and _worse(before, after) < CERTAIN:
            return OfKind(kind, length, before, after)
    return None
