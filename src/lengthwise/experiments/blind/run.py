"""Running a study: every cell climbs the same ladder until four of five seeds fit; no finished rung runs twice.

At the end of the file is what is measured of a trained model on a set of words.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from lengthwise.core.batch import Batch
from lengthwise.core.errors import OutOfTimeError
from lengthwise.core.files import make_folder, read_json, remove_folder, slug, write_json
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import stream
from lengthwise.experiments.blind.ladder import (
    BINS,
    SIZE,
    TRAINED,
    Rung,
    adversarial_batches,
    encoding_spec,
    model_config,
    position_scheme,
    training_config,
    uniform_batches,
)
from lengthwise.experiments.blind.study import (
    BlindStudy,
    StudyEntry,
    cell_path,
    cell_score,
    read_cell,
    read_study,
    seed_row,
    write_cell,
)
from lengthwise.experiments.events import Event, Progress, unwatched
from lengthwise.experiments.execute import Processes, Unit
from lengthwise.experiments.provenance import provenance
from lengthwise.experiments.recipe import Candidates
from lengthwise.experiments.run_directory import LEASES
from lengthwise.models.config import ModelConfig
from lengthwise.tasks import Task
from lengthwise.training.config import TrainingConfig

if TYPE_CHECKING:
    from lengthwise.models.inputs import Inputs
    from lengthwise.models.transformer import Transformer
    from lengthwise.positions.schemes import PositionScheme
    from lengthwise.training.data import Setup
    from lengthwise.training.trainer import Trainer

FIT_WORDS, PROBE_WORDS = 2000, 200
FIT = 0.995
"""Share of the words of the training lengths that a fitted seed gets right, every prefix of them."""
NEEDED = 4
"""Fitted seeds with which a rung counts for its cell."""


def _note(job: str, text: str) -> Event:
    return Event(job, 0, "note", text=text)


def run_cell(
    study: BlindStudy, table: str, entry: StudyEntry, encoding: str, work: Path, progress: Progress = unwatched
) -> None:
    """Climb the ladder with one cell: stop at the first rung at which enough seeds fit, or at the last."""

    def attempt(number: int) -> dict[str, Any]:
        result = read_cell(study, cell_path(study, table, entry.name, encoding, number))
        if result is not None:
            # A process may have ended before it removed them.
            remove_folder(work_folder(work, entry.name, encoding, number))
        else:
            progress(_note(entry.name, f"{entry.name} ({entry.expression}), {encoding}, rung {number}"))
            result = _finish_rung(study, table, entry, encoding, number, work, progress)
            text = f"{entry.name}, {encoding}, rung {number}: {fits(result)}, {result['seconds']} s"
            progress(_note(entry.name, text))
        return result

    rungs = tuple(range(1, len(study.ladder) + 1))
    Candidates(rungs, NEEDED).search(attempt, lambda result: result["fitted"])


def _finish_rung(
    study: BlindStudy, table: str, entry: StudyEntry, encoding: str, number: int, work: Path, progress: Progress
) -> dict[str, Any]:
    result = run_rung(study, entry, encoding, number, work, progress)
    write_cell(study, cell_path(study, table, entry.name, encoding, number), result)
    remove_folder(work_folder(work, entry.name, encoding, number))
    return result


def run_rung(
    study: BlindStudy, entry: StudyEntry, encoding: str, number: int, work: Path, progress: Progress = unwatched
) -> dict[str, Any]:
    """Train all seeds of one rung (from 1) and measure them.

    Long lengths are measured only where the rung counts for the cell, and at the last rung. Where the time ends first,
    `provisional_row` tells how far the rung is.
    """
    rung, task = study.ladder[number - 1], entry.task
    scheme = position_scheme(task, encoding)
    probe_words = list(uniform_batches(task, f"probe {entry.name}", *TRAINED, PROBE_WORDS, every=True))

    def probe(model: Any, seed: int) -> float:
        found = measure(model, scheme, probe_words, seed)
        return found["right"] / found["n"]

    def on_step(step: int, loss: float) -> None:
        progress(Event(entry.name, study.seeds[0], "train", step, rung.steps, loss, together=study.seeds))

    started, folder = time.perf_counter(), work_folder(work, entry.name, encoding, number)
    try:
        trained = train_rung(task, encoding, rung, study.seeds, folder, probe=probe, on_step=on_step)
    except RungStoppedError as stopped:
        _write_provisional(entry, scheme, stopped, probe_words, rung.steps, folder / PROVISIONAL)
        raise
    fit_words = list(uniform_batches(task, f"fit {entry.name}", *TRAINED, FIT_WORDS, every=True))
    seeds = _fits(scheme, trained, fit_words)
    fitted = sum(seed["fitted"] for seed in seeds)
    counts = fitted >= NEEDED
    measured = counts or number == len(study.ladder)
    if measured:
        _measure_long(entry, scheme, trained, seeds)
    return {
        "name": entry.name,
        "expression": entry.expression,
        "encoding": encoding,
        "rung": number,
        "settings": rung.to_json(),
        "fitted": fitted,
        "speaks": counts,
        "measured": measured,
        "seeds": seeds,
        "seconds": round(sum(seed.seconds for seed in trained), 1),
        "seconds_this_process": round(time.perf_counter() - started, 1),
        **provenance("cpu"),
    }


def _fits(scheme: Any, trained: Sequence[TrainedSeed], words: Sequence[Batch]) -> list[dict[str, Any]]:
    """What the result says of every seed before long lengths are measured."""
    seeds: list[dict[str, Any]] = []
    for seed in trained:
        found = measure(seed.model, scheme, words, seed.seed) if seed.model else None
        fit = None if found is None else found["right"] / found["n"]
        head = {"seed": seed.seed, "fit": fit, "fitted": fit is not None and fit >= FIT, "in_distribution": found}
        seeds.append({**head, "fit_by_step": seed.fit_by_step, "sets": {}})
    return seeds


def _measure_long(entry: StudyEntry, scheme: Any, trained: Sequence[TrainedSeed], seeds: list[dict[str, Any]]) -> None:
    """Add the long lengths to every seed: by bin, uniform words and, where there are pairs, adversarial ones."""
    for low, high in BINS:
        words = {
            "uniform": list(uniform_batches(entry.task, entry.name, low, high, SIZE)),
            "adversarial": list(adversarial_batches(entry.task, entry.name, low, high, SIZE)),
        }
        for seed, values in zip(trained, seeds, strict=True):
            for name, batches in words.items():
                if seed.model is not None and batches:
                    found = measure(seed.model, scheme.for_evaluation(), batches, seed.seed)
                    values["sets"].setdefault(f"{low}-{high}", {})[name] = found


PROVISIONAL = "provisional.json"
"""In the folder of a rung at work: what its models could when the time ended. It is no result of the study."""


def _write_provisional(
    entry: StudyEntry, scheme: Any, stopped: RungStoppedError, words: Sequence[Batch], steps: int, path: Path
) -> None:
    """Measure the models of a rung that the time cut off; long lengths only where enough of them fit already."""
    seeds = _fits(scheme, stopped.trained, words)
    fitted = sum(seed["fitted"] for seed in seeds)
    if fitted >= NEEDED:
        _measure_long(entry, scheme, stopped.trained, seeds)
    write_json(path, {"step": stopped.step, "steps": steps, "fitted": fitted, "seeds": seeds})


def provisional_row(study: BlindStudy, work: Path, entry: StudyEntry, encoding: str) -> dict[str, Any]:
    """Where the budget cut a cell off: the fields of its row that tell how far it is; none if no rung has begun.

    ``status`` is *provisional* if enough seeds of a rung fitted at that moment, which were then measured at long
    lengths, too; otherwise *not finished*.
    """
    begun = []
    for number in _missing(study, entry, encoding):
        path = work_folder(work, entry.name, encoding, number) / PROVISIONAL
        begun += [(number, read_json(path, what="provisional result"))] if path.exists() else []
    if not begun:
        return {}
    number, found = next(((n, f) for n, f in begun if f["fitted"] >= NEEDED), begun[0])
    seeds, enough = [seed_row(seed) for seed in found["seeds"]], found["fitted"] >= NEEDED
    return {
        "status": "provisional" if enough else "not finished",
        "rung": number,
        "step": found["step"],
        "steps": found["steps"],
        "fitted": found["fitted"],
        "seeds": seeds,
        "score": cell_score(seeds) if enough else None,
    }


def fits(result: dict[str, Any]) -> str:
    """The fitted seeds of a result in words."""
    rates = ["diverged" if seed["fit"] is None else f"{seed['fit']:.4f}" for seed in result["seeds"]]
    return f"{result['fitted']} of {len(rates)} seeds fitted ({', '.join(rates)})"


def work_folder(work: Path, name: str, encoding: str, number: int) -> Path:
    """Where the checkpoint of a rung at work is."""
    return work / f"{slug(name)}-{encoding}-rung{number}"


@dataclass(frozen=True)
class EachWordOnce:
    """A `Setup` whose steps have one row of each run where all rows of a run are equal, in every group.

    A language with one word of each length gives many equal rows. One of them has the same mean loss, to rounding.
    """

    setup: Setup

    @property
    def model(self) -> ModelConfig:
        """The configuration of the model."""
        return self.setup.model

    def build(self, seed: int) -> Transformer:
        """The model of one seed before its first step."""
        return self.setup.build(seed)

    def groups(self, config: TrainingConfig, seeds: Sequence[int], step: int) -> list[Inputs]:
        """The data of one step, seed by seed."""
        groups = self.setup.groups(config, seeds, step)
        if not all(_repeats(group, len(seeds)) for group in groups):
            return groups
        return [group.gather([(group, slice(None, None, len(group.input_ids) // len(seeds)))]) for group in groups]


def _repeats(group: Inputs, runs: int) -> bool:
    """Whether each run has the same row again and again, under the same ids; what a task allows follows from them."""
    both = (part.unflatten(0, (runs, -1)) for part in (group.input_ids, group.position_ids))
    return all(bool((rows == rows[:, :1]).all()) for rows in both)


@dataclass(frozen=True)
class TrainedSeed:
    """One seed at the end of a rung; ``model`` is None where the training diverged."""

    seed: int
    model: Transformer | None
    seconds: float
    fit_by_step: dict[str, float]
    """What ``probe`` gave after so many steps."""


class RungStoppedError(OutOfTimeError):
    """The time ended within a rung: its seeds as they are after ``step`` steps, of which there is a checkpoint."""

    def __init__(self, step: int, trained: Sequence[TrainedSeed]) -> None:
        super().__init__()
        self.step, self.trained = step, trained


def train_rung(
    task: Task,
    encoding: str,
    rung: Rung,
    seeds: Sequence[int],
    folder: Path | None,
    *,
    probe: Callable[[Transformer, int], float],
    on_step: Callable[[int, float], None] | None = None,
) -> list[TrainedSeed]:
    """Train ``seeds`` for all steps of the rung; with a ``folder``, go on from the checkpoint in it.

    The training is a function of the rung, the task, the encoding and the seeds. ``probe`` measures a
    model in distribution, given its seed, every few hundred steps; it changes nothing. ``on_step`` gets the number of
    steps done and the mean loss in nats per scored token; where it raises `OutOfTimeError`, a checkpoint is written and
    `RungStoppedError` has the models.
    """
    # Torch is loaded only when something has to be trained.
    from lengthwise.training.data import TaskSetup
    from lengthwise.training.trainer import Trainer

    if folder is not None:
        make_folder(folder)
    spec, model = encoding_spec(rung, encoding), model_config(rung, encoding)

    def observe(step: int, loss: float) -> None:
        try:
            (on_step or (lambda step, loss: None))(step, loss)
        except OutOfTimeError:
            # A step that ends with a probe is completed first, so that what goes on from here finds the same.
            if step % trainer.config.probe_every:
                trainer.suspend()
                raise

    trainer = Trainer(
        EachWordOnce(TaskSetup(task, position_scheme(task, encoding), spec, model)),
        training_config(rung, encoding),
        list(seeds),
        probe=lambda model, step, seed: {"fitted": False, "in_distribution": probe(model, seed)},
        folder=folder,
        on_step=observe,
    )
    try:
        trainer.run()
    except OutOfTimeError:
        for number, index in enumerate(trainer.members):
            trainer.states[index].model = trainer.stack.unstack(number).eval()
        raise RungStoppedError(trainer.step_count, _seeds_of(trainer)) from None
    return _seeds_of(trainer)


def _seeds_of(trainer: Trainer) -> list[TrainedSeed]:
    return [
        TrainedSeed(
            state.run.seed,
            state.model,
            state.progress.seconds,
            {str(record["step"]): record["in_distribution"] for record in state.progress.probes},
        )
        for state in trainer.states
    ]


def run_within(
    study: BlindStudy, work: Path, encodings: Sequence[str], *, budget: float, jobs: int, progress: Progress
) -> None:
    """Climb the ladder with every language of a small study under each encoding for ``budget`` seconds.

    What is not finished by then is resumed by the next call. With ``jobs`` above 1, as many rungs are trained at the
    same time, each in a process of its own with one thread; a cell that may climb far then starts its later rungs
    before it has to. Which rung counts does not depend on the order. A clock that is set anew changes nothing.
    """
    ends = time.monotonic() + budget
    if jobs == 1:
        for index, encoding in enumerate(encodings):
            share = max(0.0, ends - time.monotonic()) / (len(encodings) - index)
            _climb_all(study, work, encoding, share, progress)
        return
    out_of_time: set[tuple[str, str]] = set()

    def wanted(running: Sequence[Unit]) -> list[RungUnit]:
        late = time.monotonic() > ends
        return [
            unit
            for unit in rung_order(study, work, encodings, ends)
            if unit in running or not ((late and unit.number > 1) or unit.cell in out_of_time)
        ]

    with closing(Processes(jobs).run(wanted, progress)) as ended:
        for unit, _ in ended:
            # Without a result it ran out of time, and its cell with it.
            if read_cell(study, cell_path(study, "languages", unit.entry, unit.encoding, unit.number)) is None:
                out_of_time.add(unit.cell)


def _climb_all(study: BlindStudy, work: Path, encoding: str, budget: float, progress: Progress) -> None:
    watch = StepWatch(encoding, budget, progress)
    for entry in study.entries():
        try:
            run_cell(study, "languages", entry, encoding, work, watch)
        except OutOfTimeError:
            number = next(_missing(study, entry, encoding))
            progress(_note(entry.name, f"{encoding}: {watch.left(number, study.ladder[number - 1].steps)}"))
            return


@dataclass(frozen=True)
class RungUnit(Unit):
    """One rung (from 1) of one language under one encoding, trained until a moment of the machine's monotonic clock."""

    home: Path
    work: Path
    entry: str
    encoding: str
    number: int
    until: float = field(compare=False)

    @property
    def name(self) -> str:
        return f"{self.encoding}, rung {self.number}"

    @property
    def cell(self) -> tuple[str, str]:
        """The cell that it belongs to."""
        return self.entry, self.encoding

    @property
    def leases(self) -> Path:
        return self.work / LEASES / f"{slug(self.entry)}-{self.encoding}-rung{self.number}"

    def compute(self, folder: Path, progress: Progress) -> None:
        study = replace(read_study(self.home), folder=folder)
        watch = StepWatch(self.name, self.until - time.monotonic(), progress)
        progress(_note(self.entry, f"{self.name} begins"))
        entry = next(entry for entry in study.entries() if entry.name == self.entry)
        try:
            result = _finish_rung(study, "languages", entry, self.encoding, self.number, self.work, watch)
        except OutOfTimeError:
            left = watch.left(self.number, study.ladder[self.number - 1].steps)
            progress(_note(self.entry, f"{self.encoding}: {left}"))
            return
        progress(_note(self.entry, f"{self.name}: {fits(result)}, {result['seconds']} s"))

    def owned(self, folder: Path) -> list[Path]:
        study = replace(read_study(self.home), folder=folder)
        path = cell_path(study, "languages", self.entry, self.encoding, self.number)
        return [path] if path.exists() else []

    def drop(self) -> None:
        remove_folder(work_folder(self.work, self.entry, self.encoding, self.number))


