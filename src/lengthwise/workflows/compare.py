"""Compares the position systems on one task: training, ranking, and what theory and structure say beside it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lengthwise.core.config import fields_of
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import write_json, write_text
from lengthwise.experiments.compare import (
    DEFAULT_BUDGET,
    MAX_LENGTH,
    REACH,
    Budget,
    Plan,
    differ_in_every_seed,
    ranked,
    run_comparison,
)
from lengthwise.experiments.events import Progress, unwatched
from lengthwise.experiments.execute import Executor
from lengthwise.experiments.provenance import provenance
from lengthwise.positions.schemes import PositionScheme, Sequential
from lengthwise.prediction.predict import predict_task, structure_row
from lengthwise.prediction.verdict import SHOWN, SYSTEMS, Prediction
from lengthwise.report.figures import draw_comparison
from lengthwise.report.pages import comparison_page
from lengthwise.tasks import Task

RESULT, PICTURE, PAGE = "comparison.json", "comparison.svg", "comparison.html"


@dataclass(frozen=True)
class ComparisonRun:
    """The outcome of a comparison as plain JSON values, and the folder where it is."""

    values: dict[str, Any]
    folder: Path

    @property
    def page(self) -> Path:
        """The page, with picture, table and settings."""
        return self.folder / PAGE

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per system, best first."""
        return self.values["systems"]


def compare(
    task: Task,
    folder: Path,
    *,
    systems: Sequence[str] = (),
    budget: Budget = DEFAULT_BUDGET,
    max_length: int = MAX_LENGTH,
    on: Executor | None = None,
    progress: Progress = unwatched,
) -> ComparisonRun:
    """Train and rank the systems; writes ``comparison.json``, ``comparison.svg`` and ``comparison.html``.

    Raises `LengthwiseError` as `run_comparison` does.
    """
    plan = run_comparison(
        task, folder, systems=systems, budget=budget, max_length=max_length, on=on, progress=progress
    )  # fmt: skip
    return gathered(task, plan, folder, budget)


def gathered(task: Task, plan: Plan, folder: Path, budget: Budget) -> ComparisonRun:
    """The comparison from the files of a folder, with the verdict and the structure of every system."""
    rows = ranked(folder, plan)
    prediction = predict_task(task)
    for row in rows:
        scheme = plan.experiment(plan.system(row["system"]), plan.grid[0]).scheme
        row |= explained(prediction, row["scheme"], row["encoding"]) | structure_under(prediction, task, scheme)
    values = {
        "task": plan.task,
        "name": task.name,
        "trained_to": plan.max_length,
        "tests": list(plan.tests),
        "reach_at": REACH,
        "steps": plan.steps,
        "seeds": plan.seeds,
        "budget_seconds": budget.seconds,
        "jobs": budget.jobs,
        "grid": [fields_of(setting) for setting in plan.grid],
        "systems": rows,
        "top_and_bottom_differ_in_every_seed": differ_in_every_seed(rows),
        **provenance("cpu"),
    }
    write_json(folder / RESULT, values)
    figure = draw_comparison(values)
    if figure is not None:
        write_text(folder / PICTURE, figure.svg())
    write_text(folder / PAGE, comparison_page(values))
    return ComparisonRun(values, folder)


def explained(prediction: Prediction, scheme: str, encoding: str) -> dict[str, Any]:
    """The verdict for a system and its reason; None where theory says nothing."""
    scheme_name, random_start = ("sequential", True) if scheme == "random-start" else (scheme, False)
    wanted = {"name": scheme_name, **({"random_start": True} if random_start else {})}
    name = next((s.name for s in SYSTEMS if s.scheme == wanted and s.encoding == encoding), None)
    verdict = next((v for v in prediction.verdicts if v.system == name), None)
    return {
        "verdict": None if verdict is None else SHOWN[verdict.answer],
        "why": None if verdict is None else verdict.why,
    }


def structure_under(prediction: Prediction, task: Task, scheme: PositionScheme) -> dict[str, Any]:
    """The sparsity and span under the ids of a scheme; None without parents, and without room for ids."""
    same = (
        "coupled" if scheme.equals_places else "sequential" if isinstance(scheme.for_evaluation(), Sequential) else ""
    )
    row = next((row for row in prediction.structure if row.scheme == same), None)
    if row is None and prediction.structure:
        with suppress(LengthwiseError):
            row = structure_row(task, scheme)
    return {
        "sparsity": None if row is None else list(row.sparsity),
        "span": None if row is None else list(row.span),
        "structure_lengths": None if row is None else list(row.lengths),
    }
