"""`EncodingSpec`: the settings of a position encoding, as a frozen dataclass; `build` makes the torch module."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from lengthwise.core.levels import FIXED_LEVEL_IDS
from lengthwise.core.registry import Registry
from lengthwise.positions.encodings.shape import EncodingShape

if TYPE_CHECKING:
    from lengthwise.nn import PositionEncoding, Slots


class EncodingSpec(ABC):
    """The settings of an encoding: what ``--encoding`` and result files name."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    has_table: ClassVar[bool] = False
    """Whether the encoding has a learned row per id, so that ids above ``max_position`` have no meaning."""
    smooth: ClassVar[bool] = True
    """Whether gradients are continuous; where they jump, rounding can change them."""
    uses_ids: ClassVar[bool] = True
    """Whether attention depends on the ids of ``coupled`` levels."""
    translation_invariant: ClassVar[bool] = True
    """Whether attention stays the same when one number is added to all ids."""

    @abstractmethod
    def build(self, shape: EncodingShape) -> PositionEncoding:
        """The torch module, for ids ``[B, T, L]`` of the kinds in ``shape``; imports torch."""

    def slots(self, shape: EncodingShape) -> Slots:
        """The learned vectors of the ``fixed`` levels, which every encoding but `NoPE` adds."""
        from lengthwise import nn

        return nn.Slots(shape.fixed, shape.width, FIXED_LEVEL_IDS)


ENCODINGS: Registry[EncodingSpec] = Registry("encoding", EncodingSpec)
