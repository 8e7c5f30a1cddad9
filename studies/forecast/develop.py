"""Fits the forecaster to the evidence and measures it by cross-validation over languages.

``python studies/forecast/develop.py`` writes, in about two minutes, ``src/lengthwise/forecast/coefficients.json``, and
here ``development.json``, ``reliability.svg`` and ``README.md``. Two parts are fitted: *will it fit the training
lengths?* and, for each cut, *is it right at M, given that it fits?* Both are logistic with an L2 penalty, and each
weight may have one sign only. Form and penalty of each part are chosen by log loss in inner folds, which never see the
languages on which the outcome is measured. It needs the extra ``studies`` (scikit-learn, pandas).
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import evidence
import matplotlib
import numpy as np
import page
import third_study
from scipy.optimize import minimize
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, log_loss, roc_auc_score

import lengthwise as lw

matplotlib.use("Agg")
from matplotlib import pyplot

HERE = Path(__file__).parent
BINS = ((51, 100), (101, 150), (151, 300))
DECIDING = (101, 150)
"""The bin by which the blind studies decide."""
TRAIN_FACTOR = 2.5
"""How far a training length may be from those that were measured; only M / N enters the models."""
PENALTIES = (0.3, 1.0, 3.0)
DRAWS, FOLDS, INNER, REPEATS, SEED = 100, 10, 5, 3, 20261125

LANGUAGE_FITS = (
    ("plain", "words", "learned", "states"),
    ("plain", "heard", "monoid", "star-free", "states", "counting"),
    ("plain", "heard", "monoid", "star-free", "words", "r-trivial"),
)
LANGUAGE_HOLDS = (
    ("plain", "ratio"),
    ("plain", "counting", "ratio"),
    ("plain", "heard", "counting", "ratio"),
    ("plain", "heard", "heard by ALiBi", "counting", "monoid", "r-trivial", "star-free", "ratio"),
    ("plain", "heard", "heard by ALiBi", "heard by RoPE", "counting", "monoid", "r-trivial", "star-free", "ratio"),
    ("plain", "heard", "heard by ALiBi", "counting", "counting, farther", "monoid", "ratio", "window", "period"),
    ("plain", "heard", "heard by ALiBi", "counting", "counting, farther", "states", "learned", "rope", "ratio"),
    ("plain", "heard", "heard by ALiBi", "heard by RoPE", "margin", "monoid", "r-trivial", "star-free", "ratio"),
    ("plain", "heard", "heard by ALiBi", "heard by RoPE", "counting", "margin", "monoid", "r-trivial", "star-free",
     "ratio"),
)  # fmt: skip
PROBE_FITS = (
    ("probe fitted", "plain"),
    ("probe fitted", "probe rung", "plain", "heard", "monoid"),
    ("probe fitted", "probe rung", "plain", "heard", "monoid", "star-free"),
)
PROBE_HOLDS = (
    ("probe accuracy", "ratio"),
    ("probe accuracy", "probe slope", "ratio"),
    ("probe accuracy", "plain", "counting", "ratio"),
    ("probe accuracy", "probe rung", "plain", "heard", "heard by ALiBi", "counting", "ratio"),
    ("probe accuracy", "probe slope", "plain", "heard", "heard by ALiBi", "counting", "monoid", "ratio"),
    ("probe accuracy", "plain", "heard", "heard by ALiBi", "margin", "ratio"),
)
TASK_FITS = (("yes", "no"), ("yes", "no", "plain", "local", "randomized"), ("no", "plain", "local", "places", "rope"))
TASK_HOLDS = (
    ("yes", "ratio"),
    ("yes", "local", "plain", "ratio"),
    ("yes", "no", "local", "local, local bias", "plain", "plain, sparse", "local, farther", "not local, farther"),
    ("no", "local", "local, local bias", "plain", "plain, sparse", "ratio", "rope", "randomized"),
)


@dataclass(frozen=True)
class Data:
    """Rows of (cell, test): features by name, group, cell number, bin, and what was measured."""

    values: list[dict[str, float]]
    group: np.ndarray
    cell: np.ndarray
    bin: np.ndarray
    """Number of the bin in `BINS`; −1 for tests of tasks."""
    fit: np.ndarray
    accuracy: np.ndarray
    """NaN for a cell that did not fit."""
    cells: list[lw.measured.MeasuredCell]

    def matrix(self, names: Sequence[str]) -> np.ndarray:
        return np.array([[values[name] for name in names] for values in self.values])

    @property
    def first(self) -> np.ndarray:
        """One row of each cell."""
        return np.unique(self.cell, return_index=True)[1]


def shape(dfa: lw.languages.automaton.Dfa) -> str:
    """The same text for languages that differ by the names of their symbols only."""
    found = []
    for order in itertools.permutations(range(len(dfa.alphabet))):
        numbers, queue = {0: 0}, [0]
        for state in queue:
            for symbol in order:
                target = dfa.delta[state][symbol]
                if target not in numbers:
                    numbers[target] = len(numbers)
                    queue.append(target)
        table = tuple(tuple(numbers[dfa.delta[state][symbol]] for symbol in order) for state in queue)
        found.append((table, tuple(dfa.accepting[state] for state in queue)))
    return str(min(found))


Row = tuple[lw.measured.MeasuredCell, str, int, float | None, dict[str, float]]
"""A cell, its group, the bin, the accuracy, the features."""


def data_of(rows: list[Row]) -> Data:
    """The rows as columns."""
    groups = {name: number for number, name in enumerate(sorted({row[1] for row in rows}))}
    members = list(dict.fromkeys(id(row[0]) for row in rows))
    numbers = {key: number for number, key in enumerate(members)}
    by_id = {id(row[0]): row[0] for row in rows}
    return Data(
        [row[4] for row in rows],
        np.array([groups[row[1]] for row in rows]),
        np.array([numbers[id(row[0])] for row in rows]),
        np.array([row[2] for row in rows]),
        np.array([float(row[0].fit) for row in rows]),
        np.array([math.nan if row[3] is None else row[3] for row in rows]),
        [by_id[key] for key in members],
    )


def language_data() -> Data:
    """Languages under the frozen ladder, each bin at its middle."""
    rows = []
    for cell in lw.measured.cells():
        if cell.forecaster == "language":
            dfa = lw.forecast.features.language_of(cell.task)
            assert dfa is not None
            for number, (low, high) in enumerate(BINS):
                asked = lw.forecast.features.LanguageQuestion(
                    dfa, cell.format, cell.encoding, cell.train, (low + high) / 2
                )
                found = cell.accuracy(low, high)
                rows.append((cell, shape(dfa), number, found, lw.forecast.features.of_language(asked)))
    return data_of(rows)


def task_data() -> Data:
    """Tasks with answers, each test of one setting up to a limit; a cell that did not fit counts once for each."""
    rows, theory = [], {}
    for cell in lw.measured.cells():
        if cell.forecaster != "task":
            continue
        key = json.dumps(cell.task, sort_keys=True)
        if key not in theory:
            theory[key] = lw.prediction.predict.predict_task(lw.task(dict(cell.task)))
        tests = sorted({(t.low, t.high) for t in cell.tests if not t.axes})
        places = [(low + high) / 2 for low, high in tests] if cell.fit else [2.0 * cell.train, 4.0 * cell.train]
        for number, length in enumerate(places):
            if 1 < length / cell.train <= evidence.FARTHEST:
                scheme = "random-start" if cell.random_start else cell.scheme
                asked = lw.forecast.features.TaskQuestion(
                    theory[key], lw.PositionSystem(scheme, cell.encoding), cell.train, length
                )
                found = cell.accuracy(*tests[number]) if cell.fit else None
                rows.append((cell, cell.target, -1, found, lw.forecast.features.of_task(asked)))
    return data_of(rows)


def with_probes(data: Data, folder: Path) -> Data | None:
    """The rows whose cell was probed, with what the probe found; ``folder`` has the results of `probes.py`.

    None where no cell was. A probe belongs to the cell of the same task and encoding. One that had no time for rung 3
    counts as not fitted if `features.PROBE_RUNGS` rungs were trained to their end; one with less is left out.
    """
    found = {}
    for path in sorted(folder.rglob("*.json")):
        values = lw.core.files.read_json(path)
        if isinstance(values, dict) and {"cell", "seeds", "status", "derived"} <= set(values):
            key = json.dumps([values["cell"]["task"], values["cell"]["encoding"]["name"]], sort_keys=True)
            derived = values["derived"]
            known = values["status"] != "out of time" or len(values["rungs"]) >= lw.forecast.features.PROBE_RUNGS
            if known:
                found[key] = third_study.ProbeFound(
                    values["status"], values["rung"], derived["accuracy"], derived["slope"]
                )
    found |= dict(third_study.probes())
    rows = []
    for row, values in enumerate(data.values):
        cell = data.cells[data.cell[row]]
        key = json.dumps([dict(cell.task), cell.encoding], sort_keys=True)
        if key in found:
            accuracy = None if math.isnan(data.accuracy[row]) else float(data.accuracy[row])
            together = values | lw.forecast.features.of_probe(found[key])
            rows.append((cell, str(data.group[row]), int(data.bin[row]), accuracy, together))
    return data_of(rows) if rows else None


def probe_counts(folder: Path) -> dict[str, int]:
    """How many probes were to be run, ended, count as not fitted after two rungs, and are missing."""
    found = [lw.core.files.read_json(path) for path in sorted(folder.glob("*.json"))]
    done = sum(values["status"] != "out of time" for values in found)
    two = sum(
        values["status"] == "out of time" and len(values["rungs"]) >= lw.forecast.features.PROBE_RUNGS
        for values in found
    )
    every = len(lw.core.files.read_json(HERE / "cells.json"))
    return {
        "all": every, "done": done, "two rungs": two, "missing": every - done - two,
        "rungs": lw.forecast.features.PROBE_RUNGS,
    }  # fmt: skip


def fitted(x: np.ndarray, y: np.ndarray, names: Sequence[str], penalty: float, weight: np.ndarray) -> np.ndarray:
    """The weights, then the constant: penalized logistic regression with signs by `features.ADVERSE`."""
    scale, mean = x.std(axis=0), x.mean(axis=0)
    scale = np.where(scale == 0, 1, scale)
    z = (x - mean) / scale

    def loss(p: np.ndarray) -> tuple[float, np.ndarray]:
        at = z @ p[:-1] + p[-1]
        residual = weight * (lw.forecast.model.logistic(at) - y)
        value = float(weight @ (np.logaddexp(0, at) - y * at)) + p[:-1] @ p[:-1] / (2 * penalty)
        return value, np.append(z.T @ residual + p[:-1] / penalty, residual.sum())

    bounds = [(None, 0.0) if name in lw.forecast.features.ADVERSE else (0.0, None) for name in names]
    start = np.zeros(x.shape[1] + 1)
    found = minimize(loss, start, jac=True, bounds=[*bounds, (None, None)], method="L-BFGS-B").x
    weights = found[:-1] / scale
    return np.append(weights, found[-1] - weights @ mean)


def applied(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The probabilities of rows."""
    return lw.forecast.model.logistic(x @ weights[:-1] + weights[-1])


