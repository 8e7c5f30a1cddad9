import numpy as np
from hypothesis import given, settings

from crasp.random_programs import programs
from lengthwise.crasp.interpreter import next_tokens, run
from lengthwise.crasp.program import Program, ProgramBuilder
from lengthwise.crasp.syntax import in_reading_order, to_text


@settings(max_examples=200, deadline=None)
@given(programs)
def test_renumbering_keeps_the_meaning_and_drops_what_is_not_read(program: Program) -> None:
    ordered = in_reading_order(program)
    words = np.random.default_rng(0).integers(len(program.alphabet), size=(4, 6))
    read = next_tokens if program.is_next_token else run
    assert (read(ordered, words) == read(program, words)).all()
    assert len(ordered.operations) <= len(program.operations)
    assert [name for name, _ in ordered.names] != [] or not program.names
    assert in_reading_order(ordered) == ordered
    used = {operand for operation in ordered.operations for operand in operation.operands}
    roots = {index for _, index in ordered.names} | set(ordered.outputs)
    assert used | roots == set(range(len(ordered.operations)))


def test_the_text_is_what_a_person_would_write() -> None:
    build = ProgramBuilder("ab")
    b, a, zero = build.symbol("b"), build.symbol("a"), build.constant(0)
    program = build.accept(build.compare(build.sub(build.count(a), build.count(b)), "<=", zero))
    assert to_text(in_reading_order(program)).endswith("\naccept := #a - #b <= 0\n")
