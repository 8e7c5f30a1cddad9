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
    """The queries' positions among the tokens."""
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
    def of_last(
        queries: int,
        q: Float[Tensor, "B H T d"],
        k: Float[Tensor, "B H T d"],
        x: Float[Tensor, "B T D"],
        ids: Int[Tensor, "B T *L"],
        mask: Float[Tensor, "*rows Q T"] | None = None,
    ) -> ScoreContext:
        """The last ``queries`` tokens are queries; they see the keys where ``mask`` is 0, or all earlier ones."""
        keys = torch.arange(q.shape[2], device=q.device)
        index = keys[len(keys) - queries :]
        return ScoreContext(q, k, x, ids, index, index[:, None] >= keys if mask is None else mask == 0)


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
