"""Seven target functions for the idealized learner; the theory predicts that it settles on five of them."""

from __future__ import annotations

import re

from lengthwise.core.vocab import Symbols
from lengthwise.prediction.idealized import TargetFunction


def majority(word: Symbols) -> bool:
    """More 1s than 0s."""
    return word.count("1") > word.count("0")


def alternating(word: Symbols) -> bool:
    """(ab)*."""
    return re.fullmatch("(ab)*", "".join(word)) is not None


def nested_twice(word: Symbols) -> bool:
    """D_2: balanced brackets (a opens, b closes) of depth at most 2."""
    return re.fullmatch("(a(ab)*b)*", "".join(word)) is not None


def contains_ab(word: Symbols) -> bool:
    """Somewhere b directly follows a."""
    return "ab" in "".join(word)


def even_length(word: Symbols) -> bool:
    """(aa)* over one letter."""
    return len(word) % 2 == 0


def parity(word: Symbols) -> bool:
    """An even number of 1s."""
    return word.count("1") % 2 == 0


def copy_says_a(word: Symbols) -> bool | None:
    """Copying with repetitions: whether a follows ``w # u``, where u is a prefix of w; None for all other words."""
    source, separator, copied = "".join(word).partition("#")
    if not source or not separator or "#" in copied or not source.startswith(copied):
        return None
    return source[len(copied) : len(copied) + 1] == "a"


TARGETS: tuple[TargetFunction, ...] = (
    TargetFunction("binary majority", ("0", "1"), majority, settles=True),
    TargetFunction("(ab)*", ("a", "b"), alternating, settles=True),
    TargetFunction("D_2", ("a", "b"), nested_twice, settles=True),
    TargetFunction("contains ab", ("a", "b"), contains_ab, settles=True),
    TargetFunction("(aa)*", ("a",), even_length, settles=True),
    TargetFunction("parity", ("0", "1"), parity, settles=False),
    TargetFunction("copy with repeats", ("a", "b", "#"), copy_says_a, settles=False),
)
