"""Predictors against cells: numbers worked out by hand, and a slow oracle for the bootstrap and the AUC."""

from __future__ import annotations

from itertools import product
from operator import mul
from typing import Any

import comparison as compare
import numpy as np
import pytest
from comparison import BOOTSTRAP, counts, our_answers, reliability
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.rng import stream
from lengthwise.experiments.blind.study import cell_score, is_right

CELLS = [("a", "nope"), ("a", "ape"), ("b", "nope"), ("b", "ape"), ("c", "nope"), ("c", "ape")]


def test_accuracies_by_hand() -> None:
    measured = dict(zip(CELLS, (True, True, True, False, False, True), strict=True))
    answers = dict(zip(CELLS, (True, True, False, False, False, True), strict=True))
    found = compare.accuracies(answers, measured)
    assert (found["cells"], found["right"]) == (6, 5)
    assert found["generalizing"] == {"cells": 4, "right": 3}
    assert found["not_generalizing"] == {"cells": 2, "right": 2}
    assert found["balanced_accuracy"] == 0.875
    low, high = found["balanced_accuracy_interval"]
    assert low < 0.875 <= high <= 1
    always = compare.accuracies(dict.fromkeys(CELLS, True), measured)
    assert always["balanced_accuracy"] == 0.5
    nothing = compare.accuracies(answers, {})
    assert (nothing["cells"], nothing["balanced_accuracy"], nothing["accuracy_interval"]) == (0, None, None)


def test_mcnemar_by_hand() -> None:
    measured = dict.fromkeys(CELLS, True)
    ours = dict.fromkeys(CELLS, True)
    rival = dict(zip(CELLS, (False, False, False, False, False, True), strict=True))
    found = compare.mcnemar(ours, rival, measured)
    assert (found["only_ours"], found["only_rival"]) == (5, 0)
    assert found["p"] == 0.062  # 2 / 2**5, to two digits
    assert compare.mcnemar(ours, ours, measured)["p"] == 1
    split = compare.mcnemar(ours, rival, {**measured, CELLS[0]: False})
    assert (split["only_ours"], split["only_rival"]) == (4, 1)
    assert split["p"] == 0.38  # 2 * (1 + 5) / 2**5


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.booleans()), max_size=10))
def test_cells_of_one_language_are_won_or_lost_together(values: list[tuple[int, bool, bool]]) -> None:
    """Against all ways in which the margins of the languages could have had other signs."""
    cells = [(str(language), str(place)) for place, (language, _, _) in enumerate(values)]
    ours, rival = ({cell: value[at] for cell, value in zip(cells, values, strict=True)} for at in (1, 2))
    margins = [
        sum(one - other for (name, _), (_, one, other) in zip(cells, values, strict=True) if name == language)
        for language in sorted({name for name, _ in cells})
    ]
    flips = [sum(map(mul, margins, signs)) for signs in product((1, -1), repeat=len(margins))]
    share = sum(abs(total) >= abs(sum(margins)) for total in flips) / len(flips)
    assert compare.mcnemar(ours, rival, dict.fromkeys(cells, True))["p_languages"] == float(f"{share:.2g}")


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=12))
def test_auc_is_the_share_of_pairs(values: list[tuple[int, bool]]) -> None:
    scores = {(str(place), "ape"): float(score) for place, (score, _) in enumerate(values)}
    measured = {(str(place), "ape"): flag for place, (_, flag) in enumerate(values)}
    pairs = [(scores[one], scores[two]) for one in scores for two in scores if measured[one] and not measured[two]]
    wanted = sum((high > low) + (high == low) / 2 for high, low in pairs) / len(pairs) if pairs else None
    found = compare.auc(scores, measured)
    assert found["auc"] == (None if wanted is None else pytest.approx(wanted, abs=1e-4))
    if wanted is not None:
        low, high = found["auc_interval"]
        assert 0 <= low <= high <= 1


def test_the_interval_of_auc_resamples_languages() -> None:
    """By hand: each language is drawn as often as in the bootstrap samples, and its cells are repeated so often."""
    names = ["x", "x", "y", "z", "w"]
    scores = {(name, str(place)): value for place, (name, value) in enumerate(zip(names, (3, 1, 2, 1, 2), strict=True))}
    measured = dict(zip(scores, (True, False, True, False, False), strict=True))
    found = compare.auc(scores, measured)
    values = []
    for draw in stream(0, "blind", "bootstrap").multinomial(4, [0.25] * 4, size=BOOTSTRAP):
        times = dict(zip(("w", "x", "y", "z"), draw, strict=True))
        pairs = [
            (scores[one], scores[two], times[one[0]] * times[two[0]])
            for one in scores
            for two in scores
            if measured[one] and not measured[two]
        ]
        total = sum(weight for *_, weight in pairs)
        if total:
            values.append(sum(w * ((a > b) + (a == b) / 2) for a, b, w in pairs) / total)
    assert found["auc_interval"] == pytest.approx(np.percentile(values, [2.5, 97.5]).tolist(), abs=1e-4)


def _seed(fitted: bool, uniform: float, adversarial: float | None) -> dict[str, Any]:
    sets = {"uniform": {"rate": uniform}, **({} if adversarial is None else {"adversarial": {"rate": adversarial}})}
    return {"fitted": fitted, "sets": {"101-150": sets}}


def test_the_score_is_the_median_of_the_lower_sets_of_fitted_seeds() -> None:
    seeds = [_seed(True, 1.0, 0.2), _seed(True, 0.6, 0.9), _seed(True, 0.9, 0.8), _seed(False, 0.0, 0.0)]
    assert cell_score(seeds) == 0.6
    assert cell_score(seeds, words="uniform") == 0.9
    assert cell_score(seeds, words="adversarial") == 0.8
    assert cell_score([_seed(True, 0.75, None)]) == 0.75
    assert cell_score([_seed(False, 1.0, 1.0)]) is None
    assert [is_right("yes", 0.7, 0.7), is_right("no", 0.7, 0.7), is_right("unknown", 1.0, 0.7)] == [True, False, None]


def test_undecided_cells_are_counted_by_what_was_predicted() -> None:
    def row(encoding: str, predicted: str, status: str, right: bool | None) -> dict[str, Any]:
        return {"language": "x", "encoding": encoding, "predicted": predicted, "status": status, "right": right}

    rows = [
        row("ape", "yes", "decided", True), row("ape", "yes", "decided", False), row("nope", "no", "not fitted", None),
        row("nope", "no", "not run", None),
    ]  # fmt: skip
    assert counts(rows) == {
        "yes": {"cells": 2, "decided": 2, "right": 1, "not fitted": 0, "not run": 0},
        "no": {"cells": 2, "decided": 0, "right": 0, "not fitted": 1, "not run": 1},
    }
    assert reliability(rows)["nope"]["no"] == {"cells": 2, "decided": 0, "right": 0, "not run": 1}
    assert our_answers(rows[:1]) == {("x", "ape"): True}
