"""Lists the evidence on each task: a C-RASP program for it, or the reason that none exists.

An `Evidence` names its fragment. A *yes* carries over to every larger fragment, a *no* to every smaller one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from lengthwise.crasp.syntax.parser import parse
from lengthwise.languages.counter_languages import COUNTER_LANGUAGES
from lengthwise.languages.named import LANGUAGES
from lengthwise.prediction.suites.arguments import (
    SCHEME,
    Evidence,
    communication,
    fooling_set,
    for_symbols,
    language_evidence,
    library_evidence,
    no_for_nope,
    program_evidence,
)
from lengthwise.prediction.suites.known import SUITES
from lengthwise.prediction.task_programs import (
    induction_text,
    look_back_text,
    marked_ones_text,
    retrieval_text,
    variable_assignment_text,
)
from lengthwise.sparsity.planted.labels import Lookup
from lengthwise.tasks import Task
from lengthwise.tasks.addition import Addition
from lengthwise.tasks.bin_majority_interleave import BinMajorityInterleave
from lengthwise.tasks.binary_addition import BinaryAddition
from lengthwise.tasks.copy import Copy
from lengthwise.tasks.flip_flop import FlipFlop
from lengthwise.tasks.induction import Induction
from lengthwise.tasks.language import Language
from lengthwise.tasks.look_back import LookBack
from lengthwise.tasks.majority import Majority
from lengthwise.tasks.parity import Parity
from lengthwise.tasks.parity_scratchpad import ParityScratchpad
from lengthwise.tasks.planted import PlantedCorrelation
from lengthwise.tasks.retrieval import MARKER, Retrieval
from lengthwise.tasks.reverse import Reverse
from lengthwise.tasks.sort import Sort
from lengthwise.tasks.sparse_parity import SparseParity
from lengthwise.tasks.variable_assignment import VariableAssignment

LATER = "later work on retrieval and copying, arXiv 2505.21785, as listed by others"
SYMBOLS = "abcdefg"
NAMES, VALUES = "abcd", "0123"

DEFINING = ("write", "answer", "layout", "vocab", "batch", "lengths", "min_length", "max_length")
"""The members of a task's class that determine its strings and answers."""


def evidence(task: Task) -> list[Evidence]:
    """All evidence on ``task`` in its configuration."""
    for kind in type(task).__mro__:
        known = _KNOWN.get(kind) or SUITES.get(kind)
        if known is not None and _defines_the_same(type(task), kind):
            return list(known(task))
    return []


def _defines_the_same(derived: type[Task], known: type[Task]) -> bool:
    """Whether evidence on a class holds for a derived class: one of ours, or one with the same strings and answers."""
    ours = derived.__module__.partition(".")[0] == __name__.partition(".")[0]
    return ours or all(getattr(derived, name) is getattr(known, name) for name in DEFINING)


def _majority(task: Majority) -> Iterator[Evidence]:
    # Acceptance of the program is the answer 1 here; with letters, 26 are the default and the library's.
    if task.letters in (2, 26):
        yield library_evidence("bin_majority" if task.letters == 2 else "majority")
    else:
        yield library_evidence("majority-3", for_symbols(3))


def _copy(task: Copy) -> Iterator[Evidence]:
    if task.symbols == "distinct":
        yield library_evidence("unique_copy", for_symbols(7))
        yield no_for_nope("copying distinct symbols")
    else:
        yield fooling_set("repeat_copy")


def _reverse(task: Reverse) -> Iterator[Evidence]:
    if task.symbols == "distinct":
        yield library_evidence("unique_reverse", for_symbols(7))
        yield no_for_nope("reversing distinct symbols", LATER)
    else:
        yield communication("Alice's symbols are the word to reverse; Bob writes them all: N bits are needed.")


def _parity(_: Parity) -> Iterator[Evidence]:
    yield from language_evidence("(0*10*1)*0*", "the even words")


def _parity_scratchpad(_: ParityScratchpad) -> Iterator[Evidence]:
    yield communication(
        "Running parities reveal every bit: from Alice's message at = Bob could write the trace and read her N bits."
    )


