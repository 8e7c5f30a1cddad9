"""The result files of a study, one per cell and rung, and the index that says which there must be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import locked, read_json, slug, write_json
from lengthwise.core.result_file import read_sealed, sealed
from lengthwise.experiments.blind.study import BlindStudy

INDEX = "files.json"
"""Path of every result file, relative to the study's folder, and its SHA-256."""


def cell_path(study: BlindStudy, table: str, name: str, encoding: str, rung: int) -> Path:
    """Where the result of one rung (from 1) of one cell is."""
    folder = "cells" if table == "languages" else table
    return study.folder / folder / f"{slug(name)}-{encoding}-rung{rung}.json"


def read_cell(study: BlindStudy, path: Path) -> dict[str, Any] | None:
    """The result in a file, or None if there is none; raises `LengthwiseError` for that of another study."""
    if not path.exists():
        return None
    values = read_sealed(path, "result file")
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
