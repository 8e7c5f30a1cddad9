"""What a prediction is: an answer per position system, by an argument, with a certificate that a person can check.

"No" always means *no guarantee*: no program exists, or a communication bound excludes one. It never means that a model
can't learn the task. "Yes" speaks of idealized learners; no training length follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lengthwise.core.table import Table, Tabular

Answer = Literal["yes", "no", "unknown"]
Basis = Literal["proved", "ours", "cited", "evidence"]
"""``proved``: a construction that is run; ``ours``: our proof, unreviewed; ``cited``: published; ``evidence``: seen."""

SHOWN: dict[Answer, str] = {"yes": "yes", "no": "no guarantee", "unknown": "unknown"}
"""What a reader sees of an answer."""

CAVEATS = (
    "yes: an idealized learner generalizes; no training length follows (none is computable from depth 2 on)",
    "no: no guarantee (no program exists, or a communication bound); a given model may still do well",
    "sparsity and locality are sufficient conditions: they can give a yes, never a no",
)


@dataclass(frozen=True)
class Argument:
    """One reason, for the position systems that it covers."""

    answer: Literal["yes", "no"]
    basis: Basis
    why: str
    certificate: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"answer": self.answer, "basis": self.basis, "why": self.why, "certificate": dict(self.certificate)}


@dataclass(frozen=True)
class Verdict:
    """The answer for one position system, joined from all arguments that cover it."""

    system: str
    scheme: str
    encoding: str
    fragment: str | None
    """The fragment of C-RASP that the encoding stands for; None where no theorem says."""
    arguments: tuple[Argument, ...]
    help: str = ""
    """What would help, where there is no guarantee."""
    source: str = ""
    """Why the encoding stands for its fragment."""

    @property
    def answer(self) -> Answer:
        """Yes or no if all arguments agree; unknown if there is none, or if they contradict each other."""
        answers: set[Answer] = {argument.answer for argument in self.arguments}
        return answers.pop() if len(answers) == 1 else "unknown"

    @property
    def basis(self) -> Basis | None:
        """The strongest basis among the arguments; None without a decided answer."""
        if self.answer == "unknown":
            return None
        order: tuple[Basis, ...] = ("proved", "cited", "ours", "evidence")
        return order[min(order.index(argument.basis) for argument in self.arguments)]

    @property
    def why(self) -> str:
        """The reasons, strongest first."""
        if not self.arguments and self.fragment is None:
            return "no theorem covers this scheme, and no argument from sparsity and locality applies"
        if not self.arguments:
            return "no program is known and none is excluded; no argument from sparsity and locality applies"
        answers = {argument.answer for argument in self.arguments}
        prefix = "arguments disagree: " if len(answers) > 1 else ""
        return prefix + "; ".join(argument.why for argument in self.arguments)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "system": self.system,
            "scheme": self.scheme,
            "encoding": self.encoding,
            "fragment": self.fragment,
            "answer": self.answer,
            "basis": self.basis,
            "why": self.why,
            "help": self.help,
            "source": self.source,
            "certificate": next((dict(a.certificate) for a in self.arguments if a.certificate), None),
            "arguments": [argument.to_json() for argument in self.arguments],
        }


@dataclass(frozen=True)
class StructureRow:
    """Sparsity and span at several lengths under one scheme."""

    scheme: str
    lengths: tuple[int, ...]
    sparsity: tuple[int, ...]
    span: tuple[int, ...]

    @property
    def sparse(self) -> bool:
        """Whether the number of parents stays the same."""
        return len(set(self.sparsity)) == 1

    @property
    def local(self) -> bool:
        """Whether the span stays the same."""
        return len(set(self.span)) == 1


@dataclass(frozen=True, repr=False)
class Prediction(Tabular):
    """Everything that is known of one target."""

    target: str
    kind: Literal["task", "language", "program", "examples"]
    summary: str
    verdicts: tuple[Verdict, ...]
    structure: tuple[StructureRow, ...] = ()
    depends: tuple[str, ...] = ()
    """One worked example, line by line: which tokens each predicted token depends on."""
    communication: str = ""
    measured: tuple[str, ...] = ()

    def table(self) -> Table:
        """One row per position system; below it the structure, the measurements and what the words mean."""
        rows = tuple((v.system, SHOWN[v.answer], v.basis, v.why.removeprefix("no guarantee: ")) for v in self.verdicts)
        structure = tuple(
            f"{row.scheme} ids: k = {row.sparsity}, span = {row.span} at lengths {row.lengths}"
            for row in self.structure
        )
        notes = (*structure, *(f"measured: {line}" for line in self.measured), *CAVEATS)
        columns = ("positions", "generalizes?", "basis", "why")
        return Table(columns, rows, caption=f"{self.target}: {self.summary}", notes=notes)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "target": self.target,
            "kind": self.kind,
            "summary": self.summary,
            "structure": [
                {"scheme": r.scheme, "lengths": list(r.lengths), "sparsity": list(r.sparsity), "span": list(r.span)}
                for r in self.structure
            ],
            "depends": list(self.depends),
            "communication": self.communication,
            "measured": list(self.measured),
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
            "caveats": list(CAVEATS),
        }