@dataclass(frozen=True)
class Part:
    """One of the factors: which rows it is fitted to, what it predicts, and the forms to choose among."""

    rows: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray
    forms: tuple[tuple[str, ...], ...]

    def fit(self, data: Data, form: tuple[str, ...], penalty: float, among: np.ndarray) -> np.ndarray:
        rows = np.intersect1d(self.rows, among)
        return fitted(data.matrix(form)[rows], self.outcome[rows], form, penalty, self.weight[rows])

    def choose(self, data: Data, among: np.ndarray, seed: int) -> tuple[tuple[str, ...], float]:
        """Form and penalty with the least log loss over inner folds of ``among``."""
        rows = np.intersect1d(self.rows, among)
        fold = folds(data.group, rows, INNER, seed)
        best, choice = math.inf, (self.forms[0], PENALTIES[0])
        for form, penalty in itertools.product(self.forms, PENALTIES):
            x, total = data.matrix(form), 0.0
            for number in range(INNER):
                inside, outside = rows[fold[rows] != number], rows[fold[rows] == number]
                if len(outside):
                    weights = fitted(x[inside], self.outcome[inside], form, penalty, self.weight[inside])
                    p = np.clip(applied(weights, x[outside]), 1e-9, 1 - 1e-9)
                    y = self.outcome[outside]
                    total -= float(self.weight[outside] @ (y * np.log(p) + (1 - y) * np.log(1 - p)))
            if total < best - 1e-9:
                best, choice = total, (form, penalty)
        return choice


