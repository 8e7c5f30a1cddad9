"""Studies: results that are reused, the windows of positional-products, the published table."""

import numpy as np
import pytest
import torch

from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.experiments import recipes as _recipes  # noqa: F401
from lengthwise.experiments.recipe import RECIPES
from lengthwise.experiments.recipes.positional_products import (
    POSITIONS,
    TARGET,
    WIDTHS,
    extrapolates,
    fit,
    pair_weights,
    published,
    relations,
    zero_error,
)
from lengthwise.experiments.study import STUDIES, Study, run_study


def test_a_finished_study_is_not_run_again(tmp_path, monkeypatch):
    calls = []

    def count(preset, seed, report):
        calls.append((preset, seed))
        return {"rows": [{"value": seed}]}

    monkeypatch.setitem(STUDIES, "counting", Study("counting", "counts its calls", count))
    path, result, reused = run_study("counting", "quick", 3, tmp_path)
    assert (result["rows"], reused) == ([{"value": 3}], False)
    assert run_study("counting", "quick", 3, tmp_path)[2]
    assert run_study("counting", "quick", 4, tmp_path)[0] != path
    assert calls == [("quick", 3), ("quick", 4)]
    path.write_text("{")
    with pytest.raises(LengthwiseError, match="damaged"):
        run_study("counting", "quick", 3, tmp_path)
    with pytest.raises(UnknownNameError, match="unknown preset 'slow'"):
        run_study("counting", "slow", 3, tmp_path)


def test_weights_are_counts_of_windows():
    index = torch.arange(POSITIONS)
    offsets = [0, 0, 7, 150]
    weights = pair_weights(torch.tensor(offsets), index[:, None] - index[None, :])
    counted = np.zeros((POSITIONS, POSITIONS))
    for offset in offsets:
        for query in range(offset, offset + 50):
            counted[query, offset : query + 1] += 1
    assert np.array_equal(weights.numpy(), counted)


def test_the_relations_are_those_of_the_table():
    distance = np.arange(60)
    holds = {relation.name: set(distance[relation.holds(distance)]) for relation in relations("full")}
    assert holds["j = i-5"] == {5}
    assert holds["j > i-5"] == {0, 1, 2, 3, 4}
    assert holds["i-j mod 5 = 2"] == set(range(2, 60, 5))
    assert holds["i-j prime"] == {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59}
    assert min(holds["j < i-25"]) == 26


def test_the_threshold_splits_the_published_table():
    table = published()
    for relation in relations("full"):
        for width in WIDTHS:
            last = table[relation.published][f"d{width}"][-1]
            assert extrapolates(relation, last) == relation.extrapolates[width], (relation.name, width)


def test_the_error_of_zero_is_the_share_of_true_pairs():
    neighbour, mod = relations("quick")[0], relations("quick")[2]
    assert zero_error(neighbour, 150) == pytest.approx(TARGET**2 * 149 / (150 * 151 / 2))
    assert zero_error(mod, 3) == pytest.approx(TARGET**2 * 3 / 6)


def test_fitting_beats_the_constant():
    """A hundred steps are enough to fit a periodic relation better than always answering with the mean."""
    mod = relations("quick")[2]
    before = fit([mod.holds], 32, 0, 0)[0][0]
    after = fit([mod.holds], 32, 400, 0)[0][0]
    assert after < before
    assert after < TARGET**2 * (1 / 3) * (2 / 3)


def test_look_back_is_a_recipe_with_room_for_its_longest_test():
    for preset in ("quick", "standard", "full"):
        recipe = RECIPES.make("look-back", preset)
        assert [system.name for system in recipe.systems][:2] == ["learned, t = 1", "NoPE, t = 1"]
        for system in recipe.systems:
            experiment = system.experiment
            longest = max(experiment.evaluation.lengths)
            batch = experiment.task.batch(longest, 1, np.random.default_rng(0))
            experiment.scheme.assign(batch.places, experiment.task.levels, np.random.default_rng(0))
