"""Training all unfinished seeds of an experiment as one stack; each ends as if it had been trained in its directory."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lengthwise.core.config import digest
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import held
from lengthwise.experiments.experiment import RESULT_FORMAT, Experiment
from lengthwise.experiments.run import Report, check_ids, claim, finished, probe, run_directory, run_seed


def train_seeds(
    experiment: Experiment, seeds: Sequence[int], out: Path, *, recipe: str, report: Report | None = None
) -> None:
    """Train those of ``seeds`` whose run directories hold no result and no checkpoint, as one stack.

    Each leaves an ordinary checkpoint of a finished training in its own directory, from which `run_seed` goes on to
    measure it. An interrupted stack resumes bit-identically from a directory of its own, which is removed at the end.

    Raises `LengthwiseError` when the experiment is not ``stacked``, and for a seed that diverged, once the others are
    safe.
    """
    if not experiment.training.stacked:
        raise LengthwiseError("these seeds don't share a schedule of lengths; set training.stacked to true")
    folders = {seed: run_directory(out, recipe, experiment, seed) for seed in seeds}
    # A seed that was started alone goes on alone.
    fresh = [seed for seed in seeds if not _started(folders[seed])]
    if not fresh:
        return
    for seed in fresh:
        claim(folders[seed], experiment, seed)
        check_ids(experiment, seed)
    # Torch is loaded only when something has to be trained.
    from lengthwise.models.device import chosen_device
    from lengthwise.training.parallel import ParallelTrainer

    def measure(model: Any, step: int, seed: int) -> dict[str, Any]:
        return probe(experiment, model, step, seed)

    def on_step(step: int, loss: float) -> None:
        if report is not None:
            report("train", step, experiment.training.steps, loss)

    name = digest({"format": RESULT_FORMAT, "experiment": experiment.to_json(), "seeds": fresh})
    folder = out / recipe / f"stack-{name}"
    folder.mkdir(exist_ok=True)
    with held(folder):
        states = ParallelTrainer(
            experiment.task, experiment.scheme, experiment.encoding, experiment.model, experiment.training, fresh,
            probe=measure, folder=folder, run_folders=[folders[seed] for seed in fresh],
            device=chosen_device(), on_step=on_step,
        ).run()  # fmt: skip
        shutil.rmtree(folder)
    for state in states:
        if state.failure is not None:
            raise LengthwiseError(f"seed {state.run.seed}: {state.failure}")


def run_seeds(
    experiment: Experiment, seeds: Sequence[int], out: Path, *, recipe: str, system: str, report: Report | None = None
) -> list[dict[str, Any]]:
    """Train what is not finished as one stack, then measure each seed; the results in the order of ``seeds``."""
    train_seeds(experiment, seeds, out, recipe=recipe, report=report)
    return [
        run_seed(
            experiment, seed, run_directory(out, recipe, experiment, seed), recipe=recipe, system=system, report=report
        )
        for seed in seeds
    ]


def _started(folder: Path) -> bool:
    """Whether a run directory holds a result, or the checkpoint of a training (maybe not yet at its end)."""
    return finished(folder) is not None or (folder / "checkpoint.safetensors").exists()
