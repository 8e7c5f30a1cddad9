"""The probe: climb the frozen ladder at half of the training lengths, then test on the other half, up to N.

What a model does between N/2 and N is evidence for what it will do beyond N. No string longer than N is ever drawn.
"""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import TypeAdapter

from lengthwise.core.config import digest
from lengthwise.core.config import seconds as seconds_in
from lengthwise.core.deadline import duration
from lengthwise.core.errors import LengthwiseError, OutOfTimeError, require
from lengthwise.core.files import locked, make_folder, remove_unfinished, write_json
from lengthwise.core.result_file import read_sealed, sealed
from lengthwise.core.rng import stream
from lengthwise.core.user_code import code_of
from lengthwise.experiments.blind.ladder import (
    BINS,
    DRAWS,
    LADDER,
    TRAINED,
    VARIANTS,
    Rung,
    Variant,
    model_config,
    training_config,
    uniform_batches,
)
from lengthwise.experiments.blind.run import FIT, EachWordOnce
from lengthwise.experiments.recipe import Candidates
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS, EncodingSpec, LearnedSpec
from lengthwise.positions.schemes import SCHEMES, PositionScheme, Sequential
from lengthwise.positions.structure import check_places
from lengthwise.tasks import TASKS, Task
from lengthwise.training.config import TrainingConfig

if TYPE_CHECKING:
    from lengthwise.models.inputs import Inputs
    from lengthwise.models.transformer import Transformer
    from lengthwise.training.data import Setup, TaskSetup
    from lengthwise.training.trainer import Trainer

LINE_EVERY = 5.0
"""Seconds between two lines of progress, so that even a slow machine has one every ten."""
STATE = "probe.json"


@dataclass(frozen=True)
class ProbeSettings:
    """What a probe trains and measures; tests use smaller ones.

    The rungs are those of the frozen ladder. The first has fewer steps: at half of the lengths what it can learn it has
    learned by then, and what it can't goes on to the next rung, which trains all of its steps.
    """

    ladder: tuple[Rung, ...] = (dataclasses.replace(LADDER[0], steps=2_500), *LADDER[1:])
    seeds: tuple[int, ...] = (300, 301, 302)
    needed: int = 2
    """Fitted seeds with which a rung ends the climb."""
    every: int = 250
    """Steps between two measurements in distribution, and two checkpoints; a multiple of ten."""
    probe_words: int = 200
    fit_words: int = 2_000
    test_words: int = 500
    """Strings of each bin of test lengths."""


SETTINGS = ProbeSettings()


