"""The configuration of an evaluation. It needs no torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pydantic

from lengthwise.core.config import AtLeast0, AtLeast1, PositiveShare, config

LEFT_OUT = {"bins": False, "adversarial": False, "attention": False, "answers": True}
"""The truth value with which a field is not written."""
LONGEST = 1_000_000
"""The longest problem that is measured."""


@config
class EvaluationConfig:
    """Where a trained model is measured, and what counts as fitted.

    ``samples`` strings at each of ``lengths`` (and at each of the task's test layouts there); in distribution,
    ``fit_samples`` strings spread over the training lengths, of which a share of ``fit_threshold`` must be right.
    A model that is not fitted is not measured at long lengths, where its numbers would prove nothing.

    With ``bins``, ranges of lengths such as (51, 100), each gets ``samples`` strings spread over its lengths, and what
    counts as fitted is measured likewise, on all training lengths. ``adversarial`` adds a second, hard set per bin.
    """

    lengths: tuple[AtLeast1, ...] = ()
    samples: AtLeast1 = 200
    fit_samples: AtLeast1 = 400
    fit_threshold: PositiveShare = 0.98
    probe_samples: AtLeast1 = 128
    unfitted_too: bool = False
    """Measure long lengths without a fit as well: for a control that is expected to stay at chance."""

    bins: tuple[tuple[int, int], ...] = ()
    adversarial: bool = False

    attention: AtLeast0 = 0
    """So many strings of each layout are also measured for the attention that predictions pay to their parents."""

    answers: bool = True
    """Also generate the answer behind a wrong trace. It takes most of the time of a test and changes no exact match."""

    @pydantic.model_serializer(mode="wrap")
    def _without_unused(self, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        # Run directories are named by what is written here: without bins they keep the names they had before bins.
        return {name: value for name, value in handler(self).items() if LEFT_OUT.get(name) is not bool(value)}

    def __post_init__(self) -> None:
        longest = max((*self.lengths, *(high for _, high in self.bins)), default=0)
        if longest > LONGEST:
            raise ValueError(f"lengths must be at most {LONGEST}, got {longest}")
        for name in ("lengths", "bins"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise ValueError(f"{name} must differ from one another, got {list(getattr(self, name))}")
        for low, high in self.bins:
            if not 0 <= low <= high:
                raise ValueError(f"a bin is a range of lengths, low to high, got {low} to {high}")
