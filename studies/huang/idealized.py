"""The idealized learner of Huang et al. 2025 on finite classes of functions."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray
from regularizer_table import regularizer_table

import lengthwise as lw


def memorizer(alphabet: Sequence[str], answers: Mapping[tuple[int, ...], bool]) -> lw.crasp.program.Program:
    """The program with these ``answers`` (words as symbol indices), and with the more common answer on all other words.

    Ties, and no answers at all, give *no*.
    """
    accepted = [word for word, answer in answers.items() if answer]
    common = 2 * len(accepted) > len(answers)
    known = [word for word, answer in answers.items() if answer != common]
    build = lw.crasp.program.ProgramBuilder(alphabet)

    def at(distance: int, symbol: int | None) -> int:
        here = build.bos() if symbol is None else build.symbol(build.alphabet[symbol])
        return here if distance == 0 else build.exists(here, [distance])

    listed = []
    for word in known:
        letters = [at(distance, symbol) for distance, symbol in enumerate(reversed(word))]
        listed.append(build.all_of([*letters, at(len(word), None)]))
    found = build.any_of(listed)
    return build.accept(build.negation(found) if common else found)


@dataclass(frozen=True)
class TargetFunction:
    """A function from words to truth values; ``label`` is None for words that are not inputs of the task."""

    name: str
    alphabet: tuple[str, ...]
    label: Callable[[tuple[str, ...]], bool | None]
    settles: bool
    """Whether the theory predicts that the learner settles."""


@dataclass(frozen=True)
class LearnedTransformer:
    """T_n: its program (None for the memorizer), its R, and its ``errors`` on ``words`` of length <= n."""

    n: int
    program: str | None
    regularizer: float
    consistent: int
    """The number of members of the class, without the memorizer, that agree with the target up to n/2."""
    errors: int
    words: int


@dataclass(frozen=True)
class Trajectory:
    """All T_n of one target. ``settled_from`` is the N₀ from which no T_n errs up to its own length n.

    It is None if the last T_n errs or is a memorizer. ``long_errors`` counts the wrong answers of the last program
    among ``long_words`` answers on random words of length ``long_length``, longer than every n.
    """

    target: str
    expected: bool
    choices: tuple[LearnedTransformer, ...]
    settled_from: int | None
    exhaustive_to: int
    long_errors: int | None = None
    long_words: int = 0
    long_length: int = 0

    @property
    def as_expected(self) -> bool:
        """Whether the learner settled exactly if the theory predicts it."""
        return (self.settled_from is not None) == self.expected


class HypothesisClass:
    """Programs over ``letters`` letters with their values on all words up to ``length``; R is computed on demand.

    R is that of the finite version of context 2 · ``length``; it does not depend on a context beyond the window. Raises
    `LengthwiseError` unless there are 1 to 8 letters.
    """

    def __init__(
        self, letters: int, *, length: int, max_size: int, periods: Sequence[int] = (), distances: Sequence[int] = ()
    ) -> None:
        self.alphabet = tuple("abcdefgh"[:letters])
        lw.core.errors.require(len(self.alphabet) == letters, f"a class has 1 to 8 letters, got {letters}")
        self.length, self.context = length, 2 * length
        self.tree = lw.crasp.synthesis.PrefixTree(letters, length)
        self._enumeration = lw.crasp.synthesis.Enumeration(self.alphabet, self.tree, periods, distances)
        levels = [self._enumeration.add_level() for _ in range(max_size)]
        self._origins = np.concatenate([level.origins for level in levels])
        rows = np.concatenate([level.rows for level in levels])
        self._extra = list(_library_programs(letters, self.alphabet))
        extra = [self.evaluate(program) for program in self._extra]
        self.rows = np.concatenate([rows, self.tree.pack(np.stack(extra))]) if extra else rows
        self._measured: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def program(self, member: int) -> lw.crasp.program.Program:
        """A member as a program over the letters of the class."""
        count = len(self._origins)
        return self._enumeration.program(self._origins[member]) if member < count else self._extra[member - count]

    def regularizer(self, member: int) -> float:
        """R of a member, which is computed once."""
        if member not in self._measured:
            self._measured[member] = measure(self.program(member), self.context)
        return self._measured[member]

    def agreeing(
        self, labels: Bool[ndarray, " nodes"], care: Bool[ndarray, " nodes"], among: Int[ndarray, " M"]
    ) -> Int[ndarray, " K"]:
        """The members of ``among`` that have the given labels at the nodes ``care``."""
        wanted, mask = self.tree.pack(labels[None])[0], self.tree.pack(care[None])[0]
        return among[~((self.rows[among] ^ wanted) & mask).any(axis=1)]

    def values(self, member: int) -> Bool[ndarray, " nodes"]:
        """A member's value at every word of the tree."""
        return self.tree.unpack(self.rows[member : member + 1])[0]

    def evaluate(self, program: lw.crasp.program.Program) -> Bool[ndarray, " nodes"]:
        """The value of any program at every word of the tree."""
        values = np.zeros(len(self.tree), dtype=np.bool_)
        words = self.tree.words
        for length in range(self.length + 1):
            nodes = np.flatnonzero(self.tree.depth == length)
            ids = np.array([words[node] for node in nodes], dtype=np.int64).reshape(len(nodes), length)
            values[nodes] = lw.crasp.interpreter.run(program, ids)
        return values


