"""The 25 tasks: cells as published, verdicts computed, rules of the table, and the search within a cell."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from agreement import cell, confusion
from huang_cells import (
    ALGORITHMIC,
    ENCODINGS,
    FORMAL,
    PERIODIC_OR_LOCAL,
    Range,
    Size,
    cell_experiment,
    search,
    table_size,
    task_of,
)
from huang_published import PUBLISHED
from huang_table import build_table, predicted, summary

import lengthwise.experiments.recipes  # noqa: F401
from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.core.files import write_json
from lengthwise.core.rng import stream
from lengthwise.evaluation.config import EvaluationConfig
from lengthwise.experiments.engine import sweep
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import RECIPES, Candidates, Job, Recipe
from lengthwise.languages.named import LANGUAGES

# The paper's own table of which tasks have a program: with learned positions, without positions.
THEORY = {
    "bin_majority": (True, True),
    "majority": (True, True),
    "bin_majority_interleave": (True, False),
    "sort": (True, True),
    "unique_copy": (True, False),
    "repeat_copy": (False, False),
    "parity": (False, False),
    "addition": (False, False),
    **{name: (entry.published_ape, entry.published_nope) for name, entry in LANGUAGES.items()},
}


@pytest.mark.parametrize("name", [*ALGORITHMIC, *FORMAL])
def test_computed_verdicts_are_the_published_ones(name: str) -> None:
    found = tuple(predicted(task_of(name), encoding) for encoding in ("ape", "nope"))
    assert found == tuple("yes" if answer else "no" for answer in THEORY[name])


def test_positions_are_needed_where_the_verdicts_say_so() -> None:
    assert {name for name in FORMAL if THEORY[name] == (True, False)} == set(PERIODIC_OR_LOCAL)


def test_fifty_cells_by_default_and_others_by_name() -> None:
    recipe = RECIPES.make("huang", "standard")
    chosen = recipe.selected([], [])
    assert {(s.task, s.positions) for s in chosen.jobs} == {
        (task, encoding) for task in (*ALGORITHMIC, *FORMAL) for encoding in ("nope", "ape")
    }
    assert all(len(system.seeds) >= 3 for system in chosen.jobs)
    assert [s.name for s in recipe.selected(["(aa)*"], []).jobs] == ["(aa)*, nope", "(aa)*, ape"]
    assert [s.name for s in recipe.selected(["(aa)*"], ["rope", "ape"]).jobs] == ["(aa)*, ape", "(aa)*, rope"]
    assert [s.name for s in recipe.selected(["parity, ape+reg"], []).jobs] == ["parity, ape+reg"]
    with pytest.raises(UnknownNameError, match="encoding of recipe 'huang' 'ropes'"):
        recipe.selected([], ["ropes"])
    with pytest.raises(LengthwiseError, match="no system of these names"):
        recipe.selected(["parity, ape"], ["nope"])


def test_all_cells_follow_one_protocol() -> None:
    for preset in ("standard", "full"):
        for system in RECIPES.make("huang", preset).jobs:
            for experiment in system.candidates.configs:
                assert experiment.evaluation.bins == ((51, 100), (101, 150))
                assert experiment.evaluation.samples == 2000
                assert experiment.evaluation.fit_threshold == 0.995
                assert experiment.training.max_length == 50
                assert experiment.training.stacked
                assert not experiment.evaluation.unfitted_too
            assert experiment.scheme.for_evaluation() == dataclasses.replace(experiment.scheme, random_start=False)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_full_search_is_long_enough_for_a_cell_without_fit(encoding: str) -> None:
    sizes = search("parity", full=True, encoding=encoding)
    assert len(set(sizes)) == len(sizes) == 54
    assert all(size.steps == 30_000 for size in sizes)


@pytest.mark.parametrize("name", ALGORITHMIC)
@pytest.mark.parametrize("length", [6, 30, 48])
def test_offsets_are_the_published_ones(name: str, length: int) -> None:
    task = task_of(name)
    tokens = task.batch(length, 1, stream(0, "offsets")).tokens
    largest = table_size(name, Range()) - tokens
    expected = {"unique_copy": 2, "repeat_copy": 2, "sort": 2}.get(name, 1) * (150 - length)
    assert largest == (300 - tokens if name == "addition" else expected)


@pytest.mark.parametrize("name", [*ALGORITHMIC, *FORMAL])
@pytest.mark.parametrize("trained", [20, 50])
def test_the_longest_test_string_fits_the_table(name: str, trained: int) -> None:
    span, task = Range(trained, 4), task_of(name)
    longest = task.lengths(*span.bins[1])[-1]
    assert all(task.batch(longest, 1, stream(seed, "fits")).tokens <= table_size(name, span) for seed in range(8))


def result(
    *,
    seed: int = 0,
    fitted: bool = True,
    low: float = 1.0,
    high: float = 1.0,
    hard: float | None = None,
    steps: int = 3000,
    width: int = 32,
    parameters: int = 1000,
) -> dict[str, Any]:
    def score(start: int, rate: float, **axes: int) -> dict[str, Any]:
        return {
            "length": 2 * start, "n": 1000, "correct": {"exact_match": round(1000 * rate)}, "tokens": 9,
            "tokens_total": 10, "axes": {"low": start, "high": start + 49, **axes},
            "test_set": "adversarial" if axes else "uniform",
        }  # fmt: skip

    scores = [score(51, low), score(101, high)]
    if hard is not None:
        scores += [score(51, hard, adversarial=1), score(101, hard, adversarial=1)]
    return {
        "format": 1, "recipe": "huang", "system": "parity, ape", "seed": seed, "fitted": fitted, "commit": "abc",
        "experiment": {
            "task": {"name": "parity"}, "training": {"steps": steps, "max_length": 50}, "model": {"width": width},
            "evaluation": {"bins": [[51, 100], [101, 150]], "samples": 2000, "fit_threshold": 0.995},
        },
        "in_distribution": {"length": 50, "n": 2000, "correct": {"exact_match": 2000}},
        "scores": scores if fitted else [], "parameters": parameters,
    }  # fmt: skip


CASES: list[tuple[str, list[dict[str, Any]], str, bool | None]] = [
    ("yes", [], "not run", None),
    ("yes", [result(high=0.7)], "fitted", True),
    ("yes", [result(seed=s, high=h) for s, h in enumerate((0.9, 0.6, 0.5))], "fitted", False),
    ("yes", [result(seed=0, high=0.2, fitted=False), result(seed=1, high=0.9)], "fitted", True),
    ("no", [result(high=0.1)], "not run", None),
    ("no", [result(seed=s, high=h) for s, h in enumerate((0.1, 0.69))], "fitted", True),
    ("no", [result(seed=s, high=0.7) for s in range(2)], "fitted", False),
    ("no", [result(seed=s, high=1.0, hard=0.4) for s in range(2)], "fitted", True),
    ("unknown", [result()], "fitted", None),
    ("no", [result(fitted=False, width=w) for w in range(12)], "not run", None),
    ("no", [result(fitted=False, width=w, steps=30_000) for w in range(11)], "not run", None),
    ("no", [result(fitted=False, width=w, steps=30_000) for w in range(12)], "not fitted", None),
]


@pytest.mark.parametrize(("answer", "results", "status", "agrees"), CASES)
def test_rules_of_a_cell(answer: str, results: list[dict[str, Any]], status: str, agrees: bool | None) -> None:
    row = cell("parity", "ape", answer, results)
    assert (row["status"], row["right"]) == (status, agrees)
    assert set(row) >= {"task", "encoding", "predicted", "status", "test_set", "seeds", "fitted", "median"}
    assert bool(row["median"]) == (status == "fitted")


def test_hard_words_decide_and_the_others_stand_beside() -> None:
    row = cell("Tomita-3", "ape", "no", [result(seed=s, low=1.0, high=0.98, hard=0.25) for s in range(3)])
    assert row["test_set"] == "adversarial"
    assert row["median"] == {"51-100": 0.25, "101-150": 0.25}
    assert row["standard"] == {"51-100": 1.0, "101-150": 0.98}


def test_long_lengths_choose_nothing() -> None:
    small = [result(seed=s, width=16, parameters=100, high=0.1) for s in range(2)]
    large = [result(seed=s, width=64, parameters=900, high=1.0) for s in range(2)]
    assert cell("parity", "ape", "yes", small + large)["median"]["101-150"] == 0.1
    assert cell("parity", "ape", "yes", large + small)["median"]["101-150"] == 0.1
    more = [*large, result(seed=2, width=64, parameters=900, high=1.0)]
    assert cell("parity", "ape", "yes", small + more)["fitted"] == 3


def test_the_table_has_every_cell_and_only_results_of_the_protocol(tmp_path: Path) -> None:
    for seed in range(3):
        write_json(tmp_path / "a" / str(seed) / "result.json", result(seed=seed, low=0.8, high=0.55))
    quick = result(seed=0)
    quick["experiment"]["training"]["max_length"] = 20
    write_json(tmp_path / "quick" / "result.json", quick)
    # A copy of a result is no further seed.
    write_json(tmp_path / "copy" / "result.json", result(seed=0, low=0.8, high=0.55))
    rows = build_table([tmp_path, tmp_path / "a"])
    assert len(rows) == 50
    assert len({(row["task"], row["encoding"]) for row in rows}) == 50
    mine = next(row for row in rows if (row["task"], row["encoding"]) == ("parity", "ape"))
    assert (mine["predicted"], mine["seeds"], mine["right"]) == ("no", 3, True)
    assert mine["median"] == {"51-100": 0.8, "101-150": 0.55}
    assert summary(rows) == confusion(rows)
    assert sum(summary(rows).values()) == 50
    assert summary(rows)["no right"] == 1
    assert json.loads(json.dumps(rows)) == rows


def test_published_numbers_separate_at_the_cut() -> None:
    cells = [(PUBLISHED[task][name][1], THEORY[task][i]) for task in PUBLISHED for i, name in ((0, "ape"), (1, "nope"))]
    yes, no = ([value for value, program in cells if program is answer] for answer in (True, False))
    assert (len(yes), min(yes), len(no), max(no)) == (30, 76.2, 20, 63.3)


TINY = Range(4, 12)


def tiny(width: int, steps: int, lr: float = 1e-2) -> Any:
    experiment = cell_experiment(task_of("Tomita 1"), "nope", Size(1, 1, width, lr, steps), TINY, rows=16)
    evaluation = EvaluationConfig(samples=12, fit_samples=12, probe_samples=4, fit_threshold=0.5, bins=TINY.bins)
    return dataclasses.replace(experiment, evaluation=evaluation)


def test_fallbacks_are_tried_until_enough_seeds_fit(tmp_path: Path) -> None:
    hopeless, easy, unused = tiny(4, 1, lr=1e-9), tiny(8, 200), tiny(16, 1)
    system = Job("tiny", Candidates((hopeless, easy, unused)), seeds=(0, 1))
    events: list[str] = []
    recipe = Recipe("tiny", "", (system,))

    def observe(event: Event) -> None:
        if event.ended:
            events.append(event.phase)

    done = sweep(recipe, tmp_path, progress=observe)
    assert [r.experiment["model"]["width"] for r in done.results[0]] == [8, 8]
    assert events == ["finished"] * 4
    assert len(list((tmp_path / "tiny").glob("*/result.json"))) == 4
    scores = done.results[0][0].scores
    assert [(score.axes, score.test_set) for score in scores] == [
        ({"low": 5, "high": 8}, "enumerated"),
        ({"low": 9, "high": 12}, "enumerated"),
    ]
    assert [score.n for score in scores] == [4, 4]
    events.clear()
    again = sweep(recipe, tmp_path, progress=observe)
    assert events == ["reused"] * 4
    assert again.results == done.results


def test_bins_leave_the_names_of_older_runs_alone() -> None:
    written = dataclasses.replace(tiny(4, 1), evaluation=EvaluationConfig()).to_json()
    assert set(written["evaluation"]) == {
        "lengths", "samples", "fit_samples", "fit_threshold", "probe_samples", "unfitted_too"
    }  # fmt: skip
    with pytest.raises(ValueError, match="low to high, got 9 to 3"):
        EvaluationConfig(bins=((9, 3),))
