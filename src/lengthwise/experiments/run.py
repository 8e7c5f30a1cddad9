"""Running one experiment with one seed, in a directory that resumes and is never run twice."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import held, read_json, write_json
from lengthwise.core.result_file import checked
from lengthwise.core.rng import stream
from lengthwise.evaluation.score import LengthScore, total
from lengthwise.experiments.experiment import RESULT_FORMAT, Experiment
from lengthwise.experiments.provenance import provenance

if TYPE_CHECKING:
    from lengthwise.models.transformer import Transformer

DIVERGED = "diverged.json"

Report = Callable[[str, int, int, float], None]
"""Called with (phase, done, total, number): the loss while training, the accuracy while testing."""


def run_directory(out: Path, recipe: str, experiment: Experiment, seed: int) -> Path:
    """``out/recipe/<hash>``."""
    return out / recipe / experiment.key(seed)


def finished(folder: Path) -> dict[str, Any] | None:
    """The result in a run directory, or None; raises `LengthwiseError` if the file is damaged."""
    path = folder / "result.json"
    return read_result(path) if path.exists() else None


def divergence(folder: Path) -> str | None:
    """What is noted of a training that diverged in this run directory, or None."""
    path = folder / DIVERGED
    return str(read_json(path, what="note of a divergence")) if path.exists() else None


def note_divergence(folder: Path, failure: str) -> None:
    """Note that this training diverges, so that it is not tried again; to delete the directory is to try again."""
    write_json(folder / DIVERGED, failure)


def read_result(path: Path) -> dict[str, Any]:
    """Read a result file; raises `LengthwiseError` if it is damaged or of another format."""
    return checked(read_json(path, what="result file"), f"result file {path}")


def run_seed(
    experiment: Experiment, seed: int, folder: Path, *, recipe: str, system: str, report: Report | None = None
) -> dict[str, Any]:
    """Train and measure, or return the finished result; an interrupted run goes on from its last checkpoint.

    Raises `LengthwiseError` when the directory holds the run of another configuration, or another process works there.
    """
    done = finished(folder)
    if done is not None:
        return done
    claim(folder, experiment, seed)
    with held(folder):
        # Another process may have ended it between the two lines above.
        return finished(folder) or _run_seed(experiment, seed, folder, recipe=recipe, system=system, report=report)


def _run_seed(
    experiment: Experiment, seed: int, folder: Path, *, recipe: str, system: str, report: Report | None
) -> dict[str, Any]:
    # Torch is loaded only when something has to be trained.
    from lengthwise.evaluation import accuracy
    from lengthwise.models.device import chosen_device
    from lengthwise.training.setup import TaskSetup
    from lengthwise.training.trainer import Trainer

    device = chosen_device()
    training, evaluation, task = experiment.training, experiment.evaluation, experiment.task
    check_ids(experiment, seed)

    def on_step(step: int, loss: float) -> None:
        if report is not None:
            report("train", step, training.steps, loss)

    trainer = Trainer(
        TaskSetup(task, experiment.scheme, experiment.encoding, experiment.model), training, [seed],
        probe=partial(probe, experiment), folder=folder, device=device, on_step=on_step,
    )  # fmt: skip
    trainer.run()
    progress = trainer.progress
    in_distribution = fit(experiment, trainer.model, evaluation.fit_samples, seed, "fit")
    fitted = in_distribution.rate() >= evaluation.fit_threshold
    # An unfitted model proves nothing about long lengths, so it is not measured there.
    everywhere = fitted or evaluation.unfitted_too
    lengths = evaluation.lengths if everywhere else tuple(n for n in evaluation.lengths if n <= training.max_length)
    scores = []
    cells = list(accuracy.evaluation_layouts(task, lengths))
    evaluated = accuracy.EvaluatedModel(trainer.model, task, experiment.scheme)
    for index, (length, layout) in enumerate(cells):
        rng = stream(seed, "test", length, str(layout))
        score = accuracy.score_layout(evaluated, length, layout, evaluation.samples, rng)
        scores.append(score)
        if report is not None:
            report("test", index + 1, len(cells), score.rate())
    if everywhere:
        scores += score_bins(experiment, trainer.model, seed, report)
    result = {
        "format": RESULT_FORMAT,
        "recipe": recipe,
        "system": system,
        "experiment": experiment.to_json(),
        "seed": seed,
        "fitted": fitted,
        "in_distribution": in_distribution.to_json(),
        "scores": [score.to_json() for score in scores],
        "steps": progress.step,
        "seconds": round(progress.seconds, 2),
        "probes": progress.probes,
        "parameters": trainer.model.parameter_count,
        **provenance(device),
    }
    write_json(folder / "result.json", result)
    return result


def score_bins(
    experiment: Experiment, model: Transformer, seed: int, report: Report | None = None
) -> list[LengthScore]:
    """Accuracy on each bin, each set of test strings from a stream of its own."""
    from lengthwise.evaluation.accuracy import EvaluatedModel
    from lengthwise.evaluation.bins import score_bin

    evaluation = experiment.evaluation
    evaluated = EvaluatedModel(model, experiment.task, experiment.scheme)
    sets = (False, True) if evaluation.adversarial else (False,)
    cells = [(low, high, adversarial) for adversarial in sets for low, high in evaluation.bins]
    scores = []
    for index, (low, high, adversarial) in enumerate(cells):
        rng = stream(seed, "test", "bin", low, high, int(adversarial))
        scores.append(score_bin(evaluated, (low, high), evaluation.samples, rng, adversarial=adversarial))
        if report is not None:
            report("test", index + 1, len(cells), scores[-1].rate())
    return scores


def check_ids(experiment: Experiment, seed: int) -> None:
    """Raise a `LengthwiseError` now, not hours later, if the ids do not reach to the longest string."""
    from lengthwise.evaluation import accuracy
    from lengthwise.training.data import training_lengths

    task = experiment.task
    batch = task.batch(training_lengths(task, experiment.training)[-1], 1, stream(seed, "check"))
    experiment.scheme.assign(batch.places, task.levels, stream(seed, "check"))
    bins = [task.lengths(low, high) for low, high in experiment.evaluation.bins]
    longest = tuple(lengths[-1] for lengths in bins if lengths)
    for length, layout in accuracy.evaluation_layouts(task, (*experiment.evaluation.lengths, *longest)):
        batch = task.batch(length, 1, stream(seed, "check"), layout)
        experiment.scheme.for_evaluation().assign(batch.places, task.levels, stream(seed, "check"))


def fit(experiment: Experiment, model: Transformer, samples: int, seed: int, *names: int | str) -> LengthScore:
    """Accuracy at lengths spread over those of the training, on strings from the stream (seed, names, length).

    Where the evaluation has bins, the training lengths are one more bin, under the ids of training.
    """
    from lengthwise.evaluation import accuracy
    from lengthwise.evaluation.bins import score_bin

    task, training = experiment.task, experiment.training
    evaluated = accuracy.EvaluatedModel(model, task, experiment.scheme)
    if experiment.evaluation.bins:
        # With random offsets in training a model can be right at offset 0 long before it is right at the others, and
        # it is the others that long strings reach.
        lengths = training.min_length, training.max_length
        return score_bin(evaluated, lengths, samples, stream(seed, *names), as_trained=True)
    lengths = accuracy.fit_lengths(task, training.min_length, training.max_length)
    each = -(-samples // len(lengths))
    return total(
        accuracy.score_layout(evaluated, length, None, each, stream(seed, *names, length), answers=False)
        for length in lengths
    )


def probe(experiment: Experiment, model: Transformer, step: int, seed: int) -> dict[str, Any]:
    """What a training run notes down about itself: accuracy in distribution, never at long lengths."""
    evaluation = experiment.evaluation
    rate = fit(experiment, model, evaluation.probe_samples, seed, "probe", step).rate()
    # Half way from the threshold to 1, and confirmed on as many strings as the final measurement has: a training that
    # stops by luck would be called "not fitted".
    enough = (1 + evaluation.fit_threshold) / 2
    fitted = rate >= enough
    if fitted and experiment.training.stop_when_fitted:
        rate = fit(experiment, model, evaluation.fit_samples, seed, "confirm", step).rate()
        fitted = rate >= enough
    return {"in_distribution": rate, "fitted": fitted}


def claim(folder: Path, experiment: Experiment, seed: int) -> None:
    """Make the run directory, or check that it belongs to this configuration and seed."""
    path = folder / "config.json"
    mine = {"format": RESULT_FORMAT, "experiment": experiment.to_json(), "seed": seed}
    if path.exists():
        if read_json(path, what="run configuration") != mine:
            raise LengthwiseError(f"{folder} holds a run of another configuration; choose another --out")
        return
    if folder.exists() and not folder.is_dir():
        raise LengthwiseError(f"{folder} is a file, not a folder for a run; choose another --out")
    if folder.exists() and any(not file.name.endswith(".tmp") for file in folder.iterdir()):
        raise LengthwiseError(f"{folder} is not empty and not a run directory; choose another --out")
    write_json(path, mine)
