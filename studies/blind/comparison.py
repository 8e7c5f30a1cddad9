"""Predictors against measured cells: ours and nine rivals, accuracies, paired tests, and the table of a study."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any

import numpy as np
from file_list import check_files

import lengthwise as lw

CUT, DECIDING = lw.experiments.blind.study.CUT, lw.experiments.blind.study.DECIDING
CUTS = (0.5, 0.7, 0.9, 0.95)
BOOTSTRAP = 10_000
CellMeasures = Mapping[str, Any]
Entry = Any
"""`lw.experiments.blind.study.StudyEntry`."""
Answers = dict[tuple[str, str], bool]
"""By (language, encoding): whether the cell is predicted to generalize."""
Scores = dict[tuple[str, str], float]
"""By (language, encoding): the larger, the rather it should generalize."""


@dataclass(frozen=True)
class Rival:
    """A predictor: its name, how it is made, and its score of a cell; ``cut`` gives the yes from a score."""

    name: str
    text: str
    score: Callable[[Entry, CellMeasures], float | None]
    cut: Callable[[Sequence[Entry]], float]

    def scores(self, entries: Sequence[Entry], rows: Sequence[CellMeasures]) -> Scores:
        """Of all cells for which the rival says something."""
        by_name = {entry.name: entry for entry in entries}
        found = {key(row): self.score(by_name[row["language"]], row) for row in rows}
        return {cell: value for cell, value in found.items() if value is not None}

    def answers(self, entries: Sequence[Entry], rows: Sequence[CellMeasures]) -> Answers:
        """Yes where the score reaches the cut."""
        cut = self.cut(entries)
        return {cell: value >= cut for cell, value in self.scores(entries, rows).items()}


def key(row: CellMeasures) -> tuple[str, str]:
    """The cell of a row."""
    return str(row["language"]), str(row["encoding"])


def our_answers(rows: Sequence[CellMeasures]) -> Answers:
    """The verdicts of the study."""
    return {key(row): row["predicted"] == "yes" for row in rows if row["predicted"] in ("yes", "no")}


def _half(entries: Sequence[Entry]) -> float:
    return 0.5


def _feature(name: str, sign: int = 1) -> Callable[[Entry, CellMeasures], float | None]:
    def score(entry: Entry, row: CellMeasures) -> float | None:
        return sign * float(entry.features[name]) if name in entry.features else None

    return score


def _median(name: str) -> Callable[[Sequence[Entry]], float]:
    def cut(entries: Sequence[Entry]) -> float:
        values = [entry.features[name] for entry in entries if name in entry.features]
        return -float(statistics.median(values)) if values else 0.0

    return cut


def _early(entry: Entry, row: CellMeasures) -> float | None:
    """The fourth best of five seeds."""
    early = row["early_fit"]
    return None if early is None else sorted(early["by_seed"], reverse=True)[:4][-1]


def _first_rung(entry: Entry, row: CellMeasures) -> float | None:
    return None if row["rung"] is None else -float(row["rung"] if row["status"] == "decided" else row["rung"] + 1)


RIVALS = (
    Rival("always yes", "Every cell generalizes.", lambda entry, row: 1.0, _half),
    Rival(
        "positions",
        "Yes with learned positions, no without.",
        lambda entry, row: float(row["encoding"] != "nope"),
        _half,
    ),
    Rival("star-free", "Yes if the syntactic monoid is aperiodic, for both encodings.", _feature("star_free"), _half),
    Rival(
        "states",
        "Yes if the minimal automaton has at most as many states as the median language of the study.",
        _feature("states", -1),
        _median("states"),
    ),
    Rival(
        "monoid",
        "Yes if the syntactic monoid has at most as many elements as that of the median language of the study.",
        _feature("monoid", -1),
        _median("monoid"),
    ),
    Rival(
        "resets",
        "Yes if every symbol keeps all states of the minimal automaton or sends all of them to one.",
        _feature("resets"),
        _half,
    ),
    Rival("R-trivial", "Yes if no two states of the minimal automaton reach each other.", _feature("r_trivial"), _half),
    Rival(
        "fitted early",
        "Yes if after half of the first rung's steps at least four of five seeds are right on 99.5 % of 200 words of "
        "the training lengths. The score is the accuracy of the fourth best seed.",
        _early,
        lambda entries: 0.995,
    ),
    Rival(
        "fitted by the first rung",
        "Yes if the first rung speaks for the cell. The score is the number of the rung that speaks, negated.",
        _first_rung,
        lambda entries: -1.0,
    ),
)
"""In the order in which they are shown. Those that look at automata say nothing of other tasks."""
RECOGNITION = Rival(
    "recognition",
    "Yes if membership is in C-RASP without positions, the last symbol visible: the predictor of the first study.",
    _feature("recognition"),
    _half,
)
LAST_SYMBOL = Rival(
    "last symbol", "Yes if what may come next depends on the last symbol alone.", _feature("last_symbol"), _half
)
NO_COUNTING = Rival(
    "no counting",
    "Yes if from all states of a component each symbol leads to one live state at most: our verdict "
    "on next symbols without any count.",
    _feature("no_counting"),
    _half,
)
SECOND = (RECOGNITION, NO_COUNTING, LAST_SYMBOL)
"""Rivals of the second study, whose predictor decides next-symbol prediction."""


def rivals_of(study: lw.experiments.blind.study.BlindStudy) -> tuple[Rival, ...]:
    """Those that the preregistration names; `RIVALS` for a list of somebody's own."""
    names = study.content.get("rivals")
    return RIVALS if names is None else tuple(rival for rival in (*SECOND, *RIVALS) if rival.name in names)


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
        shifted = {total + sign * margin for total in ways for sign in (1, -1)}
        ways = Counter({total: ways[total - margin] + ways[total + margin] for total in shifted})
    far = sum(number for total, number in ways.items() if abs(total) >= abs(sum(margins)))
    return far / 2 ** len(margins)


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
    return lw.stream(0, "blind", "bootstrap").multinomial(languages, np.full(languages, 1 / languages), size=BOOTSTRAP)


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


