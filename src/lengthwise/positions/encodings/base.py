"""What a position encoding is: how attention hears an id. Three hooks, each a no-op by default.

A *specification* (here, no torch) is a frozen dataclass; `EncodingSpec.build` makes the torch module lazily.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from lengthwise.core.registry import Registry

if TYPE_CHECKING:
    from lengthwise.positions.encodings.modules import PositionEncoding

LevelKind = Literal["coupled", "fixed"]

FIXED_LEVEL_IDS = 16
"""Ids of a ``fixed`` level (child/parent slot and the like) are below this."""


@dataclass(frozen=True)
class EncodingShape:
    """What an encoding must know of the model and the ids: widths, heads, level kinds, largest id."""

    width: int
    heads: int
    head_width: int
    kinds: tuple[LevelKind, ...]
    max_position: int

    @property
    def coupled(self) -> tuple[int, ...]:
        """The levels whose ids carry position; the others are slots."""
        return tuple(level for level, kind in enumerate(self.kinds) if kind == "coupled")

    @property
    def fixed(self) -> tuple[int, ...]:
        """The levels whose id is the place."""
        return tuple(level for level, kind in enumerate(self.kinds) if kind == "fixed")


class EncodingSpec(ABC):
    """The configuration of an encoding."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    has_table: ClassVar[bool] = False
    """Whether ids above ``max_position`` have no meaning to it."""
    translation_invariant: ClassVar[bool] = True
    """Whether adding one number to all ids leaves the attention as it is."""

    @abstractmethod
    def build(self, shape: EncodingShape) -> PositionEncoding:
        """The torch module."""


ENCODINGS: Registry[EncodingSpec] = Registry("encoding")
