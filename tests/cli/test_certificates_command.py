"""``decide --certificates`` and ``check-certificates``: what is written holds, and a changed file does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from terminal import Terminal

from lengthwise.languages.automaton import dfa_to_json, language

EXPRESSIONS = ("(ab)*", "(aa)*", "{0,1,2}*02*", "(baa|ab|b)*")


def test_every_yes_and_no_is_written_and_holds(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "certificates.json"
    made = terminal("decide", *EXPRESSIONS, "--max-window", "3", "--certificates", file, "--json")
    assert made.code == 0
    decided = [json.loads(line) for line in made.out.splitlines()]
    expected = [
        (one["regex"], fragment, end, verdict["verdict"])
        for one in decided
        for fragment, ends in one["fragments"].items()
        for end, verdict in ends.items()
        if verdict["verdict"] != "unknown"
    ]
    assert len(expected) < 8 * len(EXPRESSIONS)  # (baa|ab|b)* needs a window of 6
    checked = terminal("check-certificates", file, "--json").json()["holds"]
    assert [(one["source"], one["fragment"], one["end"], one["answer"]) for one in checked] == expected
    shown = terminal("check-certificates", file)
    assert shown.out.count("hold:") == len(EXPRESSIONS)


def test_an_automaton_file_is_taken_from_the_certificates(terminal: Terminal, tmp_path: Path) -> None:
    automaton, file = tmp_path / "even.json", tmp_path / "certificates.json"
    automaton.write_text(json.dumps(dfa_to_json(language("(aa)*"))))
    assert terminal("decide", automaton, "--certificates", file).code == 0
    automaton.unlink()
    assert "of the automaton in this file" in " ".join(terminal("check-certificates", file).out.split())


def test_nothing_to_certify(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "certificates.json"
    assert terminal("decide", "(a", "--certificates", file).code == 2
    assert "no certificates" in terminal("check-certificates", file).out


def _answer(entry: dict[str, Any]) -> None:
    entry["certificates"][0]["answer"] = "no"


def _source(entry: dict[str, Any]) -> None:
    entry["source"] = "(ab)*b"


def _letters(entry: dict[str, Any]) -> None:
    entry["source"] = "(cd)*"


def _automaton(entry: dict[str, Any]) -> None:
    entry["automaton"]["accepting"] = []


def _more(entry: dict[str, Any]) -> None:
    entry["code"] = "import os"


def _kind(entry: dict[str, Any]) -> None:
    entry["certificates"][1] = "yes"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_answer, "C-RASP (no positions), read at the last symbol: the certificate is incomplete"),
        (_source, "the automaton is not that of '(ab)*b'"),
        (_letters, "the automaton is not that of '(cd)*'"),
        (_automaton, "the automaton is not that of '(ab)*'"),
        (_more, "a language has a source, an automaton and certificates, nothing else"),
        (_kind, "a certificate is an object"),
    ],
)
def test_a_changed_file_is_one_clear_line(terminal: Terminal, tmp_path: Path, change: Any, message: str) -> None:
    file = tmp_path / "certificates.json"
    assert terminal("decide", "(ab)*", "--certificates", file).code == 0
    value = json.loads(file.read_text())
    change(value["languages"][0])
    file.write_text(json.dumps(value))
    answer = terminal("check-certificates", file)
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("content", ["", "[]", '{"format": "other"}', '{"format": "lengthwise certificates 1"}'])
def test_other_files_are_refused(terminal: Terminal, tmp_path: Path, content: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(content)
    answer = terminal("check-certificates", file)
    assert answer.code == 2
    assert "certificate file" in answer.err
