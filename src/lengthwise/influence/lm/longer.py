"""Measures a trained language model's loss by position beyond its context, under each way to extend the context."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from lengthwise.core.errors import UnknownNameError, require
from lengthwise.core.rng import stream
from lengthwise.influence.lm.config import LMConfig
from lengthwise.influence.lm.files import load_lm, read_config
from lengthwise.influence.lm.held_out_loss import losses
from lengthwise.influence.text.corpus import Corpus
from lengthwise.influence.text.text_task import TextTask
from lengthwise.models.extension import extend, extension_methods
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes.sequential import Sequential
from lengthwise.training.further.fine_tune import fine_tune, recalibrate
from lengthwise.training.setup import TaskSetup

PLAIN, WINDOW, DROPPED, TUNED = "none", "window", "drope", "pi, tuned"
FINE_TUNING_LR = 0.3
"""Learning rate of fine-tuning, as a share of that of the training."""


def methods(tuned: bool) -> list[str]:
    """What is compared: RoPE as it is, RoPE with a window, the extensions, and with ``tuned`` those that train."""
    return [PLAIN, WINDOW, *extension_methods(), *([TUNED, DROPPED] if tuned else [])]


@dataclass(frozen=True)
class LongerContexts:
    """The settings of a measurement; ``fine_tuning`` is a number of steps, 0 leaves out what needs training."""

    multiples: tuple[int, ...] = (2, 4, 8)
    windows: int = 64
    fine_tuning: int = 0
    methods: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        require(
            len(self.multiples) > 0 and min(self.multiples) >= 2,
            f"multiples of the context must be 2 or more, got {list(self.multiples)}",
        )
        require(self.windows >= 1, f"windows must be at least 1, got {self.windows}")
        require(self.fine_tuning >= 0, f"fine-tuning steps must be 0 or more, got {self.fine_tuning}")
        for name in self.methods or ():
            if name not in methods(self.fine_tuning > 0):
                raise UnknownNameError("way to extend a context", name, methods(self.fine_tuning > 0))

    @property
    def chosen(self) -> list[str]:
        """The methods in order."""
        return list(self.methods or methods(self.fine_tuning > 0))


def measure_longer(
    folder: Path, corpus: Corpus, settings: LongerContexts, tell: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Losses of the model in ``folder`` on held-out windows of each multiple of its context.

    Each row has the mean loss in nats per token ``within`` the trained context, ``beyond`` it, and over the ``last``
    trained context of the window, and ``by_position``, the mean over each eighth of the trained context. Raises
    `LengthwiseError` if the folder holds no model, or the text no document that is long enough.
    """
    own, tokenizer = load_lm(folder)
    config, _ = read_config(folder)
    train, held_out = TextTask(corpus.train, tokenizer), TextTask(corpus.held_out, tokenizer)
    longest = config.context * max(settings.multiples)
    require(
        held_out.max_length() >= longest,
        f"the longest held-out document has {held_out.max_length() + 1} tokens, and {max(settings.multiples)} times "
        f"the context needs {longest + 1}; give smaller multiples or a longer text",
    )
    windows = held_out.windows(longest, settings.windows, stream(0, "lm", "longer"))
    study = _Study(own.transformer.eval(), config, train, settings.fine_tuning)
    rows = []
    for method in settings.chosen:
        for multiple in settings.multiples:
            if tell is not None:
                tell(f"{method}, {multiple} times the context")
            nats = losses(study.model_for(method, multiple), windows[:, : multiple * config.context + 1])
            rows.append({"method": method, "multiple": multiple, **_summary(nats, config.context)})
    described = {key: list(value) if isinstance(value, tuple) else value for key, value in vars(settings).items()}
    return {"context": config.context, "seed": config.seed, "settings": described, "rows": rows}


@dataclass
class _Study:
    """Models of one language model, made when they are needed."""

    model: Transformer
    config: LMConfig
    train: TextTask
    steps: int

    def __post_init__(self) -> None:
        self.dropped: Transformer | None = None

    def model_for(self, method: str, multiple: int) -> Transformer:
        """The model that reads ``multiple`` times the trained context by ``method``."""
        context = self.config.context
        if method == PLAIN:
            return self.model
        if method == WINDOW:
            made = copy.deepcopy(self.model)
            made.encoding.window = context
            return made
        if method == DROPPED:
            if self.dropped is None:
                self.dropped = recalibrate(self.model, self.data(context), self.short(context), share=1.0)
            return self.dropped
        if method == TUNED:
            longer = extend(self.model, "pi", factor=multiple)
            return fine_tune(longer, self.data(multiple * context), self.short(multiple * context))
        return extend(self.model, method, factor=multiple, length=context)

    def data(self, context: int) -> TaskSetup:
        """Windows of the training text."""
        return TaskSetup(self.train, Sequential(max_position=context), ENCODINGS.build("rope"), self.config.model())

    def short(self, context: int) -> Any:
        """The training settings for a short fine-tuning, with as many tokens in a step."""
        config = dataclasses.replace(self.config, context=context, target=None, scheme="sequential")
        return dataclasses.replace(
            config.training(),
            steps=self.steps,
            warmup=max(1, self.steps // 10),
            lr=FINE_TUNING_LR * self.config.lr,
            probe_every=self.steps,
        )


def _summary(nats: Float[ndarray, "N L"], context: int) -> dict[str, Any]:
    piece = max(1, context // 8)
    starts: Sequence[int] | Int[ndarray, " P"] = np.arange(0, nats.shape[1], piece)
    return {
        "within": float(nats[:, :context].mean()),
        "beyond": float(nats[:, context:].mean()),
        "last": float(nats[:, -context:].mean()),
        "by_position": [round(float(nats[:, start : start + piece].mean()), 4) for start in starts],
    }
