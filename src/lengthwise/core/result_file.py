"""Contents of ``result.json`` files as typed objects, their validation, and removal of copies of the same run."""

from __future__ import annotations

import functools
import gc
import hashlib
import json
import operator
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

import pydantic
from pydantic import Field

from lengthwise.core.config import EXACT_IN_JSON, canonical_json
from lengthwise.core.errors import LengthwiseError, reject, require
from lengthwise.core.files import read_json, write_json

FORMAT, SEALED = 1, 2
"""Versions of result files: the first may lack a digest, as files of before do; `sealed` writes the second."""
SUPERSEDED = "superseded"
"""The folder of results that later ones replaced: they are kept, and no reader takes them for current."""
CONTROLS = "controls"
"""The folder of single runs under switched settings: evidence about a result, no part of it."""

WholeNumber = Annotated[int, Field(ge=0, lt=EXACT_IN_JSON)]
Positive = Annotated[int, Field(ge=1, lt=EXACT_IN_JSON)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


CHECKPOINT, CONFIG, RESULT = "checkpoint.safetensors", "config.json", "result.json"
"""The files of weights, and of the configuration, in a run directory."""
Axes = tuple[tuple[str, int], ...]
"""The axes of a test beside the length, e.g. ``(("chains", 4), ("depth", 20))``."""


class _StrictPart(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="allow")

    def to_json(self) -> dict[str, Any]:
        """The fields that were given, as plain JSON values."""
        return self.model_dump(mode="json", exclude_unset=True)


class Score(_StrictPart):
    """How many of ``n`` strings were right at one length (or in one bin), by metric; scores are added string by string.

    Metrics: ``exact_match`` (all generated tokens and ``<eos>``, free-running), ``exact_match_ids`` (and all ids),
    ``oracle_ids`` (tokens, with the right ids given: the ceiling), ``answer`` (the answer without the trace: the last
    tokens before ``<eos>`` where there is a trace, otherwise the answer's own columns).
    """

    length: WholeNumber
    axes: dict[str, int] = {}
    n: Positive
    exact_match: float | None = None
    """The rate of exact matches, for people."""
    correct: dict[str, WholeNumber]
    tokens: WholeNumber | None = None
    """Scored tokens that are right after a right prefix, of ``tokens_total``."""
    tokens_total: Positive | None = None
    first_error: dict[str, WholeNumber] = {}
    """Strings by what goes wrong first: ``token``, ``id``, ``both``, ``eos`` (stopping too early or too late)."""
    first_error_at: list[WholeNumber] = []
    """Generated tokens before the first error, for each string that has one."""
    not_finite: WholeNumber = 0
    """Strings in which a logit of a scored token is NaN or infinite. They are wrong, and by no wrong answer."""
    test_set: str = ""
    """Which strings a bin was measured on: uniform, enumerated or adversarial; empty for a single length."""

    @pydantic.model_validator(mode="after")
    def _counts(self) -> Score:
        reject("exact_match" not in self.correct, "exact_match is missing")
        if self.exact_match is not None and abs(self.exact_match - self.rate()) > 1e-9:
            raise ValueError(f"exact_match is {self.exact_match}, and {self.correct['exact_match']} of {self.n} right")
        if max(self.correct.values()) > self.n or (self.tokens or 0) > (self.tokens_total or self.tokens or 0):
            raise ValueError("counts are out of range")
        reject(self.not_finite > self.n - self.correct["exact_match"], "not_finite is out of range")
        if {"low", "high"} & set(self.axes) and not ({"low", "high"} <= set(self.axes) and self.tokens_total):
            raise ValueError("a bin needs low, high and tokens_total")
        return self

    def rate(self, metric: str = "exact_match") -> float:
        """Share of right strings, by a metric that was counted."""
        return self.correct[metric] / self.n

    def __add__(self, other: Score) -> Score:
        n, correct = self.n + other.n, _sum(self.correct, other.correct)
        broken = self.not_finite + other.not_finite
        about: dict[str, Any] = {"not_finite": broken} if broken else {}
        if self.test_set and self.test_set == other.test_set:
            about["test_set"] = self.test_set
        return Score(
            length=max(self.length, other.length),
            axes=self.axes if self.axes == other.axes else {},
            n=n,
            exact_match=correct["exact_match"] / n,
            correct=correct,
            tokens=(self.tokens or 0) + (other.tokens or 0),
            tokens_total=(self.tokens_total or 0) + (other.tokens_total or 0),
            first_error=_sum(self.first_error, other.first_error),
            first_error_at=sorted(self.first_error_at + other.first_error_at),
            **about,
        )


def _sum(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


def total(scores: Iterable[Score]) -> Score:
    """The sum of at least one score."""
    return functools.reduce(operator.add, scores)


class _Task(_StrictPart):
    name: str


class _Training(_StrictPart):
    max_length: Positive
    steps: Positive | None = None


class _Evaluation(_StrictPart):
    lengths: list[WholeNumber] = []


class _Experiment(_StrictPart):
    task: _Task
    training: _Training
    evaluation: _Evaluation = _Evaluation()


def _experiment(values: dict[str, Any]) -> dict[str, Any]:
    _Experiment.model_validate(values)
    return values


class _Result(_StrictPart):
    format: int = FORMAT

    @classmethod
    def of(cls, values: Any, where: str = "result") -> Self:
        """From the contents of a result file; raises `LengthwiseError` naming ``where`` and the first thing amiss."""
        check_seal(values, where)
        if isinstance(values, dict) and values.get("format", FORMAT) not in (FORMAT, SEALED):
            found = values["format"]
            raise LengthwiseError(f"{where} has format {found!r}, not {FORMAT} or {SEALED}; delete it and run again")
        what = ""
        try:
            if values["format"] in (FORMAT, SEALED):
                return cls.model_validate(_unsealed(values))
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            what = f" ({'.'.join(map(str, first['loc']))}: {first['msg']})"
        except (TypeError, KeyError, IndexError):
            pass
        raise LengthwiseError(f"{where} is damaged{what}; delete it and run again")


class RunResult(_Result):
    """One system trained with one seed and measured: the contents of ``result.json``."""

    recipe: str = ""
    system: str
    experiment: Annotated[dict[str, Any], pydantic.AfterValidator(_experiment)]
    """The configuration, as `lengthwise.experiments.run_config.RunConfig` writes it."""
    seed: WholeNumber
    fitted: bool
    in_distribution: Score
    scores: list[Score]
    hard: list[Score] | None = None
    """Of a regular language, pairs of words that agree for half their length and need different answers then, at each
    longer test length that has any; None in older files."""
    steps: WholeNumber | None = None
    seconds: Seconds | None = None
    probes: list[dict[str, Any]] = []
    parameters: WholeNumber | None = None
    commit: str = "unknown"
    machine: dict[str, Any] = {}
    time: str = ""

    @cached_property
    def lower(self) -> list[Score]:
        """The scores, and of random and of `hard` words of a length the lower one."""
        hard = {score.length: score for score in self.hard or ()}
        return [min(s, s if s.axes else hard.get(s.length, s), key=Score.rate) for s in self.scores]

    def gained_too_little(self, wanted: float) -> bool:
        """Whether less than ``wanted`` is right, also if it gained once more what its last half of steps did."""
        last = self.probes[-1]["step"] if self.probes else 0
        half = [probe["in_distribution"] for probe in self.probes[:-1] if 2 * probe["step"] <= last]
        right = self.in_distribution.rate()
        return bool(half) and max(right, 2 * right - half[-1]) < wanted

    @property
    def max_length(self) -> int:
        """The longest length that was trained, priming included."""
        training = self.experiment["training"]
        return int(training["priming_length"] if training.get("priming") else training["max_length"])


class StudyResult(_Result):
    """The result of a study with one seed: rows of a table with the same columns, or a ``kind`` of result of its own.

    Further fields are the study's own, and commit, version, machine and time.
    """

    study: str
    preset: str
    seed: int
    rows: list[dict[str, Any]] = []
    kind: str | None = None
    seconds: Seconds

    @pydantic.model_validator(mode="after")
    def _has_something_to_show(self) -> StudyResult:
        if self.kind is None and (not self.rows or any(set(row) != set(self.rows[0]) for row in self.rows)):
            raise ValueError("rows are missing or of different columns")
        return self


def sealed(values: dict[str, Any]) -> dict[str, Any]:
    """The contents of a result file with a digest of them in the field ``digest``; format 1 becomes `SEALED`.

    It reveals accidents, such as a flipped bit, when the file is read. It is no protection against intent: anyone who
    changes a number can make the digest anew.
    """
    plain = json.loads(json.dumps(values))
    if plain.get("format") == FORMAT:
        plain["format"] = SEALED
    return {**plain, "digest": _seal(plain)}


def check_seal(values: Any, where: str) -> None:
    """Raise a `LengthwiseError` if the contents of a result file have a digest that does not fit them."""
    if not isinstance(values, dict):
        return
    if "digest" not in values:
        # Older files have none; with a flipped bit in its name, it is still there as something else.
        hidden = any(isinstance(value, str) and re.fullmatch("[0-9a-f]{32}", value) for value in values.values())
        require(not hidden, f"{where} is damaged (its digest has another name); delete it and run again")
        require(values.get("format") != SEALED, f"{where} is damaged (its digest is missing); delete it and run again")
    else:
        sound = values["digest"] == _seal(values)
        require(sound, f"{where} is damaged (its content does not fit its digest); delete it and run again")


def write_sealed(path: Path, values: dict[str, Any]) -> None:
    """Write a JSON object with its digest, whole or not at all."""
    write_json(path, sealed(values))


def read_sealed(path: Path, what: str, *, listed: bool = False) -> Any:
    """Read what `write_sealed` got; raises `LengthwiseError` if it is damaged or has no digest.

    A ``listed`` file may have none: an index holds its digest.
    """
    values = read_json(path, what=what)
    check_seal(values, f"{what} {path}")
    if isinstance(values, dict) and "digest" not in values and not listed:
        raise LengthwiseError(f"{what} {path} is damaged (its digest is missing); delete it and run again")
    return _unsealed(values) if isinstance(values, dict) else values


def _unsealed(values: dict[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in values.items() if key != "digest"}
    return {**plain, "format": FORMAT} if plain.get("format") == SEALED else plain


def _seal(values: dict[str, Any]) -> str:
    values = {key: value for key, value in values.items() if key != "digest"}
    return hashlib.blake2b(canonical_json(values).encode(), digest_size=16).hexdigest()


def result_files(folder: Path, name: str = "result.json") -> list[Path]:
    """The current result files in and under ``folder``, sorted, without `SUPERSEDED` and `CONTROLS` folders."""
    # Unlike `rglob`, this finds links to files that do not exist, which are an error and not skipped.
    found = sorted(Path(root, name) for root, _, files in os.walk(folder) if name in files)
    return [path for path in found if not {SUPERSEDED, CONTROLS} & set(path.relative_to(folder).parts)]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Look for no unused objects: where thousands of results are read, a third of the time goes there."""
    working = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if working:
            gc.enable()


R = TypeVar("R", bound=RunResult)


@collector_paused()
def each_once(results: Iterable[tuple[Path, R]]) -> list[tuple[Path, R]]:
    """Remove copies: each (recipe, experiment, seed) appears once. Equal experiments become one object.

    Raises `LengthwiseError` for two files of the same run that say different things.
    """
    found: dict[tuple[str, str, int], tuple[Path, R]] = {}
    experiments: dict[str, dict[str, Any]] = {}
    for path, result in results:
        text = canonical_json(result.experiment)
        result.experiment = experiments.setdefault(text, result.experiment)  # thousands of seeds fit into memory
        first, other = found.setdefault((result.recipe, text, result.seed), (path, result))
        if any(getattr(other, key) != getattr(result, key) for key in ("fitted", "in_distribution", "scores")):
            raise LengthwiseError(f"{first} and {path} are results of the same run and differ; leave one of them out")
    return list(found.values())
