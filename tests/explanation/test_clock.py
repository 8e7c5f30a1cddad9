"""An explanation keeps its seconds, which are counted here as work of the model, and says what it left out."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import answering
import lengthwise as lw
from answering import TASK
from lengthwise.core.deadline import DOING
from lengthwise.explanation import clock
from lengthwise.explanation.clock import FEW, MANY, PART, Clock
from lengthwise.explanation.explain import ENDED, FEWER

SHORT, LONG = 6, 120
ZEROS = "both numbers have leading zeros"


class Counted:
    """A model of sums to ``reach`` digits, and what it was asked: pairs of tokens, in millions, as seconds."""

    def __init__(self, reach: int = 999, zeros: bool = True) -> None:
        self.seconds, self.doing = 0.0, set[str]()

        def says(prompt: list[str], answer: list[str]) -> list[str]:
            right = len(answer) - 2 <= reach and (zeros or not TASK.of_kind(ZEROS, prompt))
            return answer if right else [*answer[:-2], "<eos>", "<eos>"]

        self.model = answering.adder(says)

    def __call__(self, ids: torch.Tensor, positions: torch.Tensor) -> Any:
        self.seconds += len(ids) * ids.shape[1] ** 2 / 1e6
        self.doing.add(DOING.now.partition(", ")[0])
        return self.model(ids, positions)

    def explained(self, monkeypatch: pytest.MonkeyPatch, seconds: float, **settings: Any) -> Any:
        monkeypatch.setattr(clock, "process_time", lambda: self.seconds)
        return lw.explain(self, TASK, train=SHORT, lengths=[SHORT, LONG], seconds=seconds, **settings)


def one(length: int) -> float:
    """The seconds of one string."""
    return TASK.batch(length, 1, lw.stream(0)).tokens ** 2 / 1e6


@pytest.mark.parametrize(("reach", "zeros"), [(999, True), (999, False), (50, True), (50, False)])
def test_a_costly_length_gets_few_strings_and_the_time_is_kept(
    monkeypatch: pytest.MonkeyPatch, reach: int, zeros: bool
) -> None:
    counted, seconds = Counted(reach, zeros), 500 * one(LONG)
    told = counted.explained(monkeypatch, seconds)
    assert counted.seconds <= (1 + PART) * seconds
    random = {row.length: row.random for row in told.failures.rows}
    assert random[SHORT].n >= 128
    assert random[LONG].n == FEW
    assert (random[LONG].right == FEW) == (reach > LONG)
    assert LONG in told.failures.few
    assert f"{FEWER} at length" in told.text()
    # What cheap lengths show is found all the same.
    assert ([kind.kind for kind in told.failures.kinds] == [ZEROS]) == (not zeros)
    assert {"accuracy", "failures"} <= counted.doing
    assert not DOING.now


def test_without_time_for_a_longer_length_the_answer_is_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    counted, seconds = Counted(), FEW * one(LONG) / 4
    told = counted.explained(monkeypatch, seconds)
    assert counted.seconds <= (1 + PART) * seconds
    assert told.answer == f"right to length {SHORT}, the longest asked"
    assert f"{ENDED} before length {LONG}" in told.text()
    assert "lengths=[6, 120], seconds=" in told.command


def test_where_time_is_plenty_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    counted, free = Counted(zeros=False), Counted(zeros=False)
    told = counted.explained(monkeypatch, seconds=100 * MANY * one(LONG), samples=32)
    assert told.failures == free.explained(monkeypatch, seconds=1e12, samples=32).failures
    assert not told.failures.few
    assert not told.failures.ended
    assert ENDED not in told.text()


def test_what_a_string_takes_is_known_from_the_lengths_around(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(clock, "process_time", lambda: now[0])
    timed = Clock(100)
    assert timed.each(7) == 0
    for length, seconds in ((10, 2.0), (20, 8.0), (10, 1.0)):
        with timed.asks(length, 2):
            now[0] += seconds
    assert [timed.each(n) for n in (5, 10, 15, 20, 40)] == [0.5, 0.5, 2.25, 4.0, 16.0]
    with timed.asks(0, 1):  # The empty word is a string, too.
        now[0] += 1
    assert timed.each(0) == 1
    assert timed.has(20, 15)
    assert not timed.ended
    assert not timed.has(20, 16)
    assert timed.ended
