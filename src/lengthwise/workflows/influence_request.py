"""The options of `lengthwise influence` in one object."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Request:
    """The options of `lengthwise influence`. Without ``model``, the recipe's pair of ``preset`` is used or trained."""

    model: str | None = None
    chooser: str | None = None
    text: Path | None = None
    dataset: str | None = None
    preset: str = "quick"
    max_length: int | None = None
    length: int | None = None
    """Of the problems, for the model of a task."""
    answer_token: int | None = None
    settings: dict[str, Any] | None = None
    """Fields of `MeasureConfig`; what is missing or None has its default, which for our pair is the recipe's."""
