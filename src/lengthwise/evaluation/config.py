"""The configuration of an evaluation. No torch."""

from __future__ import annotations

from lengthwise.core.config import config


@config
class EvaluationConfig:
    """Where a trained model is measured, and what counts as fitted.

    ``samples`` strings at each of ``lengths`` (and at each of the task's test layouts there); in distribution,
    ``fit_samples`` strings spread over the training lengths, of which a share of ``fit_threshold`` must be right.
    A model that is not fitted is not measured at long lengths: its numbers there would prove nothing.
    """

    lengths: tuple[int, ...] = ()
    samples: int = 200
    fit_samples: int = 400
    fit_threshold: float = 0.98
    probe_samples: int = 128
    unfitted_too: bool = False
    """Measure long lengths without a fit as well: for a control that is expected to stay at chance."""

    def __post_init__(self) -> None:
        for name in ("samples", "fit_samples", "probe_samples"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if any(length < 1 for length in self.lengths):
            raise ValueError(f"lengths must be at least 1, got {min(self.lengths)}")
        if not 0 < self.fit_threshold <= 1:
            raise ValueError(f"fit_threshold must be in (0, 1], got {self.fit_threshold}")