def folds(group: np.ndarray, rows: np.ndarray, count: int, seed: int) -> np.ndarray:
    """The fold of each row by its group; −1 for rows that are not among ``rows``."""
    names = np.unique(group[rows])
    np.random.default_rng(seed).shuffle(names)
    number = {name: i % count for i, name in enumerate(names)}
    return np.array([number.get(name, -1) for name in group])


def parts(data: Data, cut: float, fits: Sequence[tuple[str, ...]], holds: Sequence[tuple[str, ...]]) -> dict[str, Part]:
    """The two factors. Each cell has the weight 1, spread over its tests."""
    measured = np.flatnonzero(~np.isnan(data.accuracy))
    tests = np.bincount(data.cell[measured], minlength=len(data.cells))
    weight = 1 / np.maximum(1, tests[data.cell])
    every = np.arange(len(data.cell))
    return {
        "fits": Part(np.intersect1d(data.first, every), data.fit, np.ones(len(every)), tuple(fits)),
        "holds": Part(measured, (data.accuracy >= cut).astype(float), weight, tuple(holds)),
    }


def cross_validated(data: Data, both: dict[str, Part], seed: int) -> tuple[np.ndarray, list[str]]:
    """P(fits and holds) of each row, from models that never saw its language; and the forms that were chosen."""
    every = np.arange(len(data.cell))
    count = min(FOLDS, len(np.unique(data.group)))
    fold = folds(data.group, every, count, seed)
    found, chosen = np.ones(len(every)), []
    for number in range(count):
        inside, outside = every[fold != number], every[fold == number]
        for name, part in both.items():
            form, penalty = part.choose(data, inside, seed + 1 + number)
            chosen.append(f"{name}: {', '.join(form)} (penalty {penalty})")
            found[outside] *= applied(part.fit(data, form, penalty, inside), data.matrix(form)[outside])
    return found, chosen


