"""Recipes whose settings were fixed beforehand: new seeds, ids that suffice, sizes that compare, a queue that runs."""

from __future__ import annotations

import json
from pathlib import Path

import keep
import pytest
from alternation_depth import DEPTHS, alternation
from blind_draw import languages_of_variants
from fixed_beforehand import SEEDS
from preregister import read_languages
from table_parts import results

from lengthwise.experiments import recipes as _recipes  # noqa: F401
from lengthwise.experiments.blind.ladder import VARIANTS
from lengthwise.experiments.recipe import RECIPES
from lengthwise.experiments.run import check_ids
from lengthwise.experiments.run_config import RunConfig
from lengthwise.languages.automaton import language
from lengthwise.models.build import build_model

ROOT = Path(__file__).parents[2]
FIXED = (
    "golowich-sparse-parity", "golowich-parity", "golowich-assignment", "golowich-ablations", "alternation-depth",
    "look-back",
)  # fmt: skip


QUEUE = json.loads((ROOT / "studies" / "golowich" / "queue.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", FIXED)
def test_every_system_has_the_new_seeds(name: str) -> None:
    jobs = RECIPES.make(name, "standard").jobs
    assert {job.seeds for job in jobs} == {SEEDS}
    assert all(job.candidates.needed == 4 for job in jobs if len(job.works) > 1)


@pytest.mark.parametrize("name", FIXED)
def test_ids_reach_the_longest_string(name: str) -> None:
    for job in RECIPES.make(name, "standard").jobs:
        for experiment in job.candidates.configs:
            check_ids(experiment, SEEDS[0])


def _parameters(experiment: RunConfig) -> int:
    return build_model(
        experiment.task, experiment.scheme, experiment.encoding, experiment.model, seed=0
    ).parameter_count


def test_replacements_have_as_many_parameters_as_ppc() -> None:
    jobs = {job.name: job.experiment for job in RECIPES.make("golowich-assignment", "standard").jobs}
    wanted = _parameters(jobs["scratchpad + PPC"])
    for name in ("scratchpad + absolute shift", "scratchpad + RoPE + PoSE"):
        assert _parameters(jobs[name]) == pytest.approx(wanted, rel=0.05)


def test_replacements_are_measured_as_far_as_ppc() -> None:
    for recipe, last in (("golowich-parity", 200), ("golowich-assignment", 400)):
        for job in RECIPES.make(recipe, "standard").jobs:
            assert max(job.experiment.evaluation.lengths) >= last


def test_words_of_alternation() -> None:
    """k blocks, so k − 1 switches, each a or b at least once."""
    for k in range(1, 8):
        dfa = language(alternation(k), "ab")
        word = "".join("ab"[i % 2] * (i + 1) for i in range(k))
        assert dfa.accepts(word)
        assert k == 1 or not dfa.accepts(word[:-k])
        assert not dfa.accepts(word + "ab")
    names = [job.name for job in RECIPES.make("alternation-depth", "standard").jobs]
    assert names == [f"d = {d}, k = {d + more}" for d in DEPTHS for more in (2, 3)]
    for job in RECIPES.make("alternation-depth", "standard").jobs:
        depth = int(job.name[4])
        assert {e.model.layers for e in job.candidates.configs} == {depth}


@pytest.mark.parametrize("item", QUEUE, ids=lambda item: item["name"])
def test_every_training_of_the_queue_exists(item: dict) -> None:
    words = item["command"]
    options = {"--only": [], "--encoding": [], "--preset": [], "--languages": [], "--out": []}
    for option, value in zip(words[2::2], words[3::2], strict=True):
        options[option].append(value)
    if words[0] == "run":
        recipe = RECIPES.make(words[1], *options["--preset"]).selected(options["--only"], options["--encoding"])
        assert recipe.jobs
    else:
        assert words[:2] == ["blind", "run"]
        recipe, rest = keep.parts(options["--languages"][0])  # of when all were in results/
        assert read_languages(results(recipe) / rest)
        assert set(options["--encoding"]) <= set(VARIANTS)


@pytest.mark.slow
def test_the_list_of_languages_is_what_the_code_draws() -> None:
    drawn = [item.expression for item in languages_of_variants()]
    assert read_languages(ROOT / "studies" / "golowich" / "results" / "variants" / "languages.txt") == drawn
