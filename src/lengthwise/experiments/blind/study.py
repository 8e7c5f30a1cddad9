"""A study: everything that is fixed before any training, in one file that names itself by its SHA-256, and its results.

There is one result file per cell and rung, and an index of the files that there must be.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from lengthwise.core.config import canonical_json, from_fields
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import locked, read_json, slug, write_json
from lengthwise.core.result_file import read_sealed, sealed
from lengthwise.core.user_code import no_new_code
from lengthwise.experiments.blind.ladder import Rung
from lengthwise.tasks import TASKS, Task

FROZEN = Path(str(files("lengthwise"))) / "experiments" / "blind" / "frozen"
"""The frozen study as the package ships it, wherever it is installed."""
INDEX = "files.json"
"""Path of every result file, relative to the study's folder, and its SHA-256."""
FILE = "preregistration.json"
TABLES = ("languages", "published")
"""The study's own languages, and the 25 published tasks under the same ladder: two tables that are never mixed."""


@dataclass(frozen=True)
class StudyEntry:
    """One language or task of a study, and what the decision procedure says of it by encoding."""

    name: str
    task: Task
    predicted: Mapping[str, str]
    features: Mapping[str, Any]
    expression: str


@dataclass(frozen=True)
class BlindStudy:
    """What a preregistration says; ``sha256`` is that of its content."""

    folder: Path
    sha256: str
    content: Mapping[str, Any]

    @cached_property
    def ladder(self) -> tuple[Rung, ...]:
        """The rungs, smallest first."""
        return tuple(from_fields(Rung, rung, where="ladder") for rung in self.content["ladder"])

    @property
    def seeds(self) -> list[int]:
        """The seeds of every rung."""
        return list(self.content["seeds"])

    @property
    def encodings(self) -> list[str]:
        """``nope`` and ``ape``, or what a user's list asks for."""
        return list(self.content["encodings"])

    def entries(self, table: str = "languages") -> list[StudyEntry]:
        """The languages or tasks of one table, in the order in which they are trained."""
        with no_new_code():
            tasks = [TASKS.build(item["task"]) for item in self.content[table]]
        return [
            StudyEntry(item["name"], task, item["predicted"], item["features"], item["expression"])
            for item, task in zip(self.content[table], tasks, strict=True)
        ]


def sha256(content: Any) -> str:
    """The SHA-256 of JSON values, in hexadecimal digits, whatever the file's line breaks."""
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def write_study(folder: Path, content: Mapping[str, Any]) -> BlindStudy:
    """Write the preregistration, which must not exist with another content."""
    path = folder / FILE
    mine = {"sha256": sha256(content), "content": dict(content)}
    if path.exists():
        if read_json(path, what="preregistration") != mine:
            raise LengthwiseError(f"{path} holds another study; choose another folder")
    else:
        write_json(path, mine)
    return read_study(folder)


def read_study(folder: Path) -> BlindStudy:
    """Read the preregistration of ``folder``; raises `LengthwiseError` if its content is not what its hash says."""
    path = folder / FILE
    values = read_json(path, what="preregistration")
    if not isinstance(values, dict) or set(values) != {"sha256", "content"}:
        raise LengthwiseError(f"{path} is no preregistration: it needs 'sha256' and 'content'")
    if sha256(values["content"]) != values["sha256"]:
        raise LengthwiseError(f"the content of {path} is not what its SHA-256 says; restore the committed file")
    return BlindStudy(folder, values["sha256"], values["content"])


def frozen_study() -> BlindStudy:
    """The committed preregistration: ladder and rules."""
    return read_study(FROZEN)


def cell_path(study: BlindStudy, table: str, name: str, encoding: str, rung: int) -> Path:
    """Where the result of one rung (from 1) of one cell is."""
    folder = "cells" if table == "languages" else table
    return study.folder / folder / f"{slug(name)}-{encoding}-rung{rung}.json"


def read_cell(study: BlindStudy, path: Path) -> dict[str, Any] | None:
    """The result in a file, or None if there is none; raises `LengthwiseError` for that of another study."""
    if not path.exists():
        return None
    values = read_sealed(path, "result file", listed=True)
    if not isinstance(values, dict) or values.get("preregistration") != study.sha256:
        raise LengthwiseError(f"{path} does not carry the SHA-256 of this study's preregistration; restore the file")
    return values


def write_cell(study: BlindStudy, path: Path, values: Mapping[str, Any], *, listed: bool = True) -> None:
    """Write a result file whole and, if ``listed``, enter it in the index.

    The index has the SHA-256 of what is listed; any other file carries its own digest.
    """
    held = {"preregistration": study.sha256, **values}
    write_json(path, held if listed else sealed(held), dense=True)
    if listed:
        list_cells(study, [path])


def list_cells(study: BlindStudy, paths: Iterable[Path]) -> None:
    """Enter those result files that exist in the index; one process at a time."""
    with locked(study.folder, wait=60):
        index = read_index(study.folder)
        there = {path.relative_to(study.folder).as_posix(): _digest(path) for path in paths if path.exists()}
        if not there.items() <= index.items():
            write_json(study.folder / INDEX, dict(sorted({**index, **there}.items())))


def read_index(folder: Path) -> dict[str, str]:
    """Path and SHA-256 of every result file that was written."""
    path = folder / INDEX
    return dict(read_json(path, what="list of result files")) if path.exists() else {}


def check_files(study: BlindStudy) -> None:
    """Raise a `LengthwiseError` if a listed result file is missing or changed, or one is not listed."""
    index = read_index(study.folder)
    for name, expected in index.items():
        path = study.folder / name
        if not path.exists():
            raise LengthwiseError(f"result file {path} is listed in {INDEX} and missing; restore it")
        if _digest(path) != expected:
            raise LengthwiseError(f"the SHA-256 of result file {path} is not the one in {INDEX}; restore it")
    for folder in ("cells", "published"):
        for path in sorted((study.folder / folder).glob("*.json")):
            if path.relative_to(study.folder).as_posix() not in index:
                raise LengthwiseError(f"result file {path} is not listed in {INDEX}; move it away")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
