"""The margin of a program: how exactly a head has to average so that the program's answer is right on given strings.

A head reads a count at position i as an average over i positions, so what matters of a comparison is how far its two
sides are from the nearest values that would change its outcome, divided by i. Values are whole numbers: C <= D changes
half-way between D - C = 0 and -1, and C = D half-way on both sides of 0. A margin is the smallest such gap on which an
answer rests:

* *and* rests on its weakest operand where all are true, and on its strongest false one where some are false; *or*
  likewise. So a comparison matters only where its outcome does.
* A count rests on the weakest of the truth values that it adds up.
* Whether something *ever* held needs no exact average, since one head can look for it: it rests on the strongest place
  where it held, or on the weakest of all places if it never did.
* Symbols, windows and periods are exact. A program that counts nothing has margin 1, the largest.

An averaging error below the margin, at every comparison and position at once, changes no answer (a law of the tests).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float32, Float64, Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.core.rng import stream
from lengthwise.core.table import Table, Tabular
from lengthwise.crasp import program as op
from lengthwise.crasp.decide import Decision
from lengthwise.crasp.extraction import program_of
from lengthwise.crasp.interpreter import evaluate_all
from lengthwise.crasp.program import Program
from lengthwise.languages.sampling import lengths_with_words, sample_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Growth = Literal["constant", "1/sqrt(n)", "1/n"]
EXPONENTS: dict[Growth, float] = {"constant": 0.0, "1/sqrt(n)": 0.5, "1/n": 1.0}
"""The margin falls like n to the minus this."""
LENGTHS = (50, 100, 200, 300)
WORDS = 100
"""Strings of a length from which the margin of a language's program is computed."""
LOW = 0.05
MOST_VALUES = 10_000_000
"""Values of operations that are kept at the same time."""
_BOUNDARIES = {"<=": (0.5,), ">": (0.5,), "<": (-0.5,), ">=": (-0.5,), "=": (-0.5, 0.5)}
"""Where left - right has to pass to change the outcome."""


