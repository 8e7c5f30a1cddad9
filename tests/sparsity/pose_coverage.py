"""How many of the offsets possible at a long length PoSE shows at a short one: the table of docs/sparsity.md."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np

from lengthwise.core.rng import Rng
from lengthwise.sparsity.planted.placements import Offsets, Uniform, offset_patterns


def pose_covers(pattern: Offsets, length: int, target: int, chunks: int) -> bool:
    """Whether some PoSE ids give k tokens of a string of ``length`` these id offsets.

    At most chunks - 1 gaps can be stretched, preferably the largest. A stretched gap takes one position, every other
    its full width.
    """
    gaps = sorted(b - a for a, b in pairwise(pattern))
    stretched = min(chunks - 1, len(gaps))
    kept = gaps[: len(gaps) - stretched]
    return pattern[-1] < target and sum(kept) + stretched <= length - 1


@dataclass(frozen=True)
class Coverage:
    """How many of the offset patterns possible at the target length occur at the training length."""

    k: int
    length: int
    target: int
    chunks: int
    covered: int
    patterns: int
    exact: bool

    @property
    def share(self) -> float:
        """The share of covered patterns."""
        return self.covered / self.patterns


def pose_coverage(
    k: int, length: int, target: int, chunks: int, rng: Rng | None = None, samples: int = 20_000
) -> Coverage:
    """Count the covered patterns of k tokens at ``target``: of all C(target - 1, k - 1), or of ``samples`` random ones.

    Without ``rng`` the count is exact, for at most 500,000 patterns. With one chunk there is no
    PoSE.
    """
    number = comb(target - 1, k - 1)
    patterns: Iterable[Offsets]
    if rng is None:
        assert number <= 500_000, f"{number} patterns are too many to list; give rng to sample them"
        patterns, total = offset_patterns(k, target - 1), number
    else:
        # Uniform over patterns: the gaps after position 0 are a uniform (k - 1)-subset of 1..target-1.
        drawn = Uniform(k - 1).sample(samples, target - 1, rng) + 1 if k > 1 else np.zeros((samples, 0), dtype=np.int64)
        patterns, total = ((0, *row) for row in drawn.tolist()), samples
    covered = sum(pose_covers(pattern, length, target, chunks) for pattern in patterns)
    return Coverage(k, length, target, chunks, covered, total, rng is None)
