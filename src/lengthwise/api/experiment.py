"""Train and measure: `Experiment` for one position system, `run` for a recipe or a task, `plan` for what it costs."""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.api.cluster import HERE, Cluster
from lengthwise.api.components import encoding as build_encoding
from lengthwise.api.components import scheme as build_scheme
from lengthwise.api.components import task as build_task
from lengthwise.api.result import Result
from lengthwise.core import config as arguments
from lengthwise.core.config import fields_of, from_fields, one_line_errors
from lengthwise.core.errors import LengthwiseError, UnknownNameError, require, spelled, warn
from lengthwise.core.files import read_json, read_text
from lengthwise.core.result_file import CONFIG, RESULT, RunResult
from lengthwise.core.table import Table, Tabular
from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.defaults import MAX_LENGTH, STEPS, default_experiment, folder_name, jumps_out_of_sight
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import RECIPES, Job, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import run_directory
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS, EncodingSpec
from lengthwise.positions.schemes import SCHEMES, PositionScheme
from lengthwise.positions.structure import check_places
from lengthwise.positions.system import PositionSystem, check_ids_are_used, named_pair, system_of
from lengthwise.prediction.target import Expression, parse_target, task_named
from lengthwise.report.summary import flattened
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.base import refuse_call
from lengthwise.tasks.language import Language
from lengthwise.testing.own_tasks import refuse_broken
from lengthwise.training.config import TrainingConfig
from lengthwise.training.threads import threads_of_a_call

if TYPE_CHECKING:
    from lengthwise.core.result_file import StudyResult
    from lengthwise.experiments.cost import Cost
    from lengthwise.experiments.engine import Sweep
    from lengthwise.experiments.recipe import Study

KEYS, SYSTEM_KEYS = ("recipe", "systems"), ("name", "seeds", "experiment", "study", "fallbacks", "needed")
SHAPE = '{"recipe": NAME, "systems": [{"name": NAME, "seeds": [0], "experiment": {…}}]}'


