"""What theory and structure say of a target: `predict`, `decide`, `structure` and `show`. No training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lengthwise.api.components import scheme as build_scheme
from lengthwise.api.components import task as build_task
from lengthwise.core import config as arguments
from lengthwise.core.table import Table, Tabular
from lengthwise.crasp.decide import Decision
from lengthwise.positions.schemes import PositionScheme
from lengthwise.prediction.example import Example, structure_table
from lengthwise.tasks import Task

if TYPE_CHECKING:
    from lengthwise.prediction.verdict import Prediction
    from lengthwise.report.figures import Drawing

FRAGMENT_OF = {"nope": "none", "alibi": "local", "rope": "periodic", "sinusoidal": "periodic"}
"""The fragment of C-RASP that stands for an encoding, where their names differ."""
FRAGMENT_NAMES = {
    "none": "C-RASP (no positions)",
    "local": "C-RASP[local] (windows)",
    "periodic": "C-RASP[periodic]",
    "ape": "C-RASP[periodic, local]",
}


def predict(target: str | Task, systems: Sequence[str] | None = None) -> Prediction:
    """What theory guarantees for a target under each position system, and what was measured.

    ``target`` is a task's name, a `Task`, ``"regex:(ab)*"``, ``"path/to/file.py:Class"``, a program file (``.crasp``)
    or a file of examples (``.jsonl``); ``systems`` are names such as ``"nope"`` or ``"rope"``, all by default.
    Raises `LengthwiseError` for a target or a system that is unknown.
    """
    from lengthwise.prediction.predict import predict as predict_text
    from lengthwise.prediction.predict import predict_with_search
    from lengthwise.prediction.verdict import position_systems

    names = arguments.names("systems", () if systems is None else systems)
    return (
        predict_text(target, names)
        if isinstance(target, str)
        else predict_with_search(build_task(target), position_systems(names))
    )


class Certificate(Tabular):
    """The reason behind one verdict of `decide`: a value that separate code has checked."""

    def __init__(self, values: dict[str, Any], lines: Sequence[str]) -> None:
        self.values, self.lines = values, tuple(lines)

    def table(self) -> Table:
        """The argument, a sentence a row."""
        head = f"{self.values['fragment']}, {self.values['end']}: {self.values['answer']}"
        return Table(("argument",), tuple((line,) for line in self.lines), caption=head)


class Decided(Tabular):
    """The decision whether a regular language is in C-RASP, fragment by fragment."""

    def __init__(self, expression: str, decision: Decision) -> None:
        self.expression, self.decision = expression, decision

    def table(self) -> Table:
        """One row per fragment and convention for the end of a word."""
        rows = []
        for fragment in self.decision.fragments:
            for end in self.decision.ends:
                found = self.decision.verdict(fragment, end)
                name = FRAGMENT_NAMES[fragment]
                rows.append((name, end, found.verdict, found.window, found.period, found.basis, found.reason))
        columns = ("fragment", "end", "in it?", "window", "period", "basis", "argument")
        return Table(columns, tuple(rows), caption=self.expression, sentences=("argument",))

    def answer(self, system: str, end: str = "visible") -> str:
        """``yes``, ``no`` or ``unknown`` for a fragment or an encoding (``none``, ``nope``, ``ape``, …)."""
        return self.decision.verdict(FRAGMENT_OF.get(system, system), end).verdict

    def certificate(self, system: str = "ape", end: str = "visible") -> Certificate:
        """The certificate of one answer, checked now by code that shares nothing with the decision.

        Raises `LengthwiseError` where the answer is *unknown*.
        """
        from lengthwise.core.errors import LengthwiseError
        from lengthwise.crasp.certificates import certificate, explain
        from lengthwise.crasp.checker import check

        fragment = FRAGMENT_OF.get(system, system)
        values = certificate(self.decision, fragment, end)
        if values is None:
            raise LengthwiseError(f"{self.expression}: the answer for {system} is unknown, so it has no certificate")
        check(values, self.decision.dfa)
        return Certificate(values, explain(values).splitlines())

    def program(self, system: str = "ape", end: str = "visible") -> str:
        """The text of a C-RASP program behind a *yes*; raises `LengthwiseError` for any other answer."""
        from lengthwise.crasp.extraction import program_of
        from lengthwise.crasp.syntax import to_text

        return to_text(program_of(self.decision, FRAGMENT_OF.get(system, system), end))


def decide(target: str, alphabet: str | None = None) -> Decided:
    """Decide for each fragment of C-RASP whether a regular language is in it.

    ``target`` is what ``lengthwise decide`` takes: ``regex:EXPRESSION``, an expression with an operator, a published
    language such as Tomita-4, or an automaton in ``FILE.json``. Raises `LengthwiseError` for other targets, and for an
    expression that can't be read.
    """
    from lengthwise.crasp.decide import decide as decide_language
    from lengthwise.prediction.target import regular_language

    source, own_alphabet = regular_language(arguments.text("target", target))
    given = None if alphabet is None else arguments.text("alphabet", alphabet)
    return Decided(target, decide_language(source, given or own_alphabet))


class StructureResult(Tabular):
    """Sparsity k and span of one task under one scheme, by length: of parents, of selectors, and of both.

    A row is a length with the three counts, each followed by its span.
    """

    def __init__(
        self,
        task: Task,
        scheme: PositionScheme,
        rows: Sequence[tuple[int, int, int | None, int, int | None, int, int | None]],
    ) -> None:
        self.task, self.scheme, self.rows = task, scheme, tuple(rows)

    @property
    def sparsity(self) -> tuple[int, ...]:
        """The largest number of parents of a scored token, by length."""
        return tuple(row[1] for row in self.rows)

    @property
    def span(self) -> tuple[int | None, ...]:
        """The largest distance to a parent in position ids, by length; None where the scheme has too few ids."""
        return tuple(row[2] for row in self.rows)

    def table(self) -> Table:
        """One row per length; a task whose parents are not chosen by content has no columns for selectors."""
        caption = f"sparsity k and span of {self.task.name} under {self.scheme.name} ids"
        columns = ("length", "k", "span", "selectors", "span of selectors", "both", "span of both")
        width = 7 if any(row[3] for row in self.rows) else 3
        return Table(columns[:width], tuple(row[:width] for row in self.rows), caption=caption)


def structure(
    task: str | Task | dict[str, Any],
    scheme: str | PositionScheme | dict[str, Any] = "sequential",
    lengths: Sequence[int] | None = None,
    seed: int = 0,
) -> StructureResult:
    """How many earlier tokens a predicted token depends on (k), and how far they are in position ids (span).

    It counts parents, selectors (the tokens that choose the parents by content), and both together.

    ``lengths`` are in the task's own unit. Raises `LengthwiseError` for a length without instances.
    """
    built_task, built_scheme = build_task(task), build_scheme(scheme)
    wanted = None if lengths is None else arguments.whole_numbers("lengths", lengths)
    found = structure_table(built_task, wanted, arguments.whole("seed", seed), built_scheme)
    row = next(row for row in found.rows if built_scheme.name in row.schemes)
    selectors, both = (found.selectors, row.selectors), (found.both, row.both)
    columns = zip(found.lengths, found.sparsity, row.spans, *selectors, *both, strict=True)
    return StructureResult(built_task, built_scheme, list(columns))


class Shown(Tabular):
    """One example of a task: tokens, places, position ids and parents."""

    def __init__(self, example: Example) -> None:
        self.example = example

    def table(self) -> Table:
        """One row per token; parents and selectors are positions in the sequence."""
        rows = tuple(
            (
                token.position,
                token.text,
                " ".join(map(str, token.places)),
                " ".join(map(str, token.ids)),
                "yes" if token.scored else "",
                " ".join(map(str, token.parents)),
                " ".join(map(str, token.selectors)),
            )
            for token in self.example.tokens
        )
        columns = ("position", "token", "place", "id", "scored", "parents", "selectors")
        return Table(columns, rows, caption=" ".join(token.text for token in self.example.tokens))

    def _repr_html_(self) -> str:
        return self.plot().svg() + self.table()._repr_html_()

    def plot(self) -> Drawing:
        """The arcs from parents to tokens under plain and under coupled ids, as a matplotlib figure."""
        from lengthwise.report.figures import draw_dependencies

        return draw_dependencies(self.example)


def show(
    task: str | Task | dict[str, Any],
    length: int = 5,
    scheme: str | PositionScheme | dict[str, Any] = "coupled",
    seed: int = 0,
) -> Shown:
    """One example of a task of this length, with the position ids that the scheme gives.

    Raises `LengthwiseError` if the length has no instances or the scheme too few ids.
    """
    from lengthwise.prediction.example import example

    length, seed = arguments.whole("length", length), arguments.whole("seed", seed)
    return Shown(example(build_task(task), build_scheme(scheme), length, seed))
