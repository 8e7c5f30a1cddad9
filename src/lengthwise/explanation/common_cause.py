"""Which values make strings fail wherever they stand: planted into many places of random prompts, and taken out."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace

from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng, stream
from lengthwise.explanation.features import surprise
from lengthwise.explanation.model import Subject
from lengthwise.explanation.verdict import Share, Verdict
from lengthwise.tasks.kinds import SEEN, changed, drawn_of
from lengthwise.tasks.values import ANYWHERE, FIRST, INSIDE, LAST, Change, Values, half, spoken

SCREENED, AGAIN, NAMED = 24, 96, 4
"""Strings of each value that are asked first; fresh ones of the worst values; and values that are told at most."""
DRAWN = 4
"""Strings that are drawn for each one that is asked, as some may be of a kind that fails."""
WORST = 10
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
class AtEnd:
    """Values that make strings fail in the first or in the last place, and not elsewhere."""

    where: str
    values: tuple[str, ...]
    right: int
    """Right ones of as many strings as of the other tests, with one of them there."""


@config
class CommonCause:
    """Right strings of a length by what stands in their prompts; all are fresh, and of no kind that fails."""

    what: str
    """What has the values: columns, or what tokens are called."""
    values: tuple[str, ...]
    """Those that make strings fail wherever they stand."""
    ends: tuple[AtEnd, ...]
    length: int
    n: int
    many: int
    """Right ones of ``n`` of which half of the places, but for the first and last, have one of ``values``."""
    others: int
    """In which they have another value."""
    none: int
    """In which no place has any of the values that are named."""
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
        return all(2 * right < self.n for right in self._with) and self.right_without

    @property
    def right_without(self) -> bool:
        """Whether strings without them are right."""
        return Share(self.none, self.n).holds

    @property
    def _with(self) -> list[int]:
        return [*[self.many] * bool(self.values), *(each.right for each in self.ends)]

    def explains(self, kind: str) -> bool:
        """Whether it is why the strings of a kind fail; without a kind, random strings alone are asked for."""
        return not kind or any(each.kind == kind for each in self.kinds)

    @property
    def cause(self) -> list[str]:
        """The counts, and which kind fails for the same reason, a sentence each."""
        inside = f"{self.what}s {spoken(self.values)} break it" if self.values else ""
        at = " and ".join(f"{spoken(each.values)} in the {each.where} {self.what}" for each in self.ends)
        breaks = " breaks it" if [len(each.values) for each in self.ends] == [1] else " break it"
        said = f"{inside}, and so does {at}" if inside and at else inside or at + breaks
        said = said.replace(" does ", " do ") if breaks == " break it" else said
        said = said if self.whole else f"In part, {said}"
        others = f"{self.others} with others there"
        among = [(self.many, f"{spoken(self.values, 'or')} in half of the {self.what}s, {others}")] * bool(self.values)
        among += [(each.right, f"{spoken(each.values, 'or')} in the {each.where} {self.what}") for each in self.ends]
        counts = "; ".join(f"{right}{' are right' * (not at)} with {how}" for at, (right, how) in enumerate(among))
        rest = f"{self.none} with none of these, {self.random} at random"
        told = [
            f"{said[:1].upper()}{said[1:]}.",
            f"Tested: of {self.n} strings of length {self.length}, {counts}; {rest}.",
        ]
        for each in self.kinds[:1]:
            told.append(
                f"The same is why it fails where {each.kind}: {each.drawn.counts} are right at length {each.length}, "
                f"without these {self.what}s {each.without.counts}."
            )
        return told


def common_cause(
    subject: Subject, verdict: Verdict, kinds: Sequence[tuple[str, int]], near: str, samples: int, seed: int
) -> CommonCause | None:
    """The values that make strings fail; None where none surely do, or no prompt of the task can be changed so.

    Each value is planted into half of the places of random prompts. The worst are asked again with fresh strings; of
    those that surely fail more often than other values did, it is tested whether they do inside, or in the first or the
    last place alone. At most `NAMED` of these are then tested together: against another value, and in no place. Where
    nothing is found at the first length of `_lengths`, the next one is asked.

    Arguments:
        subject: the model, which has learned.
        verdict: right strings by length.
        kinds: failing kinds that the task names, each with a length at which it fails.
        near: what was found of first mistakes; values in it are told before others.
        samples: strings of each of the last tests.
        seed: of all draws.
    """
    names = [kind for kind, _ in kinds]
    found = (_at(_Asked(subject, length, names, seed), near, samples) for length in _lengths(verdict))
    cause = next((each for each in found if each is not None), None)
    if cause is None:
        return None
    same = [each for kind, length in kinds if (each := _of_kind(subject, kind, length, cause.values, samples, seed))]
    return replace(cause, kinds=tuple(same))


def _at(asked: _Asked, near: str, samples: int) -> CommonCause | None:
    """What is found at one length."""
    first = {name: asked.right(SCREENED, "first", [name]) for name in asked.values.named}
    first = {name: share for name, share in first.items() if share.n == SCREENED}
    every = _total(first.values())
    worst, found = sorted(first, key=lambda name: (first[name].value, name))[:WORST], dict[str, dict[str, int]]()
    for name in worst:
        usual = Share(every.right - first[name].right, every.n - first[name].n)
        if _worse(asked.right(AGAIN, "again", [name]), usual) * len(worst) < SURE:
            for where in (INSIDE, FIRST, LAST):
                own = asked.right(AGAIN, f"again {where}", [name], where)
                if _worse(own, usual) * len(worst) < SURE:
                    found.setdefault(where, {})[name] = own.right
                    break
    named = {
        where: sorted(some, key=lambda name, some=some: (name not in near, some[name]))[:NAMED]
        for where, some in found.items()
    }
    names = list(itertools.chain(*named.values()))
    if not names or not (rest := asked.values.others(names)):
        return None
    ends = {where: asked.right(samples, "many", named[where], where) for where in (FIRST, LAST) if where in named}
    inside = named.get(INSIDE, [])
    many = asked.right(samples, "many", inside, INSIDE) if inside else Share(0, samples)
    others, random = asked.right(samples, "others", rest, INSIDE), asked.right(samples, "random", [])
    none = asked.right(samples, "none", names, without=True)
    if min(each.n for each in (many, others, none, random, *ends.values())) < samples:
        return None
    sure = {where: share for where, share in ends.items() if _worse(share, random) < CERTAIN}
    inside = inside * (_worse(many, others) < CERTAIN)
    if not inside and not sure:
        return None
    return CommonCause(
        asked.values.what, tuple(inside), tuple(AtEnd(where, tuple(named[where]), sure[where].right) for where in sure),
        asked.length, samples, many.right if inside else 0, others.right, none.right, random.right, (),
    )  # fmt: skip


def _lengths(verdict: Verdict) -> list[int]:
    """The first longer length that breaks, if most strings are right there; the last before any that is not."""
    at = verdict.first("random", verdict.train)
    enough = any(row.length == at and row.random.value >= ENOUGH for row in verdict.rows)
    held = max(verdict.of("random").held or 0, verdict.train)
    return [at, held] if at is not None and enough else [held]


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

    def right(
        self, count: int, stage: str, names: Sequence[str], where: str = ANYWHERE, *, without: bool = False
    ) -> Share:
        """Right ones of so many strings; fewer, where not all can be changed."""
        rng = stream(self.seed, "explain", "planted", self.length, stage, *names[:NAMED])
        base = self.subject.task.batch(self.length, DRAWN * count, rng, self.drawn.layout)
        planted = self.values.planted(names, where)
        change = self.values.without(names) if without else planted if names else _as_drawn
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
