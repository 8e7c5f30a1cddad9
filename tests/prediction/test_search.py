"""`predict` on a task about which nothing is known searches a program and a coupling, and says how far."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pytest

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import config
from lengthwise.core.rng import Rng, stream
from lengthwise.core.vocab import Vocab
from lengthwise.crasp.interpreter import encode, run
from lengthwise.crasp.syntax import parse
from lengthwise.prediction import search as places_search
from lengthwise.prediction.predict import GIVEN, predict_task, predict_with_search
from lengthwise.tasks import TASKS, Task


@config
class Compared(Task):
    """``<bos> a b a <sep> yes <eos>``: more a than b? Three answers with ``ties``."""

    name = "compared"
    summary = "more a than b?"

    ties: bool = False

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(["a", "b", "no", "tie", "yes"])

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        bits = rng.integers(2, size=(layout.length, seq.size))
        seq.bos()
        given = [seq.given(bit + self.vocab["a"]) for bit in bits]
        seq.sep()
        sign = np.sign(2 * (bits == 0).sum(0) - layout.length)
        answers = np.array([self.vocab["no"], self.vocab["tie"] if self.ties else self.vocab["no"], self.vocab["yes"]])
        seq.predicted(answers[sign + 1], parents=given)
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        more = prompt.count("a") - prompt.count("b")
        return ["yes" if more > 0 else "tie" if more == 0 and self.ties else "no", "<eos>"]


@config
class Unplaced(Task):
    """A copy that states no places."""

    name = "unplaced"
    summary = "a copy"

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of("abcd")

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        letters = rng.integers(4, size=(layout.length, seq.size)) + self.vocab["a"]
        seq.bos()
        given = [seq.given(letter) for letter in letters]
        seq.sep()
        for letter, parent in zip(letters, given, strict=True):
            seq.predicted(letter, parents=[parent])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        if not set(prompt[1:-1]) <= set("abcd"):
            raise ValueError("not letters")
        return [*prompt[1:-1], "<eos>"]


def answers(task: Task) -> dict[str, str]:
    return {verdict.system: verdict.answer for verdict in predict_with_search(task).verdicts}


def test_a_program_is_found_and_decides_every_word_of_a_sample() -> None:
    notes: list[str] = []
    found = predict_with_search(Compared(), note=notes.append)
    assert {v.answer for v in found.verdicts if v.fragment} == {"yes"}
    assert {v.basis for v in found.verdicts if v.fragment} == {"evidence"}, "tested, not proved"
    assert notes[0] == "searching for small C-RASP programs over 2 symbols (a few seconds)"
    assert found.searched[0].startswith("searched: C-RASP programs up to size 1")
    certificate = next(v for v in found.verdicts if v.system == "nope").arguments[0].certificate
    program = parse(str(certificate["program"]))
    rng = stream(0, "search")
    for n in (1, 2, 7, 30):
        word = ["ab"[bit] for bit in rng.integers(2, size=n)]
        assert bool(run(program, encode(program, [word]))[0]) == (
            Compared().answer(["<bos>", *word, "<sep>"])[0] == "no"
        )


def test_three_answers_take_two_programs() -> None:
    assert {answers(Compared(ties=True))[system] for system in ("nope", "ape")} == {"yes"}


def test_places_are_found_where_none_are_stated_and_the_ids_are_given() -> None:
    found = predict_with_search(Unplaced())
    verdict = next(v for v in found.verdicts if v.system == "coupled+learned")
    assert (verdict.answer, verdict.basis) == ("yes", "evidence")
    assert verdict.condition == f"{GIVEN}, by the places found"
    assert "answer, n symbols                  place 2 + i" in verdict.arguments[0].certificate["lines"]
    assert found.searched[1] == "searched: a coupling: found, checked at lengths 4, 5, 6, 10"
    assert answers(Unplaced())["predictive-coupling"] == "unknown"
    assert next(v for v in predict_task(Unplaced()).verdicts if v.system == "coupled+learned").answer == "unknown"


def test_the_search_has_a_bound_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places_search, "SECONDS", 0.0)
    line = predict_with_search(Unplaced()).searched[1]
    assert line == "searched: a coupling: stopped after 0 s; `lengthwise couple unplaced` takes its time"


def test_nothing_is_searched_where_something_is_known() -> None:
    def never(line: str) -> None:
        raise AssertionError(line)

    for name in ("addition", "parity", "copy"):
        assert predict_with_search(TASKS.build(name), note=never).searched == ()


def test_a_task_that_fails_on_other_words_gets_a_line_not_a_traceback() -> None:
    @config
    class Fails(Compared):
        name = "fails"

        def answer(self, prompt: Sequence[str]) -> list[str]:
            if len(prompt) > 10:
                raise RuntimeError("too long for me")
            return super().answer(prompt)

    (first, _) = predict_with_search(Fails()).searched
    assert first == "no program was searched: the task fails on a word (RuntimeError: too long for me)"
