"""Which positional relations can products of learned position vectors extrapolate (after Huang et al. 2025, G.2)?

Vectors p_1 … p_200 and matrices W_Q, W_K are fitted so that p_iᵀ W_Qᵀ W_K p_j equals 0 or 2 ln 50 by a relation of i
and j, on windows of 50 positions at random offsets; the error is then measured on windows of 50, 100 and 150. Every
pair of neighbouring vectors is trained; what is new in long windows is the distance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy import ndarray

import lengthwise as lw

SUMMARY = "products of learned positions: local relations extrapolate at large width, periodic ones at small"

POSITIONS, TRAINED, LENGTHS = 200, 50, (50, 100, 150)
TARGET = 2 * math.log(50)
WIDTHS = (32, 256)
PENALTY, LEARNING_RATE, WINDOWS = 0.01, 1e-3, 64

EXTRAPOLATES_BELOW = 4.0
"""Mean squared error on windows of 150, which must also be below that of answering 0 everywhere. In the published table
the largest error of a relation that is said to extrapolate is 3.1; of one that is said to fail the smallest is 4.7,
but for j = i-25 at width 32, where 1.07 is worse than answering 0 (0.68)."""

_STEPS: dict[str, dict[int, int]] = {
    "quick": {32: 4000, 256: 1000},
    "standard": {32: 15_000, 256: 15_000},
    "full": {32: 15_000, 256: 15_000},
}
"""The published number is 15,000; at width 256 the fit is complete long before."""

RelationKind = Literal["local", "periodic", "neither", "union"]


@dataclass(frozen=True)
class PairRelation:
    """A relation of query i and key j through their distance i − j; ``published`` is its key in the published table."""

    name: str
    kind: RelationKind
    holds: Callable[[ndarray], ndarray]
    published: str

    @property
    def extrapolates(self) -> dict[int, bool]:
        """What the paper observes, by width."""
        return {WIDTHS[0]: self.kind == "periodic", WIDTHS[1]: self.kind == "local"}


def _prime(distance: ndarray) -> ndarray:
    primes = [n for n in range(2, POSITIONS) if all(n % divisor for divisor in range(2, math.isqrt(n) + 1))]
    return np.isin(distance, primes)


def relations(preset: str) -> tuple[PairRelation, ...]:
    """Two of each kind, or all of the table (its unions apart)."""
    local = [PairRelation(f"j = i-{c}", "local", lambda d, c=c: d == c, f"j=i-c c={c}") for c in (1, 5, 25)]
    near = [PairRelation(f"j > i-{c}", "local", lambda d, c=c: d < c, f"j>i-c c={c}") for c in (2, 5, 25)]
    periodic = [
        PairRelation(
            f"i-j mod {m} = {r}", "periodic", lambda d, m=m, r=r: d % m == r, f"(i-j)=c_2 mod c_1 c_1={m}, c_2={r}"
        )
        for m, r in ((3, 0), (5, 0), (3, 2), (5, 2))
    ]
    far = [PairRelation(f"j < i-{c}", "neither", lambda d, c=c: d > c, f"j<i-c c={c}") for c in (0, 5, 25)]
    prime = PairRelation("i-j prime", "neither", _prime, "i-j is prime")
    if preset == "quick":
        return (local[0], near[1], periodic[0], periodic[3], far[1], prime)
    return (*local, *near, *periodic, *far, prime)


@lw.study("positional-products", SUMMARY)
def positional_products(preset: str, seed: int, report: lw.experiments.events.Report) -> dict[str, Any]:
    """One row per relation and width: our errors, the published ones, and whether each extrapolates."""
    return fitted_relations(relations(preset), preset, seed, report)


def fitted_relations(
    chosen: tuple[PairRelation, ...], preset: str, seed: int, report: lw.experiments.events.Report
) -> dict[str, Any]:
    """The result of a study of these relations, all fitted at both widths."""
    steps = _STEPS[preset]
    total = sum(steps.values())
    theirs = published()
    rows = []
    for width in WIDTHS:
        before = sum(steps[other] for other in WIDTHS if other < width)
        errors = fit(
            [relation.holds for relation in chosen],
            width,
            steps[width],
            seed,
            lambda done, width=width, before=before: report(f"d = {width}", before + done, total),
        )
        for relation, values in zip(chosen, errors, strict=True):
            rows.append(
                {
                    "relation": relation.name,
                    "kind": relation.kind,
                    "width": width,
                    "errors": dict(zip(map(str, LENGTHS), values, strict=True)),
                    "published": dict(zip(map(str, LENGTHS), theirs[relation.published][f"d{width}"], strict=True)),
                    "always_zero": zero_error(relation, LENGTHS[-1]),
                    "extrapolates": extrapolates(relation, values[-1]),
                    "expected": relation.extrapolates[width],
                }
            )
    return {"steps": {str(width): count for width, count in steps.items()}, "rows": rows}


def extrapolates(relation: PairRelation, error: float) -> bool:
    """Whether an error on the longest windows counts as having learned the relation."""
    return error < min(EXTRAPOLATES_BELOW, zero_error(relation, LENGTHS[-1]))


def zero_error(relation: PairRelation, length: int) -> float:
    """The mean squared error of answering 0 everywhere: what a rare relation's error has to be compared with."""
    distance = np.arange(length)
    pairs = length - distance
    return float(TARGET**2 * (pairs * relation.holds(distance)).sum() / pairs.sum())


