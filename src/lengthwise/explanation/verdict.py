"""Where a model breaks: one decision by length, from the strings that were asked, for every sentence that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lengthwise.core.config import config
from lengthwise.core.statistics import wilson

CUT = 0.95
"""The share of strings from which on a length counts as right."""
RULE = f"a length counts as right from {CUT} on"
FEW = 4
"""So many lengths are named one by one."""


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
        """Whether all are right, or the whole interval is at least `CUT`; true without strings."""
        return self.right == self.n or self.interval[0] >= CUT

    @property
    def breaks(self) -> bool:
        """Whether the whole interval is below `CUT`. Where neither is so, it is too close to say."""
        return self.n > 0 and self.interval[1] < CUT

    def words(self, kind: str) -> str:
        """The counts, with the share and its interval unless there are no other strings."""
        if self.every and kind == "random":
            which = f"strings (all {self.n} asked, so certain)" if self.n > 1 else "string (the only one, so certain)"
            return f"{self.right} of {self.n} {which}"
        if self.every:
            return f"{self.right} of the {self.n} {kind} ones"
        return "{} of {} {} strings ({:.3f} [{:.3f}, {:.3f}])".format(
            self.right, self.n, kind, self.value, *self.interval
        )


@config
class LengthShares:
    """Right strings of a length: of those drawn at random, and of the hard ones, each once."""

    length: int
    random: Share
    hard: Share

    @property
    def holds(self) -> bool:
        """Whether both do."""
        return self.random.holds and self.hard.holds


@dataclass(frozen=True)
class Verdict:
    """The decision."""

    rows: Sequence[LengthShares]
    train: int

    def first(self, kind: str, after: int = 0) -> int | None:
        """The first length above ``after`` at which random or hard strings break."""
        return next((r.length for r in self.rows if r.length > after and getattr(r, kind).breaks), None)

    def broken(self, after: int = 0) -> int | None:
        """The first length above ``after`` at which either breaks; None if there is none."""
        return min((n for kind in ("random", "hard") if (n := self.first(kind, after)) is not None), default=None)

    @property
    def held(self) -> int | None:
        """The length to which both hold at every length that was asked."""
        held = None
        for row in self.rows:
            if not row.holds:
                break
            held = row.length
        return held

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Neighbouring lengths between which it stops to be right, and between which it begins to break."""
        neighbours = pairwise(row.length for row in self.rows)
        return [(low, high) for low, high in neighbours if low == self.held or high == self.broken()]

    @property
    def line(self) -> str:
        """To which length the model is right, and where it breaks, with the rule and the shares at that length."""
        broken, held = self.broken(), self.held
        later = [r for r in self.rows if r.length > (held or 0) and (broken is None or r.length < broken)]
        near = [row.length for row in later if not row.holds]
        said = [] if held is None else [f"right to length {held}"]
        if held == self.rows[-1].length:
            said[0] += ", the longest that was asked"
        if near and broken is not None and (likely := self._likely(broken)) is not None:
            return self._between(likely, broken)
        if near:
            some = f"{len(near)} of the {len(later)} {'longer ' if held else ''}lengths that were asked"
            said.append(f"too close to say at {', '.join(map(str, near)) if len(near) <= FEW else some}")
        if broken is not None:
            said.append(self._breaks(broken))
        if broken is None and near:
            said.insert(0, f"no break found to length {self.rows[-1].length}, the longest that was asked")
        shown = broken or (near[0] if near else held)
        within = f" of the trained lengths (up to {self.train})" if broken is not None and broken <= self.train else ""
        return f"{', '.join(said)}: at {shown}{within} right on {self._shares(shown)}; {RULE}"

    def _shares(self, length: int | None) -> str:
        row = next(row for row in self.rows if row.length == length)
        return " and on ".join(
            share.words(kind) for kind, share in (("random", row.random), ("hard", row.hard)) if share.n
        )

    def _likely(self, broken: int) -> int | None:
        """The last length before the break to which the counted shares reach the cut, beyond what is certain."""
        likely = None
        for row in self.rows:
            if row.length >= broken or any(share.n and share.value < CUT for share in (row.random, row.hard)):
                break
            likely = row.length
        return likely if (likely or 0) > max(self.train, self.held or 0) else None

    def _between(self, likely: int, broken: int) -> str:
        """One border with its bracket, where lengths before the break are too close to say."""
        times = f"{likely / self.train:.1f}".removesuffix(".0")
        certain = f"right to length {self.held} for certain, and" if self.held else "right"
        return (
            f"{certain}, as far as the counts go, to {likely} ({times} times the trained {self.train}), falls below "
            f"{CUT} somewhere between {likely} and {broken}: at {likely} right on {self._shares(likely)}; at {broken} "
            f"on {self._shares(broken)}; {RULE}"
        )

    def _breaks(self, broken: int) -> str:
        later = [row for row in self.rows if row.length >= broken]
        lasts = all(row.random.breaks or row.hard.breaks for row in later)
        at = f"{'from' if lasts else 'first at'} {broken}"
        if self.first("random") is not None:
            return f"breaks {at}"
        return f"breaks on hard strings {at}, on random ones nowhere"


def counted(rows: Sequence[Share]) -> Share:
    """All of them together."""
    return Share(sum(row.right for row in rows), sum(row.n for row in rows), all(row.every for row in rows))
