"""Measures losses with the long context, with the recent part, and with the recent part plus k influential tokens.

After experiment 4 of Golowich et al. 2025 (figure 4); models, selection rules and controls are ours. A window is
``context`` tokens and the target after them. The last ``recent`` tokens are always visible; the others are the block.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.config import fields_of
from lengthwise.core.errors import require
from lengthwise.core.rng import Rng, stream
from lengthwise.influence.measure.config import MeasureConfig
from lengthwise.influence.measure.entries import EntryValues, Pieces, summary, target_entries
from lengthwise.influence.measure.scorer import Scorer
from lengthwise.influence.measure.selection import SELECTION_RULES, SelectionRule

if TYPE_CHECKING:
    from lengthwise.influence.models.language_model import LanguageModel
    from lengthwise.influence.text.windows import Windows

RESULT_FORMAT = 1
"""Version of the result's format."""
CHUNK = 8
"""Number of targets that are measured together."""

OnProgress = Callable[[str, int, int], None]
"""Called with the name of the present part, the amount done and the total."""


def measure(
    model: LanguageModel,
    windows: Windows,
    config: MeasureConfig,
    *,
    chooser: LanguageModel | None = None,
    extrapolator: LanguageModel | None = None,
    others: Int[ndarray, " N"] | None = None,
    pieces: Pieces | None = None,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """Measure ``model`` on N ``windows``; returns JSON values, with losses in nats.

    Every rule chooses with ``model`` and is scored by it. ``cross`` scores the greedy choices of ``chooser`` with
    ``model``. ``null`` replaces the block by that of another document's window (``others``, or a random one), so that
    greedy search finds selection noise only; its R_k is relative to the real gain. ``extrapolation`` holds losses of
    ``extrapolator``, a model trained at a shorter context, at the full context and at the last ``recent`` tokens.
    ``pieces`` gives the texts of target tokens. Raises `LengthwiseError` if models, windows and config are not
    consistent, or a loss is not finite.
    """
    models = {"model": model, "chooser": chooser, "extrapolator": extrapolator}
    for role, one in models.items():
        if one is not None:
            check_fits(one, windows, config, role)
    require(len(windows.tokens) >= 1, "there is no target to measure; choose a longer text")
    others = foreign(windows.documents, stream(config.seed, "null")) if others is None else others
    found = _Measurement(model, chooser, extrapolator, windows, others, config)
    targets, started = len(windows.tokens), time.perf_counter()
    tell = on_progress or (lambda what, done, total: None)
    for first in range(0, targets, CHUNK):
        tell("targets", first, targets)
        found.add_chunk(np.arange(first, min(first + CHUNK, targets)))
    tell("targets", targets, targets)
    values = found.values()
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
    """Name and sizes of a model as JSON values."""
    return {name: getattr(model, name) for name in ("name", "parameters", "max_length", "vocab_size")}


def check_fits(model: LanguageModel, windows: Windows, config: MeasureConfig, role: str = "model") -> None:
    """Raise `LengthwiseError` unless windows, configuration and ``model`` are consistent."""
    width = windows.tokens.shape[1] - 1
    require(
        width == config.context,
        f"windows have {width} tokens of context, the configuration says {config.context}; cut them alike",
    )
    require(
        model.max_length is None or model.max_length >= config.context,
        f"{role} {model.name} takes at most {model.max_length} tokens, not {config.context}; use a smaller context",
    )
    largest = int(windows.tokens.max(initial=0))
    require(
        largest < model.vocab_size,
        f"{role} {model.name} has {model.vocab_size} tokens, the text has token {largest}; use the model's tokenizer",
    )


def foreign(documents: Int[ndarray, " N"], rng: Rng) -> Int[ndarray, " N"] | None:
    """For each of N windows, the index of a random window of another document; None with a single document."""
    if len(np.unique(documents)) < 2:
        return None
    return np.array([rng.choice(np.flatnonzero(documents != own)) for own in documents])


@dataclass
class _Measurement:
    """Collects the losses of all targets, chunk by chunk."""

    model: LanguageModel
    chooser: LanguageModel | None
    extrapolator: LanguageModel | None
    windows: Windows
    others: Int[ndarray, " N"] | None
    config: MeasureConfig
    parts: dict[str, list[ndarray]] = field(default_factory=dict)
    forwards: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.rules = [SELECTION_RULES.build(name) for name in self.config.rules]

    def values(self) -> EntryValues:
        return {name: np.concatenate(parts) for name, parts in self.parts.items()}

    def add_chunk(self, rows: Int[ndarray, " n"]) -> None:
        """Measure the windows ``rows``."""
        tokens, targets = self.windows.tokens[rows, :-1], self.windows.tokens[rows, -1]
        keep_first, recent = self.config.keep_first, self.config.recent
        greedy = SELECTION_RULES.build("greedy")
        own = Scorer(self.model, tokens, targets, recent, keep_first=keep_first)
        used = [own]
        self._add("long", own.long)
        self._add("short", own.short)
        for rule in self.rules:
            self._add_choice(rule.name, self._order(rule, own, rows), own)
        if self.chooser is not None:
            chooser = Scorer(self.chooser, tokens, targets, recent, keep_first=keep_first)
            self._add_choice("cross", self._order(greedy, chooser, rows, "cross"), own)
            used.append(chooser)
        if self.others is not None:
            contexts = tokens.copy()
            contexts[:, own.block] = self.windows.tokens[self.others[rows]][:, own.block]
            # Other tokens under the same ids, so that the control differs in what the block says and in nothing else.
            null = Scorer(self.model, contexts, targets, recent, keep_first=keep_first, ids=own.ids)
            self._add("null long", null.long)
            self._add_choice("null", self._order(greedy, null, rows, "null"), null)
            used.append(null)
        if self.extrapolator is not None:
            full = Scorer(self.extrapolator, tokens, targets, recent, keep_first=keep_first)
            near = Scorer(self.extrapolator, tokens[:, -recent:], targets, recent)
            self._add("extrapolated long", full.long)
            self._add("extrapolated short", near.long)
            used += [full, near]
        self.forwards += sum(scorer.forwards for scorer in used)
        self.seconds += sum(scorer.seconds for scorer in used)

    def _add(self, name: str, values: ndarray) -> None:
        self.parts.setdefault(name, []).append(values)

    def _add_choice(self, name: str, order: Int[ndarray, "n k"], scorer: Scorer) -> None:
        self._add(f"order/{name}", order)
        self._add(f"losses/{name}", scorer.path(order))

    def _order(self, rule: SelectionRule, scorer: Scorer, rows: Int[ndarray, " n"], *names: str) -> Int[ndarray, "n k"]:
        seed = self.config.seed
        return rule.order(scorer, self.config.most, lambda i: stream(seed, rule.name, *names, int(rows[i])))