class Experiment(Tabular):
    """A task under one position scheme and one encoding, trained on short lengths and tested on long ones.

    Defaults depend on the system: coupled ids get 1 layer and all steps at ``lr`` 2e-3, others 3 layers at 1e-3 that
    stop when they fit. To compare systems, give all the same ``model`` and ``training``.

    Arguments:
        task: as of `lengthwise.task`.
        scheme: as of `lengthwise.scheme`; what it does not name follows from the task: as many ids as the
            longest test needs, and how coupled ids are drawn.
        encoding: as of `lengthwise.encoding`, or the short name of a system, such as ``"ape"``.
        max_length: the longest training length, in the task's unit.
        test_lengths: the lengths to measure, by default 1, 2 and 4 times as long.
        steps: training steps.
        model: a `ModelConfig`, or single settings to change, such as ``{"layers": 2}``.
        training: a `TrainingConfig`, or single settings to change, such as ``{"lr": 1e-3}``.
        evaluation: an `EvaluationConfig`, or single settings to change, such as ``{"samples": 100}``.
        name: of the system in results, by default ``scheme+encoding``.

    Raises: `LengthwiseError` for unknown names and fields, values of the wrong type, and lengths without instances.
    """

    def __init__(
        self,
        task: str | Task | dict[str, Any],
        scheme: str | PositionScheme | dict[str, Any] = "sequential",
        encoding: str | EncodingSpec | dict[str, Any] = "learned",
        *,
        max_length: int = MAX_LENGTH,
        test_lengths: Sequence[int] | None = None,
        steps: int = STEPS,
        model: ModelConfig | dict[str, Any] | None = None,
        training: TrainingConfig | dict[str, Any] | None = None,
        evaluation: EvaluationConfig | dict[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        scheme = scheme if isinstance(scheme, str) else build_scheme(scheme)
        if isinstance(scheme, str) and isinstance(encoding, str):
            scheme, encoding = named_pair(scheme, encoding)
        with one_line_errors("Experiment"):
            made = default_experiment(
                build_task(task), scheme, build_encoding(encoding),
                max_length=arguments.whole("max_length", max_length, 1),
                test_lengths=None if test_lengths is None else arguments.whole_numbers("test_lengths", test_lengths),
                steps=arguments.whole("steps", steps, 1),
            )  # fmt: skip
            changed = {}
            for field, cls, value in (
                ("model", ModelConfig, model),
                ("training", TrainingConfig, training),
                ("evaluation", EvaluationConfig, evaluation),
            ):
                if isinstance(value, dict):
                    value = from_fields(cls, {**fields_of(getattr(made, field)), **value}, where=field)
                if value is not None:
                    changed[field] = value
            self.configuration = dataclasses.replace(made, **changed)
            made.task.check_lengths(self.configuration.evaluation.lengths)
            check_places(made.task, made.scheme)
            check_ids_are_used(made.scheme.name, made.encoding)
        self.name = name or _name(self.configuration)

    @classmethod
    def of(cls, configuration: RunConfig, name: str = "") -> Experiment:
        """The experiment of a configuration, for example of a recipe."""
        made = cls.__new__(cls)
        made.configuration = configuration
        made.name = name or _name(configuration)
        return made

    def run(
        self,
        seeds: int | Sequence[int] = 1,
        *,
        out: str | Path = "runs",
        jobs: int = 1,
        threads: int | None = None,
        progress: bool = True,
    ) -> Result:
        """Train and measure.

        Everything is written to ``out``; what is finished there is reused, and an interrupted run goes on from its
        last checkpoint in the same bits.

        Arguments:
            seeds: these seeds; a number stands for so many from 0.
            out: the folder where run directories go.
            jobs: seeds that run at the same time, a process each.
            threads: processor threads of each; by default what pays for the size of the model.
            progress: show bars and lines on stderr.

        Returns: the `Result` of these seeds.

        Raises: `LengthwiseError` if the folder can't be used, and `TrainingDivergedError` if a seed diverges.
        """
        wanted, jobs = _seeds(seeds), arguments.whole("jobs", jobs, 1)
        recipe = Recipe(folder_name(self.configuration.task), "", (Job(self.name, self.configuration, wanted),))
        with threads_of_a_call(None if threads is None else arguments.whole("threads", threads, 1)):
            return run(recipe, out=out, jobs=jobs, progress=progress).result

    def __repr__(self) -> str:
        made = self.configuration
        return (
            f"Experiment({made.task.name!r}, {self.name!r}, max_length={made.training.max_length}, "
            f"test_lengths={list(made.evaluation.lengths)}, steps={made.training.steps}, "
            f"layers={made.model.layers}, width={made.model.width}); .table() has all settings"
        )

    def table(self) -> Table:
        """All settings: one row each."""
        rows = tuple((key, str(value)) for key, value in flattened(self.configuration.to_json()).items())
        return Table(("setting", "value"), rows, caption=self.name)


def _seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    wanted = seeds if isinstance(seeds, Iterable) else range(arguments.whole("seeds", seeds, 1))
    return tuple(arguments.whole_numbers("seeds", wanted))


def _name(configuration: RunConfig) -> str:
    """The name that `run` and `compare` give to the system, too."""
    return system_of(configuration.scheme, configuration.encoding, configuration.model.mixer).name


def recipe(
    source: str | Path | Recipe,
    *,
    preset: str = "quick",
    only: Sequence[str] = (),
    scheme: str | None = None,
    encodings: Sequence[str] = (),
    max_length: int | None = None,
    test_lengths: Sequence[int] | None = None,
    changes: Sequence[str] = (),
    seeds: int | Sequence[int] | None = None,
) -> Recipe:
    """The systems and seeds that `run` trains.

    Arguments:
        source: a recipe, a task or a language by name, an expression, ``"FILE.py:Class"`` of a task,
            ``"FILE.py:function"`` of a recipe, or a `Recipe`.
        preset: ``"quick"``, ``"standard"`` or ``"full"``.
        only: names of systems or tasks; by default all but the extra ones.
        scheme: of a task, an expression or a `Recipe` from a file: train it under this scheme of position ids, such as
            ``"modulo"``, all else equal.
        encodings: of a recipe, only systems with these positions; of a task or an expression, train it under these.
        max_length: of a task or an expression, the longest training length, in the task's unit; by default 10.
        test_lengths: of a task or an expression, by default 1, 2 and 4 times ``max_length``.
        changes: settings of all systems, such as ``"training.steps=100"`` or ``"scheme.m=4"``.
        seeds: instead of each system's own; a number stands for so many from 0.

    Returns: the `Recipe`.

    Raises: `LengthwiseError` for unknown names and settings, and for settings of a task with a recipe.
    """
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.experiments.defaults import default_recipe, recipe_for

    if isinstance(source, Recipe) and scheme is not None:
        source, scheme = _under(source, scheme), None
    wanted = {"scheme": scheme, "max_length": max_length, "test_lengths": test_lengths}
    given = [name for name, value in wanted.items() if value is not None]
    name = "" if isinstance(source, Recipe) else str(source)
    refuse_call(name)
    known = isinstance(source, Recipe) or name in RECIPES.names()
    if given and known and name not in TASKS:
        raise LengthwiseError(
            f"{given[0]} is for a task or an expression; recipe {name or source.name!r} has its own"  # type: ignore[union-attr]
        )
    if given or (not known and (encodings or _is_expression(name))):
        task = task_named(name, "run")
        systems = _systems(task, scheme, arguments.names("encodings", encodings)) if scheme or encodings else ()
        length = MAX_LENGTH if max_length is None else arguments.whole("max_length", max_length, 1)
        tests = None if test_lengths is None else arguments.whole_numbers("test_lengths", test_lengths)
        whole, encodings = default_recipe(task, preset, systems, length, tests), ()
    else:
        whole = source if isinstance(source, Recipe) else recipe_for(name, preset)
    # Systems are chosen first, so that a change need only make sense for these.
    count = None if seeds is None or isinstance(seeds, Iterable) else arguments.whole("seeds", seeds, 1)
    chosen = whole.selected(list(only), list(encodings)).edited(list(changes), count)
    if isinstance(seeds, Iterable):
        jobs = tuple(dataclasses.replace(job, seeds=_seeds(seeds)) for job in chosen.jobs)
        return dataclasses.replace(chosen, jobs=jobs)
    return chosen


def _under(source: Recipe, scheme: str) -> Recipe:
    """The systems of a recipe with other ids, and all else of them."""
    jobs = list[Job]()
    for job in source.jobs:
        own = job.experiment
        lengths, longest = own.evaluation.lengths, own.training.max_length
        other = default_experiment(own.task, scheme, own.encoding, max_length=longest, test_lengths=lengths).scheme
        made = dataclasses.replace(own, scheme=other)
        check_places(made.task, other)
        check_ids_are_used(other.name, made.encoding)
        of_task = job.name.removesuffix(_name(own)) if job.name.endswith(_name(own)) else ""
        jobs.append(dataclasses.replace(job, name=of_task + _name(made), work=made))
    return dataclasses.replace(source, jobs=tuple(jobs))


def _is_expression(name: str) -> bool:
    """Whether a name is an expression or a published language, which `recipe_for` does not know."""
    if name in TASKS or ".py" in name or not name:
        return False
    try:
        return isinstance(parse_target(name), Expression | Language)
    except LengthwiseError:
        return False


def _systems(task: Task, scheme: str | None, encodings: Sequence[str]) -> tuple[PositionSystem, ...]:
    """The systems of a scheme with each of these encodings; a scheme alone has a learned table, ``pose`` RoPE."""
    from lengthwise.experiments.defaults import chosen_systems

    if scheme is None:
        return chosen_systems(task, encodings)
    scheme = spelled(scheme, SCHEMES)
    if scheme not in SCHEMES:
        raise UnknownNameError("scheme", scheme, SCHEMES)
    pairs = [named_pair(scheme, spelled(encoding, ENCODINGS)) for encoding in encodings]
    for _, encoding in pairs:
        if encoding not in ENCODINGS:
            raise UnknownNameError("encoding", encoding, ENCODINGS)
    return chosen_systems(task, ["+".join(pair) for pair in pairs] or [scheme])


class RecipeResult(Tabular):
    """What a recipe gave: the `Result` of its trainings, or the rows of its studies."""

    def __init__(self, sweep: Sweep, out: Path) -> None:
        self.sweep, self.out = sweep, out

    @property
    def folder(self) -> Path:
        """Where its run directories are."""
        return self.out / self.sweep.recipe.name

    @property
    def result(self) -> Result:
        """The results of its trainings."""
        runs = zip(self.sweep.recipe.jobs, self.sweep.results, strict=True)
        return Result.of(self.run_folder(job, result) for job, results in runs for result in results)

    def run_folder(self, job: Job, result: RunResult | StudyResult) -> Path:
        """The run directory of one of the results of a system."""
        works, trained = job.candidates.configs, result.to_json()["experiment"]
        work = next((work for work in works if work.to_json() == trained), works[0])
        return run_directory(self.out, self.sweep.recipe.name, work, result.seed)

    @property
    def studies(self) -> list[tuple[Study, StudyResult]]:
        """The results that are no training runs'."""
        return self.sweep.studies()

    def table(self) -> Table:
        """As `Result.table`; of studies, their rows."""
        if self.sweep.recipe.trains:
            return self.result.table()
        rows = [row for _, result in self.studies for row in result.rows]
        columns = tuple(dict.fromkeys(key for row in rows for key in row))
        return Table(columns, tuple(tuple(row.get(key) for key in columns) for row in rows))

    def plot(self) -> Any:
        """As `Accuracy.plot`, of its trainings."""
        return self.result.accuracy().plot()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values of its trainings."""
        return self.sweep.to_json()


def run(
    source: str | Path | Recipe,
    *,
    preset: str = "quick",
    only: Sequence[str] = (),
    scheme: str | None = None,
    encodings: Sequence[str] = (),
    max_length: int | None = None,
    test_lengths: Sequence[int] | None = None,
    changes: Sequence[str] = (),
    seeds: int | Sequence[int] | None = None,
    out: str | Path = "runs",
    resume: bool = False,
    jobs: int = 1,
    on: Cluster = HERE,
    device: str | None = None,
    shard: bool = False,
    log_to: str | None = None,
    progress: bool | Callable[[Event], None] = True,
) -> RecipeResult:
    """Train and measure every system and seed of a recipe, or compute its study.

    Finished seeds are reused and an interrupted one goes on from its last checkpoint, so the same call can always be
    made again.

    Arguments:
        source, preset, only, scheme, encodings, max_length, test_lengths, changes, seeds: as of `recipe`.
        out: the folder where run directories go.
        resume: insist that there is something to resume.
        jobs: seeds that run at the same time on this machine, a process each.
        on: a cluster, instead of this machine.
        device: where torch computes, such as ``"cuda"``; by default the processor.
        shard: under torchrun, weights spread over the ranks, for one large model.
        log_to: ``"wandb"`` or ``"tensorboard"``, which get the progress, too.
        progress: show bars and lines on stderr, or a function that is called with every `Event`.

    Returns: the results.

    Raises: `LengthwiseError` for unknown names and folders that can't be used, before anything is trained, and
        `TrainingDivergedError` at the end if a seed diverged.
    """
    from lengthwise.api.progress import SweepProgress, stderr, tracker
    from lengthwise.experiments import engine
    from lengthwise.experiments.execute import Processes
    from lengthwise.experiments.run import Place, is_worker, run_worker, with_workers

    chosen = recipe(
        source, preset=preset, only=only, scheme=scheme, encodings=encodings, max_length=max_length,
        test_lengths=test_lengths, changes=changes, seeds=seeds,
    )  # fmt: skip
    for job in chosen.jobs if chosen.trains else ():
        refuse_broken(job.experiment.task)
        check_places(job.experiment.task, job.experiment.scheme)
        check_ids_are_used(job.experiment.scheme.name, job.experiment.encoding)
        job.experiment.task.check_lengths(job.experiment.evaluation.lengths)
        if jumps_out_of_sight(job.experiment.scheme, job.experiment.encoding):
            warn(f"{job.name} does not see over the jump of its ids; it may not fit: set scheme.draw to contiguous")
    folder, jobs = arguments.path("out", out), arguments.whole("jobs", jobs, 1)
    if shard:
        alone = int(os.environ.get("WORLD_SIZE", "1")) == 1
        require(not alone, "`shard` needs several ranks; start with `torchrun --nproc-per-node N -m lengthwise run …`")
    results = folder / chosen.name
    require(
        not resume or results.is_dir(), f"nothing to resume: there is no folder {results}; leave out `resume` to start"
    )
    place, executor = Place(device, shard), on.executor(results / "slurm")
    if is_worker():
        require(jobs == 1 and executor is None, "under torchrun give neither `jobs` nor `ray` or `slurm`")
        run_worker(place)
        raise SystemExit(0)  # the result is that of rank 0
    with ExitStack() as stack:
        observers: list[Callable[[Event], None]] = []
        if progress is True:
            observers.append(stack.enter_context(SweepProgress(stderr(), chosen)))
        elif callable(progress):
            observers.append(progress)
        stack.enter_context(with_workers(place))
        if log_to is not None:
            observers.append(stack.enter_context(tracker(log_to, chosen, results)))

        def observe(event: Event) -> None:
            for observer in observers:
                observer(event)

        here = Processes(jobs) if jobs > 1 else None
        done = engine.sweep(chosen, folder, on=executor or here, place=place, progress=observe)
    return RecipeResult(done, folder)


def plan(
    source: str | Path | Recipe,
    machines: str = "1x1",
    *,
    preset: str = "quick",
    only: Sequence[str] = (),
    scheme: str | None = None,
    encodings: Sequence[str] = (),
    max_length: int | None = None,
    test_lengths: Sequence[int] | None = None,
    changes: Sequence[str] = (),
    seeds: int | Sequence[int] | None = None,
    cpus_per_job: int = 1,
    progress: Callable[[str], None] = lambda line: None,
) -> Cost:
    """Measure a few steps and test strings of every system of a recipe, and estimate what all of it costs.

    The numbers are those of this machine under its present load.

    Arguments:
        source, preset, only, scheme, encodings, max_length, test_lengths, changes, seeds: as of `recipe`.
        machines: ``"COUNTxCORES"``, such as ``"4x16"``.
        cpus_per_job: cores of each job.
        progress: called with a line for each system.

    Returns: jobs, core-hours, hours and memory.

    Raises: `LengthwiseError` for unknown names, and machines on which no job fits.
    """
    from lengthwise.experiments.cost import Machines
    from lengthwise.experiments.cost import plan as estimate

    chosen = recipe(
        source, preset=preset, only=only, scheme=scheme, encodings=encodings, max_length=max_length,
        test_lengths=test_lengths, changes=changes, seeds=seeds,
    )  # fmt: skip
    return estimate(chosen, Machines.of(machines), cpus_per_job, progress)


def read_recipe(path: Path) -> Recipe:
    """The recipe in a file, or that of one run, by its folder; what is missing of an experiment has its default.

    A system without a name is called ``scheme+encoding``.

    Raises `LengthwiseError` that names the file and the mistake.
    """
    if path.is_dir():
        path /= CONFIG if (path / CONFIG).exists() else RESULT
    text, kind = read_text(path, what="configuration file"), "TOML" if path.suffix == ".toml" else "JSON"
    try:
        values = (tomllib if kind == "TOML" else json).loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise LengthwiseError(f"{path} is not {kind}: {error}; write {SHAPE}") from None
    if isinstance(values, dict) and "systems" not in values and {"experiment", "seed"} <= values.keys():
        beside = path.parent / RESULT
        named = {"name": RunResult.of(read_json(beside, what="result file")).system} if beside.exists() else {}
        own = {"experiment": values["experiment"], "seeds": [values["seed"]], **named}
        values = {"recipe": path.resolve().parent.parent.name, "systems": [own]}
    if not isinstance(values, dict) or not isinstance(values.get("systems"), list) or not values["systems"]:
        raise LengthwiseError(
            f"{path} lists no systems; write {SHAPE}, as `lengthwise run RECIPE` prints its configuration"
        )
    _check_keys(values, KEYS, f"{path}")
    name = values.get("recipe", path.stem)
    if not isinstance(name, str) or name in ("", "..") or Path(name).name != name or not name.isprintable():
        raise LengthwiseError(f"{path}: recipe must be the name of one folder, got {name!r}")
    return Recipe(name, f"systems of {path.name}", tuple(_job(system, path) for system in values["systems"]))


def _job(system: Any, path: Path) -> Job:
    if not isinstance(system, dict) or not ("experiment" in system or "study" in system):
        raise LengthwiseError(f"{path}: a system has no experiment; write {SHAPE}")
    _check_keys(system, SYSTEM_KEYS, f"a system of {path}")
    whole = {"name": "system", "seeds": [0], "fallbacks": [], "needed": 1, **system}
    seeds = whole["seeds"]
    if not isinstance(seeds, list) or not seeds or not all(type(seed) is int and seed >= 0 for seed in seeds):
        raise LengthwiseError(f"{path}: seeds must be a list of whole numbers from 0, got {seeds!r}")
    try:
        made = Job.from_json(whole)
        named = "name" in system or not isinstance(made.work, RunConfig)
        return made if named else dataclasses.replace(made, name=_name(made.experiment))
    except (KeyError, TypeError, AttributeError) as error:
        raise LengthwiseError(
            f"{path}: a system can't be read ({type(error).__name__}: {error}); write {SHAPE}"
        ) from None


def _check_keys(values: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in values:
        if key not in known:
            raise UnknownNameError(f"field of {where}", key, known)
