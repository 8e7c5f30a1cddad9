"""Error of learned heads against length and sparsity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from coupled_ids import pose_ids, super_tokens
from heads import ExpHead, Setting, TupleTypes, VersionSpace, heuristic_error, measure_margins, theorem_b, train
from jaxtyping import Int
from numpy import ndarray
from planted import Planted, PlantedStrings, Strided, offset_patterns

import lengthwise as lw


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
    """The points of one learner. Of its ``entries`` table entries, ``unseen`` occur in no training string."""

    learner: str
    k: int
    trained_on: int
    entries: int
    unseen: int
    points: tuple[CurvePoint, ...]


LEARNERS = ("local", "non-local", "non-local with PoSE", "far", "far with coupling")
"""``far`` is the strided problem: S* has the same position in each half of the string."""


@dataclass(frozen=True)
class Evaluation:
    """How learners are tested: ``strings`` per length, random ``heads`` per learner, and the seed."""

    lengths: tuple[int, ...]
    strings: int
    heads: int
    seed: int


@dataclass(frozen=True)
class LearnerProblem:
    """A planted distribution, and how a learner reads strings in training and in tests."""

    learner: str
    planted: Planted
    read_train: _Reader
    read_test: _Reader


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
    """One curve per learner for the parity of k = 2 marked bits; about ten seconds with the defaults.

    *local*: S* and weights have span at most ``span``. *non-local*: S* is arbitrary, with a weight for every offset.
    *with PoSE*: the same, with training ids stretched at random (2 chunks) to 1.5 times the longest test length.
    *far*: S* is {i, ℓ/2 + i}, with a weight for every offset. *with coupling*: both halves have the same ids, and
    attention reads super-tokens. Raises `LengthwiseError` for an unknown learner.
    """
    for learner in learners:
        lw.core.errors.require(learner in LEARNERS, f"unknown learner {learner!r}; known: {', '.join(LEARNERS)}")
    target = 3 * max(test_lengths) // 2
    every = TupleTypes(4, offset_patterns(2, target - 1))
    near, anywhere, strided = _Reader(TupleTypes.local(2, span, 4)), _Reader(every), Strided(2)
    far, posed, coupled = (Planted.marked(2, placement=strided), _Posed(every, target, seed), _Coupled(strided))
    problems = (
        LearnerProblem("local", Planted.marked(2, span=span), near, near),
        LearnerProblem("non-local", Planted.marked(2), anywhere, anywhere),
        LearnerProblem("non-local with PoSE", Planted.marked(2), posed, anywhere),
        LearnerProblem("far", far, anywhere, anywhere),
        LearnerProblem("far with coupling", far, coupled, coupled),
    )
    evaluation = Evaluation(test_lengths, test_strings, heads, seed)
    by_name = {problem.learner: problem for problem in problems}
    curves = []
    for name in learners:
        train = _samples(by_name[name].planted, train_lengths, train_strings, lw.stream(seed, name, "train"))
        curves.append(_curve(by_name[name], train, evaluation))
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

    A larger k has more table entries, C(λ, k-1)·|V|^k, that must occur in the strings.
    """
    curves = []
    evaluation = Evaluation(test_lengths, test_strings, heads, seed)
    low = 2 * (span + 1)
    for k in ks:
        read = _Reader(TupleTypes.local(k, span, 4))
        problem = LearnerProblem("local", Planted.marked(k, span=span), read, read)
        for number in train_strings:
            train = _samples(problem.planted, (low, low + 4), number, lw.stream(seed, "k", k, number))
            curves.append(_curve(problem, train, evaluation))
    return tuple(curves)


class _Reader:
    """Counts the tuple types of strings by position."""

    def __init__(self, types: TupleTypes) -> None:
        self.types = types

    def counts(self, sample: PlantedStrings) -> Int[ndarray, "B N"]:
        return self.types.counts(sample.tokens)


class _Posed(_Reader):
    """Counts pairs by the difference of random PoSE ids."""

    def __init__(self, types: TupleTypes, target: int, seed: int) -> None:
        super().__init__(types)
        self.target, self.rng = target, lw.stream(seed, "pose")

    def counts(self, sample: PlantedStrings) -> Int[ndarray, "B N"]:
        size, length = sample.tokens.shape
        ids = pose_ids(size, length, self.target, min(2, length), self.rng)
        first, second = np.triu_indices(length, 1)
        pattern = ids[:, second] - ids[:, first] - 1
        code = (pattern * 4 + sample.tokens[:, first]) * 4 + sample.tokens[:, second]
        rows = np.arange(size)[:, None] * self.types.size
        return np.bincount((rows + code).ravel(), minlength=size * self.types.size).reshape(size, -1)


