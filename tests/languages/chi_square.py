"""A chi-square test of uniformity; the p-value (Wilson-Hilferty) is close enough for a test at 0.001."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np


def p_value(words: np.ndarray, number: int) -> float:
    """Probability of counts at least this uneven if all ``number`` possible rows are equally likely."""
    found = np.unique(words, axis=0, return_counts=True)[1]
    assert len(found) <= number, "a word outside the language"
    counts = np.concatenate([found, np.zeros(number - len(found), dtype=found.dtype)])
    expected = len(words) / number
    statistic = float(((counts - expected) ** 2 / expected).sum())
    degrees = number - 1
    deviate = ((statistic / degrees) ** (1 / 3) - (1 - 2 / (9 * degrees))) / sqrt(2 / (9 * degrees))
    return 0.5 * erfc(deviate / sqrt(2))
