"""Known suites of tasks and languages, with the verdicts of the literature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lengthwise.crasp import library
from lengthwise.crasp.certificates import explanation
from lengthwise.crasp.decide import ENDS, NEXT, STATE, decide
from lengthwise.crasp.library import program_text
from lengthwise.crasp.program import FRAGMENTS, Fragment, Program
from lengthwise.crasp.syntax import parse, to_text
from lengthwise.languages.automaton import Dfa
from lengthwise.languages.communication import FOOLING_SETS
from lengthwise.languages.counter import COUNTER_LANGUAGES
from lengthwise.languages.machine import Unrolled
from lengthwise.languages.named import LANGUAGES
from lengthwise.prediction.verdict import Argument
from lengthwise.tasks import Task, addition, copying, counting, modular, parity, planted, recall, recoupled
from lengthwise.tasks import variable_assignment as assignment
from lengthwise.tasks.language import Language
from lengthwise.tasks.traced import StateScratchpad, Traced

HUANG = "Huang et al. 2025"
ASKED = {NEXT: "the next symbols of words of ", STATE: "the states, named also at an end mark, of "}
"""What a program answers that does not decide membership."""
MOST_STATES = 40
"""Of a machine, up to which it is decided what a program can say of its words."""
SCHEME = "the scheme is the same for any alphabet"


@dataclass(frozen=True)
class Evidence:
    """An argument and its fragment."""

    fragment: Fragment
    argument: Argument


def shape_in_words(depth: int, window: int, period: int) -> str:
    """What a program does beside comparing counts: counts of counts, a window of symbols, positions modulo a period."""
    uses = [f"counts {f'{depth} levels deep' if depth > 1 else 'symbols'}"] if depth else []
    uses += [f"looks at the last {window} symbols"] if window > 1 else []
    uses += [f"{'' if window > 1 else 'looks '}at the position modulo {period}"] if period > 1 else []
    return " and ".join(uses) or "counts nothing"


def program_evidence(program: Program, name: str, note: str = "") -> Evidence:
    """A program as a *yes* for its fragment; ``note`` limits what it covers, if that is not the whole task."""
    fragment = program.fragment
    shape = shape_in_words(program.depth, program.window, program.period)
    why = f"a C-RASP program exists ({name}: it {shape}{f'; {note}' if note else ''})"
    proof = {"kind": "program", "name": name, "program": to_text(program)} | ({"note": note} if note else {})
    return Evidence(fragment, Argument("yes", "proved", why, proof))


@lru_cache(maxsize=128)
def language_evidence(
    source: str | Dfa, about: str = "", *, end: str = "visible", alphabet: str | None = None
) -> tuple[Evidence, ...]:
    """The exact decision for a regular language, one piece of evidence per fragment that is decided.

    ``end`` is a convention of `decide`; with ``next`` and ``state`` the evidence is not about membership. It is kept,
    because every position system needs the same.
    """
    decision = decide(source, alphabet, ends=("visible", "eos") if end == "both" else (end,))
    regex = source if isinstance(source, str) else "it"
    regex = ASKED.get(end, "") + (f"{about}, {regex}" if about else regex)
    found: list[Evidence] = []
    for fragment in FRAGMENTS:
        verdict = decision.verdict(fragment, end)
        if verdict.verdict == "unknown":
            continue
        sentences = explanation(decision, fragment, end).splitlines() if end in ENDS else []
        if verdict.verdict == "yes":
            shape = f"it {shape_in_words(1, verdict.window or 1, verdict.period or 1)}"
            basis = "ours" if verdict.basis == "ours" else "proved"
            proof = {"kind": "potentials", "lines": sentences}
            argument = Argument("yes", basis, f"the decision finds a program for {regex} ({shape})", proof)
        else:
            basis = "cited" if verdict.basis == "cited" else "ours"
            proof = {"kind": "merged states", "lines": sentences}
            argument = Argument("no", basis, f"no guarantee: no program exists for {regex}", proof)
        found.append(Evidence(fragment, argument))
    return tuple(found)


def library_evidence(name: str, note: str = "") -> Evidence:
    """A program of the library as evidence."""
    return program_evidence(library.get(name), name, note)


def template_evidence(template: str, name: str, note: str = "", **values: Any) -> Evidence:
    """A program from a template of the library as evidence."""
    return program_evidence(parse(program_text(template, **values)), name, note)


def for_symbols(count: int) -> str:
    """What a program for fewer symbols covers."""
    return f"for {count} symbols; {SCHEME}"


def no_for_nope(what: str, source: str = HUANG) -> Evidence:
    """A published *no* without positions."""
    why = f"no guarantee: no program without positions exists for {what} ({source})"
    return Evidence("none", Argument("no", "cited", why))


def fooling_set(key: str) -> Evidence:
    """A *no* for every fragment by a fooling set that is checked here."""
    fooling = FOOLING_SETS[key]
    count = fooling.verify(4)
    why = f"no guarantee: communication bound (Theorem 12, {HUANG}). {fooling.statement}"
    proof = {"kind": "fooling set", "statement": fooling.statement, "checked": f"{count} prefixes of 4 bits, all pairs"}
    return Evidence("ape", Argument("no", "cited", why, proof))


def communication(statement: str) -> Evidence:
    """A *no* for every fragment by a communication bound, stated in words."""
    why = f"no guarantee: communication bound (Theorem 12, {HUANG}). {statement}"
    return Evidence("ape", Argument("no", "ours", why, {"kind": "fooling argument", "statement": statement}))


SMALL = 4
"""Symbols of a program that is written out for fewer symbols than the task has."""
LATER = "later work on retrieval and copying, arXiv 2505.21785, as listed by others"
PARITIES = "Running parities reveal every bit: from Alice's message at = Bob could write the trace and read her N bits."
TRACES = "Words of N symbols have c^N traces, for some c > 1, and Bob could write Alice's from her message at the end."
DIGITS = "Alice's bits are the first operand; Bob adds 0 and writes all of its digits: N digits are needed."
SYMBOLS = "abcdefg"
NAMES, VALUES = "abcd", "0123"

FACTOR = "digits are the first factor; Bob multiplies by 1 and writes them all: N digits."
SUM = "digits are the first number; Bob adds zeros and writes them all: N digits."
STATEMENTS: dict[type[Task], str] = {
    addition.Subtraction: "digits are the first number; Bob subtracts 0 and writes all of them: N digits are needed.",
    addition.Multiplication: FACTOR,
    addition.LongMultiplication: FACTOR,
    addition.MultiOperandAddition: SUM,
    addition.RunningSums: SUM,
    addition.TuringAddition: "digits are the first number; Bob writes all but the last into the first tape: N digits.",
    parity.BitwiseOr: "bits are the first string; Bob's are zeros, and he writes all of hers: N bits are needed.",
    copying.StackManipulation: "bits are the first stack; Bob adds no action and writes them all: N bits are needed.",
    counting.SquareRoot: "bits are the upper half; Bob appends zeros, and the root determines them: N bits are needed.",
    counting.Minesweeper: "fields are the upper half of the board; Bob writes which of them are mines.",
}
"""Communication bounds, after "Alice's": what Bob can write needs more of Alice than the logarithm of the length."""

BOUNDED = "the number of {} bounds the length, so that no program for all lengths is asked for"
OPEN: dict[type[Task], str] = {
    addition.HintedAddition: BOUNDED.format("hints"),
    recoupled.TaskHinting: "a hint adds training data and does not change the question; predict the task itself",
    modular.BracketedArithmetic: "no bound is known to us, and no program",
    modular.SolveEquation: "no bound is known to us, and no program",
    copying.MissingDuplicate: "one bit of Alice's suffices, the parity of her string: communication excludes nothing",
    recall.PointerValueRetrieval: BOUNDED.format("pointers"),
    counting.Histogram: BOUNDED.format("counts"),
    recall.Lego: BOUNDED.format("variables"),
}
"""Tasks for which we know neither a program nor a reason that there is none."""


def _cycle_of(size: int, about: str) -> Iterable[Evidence]:
    """Words with a number of ones that is a multiple of ``size``, a slice of the task."""
    return language_evidence(f"(0*{'10*' * size})*0*", about)


def _few(task: Task, most: int) -> tuple[str, ...]:
    """The first symbols of a task."""
    return task.vocab.tokens[4 : 4 + most]


def _written_out(template: str, name: str, key: str, symbols: Sequence[str]) -> list[Evidence]:
    """A program that is written out for these symbols."""
    return [template_evidence(template, name, for_symbols(len(symbols)), **{key: symbols})]


def _traced(task: Traced) -> list[Evidence]:
    """An answer alone is that of the task; signposts bound the length, and of a wrong trace nothing is known to us."""
    if task.trace == "none" and isinstance(task.task, Language):
        return list(_language(task.task, STATE if task.task.ask == "state" else "eos"))
    if task.trace == "none":
        return evidence(task.task)
    return [communication(TRACES)] if task.trace in ("states", "changes") and task.unrolled.branches else []


def _group_words(task: modular.GroupWords) -> Iterable[Evidence]:
    if task.scratchpad:
        return [communication(TRACES)]
    return _cycle_of(2, "powers of an element of order two that are the identity")


def _repeats(task: copying.Duplicate | copying.OddsFirst) -> Iterator[Evidence]:
    if task.symbols == "repeats":
        yield communication("Alice's symbols are the string; Bob writes them all: N symbols are needed.")


def _needle(task: recall.Needle) -> list[Evidence]:
    noise = list(_few(task, min(task.noise, 2)))
    return [_pairs("needle", "one hop after another", task.keys, noise=noise, hops=task.hops)]


def _pairs(template: str, name: str, most: int, **values: Any) -> Evidence:
    """A program that is written out for at most five keys and values."""
    count = min(most, 5)
    pairs = {"keys": [f"k{i}" for i in range(count)], "values": [f"v{i}" for i in range(count)]}
    return template_evidence(template, name, f"for {count} keys and values; {SCHEME}", **pairs, **values)


DEFINING = ("write", "answer", "layout", "vocab", "batch", "lengths", "min_length", "max_length")
"""The members of a task's class that determine its strings and answers."""


