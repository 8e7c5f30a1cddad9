"""Estimates which earlier tokens each predicted token depends on, from examples alone.

A token enters the set D when its conditional mutual information with the predicted token, given D, exceeds that of
permutations within the cells of D. Where no single token does (a sum modulo m is independent of each summand), pairs
are tried. Earlier answer tokens are candidates, too. Dependences that only show in three or more tokens at once are
not found; their tokens are ``unresolved``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.core.rng import Rng
from lengthwise.sparsity.coupling.dependence import Dependencies


@dataclass(frozen=True)
class DataOptions:
    """Settings of the estimate.

    A test compares with ``permutations`` and passes at ``sigmas`` of their standard deviations above their mean. A set
    explains a token if at most a share ``conflicts`` of the example pairs that agree on the set differ in the token.
    Pairs of tokens are screened on ``screening`` examples.
    """

    permutations: int = 20
    sigmas: float = 6.0
    conflicts: float = 0.002
    screening: int = 4000


def dependencies_from_data(
    examples: Sequence[Sequence[str]] | Int[ndarray, "N T"],
    prompt_length: int,
    length: int,
    rng: Rng,
    options: DataOptions | None = None,
) -> Dependencies:
    """Estimate the parents of every answer token from examples (prompt and answer together) of one length.

    Examples are token strings, or token ids as in ``Batch.input_ids``; examples with another number of tokens than the
    first are skipped. Many examples compared with |V|^k are needed: about 20,000 for sums of decimal digits (k = 5),
    2,000 for bits. Raises `LengthwiseError` for fewer than 50.
    """
    options = options or DataOptions()
    kept = [e for e in examples if len(e) == len(examples[0])]
    require(len(kept) >= 50, f"dependencies from data need 50 examples or more, got {len(kept)}; give more")
    table = np.array([list(e) for e in kept])
    columns = [np.unique(table[:, t], return_inverse=True)[1].astype(np.int64) for t in range(table.shape[1])]
    varies = tuple(bool(c.any()) for c in columns)
    parents: list[tuple[int, ...]] = []
    unresolved = []
    for target in range(prompt_length, len(columns)):
        found, explained = (), True
        if varies[target]:
            # The most recent candidate first, so that ties go to it.
            candidates = [t for t in range(target - 1, -1, -1) if varies[t]]
            found, explained = _Search(columns, target, candidates, rng, options).run()
        parents.append(found)
        if not explained:
            unresolved.append(target - prompt_length)
    return Dependencies(length, prompt_length, tuple(parents), varies, tuple(unresolved), len(kept))


class _Search:
    """Forward selection and backward elimination for one target."""

    def __init__(
        self, columns: list[ndarray], target: int, candidates: list[int], rng: Rng, options: DataOptions
    ) -> None:
        self.columns, self.candidates, self.rng, self.options = columns, candidates, rng, options
        self.y = columns[target]

    def run(self) -> tuple[tuple[int, ...], bool]:
        """The selected set, and whether it explains the target."""
        selected: list[int] = []
        while self.conflicts(selected) > self.options.conflicts:
            more = self.best_single(selected) or self.best_pair(selected)
            if not more:
                break
            selected += more
        for token in list(selected):
            rest = [t for t in selected if t != token]
            if self.conflicts(rest) <= self.options.conflicts and not self.informative([token], rest):
                selected = rest
        return tuple(sorted(selected)), self.explained(selected)

    def explained(self, selected: list[int]) -> bool:
        """Whether pairs that agree on ``selected`` exist and differ in the target at most at the rate ``conflicts``."""
        group = _cells([self.columns[t] for t in selected], len(self.y))
        return len(np.unique(group)) < len(group) and self.conflicts(selected) <= self.options.conflicts

    def conflicts(self, selected: list[int]) -> float:
        """Share of the pairs agreeing on ``selected`` that differ in the target; 0 if none agree."""
        group = _cells([self.columns[t] for t in selected], len(self.y))
        pairs = _pairs(np.bincount(group))
        same = _pairs(np.bincount(_cells([group, self.y], len(self.y))))
        return 0.0 if pairs == 0 else 1 - same / pairs

    def best_single(self, selected: list[int]) -> list[int]:
        """The token with the most information given ``selected``, if the permutation test passes."""
        group = _cells([self.columns[t] for t in selected], len(self.y))
        shuffled = _within(group, self.rng)
        left = [t for t in self.candidates if t not in selected]
        gain = [
            _information(self.y, self.columns[t], group) - _information(self.y, self.columns[t][shuffled], group)
            for t in left
        ]
        best = [left[int(np.argmax(gain))]] if left else []
        return best if best and self.informative(best, selected) else []

    def best_pair(self, selected: list[int]) -> list[int]:
        """The two tokens with the most information given ``selected``, if the permutation test passes."""
        some = slice(0, self.options.screening)
        y = self.y[some]
        group = _cells([self.columns[t][some] for t in selected], len(y))
        noise = y[_within(group, self.rng)]
        left = [t for t in self.candidates if t not in selected]
        best, top = [], 1e-9
        for i, first in enumerate(left):
            for second in left[i + 1 :]:
                both = _cells([self.columns[first][some], self.columns[second][some]], len(y))
                gain = _information(y, both, group) - _information(noise, both, group)
                # Ties within rounding go to the earlier pair, which is the more recent one.
                if gain > top + 1e-9 + 0.02 * abs(top) * bool(best):
                    best, top = [first, second], gain
        return best if best and self.informative(best, selected) else []

    def informative(self, tokens: list[int], given: list[int]) -> bool:
        """Permutation test of the conditional mutual information."""
        group = _cells([self.columns[t] for t in given], len(self.y))
        value = _cells([self.columns[t] for t in tokens], len(self.y))
        null = np.array(
            [_information(self.y, value[_within(group, self.rng)], group) for _ in range(self.options.permutations)]
        )
        spread = max(float(null.std(ddof=1)), 1e-6)
        return _information(self.y, value, group) > null.mean() + self.options.sigmas * spread


def _cells(columns: list[ndarray], size: int) -> Int[ndarray, " N"]:
    """One number per combination of values, 0..cells-1."""
    code = np.zeros(size, dtype=np.int64)
    for column in columns:
        code = code * (int(column.max(initial=0)) + 1) + column
        if int(code.max(initial=0)) > 4 * size:
            code = np.unique(code, return_inverse=True)[1]
    return code


def _within(group: Int[ndarray, " N"], rng: Rng) -> Int[ndarray, " N"]:
    """A random permutation of the examples that keeps every cell of ``group``."""
    before, after = np.argsort(group, kind="stable"), np.lexsort((rng.random(len(group)), group))
    result = np.empty_like(before)
    result[before] = after
    return result


def _information(y: ndarray, value: ndarray, group: ndarray) -> float:
    """Plug-in conditional mutual information I(y; value | group) in nats."""
    size = len(y)
    both = _cells([group, value], size)
    return (_sums(both) - _sums(group) + _sums(_cells([group, y], size)) - _sums(_cells([both, y], size))) / -size


def _sums(cells: ndarray) -> float:
    """Σ c log c over the cell counts c."""
    counts = np.bincount(cells)
    counts = counts[counts > 1]
    return float((counts * np.log(counts)).sum())


def _pairs(counts: ndarray) -> float:
    return float((counts * (counts - 1.0)).sum() / 2)
