"""Recipes whose settings were fixed beforehand: new seeds, ids that suffice, sizes that compare, a queue that runs."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import filelock
import pytest
from alternation_depth import DEPTHS, alternation
from blind_draw import languages_of_variants
from fixed_beforehand import SEEDS
from preregister import read_languages

from lengthwise.experiments import recipes as _recipes  # noqa: F401
from lengthwise.experiments.blind.variants import VARIANTS
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


def _queue() -> ModuleType:
    spec = importlib.util.spec_from_file_location("queue_of_results", ROOT / "studies" / "training_queue.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


QUEUE = _queue()


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


@pytest.mark.parametrize("item", QUEUE.items(), ids=lambda item: item["name"])
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
        assert read_languages(ROOT / options["--languages"][0])
        assert set(options["--encoding"]) <= set(VARIANTS)


def test_the_queue_names_no_training_twice() -> None:
    assert len({QUEUE.key(item) for item in QUEUE.items()}) == len(QUEUE.items())


def test_the_queue_runs_and_keeps_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for the command: a failure does not stop it, what is done is not run again."""
    for name in ("ROOT", "RESULTS", "RUNS"):
        monkeypatch.setattr(QUEUE, name, tmp_path / {"ROOT": "", "RESULTS": "results", "RUNS": "runs"}[name])
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(QUEUE, "DONE", tmp_path / "results" / "queue-done.jsonl")
    items = [{"name": name, "minutes": 1, "command": ["run", name]} for name in ("one", "fails", "two")]
    monkeypatch.setattr(QUEUE, "items", lambda: items)
    stand_in = tmp_path / "python"
    stand_in.write_text(
        f'#!{sys.executable}\nimport pathlib, sys\nname = sys.argv[4]\nsys.exit(1) if name == "fails" else None\n'
        'folder = pathlib.Path("runs", name, "hash")\nfolder.mkdir(parents=True)\n'
        '(folder / "result.json").write_text(name)\n'
    )
    stand_in.chmod(0o755)
    monkeypatch.setattr(QUEUE.sys, "executable", str(stand_in))
    QUEUE.run(1)
    assert {json.loads(line)["name"] for line in QUEUE.DONE.read_text().splitlines()} == {"one", "two"}
    assert (tmp_path / "results" / "two" / "hash" / "result.json").read_text() == "two"
    kept = tmp_path / "results" / "one" / "hash" / "result.json"
    kept.write_text("committed")
    QUEUE.run(1)
    assert kept.read_text() == "committed"
    assert len(QUEUE.DONE.read_text().splitlines()) == 2

    three = [*items, {"name": "three", "minutes": 1, "command": ["run", "three"]}]
    monkeypatch.setattr(QUEUE, "items", lambda: three)
    with filelock.FileLock(QUEUE.lock_of(three[-1])):
        QUEUE.run(1)
        assert not (tmp_path / "results" / "three").exists(), "another process is at work on it"
    QUEUE.run(1)
    assert (tmp_path / "results" / "three").exists()


@pytest.mark.slow
def test_the_list_of_languages_is_what_the_code_draws() -> None:
    drawn = [item.expression for item in languages_of_variants()]
    assert read_languages(ROOT / "results" / "variants" / "languages.txt") == drawn
