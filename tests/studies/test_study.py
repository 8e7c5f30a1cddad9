"""Studies: results that are reused, the windows of positional-products, the published table."""

import look_back  # noqa: F401
import numpy as np
import pytest
import torch
from positional_products import (
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

from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.experiments import recipes as _recipes  # noqa: F401
from lengthwise.experiments.recipe import RECIPES, Study
from lengthwise.experiments.run import run_study
from lengthwise.experiments.run_directory import run_directory


def test_a_finished_study_is_not_run_again(tmp_path):
    calls = []

    def count(preset, seed, report):
        calls.append((preset, seed))
        return {"rows": [{"value": seed}]}

    def run(seed):
        return run_study(counting, seed, run_directory(tmp_path, "counting", counting, seed))

    counting = Study("counting", count, "quick")
    assert run(3).rows == [{"value": 3}]
    assert run(3) == run(3)
    assert run(4).rows == [{"value": 4}]
    assert calls == [("quick", 3), ("quick", 4)]
    path, other = (run_directory(tmp_path, "counting", counting, seed) / "study.json" for seed in (3, 4))
    path.write_bytes(other.read_bytes())
    with pytest.raises(LengthwiseError, match=r"is of .*, 4\), not .*, 3\); delete it and run again"):
        run(3)
    path.write_text(path.read_text().replace('"value": 4', '"value": 5'))
    with pytest.raises(LengthwiseError, match="its content does not fit its digest"):
        run(3)
    path.write_text("{")
    with pytest.raises(LengthwiseError, match="damaged"):
        run(3)
    with pytest.raises(UnknownNameError, match="unknown preset 'slow'"):
        RECIPES.make("planted-theory", "slow")


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
        assert [system.name for system in recipe.jobs][:2] == ["learned, t = 1", "NoPE, t = 1"]
        for system in recipe.jobs:
            experiment = system.experiment
            longest = max(experiment.evaluation.lengths)
            batch = experiment.task.batch(longest, 1, np.random.default_rng(0))
            experiment.scheme.assign(batch.places, experiment.task.levels, np.random.default_rng(0))