@dataclass(frozen=True, repr=False)
class Margin(Tabular):
    """The margin of a program on test strings, by length: its median and its 5 % quantile, in parts of the length."""

    lengths: tuple[int, ...]
    median: tuple[float, ...]
    low: tuple[float, ...]

    @property
    def exponent(self) -> float:
        """The median falls like n to the minus this: the slope of a straight line through the logarithms."""
        require(len(self.lengths) > 1, "one length shows no growth; give strings of at least two lengths")
        return -float(np.polyfit(np.log(self.lengths), np.log(self.median), 1)[0])

    @property
    def growth(self) -> Growth:
        """The class whose exponent is nearest; raises `LengthwiseError` for a single length."""
        return min(EXPONENTS, key=lambda growth: abs(EXPONENTS[growth] - self.exponent))

    @property
    def line(self) -> str:
        """The margin at the shortest and the longest length, and its growth."""
        at = [
            f"{self.median[index]:.2g} at {self.lengths[index]}" for index in dict.fromkeys((0, len(self.lengths) - 1))
        ]
        grows = f", {self.growth}" if len(self.lengths) > 1 else ""
        return f"{', '.join(at)} (5 %: {self.low[-1]:.2g}){grows}"

    def table(self) -> Table:
        """One row per length."""
        rows = tuple(zip(self.lengths, self.median, self.low, strict=True))
        return Table(("length", "median", "5 %"), rows, caption=f"margin: {self.line}")

    def plot(self) -> Figure:
        """Median and 5 % quantile over the length, both axes logarithmic, beside the three classes of growth."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5.0, 3.4), layout="constrained")
        axes = figure.add_subplot()
        axes.loglog(self.lengths, self.median, "o-", label="median")
        axes.loglog(self.lengths, self.low, "s--", label="5 %")
        for growth, exponent in EXPONENTS.items():
            guide = [self.median[0] * (length / self.lengths[0]) ** -exponent for length in self.lengths]
            axes.loglog(self.lengths, guide, ":", color="0.6", zorder=0)
            axes.annotate(growth, (self.lengths[-1], guide[-1]), color="0.4", fontsize=8, ha="right", va="bottom")
        axes.set_xlabel("length")
        axes.set_ylabel("margin (parts of the length)")
        axes.legend()
        return figure


def margin(program: Program, strings_by_length: Mapping[int, Int[ndarray, "B n"]]) -> Margin:
    """The margin of a program on given strings.

    Arguments:
        program: one that accepts, whose answer is read at the last position, or one with NEXT conditions, whose answers
            are read at every position.
        strings_by_length: symbol numbers ``[B, n]`` (see `encode`) for every length n, in any order.

    Returns: median and 5 % quantile over the strings of each length, shortest first. Raises `LengthwiseError` where
    there are no strings, or they are not of their length or alphabet.
    """
    require(len(strings_by_length) > 0, "no strings; give some for at least one length")
    found = []
    for length, words in sorted(strings_by_length.items()):
        shape = np.shape(words)
        fits = len(shape) == 2 and shape[1] == length and shape[0] > 0
        require(fits, f"strings of length {length} got shape {shape}")
        each = margins(program, words)
        found.append((length, float(np.median(each)), float(np.quantile(each, LOW))))
    lengths, median, low = zip(*found, strict=True)
    return Margin(lengths, median, low)


def language_margin(
    decision: Decision, fragment: str, end: str, lengths: Sequence[int] = LENGTHS, *, seed: int = 0
) -> Margin:
    """The margin of the program behind a *yes*, on uniform words of the language whose lengths are near ``lengths``.

    The program is one of many, and not made for a large margin. Raises `LengthwiseError` if the verdict is not *yes*,
    or if there are no words of such lengths.
    """
    program = program_of(decision, fragment, end)
    near = [lengths_with_words(decision.dfa, length, length + decision.dfa.size) for length in lengths]
    chosen = sorted({options[0] for options in near if options})
    require(len(chosen) > 0, f"the language has no words of the lengths {', '.join(map(str, lengths))}")
    words = {n: sample_words(decision.dfa, n, WORDS, stream(seed, "margin", n)) for n in chosen}
    return margin(program, words)


def margins(program: Program, words: Int[ndarray, "B n"]) -> Float64[ndarray, " B"]:
    """The margin on each string; raises `LengthwiseError` as `run` does."""
    needed = program.needed()
    trimmed = program.reordered(needed)
    rows = max(1, MOST_VALUES // (len(needed) * (words.shape[1] + 2)))
    parts = []
    for start in range(0, len(words), rows):
        slack = _Slack(trimmed, evaluate_all(trimmed, words[start : start + rows]))
        outputs = np.array([slack.of[index] for index in trimmed.outputs])
        parts.append(outputs[0, :, -1] if program.accept is not None else outputs.min(axis=(0, 2)))
    return np.concatenate(parts).astype(np.float64)


class _Slack:
    """``of[index]``: on which averaging error each value of an operation rests, an array ``[B, P]`` from 0 to 1."""

    def __init__(self, program: Program, values: list[ndarray]) -> None:
        self.operations, self.values = program.operations, values
        self.of: list[Float32[ndarray, "B P"]] = []
        self.far: list[bool] = []
        """Whether an operation is a count that reaches over all positions."""
        self.positions = np.arange(1, values[0].shape[1] + 1, dtype=np.float32)
        for operation in self.operations:
            inner = [self.far[index] for index in operation.operands]
            counts_all = isinstance(operation, op.Count) and operation.differences is None
            self.far.append(
                counts_all or (not operation.boolean and not isinstance(operation, op.Count) and any(inner))
            )
            self.of.append(self._slack(len(self.of), operation))

    def _slack(self, index: int, operation: op.Operation) -> Float32[ndarray, "B P"]:
        match operation:
            case op.And(operands):
                return self._joined(operands, neutral=True)
            case op.Or(operands):
                return self._joined(operands, neutral=False)
            case op.Compare(left, relation, right):
                return self._compared(left, relation, right)
            case op.Count(operand, None):
                return np.minimum.accumulate(self.of[operand], axis=1)
            case op.Count(operand, differences):
                shifted = [_shifted(self.of[operand], distance, 1.0) for distance in differences or ()]
                return reduce(np.minimum, shifted, self._exact)
            case op.Conditional(condition, then, otherwise):
                if (event := strict_count(self.operations, index)) is not None:
                    return _shifted(np.minimum.accumulate(self.of[event], axis=1), 1, 1.0)
                chosen = np.where(self.values[condition], self.of[then], self.of[otherwise])
                return np.minimum(self.of[condition], chosen)
            case _:
                return reduce(np.minimum, [self.of[operand] for operand in operation.operands], self._exact)

    @property
    def _exact(self) -> Float32[ndarray, "B P"]:
        return np.ones(self.values[0].shape, dtype=np.float32)

    def _joined(self, operands: tuple[op.Index, ...], *, neutral: bool) -> Float32[ndarray, "B P"]:
        """A conjunction (``neutral`` is true) or a disjunction."""
        weakest = reduce(np.minimum, [self.of[index] for index in operands])
        deciding = [np.where(self.values[index] == neutral, np.float32(0), self.of[index]) for index in operands]
        strongest = reduce(np.maximum, deciding)
        decided = reduce(np.logical_or, [self.values[index] != neutral for index in operands])
        return np.where(decided, strongest, weakest)

    def _compared(self, left: op.Index, relation: op.Relation, right: op.Index) -> Float32[ndarray, "B P"]:
        if (found := thresholds(self.operations, left, relation, right)) is not None:
            (event, strict), places = found
            if not places:
                return self._exact
            if max(places) < 1:
                return self._ever(event, strict=strict)
        weakest = np.minimum(self.of[left], self.of[right])
        if not (self.far[left] or self.far[right]):
            return weakest
        difference = self.values[left].astype(np.float64) - self.values[right].astype(np.float64)
        gap = reduce(np.minimum, [np.abs(difference - boundary) for boundary in _BOUNDARIES[relation]])
        return np.minimum(weakest, (gap / self.positions).astype(np.float32))

    def _ever(self, event: op.Index, *, strict: bool) -> Float32[ndarray, "B P"]:
        """Whether an event occurred so far (``strict``: before this position)."""
        held, slack = self.values[event], self.of[event]
        occurred = np.logical_or.accumulate(held, axis=1)
        strongest = np.maximum.accumulate(np.where(held, slack, np.float32(0)), axis=1)
        weakest = np.minimum.accumulate(slack, axis=1)
        if strict:
            occurred, strongest, weakest = (
                _shifted(array, 1, fill) for array, fill in ((occurred, False), (strongest, 0.0), (weakest, 1.0))
            )
        return np.where(occurred, strongest, weakest)


def thresholds(
    operations: Sequence[op.Operation], left: op.Index, relation: op.Relation, right: op.Index
) -> tuple[tuple[op.Index, bool], list[float]] | None:
    """The event whose number is compared with a constant, and the positive numbers at which the outcome changes.

    None for any other comparison. With the event comes whether only earlier positions count.
    """
    first, second = _scaled(operations, left), _scaled(operations, right)
    if first is None or second is None or (first[1] is None) == (second[1] is None):
        return None
    event = first[1] or second[1]
    factor, constant = first[0] - second[0], first[2] - second[2]
    assert event is not None
    places = [(boundary - constant) / factor for boundary in _BOUNDARIES[relation]]
    return event, [place for place in places if place > 0]


def _scaled(
    operations: Sequence[op.Operation], index: op.Index
) -> tuple[int, tuple[op.Index, bool] | None, int] | None:
    """A count as factor · (number of events) + constant; None if it is of another form."""
    operation = operations[index]
    if isinstance(operation, op.Constant):
        return 0, None, operation.value
    if (event := _counted(operations, index)) is not None:
        return 1, event, 0
    if isinstance(operation, op.Linear) and len(operation.terms) == 1:
        ((factor, term),) = operation.terms
        event = _counted(operations, term)
        return None if event is None else (factor, event, operation.constant)
    return None


def _counted(operations: Sequence[op.Operation], index: op.Index) -> tuple[op.Index, bool] | None:
    """The event that a count counts over all positions, and whether only over earlier ones."""
    operation = operations[index]
    if isinstance(operation, op.Count) and operation.differences is None:
        return operation.operand, False
    event = strict_count(operations, index)
    return None if event is None else (event, True)


def strict_count(operations: Sequence[op.Operation], index: op.Index) -> op.Index | None:
    """The event P of ``P ? #P - 1 : #P``, the number of earlier positions where P held, as `extract` writes it."""
    operation = operations[index]
    if not isinstance(operation, op.Conditional):
        return None
    less, count = operations[operation.then], operations[operation.otherwise]
    same = isinstance(count, op.Count) and count == op.Count(operation.condition)
    return operation.condition if same and less == op.Linear(((1, operation.otherwise),), -1) else None


def _shifted(array: ndarray, distance: int, fill: float | bool) -> ndarray:
    """The values of ``distance`` positions before, ``fill`` where there are none."""
    shifted = np.full_like(array, fill)
    if distance < array.shape[1]:
        shifted[:, distance:] = array[:, : array.shape[1] - distance]
    return shifted
