"""Finds, reads and checks the result files of training runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import read_json
from lengthwise.core.result_file import check_seal, checked, each_once, result_files
from lengthwise.prediction.stored_task import StoredTask, stored_task

Axes = tuple[tuple[str, int], ...]
"""The axes of a test beside the length, e.g. ``(("chains", 4), ("depth", 20))``."""


@dataclass(frozen=True)
class Score:
    """The counts of one test."""

    length: int
    axes: Axes
    n: int
    correct: Mapping[str, int]
    first_error: Mapping[str, int]

    def rate(self, metric: str = "exact_match") -> float | None:
        """Share of right strings, or None if the metric was not counted."""
        return self.correct[metric] / self.n if metric in self.correct else None


@dataclass(frozen=True)
class Result:
    """The result of one system with one seed."""

    recipe: str
    system: str
    experiment: Mapping[str, Any]
    seed: int
    fitted: bool
    in_distribution: Score
    scores: tuple[Score, ...]
    seconds: float | None
    parameters: int | None
    commit: str
    machine: Mapping[str, Any]
    time: str
    task: StoredTask | None = None
    """What the file says of a task of the user's own."""

    @classmethod
    def of(cls, values: Any, *, where: str = "result") -> Result:
        """From the contents of a result file; raises `LengthwiseError` that names ``where`` if they are damaged."""
        return cls._of_sound(checked(values, where), where)

    @classmethod
    def _of_sound(cls, values: Mapping[str, Any], where: str) -> Result:
        machine, stored = values.get("machine"), values.get("task")
        return cls(
            recipe=str(values.get("recipe", "")),
            system=values["system"],
            experiment=values["experiment"],
            seed=values["seed"],
            fitted=values["fitted"],
            in_distribution=_score(values["in_distribution"]),
            scores=tuple(_score(score) for score in values["scores"]),
            seconds=values.get("seconds"),
            parameters=values.get("parameters"),
            commit=str(values.get("commit", "unknown")),
            machine=machine if isinstance(machine, dict) else {},
            time=str(values.get("time", "")),
            task=None if stored is None else stored_task(stored, where),
        )

    @property
    def max_length(self) -> int:
        """The longest training length of the configuration."""
        return int(self.experiment["training"]["max_length"])


def _score(values: Mapping[str, Any]) -> Score:
    return Score(
        length=values["length"],
        axes=tuple(values.get("axes", {}).items()),
        n=values["n"],
        correct=values["correct"],
        first_error=values.get("first_error", {}),
    )


def load(folders: Iterable[Path]) -> list[Result]:
    """The results of training runs in and under ``folders``, each run once.

    Raises `LengthwiseError` if no result file exists, one is damaged, or two of the same run differ.
    """
    return runs((path, values) for path, values in contents(folders) if kind_of(values) is None)


def runs(files: Iterable[tuple[Path, Any]]) -> list[Result]:
    """The results of training runs in these files, each run once; raises `LengthwiseError` as `load` does."""
    sound = [(path, checked(values, f"result file {path}")) for path, values in files]
    return [Result._of_sound(values, f"result file {path}") for path, values in each_once(sound)]


def kind_of(values: Any) -> str | None:
    """The field ``kind`` of a result file: ``influence``, ``lm``, ``study``, or None for a training run."""
    if not isinstance(values, dict):
        return None
    return str(values["kind"]) if "kind" in values else "study" if "study" in values else None


def contents(folders: Iterable[Path], names: Iterable[str] = ("result.json",)) -> list[tuple[Path, Any]]:
    """Paths and contents of the files with these names in and under ``folders``, which may also be files, each once.

    Raises `LengthwiseError` if there are none, one is not JSON, or its content does not fit its digest.
    """
    files: dict[Path, Path] = {}
    folders = list(folders)
    for folder in folders:
        if not folder.exists():
            raise LengthwiseError(f"no results at {folder}; check the path, or make some with `lengthwise run`")
        found = [folder] if folder.is_file() else [path for name in names for path in result_files(folder, name)]
        files.update((path.resolve(), path) for path in found)
    if not files:
        where = ", ".join(map(str, folders))
        raise LengthwiseError(f"no result.json in or under {where}; make some with `lengthwise run`")
    read = [(path, read_json(path, what="result file")) for path in files.values()]
    for path, values in read:
        check_seal(values, f"result file {path}")
    return read