def evidence(task: Task) -> list[Evidence]:
    """All evidence on ``task`` in its configuration."""
    for kind in type(task).__mro__:
        known = SUITES.get(kind)
        if known is not None and _defines_the_same(type(task), kind):
            return list(known(task))
    return list(_by_machine(task))


def _by_machine(task: Task) -> tuple[Evidence, ...]:
    """Of a task with a machine of few states, each with one of two answers: of which words it says the second one."""
    if (machine := task.machine()) is None:
        return ()
    found = Unrolled(machine, MOST_STATES)
    if found.longest is not None or len(found.outputs) != 2 or (found.answers < 0).any() or (found.delta < 0).any():
        return ()
    delta = tuple(tuple(map(int, row)) for row in found.delta)
    dfa = Dfa(machine.alphabet, delta, tuple(map(bool, found.answers)))
    return language_evidence(dfa, f"the words with the answer {found.outputs[1]}", end="eos")


def evidence_on_format(task: Task) -> list[Evidence]:
    """`evidence`, which is on membership; for a regular language on what the task asks: next symbols, or states.

    Where membership and next symbols have the same answer, the evidence on membership stays: it has a certificate.
    """
    known = evidence(task)
    if not isinstance(task, Language) or task.automaton() is None or not _defines_the_same(type(task), Language):
        return known
    if task.ask == "member":
        return known
    if task.ask == "state":
        return list(_language(task, STATE))
    member = {item.fragment: item for item in known}
    own = {item.fragment: item for item in _language(task, NEXT)}
    answers = {fragment: item.argument.answer for fragment, item in member.items()}
    return [member[f] if answers.get(f) == item.argument.answer else item for f, item in own.items()]