@dataclass(frozen=True)
class ProbeCell:
    """A task under a position system, and N, the longest length that there is; nothing beyond it is looked at.

    Arguments:
        task: Any task.
        encoding: A name of the frozen ladder (``nope``, ``ape``, ``rope``, ``alibi``, …) or any encoding.
        longest: N, in the task's unit.
        scheme: Position ids; None: those of the ladder, 0, 1, 2, …, with random starts for learned positions.
    """

    task: Task
    encoding: str | EncodingSpec
    longest: int
    scheme: PositionScheme | None = None

    @property
    def half(self) -> int:
        """The longest training length, N/2 rounded down."""
        return self.longest // 2

    @property
    def bins(self) -> tuple[tuple[int, int], ...]:
        """The near and the far test lengths; for N = 50, 26 to 37 and 38 to 50. Bins without strings are left out."""
        middle = (self.half + self.longest) // 2
        both = ((self.half + 1, middle), (middle + 1, self.longest))
        return tuple((low, high) for low, high in both if self.task.lengths(low, high))

    @cached_property
    def variant(self) -> Variant:
        """The position system as the ladder knows it."""
        if isinstance(self.encoding, str) and self.encoding in VARIANTS:
            return VARIANTS[self.encoding]
        return Variant("", ENCODINGS.build(self.encoding))

    @cached_property
    def ids(self) -> PositionScheme:
        """The position scheme; that of the ladder has ids for 6 N, as far as tokens grow evenly with the length."""
        if self.scheme is not None:
            return self.scheme
        rng = stream(0, "forecast", "tokens")

        def tokens(length: int) -> int:
            one_layout = type(self.task).layout is Task.layout  # All strings of a length have as many tokens.
            drawn = [self.task.batch(length, 1, rng).tokens for _ in range(1 if one_layout else DRAWS)]
            return 2 * max(drawn) - min(drawn)

        lengths = self.task.lengths(TRAINED[0], self.longest)
        short, long = lengths[0], lengths[-1]
        at_short, at_long = tokens(short), tokens(long)
        further = BINS[-1][1] / TRAINED[1] * self.longest - long
        growth = (at_long - at_short) / (long - short) if long > short else 1.0
        longest = at_long + max(0, round(growth * further))
        return Sequential(max_position=longest - 1, random_start=isinstance(self.variant.spec, LearnedSpec))

    def check(self) -> None:
        """Raise a `LengthwiseError` if there are no strings to train or test on, or too few position ids."""
        check_places(self.task, self.ids)
        require(self.longest >= 2, f"a probe needs training lengths up to 2 or more, got {self.longest}")
        for (low, high), what in (((TRAINED[0], self.half), "to train on"), (self._far, "to test on")):
            require(
                bool(self.task.lengths(low, high)),
                f"task {self.task.name!r} has no strings of lengths {low} to {high} {what}; give a longer length",
            )
        longest = self.task.lengths(*self._far)[-1]
        batch = self.task.batch(longest, 1, stream(0, "forecast", "check"))
        for scheme in (self.ids, self.ids.for_evaluation()):
            scheme.assign(batch.places, self.task.levels, stream(0, "forecast", "check"))

    @property
    def _far(self) -> tuple[int, int]:
        return (self.half + self.longest) // 2 + 1, self.longest

    def described(self) -> dict[str, Any]:
        """Plain JSON values that name the cell."""
        return {
            "task": TASKS.describe(self.task),
            "encoding": ENCODINGS.describe(self.variant.spec),
            "qk_norm": self.variant.qk_norm,
            "regularizer": self.variant.regularizer,
            "scheme": SCHEMES.describe(self.ids),
            "longest": self.longest,
        }

    @property
    def code(self) -> str | None:
        """A digest of the user's code in the cell; None without any."""
        return code_of([self.task, self.variant.spec, self.ids])

    def setup(self, rung: Rung) -> TaskSetup:
        """What a rung trains: settings of the ladder, lengths of the probe."""
        from lengthwise.training.data import TaskSetup

        spec = self.variant.spec
        if isinstance(spec, LearnedSpec):
            spec = dataclasses.replace(spec, init_std=rung.position_std)
        model = dataclasses.replace(model_config(rung), qk_norm=self.variant.qk_norm)
        if rung.log_length:
            model = dataclasses.replace(model, log_length=None if spec.local else max(2, self.half))
        return TaskSetup(self.task, self.ids, spec, model)

    def training(self, rung: Rung, every: int) -> TrainingConfig:
        """The training of a rung on lengths up to N/2."""
        return dataclasses.replace(
            training_config(rung), max_length=self.half, probe_every=every,
            regularizer=self.variant.regularizer, regularizer_normed=self.variant.regularizer > 0,
        )  # fmt: skip


@dataclass(frozen=True)
class ProbedSeed:
    """One seed at the end of the last rung. Accuracies are shares of strings with every prediction right."""

    seed: int
    fit: float
    """Accuracy on lengths up to N/2, under the ids of training."""
    fitted: bool
    steps_to_fit: int | None
    """Steps after which it was first fitted; None where it never was."""
    accuracy: dict[str, float] = field(default_factory=dict)
    """By bin, such as ``38-50``; empty where it was not tested."""
    by_length: list[tuple[int, int, int]] = field(default_factory=list)
    """Length beyond N/2, right strings, all strings."""


@dataclass(frozen=True)
class ProbedRung:
    """One rung that was trained to its end: its number (from 1), and the fit of each seed in order."""

    rung: int
    steps: int
    fits: list[float]
    steps_to_fit: list[int | None]


