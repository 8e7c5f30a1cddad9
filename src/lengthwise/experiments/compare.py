"""Comparing position systems: every one is trained on one task under one budget, and ranked by how far it goes.

All systems have one grid of settings and one number of steps. The steps are timed, the first seed is tuned on the grid,
and the other seeds train with what was chosen, by the next call where the budget is too small for all of them; what is
finished is reused, and what the budget cuts off can be resumed.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import json
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from lengthwise.core import config as arguments
from lengthwise.core.config import canonical_json, config, digest, fields_of, from_fields
from lengthwise.core.errors import LengthwiseError, OutOfTimeError, TooSmallError, TrainingDivergedError, require
from lengthwise.core.files import locked, make_folder, read_json, remove_folder, remove_unfinished, slug, write_json
from lengthwise.core.rank import how_far, rates_by_length, seed_far
from lengthwise.core.result_file import RESULT, RunResult, read_sealed, write_sealed
from lengthwise.core.rng import stream
from lengthwise.core.user_code import code_of
from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments import defaults
from lengthwise.experiments.cluster import reclaim
from lengthwise.experiments.defaults import check_beyond, chosen_systems, default_experiment, model_systems
from lengthwise.experiments.engine import end_of, sweep
from lengthwise.experiments.events import Event, Progress, reporter, unwatched
from lengthwise.experiments.execute import Executor, Processes, Unit
from lengthwise.experiments.recipe import Job, Recipe
from lengthwise.experiments.run import HERE, Place, in_distribution_score, run_seed, stack_folders, train
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import LEASES, claim_run_dir, finished, run_directory
from lengthwise.models.mixers import layer_mixers
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.system import PositionSystem
from lengthwise.tasks import TASKS, Task
from lengthwise.training.config import TrainingConfig

FEWEST_STEPS, MOST_STEPS = 200, 20_000
ENOUGH_STEPS = 1_000
"""With fewer for all seeds, the budget is for one seed of each system: with few steps hardly anything fits."""
SPARE, GUESSED = 1.5, 2.0
"""How much more than was timed is asked for, so that it suffices: where all was timed, and where most was not."""
PATIENCE = 20.0
"""Seconds that timing may go on, to say a budget exactly, when it is known to be too small."""
LONGEST = 10_000
"""The longest training length that a comparison takes."""
MAX_LENGTH = 6
"""The longest training length where none is given: short, so that a small budget suffices for a fit."""
SHARE = 0.85
"""The share of a budget that is planned for training; the rest is for tests, starts of processes and a slow machine."""
FILE, SMALLEST = "plan.json", "smallest_budget.json"
RUNS = "runs"
"""The folder of the run directories inside that of the comparison."""
TIMED_STEPS, SKIPPED_STEPS, LONG_ENOUGH = 12, 3, 0.5
"""A step is timed by so many steps without the first ones, or by as many as take so many seconds."""
ROUNDS = 3
"""How often each of these steps is timed; the least counts, since whatever else the machine does only adds."""
NOTICEABLE = 0.05
"""Seconds of a step of one string from which a batch of n strings takes at least n / 4 times as long."""
FIRST_SEED = 0


@config
class ModelSetting:
    """One point of the grid on which every system is tuned."""

    layers: int
    lr: float
    weight_decay: float

    @property
    def text(self) -> str:
        """The setting in words."""
        layers = f"{self.layers} layer{'s' if self.layers > 1 else ''}"
        return f"{layers}, lr {self.lr:g}"


GRID = (ModelSetting(1, 3e-3, 0.1), ModelSetting(2, 1e-3, 0.1))
"""Tried in this order until the first seed fits in distribution; the better of all where none fits."""


@config
class Plan:
    """Everything that is the same for all systems, and the systems."""

    task: dict[str, Any]
    systems: tuple[PositionSystem, ...]
    max_length: int
    tests: tuple[int, ...]
    seeds: int
    steps: int
    grid: tuple[ModelSetting, ...] = GRID
    width: int = 64
    heads: int = 4
    batch_size: int = 64
    samples: int = 100
    fit_samples: int = 200
    code: str | None = None
    """A digest of the file of a task of the user's own."""
    equal: bool = False
    """All models have about as many parameters as one with attention of `width` and no positions has."""
    speeds: tuple[float, ...] = ()
    """With ``equal``, training steps a second of each system's first seed at the fastest setting, when steps were
    timed."""
    budget: float = 0.0
    """The seconds from which the number of steps follows."""

    def system(self, name: str) -> PositionSystem:
        """The system of this name."""
        return next(system for system in self.systems if system.name == name)

    def experiment(self, system: PositionSystem, setting: ModelSetting) -> RunConfig:
        """What is trained: seeds share one schedule of lengths, and every system sees the same strings."""
        layers = max([setting.layers, *(len(layer_mixers(each.mixer)) for each in self.systems)])
        made = default_experiment(
            TASKS.build(self.task), system.scheme, system.encoding, max_length=self.max_length, test_lengths=self.tests
        )
        width = self.width
        if self.equal:
            task = canonical_json(self.task)
            width = _equal_width(task, system, layers, self.heads, width, self.max_length, self.tests)
        return dataclasses.replace(
            made,
            model=dataclasses.replace(made.model, layers=layers, heads=self.heads, width=width, mixer=system.mixer),
            training=TrainingConfig(
                max_length=self.max_length,
                steps=self.steps,
                batch_size=self.batch_size,
                lr=setting.lr,
                weight_decay=setting.weight_decay,
                warmup=min(100, self.steps // 5),
                final_lr=0.0,
                probe_every=max(250, self.steps // 4),
                stacked=True,
            ),
            evaluation=EvaluationConfig(
                lengths=self.tests, samples=self.samples, fit_samples=self.fit_samples, probe_samples=16
            ),
        )

    @property
    def selection(self) -> str:
        """How the setting of each system was chosen, and the steps, in one sentence."""
        grid = " or ".join(setting.text.replace(",", " at") for setting in self.grid)
        fit = f"right on {100 * EvaluationConfig.fit_threshold:g} % of {self.fit_samples} strings"
        budget = f", from a budget of {self.budget:g} s" * bool(self.budget)
        return (
            f"{grid}: the first that makes seed {FIRST_SEED} {fit} of training lengths, else the better one there; "
            f"longer lengths chose nothing; {self.steps:,} steps for all{budget}"
        )

    def write(self, folder: Path) -> None:
        """Write ``plan.json``."""
        write_sealed(folder / FILE, fields_of(self))


@lru_cache(maxsize=256)
def _equal_width(
    task: str, system: PositionSystem, layers: int, heads: int, width: int, max_length: int, tests: tuple[int, ...]
) -> int:
    """The width that brings a model's parameters nearest to those of attention of ``width`` without positions."""
    from lengthwise.training.data import TaskSetup

    made = default_experiment(
        TASKS.build(json.loads(task)), system.scheme, system.encoding, max_length=max_length, test_lengths=tests
    )

    def parameters(of: RunConfig, width: int, mixer: str) -> int:
        model = dataclasses.replace(of.model, layers=layers, heads=heads, width=width, mixer=mixer)
        return TaskSetup(of.task, of.scheme, of.encoding, model).build(FIRST_SEED).parameter_count

    plain = dataclasses.replace(made, scheme=SCHEMES.build("sequential"), encoding=ENCODINGS.build("nope"))
    wanted = parameters(plain, width, "attention")
    step = 2 * heads if system.mixer == "attention" or system.attends else heads  # rotations need an even head width
    widths = range(step, 2 * width + 1, step)
    found = bisect.bisect_left(widths, wanted, key=lambda width: parameters(made, width, system.mixer))
    near = widths[max(0, found - 1) : found + 1]
    return min(near, key=lambda width: abs(parameters(made, width, system.mixer) - wanted))


def read_plan(folder: Path) -> Plan | None:
    """The plan in a folder, or None; raises `LengthwiseError` if it is damaged."""
    path = folder / FILE
    if not path.exists():
        return None
    values = read_sealed(path, "plan of a comparison")
    require(isinstance(values, dict), f"plan of a comparison {path} is damaged; delete the folder and start again")
    return from_fields(Plan, values, where=f"plan {path}")


def default_tests(task: Task, max_length: int) -> tuple[int, ...]:
    """`defaults.MULTIPLES` of the longest training length, each moved down to the nearest length with instances."""
    require(max_length <= LONGEST, f"max_length must be at most {LONGEST:,}, got {max_length:,}")
    return defaults.default_tests(task, max_length, defaults.MULTIPLES)


def steps_for(budget: float, jobs: int, for_one_step: float) -> int:
    """The number of steps that fits a budget of ``budget`` seconds where a step of all trainings takes so many."""
    return max(FEWEST_STEPS, min(MOST_STEPS, int(SHARE * budget * jobs / for_one_step) // 50 * 50))


@dataclass(frozen=True)
class Smallest:
    """The smallest budget of a comparison: what was said of it is kept in its folder, so no later call asks for more.

    Where steps take longer than when it was said, each training has the fewest steps, and the next call goes on.
    """

    path: Path
    of: str
    """A digest of the plan and the processes."""
    budget: float
    jobs: int

    @property
    def said(self) -> float:
        """The seconds that were said; infinity where nothing was."""
        return self._all_said().get(self.of, math.inf)

    def _all_said(self) -> dict[str, float]:
        values = read_sealed(self.path, "smallest budget") if self.path.exists() else None
        return values if isinstance(values, dict) else {}

    def say(self, of: str, seconds: float) -> None:
        """Keep what is said of the comparison with this digest; what was said to suffice before still does."""
        said = self._all_said()
        write_sealed(self.path, {**said, of: min(seconds, said.get(of, math.inf))})

    def check(self, alone: Mapping[str, float], spare: float) -> None:
        """Raise `TooSmallError` if the budget is too small where a step at each first setting takes these seconds.

        Its way out is the first systems that the budget suffices for; the first two and their budget otherwise.
        """
        for_one_step = sum(alone.values())
        if SHARE * self.budget * self.jobs >= FEWEST_STEPS * for_one_step or self.budget >= self.said:
            return
        seconds = min(self.said, _minutes(FEWEST_STEPS * spare * for_one_step / (SHARE * self.jobs)))
        self.say(self.of, seconds)
        kept, needed = list[str](), 0.0
        for name in alone:
            tried = [alone[one] for one in (*kept, name)]
            more = spare * (FEWEST_STEPS * sum(tried) / (SHARE * min(self.jobs, len(tried))))
            if len(kept) < 2 or more <= self.budget:
                kept, needed = [*kept, name], more
        budget = {} if needed <= self.budget else {"budget": f"{min(seconds, _minutes(needed)) // 60:.0f}m"}
        left = [name for name in alone if name not in kept]
        raise TooSmallError(
            f"budget is too small, got {self.budget:.0f}s: the smallest is {seconds // 60:.0f}m, for {FEWEST_STEPS} "
            "steps of each system",
            ({"systems": kept} if left else {}) | budget,
            left,
        )


def free(folder: Path, suffix: str) -> Path:
    """A folder beside this one, with a suffix, that holds no comparison yet."""
    names = (f"{folder.name}-{suffix}" + f"-{number}" * (number > 1) for number in itertools.count(1))
    return next(path for name in names if not (path := folder.with_name(name)).joinpath(FILE).exists())


def _minutes(seconds: float) -> float:
    """The seconds of whole minutes that are enough."""
    return 60 * math.ceil(seconds / 60)


def begun(folder: Path) -> Plan | None:
    """The plan in a folder if its number of steps is decided; None before."""
    return read_plan(folder) if (folder / "tuning").exists() else None


def plan_in(folder: Path) -> Plan:
    """The plan that a comparison has written before its stages start."""
    plan = read_plan(folder)
    assert plan is not None, f"no plan in {folder}"
    return plan


def time_steps(folder: Path, system: PositionSystem, progress: Progress, place: Place = HERE) -> None:
    """Train each point of the grid for a few steps; writes the seconds of one, of the first seed and of the others."""
    from lengthwise.training.data import TaskSetup
    from lengthwise.training.trainer import Trainer

    plan, seconds = plan_in(folder), []
    for index, setting in enumerate(plan.grid):
        experiment = plan.experiment(system, setting)
        setup = TaskSetup(experiment.task, experiment.scheme, experiment.encoding, experiment.model)
        if index == 0:
            # One string a step first: where this is slow, whole batches could take minutes before anything is known.
            one = dataclasses.replace(experiment.training, batch_size=1, groups=1)
            least = _seconds_of(Trainer(setup, one, [FIRST_SEED], device=place.chosen()).step)
            if least > NOTICEABLE:
                progress(Event(system.name, FIRST_SEED, "time", index, len(plan.grid), least * plan.batch_size / 4))
        found: list[float] = []
        for seeds in ([FIRST_SEED], range(FIRST_SEED + 1, plan.seeds)):
            made = Trainer(setup, experiment.training, seeds, device=place.chosen()) if seeds else None
            found.append(0.0 if made is None else _seconds_of(made.step))
            progress(Event(system.name, FIRST_SEED, "time", index, len(plan.grid), found[0]))
        seconds.append(found)
    write_json(times_file(folder, system), seconds)


def _seconds_of(take: Callable[[int], object]) -> float:
    """The median seconds of some steps, of each the least; the first ones are slower. Of slow steps few are taken."""
    least: list[float] = []
    for number in range(ROUNDS):
        spent, steps = 0.0, TIMED_STEPS if number == 0 else len(least)
        for step in range(steps):
            if spent >= LONG_ENOUGH:
                break
            started = time.perf_counter()
            take(step)
            taken = time.perf_counter() - started
            spent += taken
            least[step : step + 1] = [min([taken, *least[step : step + 1]])]
        if len(least) == 1:
            break
    return statistics.median(least[SKIPPED_STEPS:] or least[-1:])


def times_file(folder: Path, system: PositionSystem) -> Path:
    """Where `time_steps` writes, until there is a plan."""
    return folder / "times" / f"{_file_name(system)}.json"


def _file_name(system: PositionSystem) -> str:
    return system.name if system.mixer == "attention" else slug(system.name)


def tuning_file(folder: Path, system: PositionSystem) -> Path:
    """Where the outcome of the tuning of one system is."""
    return folder / "tuning" / f"{_file_name(system)}.json"


def tune(folder: Path, system: PositionSystem, progress: Progress, place: Place = HERE) -> None:
    """Train the first seed at the next point of the grid, and measure it where that fits in distribution.

    At the end of the grid, the point that is nearest to a fit is measured. Writes the accuracy in distribution of every
    point that was tried, None if it diverged, and the index of the chosen one: none before the end, and where all
    diverged. Long lengths play no part in the choice.
    """
    plan = plan_in(folder)
    if not is_tuned(folder, plan, system):
        rates = list((read_tuning(folder, plan, system) or {"in_distribution": []})["in_distribution"])
        experiment = plan.experiment(system, plan.grid[len(rates)])
        run_folder = run_directory(folder, RUNS, experiment, FIRST_SEED)
        claim_run_dir(run_folder, experiment, FIRST_SEED)
        text = f"setting {len(rates) + 1} of {len(plan.grid)}"
        say = reporter(system.name, FIRST_SEED, progress, text=f"trying {text}")
        (state,) = train(experiment, [FIRST_SEED], run_folder, say, place=place)
        rate = None
        if state.failure is None:
            samples = experiment.evaluation.fit_samples
            rate = in_distribution_score(experiment, state.trained(), samples, FIRST_SEED, "tuning").rate()
        rates.append(rate)
        known = [one for one in rates if one is not None]
        ended = len(rates) == len(plan.grid) or max(known, default=0) >= experiment.evaluation.fit_threshold
        chosen = rates.index(max(known)) if ended and known else None
        values = {"system": system.name, "in_distribution": rates, "chosen": chosen}
        write_sealed(tuning_file(folder, system), values)
        if not ended:
            said = "diverged" if rate is None else f"{100 * rate:.0f} % right at training lengths"
            progress(Event(system.name, FIRST_SEED, "note", text=f"{system.name}, {text}: {said}, not fitted yet"))
    setting = chosen_setting(folder, plan, system)
    if setting is not None:
        # Its checkpoint is at its end already.
        experiment = plan.experiment(system, setting)
        run_folder = run_directory(folder, RUNS, experiment, FIRST_SEED)
        result = run_seed(
            experiment,
            FIRST_SEED,
            run_folder,
            recipe=RUNS,
            system=system.name,
            report=reporter(system.name, FIRST_SEED, progress),
            place=place,
        )
        progress(end_of(system.name, FIRST_SEED, result))


def read_tuning(folder: Path, plan: Plan, system: PositionSystem) -> dict[str, Any] | None:
    """What `tune` wrote, or None; raises `LengthwiseError` if it is damaged."""
    path = tuning_file(folder, system)
    if not path.exists():
        return None
    values = read_sealed(path, "outcome of a tuning")
    whole = isinstance(values, dict) and values.keys() >= {"in_distribution", "chosen"}
    whole = whole and (values["chosen"] is None or values["chosen"] in range(len(values["in_distribution"])))
    require(whole, f"outcome of a tuning {path} is damaged; delete it and run again")
    return values


def is_tuned(folder: Path, plan: Plan, system: PositionSystem) -> bool:
    """Whether tuning has ended, with a chosen setting or without."""
    tuned = read_tuning(folder, plan, system)
    return tuned is not None and (tuned["chosen"] is not None or len(tuned["in_distribution"]) == len(plan.grid))


def chosen_setting(folder: Path, plan: Plan, system: PositionSystem) -> ModelSetting | None:
    """The setting that tuning chose; None where it has not ended or every training diverged."""
    tuned = read_tuning(folder, plan, system)
    return None if tuned is None or tuned["chosen"] is None else plan.grid[tuned["chosen"]]


def train_others(folder: Path, system: PositionSystem, progress: Progress, place: Place = HERE) -> None:
    """Train and measure the other seeds of the chosen setting; a seed that diverges is left without a result."""
    plan = plan_in(folder)
    setting = chosen_setting(folder, plan, system)
    if setting is None or plan.seeds == 1:
        return
    others = tuple(range(FIRST_SEED + 1, plan.seeds))
    recipe = Recipe(RUNS, "", (Job(system.name, plan.experiment(system, setting), others),))
    try:
        sweep(recipe, folder, place=place, progress=progress)
    except TrainingDivergedError:
        return


STAGES: dict[str, Callable[[Path, PositionSystem, Progress, Place], None]] = {
    "time": time_steps,
    "tune": tune,
    "train": train_others,
}
"""What a comparison does for each system, in order; each stage ends for all systems before the next begins."""


@dataclass(frozen=True)
class StageUnit(Unit):
    """One stage of the comparison in a folder, for one system."""

    home: Path
    stage: str
    system: PositionSystem
    place: Place = HERE

    @property
    def name(self) -> str:
        return self.system.name

    @property
    def leases(self) -> Path:
        return self.home / RUNS / LEASES / f"{self.stage}-{_file_name(self.system)}"

    def compute(self, folder: Path, progress: Progress) -> None:
        STAGES[self.stage](folder, self.system, progress, self.place)

    def owned(self, folder: Path) -> list[Path]:
        plan = plan_in(self.home)
        seeds = range(FIRST_SEED, plan.seeds)
        configs = [plan.experiment(self.system, setting) for setting in plan.grid]
        runs = [run_directory(folder, RUNS, config, seed) for config in configs for seed in seeds]
        stacks = [stack for config in configs for stack in stack_folders(config, folder / RUNS)]
        notes = [folder / FILE, times_file(folder, self.system), tuning_file(folder, self.system)]
        return [path for path in [*runs, *stacks, *notes] if path.exists()]

    def is_finished(self, path: Path) -> bool:
        return path.is_file() or (path / RESULT).exists()

    def ends(self) -> list[Event]:
        if self.stage == "time":
            return []
        results = results_of(self.home, plan_in(self.home), self.system)
        mine = [result for result in results if (result.seed == FIRST_SEED) == (self.stage == "tune")]
        return [end_of(self.system.name, result.seed, result) for result in mine]


def results_of(folder: Path, plan: Plan, system: PositionSystem) -> list[RunResult]:
    """The finished seeds of the chosen setting of a system."""
    setting = chosen_setting(folder, plan, system)
    if setting is None:
        return []
    experiment = plan.experiment(system, setting)
    seeds = range(FIRST_SEED, plan.seeds)
    found = [finished(run_directory(folder, RUNS, experiment, seed), experiment, seed) for seed in seeds]
    return [result for result in found if result is not None]


@dataclass(frozen=True)
class Budget:
    """Seconds of wall-clock time, the processes that share them, and the seeds of each system."""

    seconds: float = 600.0
    jobs: int = 1
    seeds: int = 3

    def __post_init__(self) -> None:
        require(self.seconds > 0, f"the budget must be above 0 seconds, got {self.seconds:g}; give e.g. 600")
        require(self.jobs >= 1, f"jobs must be at least 1, got {self.jobs}")
        require(self.seeds >= 1, f"seeds must be at least 1, got {self.seeds}")


DEFAULT_BUDGET = Budget()


@dataclass(frozen=True)
class Clock:
    """Passes events on until the time is up; then it raises `OutOfTimeError`, by which a comparison stops.

    While steps are timed, it raises `LengthwiseError` when the time is up, and earlier where those timed so far show
    that the budget is too small and the others would take long.
    """

    smallest: Smallest
    progress: Progress
    ends: float
    points: int
    """Systems times points of the grid, which are timed."""
    systems: tuple[str, ...]
    """The names of the systems."""
    timed: dict[tuple[str, int], float] = field(default_factory=dict)
    """Seconds of a step of the first seed, by system and point of the grid."""

    def __call__(self, event: Event) -> None:
        if event.phase == "time":
            self.timed[event.job, event.done] = event.number
            one = sum(self.timed.values()) / len(self.timed)
            if one * (self.points - len(self.timed)) > PATIENCE * self.smallest.jobs or time.monotonic() > self.ends:
                self.smallest.check(dict.fromkeys(self.systems, one), 2 * GUESSED)
        self.check()
        self.progress(event)

    def check(self) -> None:
        """Raise `OutOfTimeError` if the time is up."""
        if time.monotonic() > self.ends:
            raise OutOfTimeError


def run_comparison(
    task: Task,
    folder: Path,
    *,
    systems: Sequence[str] = (),
    budget: Budget = DEFAULT_BUDGET,
    max_length: int = MAX_LENGTH,
    test_lengths: Sequence[int] | None = None,
    models: bool = False,
    on: Executor | None = None,
    progress: Progress = unwatched,
) -> Plan:
    """Train all systems on ``task`` and measure them, in ``folder``; returns the plan.

    What the budget cuts off is finished by the next call with the same arguments, which gets a budget of its own.
    ``on`` computes systems side by side, by default in ``budget.jobs`` processes of this machine. With ``models``, or
    a system with another mixer than attention, all get equally many parameters within 10 %.
    Raises `LengthwiseError` for an unknown system, a budget that is too small, or a folder with another comparison.
    """
    started = time.monotonic()
    chosen = model_systems(task) if models and not systems else chosen_systems(task, systems)
    wanted = wanted_plan(task, chosen, max_length, budget.seeds, test_lengths)
    if models or any(system.mixer != "attention" for system in chosen):
        wanted = dataclasses.replace(
            wanted, equal=True, grid=tuple(dataclasses.replace(s, layers=2) for s in wanted.grid)
        )
    make_folder(folder)
    with locked(folder):
        for part in (folder, folder / "times", folder / "tuning"):
            remove_unfinished(part)
        if on is None:
            reclaim(folder / RUNS)
            on = Processes(budget.jobs) if budget.jobs > 1 else None
        jobs = 1 if on is None else min(on.slots, len(wanted.systems))
        smallest = Smallest(folder / SMALLEST, smallest_of(wanted, jobs), budget.seconds, jobs)
        names = tuple(system.name for system in wanted.systems)
        clock = Clock(smallest, progress, started + budget.seconds, len(names) * len(wanted.grid), names)
        try:
            plan = _planned(wanted, folder, clock, on)
            # All systems at the first setting before any at the second: a budget that ends soon leaves none unknown.
            for _ in plan.grid:
                _do("tune", folder, [s for s in plan.systems if not results_of(folder, plan, s)], clock, on)
            missing = [(s, found) for s in plan.systems if len(found := results_of(folder, plan, s)) < plan.seeds]
            missing.sort(key=lambda one: -sum(result.fitted for result in one[1]))
            _do("train", folder, [system for system, _ in missing], clock, on)
        except OutOfTimeError:
            plan = read_plan(folder) or wanted
        except TooSmallError as error:
            # What was said to suffice is not refused.
            kept = tuple(map(wanted.system, error.instead.get("systems", names)))
            fewer = smallest_of(dataclasses.replace(wanted, systems=kept), min(jobs, len(kept)))
            smallest.say(fewer, arguments.seconds("budget", error.instead.get("budget", budget.seconds)))
            raise
    return plan


def smallest_of(plan: Plan, jobs: int) -> str:
    """A digest of what the smallest budget depends on: it is for one seed of each system."""
    return digest([fields_of(dataclasses.replace(plan, seeds=1)), jobs])


def wanted_plan(
    task: Task,
    systems: tuple[PositionSystem, ...],
    max_length: int,
    seeds: int,
    test_lengths: Sequence[int] | None = None,
) -> Plan:
    """The plan before its number of steps is known; raises `LengthwiseError` where no test is beyond training."""
    tests = default_tests(task, max_length)
    if test_lengths is not None:
        tests = tuple(sorted(set(test_lengths)))
        task.check_lengths(tests)
        check_beyond(tests, max_length)
    return Plan(TASKS.describe(task), systems, max_length, tests, seeds, FEWEST_STEPS, code=code_of(task))


def _planned(wanted: Plan, folder: Path, clock: Clock, on: Executor | None) -> Plan:
    """The plan in the folder, or a new one whose number of steps fits the budget on this machine."""
    found = begun(folder)
    if found is not None:
        # The number of steps follows from the budget and the machine.
        decided = {"steps": found.steps, "speeds": found.speeds, "budget": found.budget}
        if dataclasses.replace(wanted, seeds=found.seeds, **decided) != found:
            raise LengthwiseError(
                f"{folder} holds a comparison of another task, or of other systems or lengths; "
                f"choose another one as `out`, such as {free(folder, '2')}, or delete it"
            )
        if wanted.seeds > found.seeds and all(is_tuned(folder, found, system) for system in found.systems):
            found = dataclasses.replace(found, seeds=wanted.seeds)
            found.write(folder)
        return found
    wanted.write(folder)
    remove_folder(folder / "times")
    _do("time", folder, wanted.systems, clock, on)
    # The first seed trains at each point of the grid, the stack of the others at the slowest at most.
    seconds = [read_json(times_file(folder, system), what="times of steps") for system in wanted.systems]
    speeds = tuple(round(1 / min(first for first, _ in times), 2) for times in seconds) if wanted.equal else ()
    for_one = sum(first for times in seconds for first, _ in times)
    for_all = for_one + sum(max(others for _, others in times) for times in seconds)
    clock.smallest.check(
        {system.name: times[0][0] for system, times in zip(wanted.systems, seconds, strict=True)}, SPARE
    )
    # Timing has taken its part of the budget.
    left, jobs, seeds = clock.ends - time.monotonic(), clock.smallest.jobs, wanted.seeds
    if steps_for(left, jobs, for_all) < min(ENOUGH_STEPS, MOST_STEPS):
        for_all, seeds = for_one, 1
    steps = steps_for(left, jobs, for_all)
    plan = dataclasses.replace(wanted, steps=steps, speeds=speeds, budget=clock.smallest.budget, seeds=seeds)
    plan.write(folder)
    # Each first seed at all points of the grid, and the tests, are in what is said.
    minutes = steps * for_all / jobs / SHARE / 60
    times = {1: "once", 2: "twice"}
    said = (
        f"about {minutes:.1f} min at most: each system is trained {times.get(seeds, f'{seeds} times')}, {steps:,} steps"
    )
    said += ", and as many with a second setting where the first does not fit" * (len(plan.grid) > 1)
    said += "; the same command adds the other seeds later" * (seeds < wanted.seeds)
    if 60 * minutes > 1.05 * left:
        said += "; the budget may end before that, and the same command then goes on"
    clock(Event("plan", 0, "note", text=said))
    if steps < (usual := min(defaults.STEPS, MOST_STEPS)):
        took = clock.smallest.budget - left
        needed, again = _minutes(took + usual * for_all / (SHARE * jobs)), {"seeds": 1} if seeds < wanted.seeds else {}
        few = f"{steps:,} steps may be too few, `run` takes {usual:,} by default; for as many"
        options = {"budget": f"{needed // 60:.0f}m", **again, "out": str(free(folder, f"{usual}-steps"))}
        clock(Event("plan", 0, "note", text=few, instead=options))
    remove_folder(folder / "times")
    make_folder(folder / "tuning")
    return plan


def _do(stage: str, folder: Path, systems: Sequence[PositionSystem], clock: Clock, on: Executor | None) -> None:
    if on is None:
        for system in systems:
            STAGES[stage](folder, system, clock, HERE)
    elif systems:
        units = [StageUnit(folder.resolve(), stage, system) for system in systems]
        with closing(on.run(units, clock, clock.check)) as ended:
            for _ in ended:
                pass


def ranked(folder: Path, plan: Plan) -> list[dict[str, Any]]:
    """One row per system, best first by `how_far`, as plain JSON values.

    A seed that did not fit in distribution counts as 0 and says so. Systems without a finished seed come last.
    """
    rows = [_row(folder, plan, system) for system in plan.systems]
    return sorted(rows, key=lambda row: (not row["seeds"], -row["reach"], -row["mean_beyond"]))


def _row(folder: Path, plan: Plan, system: PositionSystem) -> dict[str, Any]:
    results = results_of(folder, plan, system)
    seeds, (reached, mean) = [_seed(one, plan.max_length) for one in results], how_far(results, plan.max_length)
    setting, tuned = chosen_setting(folder, plan, system), read_tuning(folder, plan, system)
    return {
        "system": system.name,
        "scheme": system.scheme,
        "encoding": system.encoding,
        "setting": None if setting is None else setting.text,
        "tuning": None if tuned is None else tuned["in_distribution"],
        "seeds": seeds,
        "missing": plan.seeds - len(seeds),
        "diverged": is_tuned(folder, plan, system) and setting is None,
        "fitted": sum(seed["fitted"] for seed in seeds),
        "reach": reached,
        "mean_beyond": mean,
        "copy": None if setting is None else setting_to_copy(plan, system, setting),
        **(_cost(plan, system, setting or plan.grid[0]) if plan.equal else {}),
    }


def _cost(plan: Plan, system: PositionSystem, setting: ModelSetting) -> dict[str, Any]:
    """Parameters, training steps a second, and numbers kept of a sequence of the longest training and test length."""
    from lengthwise.models.attention_state import Cache
    from lengthwise.models.inputs import Inputs
    from lengthwise.training.data import TaskSetup

    made, kept = plan.experiment(system, setting), []
    model = TaskSetup(made.task, made.scheme, made.encoding, made.model).build(FIRST_SEED).eval()
    for length in (plan.tests[0], plan.tests[-1]):
        rng = stream(0, "comparison", "state")
        inputs = Inputs.of(made.task.batch(length, 1, rng), made.scheme.for_evaluation(), made.task.levels, rng)
        cache = Cache(capacity=inputs.input_ids.shape[1])
        model(inputs.input_ids, inputs.position_ids, cache=cache)
        kept.append(cache.numbers)
    speed = plan.speeds[plan.systems.index(system)] if plan.speeds else None
    return {"mixer": system.mixer, "parameters": model.parameter_count, "steps_per_second": speed, "state": kept}


def _seed(result: RunResult, trained: int) -> dict[str, Any]:
    reached, mean = seed_far(result, trained)
    return {
        "seed": result.seed,
        "fitted": result.fitted,
        "in_distribution": result.in_distribution.rate(),
        "reach": reached,
        "mean_beyond": mean,
        "exact_match": {str(length): rate for length, rate in sorted(rates_by_length(result).items())},
        "seconds": result.seconds,
    }


def setting_to_copy(plan: Plan, system: PositionSystem, setting: ModelSetting) -> dict[str, Any]:
    """The arguments of ``lengthwise.Experiment`` that train this system again."""
    experiment = plan.experiment(system, setting)
    return {
        "task": plan.task,
        "scheme": SCHEMES.describe(experiment.scheme),
        "encoding": system.encoding,
        "max_length": plan.max_length,
        "test_lengths": list(plan.tests),
        "steps": plan.steps,
        "model": {
            "layers": experiment.model.layers,
            "width": experiment.model.width,
            "heads": plan.heads,
            "log_length": experiment.model.log_length,
            **({} if system.mixer == "attention" else {"mixer": system.mixer}),
        },
        "training": {"lr": setting.lr, "weight_decay": setting.weight_decay, "batch_size": plan.batch_size},
    }
