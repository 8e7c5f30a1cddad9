"""Verdicts: what theory says of a target under a kind of positions, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from lengthwise.core.config import fields_of
from lengthwise.core.table import Table, Tabular
from lengthwise.crasp.decide import NEXT, Answer, Decision, decide
from lengthwise.languages.automaton import Dfa

Basis = Literal["proved", "ours", "cited", "evidence"]
"""``proved``: a construction that runs; ``ours``: our unreviewed proof; ``cited``: published; ``evidence``: seen."""
STRONGEST: tuple[Basis, ...] = ("proved", "cited", "ours", "evidence")
"""The bases, the strongest first."""

SHOWN: dict[Answer, str] = {"yes": "yes", "no": "no guarantee", "unknown": "unknown"}
"""What a reader sees of an answer."""

SPARSE_IF = "sparse if the ids can be predicted"
UNMET = f"{SPARSE_IF}, and no rule for that is known"
"""What a reader sees of a *yes* whose condition is not known to hold, in short and in full."""
CONDITION = ". condition: "
"""What stands between theory's reasons and their condition."""

NO_ARGUMENT = "no argument from few and near tokens for each step (sparsity and locality) applies"
"""Why theory says nothing where a program is not known to exist, nor known not to."""
CAVEATS = (
    "yes: possible, a program does it at every length, so an idealized learner generalizes; training may miss it, and "
    "no training length follows",
    "no: no program that such a model can run does it at every length; a given model may still do well at some",
    "basis: proved, by a construction that runs; ours, our own proof, unreviewed; cited, published; evidence, seen",
    "sparsity and locality (each step needs few and near tokens) can give a yes, never a no",
    "the words of theory, such as window, period and communication bound: docs/concepts.md#theory",
)


def caveats(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """What the words of these verdicts mean, without those that none of them has."""
    answers = {verdict.answer for verdict in verdicts}
    unsaid = ({"yes", "no"} - answers) | ({"sparsity and locality"} if not answers else set())
    return tuple(line for line in CAVEATS if not line.startswith(tuple(unsaid)))


@dataclass(frozen=True)
class Argument:
    """One reason for an answer: its basis, its text, and a certificate as plain JSON values."""

    answer: Literal["yes", "no"]
    basis: Basis
    why: str
    certificate: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """The answer for one position system, combined from all arguments that cover it."""

    system: str
    scheme: str
    encoding: str
    fragment: str | None
    """The fragment of C-RASP that corresponds to the encoding; None without a theorem."""
    arguments: tuple[Argument, ...]
    help: str = ""
    """Changes that give a guarantee, where there is none."""
    source: str = ""
    """The theorem that links the encoding to its fragment."""
    condition: str = ""
    """What a *yes* presupposes beyond the encoding, such as the rule for predicted ids; empty for no condition."""
    next_symbols: Answer | None = None
    """Of a regular language, whether next symbols can be predicted, which is easier than membership; else None."""
    limit: str = ""
    """Why an argument does not hold, where there is one but for that: a setting, or what near tokens do not tell."""

    @property
    def answer(self) -> Answer:
        """*yes* or *no* if all arguments agree; *unknown* without arguments or if they disagree."""
        answers: set[Answer] = {argument.answer for argument in self.arguments}
        return answers.pop() if len(answers) == 1 else "unknown"

    @property
    def basis(self) -> Basis | None:
        """The strongest basis among the arguments; None for *unknown*."""
        if self.answer == "unknown":
            return None
        return min(self.arguments, key=lambda argument: STRONGEST.index(argument.basis)).basis

    @property
    def unmet(self) -> bool:
        """Whether the condition of a *yes* is not known to hold: no rule was found for some of the predicted ids."""
        rules = [a.certificate["id_rule"] for a in self.arguments if "id_rule" in a.certificate]
        return self.answer == "yes" and any(rule["missing"] > 0 for rule in rules)

    @property
    def short(self) -> str:
        """*yes*, *no*, *unknown*, or *unmet*: a *yes* of which `unmet` is true."""
        return "unmet" if self.unmet else self.answer

    @property
    def shown(self) -> str:
        """The answer as a reader sees it, with whether it has a condition."""
        if self.unmet:
            return UNMET
        return SHOWN[self.answer] + ", on a condition" * bool(self.answer == "yes" and self.condition)

    @property
    def in_theory(self) -> str:
        """The reasons with the condition."""
        why = self.why.removeprefix("no guarantee: ")
        return f"{why}{CONDITION}{self.condition}" if self.condition else why

    @property
    def why(self) -> str:
        """The reasons as one text."""
        if not self.arguments and not self.scheme:
            return "nothing that is known here decides it for this model"
        if not self.arguments and self.limit:
            return self.limit
        if not self.arguments and self.fragment is None:
            return f"no theorem covers such ids, and {NO_ARGUMENT}"
        if not self.arguments:
            return f"no program is known that does it, and no proof that there is none; {NO_ARGUMENT}"
        answers = {argument.answer for argument in self.arguments}
        prefix = "arguments disagree: " if len(answers) > 1 else ""
        return prefix + "; ".join(argument.why for argument in self.arguments)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            **fields_of(self),
            "answer": self.answer,
            "basis": self.basis,
            "why": self.why,
            "certificate": next((dict(a.certificate) for a in self.arguments if a.certificate), None),
        }