def published() -> dict[str, dict[str, list[float]]]:
    """The table of Huang et al. 2025, appendix G.2: mean squared errors at 50, 100, 150 by relation and width."""
    text = Path(__file__).with_name("huang_g2.json").read_text(encoding="utf-8")
    return json.loads(text)["rows"]


def fit(
    relations: list[Callable[[ndarray], ndarray]],
    width: int,
    steps: int,
    seed: int,
    report: Callable[[int], None] = lambda done: None,
) -> list[list[float]]:
    """Fit all relations side by side (independent parameters); mean squared errors on windows of each length."""
    import torch

    generator = torch.Generator().manual_seed(int(lw.stream(seed, "positional-products", width).integers(2**62)))
    count = len(relations)
    index = torch.arange(POSITIONS)
    distance = index[:, None] - index[None, :]
    target = torch.stack([torch.from_numpy(holds(distance.numpy())) for holds in relations]).float() * TARGET

    def drawn(rows: int, reach: float) -> torch.Tensor:
        values = (torch.rand(count, rows, width, generator=generator) * 2 - 1) * reach
        return values.requires_grad_()

    vectors, query, key = drawn(POSITIONS, 1.0), drawn(width, width**-0.5), drawn(width, width**-0.5)
    optimizer = torch.optim.Adam([vectors, query, key], lr=LEARNING_RATE)

    def logits() -> torch.Tensor:
        return (vectors @ query) @ (vectors @ key).mT

    for step in range(steps):
        weights = pair_weights(torch.randint(POSITIONS - TRAINED + 1, (WINDOWS,), generator=generator), distance)
        error = ((logits() - target).square() * weights).sum((1, 2)) / weights.sum()
        penalty = sum(part.square().mean((1, 2)) for part in (vectors, query, key))
        loss = (error + PENALTY * penalty).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 99:
            report(step + 1)
    with torch.no_grad():
        squares = (logits() - target).square()
        result = []
        for length in LENGTHS:
            weights = pair_weights(torch.arange(POSITIONS - length + 1), distance, length)
            result.append((squares * weights).sum((1, 2)) / weights.sum())
        return torch.stack(result, dim=1).tolist()


def pair_weights(offsets: Any, distance: Any, length: int = TRAINED) -> Any:
    """How many windows [o, o + length) hold both i and j <= i, as ``[positions, positions]``.

    The mean over pairs and windows is the weighted mean over pairs, so windows need not be cut out one by one.
    """
    import torch

    starts = torch.bincount(offsets, minlength=POSITIONS).cumsum(0).float()
    before = torch.cat([torch.zeros(length), starts])[:POSITIONS]  # windows that end at or before i
    weights = starts[None, :] - before[:, None]
    return torch.where((distance >= 0) & (distance < length), weights, torch.zeros(()))