def table(
    study: lw.experiments.blind.study.BlindStudy, name: str = "languages", encodings: Sequence[str] | None = None
) -> dict[str, Any]:
    """All cells, our predictor and the rivals on the decided ones, as JSON values.

    Raises `LengthwiseError` if a result file is missing, was changed, or is of another study.
    """
    check_files(study)
    entries = study.entries(name)
    rows = [
        lw.experiments.blind.study.cell_row(study, name, entry, encoding)
        for entry in entries
        for encoding in encodings or study.encodings
    ]
    measured = outcomes(rows)
    ours, others = our_answers(rows), rivals_of(study)
    found = accuracies(ours, measured)
    rivals = {rival.name: rival.answers(entries, rows) for rival in others}
    compared = {rival: accuracies(answers, measured) for rival, answers in rivals.items()}
    return {
        "preregistration": study.sha256,
        "table": name,
        "complete": all(row["status"] != "not run" for row in rows),
        "cut": CUT,
        "cells": rows,
        "counts": counts(rows),
        "balanced_accuracy": found["balanced_accuracy"],
        "balanced_accuracy_interval": found["balanced_accuracy_interval"],
        "ours": found,
        "rivals": {rival: values["balanced_accuracy"] for rival, values in compared.items()},
        "rival_details": {
            rival.name: {
                **compared[rival.name],
                "text": rival.text,
                **auc(rival.scores(entries, rows), measured),
                "mcnemar": mcnemar(ours, rivals[rival.name], measured),
                "right_with_undecided_as_wrong": _strict(rivals[rival.name], measured, rows),
            }
            for rival in others
        },
        "ours_with_undecided_as_wrong": _strict(ours, measured, rows),
        "cuts": {str(cut): accuracies(ours, outcomes(rows, cut)) for cut in CUTS},
        "by_words": _by_words(rows, ours),
        "reliability": reliability(rows),
    }


def counts(rows: Sequence[CellMeasures]) -> dict[str, dict[str, int]]:
    """By predicted class: decided, right, not fitted and not run cells."""
    return _tally(rows, ("cells", "decided", "right", "not fitted", "not run"))


def reliability(rows: Sequence[CellMeasures]) -> dict[str, dict[str, dict[str, int]]]:
    """By encoding and verdict: cells in all, decided ones, and how many of these came out as predicted."""
    encodings = dict.fromkeys(row["encoding"] for row in rows)
    states = ("cells", "decided", "right", "not run")
    return {name: _tally([row for row in rows if row["encoding"] == name], states) for name in encodings}


def _tally(rows: Sequence[CellMeasures], states: Sequence[str]) -> dict[str, dict[str, int]]:
    result: dict[str, dict[str, int]] = {}
    for row in rows:
        entry = result.setdefault(row["predicted"], dict.fromkeys(states, 0))
        for state in {"cells", row["status"]} & set(states):
            entry[state] += 1
        entry["right"] += row["right"] is True
    return result


def _strict(answers: Answers, measured: Mapping[tuple[str, str], bool], rows: Sequence[CellMeasures]) -> dict[str, int]:
    """Right cells among all that have been run, undecided ones counted as wrong."""
    run = [row for row in rows if row["status"] != "not run"]
    right = sum(answers[cell] == measured[cell] for cell in set(answers) & set(measured))
    return {"cells": len(run), "right": right}


def _by_words(rows: Sequence[CellMeasures], ours: Answers) -> dict[str, dict[str, Any]]:
    """Our predictor where another bin or another set of words decides."""
    result: dict[str, dict[str, Any]] = {}
    for name in ("51-100", DECIDING, "151-300"):
        for words in ("lower", "uniform", "adversarial"):
            score = partial(lw.experiments.blind.study.cell_score, name=name, words=words)
            scored = [{**row, "score": score(row["seeds"]) if row["status"] == "decided" else None} for row in rows]
            found = accuracies(ours, outcomes(scored))
            right = sum(
                lw.experiments.blind.study.is_right(row["predicted"], row["score"], CUT) is True for row in scored
            )
            result[f"{name} {words}"] = {
                "cells": found["cells"], "right": right, "balanced_accuracy": found["balanced_accuracy"]
            }  # fmt: skip
    return result
