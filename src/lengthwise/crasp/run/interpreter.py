"""The fast interpreter: one program on a batch of words of one length, all positions of an operation at once.

Counts are cumulative sums in the smallest integer type that a bound proves safe; a batch is cut into pieces that stay
in the cache. The obvious interpreter that the tests compare with is in ``reference.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp.program.operations import (
    And,
    Compare,
    Conditional,
    Constant,
    Count,
    Linear,
    Max,
    Min,
    Not,
    Operation,
    Or,
    Periodic,
    Symbol,
    Top,
)
from lengthwise.crasp.program.program import Program

_CACHE_ELEMENTS = 1 << 16
"""Positions per piece: a handful of live 16-bit arrays of this size fit in a core's cache."""

_RELATIONS = {"<=": np.less_equal, "<": np.less, "=": np.equal, ">=": np.greater_equal, ">": np.greater}


def read_word(program: Program, text: str) -> tuple[str, ...]:
    """A word as people type it: symbols with blanks between them, or without where all symbols are single characters.

    >>> from lengthwise.crasp import library
    >>> read_word(library.get("D-2"), "aab"), read_word(library.get("sort"), "c a <sep>")
    (('a', 'a', 'b'), ('c', 'a', '<sep>'))
    """
    parts = text.split()
    if len(parts) == 1 and parts[0] not in program.alphabet and all(len(symbol) == 1 for symbol in program.alphabet):
        return tuple(parts[0])
    return tuple(parts)


def encode(program: Program, words: Sequence[Sequence[str]]) -> Int[ndarray, "B n"]:
    """Words of one length as ids: the places of their symbols in the alphabet. End marks are not written."""
    ids = {symbol: index for index, symbol in enumerate(program.alphabet)}
    lengths = {len(word) for word in words}
    require(len(lengths) == 1, f"the words of a batch have one length, got lengths {sorted(lengths)}")
    for word in words:
        for symbol in word:
            if symbol not in ids:
                raise LengthwiseError(
                    f"{symbol!r} is not in the program's alphabet ({' '.join(program.alphabet)}); "
                    "write the word with symbols of the alphabet only"
                )
    return np.array([[ids[symbol] for symbol in word] for word in words], dtype=np.int64).reshape(len(words), -1)


def run(program: Program, words: Int[ndarray, "B n"]) -> Bool[ndarray, " B"]:
    """Whether each word is accepted: the value of the last Boolean at the last position.

    ``words`` holds ids (`encode`). Raises `LengthwiseError` for a next-token program, for ids outside of the alphabet,
    and for words of length 0 when the program has no end mark to read them at.
    """
    if program.accept is None:
        raise LengthwiseError("this is a next-token program: it accepts nothing; ask for its next tokens instead")
    accepted = np.empty(len(words), dtype=np.bool_)
    for rows, values, positions in _pieces(program, words, (program.accept,)):
        accepted[rows] = _full(values[program.accept], len(accepted[rows]), positions)[:, -1]
    return accepted


def next_tokens(program: Program, words: Int[ndarray, "B n"]) -> Bool[ndarray, "B P V"]:
    """Which symbols may come next at each of the P positions; V runs through the alphabet, then ``<eos>``.

    P is n, or n + 1 with BOS at position 1. Raises `LengthwiseError` for a program that accepts or rejects.
    """
    require(program.is_next_token, "this program accepts or rejects; only a program with NEXT lines has next tokens")
    columns = {symbol: column for column, symbol in enumerate((*program.alphabet, EOS))}
    allowed = np.zeros((len(words), _positions(program, words), len(columns)), dtype=np.bool_)
    for rows, values, positions in _pieces(program, words, program.outputs):
        for symbol, index in program.next_token:
            allowed[rows, :, columns[symbol]] = _full(values[index], len(allowed[rows]), positions)
    return allowed


def evaluate_all(program: Program, words: Int[ndarray, "B n"]) -> list[ndarray]:
    """The values of every operation at all P positions, one array ``[B, P]`` (bool or integer) per operation."""
    every = tuple(range(len(program.operations)))
    pieces: list[list[ndarray]] = [[] for _ in every]
    for rows, values, positions in _pieces(program, words, every):
        height = len(range(*rows.indices(len(words))))
        for index in every:
            pieces[index].append(_full(values[index], height, positions))
    return [np.concatenate(piece) for piece in pieces]


