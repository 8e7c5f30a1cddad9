import pytest
from hypothesis import given, settings

from crasp.random_programs import programs, random_program
from lengthwise.crasp.program import Linear, Program, ProgramBuilder, Symbol
from lengthwise.crasp.syntax import expressions, parse, statements, to_text


@settings(max_examples=300, deadline=None)
@given(programs)
def test_parsing_what_is_printed_gives_the_program_back(program: Program) -> None:
    assert parse(to_text(program)) == program


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(programs)
def test_parsing_what_is_printed_gives_10_000_programs_back(program: Program) -> None:
    assert parse(to_text(program)) == program


@pytest.mark.parametrize("seed", range(20))
def test_large_programs_come_back(seed: int) -> None:
    program = random_program(seed, 600)
    assert parse(to_text(program)) == program


def test_shared_parts_are_printed_once() -> None:
    # Written as an expression tree, the last of these sums would have 2^60 leaves.
    build = ProgramBuilder("ab")
    total = build.count(build.symbol("a"))
    for _ in range(60):
        total = build.add(Linear(((1, build.minimum(total, build.constant(9))), (1, total)), 1))
    program = build.accept(build.compare(total, ">=", build.constant(3)))
    text = to_text(program)
    assert len(text) < 5_000
    assert parse(text) == program


def test_any_numbering_can_be_printed() -> None:
    program = Program(("a", "b"), (Symbol("b"), Symbol("a")), accept=0)
    assert parse(to_text(program)) == program


@pytest.mark.parametrize(
    "line",
    [
        "accept := not (Q_a or Q_b) and #a >= 1",
        "accept := 3 - #a <= 2 * #b - 1",
        "accept := exists[j = i-1] Q_a",
        "accept := #[i-j <= 2] Q_a = #[i-j in {1, 3}] (Q_a and Q_b)",
        "accept := (Q_a ? #a : max(#b, 2)) < -4",
        "accept := i mod 3 = 1 and BOS or false",
    ],
)
def test_lines_are_printed_as_people_write_them(line: str) -> None:
    text = f"alphabet: a b\nbos: true\n\n{line}\n"
    assert to_text(parse(text)) == text


def test_an_operation_alone_is_printed_with_the_names_of_others() -> None:
    program = parse("alphabet: a b\nd := #a - #b\naccept := #[d < 0] = 0 and d = 0")
    assert program.accept is not None
    assert expressions(program)[program.accept] == "#[d < 0] = 0 and d = 0"
    assert [statement.head for statement in statements(program)] == ["d", "accept"]
