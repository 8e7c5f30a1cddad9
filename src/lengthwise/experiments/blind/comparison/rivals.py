"""Rival predictors that cost nothing, each turned into a yes or no and a graded score for every cell."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lengthwise.experiments.blind.study import BlindStudy, StudyEntry

CellMeasures = Mapping[str, Any]
Answers = dict[tuple[str, str], bool]
"""By (language, encoding): whether the cell is predicted to generalize."""
Scores = dict[tuple[str, str], float]
"""By (language, encoding): the larger, the rather it should generalize."""


@dataclass(frozen=True)
class Rival:
    """A predictor: its name, how it is made, and its score of a cell; ``cut`` gives the yes from a score."""

    name: str
    text: str
    score: Callable[[StudyEntry, CellMeasures], float | None]
    cut: Callable[[Sequence[StudyEntry]], float]

    def scores(self, entries: Sequence[StudyEntry], rows: Sequence[CellMeasures]) -> Scores:
        """Of all cells for which the rival says something."""
        by_name = {entry.name: entry for entry in entries}
        found = {key(row): self.score(by_name[row["language"]], row) for row in rows}
        return {cell: value for cell, value in found.items() if value is not None}

    def answers(self, entries: Sequence[StudyEntry], rows: Sequence[CellMeasures]) -> Answers:
        """Yes where the score reaches the cut."""
        cut = self.cut(entries)
        return {cell: value >= cut for cell, value in self.scores(entries, rows).items()}


def key(row: CellMeasures) -> tuple[str, str]:
    """The cell of a row."""
    return str(row["language"]), str(row["encoding"])


def our_answers(rows: Sequence[CellMeasures]) -> Answers:
    """The verdicts of the study."""
    return {key(row): row["predicted"] == "yes" for row in rows if row["predicted"] in ("yes", "no")}


def _half(entries: Sequence[StudyEntry]) -> float:
    return 0.5


def _feature(name: str, sign: int = 1) -> Callable[[StudyEntry, CellMeasures], float | None]:
    def score(entry: StudyEntry, row: CellMeasures) -> float | None:
        return sign * float(entry.features[name]) if name in entry.features else None

    return score


def _median(name: str) -> Callable[[Sequence[StudyEntry]], float]:
    def cut(entries: Sequence[StudyEntry]) -> float:
        values = [entry.features[name] for entry in entries if name in entry.features]
        return -float(statistics.median(values)) if values else 0.0

    return cut


def _early(entry: StudyEntry, row: CellMeasures) -> float | None:
    """The fourth best of five seeds."""
    early = row["early_fit"]
    return None if early is None else sorted(early["by_seed"], reverse=True)[:4][-1]


def _first_rung(entry: StudyEntry, row: CellMeasures) -> float | None:
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


def rivals_of(study: BlindStudy) -> tuple[Rival, ...]:
    """Those that the preregistration names; `RIVALS` for a list of somebody's own."""
    names = study.content.get("rivals")
    return RIVALS if names is None else tuple(rival for rival in (*SECOND, *RIVALS) if rival.name in names)
