"""Ids of one level: tensors ``[B, T]`` have one level, tensors ``[B, T, L]`` have L."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Int
from torch import Tensor

from lengthwise.core.errors import LengthwiseError


def level_indices(levels: int | Sequence[int]) -> tuple[int, ...]:
    """The levels that an encoding uses: the first ``levels`` of them, or those listed."""
    return tuple(range(levels)) if isinstance(levels, int) else tuple(levels)


def on_level(ids: Int[Tensor, "B T *L"], level: int) -> Int[Tensor, "B T"]:
    """The ids of one level; raises IndexError if the ids have fewer levels."""
    return all_levels(ids)[..., level]


def all_levels(ids: Int[Tensor, "B T *L"]) -> Int[Tensor, "B T K"]:
    """The ids with an axis for their levels."""
    return ids if ids.ndim == 3 else ids[..., None]


def add(first: Tensor | None, second: Tensor) -> Tensor:
    """The sum, where None counts as zero."""
    return second if first is None else first + second


def not_none(result: Tensor | None) -> Tensor:
    """The result of an encoding that uses a level; raises `LengthwiseError` if it uses none."""
    if result is None:
        raise LengthwiseError("this encoding uses no level of the ids; give it levels=1 or more")
    return result
