"""Settings of the encoding `local-bias`; its formula is `LocalBias` in `nn/local_bias.py`."""

from __future__ import annotations

from lengthwise.core.bounds import AboveZero, AtLeast0
from lengthwise.positions.encodings.base import ENCODINGS, ModuleSpec


@ENCODINGS.register("local-bias")
class LocalBiasSpec(ModuleSpec):
    """A learned bias per signed distance of near ids; far ids get no attention. Shared by the layers."""

    module = "LocalBias"
    summary = "attention to near ids alone, with a learned bias per signed distance"
    local = True

    window: AtLeast0 = 4
    """The largest distance of ids that attention bridges; at least the task's span (``lengthwise show``)."""
    scale: AboveZero = 12.0
    """How many times faster than its own entries a bias of the table moves under Adam."""
    sink: bool = False
    """Whether tokens without a place (``<bos>``) are seen from everywhere, so that heads can count near tokens."""

    @property
    def label(self) -> str:
        """With its sink."""
        return "local-bias-sink" if self.sink else self.name

    def __post_init__(self) -> None:
        # A token without a place keeps its id when those of all others move.
        object.__setattr__(self, "translation_invariant", not self.sink)


ENCODINGS.alias("local-bias-sink", {"name": "local-bias", "sink": True})