def _addition(_: Addition) -> Iterator[Evidence]:
    yield communication(
        "Alice's bits are the first operand; Bob adds 0 and writes all of its digits: N digits are needed."
    )


def _binary_addition(_: BinaryAddition) -> Iterator[Evidence]:
    yield fooling_set("addition")


def _interleaved(task: BinMajorityInterleave) -> Iterator[Evidence]:
    note = "" if task.period == 3 else "for 3 streams; the scheme is the same for any number"
    yield library_evidence("bin_majority_interleave", note)
    if task.period > 1:
        yield no_for_nope("majorities of interleaved streams")


def _sort(_: Sort) -> Iterator[Evidence]:
    yield library_evidence("sort", for_symbols(7))


def _sparse_parity(task: SparseParity) -> Iterator[Evidence]:
    most = max((task.k_max, *task.k_test))
    yield program_evidence(parse(marked_ones_text(range(1, most + 1, 2))), f"counting up to {most} marked ones")


def _planted(task: PlantedCorrelation) -> Iterator[Evidence]:
    # A symmetric g* of k bits is a function of the number of marked ones; a lookup may depend on their order.
    if task.values != 2 or isinstance(task.label, Lookup):
        return
    labels = [int(task.label(np.array([1] * ones + [0] * (task.k - ones)))) for ones in range(task.k + 1)]
    if set(labels) != {0, 1}:
        return
    text = marked_ones_text([ones for ones, label in enumerate(labels) if label])
    yield program_evidence(parse(text), f"counting up to {task.k} marked ones")


def _look_back(task: LookBack) -> Iterator[Evidence]:
    program = parse(look_back_text(SYMBOLS, task.t))
    yield program_evidence(program, f"induction {task.t} back", for_symbols(len(SYMBOLS)))
    yield no_for_nope("looking back a fixed distance")


def _retrieval(task: Retrieval) -> Iterator[Evidence]:
    symbols = [symbol for symbol in task.vocab.tokens if task.vocab[symbol] >= 4 and symbol != MARKER]
    yield program_evidence(parse(retrieval_text(symbols, task.side)), "the marker's neighbour")
    yield no_for_nope("the neighbour of a unique token", LATER)


def _induction(_: Induction) -> Iterator[Evidence]:
    yield program_evidence(parse(induction_text(SYMBOLS)), "induction head", for_symbols(len(SYMBOLS)))
    yield no_for_nope("induction", LATER)


def _variable_assignment(task: VariableAssignment) -> Iterator[Evidence]:
    if task.scratchpad:
        text = variable_assignment_text(NAMES, VALUES, separators=task.separators)
        note = f"for {len(NAMES)} names and {len(VALUES)} values; {SCHEME}"
        yield program_evidence(parse(text), "looking up line by line", note)


def _flip_flop(_: FlipFlop) -> Iterator[Evidence]:
    yield from language_evidence("[abe]*be*", "the last write, as a language with neutral symbols", end="eos")


def _language(task: Language) -> Iterator[Evidence]:
    if task.language in COUNTER_LANGUAGES:
        program = {"a^nb^n": "a^n b^n", "a^nb^nc^n": "a^n b^n c^n"}.get(task.language, task.language)
        yield library_evidence(program)
    elif task.language in LANGUAGES:
        named = LANGUAGES[task.language]
        yield from language_evidence(named.source, task.language, alphabet=named.alphabet)
    else:
        yield from language_evidence(task.language, alphabet=task.alphabet)


_KNOWN: dict[type[Task], Callable[..., Iterator[Evidence]]] = {
    Majority: _majority,
    Copy: _copy,
    Reverse: _reverse,
    Parity: _parity,
    ParityScratchpad: _parity_scratchpad,
    Addition: _addition,
    BinaryAddition: _binary_addition,
    BinMajorityInterleave: _interleaved,
    Sort: _sort,
    SparseParity: _sparse_parity,
    PlantedCorrelation: _planted,
    LookBack: _look_back,
    Retrieval: _retrieval,
    Induction: _induction,
    FlipFlop: _flip_flop,
    VariableAssignment: _variable_assignment,
    Language: _language,
}
