"""Computing one seed in a directory that resumes and is never run twice; a stack of seeds; a study.

Under torchrun rank 0 runs the command, and the other ranks take part in each of its trainings.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core.config import digest
from lengthwise.core.errors import BusyError, require
from lengthwise.core.files import locked, make_folder, remove_folder, write_json
from lengthwise.core.result_file import RESULT, RunResult, Score, StudyResult, sealed, total
from lengthwise.core.rng import stream
from lengthwise.experiments.events import Report, silent
from lengthwise.experiments.provenance import provenance
from lengthwise.experiments.recipe import STUDY_FILE, Study
from lengthwise.experiments.run_config import RESULT_FORMAT, RunConfig
from lengthwise.experiments.run_directory import claim_run_dir, finished, finished_study, run_directory
from lengthwise.prediction.example import is_built_in, to_store
from lengthwise.tasks.language import Language

if TYPE_CHECKING:
    from lengthwise.models.transformer import Transformer
    from lengthwise.training.ranks import Ranks
    from lengthwise.training.runs import RunState
    from lengthwise.training.trainer import Trainer


@dataclass(frozen=True)
class Place:
    """Where torch computes."""

    device: str | None = None
    """By default that of ``LENGTHWISE_DEVICE``, or cpu."""
    shards: bool = False
    """Under torchrun: whether each rank has its share of the weights instead of all of them."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process may have another environment.
        return Place, (self.device or os.environ.get("LENGTHWISE_DEVICE"), self.shards)

    def chosen(self) -> str:
        """The device; raises `LengthwiseError` if this torch can't use it."""
        from lengthwise.models.device import chosen_device

        return chosen_device(self.device)

    def ranks(self) -> Ranks | None:
        """The ranks of torchrun; None for a process by itself."""
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return None
        # It loads torch.
        from lengthwise.training.ranks import ranks

        return ranks(self.chosen(), shards=self.shards)


HERE = Place()