class _Coupled(_Reader):
    """Counts the super-tokens of strings."""

    def __init__(self, strided: Strided) -> None:
        super().__init__(TupleTypes.local(1, 0, 5**strided.k))
        self.strided = strided

    def counts(self, sample: PlantedStrings) -> Int[ndarray, "B N"]:
        places = self.strided.places(sample.tokens.shape[1])
        return self.types.counts(super_tokens(sample.tokens, places, 4))


def _samples(planted: Planted, lengths: tuple[int, int], number: int, rng: lw.core.rng.Rng) -> Iterator[PlantedStrings]:
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


def _curve(problem: LearnerProblem, train: Iterator[PlantedStrings], evaluation: Evaluation) -> LearnerCurve:
    learner, planted, seed = problem.learner, problem.planted, evaluation.seed
    present, labels = [], []
    for sample in train:
        present.append(problem.read_train.counts(sample) > 0)
        labels.append(sample.labels)
    seen, labels = np.concatenate(present), np.concatenate(labels)
    space = VersionSpace.of_counts(problem.read_train.types, seen, labels, planted.classes)
    heads = space.draw(evaluation.heads, lw.stream(seed, learner, planted.k, "heads"))
    points = []
    for length in evaluation.lengths:
        sample = planted.sample(evaluation.strings, length, lw.stream(seed, learner, planted.k, "test", length))
        counts = problem.read_test.counts(sample)
        outputs = (heads[h].from_counts(counts.astype(np.float64)) for h in range(len(heads)))
        wrong = sum(int(output.wrong(sample.labels).sum()) for output in outputs)
        settled = int(space.settled(counts, sample.labels).sum())
        points.append(CurvePoint(length, evaluation.strings, evaluation.heads, wrong, settled))
    return LearnerCurve(learner, planted.k, len(labels), space.types.size, space.unseen, tuple(points))


@dataclass(frozen=True)
class GrowthPoint:
    """Mean and largest error (probability not given to the label) over sampled strings of one length.

    ``bound`` is that of Theorem B; above 1 it holds trivially.
    """

    length: int
    strings: int
    mean_error: float
    largest_error: float
    heuristic: float
    bound: float


@dataclass(frozen=True)
class GrowthCurve:
    """The points of one k and seed; ``trained_length`` is the only training length."""

    k: int
    seed: int
    trained_length: int
    steps: int
    points: tuple[GrowthPoint, ...]

    @property
    def exponent(self) -> float:
        """Slope of log mean odds of error against log length, by least squares: 1 means linear growth."""
        x = np.log([p.length for p in self.points])
        e = np.clip([p.mean_error for p in self.points], 1e-12, 1 - 1e-12)
        return float(np.polyfit(x, np.log(e / (1 - e)), 1)[0])


def error_growth(
    ks: tuple[int, ...] = (1, 2, 3),
    *,
    span: int = 2,
    length: int = 8,
    test_lengths: tuple[int, ...] = (8, 16, 32, 64, 128, 256),
    steps: int = 150,
    strings: int = 500,
    seeds: int = 5,
) -> tuple[GrowthCurve, ...]:
    """Train table heads on local parity at one length and measure the error at longer ones; seconds per curve.

    ``steps`` is small, so that the error stays positive.
    """
    curves = []
    for k in ks:
        planted = Planted.marked(k, span=span)
        setting = Setting.of(planted, span)
        for seed in range(seeds):
            types = TupleTypes.local(k, span, planted.alphabet)
            start = ExpHead(
                types,
                np.zeros(types.size),
                0.1 * lw.stream(seed, "start", k).normal(size=(types.size, planted.classes)),
            )
            head = train(start, planted, (length, length), lw.stream(seed, "train", k), steps=steps).head.table()
            margins = measure_margins(setting, head, length)
            points: list[GrowthPoint] = []
            for n in test_lengths:
                sample = planted.sample(strings, n, lw.stream(seed, "test", k, n))
                error = head(sample.tokens).error(sample.labels)
                first = points[0].mean_error if points else float(error.mean())
                points.append(
                    GrowthPoint(
                        length=n,
                        strings=strings,
                        mean_error=float(error.mean()),
                        largest_error=float(error.max()),
                        heuristic=heuristic_error(first, k, test_lengths[0], n, span).value,
                        bound=theorem_b(margins, span, n).value,
                    )
                )
            curves.append(GrowthCurve(k, seed, length, steps, tuple(points)))
    return tuple(curves)
