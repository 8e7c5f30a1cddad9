"""Counts of right strings and tokens at one length, without torch."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class LengthScore:
    """How many of ``n`` strings were right, by metric.

    Metrics: ``exact_match`` (all generated tokens and ``<eos>``, free-running), ``exact_match_ids`` (and all ids),
    ``oracle_ids`` (tokens, with the right ids given: the ceiling), ``answer`` (the answer without the trace: the last
    tokens before ``<eos>`` where there is a trace, otherwise the answer's own columns). ``tokens``
    counts scored tokens that are right after a right prefix, of ``tokens_total``. ``first_error`` counts strings by
    what goes wrong first: ``token``, ``id``, ``both``, ``eos`` (stopping too early or too late).
    """

    length: int
    axes: dict[str, int] = field(default_factory=dict)
    n: int = 0
    correct: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    tokens_total: int = 0
    first_error: Counter[str] = field(default_factory=Counter)
    first_error_at: list[int] = field(default_factory=list)
    """Generated tokens before the first error, for each string that has one."""
    not_finite: int = 0
    """Strings in which a logit of a scored token is NaN or infinite. They are wrong, and by no wrong answer."""
    test_set: str = ""
    """Which strings a bin was measured on: uniform, enumerated or adversarial; empty for a single length."""

    def rate(self, metric: str = "exact_match") -> float:
        return self.correct[metric] / self.n

    def __add__(self, other: LengthScore) -> LengthScore:
        return LengthScore(
            max(self.length, other.length),
            self.axes if self.axes == other.axes else {},
            self.n + other.n,
            _sum(self.correct, other.correct),
            self.tokens + other.tokens,
            self.tokens_total + other.tokens_total,
            _sum(self.first_error, other.first_error),
            self.first_error_at + other.first_error_at,
            self.not_finite + other.not_finite,
            self.test_set if self.test_set == other.test_set else "",
        )

    def to_json(self) -> dict[str, Any]:
        """Counts, with the rate of exact matches beside them for people."""
        return {
            "length": self.length,
            "axes": self.axes,
            "n": self.n,
            "exact_match": self.rate(),
            "correct": dict(self.correct),
            "tokens": self.tokens,
            "tokens_total": self.tokens_total,
            "first_error": dict(self.first_error),
            "first_error_at": sorted(self.first_error_at),
            **({"not_finite": self.not_finite} if self.not_finite else {}),
            **({"test_set": self.test_set} if self.test_set else {}),
        }


def _sum(first: Counter[str], second: Counter[str]) -> Counter[str]:
    """Counts added; unlike ``+``, it keeps a metric whose count is 0: "none right" is a result, not a gap."""
    result = Counter(first)
    result.update(second)
    return result


def total(scores: Iterable[LengthScore]) -> LengthScore:
    """The sum of several scores; an empty score for none."""
    found = list(scores)
    return functools.reduce(operator.add, found) if found else LengthScore(0)
