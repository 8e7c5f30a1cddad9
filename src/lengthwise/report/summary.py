"""What a page says in numbers: chance, intervals, findings."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import combinations
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field

from lengthwise.core import config as arguments
from lengthwise.core.config import canonical_json, changed_fields, fields_of
from lengthwise.core.deadline import duration
from lengthwise.core.errors import LengthwiseError, UnknownNameError, did_you_mean, listed, require
from lengthwise.core.files import read_json
from lengthwise.core.rank import how_far, seed_far
from lengthwise.core.result_file import (
    CHECKPOINT,
    CONFIG,
    RESULT,
    Axes,
    RunResult,
    Score,
    check_seal,
    each_once,
    result_files,
)
from lengthwise.core.rng import stream
from lengthwise.core.statistics import LEVEL, Estimate, estimate, median_rank, wilson
from lengthwise.core.table import COMMENT, rounded
from lengthwise.core.user_code import code_words, no_new_code
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.system import ALIASES, RANDOM_START, PositionSystem
from lengthwise.prediction.example import StoredTask, stored_task, title_of
from lengthwise.prediction.target import typed_task
from lengthwise.report.looks import FIRST, LOOKS, Look, beside, distinct
from lengthwise.report.words import DRAWN, DRAWS, TRIFLES, setting_text, value_text, weight
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.language import Language
from lengthwise.tasks.values import spoken
from lengthwise.training.config import TrainingConfig


class SeedResult(RunResult):
    """One system trained with one seed; ``stored`` is what the file says of a task of the user's own."""

    stored: Annotated[StoredTask | None, Field(exclude=True)] = None
    folder: Annotated[Path | None, Field(exclude=True)] = None
    """The run directory."""

    @classmethod
    def of(cls, values: Any, where: str = "result") -> Self:
        """As `RunResult.of`, and for the stored task."""
        task, result = values.get("task") if isinstance(values, dict) else None, super().of(values, where)
        return result if task is None else result.model_copy(update={"stored": stored_task(task, where)})

    def __repr__(self) -> str:
        return f"<{self.recipe}: {self.system}, seed {self.seed}, {'' if self.fitted else 'not '}fitted>"

    __str__ = __repr__


def load(folders: Iterable[Path]) -> list[SeedResult]:
    """The results of training runs in and under ``folders``, each run once.

    Raises `LengthwiseError` if no result file exists, one is damaged, or two of the same run differ.
    """
    return runs((path, values) for path, values in contents(folders) if kind_of(values) is None)


def runs(files: Iterable[tuple[Path, Any]]) -> list[SeedResult]:
    """The results of training runs in these files, each run once; raises `LengthwiseError` as `load` does."""
    return [result for _, result in each_once(read(files))]


def read(files: Iterable[tuple[Path, Any]]) -> Iterator[tuple[Path, SeedResult]]:
    """The result in each file, when its turn comes; raises `LengthwiseError` for a damaged one."""
    for path, values in files:
        result = SeedResult.of(values, f"result file {path}")
        result.folder = path.parent
        yield path, result


def kind_of(values: Any) -> str | None:
    """The field ``kind`` of a result file: ``influence``, ``lm``, ``study``, or None for a training run."""
    if not isinstance(values, dict):
        return None
    return str(values["kind"]) if "kind" in values else "study" if "study" in values else None


def contents(folders: Iterable[Path], names: Iterable[str] = ("result.json",)) -> Iterator[tuple[Path, Any]]:
    """Paths and contents of the files with these names in and under ``folders``, which may also be files, each once.

    A file is read when its turn comes. Raises `LengthwiseError` if there are none, and then if one is not JSON, or its
    content does not fit its digest.
    """
    files: dict[Path, Path] = {}
    folders = list(folders)
    for folder in folders:
        if not folder.exists():
            raise LengthwiseError(f"no results at {folder}; {_way_out(folder)}")
        found = [folder] if folder.is_file() else [path for name in names for path in result_files(folder, name)]
        files.update((path.resolve(), path) for path in found)
    where = ", ".join(map(str, folders))
    require(bool(files), f"no result.json in or under {where}; " + "".join(map(_way_out, folders[:1] * (not files))))
    for path in files.values():
        require(path.suffix == ".json", f"{path} is not a result file (.json); give it, or a folder of results")
    return ((path, _checked(path)) for path in files.values())


MOST_VISITED, MOST_LISTED = 2_000, 12
"""Folders that are searched for others with results, and that are named of these."""
ALIKE_NAMES = 0.6
"""Of two names, as `SequenceMatcher` has it, where one may be the other mistyped."""


def _way_out(folder: Path) -> str:
    """Which folder with results is called nearly so; else those beside it, or below the first above it that there is.

    Where there are none, how to make some.
    """
    base = next((at for at in folder.parents if at.is_dir()), Path())
    found, visited, queue = dict[Path, Path](), 0, [base]
    while queue and visited < MOST_VISITED:
        at, visited = queue.pop(0), visited + 1
        with suppress(OSError):
            below = sorted(one for one in at.iterdir() if one.is_dir() and not one.name.startswith("."))
            if any((one / "result.json").is_file() for one in below):
                found[at] = at.parent if at.parent.name == "results" else at
            else:
                queue += below
    given = folder.relative_to(base).parts

    def alike(other: Path) -> tuple[float, int]:
        parts = other.relative_to(base).parts
        ratios = [SequenceMatcher(None, *pair).ratio() for pair in zip(given, parts, strict=False)]
        return min(ratios, default=0.0), -abs(len(given) - len(parts))

    near = max((*found.values(), *found), key=alike, default=base)
    if alike(near)[0] > ALIKE_NAMES:
        return f"did you mean {near.as_posix()}?"
    some = list(dict.fromkeys(path.as_posix() for path in found.values()))
    more = f" and {len(some) - MOST_LISTED} more" * (len(some) > MOST_LISTED)
    return f"results are in {', '.join(some[:MOST_LISTED])}{more}" if some else "make some with `lengthwise run`"


def _checked(path: Path) -> Any:
    values = read_json(path, what="result file")
    if kind_of(values) is not None:  # of a training run, `SeedResult.of` does it
        check_seal(values, f"result file {path}")
    return values


def known_task(experiment: Mapping[str, Any]) -> Task | None:
    """The built-in task of a configuration; None for other tasks, whose files or packages would run code."""
    spec = experiment["task"]
    if not TASKS.is_built_in(spec["name"]):
        return None
    try:
        with no_new_code():  # a task inside the task may be of a file
            return TASKS.build(dict(spec))
    except LengthwiseError:
        return None


def common_chance(
    systems: Iterable[SystemSummary], length: int, axes: Axes, metric: str = "exact_match"
) -> float | None:
    """`chance` if it is equal for all systems of which it is known, else None; `chance_of` says of which it is."""
    tasks = {repr(system.experiment["task"]): system for system in systems}
    found = {chance(system, length, axes, metric) for system in tasks.values()} - {None}
    return found.pop() if len(found) == 1 else None


def chance_of(systems: Iterable[SystemSummary], metric: str = "exact_match") -> str:
    """The tasks for which chance is known, as a text such as ``parity``; empty where it is for all or none.

    With a trace nothing is known of it, so that beside such a task it has to be said of which it is.
    """
    known = dict[str, bool]()
    for system in systems:
        cell = next(iter(system.cells), None)
        if cell is not None:
            known[called(system.experiment["task"])] = chance(system, cell.length, cell.axes, metric) is not None
    some = [task for task, there in known.items() if there]
    return listed(some) if 0 < len(some) < len(known) else ""


def chance(system: SystemSummary, length: int, axes: Axes, metric: str = "exact_match") -> float | None:
    """Probability of guessing what the metric counts, at a length and axes; None if 0, 1 or unknown.

    Nothing is known of an exact match of an answer with its trace: the chance is that of the answer alone.
    """
    task, own = system.known_task, system.task
    if task is None:  # of a user's own it is in the file
        known = own is not None and 0 < own.guess < 1 and (metric == "answer" or not own.has_trace)
        return own.guess if own is not None and known else None
    wanted = set(axes)
    layouts = [layout for layout in task.test_layouts(length) if wanted <= set(layout.axes.items())]
    layout = layouts[0] if layouts else task.layout(length, stream(0, "chance", length))
    value = task.chance(layout)
    known = 0 < value < 1 and (metric == "answer" or not system.has_trace)
    return value if known else None


