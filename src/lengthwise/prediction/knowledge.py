"""Lists the evidence on each task: a C-RASP program for it, or the reason that none exists.

An `Evidence` names its fragment. A *yes* carries over to every larger fragment, a *no* to every smaller one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

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
    template_evidence,
)
from lengthwise.prediction.suites.known import SUITES
from lengthwise.sparsity.planted.labels import Lookup
from lengthwise.tasks import Task
from lengthwise.tasks.addition import Addition
from lengthwise.tasks.bin_majority_interleave import BinMajorityInterleave
from lengthwise.tasks.binary_addition import BinaryAddition
from lengthwise.tasks.copy import Copy
from lengthwise.tasks.flip_flop import FlipFlop
from lengthwise.tasks.induction import Induction
from lengthwise.tasks.language import Language
from lengthwise.tasks.look_back import FILLER, LookBack
from lengthwise.tasks.majority import Majority
from lengthwise.tasks.parity import Parity
from lengthwise.tasks.parity_scratchpad import ParityScratchpad
from lengthwise.tasks.planted import PlantedTask
from lengthwise.tasks.retrieval import MARKER, Retrieval
from lengthwise.tasks.reverse import Reverse
from lengthwise.tasks.sort import Sort
from lengthwise.tasks.sparse_parity import QUERY as BITS_QUERY
from lengthwise.tasks.sparse_parity import SparseParity
from lengthwise.tasks.variable_assignment import LINE_END, QUERY, VariableAssignment

LATER = "later work on retrieval and copying, arXiv 2505.21785, as listed by others"
PARITIES = "Running parities reveal every bit: from Alice's message at = Bob could write the trace and read her N bits."
DIGITS = "Alice's bits are the first operand; Bob adds 0 and writes all of its digits: N digits are needed."
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


def _interleaved(task: BinMajorityInterleave) -> Iterator[Evidence]:
    note = "" if task.period == 3 else "for 3 streams; the scheme is the same for any number"
    yield library_evidence("bin_majority_interleave", note)
    if task.period > 1:
        yield no_for_nope("majorities of interleaved streams")


def _sparse_parity(task: SparseParity) -> Iterator[Evidence]:
    most = max((task.k_max, *task.k_test))
    counts = range(1, most + 1, 2)
    yield template_evidence("marked_ones", f"counting up to {most} marked ones", counts=counts, query=BITS_QUERY)


def _planted(task: PlantedTask) -> Iterator[Evidence]:
    # A symmetric g* of k bits is a function of the number of marked ones; a lookup may depend on their order.
    if task.values != 2 or isinstance(task.label, Lookup):
        return
    labels = [int(task.label(np.array([1] * ones + [0] * (task.k - ones)))) for ones in range(task.k + 1)]
    if set(labels) != {0, 1}:
        return
    counts = [ones for ones, label in enumerate(labels) if label]
    yield template_evidence("marked_ones", f"counting up to {task.k} marked ones", counts=counts, query=BITS_QUERY)


def _look_back(task: LookBack) -> Iterator[Evidence]:
    note = for_symbols(len(SYMBOLS))
    yield template_evidence("look_back", f"induction {task.t} back", note, symbols=SYMBOLS, t=task.t, filler=FILLER)
    yield no_for_nope("looking back a fixed distance")


def _retrieval(task: Retrieval) -> Iterator[Evidence]:
    symbols = [symbol for symbol in task.vocab.tokens if task.vocab[symbol] >= 4 and symbol != MARKER]
    values = {"symbols": symbols, "side": task.side, "marker": MARKER}
    yield template_evidence("retrieval", "the marker's neighbour", **values)
    yield no_for_nope("the neighbour of a unique token", LATER)


def _variable_assignment(task: VariableAssignment) -> Iterator[Evidence]:
    if task.scratchpad:
        note = f"for {len(NAMES)} names and {len(VALUES)} values; {SCHEME}"
        values = {"names": NAMES, "values": VALUES, "separators": task.separators, "query": QUERY, "end": LINE_END}
        yield template_evidence("variable_assignment", "looking up line by line", note, **values)


def _language(task: Language) -> Iterator[Evidence]:
    if task.language in COUNTER_LANGUAGES:
        program = {"a^nb^n": "a^n b^n", "a^nb^nc^n": "a^n b^n c^n"}.get(task.language, task.language)
        yield library_evidence(program)
    elif task.language in LANGUAGES:
        named = LANGUAGES[task.language]
        yield from language_evidence(named.source, task.language, alphabet=named.alphabet)
    else:
        yield from language_evidence(task.language, alphabet=task.alphabet)


def _induction(_: Induction) -> Iterator[Evidence]:
    yield template_evidence("induction", "induction head", for_symbols(len(SYMBOLS)), symbols=SYMBOLS)
    yield no_for_nope("induction", LATER)


_KNOWN: dict[type[Task], Callable[..., Iterable[Evidence]]] = {
    Majority: _majority,
    Copy: _copy,
    Reverse: _reverse,
    Parity: lambda _: language_evidence("(0*10*1)*0*", "the even words"),
    ParityScratchpad: lambda _: [communication(PARITIES)],
    Addition: lambda _: [communication(DIGITS)],
    BinaryAddition: lambda _: [fooling_set("addition")],
    BinMajorityInterleave: _interleaved,
    Sort: lambda _: [library_evidence("sort", for_symbols(7))],
    SparseParity: _sparse_parity,
    PlantedTask: _planted,
    LookBack: _look_back,
    Retrieval: _retrieval,
    Induction: _induction,
    FlipFlop: lambda _: language_evidence("[abe]*be*", "the last write, as a language with neutral symbols", end="eos"),
    VariableAssignment: _variable_assignment,
    Language: _language,
}
