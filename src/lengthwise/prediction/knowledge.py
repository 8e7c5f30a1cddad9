"""Lists the evidence on each task: a C-RASP program for it, or the reason that none exists.

An `Evidence` names its fragment. A *yes* carries over to every larger fragment, a *no* to every smaller one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from lengthwise.crasp import library
from lengthwise.crasp.certificates.explanation import explanation
from lengthwise.crasp.decide.decision import decide
from lengthwise.crasp.program.fragment import FRAGMENTS, Fragment
from lengthwise.crasp.program.program import Program
from lengthwise.crasp.syntax.parser import parse
from lengthwise.crasp.syntax.printer import to_text
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.communication import FOOLING_SETS
from lengthwise.languages.counter_languages import COUNTER_LANGUAGES
from lengthwise.languages.named import LANGUAGES
from lengthwise.prediction.task_programs import (
    induction_text,
    look_back_text,
    marked_ones_text,
    retrieval_text,
    variable_assignment_text,
)
from lengthwise.prediction.verdict import Argument
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

HUANG = "Huang et al. 2025"
LATER = "later work on retrieval and copying, arXiv 2505.21785, as listed by others"
SYMBOLS = "abcdefg"
NAMES, VALUES = "abcd", "0123"
SCHEME = "the scheme is the same for any alphabet"

DEFINING = ("write", "answer", "layout", "vocab", "batch", "lengths", "min_length", "max_length")
"""The members of a task's class that determine its strings and answers."""


@dataclass(frozen=True)
class Evidence:
    """An argument and its fragment."""

    fragment: Fragment
    argument: Argument


def evidence(task: Task) -> list[Evidence]:
    """All evidence on ``task`` in its configuration."""
    for kind in type(task).__mro__:
        if kind in _KNOWN and _defines_the_same(type(task), kind):
            return list(_KNOWN[kind](task))
    return []


def _defines_the_same(derived: type[Task], known: type[Task]) -> bool:
    """Whether evidence on a class holds for a derived class: one of ours, or one with the same strings and answers."""
    ours = derived.__module__.partition(".")[0] == __name__.partition(".")[0]
    return ours or all(getattr(derived, name) is getattr(known, name) for name in DEFINING)


def program_evidence(program: Program, name: str, note: str = "") -> Evidence:
    """A program as a *yes* for its fragment; ``note`` limits what it covers, if that is not the whole task."""
    fragment = program.fragment
    shape = f"depth {program.depth}, window {program.window}, period {program.period}"
    why = f"a C-RASP program exists ({name}: {shape}{f'; {note}' if note else ''})"
    proof = {"kind": "program", "name": name, "program": to_text(program)} | ({"note": note} if note else {})
    return Evidence(fragment, Argument("yes", "proved", why, proof))


def language_evidence(
    source: str | Dfa, about: str = "", *, end: str = "visible", alphabet: str | None = None
) -> Iterator[Evidence]:
    """The exact decision for a regular language, one piece of evidence per fragment that is decided."""
    decision = decide(source, alphabet, ends=("visible", "eos") if end == "both" else (end,))
    regex = source if isinstance(source, str) else "it"
    regex = f"{about}, {regex}" if about else regex
    for fragment in FRAGMENTS:
        verdict = decision.verdict(fragment, end)
        if verdict.verdict == "unknown":
            continue
        sentences = explanation(decision, fragment, end).splitlines()
        if verdict.verdict == "yes":
            shape = f"window {verdict.window}, period {verdict.period}"
            why = f"the decision finds a program for {regex} ({shape})"
            yield Evidence(fragment, Argument("yes", "proved", why, {"kind": "potentials", "lines": sentences}))
        else:
            why = f"no guarantee: no program exists for {regex}"
            basis = "cited" if verdict.basis == "cited" else "ours"
            yield Evidence(fragment, Argument("no", basis, why, {"kind": "merged states", "lines": sentences}))


def _library(name: str, note: str = "") -> Evidence:
    return program_evidence(library.get(name), name, note)


