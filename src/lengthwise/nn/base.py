"""`PositionEncoding`, the base class of the encodings: hooks that a model calls, each without effect by default.

A model that calls all of them works with every encoding:

* ``x + embed(ids)`` after the token embedding,
* ``rotate(q, ids)`` and ``rotate_keys(k, ids)`` in every layer, before the product of queries and keys,
* ``logits + bias(query_ids, key_ids)`` in every layer, before the softmax; the bias may be made once for all layers,
* ``scores(logits, tokens)`` in every layer, before the softmax, for encodings that depend on the tokens' content. A
  model asks `has_scores` once, and has nothing to do for the other encodings.

``layer(i)`` is the encoding of layer i (the encoding itself, unless it is `LayerEncodings`), and ``window`` the number
of keys that a query sees there.
"""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.nn.score_context import ScoreContext
from lengthwise.nn.slots import Slots


class PositionEncoding(nn.Module):
    """An encoding that leaves attention as it is; subclasses override the hooks that they use.

    ``slots`` adds learned vectors for levels of the ids that hold labels instead of positions; most models have none.
    """

    window: int | None = None
    """A query sees its own token and those before it, this many in all; None: all of them."""
    period: int = 1
    """After how many layers the encodings of the layers repeat."""

    def __init__(self, slots: Slots | None = None) -> None:
        super().__init__()
        self.slots = slots

    def embed(self, ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B T D"] | None:
        """A vector to add to each token's embedding, or None where there is nothing to add."""
        return None if self.slots is None else self.slots(ids)

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        """Queries (and keys, where `rotate_keys` is not overridden), rotated by the ids of their tokens."""
        return x

    def rotate_keys(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        """Keys, rotated by the ids of their tokens; the same as for queries by default."""
        return self.rotate(x, ids)

    def bias(self, queries: Int[Tensor, "B Q *L"], keys: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H Q T"] | None:
        """A number to add to each attention logit (after its division by √d), or None where there is nothing to add."""
        return None

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        """The attention logits (q·k/√d, with no mask yet), changed as a function of the tokens' content."""
        return scores

    def layer(self, index: int) -> PositionEncoding:
        """The encoding of one layer of a model; they count from 0."""
        return self

    @property
    def is_rotary(self) -> bool:
        """Whether the encoding rotates queries and keys."""
        return type(self).rotate is not PositionEncoding.rotate

    @property
    def has_bias(self) -> bool:
        """Whether the encoding adds to the attention logits."""
        return type(self).bias is not PositionEncoding.bias

    @property
    def rotates_keys_alike(self) -> bool:
        """Whether keys are rotated as queries are."""
        return type(self).rotate_keys is PositionEncoding.rotate_keys

    @property
    def has_scores(self) -> bool:
        """Whether the encoding depends on the tokens' content, by `scores`."""
        return type(self).scores is not PositionEncoding.scores
