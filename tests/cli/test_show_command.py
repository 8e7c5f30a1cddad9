"""``list`` and ``show``: what they say is what the library knows, in a form that fits the terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from terminal import Terminal

from lengthwise.core.rng import stream
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES
from lengthwise.tasks import TASKS

OWN_TASK = '''
from lengthwise.core.config import config
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks import Task

@config
class Echo(Task):
    """Says [bold]one[/bold] symbol twice."""
    summary = "a symbol, twice"
    symbols: int = 3

    @property
    def vocab(self):
        return Vocab.of([f"[{i}]" for i in range(self.symbols)])

    def write(self, seq, layout, rng):
        seq.bos()
        symbol = rng.integers(self.symbols, size=seq.size) + 4
        first = seq.given(symbol, place=1)
        seq.predicted(symbol, place=1, parents=[first])
        seq.eos()

    def answer(self, prompt):
        if len(prompt) != 2 or prompt[1] not in self.vocab.tokens[4:]:
            raise ValueError("no symbol")
        return [prompt[1], EOS]
'''


def test_list_names_everything_that_is_registered(terminal: Terminal) -> None:
    listed = terminal("list", "--json").json()
    assert [entry["name"] for entry in listed["tasks"]] == list(TASKS)
    assert [entry["name"] for entry in listed["schemes"]] == list(SCHEMES)
    assert [entry["name"] for entry in listed["encodings"]] == [*ENCODINGS, "ape"]
    assert {"addition", "variable-assignment"} <= {entry["name"] for entry in listed["recipes"]}
    assert all(entry["summary"] for entries in listed.values() for entry in entries)


def test_the_settings_that_list_shows_are_the_ones_that_build(terminal: Terminal) -> None:
    for entry in terminal("list", "schemes", "--json").json()["schemes"]:
        built = SCHEMES.build(entry["name"])
        named = SCHEMES.aliases.get(entry["name"], {"name": entry["name"]})["name"]
        assert SCHEMES.describe(built) == {"name": named, **entry["settings"]}


def test_ape_is_a_learned_table_with_a_random_start(terminal: Terminal) -> None:
    (ape,) = [entry for entry in terminal("list", "encodings", "--json").json()["encodings"] if entry["name"] == "ape"]
    assert ENCODINGS.build(ape["alias"]["encoding"]) == ENCODINGS.build("learned")
    assert SCHEMES.build(ape["alias"]["scheme"]) == SCHEMES.build("sequential", random_start=True)


@pytest.mark.parametrize("task", list(TASKS))
def test_show_says_what_the_batch_holds(terminal: Terminal, task: str) -> None:
    scheme = "sequential" if len(task) % 2 else "coupled"
    length = TASKS.build(task).lengths(4, 9)[0]
    shown = terminal(
        "show", task, "--scheme", scheme, "--length", length, "--seed", 3, "--lengths", length, "--json"
    ).json()
    built = TASKS.build(task)
    batch = built.batch(length, 1, stream(3, "show", "task"))
    ids = SCHEMES.build(scheme).assign(batch.places, built.levels, stream(3, "show", "ids"))
    assert [token["token"] for token in shown["tokens"]] == batch.text(0)
    assert [token["places"] for token in shown["tokens"]] == batch.places[0].tolist()
    assert [token["ids"] for token in shown["tokens"]] == ids[0].tolist()
    assert [token["scored"] for token in shown["tokens"]] == batch.scored.tolist()
    for token, parents in zip(shown["tokens"], batch.parents[0], strict=True):
        assert set(token["parents"]) == {int(parent) for parent in parents if parent >= 0}


def test_span_of_addition_grows_under_plain_ids_and_not_under_coupled_ones(terminal: Terminal) -> None:
    structure = terminal("show", "addition", "--lengths", "5,20,100", "--json").json()["structure"]
    assert structure["sparsity"] == [5, 5, 5]
    assert structure["span"]["sequential"] == [12, 42, 202]
    assert structure["span"]["coupled"] == [1, 1, 1]


def test_selectors_have_a_span_of_their_own(terminal: Terminal) -> None:
    """Marks choose the parents of sparse parity: these share an id with what they predict, other bits do not."""
    structure = terminal("show", "sparse-parity", "--lengths", "5,20", "--json").json()["structure"]
    spans = [structure[key]["coupled"] for key in ("span", "span_selectors", "span_both")]
    assert spans == [[0, 0], [1, 1], [1, 1]]
    lines = terminal("show", "sparse-parity", "--lengths", "5,20").out.splitlines()
    under = lines.index(next(line for line in lines if line.startswith("span   ▸")))
    (own,) = [line.split() for line in lines[under : under + 4] if "of selectors" in line]
    assert own == ["of", "selectors", "1", "1"]
    assert "of selectors" not in terminal("show", "addition", "--lengths", "5,20").out


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("task", ["addition", "variable-assignment", "sparse-parity", "parity-scratchpad", "copy"])
def test_show_fits_the_terminal(terminal: Terminal, task: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    answer = terminal("show", task, "--length", "6", "--lengths", "3,6")
    assert answer.code == 0
    assert max(map(len, answer.out.splitlines())) <= width
    assert "\x1b" not in answer.out


def test_the_strip_holds_every_token_in_order(terminal: Terminal) -> None:
    answer = terminal("show", "addition", "--length", "12")
    tokens = re.findall(r"^token\s+(.*)$", answer.out, flags=re.MULTILINE)
    batch = TASKS.build("addition").batch(12, 1, stream(0, "show", "task"))
    assert " ".join(tokens).split() == batch.text(0)


def test_a_long_example_is_cut_unless_asked_for_in_full(terminal: Terminal) -> None:
    assert "36 more" in terminal("show", "addition", "--length", "50").out
    assert "more" not in terminal("show", "addition", "--length", "50", "--all").out


def test_show_runs_a_task_from_the_users_own_file(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "echo_task.py"
    path.write_text(OWN_TASK)
    answer = terminal("show", f"{path}:Echo", "--set", "symbols=2")
    assert answer.code == 0
    # Square brackets are the task's own, not the terminal library's markup.
    assert re.search(r"token\s+<bos>\s+(\[[01]\])\s+\1\s+<eos>", answer.out)
