"""Exact empirical-risk learners: every minimizer, not one lucky one.

`exact_learner` goes through a finite class given as a list. `VersionSpace` handles the class of *all* table heads with
weights 0 or 1 and votes for single labels, (1 + Y)^N of them, by what each table entry may still be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.core.rng import Rng
from lengthwise.sparsity.heads.attention import LocalHead, TupleTypes
from lengthwise.sparsity.heads.theorem import Strings
from lengthwise.sparsity.planted.planted import PlantedSample

Samples = Sequence[Strings | PlantedSample]
"""One group of strings per length."""


@dataclass(frozen=True)
class HeadClass:
    """H table heads over the same tuple types."""

    types: TupleTypes
    weights: Float[ndarray, "H N"]
    votes: Float[ndarray, "H N Y"]

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, index: int) -> LocalHead:
        return LocalHead(self.types, self.weights[index], self.votes[index])


@dataclass(frozen=True)
class Minimizers:
    """The smallest empirical risk, all heads that attain it (more than one is a tie), and every head's risk."""

    risk: float
    indices: tuple[int, ...]
    risks: Float[ndarray, " H"]

    @property
    def tied(self) -> bool:
        """Whether the data leave the choice open."""
        return len(self.indices) > 1


def empirical_risk(heads: HeadClass, samples: Samples) -> Float[ndarray, " H"]:
    """Loss 1 - h(X)[y] averaged over the strings of each length, then over lengths (0/0 costs 1)."""
    require(len(samples) > 0, "a risk needs at least one group of strings; give samples of one length or more")
    total = np.zeros(len(heads))
    for sample in samples:
        counts = heads.types.counts(sample.tokens).astype(np.float64)
        denominator = heads.weights @ counts.T
        right = np.zeros_like(denominator)
        for y in np.unique(sample.labels):
            rows = sample.labels == y
            right[:, rows] = (heads.weights * heads.votes[..., y]) @ counts[rows].T
        share = np.divide(right, denominator, out=np.zeros_like(right), where=denominator > 0)
        total += 1 - share.mean(axis=1)
    return total / len(samples)


def exact_learner(heads: HeadClass, samples: Samples, tolerance: float = 1e-12) -> Minimizers:
    """All heads of smallest empirical risk; risks within ``tolerance`` (rounding) are equal."""
    risks = empirical_risk(heads, samples)
    best = float(risks.min())
    return Minimizers(best, tuple(np.flatnonzero(risks <= best + tolerance).tolist()), risks)


@dataclass(frozen=True)
class VersionSpace:
    """Every zero-risk head among all tables with weights in {0, 1} and votes for one label.

    A head has zero risk if and only if each positive entry votes the label of every string that it occurs in, and each
    string has a positive entry. So per entry: ``label`` is the one label it was seen with, -1 if it was never seen
    (anything goes), -2 if it was seen with several (its weight must be 0). ``covers`` holds, per training string, the
    entries of which at least one must be positive.
    """

    types: TupleTypes
    classes: int
    label: Int[ndarray, " N"]
    covers: Bool[ndarray, "R N"]

    @classmethod
    def of(cls, types: TupleTypes, samples: Samples, classes: int) -> VersionSpace:
        """The zero-risk heads for these samples; raises `LengthwiseError` if there are none."""
        counts = np.concatenate([types.counts(s.tokens) for s in samples])
        return cls.of_counts(types, counts, np.concatenate([s.labels for s in samples]), classes)

    @classmethod
    def of_counts(cls, types: TupleTypes, counts: ndarray, labels: ndarray, classes: int) -> VersionSpace:
        """The same from counts of tuple types ``[M, N]``; only whether they are positive matters, so bools do too."""
        occurs = np.stack([(counts[labels == y] > 0).any(axis=0) for y in range(classes)])
        number = occurs.sum(axis=0)
        label = np.where(number == 0, -1, np.where(number > 1, -2, occurs.argmax(axis=0)))
        covers = (counts > 0) & (label >= 0)
        size = covers.sum(axis=1)
        require(bool((size > 0).all()), "no head of the class is exact on these strings; use a richer class")
        # Rows of one entry come first: rows that contain one of these are met whenever they are, and need not be kept.
        alone = covers[size == 1].any(axis=0)
        rest = np.unique(covers[~covers[:, alone].any(axis=1)], axis=0)
        return cls(types, classes, label, np.concatenate([np.eye(len(label), dtype=bool)[alone], rest]))

    @property
    def unseen(self) -> int:
        """Entries that no training string holds; each is free, so minimizers differ there."""
        return int((self.label == -1).sum())

    def settled(self, counts: ndarray, labels: ndarray) -> Bool[ndarray, " M"]:
        """On which strings *every* zero-risk head gives exactly the label.

        No entry of the string may be free or known to vote otherwise, and some training string's whole cover must be
        among its entries, or else a zero-risk head could have no weight there.
        """
        present = counts > 0
        wrong = (present & (self.label == -1)).any(axis=1)
        wrong |= (present & (self.label >= 0) & (self.label != labels[:, None])).any(axis=1)
        missing = self.covers.astype(np.float32) @ (~present).T.astype(np.float32)
        return ~wrong & (missing == 0).any(axis=0)

    def draw(self, count: int, rng: Rng, free: float = 0.5) -> HeadClass:
        """``count`` random zero-risk heads.

        A never-seen entry gets weight 1 and a random vote with probability ``free``; an entry seen with one label gets
        weight 1 with probability 1/2, and always where a training string would otherwise be left without weight.
        """
        size = (count, len(self.label))
        seen = self.label >= 0
        positive = np.where(seen, rng.random(size) < 0.5, (self.label == -1) & (rng.random(size) < free))
        for row in positive:
            bare = ~(self.covers & row).any(axis=1)
            row |= self.covers[bare].any(axis=0)
        vote = np.where(seen, self.label, rng.integers(self.classes, size=size))
        return HeadClass(self.types, positive.astype(np.float64), np.eye(self.classes)[vote])
