"""The margin: an averaging error below it changes no answer, and planted programs grow as they were made to."""

from __future__ import annotations

import operator
import random
from typing import Any

import numpy as np
import pytest

import lengthwise as lw
from crasp.random_programs import random_program
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp import library
from lengthwise.crasp import program as op
from lengthwise.crasp.margin import Margin, margin, margins, thresholds
from lengthwise.crasp.program import Program
from lengthwise.crasp.syntax import parse
from lengthwise.languages.counter import COUNTER_LANGUAGES
from lengthwise.languages.named import LANGUAGES
from lengthwise.languages.sampling import sample_words

LENGTHS = (40, 80, 160, 320)
MAJORITY = parse("alphabet: a b\nbos: false\naccept := #a < #b\n")
CONSTANT = ("Tomita-7", "Tomita-4", "(aa)*", "(abab)*")
HALFWAY = {
    "<=": lambda x: x < 0.5, "<": lambda x: x < -0.5, ">=": lambda x: x > -0.5, ">": lambda x: x > 0.5,
    "=": lambda x: abs(x) < 0.5,
}  # fmt: skip


class Noisy:
    """Runs a program on one word; every comparison of a count over all positions errs by up to ``error`` · position."""

    def __init__(self, program: Program, error: float, seed: int) -> None:
        self.program, self.error, self.rng = program, float(error), random.Random(seed)
        self.wrong = 0

    def run(self, word: list[str]) -> list[tuple[bool, ...]]:
        """The outputs at every position."""
        marked = [*([BOS] if self.program.bos else []), *word, *([EOS] if self.program.eos else [])]
        rows: list[list[Any]] = []
        for at in range(len(marked)):
            rows.append([])
            for index, operation in enumerate(self.program.operations):
                rows[-1].append(self._value(index, operation, marked[at], at, rows))
        return [tuple(bool(row[index]) for index in self.program.outputs) for row in rows]

    def _value(self, index: int, operation: op.Operation, symbol: str, at: int, rows: list[list[Any]]) -> Any:
        now = rows[-1]
        match operation:
            case op.Symbol(wanted):
                return symbol == wanted
            case op.Top():
                return True
            case op.Periodic(residue, modulus):
                return (at + 1) % modulus == residue
            case op.Not(operand):
                return not now[operand]
            case op.And(operands):
                return all(now[i] for i in operands)
            case op.Or(operands):
                return any(now[i] for i in operands)
            case op.Compare(left, relation, right):
                return self._compared(left, relation, right, now, at)
            case op.Count(operand, None):
                return sum(row[operand] for row in rows)
            case op.Count(operand, differences):
                return sum(rows[at - d][operand] for d in differences or () if d <= at)
            case op.Constant(value):
                return value
            case op.Linear(terms, constant):
                return sum(factor * now[i] for factor, i in terms) + constant
            case op.Conditional(condition, then, otherwise):
                return now[then] if now[condition] else now[otherwise]
            case op.Min(left, right):
                return min(now[left], now[right])
            case op.Max(left, right):
                return max(now[left], now[right])
        raise AssertionError(operation)

    def _compared(self, left: int, relation: op.Relation, right: int, now: list[Any], at: int) -> bool:
        exact = HALFWAY[relation](now[left] - now[right])
        assert exact == {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}[
            relation
        ](now[left], now[right])
        found = thresholds(self.program.operations, left, relation, right)
        averaged = self._over_all(left) or self._over_all(right)
        if not averaged or (found is not None and all(place < 1 for place in found[1])):
            return exact
        error = self.rng.choice([-1, 1]) * self.error * (at + 1)
        noisy = HALFWAY[relation](now[left] - now[right] + error)
        self.wrong += noisy != exact
        return noisy

    def _over_all(self, index: int) -> bool:
        operation = self.program.operations[index]
        if isinstance(operation, op.Count):
            return operation.differences is None
        return not operation.boolean and any(
            self._over_all(operand) for operand in operation.operands if not self.program.operations[operand].boolean
        )


def answers(program: Program, outputs: list[tuple[bool, ...]]) -> list[tuple[bool, ...]]:
    return outputs[-1:] if program.accept is not None else outputs


