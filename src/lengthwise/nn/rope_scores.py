"""`RotaryScores`, the base class of extensions of RoPE that no single rotation of queries and keys can express."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

from jaxtyping import Float, Num
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.nn.content import ContentEncoding
from lengthwise.nn.levels import all_levels
from lengthwise.nn.rope import Rotary, rotated
from lengthwise.nn.score_context import ScoreContext
from lengthwise.nn.slots import Slots


class RotaryScores(ContentEncoding):
    """Keys are cached as they are, and rotated when the logits are made: `rotary` has the frequencies.

    Subclasses say, for the ids of one level, which logits a pair of query and key has.
    """

    def __init__(self, head_width: int, levels: int | Sequence[int], base: float, slots: Slots | None) -> None:
        super().__init__(slots)
        self.rotary = Rotary(head_width, levels, base=base)

    @abstractmethod
    def level_logits(
        self, q: Float[Tensor, "B H Q d"], k: Float[Tensor, "B H T d"], tokens: ScoreContext, level: int
    ) -> Float[Tensor, "B H Q T"]:
        """The logits of one level, times √d; coordinates of other levels are 0 in ``q``."""

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        """The logits of the rotated queries and keys; those of the unrotated ones, ``scores``, are not used."""
        total, q = None, tokens.queries
        for level in self.rotary.levels:
            own = (self.rotary.level_of == level).repeat(2).to(q.dtype)
            part = self.level_logits(q if len(self.rotary.levels) == 1 else q * own, tokens.k, tokens, level)
            total = part if total is None else total + part
        return scores if total is None else total / math.sqrt(q.shape[3])

    def product(
        self,
        q: Float[Tensor, "B H Q d"],
        k: Float[Tensor, "B H T d"],
        q_ids: Num[Tensor, "B Q"],
        k_ids: Num[Tensor, "B T"],
    ) -> Float[Tensor, "B H Q T"]:
        """The product of queries and keys that are rotated by these ids, on all pairs of coordinates."""
        theta = self.rotary.frequencies
        return rotated(q, q_ids[..., None] * theta) @ rotated(k, k_ids[..., None] * theta).mT


def ids_of_level(tokens: ScoreContext, level: int) -> tuple[Tensor, Tensor]:
    """The ids of queries [B, Q] and keys [B, T] on one level."""
    ids = all_levels(tokens.ids)[..., level]
    return ids[:, tokens.index], ids


def check_length(length: int) -> None:
    """Raise `LengthwiseError` unless a trained length is at least 1."""
    require(length >= 1, f"the trained length must be at least 1, got {length}")
