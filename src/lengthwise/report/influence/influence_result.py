"""Reads and checks the result file of ``lengthwise influence``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError

KIND, FORMAT = "influence", 1
"""The field ``kind`` of these result files, and the version of their format."""

NAMES = {
    "greedy": "greedy",
    "one-shot": "one-shot",
    "gradient-input": "gradient × input",
    "attention": "attention mass",
    "surrogate": "linear surrogate",
    "random": "random",
    "last-k": "last k",
    "cross": "greedy by the other model",
    "null": "null: block of another document",
    "beyond_null": "greedy, beyond the null",
}
"""Names of selection rules and controls on the page."""


@dataclass(frozen=True)
class Choice:
    """The chosen positions ``orders[N, K]`` of N targets, and ``losses[N, K]`` in nats with the first 1 … K visible."""

    orders: ndarray
    losses: ndarray


@dataclass(frozen=True)
class RecoveredCell:
    """The recovered fraction R_k of the long context's gain and the line of y on x, with intervals."""

    recovered: float | None
    low: float | None
    high: float | None
    slope: float | None
    intercept: float | None
    slope_interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Split:
    """The targets whose loss the long context lowers by more than ``threshold`` nats."""

    threshold: float
    targets: int
    share: float | None
    """Share of the whole gain."""
    cells: Mapping[str, Mapping[int, RecoveredCell]]


@dataclass(frozen=True)
class Link:
    """Spearman's correlation of the share x/y at k with the additional loss of the short-context model."""

    k: int
    targets: int
    correlation: float
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class InfluenceResult:
    """One model on one corpus; losses in nats, ``long`` and ``short`` of shape ``[N]``."""

    model: str
    chooser: str | None
    corpus: str
    context: int
    recent: int
    keep_first: bool
    ks: tuple[int, ...]
    long: ndarray
    short: ndarray
    chosen: Mapping[str, Choice]
    """By selection rule; ``cross`` (chosen by the other model) and ``null`` are further keys where they exist."""
    cells: Mapping[str, Mapping[int, RecoveredCell]]
    """By the same keys, then by k; ``beyond_null`` is greedy's gain minus that of the null."""
    needing: Split | None
    link: Link | None
    overlap: tuple[tuple[str, str, Mapping[int, float]], ...]
    """Pairs of rules and, by k, the mean share of tokens that both chose."""
    passages: tuple[Mapping[str, Any], ...]
    values: Mapping[str, Any]
    """The contents of the file."""

    @classmethod
    def of(cls, values: Any, *, where: str = "result") -> InfluenceResult:
        """From the contents of a result file; raises `LengthwiseError` that names ``where`` if they are damaged."""
        try:
            if values["format"] != FORMAT or values["kind"] != KIND:
                raise LengthwiseError(f"{where} is of another format than {FORMAT}; run again")
            values = _renamed(values) if "selectors" in values["summary"] else values
            config, targets, summary = values["config"], values["targets"], values["summary"]
            named = {name: [t["chosen"][name] for t in targets] for name in targets[0]["chosen"]}
            for control in ("cross", "null"):
                if all(control in target for target in targets):
                    named[control] = [target[control] for target in targets]
            result = cls(
                model=str(values["model"]["name"]),
                chooser=str(values["chooser"]["name"]) if values.get("chooser") else None,
                corpus=str(values["corpus"]["name"]),
                context=int(config["context"]),
                recent=int(config["recent"]),
                keep_first=config.get("keep_first") is True,
                ks=tuple(int(k) for k in config["ks"]),
                long=_losses([target["long"] for target in targets]),
                short=_losses([target["short"] for target in targets]),
                chosen={str(name): _choice(choices) for name, choices in named.items()},
                cells=_cells(summary),
                needing=_split(summary.get("needs_context")),
                link=_link(summary.get("extrapolation")),
                overlap=_overlap(summary.get("overlap")),
                passages=tuple(values.get("passages") or ()),
                values=values,
            )
            if not set(result.ks) or result.chosen.keys() - result.cells.keys():
                raise ValueError("a rule without a summary")
            if any(max(result.ks) > choice.orders.shape[1] for choice in result.chosen.values()):
                raise ValueError("fewer chosen tokens than the largest k")
            return result
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise LengthwiseError(f"{where} is damaged; delete it and run again") from None

    @property
    def title(self) -> str:
        """The model, the text and the context."""
        sink = ", first token kept" if self.keep_first else ""
        return f"{self.model} on {self.corpus}, {self.context} tokens, {self.recent} recent{sink}"

    @property
    def block(self) -> int:
        """Number of tokens that can be masked."""
        return self.context - self.recent - int(self.keep_first)

    @property
    def best(self) -> str:
        """The rule that the scatter and the spans show: greedy, or else the first."""
        return "greedy" if "greedy" in self.chosen else next(iter(self.chosen))

    def gained(self, name: str, k: int) -> ndarray:
        """Gain of each target from its first k chosen tokens, ``[N]`` in nats."""
        return self.short - self.chosen[name].losses[:, k - 1]

    def spans(self, name: str, k: int) -> ndarray:
        """Distances ``[N · k]`` in tokens from each target to its first k chosen tokens."""
        return (self.context - self.chosen[name].orders[:, :k]).ravel()


