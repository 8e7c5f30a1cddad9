"""Result files for the tests of the report: made-up counts on a real configuration, never shown as results."""

from __future__ import annotations

from typing import Any

from lengthwise.experiments.run_config import RESULT_FORMAT, RunConfig
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES
from lengthwise.tasks import TASKS


def experiment(scheme: str = "coupled", encoding: str = "learned", task: str = "addition") -> dict[str, Any]:
    built = RunConfig(TASKS.build(task), SCHEMES.build(scheme), ENCODINGS.build(encoding))
    return built.edited(["training.max_length=8", "evaluation.lengths=[8,16,40]"]).to_json()


def score(length: int, right: int, n: int = 200, axes: dict[str, int] | None = None, **correct: int) -> dict[str, Any]:
    wrong = n - right
    return {
        "length": length,
        "axes": axes or {},
        "n": n,
        "exact_match": right / n,
        "correct": {"exact_match": right, "answer": right, **correct},
        "tokens": 5 * n,
        "tokens_total": 10 * n,
        "first_error": {"token": wrong - wrong // 4, "eos": wrong // 4} if wrong else {},
        "first_error_at": [3] * wrong,
    }


def result(
    system: str = "coupled",
    seed: int = 0,
    *,
    fitted: bool = True,
    scores: list[dict[str, Any]] | None = None,
    recipe: str = "addition",
    config: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "format": RESULT_FORMAT,
        "recipe": recipe,
        "system": system,
        "experiment": config or experiment(),
        "seed": seed,
        "fitted": fitted,
        "in_distribution": score(8, 400 if fitted else 120, 400),
        "scores": scores if scores is not None else [score(8, 200), score(16, 190 - 10 * seed), score(40, 100)],
        "steps": 1000,
        "seconds": 17.5,
        "probes": [],
        "parameters": 221_700,
        "commit": "0123456789ab",
        "version": "0",
        "machine": {"processor": "a processor", "cores": 2, "threads": 2, "device": "cpu"},
        "time": "2026-01-02T03:04:05+00:00",
    }
