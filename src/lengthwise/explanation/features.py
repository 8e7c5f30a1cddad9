"""Which strings fail: the simplest feature of a string that tells failing from right ones, on strings held out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from lengthwise.core.config import config
from lengthwise.core.rng import stream

WANTED = 0.95
"""A feature is told if its balanced accuracy on held-out strings is at least this."""
LEAST = 8
"""Strings of either kind that are held out, at least."""
CLOSE = 0.01
"""A simpler feature is taken if it is at most this much worse than the best."""
MOST_SYMBOLS = 12
"""With more symbols than this, only features of whole strings are tried."""
Symbols = tuple[str, ...]


@config
class Feature:
    """Failing strings are those whose feature is on one side of a threshold; counts are of held-out strings."""

    name: str
    above: bool
    threshold: int
    failing: int
    failing_told: int
    right: int
    right_told: int
    sentence: bool = False
    """Whether the name says what holds, so that there is no threshold to name."""

    @property
    def balanced(self) -> float:
        """The mean of the shares of failing and of right strings that it tells."""
        return (self.failing_told / self.failing + self.right_told / self.right) / 2

    @property
    def line(self) -> str:
        """The feature in one sentence."""
        side = f" is above {self.threshold}" if self.above else f" is at most {self.threshold}"
        if self.sentence:
            side = "" if self.above else " does not hold"
        return (
            f"{self.name}{side}: {self.failing_told} of {self.failing} failing strings, and not {self.right_told} "
            f"of {self.right} right ones, held out (balanced accuracy {self.balanced:.2f})"
        )


def longest_run(string: Symbols, only: str | None = None) -> int:
    """The length of the longest run of one symbol."""
    runs = (len(list(group)) for symbol, group in itertools.groupby(string) if only in (None, symbol))
    return max(runs, default=0)


def smallest_period(string: Symbols) -> int:
    """The smallest p with each symbol equal to the one p before it."""
    return next((p for p in range(1, len(string)) if string[p:] == string[:-p]), len(string))


def features_of(symbols: Sequence[str]) -> Iterator[tuple[str, Callable[[Symbols], int]]]:
    """The features that are tried, simplest first."""
    yield "the length", len
    if few := len(symbols) <= MOST_SYMBOLS:
        for s in symbols:
            yield f"the number of {s}", lambda string, s=s: string.count(s)
    yield "the longest run of one symbol", longest_run
    for s in symbols if few else ():
        yield f"the longest run of {s}", lambda string, s=s: longest_run(string, s)
        yield (
            f"the position of the last {s}",
            lambda string, s=s: len(string) - string[::-1].index(s) if s in string else 0,
        )
    for s, first in itertools.permutations(symbols, 2) if few else ():
        yield (
            f"the number of {s} after the first {first}",
            lambda string, s=s, first=first: string[string.index(first) :].count(s) if first in string else 0,
        )
    yield "the smallest period", smallest_period


def telling_feature(
    strings: Mapping[Symbols, bool], seed: int, holds: Mapping[str, Callable[[Symbols], bool]] | None = None
) -> Feature | None:
    """The simplest feature with a threshold that tells failing from right strings; None if none does well enough.

    It is chosen on one half of the strings and scored on the other. ``strings`` says which are right, ``holds`` has
    what else a string may be, tried after the features of all strings.
    """
    rng, halves = stream(seed, "explain", "features"), ([], [])
    for kind in (True, False):
        group = [string for string, right in strings.items() if right == kind]
        for number, index in enumerate(rng.permutation(len(group)).tolist()):
            halves[number % 2].append(group[index])
    known, held = ([(string, not strings[string]) for string in half] for half in halves)
    failing = sum(fails for _, fails in held)
    if min(failing, len(held) - failing) < LEAST:
        return None
    fails, found, holds = np.array([fails for _, fails in known]), [], holds or {}
    usual = features_of(sorted({symbol for string in strings for symbol in string}))
    for name, value in itertools.chain(usual, holds.items()):
        values = np.array([int(value(string)) for string, _ in known])
        for threshold in np.unique(values)[:-1].tolist():
            share = ((values > threshold) & fails).sum() / fails.sum() + ((values <= threshold) & ~fails).sum() / (
                ~fails
            ).sum()
            found.append((max(share, 2 - share) / 2, name, value, bool(share >= 1), threshold))
    most = max((score for score, *_ in found), default=0)
    if most < WANTED:
        return None
    name = next(name for score, name, *_ in found if score >= most - CLOSE)
    _, name, value, above, threshold = max((each for each in found if each[1] == name), key=lambda each: each[0])
    told = [((value(string) > threshold) == above) == fails for string, fails in held]
    both = [sum(ok for ok, (_, fails) in zip(told, held, strict=True) if fails == kind) for kind in (True, False)]
    feature = Feature(name, above, threshold, failing, both[0], len(held) - failing, both[1], name in holds)
    return feature if feature.balanced >= WANTED else None