def rung_order(study: BlindStudy, work: Path, encodings: Sequence[str], ends: float) -> list[RungUnit]:
    """The rungs that are or may be needed and have no result, the most useful to start first.

    A cell for which theory says no often climbs to the end, and its last rung takes longest: it comes right behind the
    rung that has to be trained next.
    """
    found: list[tuple[int, RungUnit]] = []
    for entry in study.entries():
        for encoding in encodings:
            missing = list(_missing(study, entry, encoding))
            for number in missing:
                last, needed = number == len(study.ladder), number == missing[0]
                ranks = (2, 4, 4) if entry.predicted[encoding] == "yes" else (0, 1, 3)
                unit = RungUnit(study.folder.resolve(), work.resolve(), entry.name, encoding, number, ends)
                found.append((ranks[0 if needed else 1 if last else 2], unit))
    return [unit for _, unit in sorted(found, key=lambda item: (item[0], item[1].number))]


def _missing(study: BlindStudy, entry: StudyEntry, encoding: str) -> Iterator[int]:
    """Rungs without a result, below the first at which enough seeds fitted."""
    for number in range(1, len(study.ladder) + 1):
        result = read_cell(study, cell_path(study, "languages", entry.name, encoding, number))
        if result is None:
            yield number
        elif result["fitted"] >= NEEDED:
            return


