"""The configuration of a small language model, and the presets. No torch."""

from __future__ import annotations

from typing import Any, Literal

from lengthwise.core.config import config, from_fields
from lengthwise.core.errors import UnknownNameError
from lengthwise.models.config import ModelConfig
from lengthwise.positions.schemes.base import PositionScheme
from lengthwise.positions.schemes.index_schemes import PoSE, Sequential
from lengthwise.training.config import TrainingConfig


@config
class LMConfig:
    """A decoder with rotary positions, trained on windows of ``context`` tokens (and the one that follows).

    With scheme ``pose`` the ids of a window reach up to ``target`` (Zhu et al. 2023), so that the model hears distances
    that its windows are too short for; ``sequential`` numbers the tokens. ``target`` None is ``context``.
    """

    context: int = 128
    scheme: Literal["sequential", "pose"] = "sequential"
    target: int | None = None
    tokenizer: Literal["bpe", "bytes"] = "bpe"
    vocabulary: int = 1024
    """Most tokens of a bpe tokenizer."""
    layers: int = 2
    heads: int = 4
    width: int = 128
    steps: int = 900
    batch_tokens: int = 1024
    """Predicted tokens of one step (one window at least): models with different contexts see equally many."""
    lr: float = 3e-3
    warmup: int = 50
    weight_decay: float = 0.1
    probe_every: int = 150
    """Steps between checkpoints, and between measurements on held-out text."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.context < 2:
            raise ValueError(f"context must be at least 2, got {self.context}")
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
        """The transformer, without a log-length factor: that counts visible keys, and masks hide some."""
        return ModelConfig(layers=self.layers, heads=self.heads, width=self.width, init="fan_in")

    def training(self) -> TrainingConfig:
        """One group of windows per step."""
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
"""Sizes for one thread: a pair of models takes at most 3 (quick) and 30 (standard) minutes."""

LONG, SHORT = 128, 64
"""The contexts of the pair."""


def lm_config(preset: str = "standard", **fields: Any) -> LMConfig:
    """The configuration of a preset with other ``fields``; raises `LengthwiseError` on a mistake."""
    if preset not in LM_PRESETS:
        raise UnknownNameError("preset", preset, LM_PRESETS)
    return from_fields(LMConfig, LM_PRESETS[preset] | fields, where="language model")


def pair(preset: str = "standard", seed: int = 0) -> tuple[LMConfig, LMConfig]:
    """Two models alike but for their contexts: one of 128 tokens, one of 64 with PoSE up to 128."""
    return (
        lm_config(preset, context=LONG, seed=seed),
        lm_config(preset, context=SHORT, scheme="pose", target=LONG, seed=seed),
    )