def bounds(program: Program, positions: int) -> list[int]:
    """For each operation a number that no value of it, nor any step of computing it, exceeds at that many positions."""
    bound: list[int] = []
    for operation in program.operations:
        match operation:
            case Constant(value):
                bound.append(abs(value))
            case Count(_, differences):
                bound.append(positions if differences is None else len(differences))
            case Linear(terms, constant):
                bound.append(sum(abs(factor) * max(1, bound[index]) for factor, index in terms) + abs(constant))
            case Conditional(_, left, right) | Min(left, right) | Max(left, right):
                bound.append(max(bound[left], bound[right]))
            case _:
                bound.append(1)
    return bound


def _pieces(
    program: Program, words: Int[ndarray, "B n"], wanted: tuple[int, ...]
) -> Iterator[tuple[slice, dict[int, ndarray], int]]:
    """Runs the program piece by piece; yields the rows, the values of the wanted operations and the positions."""
    positions = _positions(program, words)
    order = _needed(program, wanted)
    last_use = {operand: index for index in order for operand in program.operations[index].operands}
    dtypes = [_dtype(bound) for bound in bounds(program, positions)]
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
                    del values[operand]  # free early: what is dead would push what is live out of the cache
        yield rows, values, positions


def _value(
    operation: Operation, dtype: Any, values: dict[int, ndarray], words: Int[ndarray, "R P"], program: Program
) -> ndarray:
    """One operation at all positions, as an array that broadcasts to [R, P]."""
    match operation:
        case Symbol(symbol):
            return words == program.symbols.index(symbol)
        case Top():
            return np.ones((1, words.shape[1]), dtype=np.bool_)
        case Periodic(residue, modulus):
            # A number that a position cannot reach may be too large for numpy.
            index = np.arange(1, words.shape[1] + 1)
            phase = index % modulus if modulus <= len(index) else index
            return (phase == residue if residue <= len(index) else np.zeros_like(index, dtype=np.bool_))[None, :]
        case Not(operand):
            return np.logical_not(values[operand])
        case And(operands):
            return _fold(np.logical_and, [values[index] for index in operands])
        case Or(operands):
            return _fold(np.logical_or, [values[index] for index in operands])
        case Compare(left, relation, right):
            compared = _RELATIONS[relation](values[left], values[right])
            return np.broadcast_to(compared, (1, words.shape[1])) if compared.shape == (1, 1) else compared
        case Count(operand, None):
            return np.cumsum(values[operand], axis=1, dtype=dtype)
        case Count(operand, differences):
            return _count_nearby(values[operand], differences or (), dtype)
        case Constant(value):
            return np.array([[value]], dtype=dtype)
        case Linear(terms, constant):
            return _linear([(factor, values[index]) for factor, index in terms], constant, dtype)
        case Conditional(condition, then, otherwise):
            return np.where(values[condition], values[then], values[otherwise])
        case Min(left, right):
            return np.minimum(values[left], values[right])
        case Max(left, right):
            return np.maximum(values[left], values[right])
        case _:
            raise TypeError(f"unknown operation {operation!r}")


def _fold(connective: np.ufunc, operands: list[ndarray]) -> ndarray:
    result = connective(operands[0], operands[1])
    for operand in operands[2:]:
        result = connective(result, operand)
    return result


def _count_nearby(held: Bool[ndarray, "R P"], differences: tuple[int, ...], dtype: Any) -> ndarray:
    counts = np.zeros(held.shape, dtype=dtype)
    for difference in differences:
        if difference < held.shape[1]:
            counts[:, difference:] += held[:, : held.shape[1] - difference]
    return counts


def _linear(terms: list[tuple[int, ndarray]], constant: int, dtype: Any) -> ndarray:
    def scaled(factor: int, values: ndarray) -> ndarray:
        return values.astype(dtype, copy=False) if factor == 1 else np.multiply(values, factor, dtype=dtype)

    factor, values = terms[0]
    total = scaled(factor, values)
    for factor, values in terms[1:]:
        if factor == -1:
            total = np.subtract(total, values, dtype=dtype)
        else:
            total = np.add(total, scaled(factor, values), dtype=dtype)
    return np.add(total, constant, dtype=dtype) if constant else total


def _dtype(bound: int) -> Any:
    for dtype in (np.int16, np.int32, np.int64):
        if bound <= np.iinfo(dtype).max:
            return dtype
    return object  # Python's own integers: slow, but never wrong


def _needed(program: Program, wanted: tuple[int, ...]) -> list[int]:
    """The wanted operations and all that they read, in order."""
    needed = set(wanted)
    for index in range(len(program.operations) - 1, -1, -1):
        if index in needed:
            needed.update(program.operations[index].operands)
    return sorted(needed)


def _positions(program: Program, words: ndarray) -> int:
    """P = n + BOS + EOS, after the checks that a batch needs."""
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


def _full(values: ndarray, rows: int, positions: int) -> ndarray:
    return np.broadcast_to(values, (rows, positions))
