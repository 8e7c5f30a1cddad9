"""Verifies a compiled model against the interpreter, at every position and for every output."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray
from torch import Tensor

from lengthwise.core.rng import stream
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp.program.program import Program
from lengthwise.crasp.run.interpreter import evaluate_all
from lengthwise.models.theory.finite import FiniteTransformer
from lengthwise.models.theory.limit import TheoryTransformer

_SAMPLED = 2000
"""Words drawn per length that has more than `_EXHAUSTIVE` words."""

_EXHAUSTIVE = 3**8


@dataclass(frozen=True)
class Mismatch:
    """One output at one position for which model and interpreter differ."""

    word: str
    offset: int
    position: int
    output: str
    expected: bool


@dataclass(frozen=True)
class CompilationCheck:
    """The number of compared words and values, of wrong values, and the first ten mismatches."""

    words: int
    values: int
    wrong: int
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether no value is wrong."""
        return self.wrong == 0

    def __add__(self, other: CompilationCheck) -> CompilationCheck:
        return CompilationCheck(
            self.words + other.words,
            self.values + other.values,
            self.wrong + other.wrong,
            (self.mismatches + other.mismatches)[:10],
        )


def encode_for(program: Program, model: TheoryTransformer, words: Int[ndarray, "B n"]) -> Int[Tensor, "B T"]:
    """The model's input for words given as symbol indices: BOS, the word, and EOS if declared."""
    rows = len(words)
    parts = [np.full((rows, 1), model.symbols.index(BOS)), words]
    if program.eos:
        parts.append(np.full((rows, 1), model.symbols.index(EOS)))
    return torch.from_numpy(np.concatenate(parts, axis=1).astype(np.int64))


def compare(
    program: Program, model: TheoryTransformer, words: Int[ndarray, "B n"], offset: int = 0
) -> CompilationCheck:
    """Compare all outputs at all positions on words of one length, with positions shifted by ``offset``."""
    if not len(words) or not (words.shape[1] or program.bos or program.eos):
        return CompilationCheck(0, 0, 0)  # there is no position to read
    ids = encode_for(program, model, words)
    positions = torch.arange(1, ids.shape[1] + 1).expand(len(ids), -1) + offset
    got = (model(ids, positions).logits > 0).numpy()[:, 0 if program.bos else 1 :]
    values = evaluate_all(program, words)
    expected = np.stack([values[index] for index in program.outputs], axis=-1)
    wrong = np.argwhere(got != expected)
    mismatches = tuple(
        Mismatch(
            " ".join(program.alphabet[symbol] for symbol in words[row]),
            offset, int(position) + 1, model.outputs[output], bool(expected[row, position, output]),
        )
        for row, position, output in wrong[:10]
    )  # fmt: skip
    return CompilationCheck(len(words), expected.size, len(wrong), mismatches)


def short_words(program: Program, longest: int, seed: int = 0) -> Iterator[Int[ndarray, "B n"]]:
    """All words of each length up to ``longest``, or a random sample for lengths with too many."""
    letters = len(program.alphabet)
    for length in range(longest + 1):
        if letters**length <= _EXHAUSTIVE:
            yield np.array(list(itertools.product(range(letters), repeat=length)), dtype=np.int64).reshape(
                letters**length, length
            )
        else:
            yield stream(seed, "verify", length).integers(letters, size=(_SAMPLED, length))


def random_words(program: Program, length: int, count: int, seed: int = 0) -> Int[ndarray, "B n"]:
    """Random words: half are uniform, half have a random letter distribution each, so that long runs occur, too."""
    rng = stream(seed, "verify", "random", length)
    letters = len(program.alphabet)
    weights = rng.dirichlet(np.full(letters, 0.3), size=count)
    weights[: count // 2] = 1 / letters
    draws = rng.random((count, length, 1))
    return np.minimum((draws > weights.cumsum(1)[:, None, :]).sum(-1), letters - 1)


def verify(
    program: Program,
    model: TheoryTransformer,
    *,
    words: int = 1000,
    lengths: tuple[int, ...] = (100, 1000),
    longest_exhaustive: int = 8,
    seed: int = 0,
) -> CompilationCheck:
    """Compare on all short words, and on ``words`` random ones at each length."""
    total = CompilationCheck(0, 0, 0)
    for batch in short_words(program, longest_exhaustive, seed):
        total += compare(program, model, batch)
    for length in lengths:
        total += compare(program, model, random_words(program, length, words, seed))
    return total


def verify_finite(
    program: Program, model: FiniteTransformer, *, words: int = 1000, longest_exhaustive: int = 8, seed: int = 0
) -> CompilationCheck:
    """Compare at every admissible offset on all short words, and on random ones that fill the context.

    The ``words`` random words are divided among the offsets.
    """
    total = CompilationCheck(0, 0, 0)
    marks = 1 + program.eos
    offsets = range(model.context - marks + 1)
    for offset in offsets:
        room = model.context - marks - offset
        for batch in short_words(program, min(longest_exhaustive, room), seed):
            total += compare(program, model, batch, offset)
        if words:
            total += compare(
                program, model, random_words(program, room, -(-words // len(offsets)), seed + offset), offset
            )
    return total
