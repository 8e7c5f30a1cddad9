"""Clocks that jump, words of a million symbols, and programs made to be hard to compile."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest

import lengthwise as lw
from lengthwise.core.errors import LengthwiseError
from lengthwise.crasp import interpreter, library
from lengthwise.crasp.syntax import parse
from lengthwise.languages.automaton import language
from lengthwise.models.compile import compile_program, verify
from lengthwise.tasks import TASKS

SOURCE = Path(lw.__file__).parent
WALL_CLOCK = {("time", "time"), ("time", "time_ns"), ("datetime", "now"), ("datetime", "utcnow"), ("date", "today")}
LONG = 1_000_000


def test_no_decision_reads_the_clock_on_the_wall() -> None:
    """A clock that is set anew must end no budget and no lease; it may only be written down."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
                owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                if (owner, node.attr) in WALL_CLOCK:
                    found.add(str(path.relative_to(SOURCE)))
    assert found <= {"experiments/provenance.py"}, "only provenance writes the time down"


@pytest.mark.parametrize("name", ["majority", "D-2", "Tomita-7"])
def test_a_word_of_a_million_symbols(name: str) -> None:
    program = library.get(name)
    started = time.process_time()
    ids = interpreter.encode(program, [program.alphabet[:1] * LONG])
    answer = interpreter.next_tokens(program, ids)[:, -1] if program.is_next_token else interpreter.run(program, ids)
    assert len(answer) == 1
    assert time.process_time() - started < 10


def test_an_automaton_reads_a_million_symbols() -> None:
    dfa = language("(ab)*")
    assert dfa.accepts("ab" * (LONG // 2))
    assert not dfa.accepts("ab" * (LONG // 2) + "a")


def counts(number: int) -> str:
    """Each definition counts where the one before it holds."""
    lines = [f"x{i} := #[x{i - 1}] <= #b" for i in range(1, number)]
    return "\n".join(["alphabet: a b", "x0 := #a <= #b", *lines, f"accept := x{number - 1}"])


def together(number: int) -> str:
    """One conjunction of many comparisons."""
    lines = [f"x{i} := #a + {i} <= #b" for i in range(number)]
    return "\n".join(["alphabet: a b", *lines, "accept := " + " and ".join(f"x{i}" for i in range(number))])


@pytest.mark.parametrize(
    "text",
    [
        counts(40),
        together(300),
        "alphabet: " + " ".join(f"s{i}" for i in range(1000)) + "\naccept := #s0 <= #s1",
        "alphabet: a b\naccept := " + " + ".join(["#a"] * 1000) + " <= #b",
        "alphabet: a b\nm0 := min(#a, #b)\n" + "".join(f"m{i} := max(m{i - 1}, #a - {i})\n" for i in range(1, 60))
        + "accept := m59 = 3",
        "alphabet: a b\naccept := #[i-j <= 60] Q_a = 3",
    ],
    ids=["deep", "wide", "letters", "terms", "min and max", "window"],
)  # fmt: skip
def test_large_programs_are_compiled_without_a_difference(text: str) -> None:
    program = parse(text)
    assert verify(program, compile_program(program).required(), words=1).wrong == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("accept := 1000000007 * #a <= #b", "beyond 268435456 a float64 comparison is no longer exact"),
        (f"accept := {'9' * 400} <= #b", "is no longer exact"),
        ("accept := i mod 1000003 = 1", "the modulus 1000003 exceeds 4096"),
        ("accept := #[i-j <= 100000] Q_a = 3", "a window of 100000 positions is too wide"),
        ("accept := " + "not " * 500 + "#a = 3", "nested more than 100 deep; name the inner parts"),
    ],
)
def test_programs_that_no_weights_are_exact_for_are_refused(text: str, says: str) -> None:
    with pytest.raises(LengthwiseError, match=says):
        compile_program(parse(f"alphabet: a b\n{text}")).required()


@pytest.mark.parametrize("name", [name for name in TASKS if TASKS.build(name).max_length() is None])
def test_an_example_that_is_too_large_is_refused_before_it_is_made(name: str) -> None:
    began = time.process_time()
    for ask in (lambda: lw.structure(name, lengths=[100_000]), lambda: lw.show(name, length=100_000)):
        with pytest.raises(LengthwiseError, match=r"length \d+ is too large for|has no instances of length"):
            ask()
    assert time.process_time() - began < 5
