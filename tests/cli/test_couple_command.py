"""``couple``: what it prints is what the library finds, and a failure says why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from terminal import Terminal

from lengthwise.core.rng import stream
from lengthwise.sparsity.coupling import CouplingRule
from lengthwise.tasks import TASKS
from lengthwise.tasks.recoupled import Recoupled

WITH_PLACES = {
    "copy": ["--set", "symbols=repeats"],
    "reverse": ["--set", "symbols=repeats", "--set", "letters=4"],
    "parity-scratchpad": [],
    "parity-scratchpad-offset-one": [],
    "addition": [],
}


FOUND: dict[str, dict[str, Any]] = {}


def found_for(terminal: Terminal, task: str) -> dict[str, Any]:
    """What the command prints on one of these tasks in JSON; the search takes seconds, so it is made once."""
    if task not in FOUND:
        FOUND[task] = terminal("couple", task, *WITH_PLACES[task], "--lengths", "5,10", "--json").json()
    return FOUND[task]


@pytest.mark.parametrize("task", WITH_PLACES)
def test_tasks_with_places_get_a_coupling_that_counts(terminal: Terminal, task: str) -> None:
    found = found_for(terminal, task)
    assert found["holds"], found["problems"]
    assert found["reason"] == ""
    assert found["agrees"] == {"5": True, "10": True}
    assert [(check["length"], check["span"], check["seen"]) for check in found["checks"]] == [
        (5, 1, True),
        (10, 1, False),
    ]
    assert found["source"] == "queries"
    assert found["queries"] > 1000


def test_the_rule_in_json_is_what_recoupled_takes(terminal: Terminal) -> None:
    found = found_for(terminal, "copy")
    task = TASKS.build({"name": "recoupled", "task": found["task"], "rule": found["rule"]})
    assert isinstance(task, Recoupled)
    assert isinstance(task.rule, CouplingRule)
    assert task.rule == Recoupled().rule, "the default of recoupled is what the search finds for copy"


def test_from_examples_alone(terminal: Terminal) -> None:
    found = terminal(
        "couple", "parity-scratchpad", "--from-data", "--examples", "2000", "--lengths", "5,8", "--json"
    ).json()  # fmt: skip
    assert found["holds"], found["problems"]
    assert (found["source"], found["examples_per_length"]) == ("examples", 2000)
    assert found["agrees"] == {"5": True, "8": True}


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ("bin_majority", "a token depends on ever more others, those counted that choose which are needed: 3, 5, 5"),
        ("parity", "a token depends on ever more others, those counted that choose which are needed: 4, 5, 6"),
        ("planted", "a token depends on ever more others, those counted that choose which are needed: 4, 5, 6"),
        ("language", "several symbols may come next, so no token has parents"),
    ],
)
def test_where_there_is_none_the_reason_is_given(terminal: Terminal, task: str, reason: str) -> None:
    answer = terminal("couple", task)
    assert answer.code == 0
    assert f"no coupling found: {reason}" in " ".join(answer.out.split())
    found = terminal("couple", task, "--json").json()
    assert (found["holds"], found["rule"]) == (False, None)
    assert found["reason"].startswith(reason)


def test_the_example_of_the_readme_gets_a_coupling(terminal: Terminal) -> None:
    """Its answer has ⌈n/2⌉ symbols, which three lengths do not tell from other sizes."""
    task = Path(__file__).parents[2] / "examples" / "my_task.py"
    answer = terminal("couple", f"{task}:EverySecond", "--lengths", "5,10")
    assert "answer, floor((n + 1) / 2) symbols place 2 + i" in answer.out
    assert "prompt, n symbols                  place 2 + floor(i / 2)" in answer.out
    assert "ids found that bring" in answer.out


def examples_file(folder: Path, lengths: tuple[int, ...] = (4, 5, 6, 8), rows: int = 300) -> Path:
    """Reversed strings of four letters."""
    task = TASKS.build("reverse", symbols="repeats", letters=4)
    path = folder / "reversed.jsonl"
    with path.open("w") as file:
        for n in lengths:
            batch = task.batch(n, rows, stream(0, n))
            for row in range(rows):
                text = batch.text(row)
                line = {"prompt": text[: batch.prompt_length], "answer": " ".join(text[batch.prompt_length :])}
                file.write(json.dumps(line) + "\n")
    return path


def test_a_file_of_examples_gets_a_coupling(terminal: Terminal, tmp_path: Path) -> None:
    path = examples_file(tmp_path)
    answer = terminal("couple", path)
    assert answer.out.startswith("reversed.jsonl: ids found that bring")
    assert answer.out.endswith("from 300 examples per length, prompts of n = 6, 7, 8\n")
    assert "prompt, n - 2 symbols              place n - 1 - i" in answer.out
    assert "10 (new)" in answer.out
    assert "ids found that bring" in answer.out
    found = terminal("couple", path, "--json").json()
    assert found["holds"]
    assert found["task"] == {"name": "reversed.jsonl"}
    assert found["source"] == "examples"


def test_a_file_with_too_few_examples_says_how_many_it_needs(terminal: Terminal, tmp_path: Path) -> None:
    answer = terminal("couple", examples_file(tmp_path, (4, 5), 300))
    assert answer.code == 2
    assert "has 2 prompt lengths with 200 examples or more, and a rule needs 3; give more examples" in answer.err
    yes_or_no = tmp_path / "labels.jsonl"
    yes_or_no.write_text('{"prompt": "a b", "answer": true}\n')
    assert "answers are yes or no; a coupling places the tokens of longer answers" in terminal("couple", yes_or_no).err
    answer = terminal("couple", yes_or_no, "--lengths", "5")
    assert "--set and --lengths are for tasks; a file has the lengths of its examples" in answer.err


def test_the_table_on_a_terminal(terminal: Terminal) -> None:
    answer = terminal("couple", "copy", "--set", "symbols=repeats", "--lengths", "5,8")
    assert "answer, n symbols                  place 2 + i" in answer.out
    assert "8 (new)" in answer.out
    assert "ids found that bring" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["couple", "coppy"], "Did you mean 'copy'?"),
        (["couple", "copy", "--lengths", "5;6"], "--lengths needs whole numbers"),
        (["couple", "copy", "--lengths", "500"], "has no instances of length 500"),
        (["couple", "copy", "--from-data", "--examples", "3"], "--examples must be in 50..1000000, got 3"),
    ],
)
def test_mistakes_are_one_line(terminal: Terminal, arguments: list[str], message: str) -> None:
    answer = terminal(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_a_rule_that_does_not_count_is_told_from_one_that_does(terminal: Terminal) -> None:
    """Checked only where it was found, a rule has not been shown to extend."""
    answer = terminal("couple", "parity-scratchpad", "--lengths", "4,5")
    assert "no ids found that work: no length was checked that the rule was not found from" in " ".join(
        answer.out.split()
    )


def test_of_places_that_fail_it_says_from_which_lengths_they_are(terminal: Terminal, tmp_path: Path) -> None:
    task = (Path(__file__).parents[2] / "examples" / "my_task.py").read_text(encoding="utf-8")
    changed = task.replace("range(0, layout.length, 2)", "[i * i % layout.length for i in range(layout.length)]")
    every = '[*[prompt[1 + i * i % (len(prompt) - 2)] for i in range(len(prompt) - 2)], "<eos>"]'
    (tmp_path / "squares.py").write_text(changed.replace('[*prompt[1:-1:2], "<eos>"]', every))
    said = " ".join(terminal("couple", f"{tmp_path / 'squares.py'}:EverySecond").out.split())
    assert "no ids found that work: those found from lengths 4, 5 and 6 fail: at length 10 answer token" in said


CAESAR = """
from functools import cached_property
import lengthwise as lw