def _defines_the_same(derived: type[Task], known: type[Task]) -> bool:
    """Whether evidence on a class holds for a derived class: one of ours, or one with the same strings and answers."""
    ours = derived.__module__.partition(".")[0] == __name__.partition(".")[0]
    return ours or all(getattr(derived, name) is getattr(known, name) for name in DEFINING)


def _majority(task: counting.Majority) -> Iterator[Evidence]:
    # Acceptance of the program is the answer 1 here; with letters, 26 are the default and the library's.
    if task.letters in (2, 26):
        yield library_evidence("bin_majority" if task.letters == 2 else "majority")
    else:
        yield library_evidence("majority-3", for_symbols(3))


def _copy(task: copying.Copy) -> Iterator[Evidence]:
    if task.symbols == "distinct":
        yield library_evidence("unique_copy", for_symbols(7))
        yield no_for_nope("copying distinct symbols")
    else:
        yield fooling_set("repeat_copy")


def _reverse(task: copying.Reverse) -> Iterator[Evidence]:
    if task.symbols == "distinct":
        yield library_evidence("unique_reverse", for_symbols(7))
        yield no_for_nope("reversing distinct symbols", LATER)
    else:
        yield communication("Alice's symbols are the word to reverse; Bob writes them all: N bits are needed.")


