"""One syntax for targets: every command reads it, and a mistyped name is never taken for a word."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminal import Terminal

import lengthwise as lw
from lengthwise.core.errors import LengthwiseError
from lengthwise.languages.automaton import dfa_to_json, language
from lengthwise.languages.counter import COUNTER_LANGUAGES
from lengthwise.languages.named import LANGUAGES
from lengthwise.languages.regex import SPECIAL
from lengthwise.prediction.target import parse_target, task_of
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.language import Language

NAMES = sorted({*TASKS, *COUNTER_LANGUAGES, *(name for name in LANGUAGES if not SPECIAL & set(name))})
COMMANDS = (["predict"], ["decide"], ["verify"], ["couple"], ["crasp", "learn"])
REST = (
    "regex:EXPRESSION, FILE.py:Class, FILE.crasp, FILE.jsonl (examples) or FILE.json (an automaton); "
    "a word is written regex:"
)


@pytest.mark.parametrize("name", NAMES)
def test_names_stand_for_what_has_them(name: str) -> None:
    target = parse_target(name)
    assert isinstance(target, Task)
    assert target == (TASKS.build(name) if name in TASKS else Language(language=name))


@given(st.sampled_from(NAMES), st.integers(0, 30), st.sampled_from(["", "e", "-"]))
def test_near_names_are_never_words(name: str, at: int, instead: str) -> None:
    at %= len(name)
    mistyped = name[:at] + instead + name[at + 1 :]
    if mistyped in NAMES:
        assert isinstance(parse_target(mistyped), Task)
        return
    with pytest.raises(LengthwiseError, match=f"unknown target {re.escape(repr(mistyped))}"):
        parse_target(mistyped)


@pytest.mark.parametrize("text", ["(ab)*", "regex:(ab)*", "Tomita-4", "Dyck-1", "addition", "unique_copy"])
def test_the_task_of_a_target_is_the_same_wherever_a_task_is_taken(text: str) -> None:
    task = task_of(parse_target(text))
    assert task == lw.task(text) == TASKS.build(text) == TASKS.build({"name": text})
    assert task == lw.Experiment(text).configuration.task == lw.structure(text).task == lw.show(text).example.task


def test_fields_go_with_an_expression() -> None:
    assert lw.task("(ab)*", alphabet="abc") == Language(language="(ab)*", alphabet="abc")
    with pytest.raises(LengthwiseError, match="names one language"):
        lw.task("(ab)*", language="a*")


@pytest.mark.parametrize("words", [["show"], ["show", "--set", 'alphabet="abc"'], ["couple"],
                                   ["couple", "--set", 'alphabet="abc"'], ["check"]], ids=" ".join)  # fmt: skip
def test_commands_for_tasks_take_expressions(terminal: Terminal, words: list[str]) -> None:
    answer = terminal(words[0], "(ab)*", *words[1:])
    assert (answer.code, "error" in answer.err) == (0, False)


def test_the_example_that_is_shown_has_the_nearest_length_there_is(terminal: Terminal) -> None:
    assert lw.show("addition").example.length == 5
    assert lw.show("(ab)*").example.length == 4
    assert "length 6" in terminal("show", "(ababab)*").out


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("adition", "unknown target 'adition'. Did you mean 'addition'? A word is written regex:adition"),
        ("Tomita4", "unknown target 'Tomita4'. Did you mean 'Tomita-4'? A word is written regex:Tomita4"),
        ("ab", f"unknown target 'ab'; give a task (`lengthwise list tasks`), {REST}ab"),
    ],
)
def test_a_word_without_operator_is_refused_everywhere(
    terminal: Terminal, command: list[str], target: str, message: str
) -> None:
    answer = terminal(*command, target)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err in (f"error: {message}\n", f"error: {target}: {message}\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["decide", "parity"],
            "parity: 'parity' is a task, but `lengthwise decide` takes regular languages; "
            "`lengthwise predict parity` gives its verdicts",
        ),
        (["verify", "some.jsonl"], "'some.jsonl' is a file of examples, but `lengthwise verify` takes a task or a "
         "regular expression"),
        (["couple", "p.crasp"], "'p.crasp' is a program, but `lengthwise couple` takes a task or examples"),
        (["crasp", "learn", "p.crasp"], "'p.crasp' is a program, but `lengthwise crasp learn` takes a task, a "
         "language or examples"),
        (["crasp", "learn", "(ab)*", "--answer", "1"], "--answer is for tasks; '(ab)*' is not a task"),
    ],
)  # fmt: skip
def test_a_target_of_another_kind_is_refused(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.crasp").write_text("alphabet: a b\naccept := #a < #b\n")
    answer = terminal(*words)
    assert (answer.code, answer.out, answer.err) == (2, "", f"error: {message}\n")


def test_bare_expressions_automata_and_published_names_have_one_verdict(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "dfa.json").write_text(json.dumps(dfa_to_json(language("(10)*", "01"))))

    def answers(target: object) -> list[tuple[str, str]]:
        return [(v["system"], v["answer"]) for v in terminal("predict", target, "--json").json()["verdicts"]]

    assert answers("(10)*") == answers("regex:(10)*") == answers(tmp_path / "dfa.json") == answers("Tomita-2")
    for target in ("'(10)*'", "Tomita-2"):
        shown = terminal("predict", target.strip("'"), "--why").out
        assert f"another question: lengthwise decide {target}" in " ".join(shown.split())


@pytest.mark.parametrize(("target", "expression"), [("a*b", "a*b"), ("regex:a*b*", "a*b*")])
def test_learn_and_decide_read_expressions(terminal: Terminal, target: str, expression: str) -> None:
    assert terminal("crasp", "learn", target, "--json").json()["meaning"] == f"words of {expression}"
    assert terminal("decide", target, "--json").json()["regex"] == expression


def test_a_certificate_of_a_published_language_is_checked_again(terminal: Terminal, tmp_path: Path) -> None:
    assert terminal("decide", "Tomita-5", "--certificates", tmp_path / "c.json").code == 0
    assert "Tomita-5: 8 certificates hold" in terminal("check-certificates", tmp_path / "c.json").out
