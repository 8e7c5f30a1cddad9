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
from lengthwise.tasks.kinds import SEEN, changed, joined, select

MOST = 96
"""Failing strings that are changed, at most."""
SURE = 0.001
"""p of a difference that is told, as three parts are compared."""
OF_KIND, TRAINED = "of this kind", "of trained lengths"
"""What failing strings are called."""
COLUMNS = "in the wrong token's column", "in the column before the wrong token's"
LAST = "in the last column", "in the column before the last"
TOKENS = "that the wrong one follows from", "that the one before it follows from"
"""What the two parts are called: where tokens of a prompt share places, if the wrong one has some or not; else."""


@config
class Redrawn:
    """Failing strings of which tokens of the prompt were drawn anew: how many become right."""

    which: str
    """Of which strings, in words."""
    n: int
    own: int
    """With other tokens where the first wrong one follows from them."""
    before: int
    """With other tokens where the one before follows from them."""
    other: int
    """With as many others."""
    parts: tuple[str, str]
    """What the two parts are called."""

    def cause(self, kind: str = "") -> list[str]:
        """Of which parts surely more become right than of others, in a sentence, if of any; ``kind`` is the worst."""
        parts = zip(self.parts, (self.own, self.before), strict=True)
        found = [(name, right) for name, right in parts if surprise(right, self.n, self.other, self.n) < SURE]
        if not found:
            return []
        names, counts = zip(*found, strict=True)
        names = (names[0], *(name if self.parts == TOKENS else "in the one before" for name in names[1:]))
        told = f"depends on the tokens {' and '.join(names)}: with others there, {' and '.join(map(str, counts))}"
        where = {OF_KIND: f"Where {kind}", TRAINED: "At trained lengths"}.get(self.which, "Over all lengths")
        return [f"{where}, it {told} of {self.n} failing strings become right; elsewhere, {self.other} (tested)."]


def redrawn(subject: Subject, wrong: Sequence[Wrong], which: str, seed: int) -> Redrawn | None:
    """What becomes of failing strings with other tokens in a part of the prompt; None where these are too few.

    Of each string all three parts must be there and lead to strings of the task that are as long. Where a wrong token
    follows from none of the prompt but what the one before does, as at an end, the parts are those of the one before.
    """
    rng, total, columns = stream(seed, "explain", "redrawn"), np.zeros(4, int), True
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
        kept = sorted(set.intersection(*({*rows} for _, rows in made)))
        if kept:
            rights = [sum(right[rows.index(row)] for row in kept) for right, rows in made]
            total += np.array([len(kept), *rights])
            columns &= all(_is_column(some[row][0], some[row][1][0]) for row in kept)
    n, own, before, other = map(int, total)
    if n < 2 * LEAST or (last and not columns):
        return None
    return Redrawn(which, n, own, before, other, (LAST if last else COLUMNS) if columns else TOKENS)


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
) -> tuple[list[bool], list[int]]:
    """Whether strings are right with other tokens at so many of these positions, and which strings these are."""
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
        return [bool(right.all()) for right in subject.right_and_finite(made, subject.logits(made))[0]], rows
    return [], []
