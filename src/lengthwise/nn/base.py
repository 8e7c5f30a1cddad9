"""`PositionEncoding`, the base class of the encodings: three hooks that a model calls, each without effect by default.

A model that calls all three works with every encoding:

* ``x + embed(ids)`` after the token embedding,
* ``rotate(q, ids)`` and ``rotate(k, ids)`` in every layer, before the product of queries and keys,
* ``logits + bias(query_ids, key_ids)`` in every layer, before the softmax; the bias may be made once for all layers.
"""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.nn.slots import Slots


class PositionEncoding(nn.Module):
    """An encoding that leaves attention as it is; subclasses override the hooks that they use.

    ``slots`` adds learned vectors for levels of the ids that hold labels instead of positions; most models have none.
    """

    def __init__(self, slots: Slots | None = None) -> None:
        super().__init__()
        self.slots = slots

    def embed(self, ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B T D"] | None:
        """A vector to add to each token's embedding, or None where there is nothing to add."""
        return None if self.slots is None else self.slots(ids)

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        """Queries or keys, rotated by the ids of their tokens."""
        return x

    def bias(self, queries: Int[Tensor, "B Q *L"], keys: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H Q T"] | None:
        """A number to add to each attention logit (after its division by √d), or None where there is nothing to add."""
        return None

    @property
    def is_rotary(self) -> bool:
        """Whether the encoding rotates queries and keys."""
        return type(self).rotate is not PositionEncoding.rotate

    @property
    def has_bias(self) -> bool:
        """Whether the encoding adds to the attention logits."""
        return type(self).bias is not PositionEncoding.bias
