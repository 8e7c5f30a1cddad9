"""What the queries of a call may see."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.models.softmax import causal_mask, mix


@dataclass(frozen=True)
class Sight(ABC):
    """What attention of this call may see: the ids of the new tokens and the log-length factor of their queries.

    ``at`` limits the queries to A of the new tokens; ids are those of all new tokens still.
    """

    ids: Int[Tensor, "B Q L"]
    scale: Float[Tensor, "... A 1"] | None
    at: Int[Tensor, " S"] | slice | None

    @abstractmethod
    def narrowed(self, at: Int[Tensor, " S"] | slice, dtype: torch.dtype) -> Sight:
        """The same for the queries ``at`` only."""

    @abstractmethod
    def attend(
        self, q: Float[Tensor, "B H A d"], k: Float[Tensor, "B K T d"], v: Float[Tensor, "B V T e"], dropout: float
    ) -> Float[Tensor, "B A E"]:
        """What every query takes from the values that it sees, heads side by side.

        Keys and values may have one head for all queries' heads; then ``dropout`` must be 0.
        """

    def attend_projected(
        self, x: Float[Tensor, "B Q 3 H d"], gain: Float[Tensor, "... H 1 1"] | None
    ) -> Float[Tensor, "B Q E"] | None:
        """The same from the joint projection, with QK-norm by its ``gain``, where there is a faster way; or None."""
        del x, gain

    @abstractmethod
    def counts(self) -> tuple[int, int, int]:
        """Queries, keys and pairs of them, of one run or row."""


@dataclass(frozen=True)
class BatchSight(Sight):
    """Of sequences of equal length, whose keys may begin in a cache; ``bias`` is added to the logits."""

    key_ids: Int[Tensor, "B T L"]
    bias: Float[Tensor, "*rows A T"] | None
    causal: bool

    def narrowed(self, at: Int[Tensor, " S"] | slice, dtype: torch.dtype) -> BatchSight:
        """The same for the queries ``at`` only, with the causal mask as a bias."""
        bias = self.bias
        if bias is None and self.causal:
            bias = causal_mask(self.ids.shape[1], self.key_ids.shape[1], self.ids.device, dtype)
        scale = None if self.scale is None else self.scale[..., at, :]
        return BatchSight(self.ids, scale, at, self.key_ids, None if bias is None else bias[..., at, :], False)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, dropout: float) -> Tensor:
        """All sequences at once."""
        return mix(q, k, v, self.bias, self.causal, dropout).transpose(1, 2).flatten(2)

    def counts(self) -> tuple[int, int, int]:
        """Every query meets every key."""
        keys, queries = self.key_ids.shape[1], self.ids.shape[1]
        if self.at is not None:
            queries = len(range(queries)[self.at]) if isinstance(self.at, slice) else len(self.at)
        return queries, keys, queries * keys