def _renamed(values: Mapping[str, Any]) -> dict[str, Any]:
    """An older file with the present keys: it calls the rules selectors and their overlap agreement."""
    summary = dict(values["summary"])
    summary["rules"] = summary.pop("selectors")
    if summary.get("needs_context"):
        summary["needs_context"] = {"rules": summary["needs_context"]["selectors"], **summary["needs_context"]}
    if summary.get("agreement"):
        summary["overlap"] = {"pairs": [{"rules": p["selectors"], **p} for p in summary["agreement"]["pairs"]]}
    return {**values, "summary": summary}


def _losses(values: Any) -> ndarray:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("a loss that is not finite")
    return array


def _choice(choices: list[Mapping[str, Any]]) -> Choice:
    orders = np.asarray([choice["order"] for choice in choices], dtype=np.int64)
    losses = _losses([choice["losses"] for choice in choices])
    if orders.ndim != 2 or orders.shape != losses.shape:
        raise ValueError("order and losses of different lengths")
    return Choice(orders, losses)


def _cells(summary: Mapping[str, Any]) -> dict[str, dict[int, RecoveredCell]]:
    more = {name: summary[name] for name in ("cross", "null", "beyond_null") if summary.get(name)}
    rows = {**summary["rules"], **more}
    return {str(name): {int(k): _cell(cell) for k, cell in row.items()} for name, row in rows.items()}


def _split(values: Mapping[str, Any] | None) -> Split | None:
    if not values or not values["targets"]:
        return None
    share = _number(values.get("share_of_gain"))
    return Split(float(values["threshold"]), int(values["targets"]), share, _cells(values))


def _link(values: Mapping[str, Any] | None) -> Link | None:
    if not values or values.get("rank_correlation") is None:
        return None
    return Link(
        int(values["k"]), int(values["targets"]), float(values["rank_correlation"]), _pair(values.get("interval"))
    )


def _overlap(values: Mapping[str, Any] | None) -> tuple[tuple[str, str, dict[int, float]], ...]:
    rows = [(*pair["rules"], pair["common"]) for pair in values["pairs"]] if values else []
    return tuple((str(a), str(b), {int(k): float(share) for k, share in common.items()}) for a, b, common in rows)


def _pair(values: Any) -> tuple[float, float] | None:
    if values is None:
        return None
    low, high = values
    return float(low), float(high)


def _cell(values: Mapping[str, Any]) -> RecoveredCell:
    low, high = values.get("interval") or (None, None)
    return RecoveredCell(
        _number(values.get("recovered")), _number(low), _number(high),
        _number(values.get("slope")), _number(values.get("intercept")),
        _pair(values.get("slope_interval")),
    )  # fmt: skip


def _number(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
