"""Grouping of results: only fitted seeds count, configurations stay apart, panels are as few as possible."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from made_up import experiment, result, score

from lengthwise.core.errors import LengthwiseError
from lengthwise.report.summary import SeedResult, differing_settings, load, panel_axes, summarize


def test_medians_are_over_fitted_seeds_only() -> None:
    results = [
        result(seed=0, scores=[score(40, 100)]),
        result(seed=1, scores=[score(40, 180)]),
        result(seed=2, scores=[score(40, 140)]),
        result(seed=3, fitted=False, scores=[score(40, 0)]),
    ]
    (summary,) = summarize(map(SeedResult.of, results))
    assert (len(summary.fitted), len(summary.results)) == (3, 4)
    (cell,) = summary.cells
    estimate = cell.estimate()
    assert estimate is not None
    assert estimate.median == 140 / 200
    assert cell.estimate("no such metric") is None
    assert cell.first_errors["token"] == sum(r["scores"][0]["first_error"]["token"] for r in results[:3])


def test_nothing_fitted_gives_no_cells() -> None:
    (summary,) = summarize([SeedResult.of(result(fitted=False))])
    assert summary.cells == ()
    assert summary.in_distribution.median == pytest.approx(0.3)


def test_two_configurations_of_one_name_are_told_apart() -> None:
    other = copy.deepcopy(experiment())
    other["training"]["steps"] = 77
    summaries = summarize([SeedResult.of(result()), SeedResult.of(result(config=other))])
    assert [summary.label for summary in summaries] == ["coupled (steps 1000)", "coupled (steps 77)"]
    assert {summary.name for summary in summaries} == {"coupled"}, "the name alone is that of a system by itself"
    assert differing_settings(summaries) == [{"key": "training.steps", "values": [1000, 77]}]


def test_configurations_are_told_apart_by_as_few_settings_as_possible() -> None:
    wide, long = copy.deepcopy(experiment()), copy.deepcopy(experiment())
    wide["model"]["width"], wide["training"]["steps"], wide["evaluation"]["samples"] = 512, 77, 9
    long["training"]["steps"], long["evaluation"]["samples"] = 78, 9
    both = summarize([SeedResult.of(result()), SeedResult.of(result(config=wide))])
    assert [summary.label for summary in both][1] == "coupled (width 512, …)", "steps differ, too"
    assert "coupled (width 512)" in both[1].known_as
    three = summarize([SeedResult.of(result()), SeedResult.of(result(config=wide)), SeedResult.of(result(config=long))])
    assert [summary.label for summary in three][1:] == ["coupled (steps 77, …)", "coupled (steps 78, …)"]


def test_an_axis_that_follows_from_the_others_makes_no_panel() -> None:
    both = [score(n, 1, axes={"chains": c, "depth": n // c}) for n in (8, 40) for c in (1, 4)]
    (summary,) = summarize([SeedResult.of(result(scores=both))])
    assert panel_axes(summary.cells) == ("chains",)
    alone = [score(n, 1, axes={"chains": 4, "depth": n // 4}) for n in (8, 40)]
    (summary,) = summarize([SeedResult.of(result(scores=alone))])
    assert panel_axes(summary.cells) == ()


@pytest.mark.parametrize("key", ["experiment", "seed", "fitted", "in_distribution", "scores", "system", "format"])
def test_a_result_without_a_needed_key_is_refused(key: str) -> None:
    values = result()
    del values[key]
    with pytest.raises(LengthwiseError, match=r"x\.json is damaged"):
        SeedResult.of(values, where="x.json")


@pytest.mark.parametrize(
    "change",
    [{"n": 0}, {"correct": {"exact_match": 201}}, {"correct": {"exact_match": -1}}, {"correct": {}}, {"length": "far"}],
)
def test_impossible_counts_are_refused(change: dict) -> None:
    values = result(scores=[{**score(8, 10), **change}])
    with pytest.raises(LengthwiseError, match="damaged"):
        SeedResult.of(values)


def test_results_are_found_once_wherever_they_are(tmp_path: Path) -> None:
    for seed in range(3):
        folder = tmp_path / "a" / str(seed)
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps(result(seed=seed)))
    found = load([tmp_path, tmp_path / "a", tmp_path / "a" / "1" / "result.json"])
    assert sorted(one.seed for one in found) == [0, 1, 2]
