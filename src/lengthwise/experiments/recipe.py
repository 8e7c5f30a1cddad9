"""A recipe: a Python function that returns the systems of one figure or table."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.experiments.experiment import Experiment

Preset = Literal["quick", "standard", "full"]
PRESETS: tuple[Preset, ...] = ("quick", "standard", "full")


@dataclass(frozen=True)
class System:
    """One line of the figure: a name, what is trained, and with which seeds."""

    name: str
    experiment: Experiment
    seeds: tuple[int, ...] = (0, 1, 2)
    claim: str = ""
    """What the system is there to show, one line for the report."""
    task: str = ""
    """A name that ``--only`` takes for all systems of one task."""
    positions: str = ""
    """A name that ``--encoding`` takes for all systems with these positions."""
    extra: bool = False
    """Run only where ``--encoding`` or its own name asks for it."""
    fallbacks: tuple[Experiment, ...] = ()
    """Tried in order, with all seeds, as long as fewer than ``needed`` seeds of one configuration fitted."""
    needed: int = 1


@dataclass(frozen=True)
class Recipe:
    """The systems of one figure or table."""

    name: str
    summary: str
    systems: tuple[System, ...]
    figure: str = "accuracy"
    """The kind of figure that `lengthwise.report` draws."""

    def edited(self, edits: list[str], seeds: int | None) -> Recipe:
        """A copy with ``--set`` edits applied to every system, and ``seeds`` seeds for each if given."""
        if seeds is not None and seeds < 1:
            raise LengthwiseError(f"--seeds must be at least 1, got {seeds}")
        systems = tuple(
            dataclasses.replace(
                system,
                experiment=system.experiment.edited(edits),
                fallbacks=tuple(experiment.edited(edits) for experiment in system.fallbacks),
                seeds=system.seeds if seeds is None else tuple(range(seeds)),
            )
            for system in self.systems
        )
        return dataclasses.replace(self, systems=systems)


class _Recipes:
    """The recipes by name; making one costs nothing until it is asked for."""

    def __init__(self) -> None:
        self._functions: dict[str, tuple[Callable[[Preset], Recipe], str]] = {}

    def register(self, name: str, summary: str) -> Callable[[Callable[[Preset], Recipe]], Callable[[Preset], Recipe]]:
        """Decorator: enter a function from preset to `Recipe`."""

        def enter(function: Callable[[Preset], Recipe]) -> Callable[[Preset], Recipe]:
            self._functions[name] = (function, summary)
            return function

        return enter

    def names(self) -> dict[str, str]:
        """Names and summaries."""
        return {name: summary for name, (_, summary) in self._functions.items()}

    def make(self, name: str, preset: str) -> Recipe:
        """The recipe at a preset; raises `UnknownNameError` for an unknown recipe or preset."""
        if name not in self._functions:
            raise UnknownNameError("recipe", name, self._functions)
        if preset not in PRESETS:
            raise UnknownNameError("preset", preset, PRESETS)
        return self._functions[name][0](preset)  # type: ignore[arg-type]


RECIPES = _Recipes()
