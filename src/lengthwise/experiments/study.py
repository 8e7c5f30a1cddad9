"""Studies: recipes that are not sets of training runs. One function, one result, kept under the hash of its preset."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lengthwise.core.config import digest
from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.core.files import read_json, write_json
from lengthwise.experiments.provenance import provenance
from lengthwise.experiments.recipe import PRESETS, Preset

STUDY_FORMAT = 1
"""Version of study results; another version never reuses them."""

FILE = "study.json"

Report = Callable[[str, int, int], None]
"""Called with (what is being done, done, total)."""


@dataclass(frozen=True)
class Study:
    """A named computation: ``run(preset, seed, report)`` returns plain JSON values.

    ``version`` is raised when the meaning of its numbers changes, so that old results are not reused. The result is
    written to ``file``. A study that ``keeps`` files of its own beside it is given the folder as a fourth argument, and
    finds there what an interrupted run of it left.
    """

    name: str
    summary: str
    run: Callable[..., dict[str, Any]]
    version: int = 1
    file: str = FILE
    keeps: bool = False


STUDIES: dict[str, Study] = {}
"""The studies by name."""


def study(
    name: str, summary: str, *, version: int = 1, file: str = FILE, keeps: bool = False
) -> Callable[[Callable[..., dict[str, Any]]], Study]:
    """Decorator: enter a function as a study."""

    def enter(function: Callable[..., dict[str, Any]]) -> Study:
        STUDIES[name] = Study(name, summary, function, version, file, keeps)
        return STUDIES[name]

    return enter


def study_folder(out: Path, chosen: Study, preset: Preset, seed: int) -> Path:
    """``out/name/<hash>``."""
    key = {"format": STUDY_FORMAT, "study": chosen.name, "version": chosen.version, "preset": preset, "seed": seed}
    return out / chosen.name / digest(key)


def run_study(
    name: str, preset: str, seed: int, out: Path, report: Report | None = None
) -> tuple[Path, dict[str, Any], bool]:
    """Run a study or return its finished result: the file, its contents, and whether it was there already.

    Raises `UnknownNameError` for an unknown study or preset, `LengthwiseError` for a damaged result file.
    """
    if name not in STUDIES:
        raise UnknownNameError("study", name, STUDIES)
    if preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS)
    chosen = STUDIES[name]
    folder = study_folder(out, chosen, preset, seed)  # type: ignore[arg-type]
    path = folder / chosen.file
    if path.exists():
        return path, read_study(path), True
    started = time.perf_counter()
    tell = report or (lambda what, done, total: None)
    values = chosen.run(preset, seed, tell, folder) if chosen.keeps else chosen.run(preset, seed, tell)
    result = {
        "format": STUDY_FORMAT,
        "study": name,
        "preset": preset,
        "seed": seed,
        **values,
        "seconds": round(time.perf_counter() - started, 2),
        **provenance("cpu"),
    }
    # Files of their own are of studies with many numbers.
    write_json(path, result, dense=chosen.file != FILE)
    return path, result, False


def read_study(path: Path) -> dict[str, Any]:
    """Read a study's result; raises `LengthwiseError` if it is damaged or of another format."""
    result = read_json(path, what="study result")
    rows = result.get("rows") if isinstance(result, dict) else None
    shown = isinstance(rows, list) and rows and all(isinstance(row, dict) and set(row) == set(rows[0]) for row in rows)
    sound = isinstance(result, dict) and isinstance(result.get("seconds"), int | float) and ("kind" in result or shown)
    if not sound or result.get("format") != STUDY_FORMAT:
        raise LengthwiseError(f"study result {path} is damaged or of another format; delete it and run again")
    return result
