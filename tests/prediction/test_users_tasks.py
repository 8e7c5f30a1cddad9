"""What is said of a task of the user's own: nothing that was only known, or only seen, of another."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import config
from lengthwise.core.rng import Rng, stream
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.languages.machine import Machine
from lengthwise.prediction.predict import predict_target, predict_task
from lengthwise.prediction.suites import MOST_STATES, evidence, language_evidence
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.counting import Majority


@config
class Odd(Majority):
    """Parity, on the strings of majority."""

    letters: int = 2

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        bits = rng.integers(2, size=(layout.length, seq.size))
        seq.bos()
        given = [seq.given(row + 4, place=1) for row in bits]
        seq.sep(place=1)
        seq.predicted(bits.sum(0) % 2 + 4, place=1, parents=given)
        seq.eos()


@config
class ErrorSince(Odd):
    """Whether an error was logged after the last commit: of c, e and i the words (c|e|i)*ei*."""

    states: int = 2

    def machine(self) -> Machine:
        """Of more states, one that counts errors up to them."""

        def step(state: int, symbol: str) -> int:
            return {"c": 0, "e": min(state + 1, self.states - 1)}.get(symbol, state)

        return Machine(("c", "e", "i"), 0, step, lambda state: "1" if state == self.states - 1 else "0")


@config
class Renamed(Majority):
    """Majority under another name."""

    letters: int = 2


@config
class OnlyFour(Task):
    """Parity of four bits: sparse and local at the only length that there is."""

    name = "only-four"

    def lengths(self, low: int, high: int) -> list[int]:
        return [4] if low <= 4 <= high else []

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of("01")

    write = Odd.write

    def answer(self, prompt: list[str]) -> list[str]:  # type: ignore[override]
        return [str(sum(map(int, prompt[1:-1])) % 2), EOS]


def test_a_program_of_the_class_that_a_task_derives_from_is_none_for_another_question() -> None:
    assert evidence(Majority(letters=2))
    assert evidence(Renamed()) == evidence(Majority(letters=2))
    assert evidence(Odd()) == []
    assert evidence(TASKS.build("parity-scratchpad-offset-one"))


def test_the_same_at_one_length_is_not_the_same_at_every_length() -> None:
    found = predict_task(OnlyFour())
    assert [row.lengths for row in found.structure] == [(4,)] * len(found.structure)
    assert {verdict.answer for verdict in found.verdicts} == {"unknown"}


def test_what_a_search_did_not_find_is_not_called_nothing(tmp_path: Path) -> None:
    rng, path = stream(0, "parity of six"), tmp_path / "parity.jsonl"
    rows = rng.integers(2, size=(2000, 6))
    lines = [{"prompt": [*map(str, row), "="], "answer": ["even", "odd"][row.sum() % 2]} for row in rows]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    said = json.dumps(predict_target(str(path)).to_json())
    assert "not found" in said
    assert "\\u2190 nothing" not in said


def test_a_machine_with_two_answers_is_decided_as_its_language() -> None:
    expected = language_evidence("(c|e|i)*ei*", end="eos", alphabet="cei")
    found = evidence(ErrorSince())
    assert [(one.fragment, one.argument.answer) for one in found] == [
        (one.fragment, one.argument.answer) for one in expected
    ]
    answers = {verdict.system: verdict.answer for verdict in predict_task(ErrorSince()).verdicts}
    assert answers["nope"] == answers["rope"] == "no"
    # A machine of many states, or of none that ends, decides nothing.
    assert evidence(ErrorSince(states=MOST_STATES + 1)) == []
