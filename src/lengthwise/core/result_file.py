"""Validation of ``result.json`` files, and removal of copies of the same run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import pydantic
from pydantic import Field

from lengthwise.core.config import canonical_json
from lengthwise.core.errors import LengthwiseError

FORMAT = 1
"""The version of result files."""
SUPERSEDED = "superseded"
"""The folder of results that later ones replaced: they are kept, and no reader takes them for current."""
CONTROLS = "controls"
"""The folder of single runs under switched settings: evidence about a result, no part of it."""

Count = Annotated[int, Field(ge=0, lt=2**53)]
Positive = Annotated[int, Field(ge=1, lt=2**53)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Part(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="allow")


class _Score(_Part):
    length: Count
    axes: dict[str, int] = {}
    n: Positive
    correct: dict[str, Count]
    tokens: Count | None = None
    tokens_total: Positive | None = None
    first_error: dict[str, Count] = {}
    test_set: str = ""

    @pydantic.model_validator(mode="after")
    def _counts(self) -> _Score:
        if "exact_match" not in self.correct:
            raise ValueError("exact_match is missing")
        if max(self.correct.values()) > self.n or (self.tokens or 0) > (self.tokens_total or self.tokens or 0):
            raise ValueError("counts are out of range")
        if {"low", "high"} & set(self.axes) and not ({"low", "high"} <= set(self.axes) and self.tokens_total):
            raise ValueError("a bin needs low, high and tokens_total")
        return self


class _Task(_Part):
    name: str


class _Training(_Part):
    max_length: Positive
    steps: Positive | None = None


class _Evaluation(_Part):
    lengths: list[Count] = []


class _Experiment(_Part):
    task: _Task
    training: _Training
    evaluation: _Evaluation = _Evaluation()


class _Result(_Part):
    system: str
    experiment: _Experiment
    seed: Count
    fitted: bool
    in_distribution: _Score
    scores: list[_Score]
    seconds: Seconds | None = None
    parameters: Count | None = None


def result_files(folder: Path, name: str = "result.json") -> list[Path]:
    """The current result files in and under ``folder``, sorted, without `SUPERSEDED` and `CONTROLS` folders."""
    found = sorted(folder.rglob(name))
    return [path for path in found if not {SUPERSEDED, CONTROLS} & set(path.relative_to(folder).parts)]


def checked(values: Any, where: str) -> dict[str, Any]:
    """The contents of a result file; raises `LengthwiseError` naming ``where`` and the first thing amiss."""
    if isinstance(values, dict) and values.get("format", FORMAT) != FORMAT:
        raise LengthwiseError(f"{where} has format {values['format']!r}, not {FORMAT}; delete it and run again")
    try:
        if values["format"] == FORMAT:
            _Result.model_validate(values)
            return values
        what = ""
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        what = f" ({'.'.join(map(str, first['loc']))}: {first['msg']})"
    except (TypeError, KeyError, IndexError):
        what = ""
    raise LengthwiseError(f"{where} is damaged{what}; delete it and run again")


def each_once(results: Iterable[tuple[Path, dict[str, Any]]]) -> list[tuple[Path, dict[str, Any]]]:
    """Remove copies: each (recipe, experiment, seed) appears once.

    Raises `LengthwiseError` for two files of the same run that say different things.
    """
    found: dict[str, tuple[Path, dict[str, Any]]] = {}
    for path, result in results:
        run = canonical_json([result.get("recipe"), result["experiment"], result["seed"]])
        first, other = found.setdefault(run, (path, result))
        if any(other.get(key) != result.get(key) for key in ("fitted", "in_distribution", "scores")):
            raise LengthwiseError(f"{first} and {path} are results of the same run and differ; leave one of them out")
    return list(found.values())
