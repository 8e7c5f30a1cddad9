"""Where a model breaks: one decision by length, from the strings that were asked, for every sentence that says so."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from lengthwise.core.config import config
from lengthwise.core.statistics import wilson

STEEP = 0.5
"""By how much the share of right strings falls between neighbouring lengths where that is told."""
CUT = 0.95
"""The share of strings from which on a length counts as right."""


@config
class Share:
    """How many of ``n`` strings were right."""

    right: int
    n: int
    every: bool = False
    """Whether they are all that there are, or some of all that were asked, so that the share is no estimate."""

    @property
    def value(self) -> float:
        """The share; needs strings."""
        return self.right / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval, as of independent strings; the share itself, where these are all."""
        return (self.value, self.value) if self.every else wilson(self.right, self.n)

    @property
    def holds(self) -> bool:
        """Whether at least `CUT` of them are right; true without strings."""
        return self.right >= CUT * self.n

    @property
    def surely(self) -> bool:
        """Whether all are right, or the whole interval is at least `CUT`; true without strings."""
        return self.right == self.n or self.interval[0] >= CUT

    @property
    def breaks(self) -> bool:
        """Whether the whole interval is below `CUT`. Where a share is below, but not surely, it is too close to say."""
        return self.n > 0 and self.interval[1] < CUT

    @property
    def counts(self) -> str:
        """How many, and of how many."""
        return f"{self.right} of {self.n}"

    @property
    def wrong(self) -> str:
        """How many were wrong, and of how many."""
        return f"{self.n - self.right} of {self.n}"

    @property
    def percent(self) -> str:
        """How many of a hundred are right, rounded down."""
        return "under 1 %" if 0 < 100 * self.right < self.n else f"{100 * self.right // self.n} %"

    def cell(self, *, interval: bool) -> str:
        """The counts for a table, and what they say of a length that is not right."""
        said = "" if self.holds else " breaks" if self.breaks else " unsure"
        low, high = self.interval if self.n else (0, 0)
        between = f" [{low:.2f}, {high:.2f}]" * (interval and not self.every)
        return f"{self.counts}{between}{said}" if self.n else "–"


@config
class LengthShares:
    """Right strings of a length: of those drawn at random, and of the hard ones, said to be edited, each once."""

    length: int
    random: Share
    hard: Share

    @property
    def holds(self) -> bool:
        """Whether both do."""
        return self.random.holds and self.hard.holds

    @property
    def breaks(self) -> bool:
        """Whether one of them does."""
        return self.random.breaks or self.hard.breaks


