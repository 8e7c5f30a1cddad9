"""Sets of test strings for a range of lengths: sampled, enumerated or adversarial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from lengthwise.core.batch import Batch

SetName = Literal["uniform", "enumerated", "adversarial"]
"""``uniform``: drawn like the task draws; ``enumerated``: all strings of these lengths, once; ``adversarial``: hard."""

ROWS = 256
"""The most strings of one batch."""


@dataclass(frozen=True)
class StringSet:
    """Strings in batches of one layout each; a result names the set it was measured on."""

    name: SetName
    batches: Iterator[Batch]


def shares(lengths: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    """(length, number of strings): ``count`` strings spread over the lengths as evenly as whole numbers allow.

    >>> list(shares([51, 52, 53], 4))
    [(51, 1), (52, 1), (53, 2)]
    """
    for index, length in enumerate(lengths):
        number = (index + 1) * count // len(lengths) - index * count // len(lengths)
        if number:
            yield length, number


def chunks(rows: int, most: int = ROWS) -> Iterator[int]:
    """``rows`` in parts of at most ``most``."""
    while rows > 0:
        yield min(rows, most)
        rows -= most
