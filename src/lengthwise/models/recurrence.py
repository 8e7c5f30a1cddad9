"""A layer with another mixer in the place of attention, such as an LSTM."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from lengthwise.models.attention_state import Cache
from lengthwise.nn.recurrence import Mixer


class Recurrence(nn.Module):
    """It takes what `lengthwise.models.transformer.Attention` takes, and sees neither position ids nor masks."""

    def __init__(self, mixer: Mixer) -> None:
        super().__init__()
        self.mixer = mixer

    def forward(
        self, x: Float[Tensor, "B Q D"], context: Any, cache: Cache | None, layer: int
    ) -> Float[Tensor, "B A D"]:
        """The mixed tokens at the context's queries; the state goes on from that in the cache."""
        mixed, state = self.mixer(x, None if cache is None else cache.states.get(layer))
        if cache is not None:
            cache.states[layer] = state
        return mixed[:, context.query_index]
