"""Finds, for each condition of Theorem A, the smallest counterexample to the theorem without that condition.

The search is exhaustive and in order of size: first k, then the alphabet, λ, the number of words and of positive
weights, then the two lengths. All other conditions hold, and some head of the class is exact at both lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy import ndarray

from lengthwise.sparsity.heads.attention import TupleTypes
from lengthwise.sparsity.heads.theorem import Setting, Strings, admissible
from lengthwise.sparsity.planted.placements import offset_patterns


@dataclass(frozen=True)
class Counterexample:
    """A head that is exact on every checked string and wrong on a longer one.

    ``weights`` lists the positively weighted tuples as text (`TupleTypes.describe`) with their vote for label 1; label
    0 gets the rest. ``failure`` is the longer string; ``output`` the value given to its label (None for 0/0).
    """

    dropped: str
    setting: Setting
    length: int
    longer: int
    checked: int
    weights: tuple[tuple[str, float], ...]
    failure: tuple[int, ...]
    label: int
    output: float | None

    def render(self) -> str:
        """The counterexample as five lines of text."""
        s = self.setting
        words = ", ".join(f"{''.join(map(str, w))}→{y}" for w, y in zip(s.words, s.labels, strict=True))
        offsets = ", ".join("+".join(map(str, p)) for p in s.patterns)
        heads = "; ".join(f"{name} votes {_number(vote)}" for name, vote in self.weights)
        value = "h is 0/0" if self.output is None else f"h gives it {_number(self.output)}"
        return "\n".join(
            [
                f"Without {self.dropped}:",
                f"  data    k = {s.k}, background {set(s.background)}, words {words}, offsets {offsets}, λ = {s.span}",
                f"  head    weight 1 on: {heads}   (votes = probability of label 1)",
                f"  exact   on all {self.checked} strings checked at length {self.length}",
                f"  wrong   at length {self.longer}: {''.join(map(str, self.failure))} has label {self.label}, {value}",
            ]
        )


def counterexamples() -> list[Counterexample]:
    """The smallest counterexample for each dropped condition, in a fixed order; takes under a second."""
    return [search() for search in SEARCHES.values()]


def without_bounded_span() -> Counterexample:
    """Without locality of the class, first half: weights may be positive at any span (C3)."""
    return _first("locality of the class (weights beyond span λ)", _settings(), reach=lambda s, longer: longer - 1)


def without_relative_positions() -> Counterexample:
    """Without locality of the class, second half: weights may depend on the absolute position (C3)."""
    return _first("locality of the class (weights that see the absolute place)", _settings(), absolute=True)


def without_full_background() -> Counterexample:
    """Without full background support: one background token occurs in no checked string (C1)."""
    return _first("full background support", _settings(backgrounds=2), hidden_background=1)


def without_simplex_votes() -> Counterexample:
    """Simplex-valued g: votes may be any multiple of 1/2 between -1 and 2, still summing to 1 over labels (C4)."""
    votes = tuple(np.arange(-1, 2.5, 0.5))
    return _first("votes in the probability simplex", _settings(), votes=votes)


def without_coverage() -> Counterexample:
    """Without coverage of offsets: one allowed offset pattern occurs in no checked string (C2)."""
    return _first("coverage of offsets", _settings(patterns=2), hidden_pattern=True)


def without_enough_length() -> Counterexample:
    """A length below 2(λ + 1) (C6); where a pattern fills its span, the bound is tight."""
    return _first("a length of at least 2(λ + 1)", _settings(), length=lambda s: s.sufficient_length - 1)


SEARCHES: dict[str, Callable[[], Counterexample]] = {
    "locality (span)": without_bounded_span,
    "locality (place)": without_relative_positions,
    "full support": without_full_background,
    "simplex": without_simplex_votes,
    "coverage": without_coverage,
    "length": without_enough_length,
}


def _settings(*, backgrounds: int = 1, patterns: int = 1) -> Iterator[Setting]:
    """Small settings with both labels, the smallest first."""
    for k, alphabet, span in product((1, 2), (2, 3, 4), (0, 1, 2)):
        shapes = offset_patterns(k, span) if span >= k - 1 else ()
        chosen = [c for c in combinations(shapes, patterns) if c[-1][-1] == span]
        for kept in chosen:
            background = tuple(range(backgrounds))
            for count in (2, 3):
                for words in combinations(list(product(range(alphabet), repeat=k)), count):
                    for labels in product((0, 1), repeat=count):
                        if len(set(labels)) == 2:
                            yield Setting(alphabet, background, words, labels, kept, span)


def _first(
    dropped: str,
    settings: Iterator[Setting],
    *,
    length: Callable[[Setting], int] = lambda s: s.sufficient_length,
    reach: Callable[[Setting, int], int] = lambda s, longer: s.span,
    votes: tuple[float, ...] = (0.0, 1.0),
    absolute: bool = False,
    hidden_background: int = 0,
    hidden_pattern: bool = False,
) -> Counterexample:
    for setting in settings:
        short = length(setting)
        longer = short + 1
        if short <= setting.span:
            continue
        train_setting = _restrict(setting, hidden_background, hidden_pattern)
        train, test = admissible(train_setting, short), admissible(setting, longer)
        if _ambiguous(test) or _ambiguous(admissible(setting, short)):
            continue
        features = _features(setting, reach(setting, longer), absolute)
        before, names = features(train.tokens, longer)
        after, _ = features(test.tokens, longer)
        found = _search(before, train.labels, after, test.labels, votes)
        if found is None:
            continue
        chosen, vote, row = found
        total = after[row][chosen].sum()
        share = None if total == 0 else float(after[row][chosen] @ vote / total)
        label = int(test.labels[row])
        return Counterexample(
            dropped=dropped,
            setting=setting,
            length=short,
            longer=longer,
            checked=len(train.labels),
            weights=tuple((names[i], float(v)) for i, v in zip(chosen, vote, strict=True)),
            failure=tuple(int(t) for t in test.tokens[row]),
            label=label,
            output=share if share is None or label == 1 else 1 - share,
        )
    raise LookupError(f"no counterexample without {dropped} in the settings searched")


def _restrict(setting: Setting, hidden_background: int, hidden_pattern: bool) -> Setting:
    background = setting.background[: len(setting.background) - hidden_background]
    patterns = setting.patterns[:-1] if hidden_pattern else setting.patterns
    return Setting(setting.alphabet, background, setting.words, setting.labels, patterns, setting.span)


def _ambiguous(strings: Strings) -> bool:
    """Whether one string has two labels, so that no head can be exact."""
    return len(np.unique(strings.tokens, axis=0)) < len(strings.tokens)


def _features(setting: Setting, reach: int, absolute: bool) -> Callable[[ndarray, int], tuple[ndarray, list[str]]]:
    """Counts of the features of a weight: tuple types up to span ``reach``, or tuples at every absolute position."""
    types = TupleTypes(setting.alphabet, offset_patterns(setting.k, reach))

    def relative(tokens: ndarray, longer: int) -> tuple[ndarray, list[str]]:
        return types.counts(tokens), [types.describe(i) for i in range(types.size)]

    def at_positions(tokens: ndarray, longer: int) -> tuple[ndarray, list[str]]:
        length = tokens.shape[1]
        blocks, names = [], []
        for start in range(longer):
            window = tokens[:, start : start + reach + 1] if start < length else tokens[:, :0]
            # Tuples that start here: those of the window minus those of the window without its first position.
            inside = types.counts(window) - types.counts(window[:, 1:])
            blocks.append(inside)
            names += [f"{types.describe(i)} at place {start}" for i in range(types.size)]
        return np.concatenate(blocks, axis=1), names

    return at_positions if absolute else relative


def _search(
    before: ndarray, labels: ndarray, after: ndarray, after_labels: ndarray, votes: tuple[float, ...]
) -> tuple[ndarray, ndarray, int] | None:
    """The smallest set of features with weight 1 and votes, exact on ``before`` and wrong on a row of ``after``.

    Only features that occur in some string can matter. Some head must be exact on both sets of strings.
    """
    useful = np.flatnonzero((before > 0).any(axis=0) | (after > 0).any(axis=0))
    if len(useful) > 18 or not _solvable(np.vstack([before, after]), np.concatenate([labels, after_labels])):
        return None
    for size in range(1, min(len(useful), 6) + 1):
        grid = np.array(list(product(votes, repeat=size)))
        for chosen in combinations(useful.tolist(), size):
            columns = np.array(chosen)
            # Most sets leave some string without weight, for any votes.
            if not (before[:, columns].sum(axis=1) > 0).all():
                continue
            exact = _exact(before[:, columns], labels, grid)
            if not exact.any():
                continue
            right = _exact(after[:, columns], after_labels, grid[exact])
            if not right.all():
                vote = grid[exact][~right][0]
                wrong = ~_rows(after[:, columns], after_labels, vote[None])[0]
                return columns, vote, int(np.flatnonzero(wrong)[0])
    return None


def _solvable(counts: ndarray, labels: ndarray) -> bool:
    """Whether weight 1 on every feature that occurs with one label only is exact on all the strings."""
    occurs = np.stack([(counts[labels == y] > 0).any(axis=0) for y in (0, 1)])
    unanimous = occurs.sum(axis=0) == 1
    return bool((counts[:, unanimous].sum(axis=1) > 0).all())


def _exact(counts: ndarray, labels: ndarray, votes: ndarray) -> ndarray:
    return np.all(_rows(counts, labels, votes), axis=1)


def _rows(counts: ndarray, labels: ndarray, votes: ndarray) -> ndarray:
    """Whether heads (rows of ``votes``, weight 1 everywhere) are exact on each string; half-integers, so exact."""
    total = counts.sum(axis=1)
    return np.asarray((total > 0) & (votes @ counts.T == total * labels))


def _number(value: float) -> str:
    return f"{value:.3g}"
