"""Running one experiment with one seed, in a directory that resumes and is never run twice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core.files import locked, write_json
from lengthwise.core.result_file import RunResult, sealed
from lengthwise.core.rng import stream
from lengthwise.evaluation.accuracy import LengthScore, total
from lengthwise.experiments.events import Report, silent
from lengthwise.experiments.followers import announce, trainer_for
from lengthwise.experiments.provenance import provenance
from lengthwise.experiments.run_config import RESULT_FORMAT, RunConfig
from lengthwise.experiments.run_directory import RESULT, claim_run_dir, finished
from lengthwise.prediction.example import is_built_in, to_store

if TYPE_CHECKING:
    from lengthwise.core.batch import Layout
    from lengthwise.evaluation.accuracy import EvaluatedModel
    from lengthwise.models.transformer import Transformer
    from lengthwise.training.runs import RunState


def run_seed(
    experiment: RunConfig, seed: int, folder: Path, *, recipe: str, system: str, report: Report = silent
) -> RunResult:
    """Train and measure, or return the finished result; an interrupted run goes on from its last checkpoint.

    Raises `LengthwiseError` when the directory holds the run of another configuration, or another process works there.
    """
    done = finished(folder, experiment, seed)
    if done is not None:
        return done
    claim_run_dir(folder, experiment, seed)
    with locked(folder):
        # Another process may have ended it between the two lines above.
        if (done := finished(folder, experiment, seed)) is not None:
            return done
        (state,) = train(experiment, [seed], folder, report)
        result = measure(experiment, state, recipe=recipe, system=system, report=report)
        write_json(folder / RESULT, sealed(result.to_json()))
        return result


def train(
    experiment: RunConfig, seeds: Sequence[int], folder: Path, report: Report, run_folders: Sequence[Path] | None = None
) -> list[RunState]:
    """Train the seeds as one stack with its checkpoint in ``folder``; each run folder gets a checkpoint of its own."""
    # Torch is loaded only when something has to be trained.
    from lengthwise.models.device import chosen_device
    from lengthwise.training.data import TaskSetup
    from lengthwise.training.ranks import ranks

    for seed in seeds:
        check_ids(experiment, seed)
    announce(experiment, seeds)
    training = experiment.training
    setup = TaskSetup(experiment.task, experiment.scheme, experiment.encoding, experiment.model)
    others = ranks()
    return trainer_for(others)(
        setup, training, seeds, partial(probe, experiment), folder, run_folders, chosen_device(),
        on_step=lambda step, loss: report("train", step, training.steps, loss), ranks=others,
    ).run()  # fmt: skip


def measure(experiment: RunConfig, state: RunState, *, recipe: str, system: str, report: Report = silent) -> RunResult:
    """Test a trained run: in distribution, then at the lengths and bins of the evaluation."""
    from lengthwise.evaluation import accuracy
    from lengthwise.models.device import chosen_device

    model, seed, evaluation, task = state.trained(), state.run.seed, experiment.evaluation, experiment.task
    in_distribution = in_distribution_score(experiment, model, evaluation.fit_samples, seed, "fit")
    fitted = in_distribution.rate() >= evaluation.fit_threshold
    # An unfitted model proves nothing about long lengths, so it is not measured there.
    everywhere = fitted or evaluation.unfitted_too
    longest = experiment.training.max_length
    lengths = evaluation.lengths if everywhere else tuple(n for n in evaluation.lengths if n <= longest)
    scores = []
    cells = list(accuracy.evaluation_layouts(task, lengths))
    evaluated = accuracy.EvaluatedModel(model, task, experiment.scheme)
    for index, (length, layout) in enumerate(cells):
        rng = stream(seed, "test", length, str(layout))
        scores.append(
            accuracy.score_layout(evaluated, length, layout, evaluation.samples, rng, answers=evaluation.answers)
        )
        report("test", index + 1, len(cells), scores[-1].rate())
    if everywhere:
        scores += score_bins(experiment, model, seed, report)
    return RunResult.model_validate(
        {
            "format": RESULT_FORMAT,
            "recipe": recipe,
            "system": system,
            "experiment": experiment.to_json(),
            "seed": seed,
            "fitted": fitted,
            "in_distribution": in_distribution.to_json(),
            "scores": [score.to_json() for score in scores],
            "steps": state.progress.step,
            "seconds": round(state.progress.seconds, 2),
            "probes": state.progress.probes,
            "parameters": model.parameter_count,
            **_attention(evaluated, cells, evaluation.attention, seed),
            **_own_task(experiment),
            **provenance(chosen_device()),
        }
    )


def _attention(
    evaluated: EvaluatedModel, cells: Sequence[tuple[int, Layout | None]], samples: int, seed: int
) -> dict[str, Any]:
    """The attention that predictions pay to their parents at each length and layout, if the evaluation measures it."""
    from lengthwise.evaluation.parent_attention import parent_attention

    if not samples:
        return {}
    rows = []
    for length, layout in cells:
        found = parent_attention(evaluated, length, layout, samples, stream(seed, "attention", length, str(layout)))
        if found is not None:
            rows.append({"length": length, "axes": layout.axes if layout else {}, **found})
    return {"attention": rows}


def _own_task(experiment: RunConfig) -> dict[str, Any]:
    """What a page needs to show a task that is not built in; nothing for one that is."""
    if is_built_in(experiment.task):
        return {}
    return {"task": to_store(experiment.task, experiment.evaluation.lengths).to_json()}


def score_bins(experiment: RunConfig, model: Transformer, seed: int, report: Report = silent) -> list[LengthScore]:
    """Accuracy on each bin, each set of test strings from a stream of its own."""
    from lengthwise.evaluation.accuracy import EvaluatedModel, score_bin

    evaluation = experiment.evaluation
    evaluated = EvaluatedModel(model, experiment.task, experiment.scheme)
    sets = (False, True) if evaluation.adversarial else (False,)
    cells = [(low, high, adversarial) for adversarial in sets for low, high in evaluation.bins]
    scores = []
    for index, (low, high, adversarial) in enumerate(cells):
        rng = stream(seed, "test", "bin", low, high, int(adversarial))
        scores.append(score_bin(evaluated, (low, high), evaluation.samples, rng, adversarial=adversarial))
        report("test", index + 1, len(cells), scores[-1].rate())
    return scores


def check_ids(experiment: RunConfig, seed: int) -> None:
    """Raise a `LengthwiseError` now, not hours later, if the ids do not reach to the longest string."""
    from lengthwise.evaluation import accuracy
    from lengthwise.training.data import priming_lengths, training_lengths

    task = experiment.task
    training = experiment.training
    lengths = priming_lengths(task, training) if training.priming else training_lengths(task, training)
    batch = task.batch(lengths[-1], 1, stream(seed, "check"))
    experiment.scheme.assign(batch.places, task.levels, stream(seed, "check"))
    bins = [task.lengths(low, high) for low, high in experiment.evaluation.bins]
    longest = tuple(lengths[-1] for lengths in bins if lengths)
    for length, layout in accuracy.evaluation_layouts(task, (*experiment.evaluation.lengths, *longest)):
        batch = task.batch(length, 1, stream(seed, "check"), layout)
        experiment.scheme.for_evaluation().assign(batch.places, task.levels, stream(seed, "check"))


def in_distribution_score(
    experiment: RunConfig, model: Transformer, samples: int, seed: int, *names: int | str
) -> LengthScore:
    """Accuracy at lengths spread over those of the training, on strings from the stream (seed, names, length).

    Where the evaluation has bins, the training lengths are one more bin, under the ids of training.
    """
    from lengthwise.evaluation import accuracy
    from lengthwise.evaluation.accuracy import score_bin

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


def probe(experiment: RunConfig, model: Transformer, step: int, seed: int) -> dict[str, Any]:
    """What a training run notes down about itself: accuracy in distribution, never at long lengths."""
    evaluation = experiment.evaluation
    rate = in_distribution_score(experiment, model, evaluation.probe_samples, seed, "probe", step).rate()
    # Half way from the threshold to 1, and confirmed on as many strings as the final measurement has: a training that
    # stops by luck would be called "not fitted".
    enough = (1 + evaluation.fit_threshold) / 2
    fitted = rate >= enough
    if fitted and experiment.training.stop_when_fitted:
        rate = in_distribution_score(experiment, model, evaluation.fit_samples, seed, "confirm", step).rate()
        fitted = rate >= enough
    return {"in_distribution": rate, "fitted": fitted}
