"""Training all unfinished seeds of an experiment as one stack; each ends as if it had been trained in its directory."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from lengthwise.core.config import digest
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import locked
from lengthwise.experiments.events import Report, silent
from lengthwise.experiments.run import train
from lengthwise.experiments.run_config import RESULT_FORMAT, RunConfig
from lengthwise.experiments.run_directory import claim_run_dir, finished, run_directory


def train_seeds(
    experiment: RunConfig, seeds: Sequence[int], out: Path, *, recipe: str, report: Report = silent
) -> dict[int, str]:
    """Train those of ``seeds`` whose run directories hold no result and no checkpoint, as one stack.

    Each leaves an ordinary checkpoint of a finished training in its own directory, from which `run_seed` goes on to
    measure it. An interrupted stack goes on with all of its own seeds, bit-identically, from a directory that is
    removed at the end; what it does not hold is trained as another stack.

    Returns what there is to say of seeds that diverged. Raises `LengthwiseError` when the experiment is not
    ``stacked``.
    """
    if not experiment.training.stacked:
        raise LengthwiseError("these seeds don't share a schedule of lengths; set training.stacked to true")
    # A seed that was started alone goes on alone.
    fresh = [seed for seed in seeds if not _started(experiment, seed, out, recipe)]
    failures: dict[int, str] = {}
    while fresh:
        for seed in fresh:
            claim_run_dir(run_directory(out, recipe, experiment, seed), experiment, seed)
        folder, ended = _stack(experiment, fresh, out / recipe)
        run_folders = {}
        for seed, done in ended.items():
            own = run_directory(out, recipe, experiment, seed)
            # A seed of an interrupted stack that was trained alone since keeps what it has.
            run_folders[seed] = own if done or not _started(experiment, seed, out, recipe) else folder / f"seed-{seed}"
        failures |= _train(experiment, run_folders, folder, report)
        fresh = [seed for seed in fresh if seed not in ended]
    return failures


def _train(experiment: RunConfig, run_folders: dict[int, Path], folder: Path, report: Report) -> dict[int, str]:
    """Train a stack of the seeds with these run folders to its end; returns what to say of those that diverged."""
    folder.mkdir(exist_ok=True)
    with locked(folder):
        states = train(experiment, list(run_folders), folder, report, list(run_folders.values()))
    shutil.rmtree(folder, ignore_errors=True)
    return {state.run.seed: state.failure for state in states if state.failure is not None}


def _stack(experiment: RunConfig, fresh: Sequence[int], root: Path) -> tuple[Path, dict[int, bool]]:
    """The folder of a stack, and for each of its seeds whether it has ended: an interrupted one that holds any of
    ``fresh``, or a new one of these.
    """
    from lengthwise.training import checkpoint

    for folder in stack_folders(experiment, root):
        if (found := checkpoint.read(folder)) is None:
            continue
        ended = {run.seed: own.done for run, own in zip(found[1].runs, found[1].progress, strict=True)}
        if set(ended) & set(fresh):
            return folder, ended
    return root / f"stack-{_names(experiment)[0]}-{min(fresh)}", dict.fromkeys(fresh, False)


def stack_folders(experiment: RunConfig, root: Path) -> list[Path]:
    """The folders of interrupted stacks of an experiment."""
    return [folder for name in _names(experiment) for folder in sorted(root.glob(f"stack-{name}-*/"))]


def _names(experiment: RunConfig) -> tuple[str, str]:
    """What names its stacks; the second is by the rule before this one."""
    key = {"format": RESULT_FORMAT}
    return digest({**key, **experiment.described()}), digest({**key, "experiment": experiment.to_json()})


def _started(experiment: RunConfig, seed: int, out: Path, recipe: str) -> bool:
    """Whether a run directory holds a result, or the checkpoint of a training (maybe not yet at its end)."""
    folder = run_directory(out, recipe, experiment, seed)
    return finished(folder, experiment, seed) is not None or any(folder.glob("checkpoint*.safetensors"))