@lw.config
class Caesar(lw.Task):
    summary = "digits shifted by a first one"
    near: bool = False

    @cached_property
    def vocab(self):
        return lw.Vocab.of("01234")

    def write(self, seq, layout, rng):
        key, x = rng.integers(5, size=seq.size), rng.integers(5, size=(layout.length, seq.size))
        zero = self.vocab["0"]
        seq.bos()
        first = seq.given(key + zero, place=1)
        given = [seq.given(digit + zero, place=i + 2) for i, digit in enumerate(x)]
        before = seq.sep(place=1)
        for i, digit in enumerate(x):
            told = [given[i - 1], before] if i and self.near else [first]
            before = seq.predicted((digit + key) % 5 + zero, place=i + 2, parents=[given[i], *told])
        seq.eos()

    def answer(self, prompt):
        if prompt[-1] != "<sep>" or len(prompt) < 4:
            raise ValueError("no digits")
        key, *digits = map(int, prompt[1:-1])
        return [*(str((digit + key) % 5) for digit in digits), "<eos>"]
"""


@pytest.mark.parametrize("near", [True, False])
def test_parents_that_a_task_states_in_the_answer_are_no_worse_than_the_fewest(
    terminal: Terminal, tmp_path: Path, near: bool
) -> None:
    """The search finds the first digit, which all need; the digit and the answer before tell as much, and are near."""
    (tmp_path / "mine.py").write_text(CAESAR, encoding="utf-8")
    target = f"{tmp_path / 'mine.py'}:Caesar"
    said = " ".join(terminal("couple", target, "--set", f"task.near={near}".lower(), "--lengths", "5,10").out.split())
    assert ("its places keep all that a token needs within 1 " in said) is near
    assert (f"what to do next: lengthwise predict {target}" in said) is near
    assert ("every answer token needs token 1, which no places bring near all of them" in said) is not near
