"""The configuration of a training run. No torch."""

from __future__ import annotations

from typing import Literal

from lengthwise.core.config import AboveZero, AtLeast0, AtLeast1, NotNegative, ShareBelow1, config


@config
class TrainingConfig:
    """AdamW with warm-up and cosine decay on freshly drawn sequences of mixed lengths.

    A step takes ``groups`` groups of ``batch_size / groups`` sequences; each group has one layout, so nothing is
    padded. ``min_length`` and ``max_length`` bound the training lengths (the task's unit).
    """

    max_length: AtLeast1 = 8
    min_length: AtLeast0 = 1
    steps: AtLeast1 = 1000
    batch_size: AtLeast1 = 64
    groups: AtLeast1 = 4
    lr: AboveZero = 2e-3
    betas: tuple[ShareBelow1, ShareBelow1] = (0.9, 0.98)
    weight_decay: NotNegative = 0.01
    clip: AboveZero = 1.0
    warmup: AtLeast0 = 100
    final_lr: NotNegative = 0.02
    """The learning rate at the end, as a share of ``lr``."""
    decay: Literal["cosine", "linear", "constant"] = "cosine"
    id_loss: NotNegative = 1.0
    """λ of CE(token) + λ·CE(id) under predictive position coupling, for each level."""
    regularizer: NotNegative = 0.0
    """Weight of the positional regularizer (Huang et al. 2025; learned tables only)."""
    precision: Literal["float32", "bf16"] = "float32"
    probe_every: AtLeast1 = 250
    """Steps between measurements in distribution (never at long lengths) and checkpoints."""
    stacked: bool = False
    """All seeds share one schedule of lengths and layouts, so that they can train as one stack (`TransformerStack`)."""
    stop_when_fitted: bool = False
    """Stop at the first probe that meets the fit threshold, instead of after ``steps``."""
    regularizer_normed: bool = False
    """The regularizer measures position vectors as the norm before attention leaves them (RMSNorm only)."""
    progressive: ShareBelow1 = 0.0
    """α of the progressive loss of looped layers: (1 − α) · loss after all loops + α · loss after r + u loops, with
    gradients through the last u only; r and u are drawn at each step (Bansal et al. 2022)."""
    random_loops: AtLeast0 = 0
    """Looped layers run up to so many times more or less often than without it, drawn anew at each step (Kuo et al.
    2026, arXiv 2606.29983: a number of loops that training never varies is tied to the length). The range is ours."""
    curriculum: ShareBelow1 = 0.0
    """The share of the steps during which the longest length of a step grows from the shortest to ``max_length``."""

    priming: ShareBelow1 = 0.0
    """The share of groups that have longer strings, up to ``priming_length`` (Jelassi et al. 2023: 0.1 to 1 %)."""
    priming_length: AtLeast0 = 0
    """With priming: the longest length; these lengths count as trained, but not as in distribution."""

    @property
    def longest(self) -> int:
        """The longest length of any training string."""
        return self.priming_length if self.priming else self.max_length

    def __post_init__(self) -> None:
        if self.min_length > self.max_length:
            raise ValueError(f"min_length must not exceed max_length, got {self.min_length} and {self.max_length}")
        if self.priming and self.priming_length <= self.max_length:
            raise ValueError(f"priming_length must exceed max_length ({self.max_length}), got {self.priming_length}")
        if self.progressive and self.random_loops:
            raise ValueError("progressive and random_loops both draw the number of loops; use one of them")
        if self.batch_size % self.groups:
            raise ValueError(f"batch_size must be a multiple of groups, got {self.batch_size} and {self.groups}")