def _for_symbols(count: int) -> str:
    return f"for {count} symbols; {SCHEME}"


def _cited(fragment: Fragment, answer: str, why: str, source: str = HUANG) -> Evidence:
    return Evidence(fragment, Argument("yes" if answer == "yes" else "no", "cited", f"{why} ({source})"))


def _no_for_nope(what: str, source: str = HUANG) -> Evidence:
    return _cited("none", "no", f"no guarantee: no program without positions exists for {what}", source)


def _fooling(key: str, basis: str = "cited") -> Evidence:
    fooling = FOOLING_SETS[key]
    count = fooling.verify(4)
    why = f"no guarantee: communication bound (Theorem 12, {HUANG}). {fooling.statement}"
    proof = {"kind": "fooling set", "statement": fooling.statement, "checked": f"{count} prefixes of 4 bits, all pairs"}
    return Evidence("ape", Argument("no", "cited" if basis == "cited" else "ours", why, proof))


def _communication(statement: str) -> Evidence:
    why = f"no guarantee: communication bound (Theorem 12, {HUANG}). {statement}"
    return Evidence("ape", Argument("no", "ours", why, {"kind": "fooling argument", "statement": statement}))


def _majority(task: Majority) -> Iterator[Evidence]:
    # Acceptance of the program is the answer 1 here; with letters, 26 are the default and the library's.
    if task.letters in (2, 26):
        yield _library("bin_majority" if task.letters == 2 else "majority")
    else:
        yield _library("majority-3", _for_symbols(3))


def _copy(task: Copy) -> Iterator[Evidence]:
    if task.symbols == "distinct":
        yield _library("unique_copy", _for_symbols(7))
        yield _no_for_nope("copying distinct symbols")
    else:
        yield _fooling("repeat_copy")


def _reverse(task: Reverse) -> Iterator[Evidence]:
    if task.symbols == "distinct":
        yield _library("unique_reverse", _for_symbols(7))
        yield _no_for_nope("reversing distinct symbols", LATER)
    else:
        yield _communication("Alice's symbols are the word to reverse; Bob writes them all: N bits are needed.")


def _parity(_: Parity) -> Iterator[Evidence]:
    yield from language_evidence("(0*10*1)*0*", "the even words")


def _parity_scratchpad(_: ParityScratchpad) -> Iterator[Evidence]:
    yield _communication(
        "Running parities reveal every bit: from Alice's message at = Bob could write the trace and read her N bits."
    )


def _addition(_: Addition) -> Iterator[Evidence]:
    yield _communication(
        "Alice's bits are the first operand; Bob adds 0 and writes all of its digits: N digits are needed."
    )


def _binary_addition(_: BinaryAddition) -> Iterator[Evidence]:
    yield _fooling("addition")


def _interleaved(task: BinMajorityInterleave) -> Iterator[Evidence]:
    note = "" if task.period == 3 else "for 3 streams; the scheme is the same for any number"
    yield _library("bin_majority_interleave", note)
    if task.period > 1:
        yield _no_for_nope("majorities of interleaved streams")


def _sort(_: Sort) -> Iterator[Evidence]:
    yield _library("sort", _for_symbols(7))


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
    yield program_evidence(program, f"induction {task.t} back", _for_symbols(len(SYMBOLS)))
    yield _no_for_nope("looking back a fixed distance")


def _retrieval(task: Retrieval) -> Iterator[Evidence]:
    symbols = [symbol for symbol in task.vocab.tokens if task.vocab[symbol] >= 4 and symbol != MARKER]
    yield program_evidence(parse(retrieval_text(symbols, task.side)), "the marker's neighbour")
    yield _no_for_nope("the neighbour of a unique token", LATER)


def _induction(_: Induction) -> Iterator[Evidence]:
    yield program_evidence(parse(induction_text(SYMBOLS)), "induction head", _for_symbols(len(SYMBOLS)))
    yield _no_for_nope("induction", LATER)


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
        yield _library(program)
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