def _interleaved(task: counting.BinMajorityInterleave) -> Iterator[Evidence]:
    note = "" if task.period == 3 else "for 3 streams; the scheme is the same for any number"
    yield library_evidence("bin_majority_interleave", note)
    if task.period > 1:
        yield no_for_nope("majorities of interleaved streams")


def _sparse_parity(task: parity.SparseParity) -> Iterator[Evidence]:
    most = max((task.k_max, *task.k_test))
    counts = range(1, most + 1, 2)
    yield template_evidence("marked_ones", f"counting up to {most} marked ones", counts=counts, query=parity.QUERY)


def _planted(task: planted.PlantedTask) -> Iterator[Evidence]:
    # A symmetric g* of k bits is a function of the number of marked ones; a lookup may depend on their order.
    if task.values != 2 or isinstance(task.label, planted.Lookup):
        return
    labels = [int(task.label(np.array([1] * ones + [0] * (task.k - ones)))) for ones in range(task.k + 1)]
    if set(labels) != {0, 1}:
        return
    counts = [ones for ones, label in enumerate(labels) if label]
    yield template_evidence("marked_ones", f"counting up to {task.k} marked ones", counts=counts, query=parity.QUERY)


def _look_back(task: copying.LookBack) -> Iterator[Evidence]:
    note = for_symbols(len(SYMBOLS))
    yield template_evidence(
        "look_back", f"induction {task.t} back", note, symbols=SYMBOLS, t=task.t, filler=copying.FILLER
    )
    yield no_for_nope("looking back a fixed distance")


def _retrieval(task: recall.Retrieval) -> Iterator[Evidence]:
    symbols = [symbol for symbol in task.vocab.tokens if task.vocab[symbol] >= 4 and symbol != recall.MARKER]
    values = {"symbols": symbols, "side": task.side, "marker": recall.MARKER}
    yield template_evidence("retrieval", "the marker's neighbour", **values)
    yield no_for_nope("the neighbour of a unique token", LATER)