def calibration_error(y: np.ndarray, p: np.ndarray, bins: int = 10) -> float:
    """Mean distance between forecast and frequency over ten equal steps of the forecast, by numbers of cells."""
    step = np.minimum((p * bins).astype(int), bins - 1)
    return float(sum(abs(y[step == b].mean() - p[step == b].mean()) * (step == b).mean() for b in np.unique(step)))


def scores(y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """Scores of forecasts; of yes and no alone, as 0 and 1, log loss means nothing and is left out."""
    answers = set(np.unique(p)) <= {0.0, 1.0}
    found = {
        "balanced accuracy": balanced_accuracy_score(y, p >= 0.5),
        "AUC": roc_auc_score(y, p),
        "Brier": brier_score_loss(y, np.clip(p, 0, 1)),
    }
    if not answers:
        found["log loss"] = log_loss(y, np.clip(p, 1e-6, 1 - 1e-6))
        found["calibration error"] = calibration_error(y, p)
    return {name: round(float(value), 3) for name, value in found.items()}


def rivals(data: Data) -> dict[str, Callable[[int], tuple[float, bool]]]:
    """Predictors that need no fit, by row: a score (the larger, the likelier) and the answer yes or no."""
    dfas = [lw.forecast.features.language_of(cell.task) for cell in data.cells]
    monoids = [lw.forecast.features.monoid(dfa, "next") for dfa in dfas if dfa is not None]
    middle = float(np.median(monoids))

    def by(
        score: Callable[[lw.measured.MeasuredCell, lw.languages.automaton.Dfa], float], cut: float = 0.5
    ) -> Callable[[int], tuple[float, bool]]:
        def of(row: int) -> tuple[float, bool]:
            dfa = dfas[data.cell[row]]
            assert dfa is not None
            value = score(data.cells[data.cell[row]], dfa)
            return value, value >= cut

        return of

    def verdict(cell: lw.measured.MeasuredCell, dfa: lw.languages.automaton.Dfa, format: Any) -> float:
        return float(lw.forecast.features.plain(dfa, format) or lw.forecast.features.heard(dfa, format, cell.encoding))

    return {
        "C-RASP without positions, for the format": by(lambda cell, dfa: lw.forecast.features.plain(dfa, cell.format)),
        "verdict of the encoding, for the format": by(lambda cell, dfa: verdict(cell, dfa, cell.format)),
        "verdict of the encoding, membership (format-blind)": by(lambda cell, dfa: verdict(cell, dfa, "member")),
        "no counting": by(lambda cell, dfa: lw.crasp.decide.no_counting(dfa)),
        "R-trivial": by(lambda cell, dfa: lw.forecast.features.r_trivial(dfa, "next")),
        "star-free": by(lambda cell, dfa: lw.forecast.features.star_free(dfa, "next")),
        "monoid at most the median": by(lambda cell, dfa: -lw.forecast.features.monoid(dfa, "next"), -middle),
        "fitted early (trained: half of the first rung)": by(lambda cell, dfa: sorted(cell.early)[1], 0.995),
    }


def difference(data: Data, rows: np.ndarray, y: np.ndarray, ours: np.ndarray, other: np.ndarray) -> list[float]:
    """90 % interval of our balanced accuracy minus the other's, by a bootstrap over languages."""
    rng, groups = np.random.default_rng(SEED), np.unique(data.group[rows])
    members = {group: np.flatnonzero(data.group[rows] == group) for group in groups}
    found = []
    for _ in range(1000):
        drawn = np.concatenate([members[group] for group in rng.choice(groups, len(groups))])
        if len(np.unique(y[drawn])) == 2:
            right = [[np.mean(answer[drawn][y[drawn] == side] == side) for side in (0, 1)] for answer in (ours, other)]
            found.append(np.mean(right[0]) - np.mean(right[1]))
    return [round(float(value), 3) for value in np.quantile(found, [0.05, 0.95])]


def domain_of(data: Data) -> dict[str, Any]:
    """What was measured, outside of which no forecast is given."""
    ratios = [t.high / cell.train for cell in data.cells for t in cell.tests if not t.axes]
    trained = [cell.train for cell in data.cells]
    found = {
        "systems": sorted({f"{cell.scheme}+{cell.encoding}" for cell in data.cells}),
        "formats": sorted({cell.format for cell in data.cells}),
        "ratio": [1.0, round(min(evidence.FARTHEST, max(ratios)), 2)],
        "trained": [min(trained), max(trained)],
        "train": [math.ceil(min(trained) / TRAIN_FACTOR), math.floor(max(trained) * TRAIN_FACTOR)],
    }
    kinds: dict[str, set[str]] = {}
    sizes = []
    for cell in data.cells:
        if (dfa := lw.forecast.features.language_of(cell.task)) is not None:
            pair = f"{cell.scheme}+{cell.encoding}"
            kinds.setdefault(pair, set()).add(lw.forecast.features.kind(dfa, cell.format, cell.encoding))
            sizes.append(dfa.size)
    if sizes:
        found |= {"states": max(sizes), "kinds": {pair: sorted(of) for pair, of in sorted(kinds.items())}}
    return found


Developed = tuple[dict[str, Any], dict[str, Any], dict[float, np.ndarray]]


def develop(data: Data, fits: Any, holds: Any) -> Developed:
    """Coefficients, scores, and the cross-validated forecasts by cut."""
    coefficients: dict[str, Any] = {"holds": {}}
    report: dict[str, Any] = {"cells": len(data.cells), "groups": len(np.unique(data.group)), "cuts": {}}
    forecasts = {}
    every = np.arange(len(data.cell))
    runs: list[tuple[np.ndarray, list[str]]] = []
    for cut in sorted(lw.forecast.model.CUTS):
        both = parts(data, cut, fits, holds)
        again = [cross_validated(data, both, SEED + 100 * repeat) for repeat in range(REPEATS)]
        # As in `Forecaster.forecast`: at most what the cut below has.
        caps = [run[0] for run in runs] or [np.ones(len(every))] * REPEATS
        runs = [(np.minimum(p, cap), chosen) for (p, chosen), cap in zip(again, caps, strict=True)]
        forecasts[cut] = np.mean([run[0] for run in runs], axis=0)
        y = both["holds"].outcome
        sets = {f"{low}–{high}": np.flatnonzero(data.bin == n) for n, (low, high) in enumerate(BINS)}
        sets = {name: rows for name, rows in sets.items() if len(rows)} | {"all": every}
        report["cuts"][str(cut)] = {name: {"cells": len(rows), "right": int(y[rows].sum())} | mean_scores(y, runs, rows)
                                    for name, rows in sets.items()}  # fmt: skip
        for name, part in both.items():
            form, penalty = part.choose(data, every, SEED)
            weights, rng = part.fit(data, form, penalty, every), np.random.default_rng(SEED)
            groups = np.unique(data.group)
            draws = []
            while len(draws) < DRAWS:
                count = np.bincount(rng.choice(groups, len(groups)), minlength=len(groups))
                rows = part.rows[count[data.group[part.rows]] > 0]
                times = part.weight[rows] * count[data.group[rows]]
                draws.append(fitted(data.matrix(form)[rows], part.outcome[rows], form, penalty, times))
            model = {
                "features": list(form),
                "penalty": penalty,
                "weights": np.round(weights, 4).tolist(),
                "draws": np.round(draws, 3).tolist(),
            }
            if name == "fits":
                coefficients["fits"] = model
            else:
                coefficients["holds"][str(cut)] = model
    coefficients |= {"cells": len(data.cells), "languages": len(np.unique(data.group)), "domain": domain_of(data)}
    coefficients["studies"] = studies_of(data)
    return coefficients, report, forecasts


def studies_of(data: Data) -> dict[str, list[str]]:
    """The record of what was fitted on: the commits of the cells, by study."""
    return {
        study: sorted({cell.commit for cell in data.cells if cell.study == study})
        for study in sorted({cell.study for cell in data.cells})
    }


def mean_scores(y: np.ndarray, runs: list[tuple[np.ndarray, list[str]]], rows: np.ndarray) -> dict[str, float]:
    """Scores of each repetition of the cross-validation, averaged."""
    each = [scores(y[rows], run[0][rows]) for run in runs]
    return {name: round(float(np.mean([one[name] for one in each])), 3) for name in each[0]}


def same_cells(
    languages: Data, forecasts: dict[float, np.ndarray], probed: Data
) -> dict[str, dict[str, dict[str, float]]]:
    """Scores by cut and lengths of the forecast without a probe, on the cells that have one."""
    members = {id(cell) for cell in probed.cells}
    inside = np.array([id(languages.cells[cell]) in members for cell in languages.cell])
    found: dict[str, dict[str, dict[str, float]]] = {}
    for cut, forecast in forecasts.items():
        y = (languages.accuracy >= cut).astype(float)
        for number, (low, high) in enumerate(BINS):
            rows = np.flatnonzero(inside & (languages.bin == number))
            found.setdefault(str(cut), {})[f"{low}–{high}"] = scores(y[rows], forecast[rows])
        rows = np.flatnonzero(inside)
        found[str(cut)]["all"] = scores(y[rows], forecast[rows])
    return found


def alone(data: Data, cut: float) -> dict[str, dict[str, float]]:
    """Each feature alone, in both parts."""
    rows = np.flatnonzero(data.bin == BINS.index(DECIDING))
    found = {}
    for name in data.values[0]:
        if len({values[name] for values in (data.values[row] for row in rows)}) > 1:
            both = parts(data, cut, [(name,)], [(name,)])
            runs = [cross_validated(data, both, SEED)]
            found[name] = mean_scores(both["holds"].outcome, runs, rows)
    return found


def compared(data: Data, cut: float, forecast: np.ndarray) -> dict[str, dict[str, Any]]:
    """The rivals on the deciding bin, on the same cells."""
    rows = np.flatnonzero(data.bin == BINS.index(DECIDING))
    y = (data.accuracy >= cut).astype(float)[rows]
    found = {}
    for name, rival in rivals(data).items():
        value = np.array([rival(row) for row in rows], dtype=float)
        found[name] = {
            "balanced accuracy": round(float(balanced_accuracy_score(y, value[:, 1] >= 0.5)), 3),
            "AUC": round(float(roc_auc_score(y, value[:, 0])), 3),
            "ours minus it": difference(data, rows, y, (forecast[rows] >= 0.5).astype(float), value[:, 1]),
        }
    return found


def reliability(p: np.ndarray, y: np.ndarray, edges: Sequence[float]) -> list[dict[str, Any]]:
    """For each step of the forecast: cells, mean forecast, and how many were right."""
    rows = []
    for low, high in itertools.pairwise(edges):
        inside = (p >= low) & ((p < high) | (high == edges[-1]))
        if inside.any():
            rows.append(
                {
                    "from": low,
                    "to": high,
                    "cells": int(inside.sum()),
                    "forecast": round(float(p[inside].mean()), 3),
                    "right": int(y[inside].sum()),
                }
            )
    return rows


def draw(path: Path, found: dict[str, list[dict[str, Any]]]) -> None:
    """The reliability diagram."""
    matplotlib.rcParams["svg.hashsalt"] = "forecast"
    figure, axis = pyplot.subplots(figsize=(4.2, 4))
    axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for name, rows in found.items():
        x, y = [row["forecast"] for row in rows], [row["right"] / row["cells"] for row in rows]
        axis.plot(x, y, marker="o", label=f"at least {name}")
        for row, at, up in zip(rows, x, y, strict=True):
            axis.annotate(str(row["cells"]), (at, up), textcoords="offset points", xytext=(6, -9), fontsize=7)
    axis.set(xlabel="forecast", ylabel="frequency", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axis.legend(loc="upper left", frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main(probes: Path | None) -> None:
    """Fit, measure, write."""
    report: dict[str, Any] = {}
    coefficients: dict[str, Any] = {}
    languages = language_data()
    found = {"language": (languages, LANGUAGE_FITS, LANGUAGE_HOLDS), "task": (task_data(), TASK_FITS, TASK_HOLDS)}
    if probes is not None and (probed := with_probes(languages, probes)) is not None:
        found["language with probe"] = (probed, PROBE_FITS, PROBE_HOLDS)
        report["probes"] = probe_counts(probes)
    without: dict[float, np.ndarray] = {}
    for kind, (data, fits, holds) in found.items():
        coefficients[kind], report[kind], forecasts = develop(data, fits, holds)
        if kind == "language":
            without = forecasts
        if kind == "language with probe":
            report[kind]["without"] = same_cells(languages, without, data)
        edges = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
        steps = {
            str(cut): reliability(forecasts[cut], (data.accuracy >= cut).astype(float), edges)
            for cut in lw.forecast.model.CUTS
        }
        report[kind]["reliability"] = steps
        coefficients[kind]["reliability"] = steps
        if kind.startswith("language"):
            report[kind]["rivals"] = {str(cut): compared(data, cut, forecasts[cut]) for cut in lw.forecast.model.CUTS}
            report[kind]["alone"] = {str(cut): alone(data, cut) for cut in lw.forecast.model.CUTS}
            rows = np.flatnonzero(data.bin == BINS.index(DECIDING))
            y = (data.accuracy >= 0.95).astype(float)
            wrong = rows[np.argsort(-abs(y - forecasts[0.95])[rows])][:12]
            report[kind]["worst"] = [
                [
                    f"`{data.cells[data.cell[row]].target}`".replace("|", "\\|"),
                    data.cells[data.cell[row]].system,
                    f"{forecasts[0.95][row]:.2f}",
                    "not fitted" if math.isnan(data.accuracy[row]) else f"{data.accuracy[row]:.2f}",
                ]
                for row in wrong
            ]
    deciding = np.flatnonzero(languages.bin == BINS.index(DECIDING))
    for name, chosen in (
        ("counting", lambda values: values["plain"] and values["counting"]),
        ("heard", lambda values: values["heard"]),
    ):
        rows = [row for row in deciding if chosen(languages.values[row])]
        report[name] = {"cells": len(rows), "right": int((languages.accuracy[rows] >= 0.95).sum())}
    report |= {"repeats": REPEATS, "inner": INNER, "farthest": evidence.FARTHEST}
    report["models"] = {
        kind: {"fits": values["fits"]} | {f"right at M, {cut}": model for cut, model in values["holds"].items()}
        for kind, values in coefficients.items()
    }
    for kind in report["models"].values():
        for name, model in kind.items():
            kind[name] = {key: value for key, value in model.items() if key != "draws"}
    lw.core.files.write_json(lw.forecast.model.FILE, coefficients, dense=True)
    lw.core.files.write_json(HERE / "development.json", report)
    draw(HERE / "reliability.svg", report["language"]["reliability"])
    page.write()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    probed = HERE / "results" / "forecast" / "probes"
    arguments.add_argument("--probes", type=Path, default=probed, help="folder with results of probes.py")
    main(arguments.parse_args().probes)