@dataclass(frozen=True)
class Verdict:
    """The decision."""

    rows: Sequence[LengthShares]
    train: int

    def of(self, kind: str) -> Verdict:
        """The same by random strings alone, or by hard ones."""
        return Verdict([LengthShares(row.length, getattr(row, kind), Share(0, 0)) for row in self.rows], self.train)

    @property
    def trained(self) -> Share:
        """Random strings of all trained lengths that were asked."""
        rows = [row.random for row in self.rows if row.length <= self.train]
        return Share(sum(row.right for row in rows), sum(row.n for row in rows))

    @property
    def learned(self) -> bool:
        """Whether `CUT` of these are right, or most lengths, the longest one too, so that it can break beyond."""
        right = [row.random.holds for row in self.rows if row.length <= self.train and row.random.n]
        return bool(right) and (self.trained.value >= CUT or (right[-1] and 2 * sum(right) > len(right)))

    def first(self, kind: str, after: int = 0) -> int | None:
        """The first length above ``after`` at which random or hard strings break."""
        return next((r.length for r in self.rows if r.length > after and getattr(r, kind).breaks), None)

    def broken(self, after: int = 0) -> int | None:
        """The first length above ``after`` at which either breaks; None if there is none."""
        return min((n for kind in ("random", "hard") if (n := self.first(kind, after)) is not None), default=None)

    @property
    def doubted(self) -> list[int]:
        """Lengths that are too close to say, before any that breaks."""
        whole = itertools.takewhile(lambda row: not row.breaks, self.rows)
        return [row.length for row in whole if not row.holds]

    @property
    def unclear(self) -> list[int]:
        """Lengths that more strings can decide: trained ones, those whose random strings seem right, and the next."""
        near = self.of("random").near

        def close(row: LengthShares) -> bool:
            within = row.length <= self.train and not (row.random.surely and row.hard.surely) and not row.breaks
            seems = row.random.holds or (row.length == near and not row.random.breaks)
            return within or (seems and not row.random.surely)

        return [row.length for row in self.rows if close(row) and not row.random.every]

    @property
    def held(self) -> int | None:
        """The last length before the first that is not right; None if there is none."""
        return max((row.length for row in itertools.takewhile(lambda row: row.holds, self.rows)), default=None)

    @property
    def near(self) -> int | None:
        """The first length that is not right; None if there is none."""
        return next((row.length for row in self.rows if not row.holds), None)

    @property
    def last(self) -> int | None:
        """The last length before the first that breaks; None if there is none."""
        broken = self.broken()
        return max((row.length for row in self.rows if broken is None or row.length < broken), default=None)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Neighbouring lengths between which it stops to be right, and between which it begins to break."""
        return [(low, high) for low, high in self._neighbours if low == self.held or high == self.broken()]

    @property
    def cliff(self) -> tuple[int, int] | None:
        """Neighbouring lengths from the first break on between which right random strings fall by `STEEP`, for good."""
        shares, broken = {row.length: row.random for row in self.rows if row.random.n}, self.first("random")
        pairs = itertools.pairwise(sorted(shares))
        steep = ((low, high) for low, high in pairs if shares[low].value - shares[high].value >= STEEP)
        again = any(share.holds for length, share in shares.items() if broken is not None and length > broken)
        return next((pair for pair in steep if broken is not None and pair[0] >= broken and not again), None)

    @property
    def doubt_ends(self) -> list[tuple[int, int]]:
        """Neighbouring lengths at which the first that are too close to say end: one that breaks can lie between."""
        right = {row.length: row.holds for row in self.rows}
        after = ((low, high) for low, high in self._neighbours if low in self.doubted and right[high])
        return list(itertools.islice(after, 1))

    @property
    def _neighbours(self) -> list[tuple[int, int]]:
        return [*itertools.pairwise(row.length for row in self.rows)]

    @property
    def short(self) -> str:
        """To which length random strings are right, at which they break first, and how many are right there."""
        random = self.of("random")
        broken, held = random.broken(), random.held
        parts = [f"right to {held}"] if held else []
        if random.near != broken and (broken is None or (held or 0) < self.train):
            some = any(row.holds for row in random.rows if row.length > (random.near or 0))
            parts += [f"unsure {'at' if some else 'from'} {random.near}"]
        if broken is not None:
            share = next(row.random for row in self.rows if row.length == broken)
            parts += [f"breaks at {broken} ({share.percent} right)"]
            parts += [f"right again at {'–'.join(map(str, random.again))}"] * bool(random.again)
        return ", ".join(parts)

    @property
    def line(self) -> str:
        """The same as a sentence of its own."""
        random, said = self.of("random"), re.sub(r" (?=\d)", " length ", self.short, count=1)
        broken = random.broken()
        before = "not fully learned: " * (broken is not None and broken <= self.train)
        return before + said + random._later + ", the longest asked" * (random.held == self.rows[-1].length)

    @property
    def _later(self) -> str:
        """From which length on no string is right, or how many are at the longest, where these are surely fewer."""
        broken = self.broken() or math.inf
        shares = [(row.length, row.random) for row in self.rows if row.length >= broken and row.random.n]
        if not shares or self.again or shares[-1][1].interval[1] >= shares[0][1].interval[0]:
            return ""
        longest, last = shares[-1]
        gone = [n for n, _ in itertools.takewhile(lambda each: not each[1].right, reversed(shares))]
        if not gone:
            return f", {last.percent} right at {longest}"
        return f", none right {'at' if len(gone) == 1 else 'from'} {gone[-1]}"

    @property
    def again(self) -> list[int]:
        """Beyond the first break, the ends of the first lengths at which a model that has learned is right, if any."""
        beyond = [row for row in self.rows if row.length > (self.broken() or row.length) and row.random.n]
        some = itertools.dropwhile(lambda row: not row.holds, beyond if self.learned else ())
        held = [row.length for row in itertools.takewhile(lambda row: row.holds, some)]
        return sorted({*held[:1], *held[-1:]})

    @property
    def edited(self) -> str:
        """Where edited strings break before random ones do."""
        at, random = self.first("hard"), self.first("random")
        return "" if at is None or at >= (random or at + 1) else f"edited strings break at length {at}"

    def shown(self, asked: Sequence[int] = (), *, edited: bool = True) -> list[LengthShares]:
        """A few rows for a small table: those of `line` and, if it is said, of `edited`, the last one, and ``asked``.

        Where a trained length is not right, all trained ones; of a model that has not learned, these alone.
        """
        trained = [row for row in self.rows if row.length <= self.train]
        if not self.learned:
            return trained
        random = self.of("random")
        hard = self.first("hard") if self.edited and edited else None
        ends = *random.again, *(self.cliff or ()), self.rows[-1].length
        wanted = {*asked, random.held, random.near, random.broken(), hard, *ends}
        within = any(row.breaks or not row.random.holds for row in trained)
        return [row for row in self.rows if row.length in wanted or (within and row.length <= self.train)]
