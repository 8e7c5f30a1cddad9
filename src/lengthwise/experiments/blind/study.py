"""A study: everything that is fixed before any training, in one file that names itself by its SHA-256, and its results.

There is one result file per cell and rung. `verify` writes a study of one target; those that are committed are in
``studies/``, with an index of the files that there must be.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from lengthwise.core.config import canonical_json, from_fields
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import read_json, slug, write_json
from lengthwise.core.result_file import FORMAT, read_sealed, sealed
from lengthwise.core.user_code import code_of, no_new_code
from lengthwise.experiments.blind.ladder import BINS, TRAINED, Rung, variant
from lengthwise.prediction.predict import fragment_answer
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.language import Language

FROZEN = Path(str(files("lengthwise"))) / "experiments" / "blind" / "frozen"
"""The frozen study as the package ships it, wherever it is installed."""
FILE = "preregistration.json"
TABLES = ("languages", "published")
"""The study's own languages, and the 25 published tasks under the same ladder: two tables that are never mixed."""
CUT = 0.70
"""Score from which on a cell generalizes."""
WordSet = Literal["lower", "uniform", "adversarial"]
"""The lower accuracy of the two sets, or one of them."""
DECIDING = "101-150"
"""The bin whose accuracy decides."""


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
        require(read_json(path, what="preregistration") == mine, f"{path} holds another study; choose another folder")
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


def listed(frozen: BlindStudy, tasks: Mapping[str, Task], encodings: Sequence[str]) -> dict[str, Any]:
    """The content of a study of these tasks, by name, with the ladder and the seeds of the frozen one.

    Raises `LengthwiseError` if a task has no strings among the training lengths or in a bin.
    """
    code = {name: found for name, task in tasks.items() if (found := code_of(task))}
    return {
        "title": "Languages of a user's list under the frozen ladder",
        "frozen": frozen.sha256,
        "ladder": frozen.content["ladder"],
        "seeds": frozen.seeds,
        "encodings": list(encodings),
        "trained": list(TRAINED),
        "bins": [list(bounds) for bounds in BINS],
        "languages": [entry(name, _checked(task), encodings) for name, task in tasks.items()],
        "published": [],
        # An edited task is another study.
        **({"code": code} if code else {}),
    }


def entry(name: str, task: Task, encodings: Sequence[str], *, expression: str = "") -> dict[str, Any]:
    """One language or task as JSON values: what is trained, and what we predict by encoding."""
    predicted = {encoding: fragment_answer(task, variant(encoding).verdict) for encoding in encodings}
    head = {"name": name, "expression": expression or name, "task": TASKS.describe(task)}
    return {**head, "predicted": predicted, "features": {}}


def _checked(task: Task) -> Task:
    what = repr(task.language) if isinstance(task, Language) else task.name
    for low, high in (TRAINED, *BINS):
        if not task.lengths(low, high):
            raise LengthwiseError(
                f"{what} has no strings of the lengths {low} to {high}, so nothing can be measured there; choose one "
                "with longer strings"
            )
    return task


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


def write_cell(study: BlindStudy, path: Path, values: Mapping[str, Any]) -> None:
    """Write a result file whole, with its own digest."""
    write_json(path, sealed({"format": FORMAT, "preregistration": study.sha256, **values}), dense=True)


def cell_row(study: BlindStudy, table: str, entry: StudyEntry, encoding: str) -> dict[str, Any]:
    """One cell of the table from its result files; ``not run`` if its ladder has not been climbed to an end."""
    results = _results(study, table, entry, encoding)
    ended = bool(results) and (results[-1]["speaks"] or results[-1]["rung"] == len(study.ladder))
    last = results[-1] if ended else {"speaks": False, "seeds": [], "rung": None, "fitted": 0}
    seeds = [seed_row(seed) for seed in last["seeds"]]
    # Accuracy in distribution after half of the first rung's steps; 0 for a seed that had diverged.
    half = str(study.ladder[0].steps // 2)
    early = [seed["fit_by_step"].get(half, 0.0) for seed in results[0]["seeds"]] if results else None
    score = cell_score(seeds) if last["speaks"] else None
    predicted = entry.predicted[encoding]
    return {
        "language": entry.name,
        "expression": entry.expression,
        "encoding": encoding,
        "predicted": predicted,
        "status": "decided" if last["speaks"] else "not fitted" if ended else "not run",
        "rung": last["rung"],
        "fitted": last["fitted"],
        "score": score,
        "generalizes": None if score is None else score >= CUT,
        "right": is_right(predicted, score, CUT),
        "seeds": seeds,
        "early_fit": None if early is None else {"by_seed": early},
        "seconds": round(sum(result["seconds"] for result in results), 1),
        "commits": sorted({str(result["commit"]) for result in results}),
    }


def is_right(predicted: str, score: float | None, cut: float) -> bool | None:
    """Whether prediction and measurement agree at a cut; None if the cell is undecided or nothing is predicted."""
    if score is None or predicted not in ("yes", "no"):
        return None
    return (score >= cut) == (predicted == "yes")


def cell_score(seeds: Sequence[Mapping[str, Any]], name: str = DECIDING, words: WordSet = "lower") -> float | None:
    """The median over fitted seeds of the accuracy in one bin; None where none of them was measured on such words."""
    values = [seed_score(seed, name, words) for seed in seeds if seed["fitted"]]
    found = [value for value in values if value is not None]
    return statistics.median(found) if found else None


def seed_score(seed: Mapping[str, Any], name: str = DECIDING, words: WordSet = "lower") -> float | None:
    """Accuracy of one seed in one bin."""
    rates = [found["rate"] for kind, found in seed["sets"].get(name, {}).items() if words == "lower" or kind == words]
    return min(rates, default=None)


def _results(study: BlindStudy, table: str, entry: StudyEntry, encoding: str) -> list[dict[str, Any]]:
    """The result files of a cell, rung by rung, up to the one that counts."""
    results: list[dict[str, Any]] = []
    for number in range(1, len(study.ladder) + 1):
        result = read_cell(study, cell_path(study, table, entry.name, encoding, number))
        if result is None:
            break
        results.append(result)
        if result["speaks"]:
            break
    return results


def seed_row(seed: Mapping[str, Any]) -> dict[str, Any]:
    """What the table shows of one seed: its fit, and rates by bin and set of words."""
    return {
        **{key: seed[key] for key in ("seed", "fit", "fitted")},
        "sets": {name: {kind: _rates(found) for kind, found in kinds.items()} for name, kinds in seed["sets"].items()},
    }


def _rates(found: Mapping[str, Any]) -> dict[str, Any]:
    quartiles = found["first_wrong"]
    return {
        "rate": found["right"] / found["n"],
        "by_symbol": round(found["symbols"] / found["symbols_total"], 5),
        "no_stop": found["no_stop"] / found["n"],
        "first_wrong": None if quartiles is None else quartiles[2],
    }
