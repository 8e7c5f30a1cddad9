"""The key–value cache of generation."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor


@dataclass
class Cache:
    """Keys and values of the tokens so far, in buffers of ``capacity`` tokens that never grow."""

    capacity: int
    length: int = 0
    keys: list[Tensor] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)
    ids: Tensor | None = None
    pointers: list[Tensor] = field(default_factory=list)

    def extend(self, name: str, new: Tensor, *, layer: int | None = None, axis: int) -> Tensor:
        """Write ``new`` behind what the buffer holds; returns all of it so far."""
        buffer = self._buffer(name, new, layer, axis)
        end = self.length + new.shape[axis]
        buffer.narrow(axis, self.length, new.shape[axis]).copy_(new)
        return buffer.narrow(axis, 0, end)

    def _buffer(self, name: str, new: Tensor, layer: int | None, axis: int) -> Tensor:
        store = getattr(self, name)
        missing = store is None if layer is None else len(store) <= layer
        if missing:
            shape = list(new.shape)
            shape[axis] = self.capacity
            fresh = new.new_empty(shape)
            if layer is None:
                setattr(self, name, fresh)
            else:
                store.append(fresh)
        store = getattr(self, name)
        return store if layer is None else store[layer]

    def select(self, rows: Tensor) -> None:
        """Keep some rows of the batch only."""
        self.keys = [keys[rows] for keys in self.keys]
        self.values = [values[rows] for values in self.values]
        self.ids = None if self.ids is None else self.ids[rows]
        self.pointers = [keys[rows] for keys in self.pointers]
