"""Defines the configuration of a small language model and its presets, without torch."""

from __future__ import annotations

from typing import Any, Literal

from lengthwise.core.bounds import AtLeast2
from lengthwise.core.config import config, from_fields
from lengthwise.core.errors import UnknownNameError
from lengthwise.models.config import ModelConfig
from lengthwise.positions.schemes.base import PositionScheme
from lengthwise.positions.schemes.pose import PoSE
from lengthwise.positions.schemes.sequential import Sequential
from lengthwise.training.config import TrainingConfig


@config
class LMConfig:
    """A decoder with rotary encodings, trained on windows of ``context`` + 1 tokens.

    Scheme ``sequential`` numbers the tokens; scheme ``pose`` draws position ids up to ``target`` (Zhu et al. 2023), so
    that training covers distances beyond the window. ``target`` defaults to ``context``. Raises `ValueError`.
    """

    context: AtLeast2 = 128
    scheme: Literal["sequential", "pose"] = "sequential"
    target: int | None = None
    tokenizer: Literal["bpe", "bytes"] = "bpe"
    vocabulary: int = 1024
    """Largest number of tokens of a BPE tokenizer."""
    layers: int = 2
    heads: int = 4
    width: int = 128
    steps: int = 900
    batch_tokens: int = 1024
    """Predicted tokens per step, at least one window; the number is the same for every context."""
    lr: float = 3e-3
    warmup: int = 50
    weight_decay: float = 0.1
    probe_every: int = 150
    """Steps between checkpoints, and between evaluations on held-out text."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.longest < self.context:
            raise ValueError(f"target must be at least the context, got {self.target} and {self.context}")
        if self.scheme == "sequential" and self.longest > self.context:
            raise ValueError(f"scheme sequential never reaches a target of {self.target}; use pose")
        self.model()
        self.training()

    @property
    def longest(self) -> int:
        """The largest position id in training."""
        return self.context if self.target is None else self.target

    def positions(self) -> PositionScheme:
        """The position scheme of training."""
        return PoSE(max_position=self.longest) if self.scheme == "pose" else Sequential(max_position=self.longest)

    def model(self) -> ModelConfig:
        """The transformer, without a log-length factor, which would depend on the number of masked keys."""
        return ModelConfig(layers=self.layers, heads=self.heads, width=self.width, init="fan_in")

    def training(self) -> TrainingConfig:
        """The training settings, with one group of windows per step."""
        return TrainingConfig(
            max_length=self.context,
            min_length=self.context,
            steps=self.steps,
            batch_size=max(1, self.batch_tokens // self.context),
            groups=1,
            lr=self.lr,
            warmup=self.warmup,
            weight_decay=self.weight_decay,
            probe_every=self.probe_every,
        )


LM_PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"vocabulary": 1024, "layers": 2, "width": 128, "steps": 900, "probe_every": 150},
    "standard": {"vocabulary": 2048, "layers": 4, "width": 128, "steps": 3000, "warmup": 100, "probe_every": 250},
}
"""Sizes for one thread: a pair of models trains in at most 3 (quick) or 30 (standard) minutes."""

LONG, SHORT = 128, 64
"""Contexts of the two models of a pair, in tokens."""


def lm_config(preset: str = "standard", **fields: Any) -> LMConfig:
    """The configuration of a preset, changed by ``fields``; raises `LengthwiseError` for wrong names or values."""
    if preset not in LM_PRESETS:
        raise UnknownNameError("preset", preset, LM_PRESETS)
    return from_fields(LMConfig, LM_PRESETS[preset] | fields, where="language model")


def pair(preset: str = "standard", seed: int = 0) -> tuple[LMConfig, LMConfig]:
    """Two configurations that differ in context only: 128 tokens, and 64 tokens with PoSE ids up to 128."""
    return (
        lm_config(preset, context=LONG, seed=seed),
        lm_config(preset, context=SHORT, scheme="pose", target=LONG, seed=seed),
    )
