"""`generate` extends a prompt with a next-token program, one allowed symbol at a time, until ``<eos>``."""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp.program.program import Program
from lengthwise.crasp.run.reference import Stepper, Value


def generate(program: Program, prompt: Sequence[str], *, limit: int = 10_000) -> list[str]:
    """The symbols that the program writes after ``prompt``, without ``<eos>``.

    Raises `LengthwiseError` when not exactly one symbol may come next, or after more than ``limit`` symbols.
    """
    require(program.is_next_token, "this program accepts or rejects; only a program with NEXT lines can generate")
    stepper = Stepper(program)
    values: list[Value] = []
    written: list[str] = []
    read = [*([BOS] if program.bos else []), *prompt]
    require(len(read) > 0, "a program without BOS needs a prompt of length >= 1")
    for symbol in read:
        if symbol not in program.symbols:
            raise LengthwiseError(f"{symbol!r} is not in the program's alphabet ({' '.join(program.alphabet)})")
        values = stepper.step(symbol)
    while len(written) <= limit:
        allowed = [symbol for symbol, index in program.next_token if values[index]]
        if len(allowed) != 1:
            found = " and ".join(allowed) or "no symbol"
            so_far = " ".join([*read, *written])
            raise LengthwiseError(f"after {so_far}, {found} may come next; generation needs exactly one")
        if allowed[0] == EOS:
            return written
        written.append(allowed[0])
        values = stepper.step(allowed[0])
    raise LengthwiseError(f"the program has not stopped after {limit} symbols; raise the limit")
