"""Trains a table head by Adam on the cross-entropy: weights exp(θ) per tuple type, votes softmax(φ).

A string enters through its counts of tuple types, so a step costs two products with the count matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.core.rng import Rng
from lengthwise.sparsity.heads.attention import LocalHead, TupleTypes
from lengthwise.sparsity.planted.planted_correlations import Planted


@dataclass(frozen=True)
class ExpHead:
    """Parameters of a head. ``votes`` fixes g where given (rows of the simplex); otherwise g = softmax(``phi``)."""

    types: TupleTypes
    theta: Float[ndarray, " N"]
    phi: Float[ndarray, "N Y"]
    votes: Float[ndarray, "N Y"] | None = None

    @classmethod
    def flat(cls, types: TupleTypes, classes: int, votes: Float[ndarray, "N Y"] | None = None) -> ExpHead:
        """All weights 1 and all votes uniform."""
        return cls(types, np.zeros(types.size), np.zeros((types.size, classes)), votes)

    @property
    def g(self) -> Float[ndarray, "N Y"]:
        """The votes g, one point of the simplex per tuple type."""
        if self.votes is not None:
            return self.votes
        e = np.exp(self.phi - self.phi.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def table(self) -> LocalHead:
        """The head as a table; the largest weight is scaled to 1, which changes no output."""
        return LocalHead(self.types, np.exp(self.theta - self.theta.max()), self.g)

    def loss(self, counts: Float[ndarray, "B N"], labels: Int[ndarray, " B"]) -> tuple[float, ndarray, ndarray]:
        """Mean of -ln h(X)[y], and its gradients with respect to θ and φ (zero where the votes are fixed).

        With a_i = count_i·exp(θ_i) and Z = Σ a_i: ∂L/∂θ_i = a_i/Z·(1 - g_i[y]/h[y]), and ∂L/∂g_i[y] = -a_i/(Z·h[y]).
        """
        g = self.g
        mass = counts * np.exp(self.theta - self.theta.max())
        share = mass / mass.sum(axis=1, keepdims=True)
        vote = g[:, labels].T
        # A floor keeps the logarithm finite where fixed votes give the label nothing.
        right = np.maximum((share * vote).sum(axis=1), 1e-12)
        ratio = vote / right[:, None]
        d_theta = (share * (1 - ratio)).mean(axis=0)
        d_phi = np.zeros_like(self.phi)
        if self.votes is None:
            pull = -share * ratio / len(labels)
            for y in range(g.shape[1]):
                d_phi[:, y] += pull[labels == y].sum(axis=0)
            d_phi -= pull.sum(axis=0)[:, None] * g
        return float(-np.log(right).mean()), d_theta, d_phi


@dataclass(frozen=True)
class Trained:
    """A trained head and its loss at every step."""

    head: ExpHead
    losses: Float[ndarray, " steps"]


def train(
    head: ExpHead,
    planted: Planted,
    lengths: tuple[int, int],
    rng: Rng,
    *,
    steps: int = 300,
    batch: int = 64,
    rate: float = 0.1,
    watch: Callable[[int, ExpHead], None] | None = None,
) -> Trained:
    """Adam on fresh strings; each step draws one length uniformly from ``lengths`` (both ends included).

    ``watch(step, head)`` is called after every step. Raises `LengthwiseError` on an empty range of lengths.
    """
    low, high = lengths
    require(1 <= low <= high, f"training lengths need 1 <= low <= high, got {low}..{high}")
    moments = [np.zeros_like(head.theta), np.zeros_like(head.phi), np.zeros_like(head.theta), np.zeros_like(head.phi)]
    losses = []
    for step in range(1, steps + 1):
        sample = planted.sample(batch, int(rng.integers(low, high + 1)), rng)
        counts = head.types.counts(sample.tokens).astype(np.float64)
        loss, *gradient = head.loss(counts, sample.labels)
        losses.append(loss)
        moves = []
        for i, slope in enumerate(gradient):
            moments[i] = 0.9 * moments[i] + 0.1 * slope
            moments[2 + i] = 0.99 * moments[2 + i] + 0.01 * slope**2
            mean, square = moments[i] / (1 - 0.9**step), moments[2 + i] / (1 - 0.99**step)
            moves.append(rate * mean / (np.sqrt(square) + 1e-8))
        head = replace(head, theta=head.theta - moves[0], phi=head.phi - moves[1])
        if watch is not None:
            watch(step, head)
    return Trained(head, np.array(losses))
