"""`CouplingRule` gives the places of a position coupling at every length.

The tokens of a sequence fall into *segments*: ranges of columns that vary (digits, letters) or are constant (``=``,
``<eos>``). A rule gives token i of a segment the place

    shift + per_length·n + slope·⌊(i + phase) / run⌋,     slope in {-1, 0, 1},

so it extends to every length n. Where the answer has about n/2 or n/3 symbols, ⌊(n + offset) / divisor⌋ stands for n.
Place 0 means no place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pydantic
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import require


class _SizeFormula:
    """Leaves fields that were added later out of JSON while they have their defaults, so that hashes stay the same."""

    @pydantic.model_serializer(mode="wrap")
    def _without_defaults(self, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        added = {"divisor": 1, "offset": 0}
        return {key: value for key, value in handler(self).items() if key not in added or value != added[key]}


@dataclass(frozen=True)
class ColumnRange(_SizeFormula):
    """A segment of a rule: ``⌊(base + per_length·n) / divisor⌋`` neighbouring columns of the prompt or the answer.

    All of them vary, or all are constant.
    """

    base: int
    per_length: int
    in_prompt: bool
    varies: bool
    divisor: int = 1

    def size(self, length: int) -> int:
        """Number of tokens at ``length``."""
        return (self.base + self.per_length * length) // self.divisor

    def describe(self) -> str:
        """Its location and size as text."""
        where, what = "prompt" if self.in_prompt else "answer", "symbols" if self.varies else "constant"
        size = linear(self.base, self.per_length)
        return f"{where}, {size if self.divisor == 1 else f'floor(({size}) / {self.divisor})'} {what}"


@dataclass(frozen=True)
class PlaceFormula(_SizeFormula):
    """place(i) = shift + per_length·⌊(n + offset) / divisor⌋ + slope·⌊(i + phase) / run⌋."""

    shift: int
    per_length: int
    slope: int
    run: int = 1
    phase: int = 0
    offset: int = 0
    divisor: int = 1

    def __call__(self, index: Int[ndarray, "*N"], length: int | ndarray) -> Int[ndarray, "*N"]:
        """Places of tokens by their index in the segment."""
        units = (length + self.offset) // self.divisor
        return self.shift + self.per_length * units + self.slope * ((index + self.phase) // self.run)

    def describe(self) -> str:
        """The formula as text."""
        step = "i" if self.phase == 0 else f"(i + {self.phase})"
        step = step if self.run == 1 else f"floor({step} / {self.run})"
        tail = {0: "", 1: f" + {step}", -1: f" - {step}"}[self.slope]
        whole = linear(self.shift, self.per_length)
        if self.per_length and self.divisor > 1:
            whole = whole.replace("n", f"floor(({linear(self.offset, 1)}) / {self.divisor})")
        return f"place {whole}{tail}"


def linear(base: int, per_length: int) -> str:
    """``base + per_length·n`` as text."""
    if per_length == 0:
        return str(base)
    term = {1: "n", -1: "-n"}.get(per_length, f"{per_length}n")
    return term if base == 0 else f"{term} {'+' if base > 0 else '-'} {abs(base)}"


@dataclass(frozen=True)
class CouplingRule:
    """Places for every length. ``formulas[s]`` is None where segment s gets no place.

    The rule was found from sequences of the ``lengths``.
    """

    segments: tuple[ColumnRange, ...]
    formulas: tuple[PlaceFormula | None, ...]
    lengths: tuple[int, ...]

    def places(self, length: int) -> Int[ndarray, " T"]:
        """The place of every token, prompt and answer, at ``length``; places start at 1, and 0 means none.

        Raises `LengthwiseError` for a length that has no sequence.
        """
        parts = []
        for segment, formula in zip(self.segments, self.formulas, strict=True):
            size = segment.size(length)
            require(size >= 0, f"the coupling has no sequence of length {length}; use {min(self.lengths)} or more")
            # Only tokens on which nothing depends have a place below 1 by the formula.
            parts.append(np.zeros(size, np.int64) if formula is None else formula(np.arange(size), length).clip(0))
        return np.concatenate(parts)

    def describe(self) -> str:
        """The rule as text, one line per segment."""
        lines = []
        for segment, formula in zip(self.segments, self.formulas, strict=True):
            lines.append(f"{segment.describe():<34} {'no place' if formula is None else formula.describe()}")
        return "\n".join(lines)