class StepWatch:
    """A `Progress` that ends a training in time, and turns its steps into a line now and then."""

    def __init__(self, what: str, budget: float, progress: Progress) -> None:
        self.what, self.ends, self.progress = what, time.monotonic() + budget, progress
        self.began: tuple[float, int] | None = None
        self.last = (0, 0.0)

    def __call__(self, event: Event) -> None:
        """Raise `OutOfTimeError` when the time is up."""
        if event.phase != "train":
            self.progress(event)
            return
        step, loss = event.done, event.number
        self.began, self.last = self.began or (time.monotonic(), step), (step, loss)
        if time.monotonic() > self.ends:
            raise OutOfTimeError
        if step % 500 == 0:
            self.progress(_note(event.job, f"{self.what}: step {step}, loss {loss:.4f}"))

    def left(self, number: int, steps: int) -> str:
        """What is missing of rung ``number``, in words, with the time that it takes at the speed so far."""
        (step, loss), (since, first) = self.last, self.began or (self.ends, 0)
        seconds = (time.monotonic() - since) / max(1, step - first) * (steps - step)
        return (
            f"the budget is used up at step {step:,} of {steps:,} of rung {number}, loss {loss:.4f}. The protocol "
            "trains all steps and then tests, and the time for testing is not counted. The same call goes on from "
            f"here; this rung takes about {max(1, math.ceil(seconds / 60))} more minutes (budget)"
        )