def test_an_error_below_the_margin_changes_no_answer() -> None:
    """On random programs of every shape, and beyond the margin answers do change."""
    rng = stream(49, "margin")
    below = beyond = inner = 0
    for seed in range(200):
        program = random_program(seed, 25)
        words = rng.integers(len(program.alphabet), size=(4, int(rng.integers(1, 12))))
        for word, found in zip(words, margins(program, words), strict=True):
            assert 0 <= found <= 1
            symbols = [program.alphabet[number] for number in word]
            right = answers(program, Noisy(program, 0, 0).run(symbols))
            noisy = Noisy(program, found * 0.999, seed)
            assert answers(program, noisy.run(symbols)) == right, (seed, symbols)
            below += found < 1
            inner += noisy.wrong > 0
            beyond += found < 1 and answers(program, Noisy(program, found * 1.5, seed).run(symbols)) != right
    assert below >= 100, "otherwise nothing is averaged"
    assert inner >= 5, "comparisons that do not matter may go wrong"
    assert beyond >= 25, "it is not far too small"


def test_the_margin_of_a_comparison_is_its_gap() -> None:
    words = stream(49, "gap").integers(2, size=(50, 31))
    ones = words.sum(axis=1)
    assert np.allclose(margins(MAJORITY, words), np.abs(31 - 2 * ones + 0.5) / 31, atol=1e-6)


@pytest.mark.parametrize(("power", "growth"), [(0.0, "1/n"), (0.5, "1/sqrt(n)"), (1.0, "constant")])
def test_planted_growth(power: float, growth: str) -> None:
    """Words in which there are about n^power / 2 more b than a."""
    words = {}
    for length in LENGTHS:
        extra = round(length**power / 2)
        row = np.array([1] * (length // 2 + extra) + [0] * (length - length // 2 - extra))
        words[length] = np.array([stream(49, "planted", length, i).permutation(row) for i in range(20)])
    found = margin(MAJORITY, words)
    assert found.growth == growth
    assert found.exponent == pytest.approx(1 - power, abs=0.15)


def test_known_growth() -> None:
    rng = stream(49, "known")

    def on_words(program: Program, dfa: Any) -> Margin:
        return margin(program, {length: sample_words(dfa, length, 40, rng) for length in LENGTHS})

    at_random = {length: rng.integers(2, size=(400, length)) for length in LENGTHS}
    majority = margin(library.get("bin_majority"), at_random)
    assert majority.growth == "1/sqrt(n)"
    assert all(low < median for low, median in zip(majority.low, majority.median, strict=True))
    for name in ("D-2", "D-3", "D-4", "D-12"):
        assert on_words(library.get(name), LANGUAGES[name].dfa()).growth == "1/n", name
    for name in CONSTANT:
        found = on_words(library.get(name), LANGUAGES[name].dfa())
        assert (found.growth, found.median) == ("constant", (1.0,) * 4), name
    dyck = {n: COUNTER_LANGUAGES["Dyck-1"].sample(n, 40, rng) for n in LENGTHS}
    assert margin(library.get("Dyck-1"), dyck).growth == "1/n"
    share = parse("alphabet: a b\naccept := 4 * #a <= #b\n")
    assert margin(share, at_random).growth == "constant"


@pytest.mark.parametrize(
    ("expression", "growth"),
    [("(ab)*", "1/n"), ("(a(ab)*b)*", "1/n"), ("a*b*", "constant"), ("(aa)*", "constant"), ("(a|b)*ab", "constant"),
     ("(a|b)*a(a|b)*b(a|b)*", "constant")],
)  # fmt: skip
def test_languages_through_their_extracted_program(expression: str, growth: str) -> None:
    found = lw.decide(f"regex:{expression}").margin()
    assert found.growth == growth


def test_where_there_is_none() -> None:
    for target, match in (
        ("Tomita-5", "the verdict for ape under visible is no"),
        ("regex:ab", "no words of the lengths"),
    ):
        with pytest.raises(LengthwiseError, match=match):
            lw.decide(target).margin()
    for strings, match in (({}, "no strings"), ({5: np.zeros((2, 4), int)}, r"length 5 got shape \(2, 4\)")):
        with pytest.raises(LengthwiseError, match=match):
            margin(MAJORITY, strings)
    with pytest.raises(LengthwiseError, match="at least two lengths"):
        _ = Margin((50,), (0.1,), (0.1,)).growth


def test_the_picture_shows_both_quantiles() -> None:
    found = Margin((50, 100), (0.1, 0.05), (0.02, 0.01))
    (axes,) = found.plot().axes
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}  # type: ignore[arg-type]
    assert (lines["median"], lines["5 %"]) == ([0.1, 0.05], [0.02, 0.01])
    assert found.line == "0.1 at 50, 0.05 at 100 (5 %: 0.01), 1/n"
