"""Losses of many windows under many masks, with the work shared that masks leave in common.

Three savings, all exact to rounding: masked tokens are left out (the compact form of `model`), rows of equally many
visible tokens go through the model together, whichever window and mask they belong to, and the model computes its last
layer's output and its logits at the last token only.
"""

from __future__ import annotations

import time
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.influence.model import LanguageModel


class Scorer:
    """The windows of some targets, and their losses under masks.

    ``tokens`` are the contexts, ``targets`` the tokens behind them. The last ``recent`` positions are always visible,
    and so is position 0 with ``keep_first``; the others are the ``block``. ``forwards`` counts the rows that the model
    was given, ``seconds`` the time that it took. Every method raises `LengthwiseError` if a loss is not finite.
    """

    def __init__(
        self,
        model: LanguageModel,
        tokens: Int[ndarray, "N Lbar"],
        targets: Int[ndarray, " N"],
        recent: int,
        *,
        keep_first: bool = False,
    ) -> None:
        self.model, self.tokens, self.targets = model, tokens, targets
        self.context = tokens.shape[1]
        self.block: Int[ndarray, " n"] = np.arange(int(keep_first), self.context - recent)
        self.always: Bool[ndarray, " Lbar"] = np.ones(self.context, dtype=bool)
        self.always[self.block] = False
        self.forwards, self.seconds = 0, 0.0

    def __len__(self) -> int:
        return len(self.tokens)

    def losses(self, rows: Int[ndarray, " R"], visible: Bool[ndarray, "R Lbar"]) -> Float[ndarray, " R"]:
        """The loss of window ``rows[i]``'s target when the tokens ``visible[i]`` can be seen."""
        result = np.empty(len(rows))
        counts = visible.sum(axis=1)
        for count in np.unique(counts):
            alike = np.flatnonzero(counts == count)
            size = max(1, self.model.batch_tokens // int(count))
            for first in range(0, len(alike), size):
                part = alike[first : first + size]
                positions = np.nonzero(visible[part])[1].reshape(len(part), int(count))
                result[part] = self._forward(rows[part], positions)
        return result

    def _forward(self, rows: Int[ndarray, " B"], positions: Int[ndarray, "B T"]) -> Float[ndarray, " B"]:
        started = time.perf_counter()
        found = self.model.target_losses(self.tokens[rows[:, None], positions], positions, self.targets[rows])
        self.seconds += time.perf_counter() - started
        self.forwards += len(rows)
        bad = np.flatnonzero(~np.isfinite(found))
        require(
            not len(bad),
            f"model {self.model.name} gives a loss of {found[bad[0]] if len(bad) else 0} nats; "
            "its weights are damaged, or numbers overflow: use another model",
        )
        return found

    def revealed(self, rows: Int[ndarray, " R"], positions: Int[ndarray, "R m"]) -> Float[ndarray, " R"]:
        """Losses when the block's tokens at ``positions`` are visible besides what always is."""
        visible = np.repeat(self.always[None], len(rows), axis=0)
        np.put_along_axis(visible, positions, True, axis=1)
        return self.losses(rows, visible)

    @cached_property
    def long(self) -> Float[ndarray, " N"]:
        """L_long: everything visible."""
        return self.losses(np.arange(len(self)), np.ones(self.tokens.shape, dtype=bool))

    @cached_property
    def short(self) -> Float[ndarray, " N"]:
        """L_short: nothing of the block visible."""
        rows = np.arange(len(self))
        return self.revealed(rows, np.empty((len(rows), 0), dtype=np.int64))

    @cached_property
    def singles(self) -> Float[ndarray, "N n"]:
        """Losses with one token of the block visible, each in turn."""
        rows = np.repeat(np.arange(len(self)), len(self.block))
        return self.revealed(rows, np.tile(self.block, len(self))[:, None]).reshape(len(self), -1)

    def path(self, order: Int[ndarray, "N k"]) -> Float[ndarray, "N k"]:
        """L_short,sparse(1..k): losses with the first, the first two, … of ``order`` visible."""
        rows = np.arange(len(self))
        return np.stack([self.revealed(rows, order[:, : k + 1]) for k in range(order.shape[1])], axis=1)

    @cached_property
    def attention(self) -> Float[ndarray, "N Lbar"]:
        """Attention of the last token on each when everything is visible."""
        parts = [self.model.attention(self.tokens[part], self._everywhere(part)) for part in self._chunks()]
        return np.concatenate(parts)

    @cached_property
    def gradient_input(self) -> Float[ndarray, "N Lbar"]:
        """−gradient · input of each token when everything is visible."""
        parts = [
            self.model.gradient_input(self.tokens[part], self._everywhere(part), self.targets[part])
            for part in self._chunks()
        ]
        return np.concatenate(parts)

    def _chunks(self) -> list[slice]:
        size = max(1, self.model.batch_tokens // self.context)
        return [slice(first, first + size) for first in range(0, len(self), size)]

    def _everywhere(self, part: slice) -> Int[ndarray, "B Lbar"]:
        return np.tile(np.arange(self.context), (len(self.tokens[part]), 1))
