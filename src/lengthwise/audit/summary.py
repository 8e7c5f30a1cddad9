"""Counts of an audit by cell, and which of length, distance and number breaks the model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from lengthwise.audit.outcomes import ANSWERED, APART, RIGHT, TRUNCATED
from lengthwise.audit.questions import Question
from lengthwise.core.statistics import wilson

NOTICEABLE = 0.1
"""A drop of the rate whose interval lies above this is said to break the model."""
SOUND_BASE = 0.5
"""Rate at the shortest length below which nothing is said about causes."""
SHORTENED = 0.6
"""A prompt whose tokens are fewer than this share of what its characters suggest was truncated."""


@dataclass(frozen=True)
class AskedQuestion:
    """A question and what became of it."""

    question: Question
    outcome: str
    prompt_tokens: int | None
    completion_tokens: int | None
    retries: int


def cells_of(answers: Sequence[AskedQuestion]) -> list[dict[str, Any]]:
    """One row per sweep, form and level: counts of outcomes, rate of right answers with its 95 % interval."""
    groups: dict[tuple[str, str, int], list[AskedQuestion]] = {}
    for each in answers:
        groups.setdefault(each.question.cell, []).append(each)
    return [_cell(key, members) for key, members in groups.items()]


def _cell(key: tuple[str, str, int], members: Sequence[AskedQuestion]) -> dict[str, Any]:
    counts = {name: sum(each.outcome == name for each in members) for name in (*ANSWERED, *APART)}
    answered = sum(counts[name] for name in ANSWERED)
    low, high = wilson(counts[RIGHT], answered) if answered else (None, None)
    about = {
        name: round(sum(getattr(each.question, name) for each in members) / len(members), 2)
        for name in ("words", "distance", "number", "problem")
    }
    return {
        "sweep": key[0], "form": key[1], "level": key[2], **about, "asked": len(members), "answered": answered,
        "rate": counts[RIGHT] / answered if answered else None, "low": low, "high": high, "counts": counts,
    }  # fmt: skip


def with_truncation(answers: Sequence[AskedQuestion]) -> list[AskedQuestion]:
    """The same, with answers to prompts that the server cut short counted apart: fewer tokens than characters say."""
    ratios = [each.prompt_tokens / len(each.question.prompt) for each in answers if each.prompt_tokens]
    if not ratios:
        return list(answers)
    # Short prompts are the least likely to be cut.
    short = sorted(answers, key=lambda each: len(each.question.prompt))[: max(1, len(answers) // 4)]
    usual = median([e.prompt_tokens / len(e.question.prompt) for e in short if e.prompt_tokens] or ratios)
    return [
        AskedQuestion(each.question, TRUNCATED, each.prompt_tokens, each.completion_tokens, each.retries)
        if each.prompt_tokens
        and each.outcome in ANSWERED
        and each.prompt_tokens < SHORTENED * usual * len(each.question.prompt)
        else each
        for each in answers
    ]


def best_form(cells: Sequence[Mapping[str, Any]], forms: Sequence[str]) -> str:
    """The form with the most right answers at the shortest length."""
    shortest = min(cell["level"] for cell in cells)
    rates = {cell["form"]: cell["counts"][RIGHT] for cell in cells if cell["level"] == shortest}
    return max(forms, key=lambda form: rates.get(form, -1))


def causes(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The drop of the rate along each of the three sweeps with its 95 % interval, and which of them break the model.

    The sweeps begin where the one before ended, so that the drops add up to the whole one.
    """
    drops = {}
    for sweep in ("length", "distance", "number"):
        rows = sorted((cell for cell in cells if cell["sweep"] == sweep), key=lambda cell: cell["level"])
        if len(rows) >= 2 and rows[0]["answered"] and rows[-1]["answered"]:
            drops[sweep] = drop(
                rows[0]["counts"][RIGHT], rows[0]["answered"], rows[-1]["counts"][RIGHT], rows[-1]["answered"]
            )
    base = min((cell for cell in cells if cell["sweep"] == "length"), key=lambda cell: cell["level"], default=None)
    sound = base is not None and base["answered"] and base["high"] >= SOUND_BASE
    breaking = [name for name, found in drops.items() if found["low"] > NOTICEABLE] if sound else []
    if base is None or not base["answered"]:
        says = "No answer at the shortest length counts, so nothing can be said about what breaks the model."
    else:
        says = _says(bool(sound), drops, breaking)
    return {"drops": drops, "breaks": breaking, "says": says}


def drop(right: int, n: int, later_right: int, later_n: int) -> dict[str, float]:
    """A difference of two rates with Newcombe's interval (1998, from the Wilson intervals of both)."""
    first, second = right / n, later_right / later_n
    (low1, high1), (low2, high2) = wilson(right, n), wilson(later_right, later_n)
    difference = first - second
    return {
        "drop": difference,
        "low": difference - math.hypot(first - low1, high2 - second),
        "high": difference + math.hypot(high1 - first, second - low2),
    }


def _says(sound: bool, drops: Mapping[str, Any], breaking: Sequence[str]) -> str:
    names = {
        "length": "length of the text",
        "distance": "distance of what matters",
        "number": "number of words that matter",
    }
    if not sound:
        return "The model fails at the shortest length already, so nothing can be said about what breaks it."
    if breaking:
        return "What breaks the model: " + ", ".join(names[name] for name in breaking) + "."
    if all(found["high"] < 2 * NOTICEABLE for found in drops.values()):
        return "None of the three breaks the model at these lengths."
    return "The intervals are too wide to say which of the three breaks the model; ask more (--samples)."
