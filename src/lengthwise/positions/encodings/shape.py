"""`EncodingShape`: the sizes of a model and of its ids that an encoding is built for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from lengthwise.core.errors import require
from lengthwise.core.levels import LevelKind


@dataclass(frozen=True)
class EncodingShape:
    """Width of the model, number and width of its heads, kinds of the id levels, and the largest id."""

    width: int
    heads: int
    head_width: int
    kinds: tuple[LevelKind, ...]
    max_position: int

    def __post_init__(self) -> None:
        known = get_args(LevelKind)
        require(set(self.kinds) <= set(known), f"a level of places or ids is one of {known}, got {self.kinds}")

    @property
    def position_levels(self) -> tuple[int, ...]:
        """The levels whose ids are positions."""
        return tuple(level for level, kind in enumerate(self.kinds) if kind == "position")

    @property
    def label_levels(self) -> tuple[int, ...]:
        """The levels whose ids are labels (slots): the places themselves."""
        return tuple(level for level, kind in enumerate(self.kinds) if kind == "label")