def run_seed(
    experiment: RunConfig,
    seed: int,
    folder: Path,
    *,
    recipe: str,
    system: str,
    report: Report = silent,
    place: Place = HERE,
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
        (state,) = train(experiment, [seed], folder, report, place=place)
        result = measure(experiment, state, recipe=recipe, system=system, report=report, place=place)
        write_json(folder / RESULT, sealed(result.to_json()))
        return result


def train(
    experiment: RunConfig,
    seeds: Sequence[int],
    folder: Path,
    report: Report,
    run_folders: Sequence[Path] | None = None,
    *,
    place: Place = HERE,
) -> list[RunState]:
    """Train the seeds as one stack with its checkpoint in ``folder``; each run folder gets a checkpoint of its own."""
    # Torch is loaded only when something has to be trained.
    from lengthwise.training.data import TaskSetup

    for seed in seeds:
        check_ids(experiment, seed)
    training = experiment.training
    setup = TaskSetup(experiment.task, experiment.scheme, experiment.encoding, experiment.model)
    others = place.ranks()
    if others is not None:
        others.broadcast((experiment, list(seeds)))
    return _trainer_for(others)(
        setup, training, seeds, partial(probe, experiment), folder, run_folders, place.chosen(),
        on_step=lambda step, loss: report("train", step, training.steps, loss), ranks=others,
    ).run()  # fmt: skip


def train_seeds(
    experiment: RunConfig, seeds: Sequence[int], out: Path, *, recipe: str, report: Report = silent, place: Place = HERE
) -> dict[int, str]:
    """Train those of ``seeds`` whose run directories hold no result and no checkpoint, as one stack.

    Each leaves an ordinary checkpoint of a finished training in its own directory, from which `run_seed` goes on to
    measure it. An interrupted stack goes on with all of its own seeds, bit-identically, from a directory that is
    removed at the end; what it does not hold is trained as another stack.

    Returns what there is to say of seeds that diverged. Raises `LengthwiseError` when the experiment is not
    ``stacked``.
    """
    require(experiment.training.stacked, "these seeds don't share a schedule of lengths; set training.stacked to true")

    def started(seed: int) -> bool:
        """Whether its run directory holds a result, or the checkpoint of a training (maybe not yet at its end)."""
        own = run_directory(out, recipe, experiment, seed)
        return finished(own, experiment, seed) is not None or any(own.glob("checkpoint*.safetensors"))

    # Stacks of which every seed has its own checkpoint: a process ended before it removed them.
    for folder in stack_folders(experiment, out / recipe):
        if int(folder.name.rpartition("-")[2]) in seeds and all(map(started, _stacked(folder))):
            with suppress(BusyError), locked(folder):
                remove_folder(folder)
    # A seed that was started alone goes on alone.
    fresh = [seed for seed in seeds if not started(seed)]
    failures: dict[int, str] = {}
    while fresh:
        for seed in fresh:
            claim_run_dir(run_directory(out, recipe, experiment, seed), experiment, seed)
        folder, ended = _stack(experiment, fresh, out / recipe)
        run_folders = {}
        for seed, done in ended.items():
            own = run_directory(out, recipe, experiment, seed)
            # A seed of an interrupted stack that was trained alone since keeps what it has.
            run_folders[seed] = own if done or not started(seed) else folder / f"seed-{seed}"
        make_folder(folder)
        with locked(folder):
            states = train(experiment, list(run_folders), folder, report, list(run_folders.values()), place=place)
        remove_folder(folder)
        failures |= {state.run.seed: state.failure for state in states if state.failure is not None}
        fresh = [seed for seed in fresh if seed not in ended]
    return failures


def _stack(experiment: RunConfig, fresh: Sequence[int], root: Path) -> tuple[Path, dict[int, bool]]:
    """The folder of a stack, and for each of its seeds whether it has ended: an interrupted one that holds any of
    ``fresh``, or a new one of these.
    """
    for folder in stack_folders(experiment, root):
        if set(ended := _stacked(folder)) & set(fresh):
            return folder, ended
    return root / f"stack-{_stack_name(experiment)}-{min(fresh)}", dict.fromkeys(fresh, False)


def _stacked(folder: Path) -> dict[int, bool]:
    """For each seed of an interrupted stack whether it has ended; none without a checkpoint."""
    from lengthwise.training import checkpoint

    found = checkpoint.read(folder)
    return {} if found is None else {r.seed: own.done for r, own in zip(found[1].runs, found[1].progress, strict=True)}


def stack_folders(experiment: RunConfig, root: Path) -> list[Path]:
    """The folders of interrupted stacks of an experiment."""
    return sorted(root.glob(f"stack-{_stack_name(experiment)}-*/"))


def _stack_name(experiment: RunConfig) -> str:
    return digest({"format": RESULT_FORMAT, **experiment.described()})


def run_study(study: Study, seed: int, folder: Path, report: Report = silent) -> StudyResult:
    """Run a study in its directory, or return its finished result.

    Raises `LengthwiseError` for a damaged result file or one of another run.
    """
    done = finished_study(folder, study, seed)
    if done is not None:
        return done
    started = time.perf_counter()
    values = study.function(study.preset, seed, report, *([folder] if study.keeps else []))
    head = {"format": RESULT_FORMAT, "study": study.name, "preset": study.preset, "seed": seed}
    seconds = round(time.perf_counter() - started, 2)
    contents = sealed({**head, **values, "seconds": seconds, **provenance("cpu")})
    # Files of their own are of studies with many numbers.
    write_json(folder / study.file, contents, dense=study.file != STUDY_FILE)
    return StudyResult.of(contents, study.name)


def is_worker() -> bool:
    """Whether torchrun started this process as another rank than 0."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and int(os.environ.get("RANK", "0")) > 0


def run_worker(place: Place = HERE) -> None:
    """Take part in every training of rank 0, until there are no more."""
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.training.data import TaskSetup

    others = place.ranks()
    assert others is not None
    while (training := others.broadcast(None)) is not None:
        experiment, seeds = training
        setup = TaskSetup(experiment.task, experiment.scheme, experiment.encoding, experiment.model)
        _trainer_for(others)(setup, experiment.training, seeds, device=place.chosen(), ranks=others).run()


@contextmanager
def with_workers(place: Place = HERE) -> Iterator[None]:
    """Let the other ranks of torchrun, if there are any, end after the block; an error ends them too."""
    others = place.ranks()
    yield
    if others is not None:
        others.broadcast(None)


def _trainer_for(others: Ranks | None) -> type[Trainer]:
    """How this process trains: a whole model, or its share of one."""
    from lengthwise.training.trainer import Trainer

    if others is None or not others.shards:
        return Trainer
    # Its part of torch takes long to load.
    from lengthwise.training.distributed import ShardedTrainer

    return ShardedTrainer


def measure(
    experiment: RunConfig, state: RunState, *, recipe: str, system: str, report: Report = silent, place: Place = HERE
) -> RunResult:
    """Test a trained run: in distribution, then at the lengths and bins of the evaluation."""
    from lengthwise.evaluation import accuracy
    from lengthwise.evaluation.parent_attention import parent_attention

    model, seed, evaluation, task = state.trained(), state.run.seed, experiment.evaluation, experiment.task
    in_distribution = in_distribution_score(experiment, model, evaluation.fit_samples, seed, "fit")
    fitted = in_distribution.rate() >= evaluation.fit_threshold
    # An unfitted model proves nothing about long lengths, so it is not measured there.
    everywhere = fitted or evaluation.unfitted_too
    lengths = tuple(n for n in evaluation.lengths if everywhere or n <= experiment.training.max_length)
    scores, attention = [], []
    cells = list(accuracy.evaluation_layouts(task, lengths))
    evaluated = accuracy.EvaluatedModel(model, task, experiment.scheme)
    for length, layout in cells:
        rng = stream(seed, "test", length, str(layout))
        scores.append(
            accuracy.score_layout(evaluated, length, layout, evaluation.samples, rng, answers=evaluation.answers)
        )
        report("test", len(scores), len(cells), scores[-1].rate())
    sets = (False, True) if evaluation.adversarial else (False,)
    bins = [(low, high, adversarial) for adversarial in sets for low, high in evaluation.bins if everywhere]
    for done, (low, high, adversarial) in enumerate(bins, start=1):
        rng = stream(seed, "test", "bin", low, high, int(adversarial))
        scores.append(accuracy.score_bin(evaluated, (low, high), evaluation.samples, rng, adversarial=adversarial))
        report("test", done, len(bins), scores[-1].rate())
    automaton = task.automaton() if isinstance(task, Language) else None
    hard = list[Score]()
    for length in (n for n in lengths if automaton and everywhere and n > experiment.training.max_length):
        found = accuracy.score_pairs(evaluated, length, evaluation.samples, stream(seed, "test", "hard", length))
        hard += [found] * (found is not None)
    for length, layout in cells if evaluation.attention else ():
        rng = stream(seed, "attention", length, str(layout))
        found = parent_attention(evaluated, length, layout, evaluation.attention, rng)
        if found is not None:
            attention.append({"length": length, "axes": layout.axes if layout else {}, **found})
    return RunResult.model_validate(
        {
            "format": RESULT_FORMAT,
            "recipe": recipe,
            "system": system,
            "experiment": experiment.to_json(),
            "seed": seed,
            "fitted": fitted,
            "in_distribution": in_distribution,
            "scores": scores,
            **({"hard": hard} if automaton and everywhere and lengths else {}),
            "steps": state.progress.step,
            "seconds": round(state.progress.seconds, 2),
            "probes": state.progress.probes,
            "parameters": model.parameter_count,
            **({"threads": state.progress.threads} if len(state.progress.threads) > 1 else {}),
            **({"attention": attention} if evaluation.attention else {}),
            # What a page needs to show a task that is not built in.
            **({} if is_built_in(task) else {"task": to_store(task, evaluation.lengths).to_json()}),
            **provenance(place.chosen()),
        }
    )


def check_ids(experiment: RunConfig, seed: int) -> None:
    """Raise a `LengthwiseError` now, not hours later, if the ids do not reach to the longest string."""
    from lengthwise.evaluation import accuracy
    from lengthwise.training.data import training_lengths

    task = experiment.task
    training = experiment.training
    lengths = training_lengths(task, training, primed=training.priming > 0)
    batch = task.batch(lengths[-1], 1, stream(seed, "check"))
    experiment.scheme.assign(batch.places, task.levels, stream(seed, "check"))
    bins = [task.lengths(low, high) for low, high in experiment.evaluation.bins]
    longest = tuple(lengths[-1] for lengths in bins if lengths)
    for length, layout in accuracy.evaluation_layouts(task, (*experiment.evaluation.lengths, *longest)):
        batch = task.batch(length, 1, stream(seed, "check"), layout)
        experiment.scheme.for_evaluation().assign(batch.places, task.levels, stream(seed, "check"))


def in_distribution_score(
    experiment: RunConfig, model: Transformer, samples: int, seed: int, *names: int | str
) -> Score:
    """Accuracy at lengths spread over those of the training, on strings from the stream (seed, names, length).

    Where the evaluation has bins, the training lengths are one more bin, under the ids of training.
    """
    from lengthwise.evaluation import accuracy

    task, training = experiment.task, experiment.training
    evaluated = accuracy.EvaluatedModel(model, task, experiment.scheme)
    if experiment.evaluation.bins:
        # With random offsets in training a model can be right at offset 0 long before it is right at the others, and
        # it is the others that long strings reach.
        lengths = training.min_length, training.max_length
        return accuracy.score_bin(evaluated, lengths, samples, stream(seed, *names), as_trained=True)
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
