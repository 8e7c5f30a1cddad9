"""C-RASP programs: read, run, measure, learn and compile them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core import config as arguments
from lengthwise.core.errors import require
from lengthwise.core.table import Table, Tabular

if TYPE_CHECKING:
    from lengthwise.crasp.interpreter import Trace
    from lengthwise.crasp.program import Program
    from lengthwise.models.compile import Compilation, CompilationCheck

MOST_WORDS, MOST_BITS = 100_000, 1000
SIZES = ("fragment", "window", "period", "depth", "size", "bos", "eos")


def read_program(source: str | Path | Program) -> Program:
    """A C-RASP program.

    Arguments:
        source: a program file, the name of a library program where no such file exists, or a program itself.

    Returns: the parsed program, with its ``fragment``, ``window``, ``period``, ``depth`` and ``size``.

    Raises: `LengthwiseError` for an unknown name (with a suggestion) and for text that can't be parsed.
    """
    from lengthwise.crasp import library
    from lengthwise.crasp.program import Program
    from lengthwise.crasp.syntax import load_program

    if isinstance(source, Program):
        return source
    file = str(source)
    looks_like_a_name = "/" not in file and "." not in file
    return library.get(file) if looks_like_a_name and not Path(file).exists() else load_program(file)


def program_facts(program: Program) -> dict[str, Any]:
    """Which fragment a program lies in, and how large and deep it is."""
    kind = "next token" if program.is_next_token else "acceptance"
    return {"alphabet": list(program.alphabet), "kind": kind, **{name: getattr(program, name) for name in SIZES}}


class ProgramRun(Tabular):
    """A program on one word: whether it accepts, or which symbols may come next, and its trace."""

    def __init__(self, program: Program, word: tuple[str, ...], accepted: bool | None, next: list[str] | None) -> None:
        self.program, self.word, self.accepted, self.next = program, word, accepted, next

    @property
    def trace(self) -> Trace:
        """The values of all definitions and countings at every position."""
        from lengthwise.crasp.interpreter import trace

        return trace(self.program, self.word)

    def table(self) -> Table:
        """One row per definition and counting, with its value at every position."""
        trace = self.trace
        rows = tuple((row.head, row.text, *row.values) for row in trace.rows)
        return Table(("name", "is", *trace.columns), rows, caption=" ".join(self.word))


def run_program(program: str | Path | Program, word: str) -> ProgramRun:
    """Run a C-RASP program on one word.

    Arguments:
        program: as of `read_program`.
        word: symbols with blanks between, such as ``"a a b"``; ``""`` is the empty word.

    Returns: ``accepted`` or, of a program for next tokens, ``next``; and the values of all definitions.

    Raises: `LengthwiseError` for a symbol that is not in the alphabet.
    """
    from lengthwise.core.vocab import EOS
    from lengthwise.crasp import interpreter

    built = read_program(program)
    symbols = interpreter.read_word(built, arguments.text("word", word))
    ids = interpreter.encode(built, [symbols])
    accepted = following = None
    if built.is_next_token:
        allowed = interpreter.next_tokens(built, ids)[0, -1]
        following = [s for s, may in zip((*built.alphabet, EOS), allowed, strict=True) if may]
    else:
        accepted = bool(interpreter.run(built, ids)[0])
    return ProgramRun(built, symbols, accepted, following)


class LearnedProgram(Tabular):
    """The smallest program that agrees with a target, or how far the search came."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.program: str | None = values["program"]

    def table(self) -> Table:
        """What the program accepts, its size, and how much was searched and checked."""
        return Table(("", "value"), tuple((key.replace("_", " "), str(value)) for key, value in self.values.items()))


