"""Which part of a failing string makes it fail: parts of its prompt are drawn anew, and it is asked again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng, stream
from lengthwise.explanation.features import LEAST, surprise
from lengthwise.explanation.mistakes import FEW_SOURCES, Wrong
from lengthwise.explanation.model import Subject
from lengthwise.explanation.verdict import Share
from lengthwise.tasks.kinds import SEEN, changed, joined, select

MOST = 96
"""Failing strings that are changed, at most."""
SURE = 0.001
"""p of a difference that is told, as three parts are compared."""
COLUMNS = "the wrong token's column", "the column before the wrong token's"
LAST = "the last column", "the column before the last"
TOKENS = "the tokens that the wrong one follows from", "the tokens that the one before the wrong one follows from"
"""What the two parts are called: where tokens of a prompt share places, if the wrong one has some or not; else."""


@config
class Redrawn:
    """Failing strings with tokens of the prompt drawn anew: how many become right, of those still of their kind."""

    kind: str
    """That of the strings; empty for random ones."""
    own: Share
    """With other tokens where the first wrong one follows from them."""
    before: Share
    """With other tokens where the one before follows from them."""
    other: Share
    """With as many others."""
    parts: tuple[str, str]
    """What the two parts are called."""

    @property
    def _found(self) -> list[tuple[str, Share]]:
        """The parts of which surely more become right than of others."""
        arms = zip(self.parts, (self.own, self.before), strict=True)
        other = self.other.right, self.other.n
        return [(name, arm) for name, arm in arms if arm.n >= 2 * LEAST and surprise(arm.right, arm.n, *other) < SURE]

    @property
    def earlier(self) -> bool:
        """Whether it is the earlier part alone: that the wrong token depends on its own goes without saying."""
        return [name for name, _ in self._found] == [self.parts[1]]

    @property
    def cause(self) -> str:
        """The parts that decide, in a sentence; empty without."""
        if not self._found:
            return ""
        names, shares = zip(*self._found, strict=True)
        names = (
            names[0],
            *("those of the one before" if self.parts == TOKENS else "the one before" for _ in names[1:]),
        )
        return (
            f"Which of them fail depends on {' and '.join(names)}: with other tokens there, "
            f"{' and '.join(share.counts for share in shares)} failing strings become right; with others elsewhere, "
            f"{self.other.counts}."
        )


def redrawn(subject: Subject, wrong: Sequence[Wrong], kind: str, seed: int) -> Redrawn | None:
    """What becomes of failing strings with other tokens in a part of the prompt; None where these are too few.

    Costly lengths (`Clock`) are left out. Of each string all three parts must be there and lead to strings of
    the task that are as long; those that are no longer of a kind that the task names are not counted. Where a wrong
    token follows from none of the prompt but what the one before does, as at an end, the parts are those of the one
    before.
    """
    wrong = [each for each in wrong if not subject.clock.costly(each.batch.layout.length)]
    rng, total, columns = stream(seed, "explain", "redrawn"), np.zeros((3, 2), int), True
    found = [(each, *parts) for each in wrong if (parts := _parts(each, rng))]
    last = sum(each[1] for each in found) > len(found) / 2
    found = [(each, parts) for each, ends, parts in found if ends == last]
    shapes: dict[tuple[int, int], list[tuple[Wrong, list[ndarray]]]] = {}
    for index in rng.permutation(len(found)).tolist()[:MOST]:
        batch = found[index][0].batch
        shapes.setdefault((batch.prompt_length, batch.tokens), []).append(found[index])
    for some in shapes.values():
        base = joined([select(each.batch, [each.row]) for each, _ in some])
        sizes = [(len(own), len(before), len(own)) for _, (own, before, _) in some]
        made = [
            _with_others(
                subject, base, [(parts[arm], size[arm]) for (_, parts), size in zip(some, sizes, strict=True)], rng
            )
            for arm in range(3)
        ]
        kept = sorted(set.intersection(*({*rows} for *_, rows in made)))
        if kept:
            total += [
                _count(subject, batch, right, [rows.index(row) for row in kept], kind) for batch, right, rows in made
            ]
            columns &= all(_is_column(some[row][0], some[row][1][0]) for row in kept)
    own, before, other = (Share(right, n) for right, n in total.tolist())
    if other.n < 2 * LEAST or (last and not columns):
        return None
    return Redrawn(kind, own, before, other, (LAST if last else COLUMNS) if columns else TOKENS)


def _count(subject: Subject, batch: Batch, right: Sequence[bool], rows: Sequence[int], kind: str) -> tuple[int, int]:
    """Right ones, and all, of some strings, of those that are of a kind, if the task names it."""
    named = kind in subject.task.kinds
    of = [row for row in rows if not named or subject.task.of_kind(kind, batch.text(row)[: batch.prompt_length])]
    return sum(right[row] for row in of), len(of)


def _is_column(each: Wrong, at: ndarray) -> bool:
    """Whether these tokens of the prompt share a place."""
    return len(at) > 1 and len(np.unique(each.batch.places[each.row, at], axis=0)) == 1


def _parts(each: Wrong, rng: Rng) -> tuple[bool, list[ndarray]] | None:
    """The positions of a prompt that the wrong token and the one before follow from, and all others, if all are there.

    Where the wrong one follows from none that the one before does not, those of the one before, which is said.
    """
    batch, end = each.batch, each.batch.prompt_length

    def sources(at: int) -> set[int]:
        fields = (batch.parents[each.row], batch.selectors[each.row])
        return {p for field in fields for p in field[at].tolist() if 0 <= p < end}

    last = sources(each.at) <= sources(each.at - 1)
    own, before = (sources(at - last) - sources(at - last - 1) for at in (each.at, each.at - 1))
    rest = sorted({*range(1, end - 1)} - own - before)
    if not (1 <= len(own) <= FEW_SOURCES and 1 <= len(before) <= FEW_SOURCES) or len(rest) < 2 * len(own):
        return None
    return last, [np.array(sorted(own)), np.array(sorted(before)), rng.permutation(rest)]


def _with_others(
    subject: Subject, base: Batch, at: Sequence[tuple[ndarray, int]], rng: Rng
) -> tuple[Batch, list[bool], list[int]]:
    """Strings with other tokens at so many of these positions, whether they are right, and which strings they were."""
    where: Iterator[tuple[ndarray, int]] = iter(at)

    def change(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
        positions, count = next(where)
        mine = [p for p in positions.tolist() if p in free][:count]
        if len(mine) < count:
            raise ValueError("too few tokens that may change")
        for p in mine:
            prompt[p] = rng.choice(pool[pool != prompt[p]])

    with suppress(LengthwiseError):
        drawn = subject.task.batch(base.layout.length, SEEN, stream(0, "kinds", "seen"), base.layout)
        made, rows = changed(subject.task, base, change, rng, drawn)
        return made, [bool(right.all()) for right in subject.right_and_finite(made, subject.logits(made))[0]], rows
    return base, [], []
