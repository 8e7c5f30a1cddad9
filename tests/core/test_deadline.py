"""Searches end in time, say so, and say that they are at work."""

from __future__ import annotations

import time

import pytest

from lengthwise.core import deadline
from lengthwise.core.errors import OutOfTimeError
from lengthwise.prediction.couple import couple
from lengthwise.tasks import TASKS


def test_a_budget_ends_a_search_and_a_word_comes_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "FIRST_WORD", 0.05)
    monkeypatch.setattr(deadline, "NEXT_WORD", 0.1)
    words: list[str] = []

    def search() -> None:
        with deadline.time_budget(0.3, words.append):
            while True:
                deadline.check_time()

    with pytest.raises(OutOfTimeError, match=r"searched for 0\.3 s, not finished"):
        search()
    assert 2 <= len(words) <= 3
    deadline.check_time()  # no budget, no end


@pytest.mark.parametrize(("task", "checked"), [("multiplication", None), ("stack-manipulation", (5, 200))])
def test_couple_ends_with_an_outcome(task: str, checked: tuple[int, ...] | None) -> None:
    began = time.monotonic()
    found = couple(TASKS.build(task), checked=checked, seconds=2)
    assert time.monotonic() - began < 20
    assert "searched for 2 s, not finished" in found.unfinished
    assert not found.holds or found.check is not None
    assert found.to_json()["unfinished"] == found.unfinished


def test_without_a_bound_it_comes_to_its_end() -> None:
    assert couple(TASKS.build("copy"), checked=(5,), seconds=None).unfinished == ""
