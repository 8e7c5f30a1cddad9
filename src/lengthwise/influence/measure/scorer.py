"""Computes losses of many windows under many masks, in batches and exact to rounding.

Masked tokens are left out of the input (the compact form of `LanguageModel`), and rows with equal numbers of visible
tokens form batches. A `Sharing` model computes masks that differ in one token faster, which greedy search uses.
"""

from __future__ import annotations

import time
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int, Num
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.influence.models.language_model import LanguageModel, Losses, Sharing, ids_of_windows


class Scorer:
    """The losses of N windows under masks.

    ``tokens`` are the contexts and ``targets`` the tokens after them. The last ``recent`` positions are always visible,
    with ``keep_first`` also position 0; the others are the ``block``. ``ids`` are the position ids of the windows, by
    default those that the model gives them; masks do not change them. ``forwards`` counts rows given to the model, and
    ``seconds`` their time. Every method raises `LengthwiseError` if a loss is not finite.
    """

    def __init__(
        self,
        model: LanguageModel,
        tokens: Int[ndarray, "N Lbar"],
        targets: Int[ndarray, " N"],
        recent: int,
        *,
        keep_first: bool = False,
        ids: Num[ndarray, "N Lbar *levels"] | None = None,
    ) -> None:
        self.model, self.tokens, self.targets = model, tokens, targets
        self.ids = ids_of_windows(model, tokens) if ids is None else ids
        self.context = tokens.shape[1]
        self.block: Int[ndarray, " n"] = np.arange(int(keep_first), self.context - recent)
        self.always: Bool[ndarray, " Lbar"] = np.ones(self.context, dtype=bool)
        self.always[self.block] = False
        self.forwards, self.seconds = 0, 0.0
        self._known: dict[tuple[int, frozenset[int]], float] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def losses(self, rows: Int[ndarray, " R"], visible: Bool[ndarray, "R Lbar"]) -> Float[ndarray, " R"]:
        """The loss of window ``rows[i]`` with the tokens ``visible[i]`` visible, for each i."""
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
        at = (rows[:, None], positions)
        found = self.model.target_losses(self.tokens[at], self.ids[at], self.targets[rows])
        return self._checked(found, started)

    def _checked(self, found: Float[ndarray, " B"], started: float) -> Float[ndarray, " B"]:
        self.seconds += time.perf_counter() - started
        self.forwards += len(found)
        bad = np.flatnonzero(~np.isfinite(found))
        require(
            not len(bad),
            f"model {self.model.name} gives a loss of {found[bad[0]] if len(bad) else 0} nats; "
            "its weights are damaged, or numbers overflow: use another model",
        )
        return found

    def revealed(self, rows: Int[ndarray, " R"], positions: Int[ndarray, "R m"]) -> Float[ndarray, " R"]:
        """Losses with the block's tokens at ``positions`` visible."""
        visible = np.repeat(self.always[None], len(rows), axis=0)
        np.put_along_axis(visible, positions, True, axis=1)
        return self.losses(rows, visible)

    def joined(self, chosen: Int[ndarray, "N s"], added: Int[ndarray, "N n"]) -> Float[ndarray, "N n"]:
        """Losses with ``chosen`` and one token of ``added`` visible, for each token of ``added``."""
        if self._shared is None:
            tried = np.concatenate([np.repeat(chosen[:, None], added.shape[1], axis=1), added[:, :, None]], axis=2)
            rows = np.repeat(np.arange(len(self)), added.shape[1])
            losses = self.revealed(rows, tried.reshape(len(rows), -1)).reshape(added.shape)
        else:
            losses = np.empty(added.shape)
            for row, of_one in enumerate(self._shared):
                started = time.perf_counter()
                visible = np.union1d(np.flatnonzero(self.always), chosen[row])
                losses[row] = self._checked(of_one(visible, added[row]), started)
        for row, before in enumerate(chosen.tolist()):
            for j, loss in zip(added[row].tolist(), losses[row].tolist(), strict=True):
                self._known[row, frozenset((*before, j))] = loss
        return losses

    @cached_property
    def _shared(self) -> list[Losses] | None:
        """Per window, the function from `Sharing.share`; None if the model does not support it."""
        if not isinstance(self.model, Sharing) or not self.model.shares:
            return None
        return [self.model.share(row, int(target)) for row, target in zip(self.tokens, self.targets, strict=True)]

    @cached_property
    def long(self) -> Float[ndarray, " N"]:
        """L_long: losses with the whole context visible."""
        return self.losses(np.arange(len(self)), np.ones(self.tokens.shape, dtype=bool))

    @cached_property
    def short(self) -> Float[ndarray, " N"]:
        """L_short: losses with the block masked."""
        rows = np.arange(len(self))
        return self.revealed(rows, np.empty((len(rows), 0), dtype=np.int64))

    @cached_property
    def singles(self) -> Float[ndarray, "N n"]:
        """Losses with one token of the block visible, for each of its tokens."""
        nothing = np.empty((len(self), 0), dtype=np.int64)
        return self.joined(nothing, np.tile(self.block, (len(self), 1)))

    def path(self, order: Int[ndarray, "N k"]) -> Float[ndarray, "N k"]:
        """L_short,sparse(1..k): losses with the first 1, 2, …, k tokens of ``order`` visible."""
        return np.stack([self._losses_with(order[:, : k + 1]) for k in range(order.shape[1])], axis=1)

    def _losses_with(self, chosen: Int[ndarray, "N m"]) -> Float[ndarray, " N"]:
        """Losses with ``chosen`` visible; losses known from a search are reused."""
        found = np.array([self._known.get((row, frozenset(one)), np.nan) for row, one in enumerate(chosen.tolist())])
        new = np.flatnonzero(np.isnan(found))
        found[new] = self.revealed(new, chosen[new])
        return found

    @cached_property
    def attention(self) -> Float[ndarray, "N Lbar"]:
        """Attention of the last token to each token, with the whole context visible."""
        parts = [self.model.attention(self.tokens[part], self.ids[part]) for part in self._chunks()]
        return np.concatenate(parts)

    @cached_property
    def gradient_input(self) -> Float[ndarray, "N Lbar"]:
        """−gradient · input of each token, with the whole context visible."""
        parts = [
            self.model.gradient_input(self.tokens[part], self.ids[part], self.targets[part]) for part in self._chunks()
        ]
        return np.concatenate(parts)

    def _chunks(self) -> list[slice]:
        size = max(1, self.model.batch_tokens // self.context)
        return [slice(first, first + size) for first in range(0, len(self), size)]
