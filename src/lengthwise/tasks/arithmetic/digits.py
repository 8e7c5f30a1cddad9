"""Digits: their symbols, numbers from digits and back, and random numbers as columns of digits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def number(text: Sequence[str], base: int) -> int:
    """The number with these digits, least significant first; raises `ValueError` for anything else."""
    value = 0
    for digit in reversed(text):
        if digit not in DIGITS[:base] or len(digit) != 1:
            raise ValueError(f"{digit!r} is no digit of base {base}")
        value = value * base + DIGITS.index(digit)
    return value


def digits_of(value: int, count: int, base: int) -> list[str]:
    """``count`` digits of a number, least significant first; raises `ValueError` if it has more."""
    found = []
    for _ in range(count):
        value, digit = divmod(value, base)
        found.append(DIGITS[digit])
    if value:
        raise ValueError(f"the number has more than {count} digits")
    return found


def carried(columns: np.ndarray, base: int) -> np.ndarray:
    """Digits of numbers whose columns ``[n, B]`` may exceed the base; what overflows at the end is lost."""
    result = np.empty_like(columns)
    carry = np.zeros(columns.shape[1], dtype=columns.dtype)
    for i, column in enumerate(columns):
        carry, result[i] = np.divmod(column + carry, base)
    return result
