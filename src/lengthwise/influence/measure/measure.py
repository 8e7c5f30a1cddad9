"""The measurement: losses with the long context, with the recent part only, and with that plus k influential tokens.

After experiment 4 of Golowich et al. 2025 (figure 4); models, selection and controls are ours. A *window* is
``context`` tokens and the target behind them; the last ``recent`` tokens are always visible, those before are the
*block*. Losses in nats.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.config import fields_of
from lengthwise.core.errors import require
from lengthwise.core.rng import Rng, stream
from lengthwise.influence.measure.config import MeasureConfig
from lengthwise.influence.measure.entries import Pieces, Values, summary, target_entries
from lengthwise.influence.measure.scorer import Scorer
from lengthwise.influence.measure.selection import SELECTORS, Selector

if TYPE_CHECKING:
    from lengthwise.influence.models.language_model import LanguageModel
    from lengthwise.influence.text.windows import Windows

RESULT_FORMAT = 1
"""Version of the result's shape."""
CHUNK = 8
"""Targets that go through the selectors together."""

Report = Callable[[str, int, int], None]
"""Called with (what is being done, done, total)."""

__all__ = ["MeasureConfig", "check_fits", "describe", "measure"]


@dataclass
class _Found:
    """What is known of all targets so far, chunk by chunk."""

    parts: dict[str, list[ndarray]] = field(default_factory=dict)
    forwards: int = 0
    seconds: float = 0.0

    def add(self, name: str, values: ndarray) -> None:
        self.parts.setdefault(name, []).append(values)

    def count(self, *scorers: Scorer) -> None:
        for scorer in scorers:
            self.forwards += scorer.forwards
            self.seconds += scorer.seconds

    def joined(self) -> Values:
        return {name: np.concatenate(values) for name, values in self.parts.items()}


def measure(
    model: LanguageModel,
    windows: Windows,
    config: MeasureConfig,
    *,
    chooser: LanguageModel | None = None,
    extrapolator: LanguageModel | None = None,
    others: Int[ndarray, " N"] | None = None,
    pieces: Pieces | None = None,
    report: Report | None = None,
) -> dict[str, Any]:
    """Measure ``model`` on ``windows``; plain JSON values.

    Every selector chooses with ``model`` and is scored by it. ``cross``: greedy choices of ``chooser``, scored by
    ``model``. ``null``: the block is that of another document's window, so nothing that greedy finds there is real;
    its share R_k is of the real gain. ``others`` names that window for each, where a random one will not do.
    ``extrapolation``: losses of ``extrapolator``, a model trained at shorter
    lengths, at the full context and at the last ``recent`` tokens alone (there with positions from 0); ``pieces``
    gives the target tokens' text. Raises `LengthwiseError` if models, windows and config don't fit, and if a loss is
    not finite.
    """
    models = {"model": model, "chooser": chooser, "extrapolator": extrapolator}
    for role, one in models.items():
        if one is not None:
            check_fits(one, windows, config, role)
    require(len(windows.tokens) >= 1, "there is no target to measure; choose a longer text")
    selectors = [SELECTORS.build(name) for name in config.selectors]
    others = foreign(windows.documents, stream(config.seed, "null")) if others is None else others
    targets = len(windows.tokens)
    tell = report or (lambda what, done, total: None)
    found = _Found()
    started = time.perf_counter()
    for first in range(0, targets, CHUNK):
        tell("targets", first, targets)
        rows = np.arange(first, min(first + CHUNK, targets))
        _measure_chunk(found, rows, model, windows, config, selectors, others, chooser, extrapolator)
    tell("targets", targets, targets)
    values = found.joined()
    return {
        "format": RESULT_FORMAT,
        "kind": "influence",
        **{role: None if one is None else describe(one) for role, one in models.items()},
        "config": fields_of(config),
        "targets": list(target_entries(values, windows, config, pieces)),
        "summary": summary(values, windows, config),
        "passages": [],
        "speed": {
            "forwards": found.forwards,
            "forwards_per_second": found.forwards / max(found.seconds, 1e-9),
            "targets_per_second": targets / max(time.perf_counter() - started, 1e-9),
        },
    }


def describe(model: LanguageModel) -> dict[str, Any]:
    """A model as JSON."""
    return {
        "name": model.name,
        "parameters": model.parameters,
        "max_length": model.max_length,
        "vocab_size": model.vocab_size,
    }


def check_fits(model: LanguageModel, windows: Windows, config: MeasureConfig, role: str = "model") -> None:
    """Raise `LengthwiseError` unless ``model`` can read these windows."""
    width = windows.tokens.shape[1] - 1
    require(
        width == config.context,
        f"windows have {width} tokens of context, the configuration says {config.context}; cut them alike",
    )
    require(
        model.max_length is None or model.max_length >= config.context,
        f"{role} {model.name} takes at most {model.max_length} tokens, not {config.context}; use a smaller --context",
    )
    largest = int(windows.tokens.max(initial=0))
    require(
        largest < model.vocab_size,
        f"{role} {model.name} has {model.vocab_size} tokens, the text has token {largest}; use the model's tokenizer",
    )


def foreign(documents: Int[ndarray, " N"], rng: Rng) -> Int[ndarray, " N"] | None:
    """For each window a random one of another document; None if there is one document only."""
    if len(np.unique(documents)) < 2:
        return None
    return np.array([rng.choice(np.flatnonzero(documents != own)) for own in documents])


def _measure_chunk(
    found: _Found,
    rows: Int[ndarray, " n"],
    model: LanguageModel,
    windows: Windows,
    config: MeasureConfig,
    selectors: Sequence[Selector],
    others: Int[ndarray, " N"] | None,
    chooser: LanguageModel | None,
    extrapolator: LanguageModel | None,
) -> None:
    tokens, targets = windows.tokens[rows, :-1], windows.tokens[rows, -1]

    def scorer(of: LanguageModel, contexts: Int[ndarray, "n Lbar"]) -> Scorer:
        return Scorer(of, contexts, targets, config.recent, keep_first=config.keep_first)

    def choose(selector: Selector, by: Scorer, *names: str) -> Int[ndarray, "n k"]:
        return selector.order(by, config.most, lambda i: stream(config.seed, selector.name, *names, int(rows[i])))

    own = scorer(model, tokens)
    found.add("long", own.long)
    found.add("short", own.short)
    for selector in selectors:
        order = choose(selector, own)
        found.add(f"order/{selector.name}", order)
        found.add(f"losses/{selector.name}", own.path(order))
    greedy = SELECTORS.build("greedy")
    if chooser is not None:
        by = scorer(chooser, tokens)
        order = choose(greedy, by, "cross")
        found.add("order/cross", order)
        found.add("losses/cross", own.path(order))
        found.count(by)
    if others is not None:
        contexts = tokens.copy()
        contexts[:, own.block] = windows.tokens[others[rows]][:, own.block]
        null = scorer(model, contexts)
        order = choose(greedy, null, "null")
        found.add("null long", null.long)
        found.add("order/null", order)
        found.add("losses/null", null.path(order))
        found.count(null)
    if extrapolator is not None:
        full = scorer(extrapolator, tokens)
        near = Scorer(extrapolator, tokens[:, -config.recent :], targets, config.recent)
        found.add("extrapolated long", full.long)
        found.add("extrapolated short", near.long)
        found.count(full, near)
    found.count(own)
