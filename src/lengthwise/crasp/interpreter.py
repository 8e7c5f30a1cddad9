"""Runs programs on many words at once, shows a run step by step, and generates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp import program as op
from lengthwise.crasp.program import Count, Program
from lengthwise.crasp.syntax import expressions, statements

_CACHE_ELEMENTS = 1 << 16
"""Positions per piece: several 16-bit arrays of this size fit in a core's cache."""

_RELATIONS = {"<=": np.less_equal, "<": np.less, "=": np.equal, ">=": np.greater_equal, ">": np.greater}


def read_word(program: Program, text: str) -> tuple[str, ...]:
    """Parse a typed word: symbols separated by blanks, or by nothing if all symbols are single characters.

    >>> from lengthwise.crasp import library
    >>> read_word(library.get("D-2"), "aab"), read_word(library.get("sort"), "c a <sep>")
    (('a', 'a', 'b'), ('c', 'a', '<sep>'))
    """
    parts = text.split()
    if len(parts) == 1 and parts[0] not in program.alphabet and all(len(symbol) == 1 for symbol in program.alphabet):
        return tuple(parts[0])
    return tuple(parts)


def encode(program: Program, words: Sequence[Sequence[str]]) -> Int[ndarray, "B n"]:
    """Words of one length as ids, the indices of their symbols in the alphabet; end marks are not included.

    Raises `LengthwiseError` for words of different lengths and for symbols outside the alphabet.
    """
    ids = {symbol: index for index, symbol in enumerate(program.alphabet)}
    lengths = {len(word) for word in words}
    require(len(lengths) == 1, f"the words of a batch have one length, got lengths {sorted(lengths)}")
    try:
        return np.array([[ids[symbol] for symbol in word] for word in words], dtype=np.int64).reshape(len(words), -1)
    except KeyError as error:
        raise LengthwiseError(
            f"{error.args[0]!r} is not in the program's alphabet ({' '.join(program.alphabet)}); "
            "write the word with symbols of the alphabet only"
        ) from None


def run(program: Program, words: Int[ndarray, "B n"]) -> Bool[ndarray, " B"]:
    """Whether each word (ids, see `encode`) is accepted.

    Raises `LengthwiseError` for a next-token program, for ids outside the alphabet, and for words of length 0 when the
    program declares no end mark.
    """
    if program.accept is None:
        raise LengthwiseError("this is a next-token program: it accepts nothing; ask for its next tokens instead")
    accepted = np.empty(len(words), dtype=np.bool_)
    for rows, values in _pieces(program, words, (program.accept,)):
        accepted[rows] = values[program.accept][:, -1]
    return accepted


def next_tokens(program: Program, words: Int[ndarray, "B n"]) -> Bool[ndarray, "B P V"]:
    """Which symbols may come next at each of the P positions; the V columns are the alphabet, then ``<eos>``.

    P is n, or n + 1 with BOS at position 1. Raises `LengthwiseError` for a program with an acceptance condition.
    """
    require(program.is_next_token, "this program accepts or rejects; only a program with NEXT lines has next tokens")
    columns = {symbol: column for column, symbol in enumerate((*program.alphabet, EOS))}
    allowed = np.zeros((len(words), _positions(program, words), len(columns)), dtype=np.bool_)
    for rows, values in _pieces(program, words, program.outputs):
        for symbol, index in program.next_token:
            allowed[rows, :, columns[symbol]] = values[index]
    return allowed


def evaluate_all(program: Program, words: Int[ndarray, "B n"]) -> list[ndarray]:
    """The values of every operation at all P positions, one array ``[B, P]`` (bool or integer) per operation."""
    every = tuple(range(len(program.operations)))
    pieces = [values for _, values in _pieces(program, words, every)]
    return [np.concatenate([values[index] for values in pieces]) for index in every]


def bounds(program: Program, positions: int) -> list[int]:
    """For each operation a bound on its values and intermediate results on words of ``positions`` positions."""
    bound: list[int] = []
    for operation in program.operations:
        match operation:
            case op.Constant(value):
                bound.append(abs(value))
            case op.Count(_, differences):
                bound.append(positions if differences is None else len(differences))
            case op.Linear(terms, constant):
                bound.append(sum(abs(factor) * max(1, bound[index]) for factor, index in terms) + abs(constant))
            case op.Conditional(_, left, right) | op.Min(left, right) | op.Max(left, right):
                bound.append(max(bound[left], bound[right]))
            case _:
                bound.append(1)
    return bound


