"""Predictors against measured cells: accuracy, balanced accuracy, AUC, intervals over languages, paired tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import comb
from typing import Any

import numpy as np

from lengthwise.core.rng import stream
from lengthwise.experiments.blind.comparison.rivals import Answers, CellMeasures, Scores, key
from lengthwise.experiments.blind.comparison.scoring import BOOTSTRAP, CUT


def outcomes(rows: Sequence[CellMeasures], cut: float = CUT) -> dict[tuple[str, str], bool]:
    """Whether each decided cell generalizes at a cut."""
    return {key(row): row["score"] >= cut for row in rows if row["score"] is not None}


def accuracies(answers: Answers, measured: Mapping[tuple[str, str], bool]) -> dict[str, Any]:
    """Counts, accuracy and balanced accuracy with intervals, on the cells that are both predicted and measured."""
    cells = sorted(set(answers) & set(measured))
    counts = _counts(answers, measured, cells)
    total = counts.sum(axis=0)
    samples = _resampled(counts)
    accuracy, balanced = _accuracy(total[None]), _balanced(total[None])
    return {
        "cells": len(cells),
        "right": int(total[0] + total[2]),
        "generalizing": {"cells": int(total[1]), "right": int(total[0])},
        "not_generalizing": {"cells": int(total[3]), "right": int(total[2])},
        "accuracy": _number(accuracy[0]),
        "accuracy_interval": _interval(_accuracy(samples)),
        "balanced_accuracy": _number(balanced[0]),
        "balanced_accuracy_interval": _interval(_balanced(samples)),
    }


def auc(scores: Scores, measured: Mapping[tuple[str, str], bool]) -> dict[str, Any]:
    """Probability that a generalizing cell has the larger score than one that does not, ties counting half.

    With a 95 % interval over languages; both are None where all cells are of one kind.
    """
    cells = sorted(set(scores) & set(measured))
    wins, pairs = _pairs_by_language(scores, measured, cells)
    drawn = _draws(len(wins))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = wins.sum() / pairs.sum()
        samples = np.einsum("sl,lm,sm->s", drawn, wins, drawn) / np.einsum("sl,lm,sm->s", drawn, pairs, drawn)
    return {"auc": _number(found), "auc_interval": _interval(samples)}


def _pairs_by_language(
    scores: Scores, measured: Mapping[tuple[str, str], bool], cells: Sequence[tuple[str, str]]
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of a generalizing cell of one language and another cell of a second: won ones, and all; [L, L] each."""
    number = {name: place for place, name in enumerate(dict.fromkeys(name for name, _ in cells))}
    wins, pairs = np.zeros((2, len(number), len(number)))
    for high in (cell for cell in cells if measured[cell]):
        for low in (cell for cell in cells if not measured[cell]):
            place = number[high[0]], number[low[0]]
            pairs[place] += 1
            wins[place] += (scores[high] > scores[low]) + (scores[high] == scores[low]) / 2
    return wins, pairs


def mcnemar(ours: Answers, rival: Answers, measured: Mapping[tuple[str, str], bool]) -> dict[str, Any]:
    """Cells that only one of two predictors gets right, and the exact two-sided probability of such a split.

    ``p`` takes cells as independent, as McNemar's test does. ``p_languages`` takes languages as independent: the cells
    of one language are won or lost together.
    """
    cells = set(ours) & set(rival) & set(measured)
    only_ours = sum(ours[cell] == measured[cell] != rival[cell] for cell in cells)
    only_rival = sum(rival[cell] == measured[cell] != ours[cell] for cell in cells)
    n = only_ours + only_rival
    tail = sum(comb(n, k) for k in range(min(only_ours, only_rival) + 1)) / 2**n
    return {
        "cells": len(cells),
        "only_ours": only_ours,
        "only_rival": only_rival,
        "p": float(f"{min(1.0, 2 * tail):.2g}"),
        "p_languages": float(f"{_sign_test(_margins(ours, rival, measured, cells)):.2g}"),
    }


def _margins(
    ours: Answers, rival: Answers, measured: Mapping[tuple[str, str], bool], cells: set[tuple[str, str]]
) -> list[int]:
    """By language: cells that only ours gets right, less those that only the rival does."""
    found: Counter[str] = Counter()
    for cell in cells:
        found[cell[0]] += (ours[cell] == measured[cell]) - (rival[cell] == measured[cell])
    return list(found.values())


def _sign_test(margins: Sequence[int]) -> float:
    """The probability of a sum of margins at least as far from 0, if the sign of each were that of a fair coin."""
    ways = Counter({0: 1})
    for margin in margins:
        ways = Counter({total: ways[total - margin] + ways[total + margin] for total in _shifted(ways, margin)})
    far = sum(number for total, number in ways.items() if abs(total) >= abs(sum(margins)))
    return far / 2 ** len(margins)


def _shifted(totals: Iterable[int], margin: int) -> set[int]:
    return {total + sign * margin for total in totals for sign in (1, -1)}


def _counts(answers: Answers, measured: Mapping[tuple[str, str], bool], cells: Sequence[tuple[str, str]]) -> np.ndarray:
    """By language: yes and right, generalizing, no and right, not generalizing; shape [languages, 4]."""
    names = {name: number for number, name in enumerate(dict.fromkeys(name for name, _ in cells))}
    counts = np.zeros((len(names), 4), dtype=np.int64)
    for cell in cells:
        row = counts[names[cell[0]]]
        row[1 if measured[cell] else 3] += 1
        if answers[cell] == measured[cell]:
            row[0 if measured[cell] else 2] += 1
    return counts


def _resampled(counts: np.ndarray) -> np.ndarray:
    """Totals of bootstrap samples of the languages, shape [samples, 4]."""
    if not len(counts):
        return np.zeros((1, 4))
    return _draws(len(counts)) @ counts


def _draws(languages: int) -> np.ndarray:
    """How often each language is in each bootstrap sample, shape [samples, languages]."""
    if not languages:
        return np.zeros((1, 0))
    return stream(0, "blind", "bootstrap").multinomial(languages, np.full(languages, 1 / languages), size=BOOTSTRAP)


def _accuracy(totals: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return (totals[:, 0] + totals[:, 2]) / (totals[:, 1] + totals[:, 3])


def _balanced(totals: np.ndarray) -> np.ndarray:
    """NaN where no cell generalizes, or every cell does."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return (totals[:, 0] / totals[:, 1] + totals[:, 2] / totals[:, 3]) / 2


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


def _interval(values: np.ndarray) -> list[float] | None:
    kept = values[~np.isnan(values)]
    return [round(float(bound), 4) for bound in np.percentile(kept, [2.5, 97.5])] if len(kept) else None