def _variable_assignment(task: assignment.VariableAssignment) -> Iterator[Evidence]:
    if task.scratchpad:
        note = f"for {len(NAMES)} names and {len(VALUES)} values; {SCHEME}"
        values = {
            "names": NAMES,
            "values": VALUES,
            "separators": task.separators,
            "query": assignment.QUERY,
            "end": assignment.LINE_END,
        }
        yield template_evidence("variable_assignment", "looking up line by line", note, **values)


def _language(task: Language, end: str = "visible") -> Iterator[Evidence]:
    if task.language in COUNTER_LANGUAGES:
        program = {"a^nb^n": "a^n b^n", "a^nb^nc^n": "a^n b^n c^n"}.get(task.language, task.language)
        yield library_evidence(program)
    elif task.language in LANGUAGES:
        named = LANGUAGES[task.language]
        yield from language_evidence(named.source, task.language, alphabet=named.alphabet, end=end)
    else:
        yield from language_evidence(task.language, alphabet=task.alphabet, end=end)


def _induction(_: recall.Induction) -> Iterator[Evidence]:
    yield from _written_out("induction", "induction head", "symbols", SYMBOLS)
    yield no_for_nope("induction", LATER)


REGULAR: dict[type[Task], tuple[str, str]] = {
    parity.EvenPairs: ("0|1|0(0|1)*0|1(0|1)*1", "the words whose first and last bit agree"),
    parity.Parity: ("(0*10*1)*0*", "the even words"),
}
"""Tasks that ask for membership in a regular language: the expression, and what it is."""


SUITES: dict[type[Task], Callable[..., Iterable[Evidence]]] = {
    **dict.fromkeys(STATEMENTS, lambda task: [communication(f"Alice's {STATEMENTS[type(task)]}")]),
    **dict.fromkeys(OPEN, lambda _: []),
    **dict.fromkeys(REGULAR, lambda task: language_evidence(*REGULAR[type(task)])),
    modular.ModularArithmetic: lambda task: _cycle_of(task.modulus, "sums of zeros and ones that are 0"),
    modular.CycleNavigation: lambda task: _cycle_of(task.size, "moves to the right that lead back"),
    modular.GroupWords: _group_words,
    copying.Duplicate: _repeats,
    copying.OddsFirst: _repeats,
    copying.BucketSort: lambda task: [
        template_evidence("bucket_sort", "counting each letter", symbols=task.vocab.tokens[4:])
    ],
    counting.Counting: lambda task: _written_out("counting", "successors", "numbers", _few(task, min(task.numbers, 7))),
    counting.Successor: lambda t: _written_out(
        "successor", "the larger symbols", "symbols", _few(t, min(t.letters, SMALL))
    ),
    copying.UniqueBigramCopy: lambda t: _written_out(
        "bigram_copy", "the last two symbols", "symbols", _few(t, min(t.letters, SMALL))
    ),
    recall.Needle: _needle,
    recall.MultiQueryRecall: lambda t: [_pairs("recall", f"the key {t.queries} back", t.keys, queries=t.queries)],
    counting.Majority: _majority,
    copying.Copy: _copy,
    copying.Reverse: _reverse,
    Traced: _traced,
    StateScratchpad: lambda task: _traced(task.traced),
    parity.ParityScratchpad: lambda _: [communication(PARITIES)],
    addition.Addition: lambda _: [communication(DIGITS)],
    addition.BinaryAddition: lambda _: [fooling_set("addition")],
    counting.BinMajorityInterleave: _interleaved,
    copying.Sort: lambda _: [library_evidence("sort", for_symbols(7))],
    parity.SparseParity: _sparse_parity,
    planted.PlantedTask: _planted,
    copying.LookBack: _look_back,
    recall.Retrieval: _retrieval,
    recall.Induction: _induction,
    recall.FlipFlop: lambda _: language_evidence(
        "[abe]*be*", "the last write, as a language with neutral symbols", end="eos"
    ),
    assignment.VariableAssignment: _variable_assignment,
    Language: _language,
}
"""How the evidence on a task of these classes is made; a derived class with rules of its own comes first."""