def _pieces(
    program: Program, words: Int[ndarray, "B n"], wanted: tuple[int, ...]
) -> Iterator[tuple[slice, dict[int, ndarray]]]:
    """Run the program piece by piece; yield the rows and the values ``[R, P]`` of the wanted operations."""
    positions = _positions(program, words)
    order = program.needed(wanted)
    last_use = {operand: index for index in order for operand in program.operations[index].operands}
    # Beyond 64 bits Python's own integers: slow, but never wrong.
    exact = (np.int16, np.int32, np.int64)
    dtypes = [next((d for d in exact if bound <= np.iinfo(d).max), object) for bound in bounds(program, positions)]
    height = max(1, _CACHE_ELEMENTS // positions)
    for start in range(0, max(1, len(words)), height):
        rows = slice(start, start + height)
        marked = _with_marks(program, words[rows])
        values: dict[int, ndarray] = {}
        for index in order:
            operation = program.operations[index]
            values[index] = _value(operation, dtypes[index], values, marked, program)
            for operand in set(operation.operands):
                if last_use[operand] == index and operand not in wanted:
                    del values[operand]  # free it early, so that live values stay in the cache
        yield rows, {index: np.broadcast_to(values[index], marked.shape) for index in wanted}


def _value(
    operation: op.Operation, dtype: Any, values: dict[int, ndarray], words: Int[ndarray, "R P"], program: Program
) -> ndarray:
    """One operation at all positions, as an array that broadcasts to [R, P]."""
    match operation:
        case op.Symbol(symbol):
            return words == program.symbols.index(symbol)
        case op.Top():
            return np.ones((1, words.shape[1]), dtype=np.bool_)
        case op.Periodic(residue, modulus):
            # A modulus or residue beyond the number of positions may be too large for numpy.
            index = np.arange(1, words.shape[1] + 1)
            phase = index % modulus if modulus <= len(index) else index
            return (phase == residue if residue <= len(index) else np.zeros_like(index, dtype=np.bool_))[None, :]
        case op.Not(operand):
            return np.logical_not(values[operand])
        case op.And(operands):
            return reduce(np.logical_and, [values[index] for index in operands])
        case op.Or(operands):
            return reduce(np.logical_or, [values[index] for index in operands])
        case op.Compare(left, relation, right):
            compared = _RELATIONS[relation](values[left], values[right])
            return np.broadcast_to(compared, (1, words.shape[1])) if compared.shape == (1, 1) else compared
        case op.Count(operand, None):
            return np.cumsum(values[operand], axis=1, dtype=dtype)
        case op.Count(operand, differences):
            held, counts = values[operand], np.zeros(values[operand].shape, dtype=dtype)
            for difference in differences or ():
                if difference < held.shape[1]:
                    counts[:, difference:] += held[:, : held.shape[1] - difference]
            return counts
        case op.Constant(value):
            return np.array([[value]], dtype=dtype)
        case op.Linear(terms, constant):
            return _linear([(factor, values[index]) for factor, index in terms], constant, dtype)
        case op.Conditional(condition, then, otherwise):
            return np.where(values[condition], values[then], values[otherwise])
        case op.Min(left, right):
            return np.minimum(values[left], values[right])
        case op.Max(left, right):
            return np.maximum(values[left], values[right])
        case _:
            raise TypeError(f"unknown operation {operation!r}")


def _linear(terms: list[tuple[int, ndarray]], constant: int, dtype: Any) -> ndarray:
    def scaled(factor: int, values: ndarray) -> ndarray:
        return values.astype(dtype, copy=False) if factor == 1 else np.multiply(values, factor, dtype=dtype)

    total = scaled(*terms[0])
    for factor, values in terms[1:]:
        minus = factor == -1
        total = (np.subtract if minus else np.add)(total, values if minus else scaled(factor, values), dtype=dtype)
    return np.add(total, constant, dtype=dtype) if constant else total


def _positions(program: Program, words: ndarray) -> int:
    """P = n + BOS + EOS; raises `LengthwiseError` for a malformed batch."""
    if words.ndim != 2 or words.dtype.kind not in "iu":
        raise LengthwiseError(f"words have to be an integer array [B, n], got shape {words.shape} of {words.dtype}")
    if words.size and not (words.min() >= 0 and words.max() < len(program.alphabet)):
        raise LengthwiseError(f"ids run from 0 to {len(program.alphabet) - 1}, got {words.min()} to {words.max()}")
    positions = words.shape[1] + program.bos + program.eos
    require(positions > 0, "a program without BOS reads words of length >= 1; declare bos: true to read the empty word")
    return positions


def _with_marks(program: Program, words: Int[ndarray, "R n"]) -> Int[ndarray, "R P"]:
    dtype = np.min_scalar_type(len(program.symbols))
    marked = np.empty((len(words), words.shape[1] + program.bos + program.eos), dtype=dtype)
    marked[:, program.bos : program.bos + words.shape[1]] = words
    if program.bos:
        marked[:, 0] = program.symbols.index(BOS)
    if program.eos:
        marked[:, -1] = program.symbols.index(EOS)
    return marked


class TraceRow(NamedTuple):
    """One operation: its name, ``accept`` or ``NEXT a`` (or None), its expression, its value per position."""

    head: str | None
    text: str
    values: tuple[bool | int, ...]

    def cells(self) -> list[str]:
        """The row as text; a true Boolean is ``✓``, a false one ``·``."""
        label = self.text if self.head is None else f"{self.head} := {self.text}"
        return [label, *(("·", "✓")[value] if isinstance(value, bool) else str(value) for value in self.values)]


@dataclass(frozen=True)
class Trace:
    """``columns`` holds the symbols at the positions 1..P, end marks included.

    ``accepted`` is None for a next-token program.
    """

    columns: tuple[str, ...]
    rows: tuple[TraceRow, ...]
    accepted: bool | None

    def __str__(self) -> str:
        from tabulate import tabulate

        table = [
            ["i", *map(str, range(1, len(self.columns) + 1))],
            ["symbol", *self.columns],
            *(row.cells() for row in self.rows),
        ]
        align = ["left", *["right"] * len(self.columns)]
        return tabulate(table, tablefmt="plain", colalign=align, disable_numparse=True)


def trace(program: Program, word: Sequence[str], *, every: bool = False) -> Trace:
    """Run ``program`` on one word; keep definitions, outputs and countings, or with ``every`` all operations.

    Raises `LengthwiseError` for symbols outside the alphabet.
    """
    values = [row[0].tolist() for row in evaluate_all(program, encode(program, [word]))]
    heads = {statement.index: statement.head for statement in statements(program)}
    rows: list[TraceRow] = []
    for index, text in enumerate(expressions(program)):
        if every or index in heads or isinstance(program.operations[index], Count):
            head = heads.get(index)
            rows.append(TraceRow(None if head == f"_{index}" else head, text, tuple(values[index])))
    columns = (*([BOS] if program.bos else []), *word, *([EOS] if program.eos else []))
    return Trace(columns, tuple(rows), None if program.accept is None else bool(values[program.accept][-1]))


def generate(program: Program, prompt: Sequence[str], *, limit: int = 10_000) -> list[str]:
    """The symbols that the program writes after ``prompt``, without ``<eos>``.

    Raises `LengthwiseError` when not exactly one symbol may come next, or after more than ``limit`` symbols.
    """
    require(program.is_next_token, "this program accepts or rejects; only a program with NEXT lines can generate")
    require(program.bos or len(prompt) > 0, "a program without BOS needs a prompt of length >= 1")
    symbols, read = (*program.alphabet, EOS), encode(program, [prompt])
    for _ in range(limit + 1):
        allowed = np.flatnonzero(next_tokens(program, read)[0, -1])
        if len(allowed) != 1:
            found = " and ".join(symbols[number] for number in allowed) or "no symbol"
            so_far = " ".join([*[BOS] * program.bos, *(symbols[number] for number in read[0])])
            raise LengthwiseError(f"after {so_far}, {found} may come next; generation needs exactly one")
        if symbols[allowed[0]] == EOS:
            return [symbols[number] for number in read[0, len(prompt) :]]
        read = np.append(read, allowed[None], axis=1)
    raise LengthwiseError(f"the program has not stopped after {limit} symbols; raise the limit")
