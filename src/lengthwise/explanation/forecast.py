"""A forecast for one model: how likely it is right at M, from what it computes within N and from its heads at M.

No answer to a string longer than N is looked at. Of longer strings the attention alone is read: whether the heads keep
their patterns. The coefficients were fitted on trained models of a study and scored on models of other tasks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from lengthwise.core.config import config
from lengthwise.core.files import read_json
from lengthwise.core.rng import stream
from lengthwise.explanation.automaton import Automaton
from lengthwise.explanation.failures import hard_strings
from lengthwise.explanation.heads import Heads
from lengthwise.explanation.model import Accuracy, Subject
from lengthwise.explanation.verdict import CUT as CUT
from lengthwise.forecast import features
from lengthwise.forecast.model import COVERED, Logistic
from lengthwise.measured.cells import Format
from lengthwise.tasks.language import Language

FILE = Path(str(files("lengthwise.explanation"))) / "coefficients.json"
MATTERS = 0.05
"""A head counts if its removal costs so many nats at the longest trained length."""
TOLD = 3
"""Reasons that are given, those that move the forecast most."""
SAME = {"slope": "accuracy", "margin": "program"}
"""Features that are one reason together with another, so that a reason has one sign."""


@config
class LengthForecast:
    """The forecast at one length beyond training."""

    length: int
    probability: float
    """P(accuracy of at least 0.95 on strings about as long)."""
    interval: tuple[float, float]
    """90 % of a bootstrap over the tasks of the study."""
    reasons: tuple[str, ...]
    """What moves it most, away from the mean of the study's models."""


@config
class ModelForecast:
    """The forecasts at some lengths, and how such forecasts were scored."""

    rows: tuple[LengthForecast, ...]
    scored: str
    train: int


def model_features(
    train: int, length: int, accuracy: Accuracy, hard: float, automaton: Automaton, format: Format, heads: Heads | None
) -> dict[str, float]:
    """What a forecast at ``length`` looks at, by name; ``hard`` is the share of hard strings of length N that is right.

    Larger is better, apart from ``ratio``.
    """
    near = [row for row in accuracy.rows if train / 2 < row.length <= train]
    short = [row for row in accuracy.rows if row.length <= train / 2]
    plain = features.plain(automaton.dfa, format)
    upper = _share(near)
    return {
        "accuracy": features.log_odds(upper),
        "slope": upper - _share(short) if short else 0.0,
        "hard": features.log_odds(hard),
        "exact": float(automaton.complete and bool(automaton.equal)),
        "program": float(plain),
        "margin": features.margin(automaton.dfa, format, length) if plain else -math.log2(length),
        "heads": _least(heads, length, "overlap"),
        "carried": _least(heads, length, "carried"),
        "ratio": math.log2(length / train),
    }


def _share(rows: Sequence[Any]) -> float:
    return sum(row.right for row in rows) / sum(row.n for row in rows) if rows else 0.0


def _least(heads: Heads | None, length: int, what: str) -> float:
    """The least change of a head's overlap, or carried share, from N to the measured length nearest to M."""
    changes = [0.0]
    for head in heads.heads if heads is not None else ():
        first, *others = head.rows
        if others and (first.loss is None or first.loss >= MATTERS):
            far = min(others, key=lambda row: abs(row.length - length))
            changes.append(getattr(far, what) - getattr(first, what))
    return min(changes)


def asked_of(subject: Subject) -> Format:
    """What the model is asked, for the automaton that it runs."""
    return subject.task.ask if isinstance(subject.task, Language) else "member"


def right_on_hard(subject: Subject, automaton: Automaton, samples: int, seed: int) -> float:
    """The share of hard strings of the longest trained length that is right; without such strings, of random ones."""
    rng, length = stream(seed, "explain", "forecast"), subject.inside[-1]
    batches = [batch for _, batch in hard_strings(subject, length, samples, rng, automaton.dfa)]
    right = subject.all_right(batches or [subject.task.batch(length, samples, rng)])
    return float(np.concatenate(right).mean())


def forecast_model(
    subject: Subject,
    lengths: Sequence[int],
    accuracy: Accuracy,
    automaton: Automaton,
    heads: Heads | None,
    samples: int,
    seed: int,
) -> ModelForecast:
    """The forecast for a model at lengths beyond training, with the reasons."""
    fitted, scored, means = _coefficients()
    hard = right_on_hard(subject, automaton, samples, seed)
    rows = []
    for length in lengths:
        values = model_features(subject.train, length, accuracy, hard, automaton, asked_of(subject), heads)
        low, high = np.quantile(fitted.drawn(values), [(1 - COVERED) / 2, (1 + COVERED) / 2])
        p = fitted.probability(values)
        moved: dict[str, float] = {}
        for name, weight in zip(fitted.features, fitted.weights, strict=False):
            moved[SAME.get(name, name)] = moved.get(SAME.get(name, name), 0.0) + weight * (values[name] - means[name])
        told = sorted(moved, key=lambda name: -abs(moved[name]))[:TOLD]
        reasons = tuple(
            f"{_words(name, values, accuracy, hard, length)} ({'+' if moved[name] >= 0 else '−'})" for name in told
        )
        rows.append(LengthForecast(length, p, (min(float(low), p), max(float(high), p)), reasons))
    return ModelForecast(tuple(rows), scored, subject.train)


def _words(name: str, values: Mapping[str, float], accuracy: Accuracy, hard: float, length: int) -> str:
    """A feature in words."""
    match name:
        case "accuracy":
            rows = [row for row in accuracy.rows if accuracy.train / 2 < row.length <= accuracy.train]
            change = f"{values['slope']:+.2f} against shorter ones"
            return f"right on {_share(rows):.3f} of the longer trained strings, {change}"
        case "hard":
            return f"right on {hard:.3f} of edited strings of length {accuracy.train}"
        case "exact":
            return "its automaton is " + ("exactly the task's" if values[name] else "not exactly the task's")
        case "program" if values["program"]:
            return f"its automaton has a program without positions, of margin {2 ** values['margin']:.2g} at {length}"
        case "program":
            return "its automaton has no program without positions"
        case "heads":
            return f"a head's overlap with its pattern changes by {values[name]:+.2f} at {length}"
        case "carried":
            return f"what explains a head's logits changes by {values[name]:+.2f} at {length}"
        case _:
            return f"{length} is {2 ** values['ratio']:.1f} times the training length"


@lru_cache(maxsize=1)
def _coefficients() -> tuple[Logistic, str, dict[str, float]]:
    """The fitted model, how it was scored, and the means of the features."""
    content = read_json(FILE, what="coefficients of the forecast for one model")
    return Logistic.of_json(content), content["scored"], content["means"]
