"""`Experiment`: what is trained and measured, with `run()`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lengthwise.api.components import encoding as build_encoding
from lengthwise.api.components import fields_into
from lengthwise.api.components import scheme as build_scheme
from lengthwise.api.components import task as build_task
from lengthwise.api.result import Result
from lengthwise.core import config as arguments
from lengthwise.core.config import one_line_errors
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.table import Table, Tabular
from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.defaults import MAX_LENGTH, STEPS, default_experiment, folder_name
from lengthwise.experiments.recipe import Job, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import EncodingSpec
from lengthwise.positions.schemes import PositionScheme
from lengthwise.positions.system import system_of
from lengthwise.tasks import Task
from lengthwise.training.config import TrainingConfig


class Experiment(Tabular):
    """A task under one position scheme and one encoding, trained on short lengths and tested on long ones.

    ``scheme`` and ``encoding`` are names or objects. ``max_length`` is the longest training length and
    ``test_lengths`` are the lengths to measure (by default 1, 2 and 4 times as long), in the task's unit. ``steps`` is
    the number of training steps. ``model``, ``training`` and ``evaluation`` replace whole settings objects, or take a
    dictionary of single settings to change, such as ``model={"layers": 2}``. ``configuration`` takes over everything.

    Raises `LengthwiseError` for unknown names and fields, values of the wrong type, and lengths without instances.
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
        **settings: Any,
    ) -> None:
        unknown = set(settings) - {"model", "training", "evaluation", "name"}
        if unknown:
            raise LengthwiseError(
                f"Experiment has no setting {min(unknown)!r}; it has model, training, evaluation and name"
            )
        scheme = scheme if isinstance(scheme, str) else build_scheme(scheme)
        with one_line_errors("Experiment"):
            made = default_experiment(
                build_task(task), scheme, build_encoding(encoding),
                max_length=arguments.whole("max_length", max_length, 1),
                test_lengths=None if test_lengths is None else arguments.whole_numbers("test_lengths", test_lengths),
                steps=arguments.whole("steps", steps, 1),
            )  # fmt: skip
            self.configuration = _changed(made, settings)
        self.name = str(settings.get("name") or _name(self.configuration))

    @classmethod
    def of(cls, configuration: RunConfig, name: str = "") -> Experiment:
        """The experiment of a configuration, for example of a recipe."""
        made = cls.__new__(cls)
        made.configuration = configuration
        made.name = name or _name(configuration)
        return made

    def run(
        self, seeds: int | Sequence[int] = 1, *, out: str | Path = "runs", jobs: int = 1, progress: bool = True
    ) -> Result:
        """Train and measure these seeds (``3`` means 0, 1, 2), and return the `Result`.

        Everything is written to ``out``; what is finished there is reused, and an interrupted run goes on from its
        last checkpoint in the same bits. ``jobs`` seeds run at the same time, a process each. Raises `LengthwiseError`
        if the folder can't be used, and `TrainingDivergedError` if a seed diverges.
        """
        from lengthwise.experiments.engine import sweep
        from lengthwise.experiments.execute import Processes

        wanted, jobs = _seeds(seeds), arguments.whole("jobs", jobs, 1)
        recipe = Recipe(folder_name(self.configuration.task), "", (Job(self.name, self.configuration, wanted),))
        folder, on = arguments.path("out", out), Processes(jobs) if jobs > 1 else None
        if progress:
            from lengthwise.cli.console import err
            from lengthwise.cli.run_view import SweepProgress

            with SweepProgress(err(), recipe) as shown:
                sweep(recipe, folder, on=on, progress=shown)
        else:
            sweep(recipe, folder, on=on)
        from lengthwise.experiments.run_directory import run_directory

        return Result.of([run_directory(folder, recipe.name, self.configuration, seed) for seed in wanted])

    def table(self) -> Table:
        """All settings: one row each."""
        rows = tuple(_flat(self.configuration.to_json()))
        return Table(("setting", "value"), rows, caption=self.name)


def _seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """The seeds as plain numbers; a number stands for so many from 0."""
    wanted = seeds if isinstance(seeds, Iterable) else range(arguments.whole("seeds", seeds, 1))
    return tuple(arguments.whole_numbers("seeds", wanted))


def _name(configuration: RunConfig) -> str:
    """The name that `run` and `compare` give to the system, too."""
    return system_of(configuration.scheme, configuration.encoding).name


def _changed(configuration: RunConfig, settings: dict[str, Any]) -> RunConfig:
    """The configuration with settings objects, or single settings of them, replaced."""
    import dataclasses

    from lengthwise.core.config import fields_of

    changed: dict[str, Any] = {}
    for name, cls in (("model", ModelConfig), ("training", TrainingConfig), ("evaluation", EvaluationConfig)):
        value = settings.get(name)
        if isinstance(value, dict):
            value = fields_into(cls, {**fields_of(getattr(configuration, name)), **value}, where=name)
        if value is not None:
            changed[name] = value
    return dataclasses.replace(configuration, **changed)


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in values.items():
        rows += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, str(value))]
    return rows
