"""`ScoreContext`: what an encoding that depends on the tokens' content may use, in one layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class ScoreContext:
    """The T tokens so far, those of a cache included, and which Q of them are the queries of the scores.

    ``q`` and ``k`` are those that the model multiplies: normed, rotated and scaled. ``x`` is the input of the layer's
    attention.
    """

    q: Float[Tensor, "B H T d"]
    k: Float[Tensor, "B H T d"]
    x: Float[Tensor, "B T D"]
    ids: Int[Tensor, "B T *L"]
    index: Int[Tensor, " Q"]
    """The queries' places among the tokens."""
    visible: Bool[Tensor, "*rows Q T"]
    """The keys that each query may see: its own token, and those before it that are not hidden."""

    @property
    def queries(self) -> Float[Tensor, "B H Q d"]:
        """The queries of the scores."""
        return self.q[:, :, self.index]

    @property
    def query_ids(self) -> Int[Tensor, "B Q *L"]:
        """The ids of the queries' tokens."""
        return self.ids[:, self.index]

    @staticmethod
    def causal(q: Tensor, k: Tensor, x: Tensor, ids: Tensor) -> ScoreContext:
        """All tokens are queries, and each sees itself and all tokens before it."""
        index = torch.arange(q.shape[2], device=q.device)
        return ScoreContext(q, k, x, ids, index, index[:, None] >= index)


def sum_after(x: Float[Tensor, "*rows T"]) -> Float[Tensor, "*rows T"]:
    """At each key, the sum over it and all keys after it."""
    return x.flip(-1).cumsum(-1).flip(-1)


def at_distance(
    products: Float[Tensor, "B H Q N"], rows: Int[Tensor, "B Q T"] | Int[Tensor, "B H Q T"]
) -> Float[Tensor, "B H Q T"]:
    """For each pair of query and key, the product of the query with the row that belongs to the pair."""
    if rows.ndim == 3:
        rows = rows[:, None].expand(-1, products.shape[1], -1, -1)
    return products.gather(3, rows)
