"""Defines greedy selection and the other selection rules, which order the block's tokens by influence, and controls.

A rule may use the target itself, so its gain on the same model is biased upwards; `measure` therefore also scores
tokens chosen by another model and in blocks of other documents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from pydantic import Field

from lengthwise.core.bounds import AtLeast2, NotNegative
from lengthwise.core.registry import Registry
from lengthwise.core.rng import Rng
from lengthwise.influence.measure.scorer import Scorer
from lengthwise.influence.measure.surrogate import lasso

Draws = Callable[[int], Rng]
"""Maps i to the random stream of the scorer's i-th target."""


class SelectionRule(ABC):
    """A rule that orders tokens of the block, most influential first."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""

    @abstractmethod
    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        """Positions of the ``most`` most influential tokens of each of N targets, without repetition."""


SELECTION_RULES: Registry[SelectionRule] = Registry("selection rule")


@SELECTION_RULES.register("greedy")
class Greedy(SelectionRule):
    """J_1 lowers the loss most, J_2 lowers it most given J_1, and so on; of equal tokens the first is taken.

    Takes k·n − k(k − 1)/2 forward passes per target for a block of n tokens. Each step is exact, but the set need not
    be the best of its size: greedy search misses tokens that lower the loss only together.
    """

    summary = "adds the token that lowers the loss most, step by step"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        targets, block = len(scorer), scorer.block
        rows = np.arange(targets)
        chosen = block[scorer.singles.argmin(axis=1)][:, None]
        for _ in range(1, most):
            left = np.stack([np.setdiff1d(block, taken) for taken in chosen])
            best = scorer.joined(chosen, left).argmin(axis=1)
            chosen = np.concatenate([chosen, left[rows, best][:, None]], axis=1)
        return chosen


@SELECTION_RULES.register("one-shot")
class OneShot(SelectionRule):
    """The tokens that lower the loss most when each is visible alone: the first step of `Greedy`."""

    summary = "the tokens that lower the loss most when visible alone"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        return _best(scorer, -scorer.singles, most)


@SELECTION_RULES.register("gradient-input")
class GradientInput(SelectionRule):
    """−gradient · input at the full context, a first-order estimate of a token's gain."""

    summary = "the largest products of embedding and negative gradient"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        return _best(scorer, scorer.gradient_input[:, scorer.block], most)


@SELECTION_RULES.register("attention")
class AttentionMass(SelectionRule):
    """The attention of the last token at the full context, averaged over layers and heads."""

    summary = "the most attention from the last token"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        return _best(scorer, scorer.attention[:, scorer.block], most)


@SELECTION_RULES.register("surrogate")
class Surrogate(SelectionRule):
    """A sparse linear model of ln p(target) in the mask, after ContextCite (Cohen-Wang et al. 2024).

    A Lasso with penalty ``alpha`` fits ``masks`` random subsets of the block, which keep each token with probability
    ``keep``. Tokens are ordered by coefficient, and tokens of coefficient 0 by their correlation with ln p. ContextCite
    predicts ln(p / (1 − p)) of answers from sentences.
    """

    summary = "a sparse linear fit to losses under random masks"

    masks: AtLeast2 = 64
    keep: Annotated[float, Field(gt=0, lt=1)] = 0.5
    alpha: NotNegative = 0.01

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        targets, size = len(scorer), len(scorer.block)
        kept = np.stack([draws(i).random((self.masks, size)) < self.keep for i in range(targets)])
        visible = np.repeat(scorer.always[None, None], targets, axis=0).repeat(self.masks, axis=1)
        visible[:, :, scorer.block] = kept
        rows = np.repeat(np.arange(targets), self.masks)
        losses = scorer.losses(rows, visible.reshape(len(rows), -1)).reshape(targets, self.masks)
        coefficients, correlations = lasso(kept.astype(float), -losses, self.alpha)
        keys = [np.lexsort((-correlations[i], -coefficients[i])) for i in range(targets)]
        return scorer.block[np.stack(keys)[:, :most]]


@SELECTION_RULES.register("random")
class Random(SelectionRule):
    """Random tokens of the block, as a control."""

    summary = "random tokens of the block (control)"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        return np.stack([draws(i).permutation(scorer.block)[:most] for i in range(len(scorer))])


@SELECTION_RULES.register("last-k")
class LastK(SelectionRule):
    """The last tokens of the block, as a control: they extend the recent part by k tokens."""

    summary = "the last tokens of the block (control)"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        return np.tile(scorer.block[::-1][:most], (len(scorer), 1))


def _best(scorer: Scorer, values: Float[ndarray, "N n"], most: int) -> Int[ndarray, "N k"]:
    """Positions of the largest values; of equal values the first."""
    return scorer.block[np.argsort(-values, axis=1, kind="stable")[:, :most]]