def learn_program(
    target: str,
    *,
    answer: str | None = None,
    max_size: int = 7,
    periods: Sequence[int] = (),
    distances: Sequence[int] = (),
) -> LearnedProgram:
    """Find the smallest C-RASP program that agrees with a task or with labelled examples.

    Arguments:
        target: a task, ``"regex:EXPRESSION"``, or examples ``{"prompt": "a a b", "answer": true}`` in ``"FILE.jsonl"``.
        answer: which answer of a task the program decides.
        max_size: the largest size that is searched.
        periods: also use positions i ≡ r modulo each of these.
        distances: also use the symbol so many places back.

    Returns: the program as text, or None up to which size there is none.

    Raises: `LengthwiseError` for a target without labelled words.
    """
    from lengthwise.crasp.syntax import to_text
    from lengthwise.crasp.synthesis import synthesize
    from lengthwise.prediction.search import labelled_words

    words = labelled_words(arguments.text("target", target), answer)
    found = synthesize(
        words.labels, words.alphabet, max_size=max_size, periods=tuple(periods), distances=tuple(distances),
        members=words.members,
    )  # fmt: skip
    return LearnedProgram({
        "meaning": words.meaning,
        "program": None if found.program is None else to_text(found.program),
        "size": found.size,
        "smallest": found.smallest,
        "searched": found.searched,
        "exhausted_size": found.exhausted_size,
        "checked_words": found.checked,
    })  # fmt: skip


class CompiledProgram(Tabular):
    """The transformer of a program, and how it compared with the interpreter."""

    def __init__(
        self, program: Program, model: Any, context: int | None, compilation: Compilation, check: CompilationCheck
    ) -> None:
        self.program, self.model, self.context = program, model, context
        self.compilation, self.check = compilation, check

    @property
    def agrees(self) -> bool:
        """Whether model and interpreter were equal at every position of every word."""
        return self.check.agrees

    def table(self) -> Table:
        """Size, and words and values checked."""
        rows = tuple((key, str(value)) for key, value in self.to_json().items() if key not in ("operations", "heads"))
        return Table(("", "value"), rows)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        compilation, found = self.compilation, self.check
        return {
            "layers": compilation.layers,
            "attention_layers": compilation.attention_layers,
            "heads": [list(names) for names in compilation.heads],
            "width": self.model.width,
            "context": self.context,
            "added_bos": compilation.added_bos,
            "operations": [dataclasses.asdict(cost) for cost in compilation.operations],
            "verified": {"words": found.words, "values": found.values, "wrong": found.wrong},
            "mismatches": [dataclasses.asdict(mismatch) for mismatch in found.mismatches],
        }

    def save(self, path: str | Path) -> Path:
        """Write the weights as ``.safetensors`` with the program's text; returns the path."""
        from lengthwise.crasp.syntax import to_text
        from lengthwise.models.limit import save_theory

        save_theory(self.model, Path(path), source=to_text(self.program))
        return Path(path)


def compile_program(
    program: str | Path | Program, *, context: int | None = None, precision: int | None = None, verify: int = 100
) -> CompiledProgram:
    """Compile a C-RASP program to a Limit Transformer, and compare the two at every position.

    Arguments:
        program: as of `read_program`.
        context: make the finite transformer of so many positions instead.
        precision: round logits and exponentials to so many fractional bits.
        verify: random words to check at each long length, besides all short ones.

    Returns: the model and the comparison.

    Raises: `LengthwiseError` for numbers out of range, and for a program that can't be compiled.
    """
    require(0 <= verify <= MOST_WORDS, f"`verify` must be in 0..{MOST_WORDS}, got {verify}")
    fine = precision is None or 1 <= precision <= MOST_BITS
    require(fine, f"`precision` must be in 1..{MOST_BITS} bits, got {precision}")
    from lengthwise.models.compile import compile_program as compiled
    from lengthwise.models.compile import verify as checked
    from lengthwise.models.compile import verify_finite
    from lengthwise.models.limit import finite_version

    built = read_program(program)
    compilation = compiled(built, precision=precision)
    limit = compilation.required()
    if context is None:
        return CompiledProgram(built, limit, None, compilation, checked(built, limit, words=verify))
    model = finite_version(limit, context)
    return CompiledProgram(built, model, context, compilation, verify_finite(built, model, words=verify))
