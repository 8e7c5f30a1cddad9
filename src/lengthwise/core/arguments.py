"""Checks of the arguments of public functions, for callers in Python: each mistake is one line."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError


def whole(name: str, value: Any, least: int | None = None) -> int:
    """A whole number, of NumPy too; raises `LengthwiseError` for anything else, and below ``least``."""
    try:
        if isinstance(value, bool):
            raise TypeError
        found = operator.index(value)
    except TypeError:
        raise LengthwiseError(f"{name} must be a whole number, got {value!r}") from None
    if least is not None and found < least:
        raise LengthwiseError(f"{name} must be at least {least}, got {found}")
    return found


def whole_numbers(name: str, values: Any, least: int | None = None) -> list[int]:
    """At least one whole number; raises `LengthwiseError` for anything else, and for a number below ``least``."""
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise LengthwiseError(f"{name} must be a list of whole numbers, such as [5, 10], got {values!r}")
    found = [whole(name, value, least) for value in values]
    if not found:
        raise LengthwiseError(f"{name} is empty; give at least one number")
    return found


def number(name: str, value: Any, above: float) -> float:
    """A finite number above ``above``; raises `LengthwiseError` for anything else."""
    try:
        found = math.nan if isinstance(value, str | bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not (math.isfinite(found) and found > above):
        raise LengthwiseError(f"{name} must be a number above {above:g}, got {value!r}")
    return found


def text(name: str, value: Any) -> str:
    """A string; raises `LengthwiseError` for anything else."""
    if not isinstance(value, str):
        raise LengthwiseError(f"{name} must be a string, got {value!r}")
    return value


def names(name: str, values: Any) -> list[str]:
    """A list of strings; raises `LengthwiseError` for anything else, a single string included."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise LengthwiseError(f"{name} must be a list of names, such as ['nope', 'rope'], got {values!r}")
    return [text(f"each of {name}", value) for value in values]


def path(name: str, value: Any) -> Path:
    """A path; raises `LengthwiseError` for anything else."""
    if not isinstance(value, str | os.PathLike):
        raise LengthwiseError(f"{name} must be a path, got {value!r}")
    return Path(value)
