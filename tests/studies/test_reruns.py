"""One cheap row of each study, trained again: the same bits where the machine is of the same kind, else close.

Each row is one command, `lengthwise run studies/…`. The results say with which processor and which torch they were
made; on another, or where the trainer has since ordered its sums otherwise, a share of right strings may differ.
"""

from __future__ import annotations

import platform
import shutil
from pathlib import Path
from typing import Any

import pytest
from table_parts import results

import lengthwise as lw
from lengthwise.cli.main import main
from lengthwise.core.config import canonical_json
from lengthwise.core.files import read_json
from lengthwise.core.result_file import result_files
from lengthwise.experiments.blind.run import run_cell
from lengthwise.experiments.blind.study import read_study
from lengthwise.experiments.run_config import RunConfig

ROOT = Path(__file__).parents[2]
ROWS = {
    "arithmetic": (
        "arithmetic/automatic_coupling.py:automatic_coupling",
        "quick",
        "parity-scratchpad, hand-made, offset one",
        16,
    ),
    "forecast": ("forecast/modulo.py:modulo", "standard", "(aa|b)* modulo 2", None),
    "golowich": ("golowich/golowich_assignment.py:golowich_ablations", "standard", "RoPE on coupled ids", 103),
    "huang": ("huang/huang.py:huang", "standard", "bin_majority, nope", None),
    "methods": ("methods/method_matrix.py:method_matrix", "standard", "majority, nope", None),
}
"""Recipe, preset, system, and the seed where each seed trained alone; seeds of a stack train together."""
CLOSE = 0.1
"""Shares of right strings of one seed on another kind of machine differ by so much at most, at training lengths."""


@pytest.mark.parametrize("study", ROWS)
def test_a_row_is_still_what_was_trained(study: str) -> None:
    recipe, preset, system, seed = ROWS[study]
    found = lw.recipe(ROOT / "studies" / recipe, preset=preset, only=[system])
    committed = {_run(r) for r in map(read_json, result_files(results(found.name))) if r["system"] == system}
    again = {
        (number, canonical_json(work.to_json()))
        for job in found.jobs
        for work in job.works
        for number in (job.seeds if seed is None else (seed,))
    }
    assert committed & again, "the settings of the recipe are no longer those of the committed results"


@pytest.mark.slow
@pytest.mark.parametrize("study", ROWS)
def test_a_row_trained_again(study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, preset, system, seed = ROWS[study]
    monkeypatch.chdir(ROOT)
    chosen = ["--only", system] + ([] if seed is None else ["--seed", str(seed)])
    command = ["run", f"studies/{recipe}", "--preset", preset, "--threads", "1", "--out", str(tmp_path), *chosen]
    assert main(command) == 0
    again = {_run(result): result for result in map(read_json, result_files(tmp_path))}
    name = next(iter(again.values()))["recipe"]
    committed = [r for r in map(read_json, result_files(results(name))) if r["system"] == system]
    pairs = [(old, again[_run(old)]) for old in committed if _run(old) in again]
    assert pairs, "the settings of the recipe are no longer those of the committed results"
    for old, new in pairs:
        assert new["fitted"] == old["fitted"]
        if _kind(old) == _kind(new):
            assert [_counts(score) for score in new["scores"]] == [_counts(score) for score in old["scores"]]
        assert _share(new["in_distribution"]) == pytest.approx(_share(old["in_distribution"]), abs=CLOSE)


def _run(result: dict[str, Any]) -> tuple[int, str]:
    """Seed and configuration, with the fields that older results do not name."""
    return result["seed"], canonical_json(RunConfig.from_json(result["experiment"]).to_json())


def _kind(result: dict[str, Any]) -> tuple[Any, ...]:
    machine = result["machine"]
    return machine.get("processor"), machine.get("torch"), machine.get("threads"), platform.machine()


def _share(score: dict[str, Any]) -> float:
    return score["correct"]["exact_match"] / score["n"]


def _counts(score: dict[str, Any]) -> tuple[Any, ...]:
    return score["length"], score["n"], score["correct"]["exact_match"]


@pytest.mark.slow
def test_the_theory_of_planted_correlations_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    study = "studies/theory/planted_theory.py:planted_theory"
    assert main(["run", study, "--preset", "quick", "--threads", "1", "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.rglob("study.json")
    new, old = read_json(path), read_json(results("planted-theory") / "quick" / "study.json")
    what = ("figure", "learner", "k", "as_expected")
    assert [[row.get(name) for name in what] for row in new["rows"]] == [
        [row.get(name) for name in what] for row in old["rows"]
    ]
    if _kind(old) == _kind(new):
        assert new["rows"] == old["rows"]


@pytest.mark.slow
def test_a_cell_of_the_blind_study_again(tmp_path: Path) -> None:
    """The cell is taken out of a copy of the study, and trained as `blind_study.py run` trains it."""
    copy = shutil.copytree(results("blind"), tmp_path / "blind")
    path = copy / "cells" / "blind-01-nope-rung1.json"
    old = read_json(path)
    path.unlink()
    study = read_study(copy)
    entry = next(entry for entry in study.entries() if entry.name == "blind-01")
    run_cell(study, "languages", entry, "nope", tmp_path / "work", lambda event: None)
    new = read_json(path)
    assert [seed["fitted"] for seed in new["seeds"]] == [seed["fitted"] for seed in old["seeds"]]
    rights = [[[words["right"] for words in s.values()] for s in seed["sets"].values()] for seed in old["seeds"]]
    again = [[[words["right"] for words in s.values()] for s in seed["sets"].values()] for seed in new["seeds"]]
    assert again == rights or _kind(old) != _kind(new)
