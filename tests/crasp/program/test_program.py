import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.crasp.program import (
    And,
    Compare,
    Constant,
    Count,
    Linear,
    Periodic,
    Program,
    ProgramBuilder,
    Symbol,
    Top,
)


def test_equal_operations_are_written_once() -> None:
    build = ProgramBuilder("ab")
    assert build.symbol("a") == build.symbol("a")
    assert build.linear([(1, build.count(0)), (1, build.count(0))]) == build.linear([(2, build.count(0))])


def test_linear_forms_are_normal() -> None:
    build = ProgramBuilder("ab")
    count = build.count(build.symbol("a"))
    assert build.linear([(1, count)]) == count
    assert build.operations[build.sub(count, count)] == Constant(0)
    assert build.operations[build.linear([(2, count), (3, build.constant(4))], 1)] == Linear(((2, count),), 13)


def test_connectives_of_few_operands() -> None:
    build = ProgramBuilder("a")
    assert build.operations[build.all_of([])] == Top()
    assert build.all_of([build.symbol("a")] * 2) == build.symbol("a")


def test_measures_of_a_nested_program() -> None:
    build = ProgramBuilder("ab")
    before = build.exists(build.symbol("a"), [1, 2])
    twice = build.exists(build.all_of([before, build.periodic(1, 4), build.periodic(0, 6)]), [3])
    program = build.accept(build.compare(build.count(twice), ">=", build.constant(2)))
    assert (program.depth, program.window, program.period, program.fragment) == (3, 6, 12, "ape")
    # Q_a, two countings, two comparisons, two periodic atoms, one conjunction of three, one counting, one comparison
    assert program.size == 1 + 2 + 2 + 2 + 2 + 1 + 1


@pytest.mark.parametrize(
    ("differences", "modulus", "fragment"),
    [(None, 1, "none"), ((0,), 1, "none"), ((1,), 1, "local"), (None, 2, "periodic"), ((0, 3), 5, "ape")],
)
def test_smallest_fragment(differences: tuple[int, ...] | None, modulus: int, fragment: str) -> None:
    build = ProgramBuilder("a")
    seen = build.exists(build.symbol("a"), differences)
    assert build.accept(build.all_of([seen, build.periodic(0, modulus)])).fragment == fragment


def test_names_do_not_depend_on_the_order_of_naming() -> None:
    operations = (Symbol("a"), Symbol("b"))
    one = Program(("a", "b"), operations, accept=1, names=(("x", 1), ("y", 0)))
    assert one == Program(("a", "b"), operations, accept=1, names=(("y", 0), ("x", 1)))


@pytest.mark.parametrize(
    ("operations", "accept", "message"),
    [
        ((Symbol("c"),), 0, "'c' is not a symbol"),
        ((Symbol("<eos>"),), 0, "'<eos>' is not a symbol"),
        ((Symbol("a"), Count(0)), 1, "output 1 is a count"),
        ((Symbol("a"), Symbol("a")), 1, "two operations are equal"),
        ((Symbol("a"), And((0, 1))), 1, "names operation 1, which is not an earlier one"),
        ((Symbol("a"), And((0,))), 1, "at least two operands"),
        ((Symbol("a"), Count(0), And((0, 1))), 2, "needs a Boolean, but operation 1 is a count"),
        ((Symbol("a"), Constant(1), Compare(0, "<=", 1)), 2, "needs a count, but operation 0 is a Boolean"),
        ((Periodic(2, 2),), 0, "residue < modulus"),
        ((Symbol("a"), Count(0, (2, 1))), 0, "sorted"),
        ((Symbol("a"), Count(0, ())), 0, "at least one"),
        ((Symbol("a"), Count(0), Linear(((1, 1),))), 0, r"1 · C \+ 0 is C"),
        ((Symbol("a"), Constant(2), Linear(((2, 1),))), 0, "add constants to the constant"),
        ((Symbol("a"),), None, "either an acceptance condition or NEXT"),
        ((Symbol("a"),), 7, "output 7 is not an operation"),
    ],
)
def test_ill_formed_programs_are_refused(operations: tuple, accept: int | None, message: str) -> None:
    with pytest.raises(LengthwiseError, match=message):
        Program(("a", "b"), operations, accept=accept)


def test_next_token_conditions_come_in_the_order_of_the_alphabet() -> None:
    build = ProgramBuilder("ab")
    top = build.top()
    program = build.next_token({"<eos>": top, "b": top, "a": top})
    assert [symbol for symbol, _ in program.next_token] == ["a", "b", "<eos>"]
    with pytest.raises(LengthwiseError, match="not in the alphabet"):
        build.next_token({"z": top})
