"""``predict`` on a terminal: one screen, plain words, JSON, clear errors."""

from __future__ import annotations

import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import Terminal

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_task.py"
TARGETS = ["addition", "variable-assignment", "parity", "copy", "sort", "majority", "sparse-parity", "regex:(aa)*"]


@pytest.mark.parametrize("target", TARGETS)
def test_one_screen_without_overclaiming(terminal: Terminal, target: str) -> None:
    answer = terminal("predict", target, "--why")
    assert answer.code == 0
    answered, legend = terminal("predict", target).out.partition("More: --why")[0].rstrip().rsplit("\n\n", 1)
    screen, whole = answered.splitlines(), answer.out.splitlines()
    assert len(screen) + 1 + len(legend.splitlines()) <= 28
    for at in [i for i, line in enumerate(screen) if "more rows" in line]:
        count = int(re.fullmatch(r"  (\d+) more rows: --why", screen[at])[1])  # type: ignore[index]
        screen[at : at + 1] = whole[at : at + count]
        assert count >= 2, "one row is no longer than the line that would fold it"
    assert whole[: len(screen)] == screen, "the answer first, whose folded rows are there, then the why"
    assert "more rows" not in answer.out
    # The measure stands below the answer, on one line; the legend is behind --why.
    assert len(legend.splitlines()) == 1
    assert legend.lstrip() not in answer.out
    explained = re.findall(r"(\S+): ", legend)
    assert explained[0] == "right"
    assert all(word in answered for word in explained)
    parts = [line for line in whole[len(screen) :] if line and not line.startswith(" ")]
    of = " of next symbols" * target.startswith("regex:")
    assert parts == [f"theory{of}: does a program exist? (not: does training find it)", "measured", "numbers"]
    assert all(len(line) <= 80 for line in answer.out.splitlines())
    assert "cannot learn" not in answer.out
    assert "…" not in answered
    assert ("never a no" in answer.out.removeprefix(answered)) == (not of), "the legend of theory, without other words"
    assert "never a no" not in answered


def test_systems_with_one_reason_share_a_line(terminal: Terminal) -> None:
    assert "nope, ape, alibi," in terminal("predict", "addition", "--why").out


def test_the_wording_of_a_no(terminal: Terminal) -> None:
    out = terminal("predict", "parity", "--encoding", "ape", "--why").out
    assert "no guarantee" in out
    assert "no program exists for the even words" in " ".join(out.split())
    assert "what would help in theory: a scratchpad" in out


def test_certificates_are_printed_on_demand(terminal: Terminal) -> None:
    assert "certificate" not in terminal("predict", "sort", "--encoding", "nope", "--why").out
    out = terminal("predict", "sort", "--encoding", "nope", "--certificate").out
    assert "certificate (nope): program" in out
    assert "NEXT EOS" in out


def test_json(terminal: Terminal) -> None:
    found = terminal("predict", "addition", "--encoding", "ape", "--encoding", "coupled", "--json").json()
    assert [(v["system"], v["answer"], v["basis"]) for v in found["verdicts"]] == [
        ("ape", "no", "ours"),
        ("coupled+learned", "yes", "ours"),
    ]
    assert {row["scheme"]: len(row["span"]) for row in found["structure"]} == {"sequential": 4, "coupled": 4}
    assert len(found["caveats"]) == 5, "a yes and a no"


def test_selectors_have_a_span_of_their_own(terminal: Terminal) -> None:
    rows = terminal("predict", "sparse-parity", "--encoding", "coupled", "--json").json()["structure"]
    lines = [
        line.split() for line in terminal("predict", "sparse-parity", "--encoding", "coupled", "--why").out.splitlines()
    ]
    assert {row["scheme"] for row in rows} == {"sequential", "coupled"}
    for row in rows:
        name = ["span", "of", "selectors,", row["scheme"], "ids"]
        assert [*name, *map(str, row["selector_span"])] in lines
    assert not [line for line in terminal("predict", "addition", "--why").out.splitlines() if "of selectors" in line]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("additon",), "Did you mean 'addition'?"),
        (("addition", "--encoding", "ropee"), "unknown position system 'ropee'"),
        (("regex:(a",), "is never closed"),
        (("missing.crasp",), "missing.crasp"),
        (("missing.jsonl",), "missing.jsonl"),
    ],
)
def test_errors_are_one_line(terminal: Terminal, arguments: tuple[str, ...], message: str) -> None:
    answer = terminal("predict", *arguments, "--why")
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1


COMMANDS = (
    ("(aa)*", "nope"), ("(aa|b)*", "nope"), ("(a|b)*abb", "nope"), ("(aaa)*", "ape"), ("addition", "rope"),
    ("copy", "nope"), ("induction", "nope"), ("Tomita-4", "rope"), ("parity", "ape"), ("Dyck-1", "alibi"),
)  # fmt: skip


@pytest.mark.parametrize(("target", "encoding"), COMMANDS)
def test_every_printed_command_works_as_written(terminal: Terminal, target: str, encoding: str) -> None:
    """Those of `run` give a configuration with the lengths that were asked for; a probe is accepted up to its time."""
    out = terminal("predict", target, "--encoding", encoding, "--train", "12", "--test", "48").out
    whole = re.sub(r" \\\n *", " ", out)
    commands = [line for line in map(str.strip, whole.splitlines()) if line.startswith("lengthwise ")]
    assert commands
    for command in commands:
        words = shlex.split(command)[1:]
        if words[0] == "run":
            (system,) = terminal(*words, "--print-config").json()["systems"]
            experiment = system["experiment"]
            assert experiment["training"]["max_length"] == 12
            assert 36 < experiment["evaluation"]["lengths"][-1] <= 48
        else:
            assert words[0] in ("predict", "verify", "compare")
            assert terminal(words[0], "--help").code == 0
            flags = [word for word in words if word.startswith("--")]
            assert all(flag in terminal(words[0], "--help").out for flag in flags)


def test_in_a_second_and_a_half_of_a_core(tmp_path: Path) -> None:
    """Processor time, of a process that starts from nothing; twice the aim, as other work slows a core down."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "lengthwise", "predict", "(aa)*", "--encoding", "rope", "--train", "40"]
    done = subprocess.run([*command, "--test", "200"], cwd=tmp_path, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert re.match(
        r"UNLIKELY \(\d+ %, at most \d+ %\): \(aa\)\* with RoPE, trained to 40, is right at 200\n", done.stdout
    )
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime <= 3.0


def test_a_probe_needs_one_system_and_strings(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "p.crasp").write_text(terminal("crasp", "print", "majority").out)
    for words, says in (
        (["(ab)*", "--encoding", "nope", "--encoding", "rope"], "got nope, rope"),
        ([tmp_path / "p.crasp", "--encoding", "nope"], "has none"),
    ):
        answer = terminal("predict", *words, "--probe", "2m")
        assert answer.code == 2
        assert says in answer.err
        assert answer.err.count("\n") == 1


def test_why_names_all_systems_of_a_row_that_has_no_room_for_them(terminal: Terminal) -> None:
    words = ("predict", "parity", "--train", "10", "--test", "40")
    short = " ".join(terminal(*words).out.split())
    whole = " ".join(terminal(*words, "--why").out.split())
    (row,) = re.findall(r"\S+ and \d+ others?", short)
    named = re.findall(rf"{row}: ((?:\S+, )+\S+)", whole)
    assert len(named[0].split(", ")) == int(row.split()[2]) + 1
