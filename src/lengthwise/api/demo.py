"""The demonstration: theory on one task, then training with coupled and with plain positions, and a page after each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lengthwise.api.experiment import RecipeResult, run
from lengthwise.experiments.recipe import RECIPES, Recipe
from lengthwise.experiments.recipes import COUPLED, PLAIN
from lengthwise.positions.system import position_systems
from lengthwise.prediction.predict import predict_task
from lengthwise.prediction.verdict import CAVEATS, SHOWN
from lengthwise.report.page import write_report

SHOWN_SYSTEMS = {
    "nope": "no positions", "rope": "RoPE", "ape": "plain positions", "coupled+learned": "coupled positions",
}  # fmt: skip
"""The position systems that the first step names, and what they are called there."""


def demo_recipe() -> Recipe:
    """The recipe ``demo``."""
    return RECIPES.make("demo", "quick")


def theory() -> list[str]:
    """What theory says of the demonstration's task: an example, how far its dependencies reach, and the verdicts."""
    task = demo_recipe().jobs[0].experiment.task
    found = predict_task(task, position_systems(list(SHOWN_SYSTEMS)))
    lines = [f"an example: {found.depends[0]}"]
    lines += [f"{row.scheme} ids: {_span(row.lengths, row.span)}" for row in found.structure]
    unknown = [SHOWN_SYSTEMS[verdict.system] for verdict in found.verdicts if verdict.answer == "unknown"]
    lines += [f"{', '.join(unknown)}: unknown"] if unknown else []
    for verdict in found.verdicts:
        if verdict.answer != "unknown":
            reason = verdict.why.removesuffix(" (Corollary C, docs/sparsity.md)").partition(";")[0]
            reason += ")" * (reason.count("(") - reason.count(")"))
            lines.append(f"{SHOWN_SYSTEMS[verdict.system]}: {SHOWN[verdict.answer]}, {reason}")
    return [*lines, CAVEATS[0]]


def differences() -> str:
    """In what the models of the demonstration's systems differ, besides their positions."""
    parts = []
    for job in demo_recipe().jobs:
        made = job.experiment
        layers = f"{made.model.layers} layer{'s' if made.model.layers > 1 else ''}"
        steps = f"{'at most ' if made.training.stop_when_fitted else ''}{made.training.steps:,} steps"
        parts.append(
            f"{job.name}: {layers}, {steps}, attention scaled by the logarithm of length / {made.model.log_length}"
        )
    return "; ".join(parts) + ". The plain one gets more of both, because it fits more slowly"


def _span(lengths: Sequence[int], spans: Sequence[int]) -> str:
    same = f"at most {spans[0]} apart at every length"
    grows = f"up to {spans[0]} apart at {lengths[0]} lines, {spans[-1]} at {lengths[-1]}"
    return f"a token and what it depends on are {same if len(set(spans)) == 1 else grows}"


def train_stage(
    names: Sequence[str], folder: Path, page: Path, *, jobs: int = 1, progress: bool = True
) -> RecipeResult:
    """Train and test these systems of the demonstration, and write the page of all that is there.

    ``folder`` is where run directories go; finished seeds are reused and interrupted ones go on.
    """
    done = run(demo_recipe().selected(list(names), []), out=folder, jobs=jobs, progress=progress)
    write_report([done.folder], page)
    return done


STAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Training with coupled positions, where tokens that belong together share an id (two seeds)", (COUPLED,)),
    ("Training with plain positions, numbered from left to right (two seeds, about a minute)", (COUPLED, PLAIN)),
)
"""What each training stage says first, and the systems whose results it shows; finished ones are reused."""
