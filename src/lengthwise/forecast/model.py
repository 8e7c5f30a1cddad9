"""The fitted forecaster: logistic models read from ``coefficients.json`` and evaluated with NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lengthwise.core.files import read_json

FILE = Path(str(files("lengthwise.forecast"))) / "coefficients.json"
CUTS = (0.7, 0.95)
"""Accuracies that count as right: the cut of the blind studies, and a strict one."""
COVERED = 0.9
"""How much of the draws an interval covers."""


@dataclass(frozen=True)
class Logistic:
    """P = 1 / (1 + exp(−(w·x + b))), with ``draws`` of (w, b) from a bootstrap over languages, a row each."""

    features: tuple[str, ...]
    weights: NDArray[np.float64]
    """The weights of the features, then the constant."""
    draws: NDArray[np.float64]

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Logistic:
        """From the JSON values of its fields."""
        return cls(tuple(values["features"]), np.array(values["weights"]), np.array(values["draws"]))

    def row(self, values: Mapping[str, float]) -> NDArray[np.float64]:
        """The input of the model."""
        return np.array([*(values[name] for name in self.features), 1.0])

    def probability(self, values: Mapping[str, float]) -> float:
        """The probability for a target with these features."""
        return float(logistic(self.row(values) @ self.weights))

    def drawn(self, values: Mapping[str, float]) -> NDArray[np.float64]:
        """The probability under each draw of the coefficients, ``[draws]``."""
        return logistic(self.draws @ self.row(values))


@dataclass(frozen=True)
class Forecast:
    """The probability of accuracy at least ``cut``, an interval, and the two parts of which it is the product."""

    probability: float
    interval: tuple[float, float]
    fits: float
    """P(the system fits the training lengths)."""
    holds: float
    """P(it is right at the tested length, given that it fits)."""
    cut: float


@dataclass(frozen=True)
class Forecaster:
    """The models of one kind of target: will it fit, and, for each cut, does it hold given that it fits?"""

    fits: Logistic
    holds: Mapping[float, Logistic]
    cells: int
    domain: Mapping[str, Any]
    """What was measured: ``encodings``, ``formats``, and the range of M / N and of N."""

    def forecast(self, values: Mapping[str, float], cut: float = 0.95) -> Forecast:
        """The forecast for a target with these features.

        The cuts are fitted apart; what is right at a higher cut is right at a lower one, so the least of their
        probabilities up to ``cut`` counts.
        """
        holds = [model for at, model in self.holds.items() if at <= cut]
        fits_p, holds_p = self.fits.probability(values), min(model.probability(values) for model in holds)
        drawn = self.fits.drawn(values) * np.min([model.drawn(values) for model in holds], axis=0)
        low, high = np.quantile(drawn, [(1 - COVERED) / 2, (1 + COVERED) / 2])
        joint = fits_p * holds_p
        return Forecast(joint, (min(float(low), joint), max(float(high), joint)), fits_p, holds_p, cut)


def logistic(x: Any) -> Any:
    """1 / (1 + exp(−x)), without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * np.asarray(x)))


@lru_cache(maxsize=4)
def forecaster(kind: str) -> Forecaster:
    """The forecaster of a kind of targets, ``language`` or ``task``, or with a probe, ``language with probe``.

    Raises `LengthwiseError` if the package lacks the file.
    """
    return of_json(read_json(FILE, what="coefficients of the forecast")[kind])


def kinds() -> tuple[str, ...]:
    """The kinds of forecaster that were fitted."""
    return tuple(read_json(FILE, what="coefficients of the forecast"))


def of_json(content: Mapping[str, Any]) -> Forecaster:
    """A forecaster from JSON values."""
    holds = {float(cut): Logistic.of_json(values) for cut, values in content["holds"].items()}
    return Forecaster(Logistic.of_json(content["fits"]), holds, int(content["cells"]), content["domain"])
