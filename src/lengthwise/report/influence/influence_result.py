"""Reads and checks the result file of ``lengthwise influence``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pydantic
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


class _FrozenPart(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, allow_inf_nan=False)


class RecoveredCell(_FrozenPart):
    """The recovered fraction R_k of the long context's gain and the line of y on x, with intervals."""

    recovered: float | None = None
    interval: tuple[float, float] | None = None
    slope: float | None = None
    intercept: float | None = None
    slope_interval: tuple[float, float] | None = None


CellsByK = dict[int, RecoveredCell]
"""By k."""


class _Rows(_FrozenPart):
    rules: dict[str, CellsByK]
    cross: CellsByK | None = None
    null: CellsByK | None = None
    beyond_null: CellsByK | None = None

    @property
    def cells(self) -> dict[str, CellsByK]:
        """The rows of the rules, then those of the controls that were measured."""
        controls = {"cross": self.cross, "null": self.null, "beyond_null": self.beyond_null}
        return {**self.rules, **{name: row for name, row in controls.items() if row}}


class Split(_Rows):
    """The targets whose loss the long context lowers by more than ``threshold`` nats."""

    threshold: float
    targets: int
    share_of_gain: float | None = None


class Link(_FrozenPart):
    """Spearman's correlation of the share x/y at k with the additional loss of the short-context model."""

    k: int
    targets: int
    rank_correlation: float
    interval: tuple[float, float] | None = None


class _Overlap(_FrozenPart):
    rules: tuple[str, str]
    common: dict[int, float]


class _Overlaps(_FrozenPart):
    pairs: list[_Overlap]


class _Summary(_Rows):
    needs_context: Split | None = None
    extrapolation: Link | None = None
    overlap: _Overlaps | None = None


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
    cells: Mapping[str, CellsByK]
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
            config, targets, summary = values["config"], values["targets"], _summary(values["summary"])
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
                cells=summary.cells,
                needing=summary.needs_context,
                link=summary.extrapolation,
                overlap=tuple((*p.rules, p.common) for p in summary.overlap.pairs) if summary.overlap else (),
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


def _summary(values: Mapping[str, Any]) -> _Summary:
    """Without the parts for which there were too few targets."""
    split, link = values.get("needs_context") or {}, values.get("extrapolation") or {}
    empty = {"needs_context": not split.get("targets"), "extrapolation": link.get("rank_correlation") is None}
    return _Summary.model_validate({key: value for key, value in values.items() if not empty.get(key)})
