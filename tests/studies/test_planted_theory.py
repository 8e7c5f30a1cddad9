"""The study and its figure: what theory says is what the rows show; found couplings enter the recipe unchanged."""

from __future__ import annotations

import importlib
import re
from typing import Any

import automatic_coupling
import numpy as np
import planted_theory
import pytest
from theory_figure import draw_theory

from lengthwise.core.rng import stream
from lengthwise.experiments.engine import sweep
from lengthwise.experiments.recipe import RECIPES
from lengthwise.positions.structure import reach


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        importlib.reload(planted_theory)  # another test may have registered the recipe from its path
        patch.setitem(planted_theory._REPEATS, "quick", 1)
        patch.setitem(planted_theory._LENGTHS, "quick", (16, 32))
        patch.setattr(planted_theory, "_KS", (1, 2))
        patch.setitem(planted_theory._GROWTH, "quick", (8, 32))
        patch.setattr(planted_theory, "_STRINGS", (60, 3000))
        done = sweep(RECIPES.make("planted-theory", "quick"), tmp_path_factory.mktemp("study"))
    ((result,),) = done.results
    return result.to_json()


def test_locality_coupling_and_coverage_stay_exact_and_the_others_fail(result: dict[str, Any]) -> None:
    rows = {row["learner"]: row for row in result["rows"] if row["figure"] == "length"}
    exact = {name for name, row in rows.items() if row["error"]["32"] == 0}
    assert exact == {"local", "non-local with PoSE", "far with coupling"}
    assert {name for name, row in rows.items() if row["expected"] == "exact"} == exact
    for row in rows.values():
        assert row["as_expected"]
        assert row["error"]["16"] == 0
        assert (row["settled"][-1] == 1) == (row["error"]["32"] == 0)
    assert rows["local"]["unseen"] == 0
    assert rows["non-local"]["unseen"] > 500


def test_more_strings_close_the_gap_and_rows_are_counts(result: dict[str, Any]) -> None:
    rows = {(row["k"], row["trained_on"]): row for row in result["rows"] if row["figure"] == "k"}
    assert set(rows) == {(1, 60), (1, 3000), (2, 60), (2, 3000)}
    for (k, strings), row in rows.items():
        assert row["as_expected"]
        for error, (low, high) in zip(row["error"].values(), row["spread"], strict=True):
            assert 0 <= low <= error <= high <= 1
            assert error * 200 * 20 == pytest.approx(round(error * 200 * 20)), "a share of whole evaluations"
        if strings == 3000:
            assert row["unseen"] == 0, k


def test_a_small_error_grows_below_its_bound(result: dict[str, Any]) -> None:
    rows = [row for row in result["rows"] if row["figure"] == "growth"]
    assert [row["k"] for row in rows] == [1, 2, 3]
    for row in rows:
        assert 0 < row["error"]["8"] < row["error"]["32"] <= row["bound"][-1]
        assert row["heuristic"][0] == pytest.approx(row["error"]["8"])


def test_the_figure_names_every_learner_and_k(result: dict[str, Any]) -> None:
    drawing = draw_theory(result["rows"]).svg()
    text = re.sub(r"<[^>]+>", " ", drawing)
    for name in (*{row["learner"] for row in result["rows"] if row["figure"] == "length"}, "k = 3", "Theorem B"):
        assert name in text
    assert drawing.startswith("<svg")
    assert draw_theory(result["rows"]).svg() == drawing, "the same rows give the same bytes"


def test_panels_without_rows_stay_empty() -> None:
    plots = draw_theory([]).axes
    assert [len(plot.get_lines()) for plot in plots] == [0, 0, 0]


def test_it_is_a_study() -> None:
    assert not RECIPES.make("planted-theory", "quick").trains


@pytest.mark.slow
def test_found_places_are_local_at_the_longest_test() -> None:
    """The recipe differs in places only, and under the found ones every span is 1 far beyond the training lengths."""
    recipe = RECIPES.make("automatic-coupling", "quick")
    systems = {system.name: system for system in recipe.jobs}
    assert len(systems) == 9
    for name in automatic_coupling.TASKS_WITH_PLACES:
        by_hand, found = systems[f"{name}, hand-made"].experiment, systems[f"{name}, found"].experiment
        assert found.edited([]).to_json() | {"task": 0} == by_hand.to_json() | {"task": 0}
        longest = max(found.evaluation.lengths)
        one, two = (e.task.batch(longest, 8, stream(0, name)) for e in (by_hand, found))
        assert np.array_equal(one.input_ids, two.input_ids)
        assert not np.array_equal(one.places, two.places)
        assert reach(two, two.parents, two.places).span == 1
        found.scheme.assign(two.places, found.task.levels, stream(1))
    # Of the two rules for parity the published one is the found one, token by token, ends included.
    by_hand = systems["parity-scratchpad, hand-made, offset one"].experiment
    found = systems["parity-scratchpad, found"].experiment
    assert found.to_json() | {"task": 0} == by_hand.to_json() | {"task": 0}
    for length in (1, 2, *by_hand.evaluation.lengths):
        one, two = (e.task.batch(length, 8, stream(0, "parity")) for e in (by_hand, found))
        assert np.array_equal(one.input_ids, two.input_ids)
        assert np.array_equal(one.places, two.places)
