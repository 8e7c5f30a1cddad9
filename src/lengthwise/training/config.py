"""The configuration of a training run. No torch."""

from __future__ import annotations

from typing import Literal

from lengthwise.core.config import config


@config
class TrainingConfig:
    """AdamW with warm-up and cosine decay on freshly drawn sequences of mixed lengths.

    A step takes ``groups`` groups of ``batch_size / groups`` sequences; each group has one layout, so nothing is
    padded. ``min_length`` and ``max_length`` bound the training lengths (the task's unit).
    """

    max_length: int = 8
    min_length: int = 1
    steps: int = 1000
    batch_size: int = 64
    groups: int = 4
    lr: float = 2e-3
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.01
    clip: float = 1.0
    warmup: int = 100
    final_lr: float = 0.02
    """The learning rate at the end, as a share of ``lr``."""
    decay: Literal["cosine", "linear", "constant"] = "cosine"
    id_loss: float = 1.0
    """λ of CE(token) + λ·CE(id) under predictive position coupling, for each level."""
    regularizer: float = 0.0
    """Weight of the positional regularizer (Huang et al. 2025; learned tables only)."""
    precision: Literal["float32", "bf16"] = "float32"
    probe_every: int = 250
    """Steps between measurements in distribution (never at long lengths) and checkpoints."""
    stacked: bool = False
    """All seeds share one schedule of lengths and layouts, so that they can train as one stack (see `parallel`)."""
    stop_when_fitted: bool = False
    """Stop at the first probe that meets the fit threshold, instead of after ``steps``."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "groups", "min_length", "max_length", "probe_every"):
            least = 0 if name == "min_length" else 1
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if self.min_length > self.max_length:
            raise ValueError(f"min_length must not exceed max_length, got {self.min_length} and {self.max_length}")
        if self.batch_size % self.groups:
            raise ValueError(f"batch_size must be a multiple of groups, got {self.batch_size} and {self.groups}")
        for name in ("lr", "clip"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be positive and finite, got {getattr(self, name)}")
        for name in ("warmup", "weight_decay", "id_loss", "regularizer", "final_lr"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be 0 or more and finite, got {getattr(self, name)}")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas must be in [0, 1), got {list(self.betas)}")
