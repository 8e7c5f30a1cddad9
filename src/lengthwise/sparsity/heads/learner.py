"""Exact empirical-risk learners, which return all minimizers.

`exact_learner` searches a finite class given as a list. `VersionSpace` represents the class of *all* (1 + Y)^N table
heads with weights 0 or 1 and votes for single labels by the possible values of each table entry.
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
from lengthwise.sparsity.planted.planted_correlations import PlantedStrings

Samples = Sequence[Strings | PlantedStrings]
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
    """The smallest empirical risk, the indices of all heads that attain it, and every head's risk."""

    risk: float
    indices: tuple[int, ...]
    risks: Float[ndarray, " H"]

    @property
    def tied(self) -> bool:
        """Whether several heads attain the smallest risk."""
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

    A head has zero risk if and only if each positive entry votes the label of every string in which it occurs, and each
    string has a positive entry. Per entry, ``label`` is the only label it occurs with, -1 if it occurs in no string (it
    is free), -2 if it occurs with several labels (its weight must be 0). ``covers`` holds, per training string, the
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
        """The same from counts of tuple types ``[M, N]``, or from whether the types occur (bool)."""
        occurs = np.stack([(counts[labels == y] > 0).any(axis=0) for y in range(classes)])
        number = occurs.sum(axis=0)
        label = np.where(number == 0, -1, np.where(number > 1, -2, occurs.argmax(axis=0)))
        covers = (counts > 0) & (label >= 0)
        size = covers.sum(axis=1)
        require(bool((size > 0).all()), "no head of the class is exact on these strings; use a richer class")
        # Rows of one entry come first; rows that contain the entry of such a row are met with it and not kept.
        alone = covers[size == 1].any(axis=0)
        rest = np.unique(covers[~covers[:, alone].any(axis=1)], axis=0)
        return cls(types, classes, label, np.concatenate([np.eye(len(label), dtype=bool)[alone], rest]))

    @property
    def unseen(self) -> int:
        """The number of entries that occur in no training string."""
        return int((self.label == -1).sum())

    def settled(self, counts: ndarray, labels: ndarray) -> Bool[ndarray, " M"]:
        """The strings on which *every* zero-risk head gives exactly the label.

        No entry of such a string is free or votes for another label, and its entries include the whole cover of some
        training string, so that every zero-risk head has weight there.
        """
        present = counts > 0
        wrong = (present & (self.label == -1)).any(axis=1)
        wrong |= (present & (self.label >= 0) & (self.label != labels[:, None])).any(axis=1)
        missing = self.covers.astype(np.float32) @ (~present).T.astype(np.float32)
        return ~wrong & (missing == 0).any(axis=0)

    def draw(self, count: int, rng: Rng, free: float = 0.5) -> HeadClass:
        """``count`` random zero-risk heads.

        A free entry gets weight 1 and a random vote with probability ``free``. An entry with one label gets weight 1
        with probability 1/2, and always where a training string would otherwise have no weight.
        """
        size = (count, len(self.label))
        seen = self.label >= 0
        positive = np.where(seen, rng.random(size) < 0.5, (self.label == -1) & (rng.random(size) < free))
        for row in positive:
            bare = ~(self.covers & row).any(axis=1)
            row |= self.covers[bare].any(axis=0)
        vote = np.where(seen, self.label, rng.integers(self.classes, size=size))
        return HeadClass(self.types, positive.astype(np.float64), np.eye(self.classes)[vote])
