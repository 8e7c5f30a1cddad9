"""Recipes: the jobs of one figure or table. A job is something to compute with some seeds: candidates or a study."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from lengthwise.core.config import EXACT_IN_JSON
from lengthwise.core.errors import LengthwiseError, UnknownNameError, require, spelled
from lengthwise.core.registry import installed, load_installed
from lengthwise.core.user_code import load_given, load_object, no_new_code
from lengthwise.experiments.run_config import RunConfig

C = TypeVar("C")
R = TypeVar("R")
Preset = Literal["quick", "standard", "full"]
"""How much of a recipe is done: minutes, the published setting, or all of it."""
PRESETS: tuple[Preset, ...] = ("quick", "standard", "full")

STUDY_FILE = "study.json"


@dataclass(frozen=True)
class Study:
    """A computation that is no training run: ``function(preset, seed, report)`` returns plain JSON values.

    ``version`` is raised when the meaning of its numbers changes, so that old results are not reused. The result is
    written to ``file``. A study that ``keeps`` files of its own beside it is given the folder as a fourth argument, and
    finds there what an interrupted run of it left.
    """

    name: str
    function: Callable[..., dict[str, Any]]
    preset: Preset
    version: int = 1
    file: str = STUDY_FILE
    keeps: bool = False

    def described(self) -> dict[str, Any]:
        """What names a run."""
        version = {"version": self.version} if self.version != 1 else {}
        return {"study": {"name": self.name, "preset": self.preset, **version}}

    def __reduce__(self) -> tuple[Any, ...]:
        # Its function may be in a file, which another process runs anew.
        return _study_named, (self.name, self.preset)


@dataclass(frozen=True)
class Candidates(Generic[C]):
    """Configurations in the order in which they are tried, and how many seeds of one must fit for the search to end.

    A plain run is one candidate.
    """

    configs: tuple[C, ...]
    needed: int = 1

    def search(self, attempt: Callable[[C], R], fitted: Callable[[R], int]) -> list[R]:
        """What ``attempt`` made of the configurations, up to the first of which ``needed`` seeds ``fitted``."""
        found: list[R] = []
        for config in self.configs:
            found.append(attempt(config))
            if fitted(found[-1]) >= self.needed:
                break
        return found


@dataclass(frozen=True)
class Job:
    """One line of the figure: a name, what is computed, and with which seeds."""

    name: str
    work: RunConfig | Study | Candidates[RunConfig]
    seeds: tuple[int, ...] = (0, 1, 2)
    claim: str = ""
    """What the job is there to show, one line for the report."""
    task: str = ""
    """A name that `Recipe.selected` takes for all jobs of one task."""
    positions: str = ""
    """A name that `Recipe.selected` takes for all jobs with these positions."""
    extra: bool = False
    """Run only where its positions or its own name select it."""

    def __post_init__(self) -> None:
        if not all(0 <= seed < EXACT_IN_JSON for seed in self.seeds):
            raise LengthwiseError(f"seeds must be whole numbers from 0, below 2**53, got {list(self.seeds)}")

    @property
    def candidates(self) -> Candidates[RunConfig]:
        """The candidates of a job that trains; raises `LengthwiseError` for a study."""
        if isinstance(self.work, Study):
            raise LengthwiseError(f"{self.name} is a study: it trains no system and has no settings")
        return self.work if isinstance(self.work, Candidates) else Candidates((self.work,))

    @property
    def experiment(self) -> RunConfig:
        """The first candidate; raises `LengthwiseError` for a study."""
        return self.candidates.configs[0]

    @property
    def works(self) -> Sequence[RunConfig | Study]:
        """All that may be computed with the seeds: the candidates, or the study."""
        return [self.work] if isinstance(self.work, Study) else self.candidates.configs

    @property
    def steps(self) -> int:
        """Training steps of all seeds; 0 for a study."""
        return 0 if isinstance(self.work, Study) else self.experiment.training.steps * len(self.seeds)

    def to_json(self) -> dict[str, Any]:
        """What is computed as plain values, with all settings."""
        head = {"name": self.name, "seeds": list(self.seeds)}
        if isinstance(self.work, Study):
            return {**head, **self.work.described(), "fallbacks": [], "needed": 1}
        first, *others = (config.to_json() for config in self.candidates.configs)
        return {**head, "experiment": first, "fallbacks": others, "needed": self.candidates.needed}

    @classmethod
    def from_json(cls, values: dict[str, Any], *, load_code: bool = False) -> Job:
        """The job that `to_json` wrote, a study among the registered recipes; without its claim and other words.

        ``load_code`` as in `RunConfig.from_json`.
        """
        seeds = tuple(values["seeds"])
        if "study" in values:
            with no_new_code(allowed=load_code):
                return cls(values["name"], _study_named(values["study"]["name"], values["study"]["preset"]), seeds)
        first, *others = (
            RunConfig.from_json(config, load_code=load_code) for config in (values["experiment"], *values["fallbacks"])
        )
        plain = not others and values["needed"] == 1
        return cls(values["name"], first if plain else Candidates((first, *others), values["needed"]), seeds)

    def edited(self, edits: list[str], seeds: int | None) -> Job:
        """A copy with ``key.path=value`` edits of every configuration, and with ``seeds`` seeds if given."""
        work = self.work
        if edits:
            configs = tuple(config.edited(edits) for config in self.candidates.configs)
            work = dataclasses.replace(self.work, configs=configs) if isinstance(self.work, Candidates) else configs[0]
        return dataclasses.replace(self, work=work, seeds=self.seeds if seeds is None else tuple(range(seeds)))


@dataclass(frozen=True)
class Recipe:
    """The jobs of one figure or table."""

    name: str
    summary: str
    jobs: tuple[Job, ...]

    @property
    def trains(self) -> bool:
        """Whether its jobs are training runs, not studies."""
        return not any(isinstance(job.work, Study) for job in self.jobs)

    def edited(self, edits: list[str], seeds: int | None) -> Recipe:
        """A copy with ``key.path=value`` edits of every job, and ``seeds`` seeds for each if given."""
        if seeds is not None and seeds < 1:
            raise LengthwiseError(f"seeds must be at least 1, got {seeds}")
        return dataclasses.replace(self, jobs=tuple(job.edited(edits, seeds) for job in self.jobs))

    def selected(self, only: list[str], encodings: list[str]) -> Recipe:
        """The recipe with the jobs of these names (or tasks) and encodings only; raises `UnknownNameError`.

        Without names and encodings, all but the extra jobs.
        """
        names = [name for job in self.jobs for name in (job.name, job.task) if name]
        known = [job.positions for job in self.jobs if job.positions]
        only = [spelled(name, names) for name in only]
        encodings = [spelled(name, known) for name in encodings]
        for kind, given, there in (("system", only, names), ("encoding", encodings, known)):
            for name in given:
                if name not in there:
                    raise UnknownNameError(f"{kind} of recipe {self.name!r}", name, there)

        def wanted(job: Job) -> bool:
            by_default = not job.extra or job.name in only
            chosen = job.positions in encodings if encodings else by_default
            return chosen and (not only or job.name in only or job.task in only)

        jobs = tuple(job for job in self.jobs if wanted(job))
        require(bool(jobs), f"recipe {self.name!r} has no system of these names with these encodings; give others")
        return dataclasses.replace(self, jobs=jobs)


class _Recipes:
    """The recipes by name. They are built when they are used."""

    def __init__(self) -> None:
        self._functions: dict[str, tuple[Callable[[Preset], Recipe], str]] = {}

    def register(self, name: str, summary: str) -> Callable[[Callable[[Preset], Recipe]], Callable[[Preset], Recipe]]:
        """Decorator: enter a function from preset to `Recipe`."""

        def enter(function: Callable[[Preset], Recipe]) -> Callable[[Preset], Recipe]:
            self._functions[name] = (function, summary)
            return function

        return enter

    def names(self) -> dict[str, str]:
        """Names and summaries, those of other installed packages (entry points ``lengthwise.recipes``) last."""
        others = {
            name: f"a recipe of package {point.dist.name}" for name, point in installed(GROUP).items() if point.dist
        }
        return others | {name: summary for name, (_, summary) in self._functions.items()}

    def make(self, name: str, preset: str) -> Recipe:
        """The recipe at a preset; raises `UnknownNameError` for an unknown recipe or preset.

        ``name`` is a registered name, one of another package, or ``path/to/file.py:function``.
        """
        if preset not in PRESETS:
            raise UnknownNameError("preset", preset, PRESETS)
        if name in self._functions:
            return self._functions[name][0](preset)  # type: ignore[arg-type]
        if ":" in name or name.endswith(".py"):
            loaded: Callable[..., Any] = load_object(name, kind="recipe", wanted="function", fits=callable)
            function = _STUDIES.get(loaded, loaded)
        elif name in installed(GROUP):
            function = load_installed(installed(GROUP)[name], None, kind="recipe")
        elif load_given():
            return self.make(name, preset)
        else:
            raise UnknownNameError("recipe", name, self.names())
        recipe = function(preset)
        require(isinstance(recipe, Recipe), f"recipe {name!r} returns {type(recipe).__name__}; return a Recipe from it")
        return recipe


GROUP = "lengthwise.recipes"
"""Entry points of recipes in other packages."""

RECIPES = _Recipes()
_STUDIES: dict[Callable[..., Any], Callable[[Preset], Recipe]] = {}
"""The recipe of each function under `study`."""


def _study_named(name: str, preset: str) -> RunConfig | Study | Candidates[RunConfig]:
    """What the only job of a registered recipe computes."""
    (job,) = RECIPES.make(name, preset).jobs
    return job.work


def study(
    name: str, summary: str, *, version: int = 1, file: str = STUDY_FILE, keeps: bool = False
) -> Callable[[Callable[..., dict[str, Any]]], Callable[..., dict[str, Any]]]:
    """Decorator: enter a function of preset, seed and report as a recipe of one job with one seed."""

    def enter(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        @RECIPES.register(name, summary)
        def recipe(preset: Preset) -> Recipe:
            return Recipe(name, summary, (Job(name, Study(name, function, preset, version, file, keeps), (0,)),))

        _STUDIES[function] = recipe
        return function

    return enter