def measure(program: lw.crasp.program.Program, context: int) -> float:
    """R of the program's finite version; raises `LengthwiseError` if it cannot be compiled."""
    return regularizer_table(
        lw.models.limit.finite_version(lw.models.compile.compile_program(program).required(), context)
    ).total


def learn(
    target: TargetFunction, hypotheses: HypothesisClass, *, long_length: int = 60, long_words: int = 150, seed: int = 0
) -> Trajectory:
    """Run the learner for n = 2, …, 2 · length − 1, so that T_n always agrees on shorter words than are checked.

    Errors of T_n are counted on all words of length <= min(n, length of the class), and those of the last program also
    on ``long_words`` words of ``long_length``.
    """
    tree = hypotheses.tree
    answers = [target.label(tuple(target.alphabet[symbol] for symbol in word)) for word in tree.words]
    inputs = np.array([answer is not None for answer in answers])
    labels = np.array([bool(answer) for answer in answers])
    consistent = np.arange(len(hypotheses))
    choices: list[LearnedTransformer] = []
    memories: dict[int, tuple[Bool[ndarray, " nodes"], float]] = {}
    program: lw.crasp.program.Program | None = None
    for n in range(2, 2 * hypotheses.length):
        care = inputs & (tree.depth <= n // 2)
        consistent = hypotheses.agreeing(labels, care, consistent)
        if n // 2 not in memories:
            known = memorizer(
                hypotheses.alphabet, {tree.words[node]: bool(labels[node]) for node in np.flatnonzero(care)}
            )
            memories[n // 2] = (hypotheses.evaluate(known), measure(known, n))
        remembered, memory = memories[n // 2]
        measured = [hypotheses.regularizer(int(member)) for member in consistent]
        best = min([memory, *measured])
        # Ties within 1/n go to the first of the class, the smaller program; the memorizer comes last.
        index = next((index for index, value in enumerate(measured) if value <= best + 1 / n), None)
        if index is None:
            program, regularizer, values = None, memory, remembered
        else:
            member = int(consistent[index])
            program, regularizer, values = hypotheses.program(member), measured[index], hypotheses.values(member)
        tested = inputs & (tree.depth <= n)
        errors = int(((values != labels) & tested).sum())
        text = None if program is None else _one_line(program, target)
        choices.append(LearnedTransformer(n, text, regularizer, len(consistent), errors, int(tested.sum())))
    settled = _settled_from(choices)
    wrong = answered = 0
    if program is not None:
        wrong, answered = _long_errors(target, program, long_length, long_words, seed)
    return Trajectory(
        target.name,
        target.settles,
        tuple(choices),
        settled if not wrong else None,
        hypotheses.length,
        wrong if program is not None else None,
        answered,
        long_length,
    )


def _settled_from(choices: Sequence[LearnedTransformer]) -> int | None:
    """The smallest n such that neither T_n nor any later one errs; None if the last errs or is a memorizer."""
    right = list(takewhile(lambda choice: not choice.errors and choice.program is not None, reversed(choices)))
    return right[-1].n if right else None


def _long_errors(
    target: TargetFunction, program: lw.crasp.program.Program, length: int, count: int, seed: int
) -> tuple[int, int]:
    """The number of wrong answers, and of all answers, at the prefixes of long words that are inputs of the task."""
    words = _long_words(len(target.alphabet), length, count, lw.stream(seed, "idealized", target.name))
    assert program.accept is not None
    computed = lw.crasp.interpreter.evaluate_all(program, words)[program.accept]
    wrong = answered = 0
    for row, word in enumerate(words):
        symbols = tuple(target.alphabet[symbol] for symbol in word)
        for end in range(length + 1):
            answer = target.label(symbols[:end])
            if answer is not None:
                answered += 1
                wrong += answer != bool(computed[row, end])
    return wrong, answered


def _long_words(letters: int, length: int, count: int, rng: lw.core.rng.Rng) -> Int[ndarray, "B n"]:
    """A third random words, a third repetitions of a short word, and a third repetitions with one symbol changed."""
    words = rng.integers(letters, size=(count, length))
    for row in range(count // 3, count):
        short = rng.integers(letters, size=rng.integers(1, 5))
        words[row] = np.resize(short, length)
        if row >= 2 * count // 3:
            words[row, rng.integers(length)] = rng.integers(letters)
    return words


def _library_programs(letters: int, alphabet: tuple[str, ...]) -> Iterator[lw.crasp.program.Program]:
    """The accepting programs of the library over that many letters, renamed; over two letters in both orders."""
    for name in lw.crasp.library.names():
        program = lw.crasp.library.get(name)
        if program.accept is None or len(program.alphabet) != letters or not program.bos or program.eos:
            continue
        yield renamed(program, alphabet)
        if letters == 2:
            yield renamed(program, alphabet[::-1])


def renamed(program: lw.crasp.program.Program, alphabet: Sequence[str]) -> lw.crasp.program.Program:
    """The program with its k-th letter replaced by the k-th of ``alphabet``; the new alphabet is sorted."""
    new = dict(zip(program.alphabet, alphabet, strict=True))
    operations = tuple(
        lw.crasp.program.Symbol(new.get(operation.symbol, operation.symbol))
        if isinstance(operation, lw.crasp.program.Symbol)
        else operation
        for operation in program.operations
    )
    return dataclasses.replace(program, alphabet=tuple(sorted(alphabet)), operations=operations, names=())


def _one_line(program: lw.crasp.program.Program, target: TargetFunction) -> str:
    """The program's text over the letters of the target, on one line."""
    text = lw.crasp.syntax.to_text(renamed(program, target.alphabet))
    return "; ".join(line for line in text.splitlines() if line and ":" not in line.split(":=")[0])


def majority(word: lw.core.vocab.Symbols) -> bool:
    """More 1s than 0s."""
    return word.count("1") > word.count("0")


def alternating(word: lw.core.vocab.Symbols) -> bool:
    """(ab)*."""
    return re.fullmatch("(ab)*", "".join(word)) is not None


def nested_twice(word: lw.core.vocab.Symbols) -> bool:
    """D_2: balanced brackets (a opens, b closes) of depth at most 2."""
    return re.fullmatch("(a(ab)*b)*", "".join(word)) is not None


def contains_ab(word: lw.core.vocab.Symbols) -> bool:
    """Somewhere b directly follows a."""
    return "ab" in "".join(word)


def even_length(word: lw.core.vocab.Symbols) -> bool:
    """(aa)* over one letter."""
    return len(word) % 2 == 0


def parity(word: lw.core.vocab.Symbols) -> bool:
    """An even number of 1s."""
    return word.count("1") % 2 == 0


def copy_says_a(word: lw.core.vocab.Symbols) -> bool | None:
    """Copying with repetitions: whether a follows ``w # u``, where u is a prefix of w; None for all other words."""
    source, separator, copied = "".join(word).partition("#")
    if not source or not separator or "#" in copied or not source.startswith(copied):
        return None
    return source[len(copied) : len(copied) + 1] == "a"


TARGETS: tuple[TargetFunction, ...] = (
    TargetFunction("binary majority", ("0", "1"), majority, settles=True),
    TargetFunction("(ab)*", ("a", "b"), alternating, settles=True),
    TargetFunction("D_2", ("a", "b"), nested_twice, settles=True),
    TargetFunction("contains ab", ("a", "b"), contains_ab, settles=True),
    TargetFunction("(aa)*", ("a",), even_length, settles=True),
    TargetFunction("parity", ("0", "1"), parity, settles=False),
    TargetFunction("copy with repeats", ("a", "b", "#"), copy_says_a, settles=False),
)
