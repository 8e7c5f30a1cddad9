"""The command line as a test calls it: in this process, with the output caught."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from named_options import missing_options

from lengthwise.cli.main import main
from lengthwise.experiments import recipes as _recipes  # noqa: F401
from lengthwise.experiments.recipe import RECIPES, Recipe

TINY = (
    "training.steps=4", "training.batch_size=4", "training.groups=2", "training.max_length=3", "training.probe_every=2",
    "model.width=16", "model.heads=2", "model.layers=1",
    "evaluation.lengths=[3]", "evaluation.samples=4", "evaluation.fit_samples=4", "evaluation.probe_samples=2",
)  # fmt: skip
"""Edits that make a run of a recipe take about a second; it fits nothing."""
TINY_OPTIONS = [word for edit in TINY for word in ("--set", edit)]


@dataclass(frozen=True)
class Answer:
    """What one command did."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Terminal:
    """Runs commands."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Answer:
        self._capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        caught = self._capsys.readouterr()
        missing = missing_options([str(argument) for argument in arguments], caught.err)
        assert not missing, f"{caught.err!r} names what this command does not have: {missing}"
        return Answer(code, caught.out, caught.err)


def tiny_recipe(*, seeds: int | None = None, edits: tuple[str, ...] = ()) -> Recipe:
    return RECIPES.make("addition", "quick").edited([*TINY, *edits], seeds)


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file in and under a folder with its content: what must not be lost."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
