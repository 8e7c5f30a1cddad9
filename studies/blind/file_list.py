"""The list of a study's result files, each with its SHA-256: none may be missing, changed or added unseen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import lengthwise as lw

INDEX = "files.json"
"""Path of every result file, relative to the study's folder, and its SHA-256."""


def list_cells(study: lw.experiments.blind.study.BlindStudy, paths: Iterable[Path]) -> None:
    """Enter those result files that exist and are not in the list yet; one process at a time."""
    with lw.core.files.locked(study.folder, wait=60):
        index = read_index(study.folder)
        there = {path.relative_to(study.folder).as_posix(): _digest(path) for path in paths if path.exists()}
        if not there.keys() <= index.keys():
            lw.core.files.write_json(study.folder / INDEX, dict(sorted({**there, **index}.items())))


def read_index(folder: Path) -> dict[str, str]:
    """Path and SHA-256 of every result file that was written."""
    path = folder / INDEX
    return dict(lw.core.files.read_json(path, what="list of result files")) if path.exists() else {}


def check_files(study: lw.experiments.blind.study.BlindStudy) -> None:
    """Raise a `lw.LengthwiseError` if a listed result file is missing or changed, or one is not listed."""
    index = read_index(study.folder)
    for name, expected in index.items():
        path = study.folder / name
        if not path.exists():
            raise lw.LengthwiseError(f"result file {path} is listed in {INDEX} and missing; restore it")
        if _digest(path) != expected:
            raise lw.LengthwiseError(f"the SHA-256 of result file {path} is not the one in {INDEX}; restore it")
    for folder in ("cells", "published"):
        for path in sorted((study.folder / folder).glob("*.json")):
            if path.relative_to(study.folder).as_posix() not in index:
                raise lw.LengthwiseError(f"result file {path} is not listed in {INDEX}; move it away")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