@dataclass(frozen=True)
class StructureRow:
    """Sparsity and span at several lengths under one scheme, for parents, selectors, and both together."""

    scheme: str
    lengths: tuple[int, ...]
    sparsity: tuple[int, ...]
    span: tuple[int, ...]
    selectors: tuple[int, ...] = ()
    selector_span: tuple[int, ...] = ()
    both: tuple[int, ...] = ()
    both_span: tuple[int, ...] = ()
    levels: int = 1
    """Levels of positions; with several, a span is the distance on the level where it is largest."""

    @property
    def sparse(self) -> bool:
        """Whether the sparsity is the same at all lengths."""
        return len(set(self.sparsity)) == 1

    @property
    def local(self) -> bool:
        """Whether the span of the parents is the same at all lengths."""
        return len(set(self.span)) == 1


@dataclass(frozen=True, repr=False)
class Prediction(Tabular):
    """The prediction for one target: verdicts, structure, and an example of the dependencies."""

    target: str
    kind: Literal["task", "language", "program", "examples"]
    summary: str
    verdicts: tuple[Verdict, ...]
    structure: tuple[StructureRow, ...] = ()
    depends: tuple[str, ...] = ()
    """The lines of one example: each predicted token with the tokens on which it depends."""
    searched: tuple[str, ...] = ()
    """What was searched for a task about which nothing is known, a line each."""
    models: tuple[Verdict, ...] = ()
    """Verdicts for models without attention, which have no position system."""

    def table(self) -> Table:
        """A row for the systems of which theory says the same; below it what was searched and what the words mean."""
        said = dict[tuple[Any, ...], list[str]]()
        for v in self.verdicts:
            said.setdefault((v.shown, v.basis, v.in_theory), []).append(v.system)
        rows = tuple((", ".join(names), *same) for same, names in said.items())
        notes = (*self.searched, *caveats(self.verdicts))
        asked = "membership generalizes?" if self.kind == "language" else "generalizes?"
        columns = ("positions", asked, "basis", "why")
        caption = f"{self.target}: {self.summary}"
        return Table(columns, rows, caption=caption, notes=notes, sentences=("why",))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        verdicts = [verdict.to_json() for verdict in self.verdicts]
        models = [verdict.to_json() for verdict in self.models]
        return {**fields_of(self), "verdicts": verdicts, "models": models, "caveats": list(caveats(self.verdicts))}


def answers_by_fragment(decision: Decision) -> dict[str, str]:
    """Of the language of a decision: for each fragment, whether the next symbols of its words can be predicted."""
    found = decide(decision.dfa, ends=[NEXT], bounds=decision.bounds)
    return {fragment: answers[NEXT].verdict for fragment, answers in found.fragments.items()}


def with_next_symbols(verdicts: Iterable[Verdict], source: str | Dfa) -> tuple[Verdict, ...]:
    """The verdicts on a language with those on its next symbols, where the position system has a fragment.

    Raises `LengthwiseError` for an expression that can't be read.
    """
    decision = decide(source, ends=[NEXT])
    return tuple(
        v if v.fragment is None else replace(v, next_symbols=decision.verdict(v.fragment, NEXT).verdict)
        for v in verdicts
    )


def note_on(verdicts: Iterable[Verdict]) -> str:
    """A sentence on the position systems that get a *yes* for next symbols alone; empty if there are none."""
    gained = ", ".join(v.system for v in verdicts if v.next_symbols == "yes" and v.answer != "yes")
    easier = f"yes for {gained} where only the next symbols of its words are predicted, which is easier"
    return easier * bool(gained)
