"""The evidence on each task of the suites, and the tasks of which it is open whether a program exists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lengthwise.prediction.suites.arguments import (
    SCHEME,
    Evidence,
    communication,
    for_symbols,
    language_evidence,
    template_evidence,
)
from lengthwise.tasks import Task
from lengthwise.tasks.arithmetic.bitwise_or import BitwiseOr
from lengthwise.tasks.arithmetic.hinted_addition import HintedAddition
from lengthwise.tasks.arithmetic.long_multiplication import LongMultiplication
from lengthwise.tasks.arithmetic.modular import BracketedArithmetic, ModularArithmetic, SolveEquation
from lengthwise.tasks.arithmetic.multi_operand import MultiOperandAddition
from lengthwise.tasks.arithmetic.multiplication import Multiplication
from lengthwise.tasks.arithmetic.running_sums import RunningSums
from lengthwise.tasks.arithmetic.subtraction import Subtraction
from lengthwise.tasks.arithmetic.turing_addition import TuringAddition
from lengthwise.tasks.chomsky.bucket_sort import BucketSort
from lengthwise.tasks.chomsky.cycle_navigation import CycleNavigation
from lengthwise.tasks.chomsky.duplicate import Duplicate
from lengthwise.tasks.chomsky.even_pairs import EvenPairs
from lengthwise.tasks.chomsky.missing_duplicate import MissingDuplicate
from lengthwise.tasks.chomsky.odds_first import OddsFirst
from lengthwise.tasks.chomsky.square_root import SquareRoot
from lengthwise.tasks.chomsky.stack_manipulation import StackManipulation
from lengthwise.tasks.hinting import TaskHinting
from lengthwise.tasks.recall.lego import Lego
from lengthwise.tasks.recall.mqar import MultiQueryRecall
from lengthwise.tasks.recall.needle import Needle
from lengthwise.tasks.recall.pointer import PointerValueRetrieval
from lengthwise.tasks.strings.bigram_copy import UniqueBigramCopy
from lengthwise.tasks.strings.counting import Counting
from lengthwise.tasks.strings.group_words import GroupWords
from lengthwise.tasks.strings.histogram import Histogram
from lengthwise.tasks.strings.minesweeper import Minesweeper
from lengthwise.tasks.strings.successor import Successor

SMALL = 4
"""Symbols of a program that is written out for fewer symbols than the task has."""

STATEMENTS: dict[type[Task], str] = {
    Subtraction: "Alice's digits are the first number; Bob subtracts 0 and writes all of them: N digits are needed.",
    Multiplication: "Alice's digits are the first factor; Bob multiplies by 1 and writes them all: N digits.",
    LongMultiplication: "Alice's digits are the first factor; Bob multiplies by 1 and writes them all: N digits.",
    MultiOperandAddition: "Alice's digits are the first number; Bob adds zeros and writes them all: N digits.",
    RunningSums: "Alice's digits are the first number; Bob adds zeros and writes them all: N digits.",
    TuringAddition: "Alice's digits are the first number; Bob writes all but the last into the first tape: N digits.",
    BitwiseOr: "Alice's bits are the first string; Bob's are zeros, and he writes all of hers: N bits are needed.",
    StackManipulation: "Alice's bits are the first stack; Bob adds no action and writes them all: N bits are needed.",
    SquareRoot: "Alice's bits are the upper half; Bob appends zeros, and the root determines them: N bits are needed.",
    Minesweeper: "Alice's fields are the upper half of the board; Bob writes which of them are mines.",
}
"""Communication bounds: what Bob can write needs more of Alice than the logarithm of the length."""

OPEN: dict[type[Task], str] = {
    HintedAddition: "the number of hints bounds the length, so that no program for all lengths is asked for",
    TaskHinting: "a hint adds training data and does not change the question; predict the task itself",
    BracketedArithmetic: "no bound is known to us, and no program",
    SolveEquation: "no bound is known to us, and no program",
    MissingDuplicate: "one bit of Alice's suffices, the parity of her string, so that communication excludes nothing",
    PointerValueRetrieval: "the number of pointers bounds the length, so that no program for all lengths is asked for",
    Histogram: "the number of counts bounds the length, so that no program for all lengths is asked for",
    Lego: "the number of variables bounds the length, so that no program for all lengths is asked for",
}
"""Tasks for which we know neither a program nor a reason that there is none."""


def _stated(task: Task) -> Iterator[Evidence]:
    yield communication(STATEMENTS[type(task)])


def _cycle_of(size: int, about: str) -> Iterator[Evidence]:
    """Words with a number of ones that is a multiple of ``size``, a slice of the task."""
    yield from language_evidence(f"(0*{'10*' * size})*0*", about)


def _modular(task: ModularArithmetic) -> Iterator[Evidence]:
    yield from _cycle_of(task.modulus, "sums of zeros and ones that are 0")


def _cycle(task: CycleNavigation) -> Iterator[Evidence]:
    yield from _cycle_of(task.size, "moves to the right that lead back")


def _group_words(task: GroupWords) -> Iterator[Evidence]:
    if task.scratchpad:
        yield communication(
            "Products reveal every element: from Alice's message at = Bob could write them and read her N elements."
        )
    else:
        yield from _cycle_of(2, "powers of an element of order two that are the identity")


def _even_pairs(_: EvenPairs) -> Iterator[Evidence]:
    yield from language_evidence("0|1|0(0|1)*0|1(0|1)*1", "the words whose first and last bit agree")


def _repeats(task: Duplicate | OddsFirst) -> Iterator[Evidence]:
    if task.symbols == "repeats":
        yield communication("Alice's symbols are the string; Bob writes them all: N symbols are needed.")


def _bucket_sort(task: BucketSort) -> Iterator[Evidence]:
    yield template_evidence("bucket_sort", "counting each letter", symbols=task.vocab.tokens[4:])


def _counting(task: Counting) -> Iterator[Evidence]:
    numbers = task.vocab.tokens[4 : 4 + min(task.numbers, 7)]
    yield template_evidence("counting", "successors", for_symbols(len(numbers)), numbers=numbers)


def _bigram_copy(task: UniqueBigramCopy) -> Iterator[Evidence]:
    symbols = task.vocab.tokens[4 : 4 + min(task.letters, SMALL)]
    yield template_evidence("bigram_copy", "the last two symbols", for_symbols(len(symbols)), symbols=symbols)


def _successor(task: Successor) -> Iterator[Evidence]:
    symbols = task.vocab.tokens[4 : 4 + min(task.letters, SMALL)]
    yield template_evidence("successor", "the larger symbols", for_symbols(len(symbols)), symbols=symbols)


def _needle(task: Needle) -> Iterator[Evidence]:
    noise = list(task.vocab.tokens[4 : 4 + min(task.noise, 2)])
    yield _pairs("needle", "one hop after another", task.keys, noise=noise, hops=task.hops)


def _recall(task: MultiQueryRecall) -> Iterator[Evidence]:
    yield _pairs("recall", f"the key {task.queries} back", task.keys, queries=task.queries)


def _pairs(template: str, name: str, most: int, **values: Any) -> Evidence:
    """A program that is written out for at most five keys and values."""
    count = min(most, 5)
    pairs = {"keys": [f"k{i}" for i in range(count)], "values": [f"v{i}" for i in range(count)]}
    return template_evidence(template, name, f"for {count} keys and values; {SCHEME}", **pairs, **values)


SUITES: dict[type[Task], Callable[..., Iterator[Evidence]]] = {
    **dict.fromkeys(STATEMENTS, _stated),
    **dict.fromkeys(OPEN, lambda task: iter(())),
    ModularArithmetic: _modular,
    CycleNavigation: _cycle,
    GroupWords: _group_words,
    EvenPairs: _even_pairs,
    Duplicate: _repeats,
    OddsFirst: _repeats,
    BucketSort: _bucket_sort,
    Counting: _counting,
    Successor: _successor,
    UniqueBigramCopy: _bigram_copy,
    Needle: _needle,
    MultiQueryRecall: _recall,
}
"""How the evidence on a task of these classes is made; a derived class with rules of its own comes first."""
