"""At which of many lengths random strings and kinds that a task names fail, from a few strings of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.rng import stream
from lengthwise.explanation.kinds import TOLD, WeakKind, distinct, hard_strings, of_kinds
from lengthwise.explanation.model import Subject
from lengthwise.explanation.verdict import LengthShares, Share

MOST = 32
"""Lengths that are looked at, beside those of random strings."""
FEW, WRONG = 8, 3
"""Strings of each kind and length, and how many of these make it worth to ask more."""
NEAR = 4
"""Lengths just before the first that breaks, where they were not."""
EACH = 32
"""Strings of the worst kinds at each length."""


def spread(subject: Subject, known: Collection[int]) -> list[int]:
    """Lengths up to the longest known one, evenly, and all known ones."""
    every = subject.between(0, max(known) + 1)
    at = np.linspace(0, len(every) - 1, min(MOST, len(every))).round().astype(int)
    return sorted({*known, *(every[index] for index in at)})


def suspected(
    subject: Subject, lengths: Sequence[int], seed: int, hard: Mapping[int, Sequence[tuple[str, Batch, ndarray]]]
) -> dict[int, list[str]]:
    """Kinds that may fail, by length: of each the first trained length, the first longer one, and the worst.

    Of a costly length no more strings of them are asked than are among the ``hard`` ones.
    """
    found: dict[int, list[str]] = {}

    def share(kind: str, length: int) -> Share:
        if not subject.clock.costly(length):
            return _ask(subject, kind, length, FEW, seed, ())
        some = [good for how, _, good in hard[length] if how == kind]
        return Share(sum(int(good.sum()) for good in some), sum(map(len, some)))

    for kind in subject.task.kinds:
        shares = {length: share(kind, length) for length in lengths}
        wrong = {length: share.n - share.right for length, share in shares.items() if share.n - share.right >= WRONG}
        trained, beyond = ([n for n in wrong if (n <= subject.train) == inside] for inside in (True, False))
        for length in {*trained[:1], *beyond[:1], *sorted(wrong, key=lambda n: -wrong[n])[:1]}:
            found.setdefault(length, []).append(kind)
    return found


def random_at(
    subject: Subject, rows: Mapping[int, LengthShares], lengths: Sequence[int], seed: int
) -> dict[int, Share]:
    """Right random strings at all lengths, a few where they were not asked."""

    def ask(length: int) -> Share:
        if not subject.clock.has(length, EACH):
            return Share(0, 0)
        batch = subject.task.batch(length, EACH, stream(seed, "explain", "coverage", length))
        return Share(int(subject.right(batch).all(axis=1).sum()), batch.size)

    shares = {length: rows[length].random if length in rows else ask(length) for length in lengths}
    return {length: share for length, share in shares.items() if share.n}


def turns(shares: Mapping[int, Share], train: int) -> list[int]:
    """The first length beyond training that breaks, and the first right one after it, where there are such."""
    broken = next((n for n, share in shares.items() if n > train and share.breaks), None)
    again = next((n for n, share in shares.items() if broken is not None and n > broken and share.holds), None)
    return [n for n in (broken, again) if n is not None]


def covered(
    subject: Subject, kinds: Sequence[WeakKind], lengths: Sequence[int], seed: int, *, further: bool
) -> list[WeakKind]:
    """The worst kinds with their shares at all lengths, strings of a worse one left out.

    Where ``further`` lengths may be asked, those just before the first that breaks, too.
    """
    found = list[WeakKind]()
    for number, each in enumerate(kinds):
        known = {row.length: row.share for row in each.rows}
        if number < TOLD and each.kind in subject.task.kinds:
            worse = [other.kind for other in kinds[:number]]
            known = {n: _ask(subject, each.kind, n, EACH, seed, worse) for n in lengths} | known
            first = next((n for n in sorted(known) if known[n].breaks), 0)
            last = max((n for n in known if n < first), default=first)
            near = subject.between(last, first)[-NEAR:] if further else ()
            known |= {n: _ask(subject, each.kind, n, EACH, seed, worse) for n in near}
        shares = tuple((n, share) for n, share in sorted(known.items()) if share.n >= FEW)
        found.append(replace(each, by_length=shares))
    return found


def _ask(subject: Subject, kind: str, length: int, count: int, seed: int, worse: Sequence[str]) -> Share:
    """So many strings of a kind, each once, none of them of a worse one."""
    if not subject.clock.has(length, count):
        return Share(0, 0)
    rng = stream(seed, "explain", "coverage", kind, length, count)
    right, n = 0, 0
    for _, batch in distinct(hard_strings(subject, length, count, rng, None, kind)):
        kept = [not of_kinds(subject.task, worse, batch, row) for row in range(batch.size)]
        good = np.asarray(subject.right(batch).all(axis=1))[kept]
        right, n = right + int(good.sum()), n + len(good)
    return Share(right, n)
