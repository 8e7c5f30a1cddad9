"""``decide`` and ``crasp``: the library's answers, one JSON object per expression, programs that can be run."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path

import pytest
from terminal import Terminal

import lengthwise as lw
from lengthwise.core.errors import UnknownNameError
from lengthwise.crasp import library
from lengthwise.crasp.interpreter import encode, run
from lengthwise.crasp.syntax import parse
from lengthwise.forecast import forecasts
from lengthwise.languages.automaton import dfa_to_json, language


def test_one_json_object_per_expression(terminal: Terminal) -> None:
    answer = terminal("decide", "(aa)*", "(ab)*", "--json")
    assert answer.code == 0
    parity, dyck = (json.loads(line) for line in answer.out.splitlines())
    assert parity["regex"] == "(aa)*"
    assert parity["states"] == 2
    assert parity["fragments"]["none"]["eos"]["verdict"] == "no"
    assert parity["fragments"]["ape"]["visible"] == {"verdict": "yes", "window": 1, "period": 2, "basis": "proved"}
    assert parity["star_free"] is False
    assert dyck["fragments"]["none"]["eos"]["verdict"] == "yes"


def test_a_bad_line_does_not_stop_the_others(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("(aa)*\n\n(a\nb*\n"))
    answer = terminal("decide", "-", "--json", "--end", "eos")
    lines = [json.loads(line) for line in answer.out.splitlines()]
    assert answer.code == 2
    assert [line["regex"] for line in lines] == ["(aa)*", "(a", "b*"]
    assert set(lines[1]) == {"regex", "error"}
    assert list(lines[0]["fragments"]["none"]) == ["eos"]
    assert answer.err.count("\n") == 1


def test_an_automaton_file_gets_the_verdict_of_its_language(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "even.json"
    path.write_text(json.dumps(dfa_to_json(language("(aa)*"))))
    from_file = terminal("decide", path, "--json").json()
    from_text = terminal("decide", "(aa)*", "--json").json()
    assert from_file["fragments"] == from_text["fragments"]


@pytest.mark.parametrize("expression", ["(ab)*", "(a|b)*ab(a|b)*", "(aa)*"])
def test_the_program_of_a_yes_decides_the_language(terminal: Terminal, expression: str) -> None:
    shown = terminal("decide", expression, "--program", "--end", "eos", "--json").json()["programs"]["eos"]
    program, dfa = parse(shown["text"]), language(expression)
    for size in range(7):
        for number in range(len(dfa.alphabet) ** size):
            word = [dfa.alphabet[number // len(dfa.alphabet) ** at % len(dfa.alphabet)] for at in range(size)]
            assert bool(run(program, encode(program, [word]))[0]) == dfa.accepts(word)


@pytest.mark.parametrize("expression", ["(ab)*", "(aa)*", "(a|b)*abb(a|b)*", "Tomita-5"])
def test_the_answer_is_the_first_sentence_and_80_columns_hold_all(
    terminal: Terminal, expression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = terminal("decide", expression).out
    assert max(map(len, (out + terminal("decide", expression, "--why").out).splitlines())) <= 80
    assert len(out.splitlines()) <= 16
    first, _, rest = " ".join(out.split()).partition(" positions ")
    head = f"{expression}: "
    assert first.startswith(head)
    words = {"a program recognizes it": "yes", "no program recognizes it": "no", "none does": "no"}
    said = {name.lower(): words[part.partition(" with ")[0]] for part in first.removeprefix(head).split("; ")
            for name in part.partition(" with ")[2].split(", ")}  # fmt: skip
    decided = lw.decide(expression)
    assert said == {name: decided.answer(name, "visible") for name in ("nope", "alibi", "sinusoidal", "rope", "ape")}
    assert "Training may miss it, or go far without one." in rest
    assert f"what to do next: lengthwise predict {shlex.quote(expression)} (whether training finds it" in rest


@pytest.mark.parametrize(("expression", "columns"), [("(aa)*", 1), ("(a|b)*abb", 1), ("(a|b)*a", 2)])
def test_ends_that_have_the_same_answers_share_a_column(terminal: Terminal, expression: str, columns: int) -> None:
    out = terminal("decide", expression).out
    assert ("read at an end mark" in out) == (columns == 2)
    assert ("recognizes it, read at the last symbol, with" in out) == (columns == 2), "of two answers, whose it is"
    assert "Asked: is a whole word in the language?" in out
    assert forecasts.NEXT_SYMBOL in terminal("predict", expression).out.lower()


def test_the_table_names_fragments_encodings_and_reasons(terminal: Terminal) -> None:
    shown = terminal("decide", "(aa)*", "--end", "eos", "--why").out
    assert "C-RASP[periodic, local]" in shown
    assert "NoPE" in shown
    assert "no guarantee: no program exists" in shown
    assert "cannot learn" not in shown


def test_an_expression_that_begins_with_a_dash_is_no_option_in_the_next_command(terminal: Terminal) -> None:
    """What `decide` prints runs as it stands, and so does what that prints."""
    words = ["decide", "--", "-?d+(,-?d+)*"]
    for command in ("predict", "run"):
        (line,) = re.findall(rf"lengthwise {command} (.*?)(?: \\\n|$)", terminal(*words).out, flags=re.M)
        words = [command, *shlex.split(line)]
    assert terminal(*words, "--print-config").json()


def test_next_symbols_are_easier_than_membership(terminal: Terminal) -> None:
    found = terminal("decide", "(b|c)*ba", "--end", "next", "--json").json()
    assert found["fragments"]["none"]["next"] == {"verdict": "yes", "window": 1, "period": 1, "basis": "ours"}
    both = " ".join(terminal("decide", "(b|c)*ba").out.split())
    assert "For next symbols, which are easier, also yes with NoPE, sinusoidal, RoPE" in both
    assert "which are easier" not in terminal("decide", "(ab)*").out
    asked = " ".join(terminal("predict", "(b|c)*ba").out.split())
    assert "For membership theory says no with no positions (nope)" in asked, "where the two answers differ"
    assert "membership theory says" not in terminal("predict", "(ab)*").out
    assert terminal("decide", "(ab)*", "--end", "next", "--program").code == 2


def test_states_are_asked_for(terminal: Terminal) -> None:
    """At an end mark `(a|b)*a` needs a window, though not where its last symbol is visible."""
    found = terminal("decide", "(a|b)*a", "--end", "state", "--json").json()["fragments"]
    assert found["none"]["state"] == {"verdict": "no", "window": None, "period": None, "basis": "cited"}
    assert found["local"]["state"] == {"verdict": "yes", "window": 2, "period": 1, "basis": "proved"}
    decided = lw.decide("(a|b)*a", end="state")
    assert [decided.answer("nope"), decided.answer("alibi", "state")] == ["no", "yes"]
    assert lw.decide("(a|b)*a").answer("nope") == "yes"
    assert "state, also at an end mark" in terminal("decide", "(a|b)*a", "--end", "state").out
    assert terminal("decide", "(ab)*", "--end", "state", "--certificates", "x.json").code == 2
    with pytest.raises(UnknownNameError, match="end convention"):
        lw.decide("(ab)*", end="stat")


def test_the_margin_in_one_line(terminal: Terminal) -> None:
    for expression, growth in (("(ab)*", "1/n"), ("a*b*", "constant")):
        values = terminal("decide", expression, "--margin", "--json").json()["margin"]
        assert (values["growth"], values["end"], values["fragment"]) == (growth, "visible", "none")
        assert terminal("decide", expression, "--margin").out.splitlines()[-1] == f"margin: {values['line']}"
    assert terminal("decide", "Tomita-5", "--margin").out.splitlines()[-1] == "margin: no program, so none"
    last = terminal("decide", "regex:ab", "--margin").out.splitlines()[-1]
    assert last == "margin: none, since the language has no words of the lengths 50, 100, 200, 300"
    assert terminal("decide", "(ab)*", "--margin", "--end", "state").code == 2


@pytest.mark.parametrize("name", list(library.ENTRIES))
def test_a_printed_library_program_is_the_program(terminal: Terminal, name: str) -> None:
    assert parse(terminal("crasp", "print", name).out) == library.get(name)


def test_run_check_and_trace(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "more_ones.crasp"
    path.write_text("alphabet: a b\naccept := #a < #b\n")
    assert terminal("crasp", "run", path, "--word", "a b b").out == "accepted\n"
    assert terminal("crasp", "run", path, "--word", "ab").out == "rejected\n"
    assert terminal("crasp", "run", path, "--word", "", "--json").json() == {"word": [], "accepted": False}
    traced = terminal("crasp", "run", path, "--word", "a b b", "--trace", "--json").json()["trace"]
    assert traced["rows"][-1]["values"] == [False, False, False, True]
    facts = terminal("crasp", "check", path, "--json").json()
    assert (facts["fragment"], facts["depth"], facts["window"], facts["period"]) == ("none", 1, 1, 1)


def test_a_next_token_program_says_what_may_come(terminal: Terminal) -> None:
    assert terminal("crasp", "run", "sort", "--word", "c a <sep>", "--json").json()["next"] == ["a"]
    assert terminal("crasp", "run", "sort", "--word", "c a <sep>").out == "may come next: a\n"


def test_the_library_is_listed(terminal: Terminal) -> None:
    listed = terminal("crasp", "list", "--json").json()
    assert [entry["name"] for entry in listed] == list(library.ENTRIES)
    assert all(entry["definition"] and entry["source"] for entry in listed)
    assert "bin_majority" in terminal("crasp", "list").out


def test_learning_from_a_task_and_from_examples(terminal: Terminal, tmp_path: Path) -> None:
    learned = terminal("crasp", "learn", "bin_majority", "--answer", "1", "--json").json()
    program = parse(learned["program"])
    assert learned["smallest"] is True
    for word in ("1", "011", "0", "1100", "0001111"):
        assert bool(run(program, encode(program, [tuple(word)]))[0]) == (word.count("1") > len(word) / 2)
    path = tmp_path / "examples.jsonl"
    words = {"a": False, "b": True, "a b": True, "b a": False, "": False, "a a b": True, "b b a": False}
    path.write_text("".join(json.dumps({"prompt": word, "answer": label}) + "\n" for word, label in words.items()))
    program = parse(terminal("crasp", "learn", path, "--json").json()["program"])
    for word, label in words.items():
        assert bool(run(program, encode(program, [word.split()]))[0]) == label


@pytest.mark.parametrize(("expression", "finite"), [("[01][01]-[01]?", True), ("a?", True), ("a*", False)])
def test_a_finite_language_has_no_longer_words_to_ask_about(terminal: Terminal, expression: str, finite: bool) -> None:
    out = terminal("decide", expression).out
    assert ("The language is finite" in out) is finite
    assert ("what to do next" in out) is not finite
    assert terminal("predict", expression).code == 2 * finite