TOKENS = 1 << 15
"""Tokens of one forward pass, so that memory stays bounded."""


def measure(model: Transformer, scheme: PositionScheme, batches: Iterable[Batch], seed: int) -> dict[str, Any]:
    """Counts over all words of ``batches``, under the ids that ``scheme`` gives (random starts from ``seed``).

    ``right``: words with every scored prefix right; ``symbols`` of ``symbols_total``: scored prefixes that are right;
    ``no_stop``: words whose only error is the last one, at the end; ``first_wrong``: the least, the quartiles and the
    largest of the places of first errors (0 = after ``<bos>``); ``by_length``: right and all words of each length;
    ``not_finite``, where there are any: words with a logit that is no number, which are wrong.
    """
    # Torch is loaded only when something is measured.
    from lengthwise.evaluation.accuracy import judge, warn_not_finite
    from lengthwise.models.inputs import Inputs

    rng, broken = stream(seed, "blind", "positions"), 0
    counts = dict.fromkeys(("n", "right", "symbols", "symbols_total", "no_stop"), 0)
    first_wrong: list[int] = []
    by_length: dict[str, list[int]] = {}
    levels: tuple[LevelKind, ...] = ("position",)
    for batch in batches:
        inputs = Inputs.of(batch, scheme, levels, rng)
        rows, again = _different_rows(inputs)
        size = max(1, TOKENS // batch.tokens)
        parts = (inputs.input_ids.new_tensor(rows[start : start + size]) for start in range(0, len(rows), size))
        judged = [judge(model, Inputs.gather([(inputs, part)])) for part in parts]
        token = np.concatenate([one.token for one in judged])[again]
        broken += int(np.concatenate([one.not_finite for one in judged])[again].sum())
        right = np.asarray(token.all(axis=1))
        counts["n"] += len(token)
        counts["right"] += int(right.sum())
        counts["symbols"] += int(token.sum())
        counts["symbols_total"] += int(token.size)
        counts["no_stop"] += int((token[:, :-1].all(axis=1) & ~token[:, -1]).sum())
        first_wrong += token[~right].argmin(axis=1).tolist()
        entry = by_length.setdefault(str(batch.layout.length), [0, 0])
        entry[0] += int(right.sum())
        entry[1] += len(token)
    quartiles = np.percentile(first_wrong, [0, 25, 50, 75, 100]).tolist() if first_wrong else None
    warn_not_finite(f"lengths {', '.join(by_length)}", broken, counts["n"])
    return {**counts, "first_wrong": quartiles, "by_length": by_length, **({"not_finite": broken} if broken else {})}


def _different_rows(inputs: Inputs) -> tuple[Int[np.ndarray, " D"], Int[np.ndarray, " B"]]:
    """One row of each word under each ids, and for every row which of those it equals.

    A language with one letter has one word of each length; it is computed once.
    """
    ids = inputs.position_ids.flatten(1)
    both = np.concatenate([inputs.input_ids.numpy(), ids.numpy()], axis=1)
    _, rows, again = np.unique(both, axis=0, return_index=True, return_inverse=True)
    return rows, again.reshape(-1)
