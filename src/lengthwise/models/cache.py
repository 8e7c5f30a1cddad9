"""The key–value cache of generation."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor


@dataclass
class Cache:
    """Keys, values and ids of the first ``length`` tokens, in buffers of ``capacity`` tokens that never grow."""

    capacity: int
    length: int = 0
    _buffers: dict[str, Tensor] = field(default_factory=dict)

    def extend(self, name: str, new: Tensor, *, axis: int) -> Tensor:
        """Write ``new`` behind the tokens of the buffer ``name``, along ``axis``; returns old and new together.

        Raises `RuntimeError` when they are more than ``capacity``.
        """
        if name not in self._buffers:
            shape = list(new.shape)
            shape[axis] = self.capacity
            self._buffers[name] = new.new_empty(shape)
        buffer, added = self._buffers[name], new.shape[axis]
        buffer.narrow(axis, self.length, added).copy_(new)
        return buffer.narrow(axis, 0, self.length + added)

    def select(self, rows: Tensor) -> None:
        """Keep some rows of the batch only."""
        self._buffers = {name: buffer[rows] for name, buffer in self._buffers.items()}
