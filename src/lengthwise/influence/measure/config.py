"""The settings of a measurement. No torch."""

from __future__ import annotations

from lengthwise.core.config import config


@config
class MeasureConfig:
    """What to measure.

    ``context`` (L̄) tokens before each target, of which the last ``recent`` (L) are always visible; ``ks`` are the
    numbers of influential tokens; ``targets`` the number of target tokens. ``keep_first`` leaves position 0 visible
    too (the control for attention sinks); the block then starts at 1. ``bootstrap`` resamples of documents give the
    intervals. Raises `ValueError` on numbers that don't fit together.
    """

    context: int = 128
    recent: int = 64
    ks: tuple[int, ...] = (1, 2, 4, 8, 16)
    targets: int = 200
    selectors: tuple[str, ...] = (
        "greedy",
        "one-shot",
        "gradient-input",
        "attention",
        "surrogate",
        "random",
        "last-k",
    )
    keep_first: bool = False
    seed: int = 0
    bootstrap: int = 1000

    def __post_init__(self) -> None:
        if not 1 <= self.recent < self.context:
            raise ValueError(f"recent must be from 1 to context - 1 = {self.context - 1}, got {self.recent}")
        if not self.ks or min(self.ks) < 1 or list(self.ks) != sorted(set(self.ks)):
            raise ValueError(f"ks must be different numbers of at least 1 in increasing order, got {list(self.ks)}")
        if self.most > self.block:
            raise ValueError(
                f"k = {self.most} influential tokens don't fit into a block of {self.block}; "
                "lower k, or raise context minus recent"
            )
        for name in ("targets", "bootstrap"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if "greedy" not in self.selectors or len(set(self.selectors)) != len(self.selectors):
            raise ValueError(f"selectors must name greedy and none twice, got {list(self.selectors)}")

    @property
    def start(self) -> int:
        """The first position of the block."""
        return int(self.keep_first)

    @property
    def block(self) -> int:
        """Number of tokens that can be masked."""
        return self.context - self.recent - self.start

    @property
    def most(self) -> int:
        """The largest k."""
        return max(self.ks)
