"""Which k tokens of the block? Rules that answer, from exact greedy search to the controls that it must beat.

A selector sees one model and the targets themselves, so what it gains on the same model is an upper side of the truth;
`measure` scores with another model and with foreign blocks too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from lengthwise.core.config import config
from lengthwise.core.registry import Registry
from lengthwise.core.rng import Rng
from lengthwise.influence.measure.scorer import Scorer
from lengthwise.influence.measure.surrogate import lasso

Draws = Callable[[int], Rng]
"""The random stream of the scorer's i-th target."""


class Selector(ABC):
    """A rule that orders tokens of the block, most influential first."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""

    @abstractmethod
    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        """Positions of the first ``most`` tokens for each target, all different."""


SELECTORS: Registry[Selector] = Registry("selector")


@SELECTORS.register("greedy")
@config
class Greedy(Selector):
    """J_1 lowers the loss most, J_2 most given J_1, …: exact in each step, not the best set of k.

    Takes k·n − k(k − 1)/2 forward passes per target for a block of n tokens. Blind to tokens that help only together.
    """

    summary = "adds the token that lowers the loss most, one after the other"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        """Greedy search; of equally good tokens the first."""
        del draws
        targets, block = len(scorer), scorer.block
        rows = np.arange(targets)
        chosen = block[scorer.singles.argmin(axis=1)][:, None]
        for _ in range(1, most):
            left = np.stack([np.setdiff1d(block, taken) for taken in chosen])
            best = scorer.joined(chosen, left).argmin(axis=1)
            chosen = np.concatenate([chosen, left[rows, best][:, None]], axis=1)
        return chosen


@SELECTORS.register("one-shot")
@config
class OneShot(Selector):
    """The tokens that lower the loss most when each is shown alone: greedy's first round."""

    summary = "the tokens that lower the loss most when shown alone"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        """By the loss of each alone."""
        del draws
        return _best(scorer, -scorer.singles, most)


@SELECTORS.register("gradient-input")
@config
class GradientInput(Selector):
    """−gradient · input at the full context: to first order, how much a token's vector lowers the loss."""

    summary = "the largest products of vector and negative gradient"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        """By the product."""
        del draws
        return _best(scorer, scorer.gradient_input[:, scorer.block], most)


@SELECTORS.register("attention")
@config
class Attention(Selector):
    """The attention of the last token at the full context, mean over layers and heads."""

    summary = "the most attention from the last token"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        """By the mean attention."""
        del draws
        return _best(scorer, scorer.attention[:, scorer.block], most)


@SELECTORS.register("surrogate")
@config
class Surrogate(Selector):
    """A sparse linear model of ln p(target) in which tokens are visible, as ContextCite does (Cohen-Wang et al. 2024).

    ``masks`` random subsets of the block, each token kept with probability ``keep``; Lasso with penalty ``alpha`` on
    standardized values. Tokens are taken by coefficient, those of coefficient 0 by their correlation with ln p.
    ContextCite predicts ln(p / (1 − p)) of whole answers from sentences; tokens and ln p are our choice.
    """

    summary = "a sparse linear fit to losses under random masks"

    masks: int = 64
    keep: float = 0.5
    alpha: float = 0.01

    def __post_init__(self) -> None:
        if self.masks < 2 or not 0 < self.keep < 1 or self.alpha < 0:
            raise ValueError(
                f"a surrogate needs masks >= 2, keep in (0, 1) and alpha >= 0, got {self.masks}, {self.keep} and "
                f"{self.alpha}"
            )

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        """By the Lasso's coefficients."""
        targets, size = len(scorer), len(scorer.block)
        kept = np.stack([draws(i).random((self.masks, size)) < self.keep for i in range(targets)])
        visible = np.repeat(scorer.always[None, None], targets, axis=0).repeat(self.masks, axis=1)
        visible[:, :, scorer.block] = kept
        rows = np.repeat(np.arange(targets), self.masks)
        losses = scorer.losses(rows, visible.reshape(len(rows), -1)).reshape(targets, self.masks)
        coefficients, correlations = lasso(kept.astype(float), -losses, self.alpha)
        keys = [np.lexsort((-correlations[i], -coefficients[i])) for i in range(targets)]
        return scorer.block[np.stack(keys)[:, :most]]


@SELECTORS.register("random")
@config
class Random(Selector):
    """Any tokens of the block: the control that every rule must beat."""

    summary = "any tokens of the block (control)"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        """Without repetition."""
        return np.stack([draws(i).permutation(scorer.block)[:most] for i in range(len(scorer))])


@SELECTORS.register("last-k")
@config
class LastK(Selector):
    """The block's last tokens: the control that says what a slightly longer recent part would give."""

    summary = "the last tokens of the block (control)"

    def order(self, scorer: Scorer, most: int, draws: Draws) -> Int[ndarray, "N k"]:
        """The nearest first."""
        del draws
        return np.tile(scorer.block[::-1][:most], (len(scorer), 1))


def _best(scorer: Scorer, values: Float[ndarray, "N n"], most: int) -> Int[ndarray, "N k"]:
    """The tokens of the largest values, of equal ones the first."""
    return scorer.block[np.argsort(-values, axis=1, kind="stable")[:, :most]]
