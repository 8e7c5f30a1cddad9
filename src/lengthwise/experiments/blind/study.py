"""A study: everything that is fixed before any training, in one file that names itself by its SHA-256."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lengthwise.core.config import canonical_json, from_fields
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import read_json, write_json
from lengthwise.core.user_code import no_new_code
from lengthwise.experiments.blind.ladder import Rung
from lengthwise.tasks import TASKS, Task

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
            raise LengthwiseError(f"{path} holds another study; choose another --out")
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