@lru_cache(maxsize=4096)
def _has_trace(task: str) -> bool:
    """Whether an answer of a built-in task has a trace before it, by a short string."""
    with no_new_code():
        built = TASKS.build(json.loads(task))
    short = list(built.lengths(1, MOST_SHORT))
    return any(built.batch(n, 1, stream(0, "trace")).has_trace for n in short[len(short) // 2 :][:1])


def chance_text(
    systems: Sequence[SystemSummary], lengths: Collection[int] | None = None, metric: str = "exact_match"
) -> str:
    """Chance for the answer at the tested lengths, or at these, in words; empty where it is not even half a percent.

    Of several tasks it is said of which it is.
    """
    asked, found = dict[str, set[str]](), dict[str, dict[str, dict[str, None]]]()
    keys = panel_axes([cell for system in systems for cell in system.cells])
    for system in systems:
        task = called(system.experiment["task"])
        for cell in sorted(system.cells, key=lambda cell: cell.length):
            if lengths is None or cell.length in lengths:
                axes = panel_of(cell.axes, keys)
                where = f"{cell.length}{f' ({axes_text(axes)})' * bool(axes)}"
                asked.setdefault(task, set()).add(where)
                value = chance(system, cell.length, cell.axes, metric)
                if value is not None and value >= LEAST_CHANCE:
                    found.setdefault(task, {}).setdefault(rounded(value, 2), {})[where] = None
    tasks = dict[str, list[str]]()
    for task, values in found.items():
        everywhere = [set(some) for some in values.values()] == [asked[task]]
        said = [f"{value} at {'every length' if everywhere else ', '.join(some)}" for value, some in values.items()]
        tasks.setdefault(", ".join(said), []).append(task)
    if len(tasks) < 2:
        of = f" of {listed(found)}" * (len(found) < len(asked))
        return "".join(f"chance for the answer{of}: {said}" for said in tasks)
    return f"chance for the answer: {'; '.join(f'{said} ({listed(some)})' for said, some in tasks.items())}"


MOST_DRAWN = 24
"""Systems on the same axes that can be told apart; of more of one task the first are drawn."""
MOST_SHORT = 20
"""A task has strings as short as that."""
LEAST_CHANCE = 0.005
"""A lower chance is not spoken of."""
Brackets = Literal["interval", "range", "none"]
"""What stands in brackets behind a median in a table, and is the band of a figure."""
BRACKETS = get_args(Brackets)


def over_seeds(
    scores: Sequence[Score], metric: str = "exact_match", brackets: Brackets = "interval"
) -> Estimate | None:
    """The median of the seeds and what brackets and bands show of it; None if a seed lacks the metric."""
    counts = [score.correct[metric] for score in scores if metric in score.correct]
    if not counts or len(counts) < len(scores):
        return None
    found, rates = estimate(counts, [score.n for score in scores]), [score.rate(metric) for score in scores]
    ends = {"interval": (found.low, found.high), "range": (min(rates), max(rates)), "none": (found.median,) * 2}
    return Estimate(found.median, *ends[brackets])


def brackets_of(fitted: int, beside: Iterable[int], brackets: Brackets = "interval") -> Brackets:
    """What a table shows of a system of which so many seeds fitted: the range where it is that of others with few."""
    few = any(count > 1 and not is_interval(count) for count in beside)
    return "range" if brackets == "interval" and fitted > 1 and few else brackets


def brackets_text(seeds: Iterable[int], brackets: Brackets = "interval", beside: Iterable[int] = ()) -> str:
    """What `over_seeds` shows of systems of which so many seeds fitted, ``beside`` others in a table."""
    counts = sorted({*seeds} - {0})
    if brackets == "range":
        return "lowest and highest of the fitted seeds"
    if brackets == "none" or not counts:
        return "nothing"
    some, beside = [count for count in counts if count > 1], [*beside]
    ranges = [f"{count}" for count in some if brackets_of(count, [count, *beside]) == "range"]
    many = [f"{count}" for count in some if f"{count}" not in ranges]
    said = [
        *["95 % interval over the strings of one seed, not over seeds"] * (1 in counts),
        *[f"range of {' or '.join(ranges)} seeds"] * bool(ranges),
        *[f"95 % interval of the median of {' or '.join(many)} seeds"] * bool(many),
    ]
    return "; ".join(said)


def is_interval(seeds: int) -> bool:
    """Whether what `over_seeds` shows holds the value that it is of with probability 95 %: of few seeds it does not."""
    return seeds == 1 or median_rank(seeds)[1] >= LEVEL


@dataclass(frozen=True)
class Cell:
    """The scores of one system's fitted seeds at one length and axes."""

    length: int
    axes: Axes
    scores: tuple[Score, ...]

    def estimate(self, metric: str = "exact_match", brackets: Brackets = "interval") -> Estimate | None:
        """As `over_seeds`."""
        return over_seeds(self.scores, metric, brackets)

    @cached_property
    def first_errors(self) -> Counter[str]:
        """Numbers of strings by the kind of their first error, over all fitted seeds."""
        return sum((Counter(score.first_error) for score in self.scores), Counter[str]())


@dataclass(frozen=True, repr=False)
class SystemSummary:
    """The results of one system, with one configuration, for all seeds.

    ``settings`` says what tells it from others of its name, if any.
    """

    recipe: str
    name: str
    results: tuple[SeedResult, ...]
    settings: str = ""
    look: Look = FIRST
    """In figures, from `summarize`."""
    prefix: str = ""
    """What of the name is that of its task, such as ``copy, ``; empty unless results of several tasks are told apart.
    """
    whole_name: str = ""
    """Its name among all systems of the results that it was chosen from."""
    contest: str = ""
    """Of the systems that are compared with each other: those of one task, and of a recipe that compares tasks."""
    lost: tuple[str, ...] = ()
    """Of each run of it that has no result, ``not finished`` or ``diverged``."""
    layout: str = ""
    """Where only one layout is kept, or one value of an axis, such as ``chains 4``."""
    shared: tuple[int, ...] = ()
    """The lengths at which all of its contest that fitted were tested; empty where none is beyond training."""

    def __repr__(self) -> str:
        fitted = f"{len(self.fitted)} of {len(self.results)} seeds fitted"
        return f"<{self.label}: {fitted}, trained to {self.max_length}>"

    @property
    def short(self) -> str:
        """The name without that of its task."""
        return self.name.removeprefix(self.prefix)

    @cached_property
    def positions(self) -> PositionSystem:
        """Its scheme, encoding and mixer, by name."""
        made = self.experiment
        scheme, encoding = made["scheme"], made["encoding"]["name"]
        started = scheme["name"] == "sequential" and scheme.get("random_start", False)
        ids, vectors = (name.rpartition(":")[2] for name in (RANDOM_START if started else scheme["name"], encoding))
        return PositionSystem(ids, vectors, made.get("model", {}).get("mixer", "attention"))

    @property
    def label(self) -> str:
        """The name, with the settings in brackets."""
        return f"{self.name} ({self.settings})" if self.settings else self.name

    @cached_property
    def known_as(self) -> tuple[str, ...]:
        """All by which it can be chosen: label and name, here and among all; that without task, and short names of it.

        Short ones, such as ``rope`` for ``sequential+rope``, are those by which `compare` takes it.
        """
        own, positions = self.short, self.positions
        usual = (own.removeprefix("sequential+"), own.removesuffix("+learned"), positions.known_as)
        usual = (*usual, *(short for short, of in ALIASES.items() if of == positions.known_as))
        return *self.labels, *self.names, self.results[0].system, own, *usual * (own == positions.name)

    @property
    def names(self) -> tuple[str, ...]:
        """Its name among all systems of the results that it was chosen from, and here."""
        return tuple(filter(None, (self.whole_name, self.name)))

    @property
    def labels(self) -> tuple[str, ...]:
        """Its names with the settings, also without `MORE`; the names where it has none."""
        settings = dict.fromkeys([self.settings, self.settings.removesuffix(MORE)])
        return tuple(f"{name} ({some})" if some else name for some in settings for name in self.names)

    @cached_property
    def experiment(self) -> dict[str, Any]:
        """The configuration of the experiment, with what files that are older than a field say by being silent."""
        return _complete(canonical_json(self.results[0].experiment))

    @cached_property
    def flat(self) -> dict[str, Any]:
        """The settings of `experiment`, such as ``training.steps``, with their values."""
        return flattened(self.experiment)

    @cached_property
    def written(self) -> dict[str, str]:
        """`flat`, with each value as text, by which values are compared."""
        return {key: repr(value) for key, value in self.flat.items()}

    @cached_property
    def known_task(self) -> Task | None:
        """The task, as `known_task`."""
        return known_task(self.experiment)

    @cached_property
    def has_trace(self) -> bool:
        """Whether an answer of its task, which is a built-in one, has a trace before it."""
        return _has_trace(canonical_json(self.experiment["task"]))

    @property
    def task(self) -> StoredTask | None:
        """What the result files say of a task of the user's own."""
        return next((result.stored for result in self.results if result.stored is not None), None)

    @property
    def max_length(self) -> int:
        """Longest training length."""
        return self.results[0].max_length

    @cached_property
    def fitted(self) -> tuple[SeedResult, ...]:
        """The results of the seeds that fitted in distribution."""
        return tuple(result for result in self.results if result.fitted)

    @cached_property
    def in_distribution(self) -> Estimate:
        """Exact match at training lengths, over the fitted seeds as all numbers are; over all where none fitted."""
        found = over_seeds([result.in_distribution for result in self.fitted or self.results])
        assert found is not None, "a result has the exact match at training lengths"
        return found

    @cached_property
    def unfitted_cells(self) -> tuple[Cell, ...]:
        """The cells of the seeds where none fitted and all were measured all the same (``unfitted_too``)."""
        wanted = self.experiment.get("evaluation", {}).get("unfitted_too", False)
        return self._cells(self.results) if wanted and not self.fitted else ()

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """One cell per axes and length; empty if no seed fitted. Of another layout than ``layout`` there is none."""
        wanted = set(self.layout.split(", ")) - {""}
        return tuple(cell for cell in self.every_cell if wanted <= {*axes_text(cell.axes).split(", ")})

    @cached_property
    def every_cell(self) -> tuple[Cell, ...]:
        """`cells` of all layouts."""
        return self._cells(self.fitted)

    @cached_property
    def reaches(self) -> tuple[int, ...]:
        """Up to which length each fitted seed is right, in the layouts that are kept."""
        return tuple(seed_far(one, 0, layouts=layouts_of(self))[0] for one in self.fitted)

    @staticmethod
    def _cells(results: Sequence[SeedResult]) -> tuple[Cell, ...]:
        cells: dict[tuple[int, Axes], list[Score]] = {}
        for result in results:
            for score in result.lower:
                cells.setdefault((score.length, tuple(score.axes.items())), []).append(score)
        return tuple(Cell(length, axes, tuple(scores)) for (length, axes), scores in cells.items())


@lru_cache(maxsize=4096)
def _complete(experiment: str) -> dict[str, Any]:
    """A configuration with the default of each field of the package's own parts that it lacks."""
    found = json.loads(experiment)
    for section, of in (("model", ModelConfig), ("training", TrainingConfig)):
        if isinstance(found.get(section), dict):
            found[section] = fields_of(of()) | found[section]
    for part, known in (("task", TASKS), ("scheme", SCHEMES), ("encoding", ENCODINGS)):
        with suppress(LengthwiseError, LookupError, TypeError), no_new_code():
            if known.is_built_in(found[part]["name"]):
                found[part] = known.describe(known.build(found[part])) | found[part]  # type: ignore[arg-type]
    return found


class Systems(tuple[SystemSummary, ...]):
    """Systems in order; a name is in them if one of them is known by it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names, as tables and figures show them."""
        return tuple(system.label for system in self)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "no systems"

    def __contains__(self, one: object) -> bool:
        return any(one in system.known_as for system in self) if isinstance(one, str) else super().__contains__(one)

    def check(self, names: Iterable[str]) -> None:
        """Raise `UnknownNameError` for the first name of none of them, with near misses of all names that are taken.

        And `LengthwiseError` for one that is no whole name and the scheme of several.
        """
        whole = {name for one in self for name in (*one.labels, *one.names, one.short, one.results[0].system)}
        for name in names:
            arguments.text("the name of a system", name)
            of = {one.short: one.positions for one in self if name == one.positions.scheme and name not in whole}
            require(len({*of.values()}) < 2, f"{name!r} may be {' or '.join(of)}; give one of these names")
            if name not in self:
                every = [known for system in self for known in system.known_as]
                near = did_you_mean(name, every) or any(name and known.startswith(name) for known in every)
                raise UnknownNameError("system of these results", name, {*(every if near else self.names)})


def task_title(systems: Sequence[SystemSummary]) -> str:
    """The tasks of these systems, in words, for a caption."""
    names = {called(system.experiment["task"]): None for system in systems}
    return " and ".join(names) if len(names) <= 3 else f"{max(len(names), len({one.prefix for one in systems}))} tasks"


def called(task: Mapping[str, Any]) -> str:
    """How a configured task is called: an expression as it is, a class of a file by its name."""
    return str(task["language"]) if task["name"] == "language" and "language" in task else title_of(task["name"])


def recipe_titles(systems: Iterable[SystemSummary]) -> dict[str, str]:
    """How each recipe is called: by its name; where that has a digest, by its task and the settings that differ.

    The digest stays where nothing else tells two apart.
    """
    tasks = {system.recipe: system.experiment["task"] for system in systems}
    found = dict[str, str]()
    for recipe, task in tasks.items():
        same = [{"task": other} for other in tasks.values() if called(other) == called(task)]
        settings = _differences({"task": task}, same)
        human = f"{called(task)}{f' ({settings})' * bool(settings)}"
        found[recipe] = human if re.search(r"-[0-9a-f]{6}$", recipe) else recipe
    times = Counter(found.values())
    return {recipe: title if times[title] == 1 else recipe for recipe, title in found.items()}


def last_tests(systems: Sequence[SystemSummary]) -> str:
    """Where the tests end before four times the training length, since the task has no longer strings; else empty."""
    ends = dict[str, None]()
    for system in systems:
        longest = max((cell.length for cell in system.cells), default=0)
        wanted, task = 4 * system.max_length, system.known_task
        if task is not None and 0 < longest < wanted and not task.lengths(longest + 1, wanted):
            name = called(system.experiment["task"])
            who = f" of systems trained to {system.max_length}" * (not same_training(systems))
            ends[f"tests{who} end at {longest}, since {name} has no strings of {longest + 1} to {wanted}"] = None
    return "; ".join(ends)


Lost = Iterable[tuple[Path, Mapping[str, Any], str]]
"""Runs without a result: folder, configuration, and why there is none, ``not finished`` or ``diverged``."""


def summarize(results: Iterable[SeedResult], lost: Lost = ()) -> list[SystemSummary]:
    """Group results by recipe, system and configuration.

    Where a system has several configurations, ``settings`` has those that differ. Of each task, systems have different
    looks.
    """
    without: dict[tuple[str, str], list[str]] = {}
    for folder, configured, why in lost:
        without.setdefault((folder.parent.name, canonical_json(_complete(canonical_json(configured)))), []).append(why)
    groups: dict[tuple[str, str, str], list[SeedResult]] = {}
    for result in results:
        complete = canonical_json(_complete(canonical_json(result.experiment)))
        groups.setdefault((result.recipe, result.system, complete), []).append(result)
    recipes = {recipe for recipe, _, _ in groups}
    prefixes = {recipe: _prefixes([key for key in groups if key[0] == recipe]) for recipe in recipes}
    rivals, tasks = dict[tuple[str, str], list[Any]](), dict[tuple[str, str], set[str]]()
    for recipe, system, complete in groups:
        experiment, of = json.loads(complete), (recipe, prefixes[recipe].get(system, ""))
        rivals.setdefault((recipe, system), []).append(experiment)
        tasks.setdefault(of, set()).add(canonical_json(experiment["task"]))
    summaries = []
    for (recipe, system, complete), members in groups.items():
        of = recipe, prefixes[recipe].get(system, "")
        settings = _differences(json.loads(complete), rivals[recipe, system])
        in_order = tuple(sorted(members, key=lambda result: result.seed))
        # Tasks of several settings are compared, such as with a scratchpad and without one; languages are not.
        language = json.loads(complete)["task"].get("language", "")
        contest = next(iter(tasks[of])) if len(tasks[of]) == 1 else repr((*of, language))
        gone = tuple(without.get((recipe, complete), ()))
        summaries.append(SystemSummary(recipe, system, in_order, settings, prefix=of[1], contest=contest, lost=gone))
    for contest in dict.fromkeys(one.contest for one in summaries):
        mine = [one for one in summaries if one.contest == contest]
        tested = [{cell.length for cell in one.cells} for one in mine if one.cells]
        shared = set[int]().union(*tested[:1]).intersection(*tested)
        if max(shared, default=0) > max(one.max_length for one in mine):
            summaries = [replace(one, shared=tuple(sorted(shared))) if one in mine else one for one in summaries]
    of_each = [(one.recipe, one.prefix) for one in summaries]
    for group in dict.fromkeys(of_each):
        mine = {at: summaries[at] for at, its in enumerate(of_each) if its == group}
        found = _distinct(mine, _look_of)
        for at, one in mine.items():
            summaries[at] = replace(one, look=found[at])
    return summaries


def _prefixes(keys: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """By the names of a recipe's systems, what of them is that of a task; empty if it is none.

    It is what stands before the first comma where every name has one, and no task is under two of them.
    """
    prefixes = {system: "".join(system.partition(", ")[:2]) for _, system, _ in keys if ", " in system}
    whose: dict[str, set[str]] = {}
    for _, system, complete in keys:
        whose.setdefault(canonical_json(json.loads(complete)["task"]), set()).add(prefixes.get(system, ""))
    found = set().union(*whose.values())
    return prefixes if "" not in found and len(found) > 1 and all(len(of) == 1 for of in whose.values()) else {}


def _look_of(system: SystemSummary) -> Look | None:
    """That of its name, or of its positions where its files state them."""
    with suppress(LookupError, TypeError, AttributeError):
        return LOOKS.get(system.short) or LOOKS.get(system.positions.name)
    return None


def _distinct(systems: Mapping[int, SystemSummary], wanted: Callable[[SystemSummary], Look | None]) -> dict[int, Look]:
    """Looks of these systems as `distinct`: first of those that are drawn, and that their names name.

    The same system on another task has the same colour.
    """

    def rank(at: int) -> tuple[bool, bool, str]:
        return not systems[at].fitted, systems[at].short not in LOOKS, systems[at].label

    names = {at: f"{systems[at].short} {systems[at].settings}" for at in sorted(systems, key=rank)}
    first = {name: systems[at] for at, name in reversed(names.items())}
    want = {name: wanted(first[name]) for name in dict.fromkeys(names.values())}
    looks = distinct(want, distinct({name: look for name, look in want.items() if first[name].fitted}))
    found = dict[int, Look]()
    for at, name in names.items():
        taken = {*looks.values(), *found.values()}
        found[at] = looks[name] if looks[name] not in found.values() else beside(looks[name], taken)
    return {at: found[at] for at in systems}


def _differences(experiment: Any, rivals: Sequence[Any]) -> str:
    """The fewest settings that distinguish the rivals, as ``width 128``, in the order of `SECTIONS`, trifles last.

    Where others than these and those of tests differ, too, `MORE` follows.
    """
    flat = [flattened(rival) for rival in rivals]
    keys = {key for values in flat for key in values if len({repr(other.get(key)) for other in flat}) > 1}
    ranked = sorted(
        keys, key=lambda key: (setting_text(key).startswith(TRIFLES), SECTIONS.index(key.partition(".")[0]), key)
    )
    mine, distinct = flattened(experiment), len({canonical_json(rival) for rival in rivals})
    for count in range(1, len(ranked) + 1):
        for some in combinations(ranked, count):
            if len({tuple(repr(values.get(key)) for key in some) for values in flat}) == distinct:
                said = [f"{setting_text(key)} {value_text(mine[key], key)}" for key in some if key in mine]
                others = {key for key in keys - {*some} if key.partition(".")[0] != "evaluation"}
                return ", ".join(said) + MORE * bool(said and others)
    return ""


MORE = ", …"
"""In the name of a system behind the settings that tell it from others, where these are not all that differ."""
SECTIONS = ("model", "scheme", "encoding", "task", "training", "evaluation")
"""Parts of a configuration, in the order in which they name a system."""


def flattened(values: Any, prefix: str = "") -> dict[str, Any]:
    """Nested settings by their whole names, such as ``training.steps``."""
    result: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            result |= flattened(value, f"{prefix}{key}.")
        else:
            result[f"{prefix}{key}"] = value
    return result


def in_runs(lengths: Collection[int], tested: Iterable[int]) -> str:
    """Text such as ``24 and 48–64``: a dash stands between lengths without a tested one left out."""
    runs: list[list[int]] = [[]]
    for length in sorted(set(tested)):
        if length in lengths:
            runs[-1].append(length)
        elif runs[-1]:
            runs.append([])
    said = [f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs if run]
    return spoken(said) if said else ""


def explain_command(system: SystemSummary) -> str:
    """What explains the seed of which `fall_text` speaks; empty where there is none, or its weights are not there."""
    found = fall(system)
    folder = found[1].folder if found else None
    if folder is None or not (folder / CHECKPOINT).exists():
        return ""
    return shlex.join(["lengthwise", *code_words(system.results[0].experiment), "explain", str(folder)])


Run = tuple[SystemSummary, Sequence[str]]
"""A system to train anew, and the words behind its configuration."""


def step_text(do: str, tells: str, runs: Iterable[Run], seeds: int = 0, steps: float = 1, beside: str = "") -> str:
    """What to do, how long it takes, and what it tells; then a command for each run, with its system as a comment.

    They are trained up to so many seeds, or as many as are there, and take so many times as long. Results of a study,
    which has no `CONFIG` beside them, have other seeds and get another folder. No commands where one has no folder.
    With ``beside`` results get a folder beside that of these, whose name ends so: a table of both would compare more.
    """
    lines, took = list[str](), 0.0
    for one, words in runs:
        folder, own = one.results[0].folder, {result.seed for result in one.results}
        if folder is None or not (folder / RESULT).exists():
            lines, took = [], 0.0
            break
        wanted = seeds or len(own)
        if words:  # none of it is there
            own = set[int]()
        first = next(n for n in range(1, wanted + 1) if len(own | {*range(n)}) >= wanted)
        out = folder.parent.parent
        out = out.with_name(f"{re.sub('-[0-9]+-steps$', '', out.name)}-{beside}") if beside and out.name else out
        mine = ["--out", str(out)] * (folder / CONFIG).exists()
        code = code_words(one.results[0].experiment)
        run = ["lengthwise", *code, "run", "--config", str(folder), *words, "--seeds", str(first), *mine]
        lines.append(f"{shlex.join(run)}{COMMENT}{_in_comment(one, words)}")
        took += steps * len({*range(first)} - own) * fmean(result.seconds or 0.0 for result in one.results)
    return "\n".join([f"{do}{f' (about {duration(took)})' * bool(took)}: {tells}", *lines])


def _in_comment(system: SystemSummary, words: Iterable[str]) -> str:
    """What a system is called behind its command, without the settings that the words behind that change.

    In quotes where a shell would obey a letter, since one that is typed into may know no comments.
    """
    changed = tuple(f"{setting_text(word.partition('=')[0])} " for word in words if "=" in word)
    kept = (part for part in system.settings.split(", ") if not part.startswith(changed))
    name = " ".join(replace(system, settings=", ".join(kept)).label.split())
    return name if re.fullmatch(r"[\w @%+=:,./-]*", name) else shlex.quote(name)


def predict_command(system: SystemSummary, longest: int | None = None) -> str:
    """What says which positions its task needs, and what was measured, up to ``longest``, by default in its tests."""
    task = known_task(system.experiment)
    settings = system.results[0].experiment["task"] if task is None else changed_fields(task)
    word = typed_task({**settings, "name": system.experiment["task"]["name"]})
    longest = longest or max((cell.length for cell in system.cells), default=4 * system.max_length)
    return f"lengthwise predict {word} --train {system.max_length} --test {longest}"


MOST_IN_RANGE = 8
"""Seeds whose interval by order statistics is their range."""


def low_seeds(
    systems: Sequence[SystemSummary], lengths: Collection[int], metric: str = "exact_match", *, bracketed: bool = True
) -> str:
    """Which fitted seeds have less than half of a median of at least one half, with the lowest of them; or empty.

    A median hides them wherever no range is shown, as it is of few seeds that are ``bracketed``.
    """
    said = []
    for system in systems:
        if bracketed and len(system.fitted) <= MOST_IN_RANGE:
            continue
        seeds, where, lowest = set[int](), set[int](), 1.0
        for cell in system.cells:
            if cell.length in lengths and (found := cell.estimate(metric)) is not None and found.median >= WRONG:
                low = {at: r for at, one in enumerate(cell.scores) if (r := one.rate(metric)) < found.median / 2}
                seeds |= low.keys()
                where |= {cell.length} if low else set()
                lowest = min([lowest, *low.values()])
        if seeds:
            at = in_runs(where, {cell.length for cell in system.cells if cell.length in lengths})
            least = "down to " * (len(where) > 1 and lowest > 0) + rounded(lowest)
            said.append(f"{len(seeds)} of {len(system.fitted)} seeds of {system.label} ({least} at {at})")
    return "; ".join(said)


LOW = "below half of the median"
"""What the legend of a table calls such seeds."""


def panel_axes(cells: Iterable[Cell]) -> tuple[str, ...]:
    """The fewest axes that distinguish all cells of equal length; each of their values becomes a panel.

    For 4 chains of n/4 lines and one chain of n lines this is ``("chains",)``, which determines the depth.
    """
    layouts = {(cell.length, cell.axes) for cell in cells}
    names = sorted(
        {name for _, axes in layouts for name, _ in axes},
        key=lambda name: (len({dict(axes).get(name) for _, axes in layouts}), name),
    )
    for count in range(len(names) + 1):
        for some in combinations(names, count):
            if len({(length, panel_of(axes, some)) for length, axes in layouts}) == len(layouts):
                return some
    return tuple(names)


def panel_of(axes: Axes, keys: Sequence[str]) -> Axes:
    """The part of ``axes`` named by ``keys``."""
    return tuple((name, value) for name, value in axes if name in keys)


def axes_text(axes: Axes) -> str:
    """Text such as ``chains 4, depth 20``."""
    return ", ".join(f"{name} {value}" for name, value in axes)


def differing_settings(systems: Sequence[SystemSummary]) -> list[dict[str, Any]]:
    """The settings that differ, as ``{"key", "values"}`` with one value per system, None where absent."""
    return [{"key": key, "values": [system.flat.get(key) for system in systems]} for key in _differing_keys(systems)]


def _differing_keys(systems: Sequence[SystemSummary]) -> list[str]:
    first, *others = [system.written for system in systems] or [{}]
    # What is not there counts as None.
    absent, unlike = repr(None), {key for values in others for key, _ in first.items() ^ values.items()}
    return sorted(key for key in unlike if any(values.get(key, absent) != first.get(key, absent) for values in others))


MOST_LINES = 8
"""A panel with more systems is split by the first part of their names, which is that of a task."""


@dataclass(frozen=True)
class Panel:
    """The tests with the same values of some axes, of all systems or of those whose names start with ``group``."""

    group: str
    axes: Axes
    cells: Mapping[int, tuple[Cell, ...]]
    """By the index of the system, sorted by length; no system without cells."""
    systems: tuple[int, ...]
    """Indices of the systems that belong here, those without cells included."""
    looks: Mapping[int, Look]
    """How each looks here, where those of several tasks may be together."""

    @property
    def title(self) -> str:
        """Text such as ``addition, chains 4``; empty if there is one panel."""
        return ", ".join(part for part in (self.group, axes_text(self.axes)) if part)

    @property
    def lengths(self) -> list[int]:
        """All tested lengths in increasing order."""
        return sorted({cell.length for cells in self.cells.values() for cell in cells})


def panels(systems: Sequence[SystemSummary]) -> list[Panel]:
    """The panels of all systems, in the order of the results; at least one, unless there is no system."""
    keys = panel_axes([cell for system in systems for cell in system.cells])
    axes = list(dict.fromkeys(panel_of(cell.axes, keys) for system in systems for cell in system.cells)) or [()]
    groups = list(dict.fromkeys(group_of(system) for system in systems))
    together = [_panel(systems, "", values, keys) for values in axes]
    if "" in groups or max(len(panel.cells) for panel in together) <= MOST_LINES:
        return together
    split = [_panel(systems, group, values, keys) for group in groups for values in axes]
    return [panel for panel in split if panel.cells or panel.axes == axes[0]]


def group_of(system: SystemSummary) -> str:
    """What tables print before the comma of a system's name; empty where that is its name alone."""
    return system.prefix.rstrip(", :")


def _panel(systems: Sequence[SystemSummary], group: str, values: Axes, keys: Sequence[str]) -> Panel:
    mine = tuple(index for index, system in enumerate(systems) if group in ("", group_of(system)))
    mine = tuple(sorted(mine, key=lambda index: not systems[index].cells))
    found = {}
    for index in mine:
        cells = [cell for cell in systems[index].cells if panel_of(cell.axes, keys) == values]
        if cells:
            found[index] = tuple(sorted(cells, key=lambda cell: cell.length))
    looks = _distinct({at: systems[at] for at in mine}, lambda one: one.look)
    return Panel(group, values, found, mine, looks)


NOT_FITTED = "n.f."
"""In a table, in place of a number that there is not since no seed fitted; a dash is for what was not tested."""


def fitted_means(systems: Sequence[SystemSummary]) -> str:
    """What *fitted* means, in words."""
    return f"≥ {fit_share(systems) or 'enough'} right over {_trained_strings(systems)}"


def strings_of(systems: Iterable[SystemSummary]) -> str:
    """What the tests of systems draw."""
    drawn = list(systems)
    if any(seed.hard for one in drawn for seed in one.fitted):
        return "random and hard words"
    return "random words" if isinstance(drawn[0].known_task, Language) else "random strings"


def strings_text(systems: Sequence[SystemSummary]) -> str:
    """Of how many strings each seed's number at a length is; empty where it differs."""
    strings = {score.n for system in systems for cell in system.cells for score in cell.scores}
    return f"{strings.pop():,} {strings_of(systems)} a length and seed" if len(strings) == 1 else ""


def fit_rule(systems: Sequence[SystemSummary]) -> str:
    """What *not fitted* means; empty where every seed fitted."""
    if all(len(system.fitted) == len(system.results) for system in systems):
        return ""
    few = f"less than {share}" if (share := fit_share(systems)) else "too few"
    return f"not fitted: {few} right over {_trained_strings(systems)}, so it says nothing of longer ones"


def _trained_strings(systems: Sequence[SystemSummary]) -> str:
    """On which strings fit is decided, of all these lengths taken together."""
    ranges = {(system.experiment["training"].get("min_length"), system.max_length) for system in systems}
    low, high = ranges.pop() if len(ranges) == 1 else (None, None)
    if low == high is not None:
        return f"length {low}"
    return "training lengths" if low is None else f"lengths {low}–{high}"


def percent(share: float, digits: int = 0) -> str:
    """A share in percent, half up: ``71 %`` for 0.705."""
    return f"{rounded(100 * share, digits)} %"


def fit_share(systems: Iterable[SystemSummary]) -> str:
    """The share of strings of training lengths on which a model that fits is right, such as ``98 %``."""
    settings = (system.experiment.get("evaluation", {}) for system in systems)
    shares = sorted({each["fit_threshold"] for each in settings if "fit_threshold" in each})
    return " or ".join(f"{100 * share:g} %" for share in shares)


def nearly_fits(system: SystemSummary) -> bool:
    """Whether no seed fitted, and with other test strings one might: what is required is within sampling error."""
    wanted = system.experiment.get("evaluation", {}).get("fit_threshold")
    best = max((run.in_distribution for run in system.results), key=Score.rate)
    return not system.fitted and wanted is not None and wilson(best.correct["exact_match"], best.n)[1] >= wanted


def details(systems: Sequence[SystemSummary]) -> tuple[str, ...]:
    """For the author of a table: what was trained, in what systems differ, and what fitted."""
    early = any(system.experiment["training"].get("stop_when_fitted") for system in systems)
    differ = [
        f"{what} differ: {'; '.join(f'{name} {values}' for name, values in found.items())}"
        for what, found in besides(systems).items()
        if found
    ]
    unlike, rule, share = steps_note(systems), fit_rule(systems), fit_share(systems)
    with_ids = [one for one in systems if "scheme.max_position" in one.flat and one.positions.encoding != "nope"]
    largest = by_value(with_ids, lambda one: one.flat["scheme.max_position"]) if with_ids else ""
    low = [f"{one.label} {rounded(one.in_distribution.median)}" for one in systems if not one.fitted]
    draws = list(dict.fromkeys(value for one in systems if (value := one.flat.get("scheme.draw"))))
    draws = [f"; ids in training: {DRAWS.get(one, one)} ({one})" for one in draws]
    draw = draws[0] if len(draws) == 1 else ""  # others differ
    falls = list(filter(None, map(fall_text, in_order(systems))))
    rest = len(falls) - MOST_FALLS
    said = (
        *falls[:MOST_FALLS],
        f"and {rest} other{'s are' if rest > 1 else ' is'} below {percent(RIGHT)} at some length" * (rest > 0),
        f"trained: {setting_note(systems)}{draw}",
        f"largest id, by default what the longest test needs: {largest}" * bool(largest),
        *differ,
        unlike,
        "for equal steps, give all systems the same training.steps, and training.stop_when_fitted false"
        * bool(early and unlike),
        rule or f"fitted: {fitted_means(systems)}" * bool(share),
        f"in distribution, without a fitted seed: {', '.join(low)}" * bool(low),
        last_tests(systems),
    )
    return tuple(line for line in said if line)


def fall(system: SystemSummary) -> tuple[Cell, SeedResult, Score] | None:
    """The shortest test beyond training that it falls at, and its worst seed there; None where it falls at none.

    That is one at which its median seed is not right, or any is wrong. Of seeds with as many right strings the one
    with fewer right tokens is the worst.
    """
    low = (
        cell for cell in system.cells
        if cell.length > system.max_length and (rate_of(cell) < RIGHT or min(one.rate() for one in cell.scores) < WRONG)
    )  # fmt: skip
    cell = min(low, key=lambda cell: (cell.length, rate_of(cell)), default=None)
    if cell is None:
        return None
    there = {id(score) for score in cell.scores}
    seeds = ((seed, score) for seed in system.fitted for score in seed.lower if id(score) in there)
    return cell, *min(seeds, key=lambda each: (each[1].rate(), (each[1].tokens or 0) / (each[1].tokens_total or 1)))


def fallen_seeds(system: SystemSummary) -> list[SeedResult]:
    """Those of its fitted seeds that are not right up to the longest test."""
    end = max((cell.length for cell in system.cells), default=0)
    return [one for one, reach in zip(system.fitted, system.reaches, strict=True) if reach < end]


def trained_low(system: SystemSummary) -> Cell | None:
    """Of its tests at trained lengths the lowest, where the median seed is not right; else None."""
    cells = (cell for cell in system.cells if cell.length <= system.max_length and rate_of(cell) < RIGHT)
    return min(cells, key=rate_of, default=None)


def at_ends(system: SystemSummary) -> str:
    """At which lengths how many wrong strings end in the wrong place; empty unless most do in each seed that falls."""
    low = [(cell.length, score) for cell in system.cells if cell.length > system.max_length
           for score in cell.scores if score.rate() < RIGHT]  # fmt: skip
    counts = [(score.first_error.get("eos", 0), sum(score.first_error.values())) for _, score in low]
    if not counts or any(not wrong or ends < RIGHT * wrong for ends, wrong in counts):
        return ""
    ends, wrong = map(sum, zip(*counts, strict=True))
    where = in_runs({n for n, _ in low}, {cell.length for cell in system.cells})
    return f"{ends:,} of {wrong:,} wrong strings stop too early or too late (at {where})"


def fall_text(system: SystemSummary) -> str:
    """Where a system falls, how many tokens of its worst seed are right, and whether ends go wrong first; or empty."""
    found = fall(system)
    if found is None or not found[2].tokens_total:
        return ""
    cell, seed, score = found
    share = (score.tokens or 0) / (score.tokens_total or 1)
    who = f"seed {seed.seed}, the lowest, is " * (len(cell.scores) > 1)
    tokens = "over 99.9 %" if 0.9995 <= share < 1 else percent(share, digits=int(share > 0.99))
    where = f"; {ends}" if (ends := at_ends(system)) else ""
    at = f"{cell.length}{layout_text(cell, tests_of(system))}"
    right = f"{who}right on {rounded(score.rate())} of the strings and {tokens} of their tokens{where}"
    return f"{system.label} is below {percent(RIGHT)} at length {at}: {right}"


def trained_text(systems: Sequence[SystemSummary]) -> str:
    """The longest training length; where systems differ in it, which have which."""
    return f"trained on lengths up to {by_value(systems, lambda system: system.max_length, most=len(systems))}"


def same_training(systems: Sequence[SystemSummary]) -> bool:
    """Whether all systems have the same longest training length."""
    return len({system.max_length for system in systems}) < 2


def differ_text(systems: Sequence[SystemSummary]) -> str:
    """In which settings systems that are compared differ besides positions, as a clause; empty where in none."""
    contests = dict.fromkeys(system.contest for system in systems)
    found = dict[Setting, str]()
    for contest in contests:
        found |= other_settings([system for system in systems if system.contest == contest])
    settings = list(dict.fromkeys(sorted(found.values(), key=weight)))
    also = "also " * (len({system.positions for system in systems}) > 1)
    once = "; one of each is compared" * (len(of_equal_steps(systems)) < len(systems))
    return f"systems {also}differ in {some_of(settings, most=3)}{once}" * bool(settings)


Setting = tuple[str, str, str]
"""A section of a configuration, the scheme or encoding that the setting is of, and its name."""


def other_settings(systems: Sequence[SystemSummary]) -> dict[Setting, str]:
    """The settings of models, positions and training in which these differ, in words, the weightiest first.

    Not what is compared: schemes, encodings and mixers by name, and settings of an encoding where names tell systems
    of the same positions apart. Where mixers differ, sizes of models do, so that these
    have as many parameters. Steps are those that were run.
    """
    every = _settings_of_positions(systems)
    found = {key: said for key, said, same in every if key[0] == "scheme" or not _told_by_names(same, key[2])}
    mixed = len({system.positions.mixer for system in systems}) > 1
    for section in (*["model"] * (not mixed), "training"):
        for key in _keys_of(systems, section):
            if key not in ("max_length", "steps", "mixer"):
                found[section, "", key] = setting_text(f"{section}.{key}")
    if len({steps_text(system) for system in systems}) > 1:
        found["training", "", "steps"] = "steps"
    return dict(sorted(found.items(), key=lambda each: weight(each[1])))


def _settings_of_positions(systems: Sequence[SystemSummary]) -> Iterator[tuple[Setting, str, list[SystemSummary]]]:
    """The settings in which systems of one scheme or encoding differ, in words; not those that stand in all names."""
    for section in ("scheme", "encoding"):
        for name in dict.fromkeys(getattr(system.positions, section) for system in systems):
            same = [system for system in systems if getattr(system.positions, section) == name]
            for key in _keys_of(same, section):
                said = setting_text(f"{section}.{key}")
                if not all(said in system.settings for system in same):
                    yield (section, name, key), DRAWN if key == "draw" else f"{said} of {value_text(name)}", same


def _told_by_names(systems: Sequence[SystemSummary], setting: str) -> bool:
    """Whether two of these have the same positions, other names and other values of this setting of the encoding."""
    seen = [(one.positions, one.short, repr(one.experiment["encoding"].get(setting))) for one in systems]
    return any(one[0] == other[0] and one[1] != other[1] and one[2] != other[2] for one, other in combinations(seen, 2))


def _keys_of(systems: Sequence[SystemSummary], section: str) -> list[str]:
    keys = (key.partition(".") for key in _differing_keys(systems))
    return [name for part, _, name in keys if part == section]


MOST_NAMED = 4
"""Names that a clause has; of more it says how many they are."""


def some_of(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """These names in words, such as ``a, b and c``, in quotes where some have commas; of more than ``most`` the first.

    Of none where there is room for none.
    """
    named = len(names) if len(names) <= most else max(most - 1, 1)
    more = [f"{len(names) - named} more"] * (len(names) > named)
    marks = ("“", "”") if len(names) > 1 and any(", " in name for name in names[:named]) else ("", "")
    return spoken([*(name.join(marks) for name in names[:named]), *more]) if names and most else ""


def in_quotes(text: str, systems: Iterable[SystemSummary]) -> str:
    """The text with names of systems in quotes that have commas, but for its further lines, which are commands."""
    names = {one.label for one in systems if "," in re.sub(r"\(.*?\)", "", one.label)}
    line, *commands = text.split("\n") if names else [text]
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return "\n".join([re.sub(rf"(?<![“'\"])(?:{either})(?!”)", r"“\g<0>”", line) if names else text, *commands])


def besides(systems: Sequence[SystemSummary]) -> dict[str, dict[str, str]]:
    """Of tasks, models, positions and training, the settings in which systems differ, with who has which value."""
    sizes = {one.parameters for system in systems for one in system.results if one.parameters is not None}
    every = _settings_of_positions(systems)  # not all systems have these ids
    positions = {said: _values_of(same, f"{part}.{key}", most=len(same)) for (part, _, key), said, same in every}
    size = {"parameters": f"{min(sizes):,} to {max(sizes):,}"} if len(sizes) > 1 else {}
    models = _differing_in(systems, "model") | size
    tasks = _differing_in(systems, "task") if len({called(one.experiment["task"]) for one in systems}) == 1 else {}
    return {"tasks": tasks, "models": models, "positions": positions, "trainings": _differing_in(systems, "training")}


def _differing_in(systems: Sequence[SystemSummary], section: str) -> dict[str, str]:
    keys = (f"{section}.{name}" for name in _keys_of(systems, section))
    return {setting_text(key): _values_of(systems, key) for key in keys if key not in SAID_APART}


def _values_of(systems: Sequence[SystemSummary], key: str, most: int = 1) -> str:
    return by_value(systems, lambda system: value_text(system.flat.get(key), key), most)


def seeds_text(systems: Sequence[SystemSummary]) -> str:
    """How many seeds of how many fitted, and what is left out, as a sentence without its end."""
    left_out = left_out_text(systems)
    return f"Seeds that fitted: {fitted_counts(systems)}" + f"; {left_out}" * bool(left_out)


def left_out_text(systems: Sequence[SystemSummary]) -> str:
    """The runs of these systems without a result, such as ``left out: 1 run of rope not finished``; else empty."""
    runs = [
        f"{count} run{'s' * (count > 1)} of {system.label} {why}"
        for system in systems
        for why, count in Counter(system.lost).items()
    ]
    return f"left out: {', '.join(runs)}" * bool(runs)


def fitted_counts(systems: Sequence[SystemSummary]) -> str:
    """How many seeds of how many fitted, such as ``3 of 3 (rope, nope), 2 of 3 (alibi)``."""
    return by_value(systems, lambda system: f"{len(system.fitted)} of {len(system.results)}")


SAID_APART = ("training.max_length", "training.steps")
"""Settings in which systems may differ, of which a line of their own speaks."""


def setting_note(systems: Sequence[SystemSummary]) -> str:
    """The settings that all systems share: of the task, the size of models, steps, learning rate, strings of a test."""
    flat = [system.flat for system in systems]

    def shared(key: str) -> Any:
        values = [values.get(key) for values in flat]
        return values[0] if values and all(value == values[0] for value in values) else None

    said = ("task.name", *["task.language"] * (shared("task.name") == "language"))
    title = "language " * (len(said) > 1) + task_title(systems)  # before an expression, which has no capital
    keys = dict.fromkeys(key for values in flat for key in values if key.startswith("task.") and key not in said)
    task = [f"{setting_text(key)} {value_text(shared(key))}" for key in keys if shared(key) is not None]
    name, layers, width = shared("task.name"), shared("model.layers"), shared("model.width")
    steps, rate = {steps_text(system) for system in systems}, shared("training.lr")
    size = [f"{layers} layer{'s' * (layers != 1)}"] * bool(layers) + [f"width {width}"] * bool(width)
    parts = (
        f"{title}{' with ' * bool(task)}{', '.join(task)}" if name else tasks_note(flat),
        " × ".join(size),
        f"{steps.pop()} steps" if not steps_note(systems) and steps != {"unknown"} else "",
        f"learning rate {rate:g}" if rate else "",
        strings_text(systems),
    )
    return "; ".join(part for part in parts if part)


def tasks_note(flat: Sequence[Mapping[str, Any]]) -> str:
    """The settings of several tasks, such as ``copy and reverse: letters 16; sort: letters 24``."""
    found = dict[str, dict[str, None]]()
    for values in flat:
        own = [
            f"{setting_text(key)} {value_text(value)}"
            for key, value in values.items()
            if key.startswith("task.") and key != "task.name"
        ]
        found.setdefault(", ".join(own), {})[str(values["task.name"])] = None
    return "; ".join(f"{listed(names)}: {settings}" for settings, names in found.items() if settings)


def steps_text(system: SystemSummary) -> str:
    """For how many steps its runs were trained, such as ``2,000 to 3,000 of at most 12,000``."""
    planned = [result.experiment["training"].get("steps") for result in system.results]
    steps = {own.steps or plan for own, plan in zip(system.results, planned, strict=True)} - {None}
    if not steps:
        return "unknown"
    most = max((plan for plan in planned if plan is not None), default=0)
    taken = " to ".join(f"{count:,}" for count in sorted({min(steps), max(steps)}))
    return taken + f" of at most {most:,}" * (min(steps) < most)


def steps_note(systems: Sequence[SystemSummary]) -> str:
    """For how many steps each system was trained; empty where all runs have as many."""
    counts = by_value(systems, steps_text)
    early = any(system.experiment["training"].get("stop_when_fitted") for system in systems)
    why = ", where some runs end once they fit" * early
    differ = len({steps_text(system) for system in systems}) > 1 or " to " in counts
    return f"trained for different numbers of steps{why}: {counts}" if differ else ""


def by_value(systems: Sequence[SystemSummary], value: Callable[[SystemSummary], Any], most: int = 1) -> str:
    """The values, each with the systems that have it in brackets where there are several values.

    More than ``most`` names of the value that most have, which is then the last, are *all others*.
    """
    names: dict[str, list[str]] = {}
    for system in systems:
        names.setdefault(value_text(value(system)), []).append(system.label)
    if len(names) == 1:
        return next(iter(names))
    who = {key: listed(some) for key, some in names.items()}
    usual = max(names, key=lambda key: len(names[key]))
    if len(names[usual]) > most:
        del who[usual]
        who[usual] = "all others"
    return ", ".join(f"{key} ({some})" for key, some in who.items())


def fitted_text(systems: Sequence[SystemSummary]) -> str:
    """How many systems and seeds fitted in distribution."""
    fitted, seeds = sum(bool(s.fitted) for s in systems), sum(len(s.fitted) for s in systems)
    return (
        f"{fitted} of {len(systems)} systems fitted their training lengths in at least one seed "
        f"({seeds} of {sum(len(s.results) for s in systems)} runs). Only fitted runs are tested at longer lengths."
    )


def ranked(systems: Sequence[SystemSummary], metric: str = "exact_match") -> list[SystemSummary]:
    """These systems in the order of `how_far`, at the lengths at which all of their contest that fitted were tested.

    Of equal reaches the first is the longest in its own tests: a harder test costs no rank. Without a length beyond
    training at which all were tested, each counts by its own tests. A part of the systems has the same order.
    """
    trained = max((system.max_length for system in systems), default=0)

    def far(system: SystemSummary) -> tuple[float, ...]:
        reach, mean = how_far(system.results, system.max_length, metric, None, layouts_of(system))
        farthest = max((cell.length for cell in system.cells), default=0)
        if not system.shared:
            return reach, mean, farthest
        at, first = how_far(system.results, trained, metric, system.shared, layouts_of(system))
        return at, reach, first, farthest, mean

    return sorted(systems, key=far, reverse=True)


def in_order(systems: Sequence[SystemSummary], metric: str = "exact_match") -> list[SystemSummary]:
    """The order of tables, figures and findings: by task as the results have them, then as `ranked`."""
    contests = dict.fromkeys(system.contest for system in systems)
    return [
        one
        for contest in contests
        for one in ranked([system for system in systems if system.contest == contest], metric)
    ]


def of_equal_steps(systems: Sequence[SystemSummary]) -> list[SystemSummary]:
    """These, but of those that differ in steps alone one: with the steps with which most systems mostly fitted.

    Of equals these are the more.
    """

    def usual(steps: int) -> tuple[int, int]:
        there = (one for one in systems if steps_of(one) == steps)
        return sum(not most_lost(one) for one in there), steps

    same = dict[str, SystemSummary]()
    for one in systems:
        training = one.experiment["training"] | {"steps": 0}
        key = one.contest + canonical_json({**one.experiment, "training": training, "name": one.short})
        same[key] = max(same.get(key, one), one, key=lambda each: usual(steps_of(each)))
    return [one for one in systems if any(one is of for of in same.values())]


def most_lost(system: SystemSummary) -> bool:
    """Whether half or more of its seeds did not fit."""
    return 2 * len(system.fitted) <= len(system.results)


def steps_of(system: SystemSummary) -> int:
    """The steps that it was to be trained for at most; 0 where unknown."""
    return system.experiment["training"].get("steps") or 0


def trained_alike(first: SystemSummary, rivals: Sequence[SystemSummary]) -> list[SystemSummary]:
    """Those of the rivals that were trained to the same length as the first; all where none was."""
    return [one for one in rivals if one.max_length == first.max_length] or list(rivals)


def nearest_rival(first: SystemSummary, rivals: Sequence[SystemSummary]) -> SystemSummary | None:
    """Of rivals in order, the first with other positions than ``first``, or the first of all where none has.

    Those of the same task come first, where tasks are compared, too.

    Of several configurations of that system it is the one that differs from ``first`` in the fewest settings.
    """
    alike = trained_alike(first, rivals)
    alike = [one for one in alike if one.experiment["task"] == first.experiment["task"]] or alike
    found = next((one for one in alike if one.positions != first.positions), next(iter(alike), None))
    same = [one for one in alike if found is not None and one.results[0].system == found.results[0].system]
    return min(same, key=lambda one: len(other_settings((first, one))), default=None)


def ids_alone(one: SystemSummary, other: SystemSummary) -> bool:
    """Whether two systems differ in their ids, and in nothing else that they were trained with."""
    return _differ_in("scheme", one, other)


def encoding_alone(one: SystemSummary, other: SystemSummary) -> bool:
    """Whether two systems differ in their encoding, and in nothing else that they were trained with."""
    return _differ_in("encoding", one, other)


def _differ_in(part: str, one: SystemSummary, other: SystemSummary) -> bool:
    mine, theirs = (
        {key: value for key, value in system.experiment.items() if key not in (part, "evaluation")}
        for system in (one, other)
    )
    return mine == theirs and one.experiment[part] != other.experiment[part]


def stands_for(system: SystemSummary, among: Sequence[SystemSummary]) -> SystemSummary:
    """Of several configurations of a system the one of which most seeds fitted; of equals the system itself."""
    own = (system.contest, system.results[0].system)
    same = [system, *(one for one in among if (one.contest, one.results[0].system) == own)]
    return max(same, key=lambda one: len(one.fitted) / len(one.results))


def is_untrained(system: SystemSummary) -> bool:
    """Whether strings beyond training have ids that no training string had, in a learned table."""
    scheme, encoding = system.experiment["scheme"], system.experiment["encoding"]["name"]
    plain = scheme["name"] == "sequential" and not scheme.get("random_start")
    return plain and encoding in ENCODINGS and ENCODINGS.get(encoding).has_table


MOST_FALLS = 5
"""Systems of which an author is told where they fall; of more how many they are."""
MOST_COMPARED = 3
"""Systems that a finding names all; of more it counts those that go equally far."""
WIDE_RANGE = 0.1
"""From it on the range of the seeds is said beside their median, and chance no more."""


def above(rates: Sequence[float], others: Sequence[float]) -> bool:
    """Whether every seed of one system is above every seed of another; of one seed each it says nothing."""
    return len(rates) + len(others) > 2 and min(rates) > max(others)


def median_rates(system: SystemSummary) -> dict[int, float]:
    """The median of the fitted seeds by length, of several layouts the lowest."""
    found = dict[int, float]()
    for cell in system.cells:
        found[cell.length] = min(found.get(cell.length, 1.0), rate_of(cell))
    return found


def layouts_of(system: SystemSummary) -> Collection[Axes] | None:
    """The layouts that are kept of it; None where all are."""
    return {cell.axes for cell in system.cells} if system.layout else None


Tests = Mapping[tuple[int, Axes], Cell]


def tests_of(system: SystemSummary) -> Tests:
    """The tests of a system by length and axes."""
    return {(cell.length, cell.axes): cell for cell in system.cells}


def hardest_of(cells: Iterable[Cell]) -> Any:
    """Of the longest of these tests, that with the fewest right strings; None if there is none."""
    return min(cells, key=lambda cell: (-cell.length, rate_of(cell), axes_text(cell.axes)), default=None)


def rate_of(cell: Cell) -> float:
    """The median of the seeds."""
    return median(score.rate() for score in cell.scores)


def layout_text(cell: Cell, tests: Tests) -> str:
    """The layout of a test as a text such as `` with chains 1``, empty where the system has one at this length."""
    same = [one for (length, _), one in tests.items() if length == cell.length]
    axes = axes_text(panel_of(cell.axes, panel_axes(same)))
    return f" with {axes}" * bool(axes)


def hardest(system: SystemSummary) -> tuple[float, int, str] | None:
    """Of the longest tests of a system, the layout with the fewest right strings: their share, the length, the layout.

    The layout is a text such as `` with chains 1``, empty where there is one only. None without a test.
    """
    tests = tests_of(system)
    cell = hardest_of(tests.values())
    return None if cell is None else (rate_of(cell), cell.length, layout_text(cell, tests))


RIGHT, WRONG = 0.95, 0.5
"""Accuracy at the longest test from which, and below which, a measurement is set against theory."""


def contradiction(system: str, answer: str, why: str, right: float, length: int, layout: str = "") -> str | None:
    """Where theory and what `hardest` found point in different directions, both in words; else None."""
    share = f"yet the models are right on {rounded(right)} of the strings of length {length}{layout}"
    reason = f" ({why})" if why else ""
    if answer == "yes" and right < WRONG:
        return (
            f"{system}: theory has yes{reason}, {share}. The yes is about an idealized learner that picks the simplest "
            "solution; it names no training length, and training need not find that solution."
        )
    if answer == "no" and right >= RIGHT:
        return (
            f"{system}: theory has no guarantee{reason}, {share}. The no is about all lengths; a model may carry to "
            "the lengths that were tested."
        )
    return None
