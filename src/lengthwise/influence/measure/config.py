"""Defines the settings of a measurement, without torch."""

from __future__ import annotations

from lengthwise.core.bounds import AtLeast1
from lengthwise.core.config import config


@config
class MeasureConfig:
    """The settings of `measure`.

    Each target has ``context`` (L̄) tokens before it, of which the last ``recent`` (L) are always visible. ``ks`` are
    the numbers of influential tokens. ``keep_first`` keeps position 0 visible, as a control for attention sinks; the
    block then starts at 1. ``bootstrap`` is the number of resamples. Raises `ValueError` for inconsistent numbers.
    """

    context: int = 128
    recent: int = 64
    ks: tuple[int, ...] = (1, 2, 4, 8, 16)
    targets: AtLeast1 = 200
    rules: tuple[str, ...] = ("greedy", "one-shot", "gradient-input", "attention", "surrogate", "random", "last-k")
    keep_first: bool = False
    seed: int = 0
    bootstrap: AtLeast1 = 1000

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
        if "greedy" not in self.rules or len(set(self.rules)) != len(self.rules):
            raise ValueError(f"rules must name greedy and none twice, got {list(self.rules)}")

    @property
    def start(self) -> int:
        """First position of the block."""
        return int(self.keep_first)

    @property
    def block(self) -> int:
        """Number of tokens that can be masked."""
        return self.context - self.recent - self.start

    @property
    def most(self) -> int:
        """The largest k."""
        return max(self.ks)