@dataclass(frozen=True)
class Probe:
    """What a probe found.

    ``status`` is ``fitted`` where enough seeds fit at a rung, ``not fitted`` where they did at none, and
    ``out of time`` where the budget ended before that was known; `stopped` says where. The accuracies of a probe that
    is not fitted say little: its seeds fail at the lengths that they were trained on.
    """

    cell: dict[str, Any]
    trained: tuple[int, int]
    bins: list[tuple[int, int]]
    status: Literal["fitted", "not fitted", "out of time"]
    rung: int | None
    """The rung at which enough seeds fit, from 1."""
    seeds: list[ProbedSeed]
    """The seeds of the last rung that was trained to its end."""
    rungs: list[ProbedRung]
    seconds: float
    """Time of all calls together; of cells that trained together, an even share."""
    stopped: str
    needs: float = 0.0
    """About how many seconds more it takes where the time ended and every rung is needed; 0 where that is not known."""

    @property
    def fitted(self) -> int:
        """Seeds that fit at the last rung that was trained to its end."""
        return sum(seed.fitted for seed in self.seeds)

    @property
    def accuracy(self) -> float | None:
        """Median accuracy of the fitted seeds on the far lengths, those up to N; None without fitted seeds."""
        if self.status != "fitted":
            return None
        name = bin_name(self.bins[-1])
        return statistics.median(seed.accuracy[name] for seed in self.seeds if seed.fitted)

    @property
    def slope(self) -> float | None:
        """Change of the accuracy as the length doubles: least squares over the tested lengths of the fitted seeds.

        None without fitted seeds or with one length alone.
        """
        rows = [row for seed in self.seeds if seed.fitted for row in seed.by_length]
        if self.status != "fitted" or len({length for length, _, _ in rows}) < 2:
            return None
        lengths, right, total = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
        slope = np.polyfit(np.log2(lengths), right / total, 1, w=np.sqrt(total))[0]
        return float(slope)

    @property
    def steps_to_fit(self) -> float | None:
        """Median over the fitted seeds of the steps of their rung after which they first fit."""
        steps = [seed.steps_to_fit for seed in self.seeds if seed.fitted and seed.steps_to_fit is not None]
        return statistics.median(steps) if steps and self.status == "fitted" else None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, with what is derived from them beside."""
        derived = {"accuracy": self.accuracy, "slope": self.slope, "steps_to_fit": self.steps_to_fit}
        return {**dataclasses.asdict(self), "derived": derived}


_RUNGS = TypeAdapter(list[dict[int, list[ProbedSeed]]])
_MEASURED = TypeAdapter(tuple[dict[int, dict[int, float]], dict[int, ProbedSeed]])


def bin_name(bounds: tuple[int, int]) -> str:
    """``38-50``."""
    return f"{bounds[0]}-{bounds[1]}"


def probe(
    cell: ProbeCell,
    *,
    budget: float | str = "2m",
    folder: Path | None = None,
    device: str = "cpu",
    settings: ProbeSettings = SETTINGS,
    note: Callable[[str], None] = lambda line: None,
) -> Probe:
    """Train on lengths up to N/2, rung by rung until enough seeds fit, then test on lengths up to N.

    Arguments:
        cell: The task, the position system, and N. Nothing longer than N is drawn.
        budget: Seconds, or a time such as ``2m``. When it ends, the result says how far the probe got.
        folder: Where to keep checkpoints and the result; the same call goes on there, to the same result bit for bit.
        device: ``cpu`` or ``cuda``. On a processor one thread is used.
        settings: Rungs, seeds and numbers of strings.
        note: Called with one line of progress at least every ten seconds.

    Returns:
        The rung and its seeds, with accuracies by bin and length.

    Raises:
        LengthwiseError: There are no strings of these lengths, or ``folder`` has another probe.
    """
    return probe_together([cell], budget=budget, folder=folder, device=device, settings=settings, note=note)[0]


def probe_together(
    cells: Sequence[ProbeCell],
    *,
    budget: float | str = "2m",
    folder: Path | None = None,
    device: str = "cpu",
    settings: ProbeSettings = SETTINGS,
    note: Callable[[str], None] = lambda line: None,
    prepare: Callable[[Setup, TrainingConfig, Sequence[int]], contextlib.AbstractContextManager[Setup]] | None = None,
    trainer: Callable[..., Trainer] | None = None,
) -> list[Probe]:
    """`probe` of cells that share a shape (`shape_of`), their seeds as one stack: a GPU needs much at a time.

    Each cell gets what it would get alone, to rounding. At each rung only the cells that do not fit go on.

    Arguments:
        prepare: Called with setup, training and runs of a rung; gives a setup with the same data, such as one that
            draws it in other processes.
        trainer: What trains a rung, a `Trainer` or one of its kind.
        budget, folder, device, settings, note: As for `probe`, for all cells together.

    Raises:
        LengthwiseError: As `probe`; or the cells differ in shape.
    """
    import torch

    seconds = seconds_in("budget", budget)
    for cell in cells:
        cell.check()
    require(len({shape_of(cell) for cell in cells}) == 1, "cells that are probed together must have one shape")
    ended = time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        if device == "cpu" and (threads := torch.get_num_threads()) != 1:
            torch.set_num_threads(1)
            stack.callback(torch.set_num_threads, threads)
        if folder is not None:
            make_folder(folder)
            stack.enter_context(locked(folder))
            for part in (folder, *folder.glob("rung-*")):
                remove_unfinished(part)
        climb = _Climb(cells, settings, device, folder, ended, note, prepare, trainer)
        return climb.run()


def shape_of(cell: ProbeCell) -> str:
    """What cells must have in common to train as one stack: all but the meaning of their strings.

    Cells whose strings differ in layout, and tasks that are no languages, have a shape of their own.
    """
    task = cell.task
    fixed = task.name == "language"
    shared = {
        "vocab": len(task.vocab),
        "lengths": task.lengths(TRAINED[0], cell.longest),
        "ask": str(getattr(task, "ask", "")),
        **{name: value for name, value in cell.described().items() if name != "task"},
    }
    return digest(shared if fixed else {**shared, "task": TASKS.describe(task)})


STRIDE = 100_000
"""Runs of a stack are numbered cell · stride + seed."""


@dataclass(frozen=True)
class Together:
    """The `Setup` of several cells of one shape: run c · `STRIDE` + s is seed s of cell c."""

    setups: tuple[TaskSetup, ...]

    @property
    def model(self) -> ModelConfig:
        """The configuration of every model."""
        return self.setups[0].model

    def build(self, seed: int) -> Transformer:
        """The model of one run before its first step."""
        cell, own = divmod(seed, STRIDE)
        return self.setups[cell].build(own)

    def groups(self, config: TrainingConfig, seeds: Sequence[int], step: int) -> list[Inputs]:
        """The data of one step, run by run."""
        cells: dict[int, list[int]] = {}
        for run in seeds:
            cells.setdefault(run // STRIDE, []).append(run % STRIDE)
        drawn = [self.setups[cell].groups(config, own, step) for cell, own in cells.items()]
        if len(drawn) == 1:
            return drawn[0]
        first = drawn[0][0]
        return [first.gather([(inputs, slice(None)) for inputs in group]) for group in zip(*drawn, strict=True)]


@dataclass
class _Climb:
    """One call: goes on from what ``folder`` has, until all cells are done or the time is up."""

    cells: Sequence[ProbeCell]
    settings: ProbeSettings
    device: str
    folder: Path | None
    ends: float
    note: Callable[[str], None]
    prepare: Callable[..., contextlib.AbstractContextManager[Setup]] | None
    trainer: Callable[..., Trainer] | None
    seconds_before: float = 0.0
    rungs: list[dict[int, list[ProbedSeed]]] = field(default_factory=list)
    """For each rung that is done, the seeds of the cells that trained at it."""

    def __post_init__(self) -> None:
        self.started = time.monotonic()
        self.line_at = self.needs = 0.0
        described = [cell.described() for cell in self.cells]
        code = [cell.code for cell in self.cells]
        self.identity = digest(
            {"cells": described, "settings": dataclasses.asdict(self.settings), **({"code": code} if any(code) else {})}
        )
        self._read()

    def run(self) -> list[Probe]:
        stopped = ""
        rungs = Candidates(tuple(range(len(self.settings.ladder))), self.settings.needed)
        try:
            rungs.search(self._attempt, lambda found: min(_fitted(seeds) for seeds in found.values()))
        except OutOfTimeError as error:
            stopped = str(error)
        self._write()
        return [self._found(index, stopped) for index in range(len(self.cells))]

    def _attempt(self, index: int) -> dict[int, list[ProbedSeed]]:
        if index == len(self.rungs):
            before = self.rungs[-1] if self.rungs else {cell: [] for cell in range(len(self.cells))}
            waiting = [cell for cell, seeds in before.items() if _fitted(seeds) < self.settings.needed]
            self.rungs.append(self._rung(index + 1, waiting))
            self._write()
        return self.rungs[index]

    def _rung(self, number: int, waiting: list[int]) -> dict[int, list[ProbedSeed]]:
        from lengthwise.training.trainer import Trainer

        settings, rung = self.settings, self.settings.ladder[number - 1]
        cells = [self.cells[index] for index in waiting]
        if time.monotonic() > self.ends:
            raise OutOfTimeError(f"the budget ended before rung {number} of {len(settings.ladder)}")
        self._say(
            f"rung {number} of {len(settings.ladder)} begins: {rung.steps:,} steps on lengths up to {cells[0].half}"
        )
        config = cells[0].training(rung, min(settings.every, rung.steps))
        setup: Setup = EachWordOnce(Together(tuple(cell.setup(rung) for cell in cells)))  # type: ignore[arg-type]
        runs = [place * STRIDE + seed for place in range(len(cells)) for seed in settings.seeds]
        folder = None if self.folder is None else self.folder / f"rung-{number}"
        if folder is not None:
            make_folder(folder)
        with contextlib.ExitStack() as stack:
            if self.prepare is not None:
                setup = stack.enter_context(self.prepare(setup, config, runs))
            watch = _Watch(self, cells, number, folder)
            trainer = (self.trainer or Trainer)(setup, config, runs, folder=folder, device=self.device, on_step=watch)
            watch.trainer = trainer
            trainer.run()
        # Runs that diverged are right nowhere.
        return {
            index: [
                watch.values.get(place * STRIDE + seed) or ProbedSeed(seed, 0.0, False, None) for seed in settings.seeds
            ]
            for place, index in enumerate(waiting)
        }

    def _found(self, index: int, stopped: str) -> Probe:
        cell, settings = self.cells[index], self.settings
        mine = [rung[index] for rung in self.rungs if index in rung]
        rungs = [
            ProbedRung(number, rung.steps, [seed.fit for seed in seeds], [seed.steps_to_fit for seed in seeds])
            for number, (rung, seeds) in enumerate(zip(settings.ladder, mine, strict=False), start=1)
        ]
        last = mine[-1] if mine else []
        fitted = bool(mine) and _fitted(last) >= settings.needed
        status: Literal["fitted", "not fitted", "out of time"] = "out of time"
        if fitted:
            status, stopped = "fitted", f"{_fitted(last)} of {len(settings.seeds)} seeds fit at rung {len(mine)}"
        elif len(mine) == len(settings.ladder):
            status, stopped = "not fitted", f"fewer than {settings.needed} seeds fit at the last rung"
        return Probe(
            cell.described(), (TRAINED[0], cell.half), list(cell.bins), status, len(mine) if fitted else None, last,
            rungs, round(self._seconds() / len(self.cells), 2), stopped, self.needs if status == "out of time" else 0.0,
        )  # fmt: skip

    def _seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self.started

    def _say(self, line: str) -> None:
        self.line_at = time.monotonic()
        self.note(line)

    def _read(self) -> None:
        path = None if self.folder is None else self.folder / STATE
        if path is None or not path.exists():
            return
        values = read_sealed(path, "state of a probe")
        if not isinstance(values, dict) or values.get("identity") != self.identity:
            raise LengthwiseError(f"{path} is of another probe, or of other code of yours; choose another folder")
        self.seconds_before, self.rungs = float(values["seconds"]), _RUNGS.validate_python(values["rungs"])

    def _write(self) -> None:
        if self.folder is not None:
            state = {
                "identity": self.identity, "seconds": round(self._seconds(), 2),
                "rungs": _RUNGS.dump_python(self.rungs, mode="json"),
            }  # fmt: skip
            write_json(self.folder / STATE, sealed(state), dense=True)


FIRST_STEPS = 20
"""Steps after which the time that is needed is said."""
SURELY = 0.7
"""The share of that time that is surely needed: without as much a rung stops at once."""


def _size(rung: Rung) -> float:
    """What the time of a step grows with, at most."""
    return rung.layers * rung.width * rung.batch


def _fitted(seeds: Sequence[ProbedSeed]) -> int:
    return sum(seed.fitted for seed in seeds)


class _Watch:
    """Called with each step of a rung: measures now and then, reports, and ends the training in time.

    All runs are measured through the stack, in one pass a length. What it finds at a step is a function of that step,
    so that a training that goes on from a checkpoint finds the same again.
    """

    def __init__(self, climb: _Climb, cells: Sequence[ProbeCell], number: int, folder: Path | None) -> None:
        self.climb, self.cells, self.number = climb, cells, number
        self.settings = climb.settings
        self.rung = self.settings.ladder[number - 1]
        self.trainer: Trainer | None = None
        self.path = None if folder is None else folder / "measured.json"
        found: Any = [{}, {}]
        if self.path is not None and self.path.exists():
            found = read_sealed(self.path, "measurements of a probe")["measured"]
        self.by_step, self.values = _MEASURED.validate_python(found)
        """By step and run the share of right strings, and at the end of the rung each run."""
        self.probe_words = self._words("probe", (TRAINED[0], cells[0].half), self.settings.probe_words, trained=True)
        self.loss, self.began, self.told = float("nan"), (time.monotonic(), 0), False

    def __call__(self, step: int, loss: float) -> None:
        """Raise `OutOfTimeError` when the time is up, after a checkpoint."""
        assert self.trainer is not None
        climb, last = self.climb, step >= self.rung.steps
        self.loss = loss
        if self.began[1] == 0:
            self.began = (time.monotonic(), step)
        if last or step % self.settings.every == 0:
            self.by_step[step] = {run: right / total for run, (right, total) in self._rates(self.probe_words).items()}
            if last:
                self._measure()
            self._write()  # The trainer saves its own checkpoint right after this.
            if not last:
                return
        hopeless = False
        if not self.told and step - self.began[1] >= FIRST_STEPS:
            self.told = True
            hopeless = SURELY * self._left(step) > climb.ends - time.monotonic()
            climb._say(f"by its first steps about {duration(self._left(step))} for this rung, and "
                       f"{duration(self._needs(step))} if every rung is needed; tests come on top")  # fmt: skip
        if time.monotonic() - climb.line_at > LINE_EVERY or last:
            climb._say(self._line(step))
        if not last and (hopeless or time.monotonic() > climb.ends):
            self.trainer.suspend()
            climb.needs = round(self._needs(step), 1)
            ended = "is too short, as seen" if hopeless else "ended"
            raise OutOfTimeError(
                f"the budget {ended} at step {step:,} of {self.rung.steps:,} of rung {self.number} of "
                f"{len(self.settings.ladder)}, loss {loss:.4f}; to say something "
                f"it needs {duration(self._left(step))} to {duration(climb.needs)} more, by its pace so far"
            )

    def _left(self, step: int) -> float:
        since, first = self.began
        return (time.monotonic() - since) / max(1, step - first) * (self.rung.steps - step)

    def _needs(self, step: int) -> float:
        """Seconds to the end of the last rung, the later ones at the pace of this one, by their size."""
        since, first = self.began
        pace = (time.monotonic() - since) / max(1, step - first) / _size(self.rung)
        later = self.settings.ladder[self.number :]
        return self._left(step) + sum(pace * _size(rung) * rung.steps for rung in later)

    def _line(self, step: int) -> str:
        rates = list(self.by_step[max(self.by_step)].values()) if self.by_step else []
        fits = f", right at trained lengths {statistics.median(rates):.3f}" if rates else ""
        return (
            f"rung {self.number} of {len(self.settings.ladder)}: step {step:,} of {self.rung.steps:,}, "
            f"loss {self.loss:.4f}{fits}"
        )

    def _measure(self) -> None:
        """At the end of the rung: fit, and the lengths beyond N/2 where the rung ends the climb of a cell."""
        fit = self._rates(self._words("fit", (TRAINED[0], self.cells[0].half), self.settings.fit_words, trained=True))
        accuracy: dict[int, dict[str, float]] = {run: {} for run in fit}
        lengths: dict[int, list[tuple[int, int, int]]] = {run: [] for run in fit}
        for bounds in self.cells[0].bins:
            by_length: dict[int, list[list[Inputs]]] = {}
            for length, batches in self._batches("test", bounds, self.settings.test_words, trained=False):
                by_length.setdefault(length, []).append(batches)
            rates = {length: self._rates(words) for length, words in sorted(by_length.items())}
            for run in fit if rates else ():
                lengths[run] += [(length, *found[run]) for length, found in rates.items()]
                accuracy[run][bin_name(bounds)] = sum(f[run][0] for f in rates.values()) / sum(
                    f[run][1] for f in rates.values()
                )
        for run, (right, total) in fit.items():
            share = right / total
            self.values[run] = ProbedSeed(
                run % STRIDE, share, share >= FIT, self._steps_to_fit(run, share), accuracy[run], lengths[run]
            )

    def _steps_to_fit(self, run: int, fit: float) -> int | None:
        found = [step for step, rates in sorted(self.by_step.items()) if rates.get(run, 0.0) >= FIT]
        return found[0] if found else (self.rung.steps if fit >= FIT else None)

    def _words(self, what: str, bounds: tuple[int, int], count: int, *, trained: bool) -> list[list[Inputs]]:
        return [batches for _, batches in self._batches(what, bounds, count, trained=trained)]

    def _batches(
        self, what: str, bounds: tuple[int, int], count: int, *, trained: bool
    ) -> Iterator[tuple[int, list[Inputs]]]:
        """Length and one batch of every cell; under the ids of training or of evaluation."""
        from lengthwise.models.inputs import Inputs

        of_cells = [
            uniform_batches(cell.task, f"forecast {what}", *bounds, count, every=trained) for cell in self.cells
        ]
        for number, batches in enumerate(zip(*of_cells, strict=True)):
            inputs = []
            for cell, batch in zip(self.cells, batches, strict=True):
                scheme = cell.ids if trained else cell.ids.for_evaluation()
                rng = stream(0, "forecast", "ids", what, number)
                inputs.append(Inputs.of(batch, scheme, cell.task.levels, rng))
            yield batches[0].layout.length, inputs

    def _rates(self, words: Sequence[list[Inputs]]) -> dict[int, tuple[int, int]]:
        from lengthwise.evaluation.accuracy import judge, warn_not_finite

        trainer, broken = self.trainer, 0
        assert trainer is not None
        runs = [trainer.states[index].run.seed for index in trainer.members]
        counts: dict[int, tuple[int, int]] = dict.fromkeys(runs, (0, 0))
        model = trainer.stack.model.eval()
        for of_cells in words:
            inputs = of_cells[0].gather([(of_cells[run // STRIDE], slice(None)) for run in runs])
            judged = judge(model, inputs.to(trainer.device))
            broken += int(judged.not_finite.sum())
            right = (judged.token & judged.ids).all(axis=1).reshape(len(runs), -1)
            for run, row in zip(runs, right, strict=True):
                counts[run] = (counts[run][0] + int(row.sum()), counts[run][1] + row.size)
        model.train()
        warn_not_finite(f"probe of lengths up to {self.cells[0].longest}", broken, sum(n for _, n in counts.values()))
        return counts

    def _write(self) -> None:
        if self.path is not None:
            measured = _MEASURED.dump_python((self.by_step, self.values), mode="json")
            write_json(self.path, sealed({"measured": measured}), dense=True)
