"""Error against length and against k, for learners that differ in one assumption: the data of the theory's figures.

All learners are exact (`VersionSpace`): they know every head without training error and are judged by random ones among
these, so what is shown is what the training strings leave open, not how well an optimizer does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.core.rng import Rng, stream
from lengthwise.sparsity.coupling.coupling_theory import pose_ids, super_tokens
from lengthwise.sparsity.heads.attention import TupleTypes
from lengthwise.sparsity.heads.learner import VersionSpace
from lengthwise.sparsity.planted.placements import Strided, offset_patterns
from lengthwise.sparsity.planted.planted import Planted, PlantedSample


@dataclass(frozen=True)
class CurvePoint:
    """Counts at one length: ``wrong`` of ``strings`` × ``heads`` evaluations (a tie or 0/0 is wrong).

    ``settled`` strings are those on which every zero-risk head is exactly right.
    """

    length: int
    strings: int
    heads: int
    wrong: int
    settled: int

    @property
    def error(self) -> float:
        """Share of wrong evaluations."""
        return self.wrong / (self.strings * self.heads)


@dataclass(frozen=True)
class LearnerCurve:
    """One learner. ``unseen`` of ``entries`` table entries are left free by its ``trained_on`` training strings."""

    learner: str
    k: int
    trained_on: int
    entries: int
    unseen: int
    points: tuple[CurvePoint, ...]


LEARNERS = ("local", "non-local", "non-local with PoSE", "far", "far with coupling")
"""``far`` is the strided problem: S* at the same place of each half of the string."""


def error_against_length(
    *,
    learners: tuple[str, ...] = LEARNERS,
    span: int = 4,
    train_lengths: tuple[int, int] = (10, 16),
    test_lengths: tuple[int, ...] = (16, 20, 24, 32, 48, 64, 96, 128),
    train_strings: int = 20_000,
    test_strings: int = 200,
    heads: int = 20,
    seed: int = 0,
) -> tuple[LearnerCurve, ...]:
    """k = 2 parity of marked bits, one curve per learner; about ten seconds with the defaults.

    *local*: S* and weights of span at most ``span``. *non-local*: S* anywhere, a weight for every offset. *with PoSE*:
    the same, training ids stretched at random (2 chunks) to 1.5 times the longest test length. *far*: S* is
    {i, ℓ/2 + i}, a weight for every offset; *with coupling*: the halves numbered alike, attention over super-tokens.
    """
    for learner in learners:
        require(learner in LEARNERS, f"unknown learner {learner!r}; known: {', '.join(LEARNERS)}")
    target = 3 * max(test_lengths) // 2
    every = TupleTypes(4, offset_patterns(2, target - 1))
    problems: dict[str, tuple[Planted, _Reader, _Reader]] = {}
    near, anywhere, strided = _Typed(TupleTypes.local(2, span, 4)), _Typed(every), Strided(2)
    rng = stream(seed, "pose")
    problems["local"] = Planted.marked(2, span=span), near, near
    problems["non-local"] = Planted.marked(2), anywhere, anywhere
    problems["non-local with PoSE"] = Planted.marked(2), _Posed(every, target, rng), anywhere
    problems["far"] = Planted.marked(2, placement=strided), anywhere, anywhere
    problems["far with coupling"] = Planted.marked(2, placement=strided), _Coupled(strided), _Coupled(strided)
    curves = []
    for learner in learners:
        planted, read_train, read_test = problems[learner]
        train = _samples(planted, train_lengths, train_strings, stream(seed, learner, "train"))
        curves.append(_curve(learner, planted, train, read_train, read_test, test_lengths, test_strings, heads, seed))
    return tuple(curves)


def error_against_k(
    ks: tuple[int, ...] = (1, 2, 3, 4),
    *,
    span: int = 5,
    train_strings: tuple[int, ...] = (100, 300, 1000, 3000, 10_000),
    test_lengths: tuple[int, ...] = (16, 64),
    test_strings: int = 200,
    heads: int = 20,
    seed: int = 0,
) -> tuple[LearnerCurve, ...]:
    """Local parity at fixed ``span`` and training lengths 2(λ + 1)..2(λ + 1) + 4: one curve per k and sample size.

    k enters through the number of table entries, C(λ, k-1)·|V|^k, that the strings must show.
    """
    curves = []
    for k in ks:
        planted = Planted.marked(k, span=span)
        read = _Typed(TupleTypes.local(k, span, 4))
        low = 2 * (span + 1)
        for number in train_strings:
            train = _samples(planted, (low, low + 4), number, stream(seed, "k", k, number))
            curves.append(_curve("local", planted, train, read, read, test_lengths, test_strings, heads, seed))
    return tuple(curves)


class _Typed:
    """Reads strings as presence of tuple types by position."""

    def __init__(self, types: TupleTypes) -> None:
        self.types = types

    def __call__(self, sample: PlantedSample) -> Bool[ndarray, "B N"]:
        return self.counts(sample) > 0

    def counts(self, sample: PlantedSample) -> Int[ndarray, "B N"]:
        """Counts of tuple types."""
        return self.types.counts(sample.tokens)


class _Posed(_Typed):
    """Reads pairs by the difference of random PoSE ids."""

    def __init__(self, types: TupleTypes, target: int, rng: Rng) -> None:
        super().__init__(types)
        self.target, self.rng = target, rng

    def counts(self, sample: PlantedSample) -> Int[ndarray, "B N"]:
        """Counts of tuple types by id."""
        size, length = sample.tokens.shape
        ids = pose_ids(size, length, self.target, min(2, length), self.rng)
        first, second = np.triu_indices(length, 1)
        pattern = ids[:, second] - ids[:, first] - 1
        code = (pattern * 4 + sample.tokens[:, first]) * 4 + sample.tokens[:, second]
        rows = np.arange(size)[:, None] * self.types.size
        return np.bincount((rows + code).ravel(), minlength=size * self.types.size).reshape(size, -1)


class _Coupled(_Typed):
    """Reads the string of super-tokens."""

    def __init__(self, strided: Strided) -> None:
        super().__init__(TupleTypes.local(1, 0, 5**strided.k))
        self.strided = strided

    def counts(self, sample: PlantedSample) -> Int[ndarray, "B N"]:
        """Counts of super-tokens."""
        places = self.strided.places(sample.tokens.shape[1])
        return self.types.counts(super_tokens(sample.tokens, places, 4))


_Reader = _Typed


def _samples(planted: Planted, lengths: tuple[int, int], number: int, rng: Rng) -> Iterator[PlantedSample]:
    """Groups of at most 1,000 strings of one length each, lengths spread evenly."""
    low, high = lengths
    step = planted.k if isinstance(planted.placement, Strided) else 1
    choices = [n for n in range(low, high + 1) if n % step == 0]
    each, more = divmod(number, len(choices))
    for i, length in enumerate(choices):
        left = each + (i < more)
        while left > 0:
            yield planted.sample(min(left, 1000), length, rng)
            left -= 1000


def _curve(
    learner: str,
    planted: Planted,
    train: Iterator[PlantedSample],
    read_train: _Reader,
    read_test: _Reader,
    test_lengths: tuple[int, ...],
    test_strings: int,
    heads: int,
    seed: int,
) -> LearnerCurve:
    present, labels = [], []
    for sample in train:
        present.append(read_train(sample))
        labels.append(sample.labels)
    seen, labels = np.concatenate(present), np.concatenate(labels)
    space = VersionSpace.of_counts(read_train.types, seen, labels, planted.classes)
    drawn = space.draw(heads, stream(seed, learner, planted.k, "heads"))
    points = []
    for length in test_lengths:
        sample = planted.sample(test_strings, length, stream(seed, learner, planted.k, "test", length))
        counts = read_test.counts(sample)
        wrong = sum(
            int(drawn[h].from_counts(counts.astype(np.float64)).wrong(sample.labels).sum()) for h in range(heads)
        )
        settled = int(space.settled(counts, sample.labels).sum())
        points.append(CurvePoint(length, test_strings, heads, wrong, settled))
    return LearnerCurve(learner, planted.k, len(labels), space.types.size, space.unseen, tuple(points))
