"""A key–value cache without a fixed capacity, with the method that `generate` asks for its length."""

from __future__ import annotations

from torch import Tensor

from lengthwise.models.cache import Cache

SMALLEST = 32
"""Tokens of the first buffers."""


class GrowingCache(Cache):
    """A `Cache` whose buffers double when they are full."""

    is_compileable = False

    def __init__(self) -> None:
        super().__init__(capacity=0)

    def extend(self, name: str, new: Tensor, *, axis: int) -> Tensor:
        """Write ``new`` behind the tokens of the buffer ``name``, along ``axis``; returns old and new together."""
        needed, buffer = self.length + new.shape[axis], self._buffers.get(name)
        if buffer is None or buffer.shape[axis] < needed:
            shape = list(new.shape)
            shape[axis] = max(2 * needed, SMALLEST)
            larger = new.new_empty(shape)
            if buffer is not None:
                larger.narrow(axis, 0, self.length).copy_(buffer.narrow(axis, 0, self.length))
            self._buffers[name] = larger
        return super().extend(name, new, axis=axis)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """The number of tokens in the cache."""
        return self.length
