"""What attention may see: masks, and the cache of keys and values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from lengthwise.nn.base import PositionEncoding
from lengthwise.nn.recurrence import State


def causal_mask(queries: int, keys: int, device: torch.device, window: int | None = None) -> Float[Tensor, "Q T"]:
    """Zeros, and −∞ at keys behind the query, when the last key is the last query's own.

    With a ``window`` w, keys w or more positions before the query are masked, too: a query sees w keys at most.
    """
    mask = torch.full((queries, keys), -math.inf, device=device)
    later = mask.triu(1 + keys - queries)
    return later if window is None else later + mask.tril(keys - queries - window)


def mask_keys(
    visible: Bool[Tensor, "B T"], bias: Float[Tensor, "*rows Q T"] | None, queries: int
) -> Float[Tensor, "B H Q T"]:
    """``bias`` (or zeros) with −∞ at hidden keys, except for a token's own query, which must see something."""
    keys = visible.shape[1]
    itself = torch.eye(keys, dtype=torch.bool, device=visible.device)[keys - queries :]
    hidden = ~visible[:, None, None, :] & ~itself
    base = torch.zeros((), device=visible.device) if bias is None else bias
    return base.masked_fill(hidden, -math.inf)


def attention_bias(
    encoding: PositionEncoding, ids: Int[Tensor, "B Q L"], key_ids: Int[Tensor, "B T L"], visible: Tensor | None
) -> Float[Tensor, "... Q T"] | None:
    """What is added to the scores, with −∞ at masked keys; None where nothing is added but a causal mask."""
    queries, keys = ids.shape[1], key_ids.shape[1]
    bias, window = encoding.bias(ids, key_ids), _window(encoding, keys)
    if visible is not None:
        bias = mask_keys(visible, bias, queries)
    if window is not None or (queries > 1 and (bias is not None or keys > queries)):
        mask = causal_mask(queries, keys, key_ids.device, window)
        bias = mask if bias is None else bias + mask
    return bias


def keys_seen(
    encoding: PositionEncoding, queries: int, keys: int, visible: Tensor | None, device: torch.device
) -> Int[Tensor, "... Q"]:
    """How many keys each of the last ``queries`` tokens sees, the same in all sequences unless some are hidden."""
    window = _window(encoding, keys)
    if visible is not None:
        return visible_keys_seen(visible, window)[:, keys - queries :]
    count = torch.arange(keys - queries + 1, keys + 1, device=device)
    return count if window is None else count.clamp(max=window)


def _window(encoding: PositionEncoding, keys: int) -> int | None:
    """The encoding's window where it hides any key."""
    return encoding.window if encoding.window is not None and encoding.window < keys else None


def visible_keys_seen(visible: Bool[Tensor, "B T"], window: int | None = None) -> Int[Tensor, "B T"]:
    """How many keys each token sees where some are hidden; every token sees itself."""
    count = visible.cumsum(1)
    if window is not None:
        count = count - functional.pad(count, (window, 0))[:, : visible.shape[1]]
    return count + ~visible


@dataclass
class Cache:
    """Keys, values and ids of the first ``length`` tokens, in buffers of ``capacity`` tokens that double when full.

    ``states`` has what the layers with other mixers keep of these tokens, by layer.
    """

    capacity: int = 32
    length: int = 0
    states: dict[int, State] = field(default_factory=dict)
    _buffers: dict[str, Tensor] = field(default_factory=dict)

    def extend(self, name: str, new: Tensor, *, axis: int) -> Tensor:
        """Write ``new`` behind the tokens of the buffer ``name``, along ``axis``; returns old and new together."""
        buffer, needed = self._buffers.get(name), self.length + new.shape[axis]
        if buffer is None or buffer.shape[axis] < needed:
            shape = list(new.shape)
            shape[axis] = self.capacity if needed <= self.capacity else 2 * needed
            self._buffers[name] = new.new_empty(shape)
            if buffer is not None:
                self._buffers[name].narrow(axis, 0, self.length).copy_(buffer.narrow(axis, 0, self.length))
        self._buffers[name].narrow(axis, self.length, new.shape[axis]).copy_(new)
        return self._buffers[name].narrow(axis, 0, needed)

    @property
    def numbers(self) -> int:
        """How many numbers a sequence has in the cache, without its ids."""
        kept = [buffer for name, buffer in self._buffers.items() if name != "ids"]
        return sum(part[0].numel() for part in [*kept, *(part for state in self.states.values() for part in state)])

    def select(self, rows: Tensor) -> None:
        self._buffers = {name: buffer[rows] for name, buffer in self._buffers.items()}
        self.states = {layer: tuple(part[rows] for part in state) for layer, state in self.states.items()}
