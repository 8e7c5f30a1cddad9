"""Finds and reads result files, each run once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import read_json
from lengthwise.core.result_file import RunResult, check_seal, each_once, result_files
from lengthwise.prediction.shown_task.stored_task import StoredTask, stored_task


class SeedResult(RunResult):
    """One system trained with one seed; ``stored`` is what the file says of a task of the user's own."""

    stored: Annotated[StoredTask | None, Field(exclude=True)] = None

    @classmethod
    def of(cls, values: Any, where: str = "result") -> Self:
        """As `RunResult.of`, and for the stored task."""
        task, result = values.get("task") if isinstance(values, dict) else None, super().of(values, where)
        return result if task is None else result.model_copy(update={"stored": stored_task(task, where)})


def load(folders: Iterable[Path]) -> list[SeedResult]:
    """The results of training runs in and under ``folders``, each run once.

    Raises `LengthwiseError` if no result file exists, one is damaged, or two of the same run differ.
    """
    return runs((path, values) for path, values in contents(folders) if kind_of(values) is None)


def runs(files: Iterable[tuple[Path, Any]]) -> list[SeedResult]:
    """The results of training runs in these files, each run once; raises `LengthwiseError` as `load` does."""
    files = list(files)
    read = {path: SeedResult.of(values, f"result file {path}") for path, values in files}
    return [read[path] for path, _ in each_once(files)]


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
    for path in files.values():
        require(path.suffix == ".json", f"{path} is not a result file (.json); give it, or a folder of results")
    read = [(path, read_json(path, what="result file")) for path in files.values()]
    for path, values in read:
        check_seal(values, f"result file {path}")
    return read
