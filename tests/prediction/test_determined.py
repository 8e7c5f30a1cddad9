"""Few and near is not enough: what is near must tell which places are needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import pytest

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import config
from lengthwise.core.errors import reject
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.forecast.answer import PROMISING
from lengthwise.forecast.predict import predict
from lengthwise.prediction.couple import couple
from lengthwise.prediction.determined import UNTOLD, shortcut, untold_in_task
from lengthwise.prediction.predict import nearest, predict_task
from lengthwise.prediction.search import search_places
from lengthwise.prediction.target import parse_target
from lengthwise.tasks import TASKS, Task

EXAMPLES = ("examples/my_task.py:EverySecond", "examples/remove_duplicates.py:RemoveDuplicates")


@config
class Swap(Task):
    """Neighbouring digits change places; which of two near ones is copied hangs on the parity of the place."""

    summary = "neighbouring digits swapped"
    placed: bool = True

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of("0123456789")

    def place(self, i: int) -> int | tuple[int, ...]:
        return (i + 2) * self.placed

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        digits = rng.integers(10, size=(layout.length, seq.size)) + self.vocab["0"]
        seq.bos()
        given = [seq.given(digit, place=self.place(i)) for i, digit in enumerate(digits)]
        seq.sep(place=self.place(-1))
        for i in range(layout.length):
            j = min(i ^ 1, layout.length - 1)
            seq.predicted(digits[j], place=self.place(i), parents=[given[j]])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        digits = prompt[1:-1]
        reject(prompt[-1] != "<sep>" or not digits or not set(digits) <= set("0123456789"), "not digits")
        return [*(digits[min(i ^ 1, len(digits) - 1)] for i in range(len(digits))), EOS]


@config
class WithParity(Swap):
    """The same, and a label says the parity of a place."""

    @property
    def levels(self) -> tuple[LevelKind, ...]:
        return "position", "label"

    def place(self, i: int) -> tuple[int, ...]:
        return i + 2, 1 + i % 2


def test_a_needed_place_that_near_tokens_do_not_tell_is_not_possible_in_theory() -> None:
    verdicts = [v for v in predict_task(Swap()).verdicts if v.scheme in ("coupled", "predictive-coupling")]
    assert {v.answer for v in verdicts} == {"unknown"}
    assert all(v.why.startswith(f"{UNTOLD}, this one or 2 further") for v in verdicts)
    found = predict(Swap())
    assert all(f.answer != PROMISING for f in found)
    assert "let the ids carry it" in next(f.theory for f in found if f.system == "coupled+local-bias-sink")


def test_a_label_that_tells_makes_it_possible() -> None:
    verdicts = {v.system: v.answer for v in predict_task(WithParity()).verdicts}
    assert verdicts["coupled+local-bias-sink"] == "yes"


def test_places_that_a_search_finds_must_tell_it_too() -> None:
    assert UNTOLD in couple(Swap(placed=False), checked=(5, 8)).doubt
    arguments, line = search_places(Swap(placed=False), lambda said: None)
    assert arguments == []
    assert "found, checked" not in line


@pytest.mark.parametrize("name", [*TASKS, *EXAMPLES])
def test_no_yes_by_few_and_near_tokens_where_these_do_not_tell(name: str) -> None:
    """At lengths of which the verdict itself does not ask."""
    task = parse_target(name) if name in EXAMPLES else TASKS.build(name)
    assert isinstance(task, Task)
    for verdict in predict_task(task).verdicts:
        for row in (a.certificate for a in verdict.arguments if a.certificate.get("kind") == "structure"):
            coupled = row["scheme"] == "coupled"
            for length in {nearest(task, 12), nearest(task, 13)}:
                span = row["span" if coupled else "both_span"][0]
                assert not untold_in_task(task, length, span, coupled=coupled), verdict.system


@config
class Shift(Task):
    """Every digit plus a key in front, written by what is near: the digit before and its answer tell the key, too."""

    summary = "digits shifted by a key"
    base: int = 5

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of("0123456789")

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        key = rng.integers(self.base, size=seq.size)
        digits = rng.integers(self.base, size=(layout.length, seq.size))
        seq.bos()
        last = seq.given(key + self.vocab["0"], place=1)
        given = [seq.given(digit + self.vocab["0"], place=i + 2) for i, digit in enumerate(digits)]
        seq.sep(place=1)
        for i, digit in enumerate(digits):
            near = [last, *given[max(0, i - 1) : i]]
            answer = (digit + key) % self.base + self.vocab["0"]
            last = seq.predicted(answer, place=i + 2, parents=[given[i], *near])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        key, *digits = (int(token) for token in prompt[1:-1])
        return [*(str((digit + key) % self.base) for digit in digits), EOS]


def test_another_rule_with_a_far_token_is_a_doubt() -> None:
    """Training may find the key, which is far away, where few and near tokens would do."""
    found = shortcut(Shift(), 6, 1)
    assert found.endswith("from 1 and 5): training may find that rule, which need not go on"), found
    assert not shortcut(Shift(), 6, 8), "none of them is far"
    told = predict(Shift(), train=10, test=40)
    assert next(iter(told)).answer == PROMISING
    assert "doubt A token of the answer also follows from fewer tokens" in " ".join(told.text().split())


def test_strings_shorter_than_those_of_any_measured_task_are_a_doubt() -> None:
    for train, doubted in ((6, True), (7, False), (20, False)):
        told = " ".join(predict("examples/my_task.py:EverySecond", train=train, test=3 * train).text().split())
        assert ("No measured task was trained to less than 7: " in told) is doubted


@pytest.mark.parametrize("name", ["copy", "reverse", "addition", "sort", "bitwise-or", *EXAMPLES])
def test_no_other_rule_is_seen_where_there_is_none(name: str) -> None:
    task = parse_target(name)
    assert isinstance(task, Task)
    assert not shortcut(task, nearest(task, 8), 1)
