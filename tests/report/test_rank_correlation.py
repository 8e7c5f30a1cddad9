"""Spearman's ρ against other formulas for it, and what the table says where there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up import experiment, result, score
from rank_correlation import interval, main, rank_correlations

from lengthwise.report.summary import SeedResult, summarize
from lengthwise.tasks import TASKS
from lengthwise.tasks.parity import SparseParity


def test_the_interval_holds_a_clear_effect_and_stays_around_none() -> None:
    ks, n = (2, 4, 6, 8), np.full((5, 4), 500)
    falling = np.array([[500, 480, 420, 300]] * 5)
    low, high = interval(ks, falling, n)
    assert -1 <= low <= high < -0.9
    rng = np.random.default_rng(1)
    low, high = interval(ks, rng.binomial(500, 0.9, size=(5, 4)), n)
    assert low < 0 < high
    assert interval(ks, falling, n) == interval(ks, falling, n)


def test_one_bad_seed_of_three_is_an_interval_that_reaches_none() -> None:
    """A third of the seeds fails: nearly a third of the draws lack it, and then there is no effect."""
    correct = np.array([[500, 500, 500], [500, 500, 500], [500, 400, 300]])
    low, high = interval((2, 4, 6), correct, np.full((3, 3), 500))
    assert low < -0.6
    assert high == 0


def made_up(system: str, k_max: int, rates: dict[int, int], seed: int = 0, **options: Any) -> SeedResult:
    """Accuracies in percent by k, on balanced numbers of ones at length 50 and 100; other tests are all wrong."""
    config = experiment(scheme="sequential", encoding="nope", task="sparse-parity")
    task = SparseParity(k_max=k_max, k_test=tuple(rates), balanced=options.pop("balanced", True))
    config["task"] = TASKS.describe(task)
    config["training"]["max_length"] = 50
    scores = []
    for length in (50, 100):
        for k, rate in rates.items():
            right = 200 if length == 50 else 2 * rate
            scores += [score(length, 0, axes={"k": k}), score(length, right, axes={"k": k, "min_ones": 0})]
    scores = scores if options.get("fitted", True) else []
    return SeedResult.of(result(system, seed, scores=scores, config=config, recipe="sparse-parity", **options))


def test_only_balanced_tests_up_to_k_train_take_part() -> None:
    rates = {2: 100, 4: 90, 6: 80, 8: 100}
    rows = rank_correlations(summarize([made_up("six", 6, rates, seed) for seed in range(3)]))
    assert [row.length for row in rows] == [None, 50, 100]
    assert rows[0].ks == (2, 4, 6)
    assert rows[0].accuracy == rows[2].accuracy == (1.0, 0.9, 0.8)
    # k = 8 would have broken the order; the three seeds agree.
    assert rows[0].value == pytest.approx(-1)
    assert rows[1].value is None
    assert rows[1].text == "no effect: all accuracies are 1.000"


def test_a_seed_that_is_worse_at_every_k_does_not_hide_what_each_seed_shows() -> None:
    rates = [{2: 100, 4: 96, 6: 94}, {2: 60, 4: 58, 6: 56}, {2: 90, 4: 90, 6: 90}]
    (row, *_) = rank_correlations(summarize([made_up("six", 6, one, seed) for seed, one in enumerate(rates)]))
    assert row.value is not None
    assert row.value > -0.5
    assert row.each == (pytest.approx(-1), pytest.approx(-1), None)
    assert row.text.endswith("(each seed -1.00 -1.00 –)")


def test_what_has_no_correlation_says_so() -> None:
    results = [
        made_up("unfitted", 6, {2: 50, 4: 50}, fitted=False),
        made_up("one k", 3, {2: 90, 4: 50}),
        made_up("one seed", 4, {2: 100, 4: 50}),
        made_up("fair bits only", 4, {2: 100, 4: 50}, balanced=False),
    ]
    rows = {(row.system, row.length): row.text for row in rank_correlations(summarize(results))}
    assert rows["unfitted", None] == "not fitted"
    assert rows["one k", None] == "only one k"
    assert rows["one seed", None] == "-1.00 (one seed)"
    assert not any(system == "fair bits only" for system, _ in rows)


def test_the_command_prints_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = [made_up("six", 6, {2: 100, 4: 90, 6: 80}, seed) for seed in range(3)]
    for one in results:
        (tmp_path / str(one.seed)).mkdir()
        values = result("six", one.seed, config=dict(one.experiment), recipe="sparse-parity")
        values["scores"] = [
            {"length": s.length, "axes": dict(s.axes), "n": s.n, "correct": dict(s.correct)} for s in one.scores
        ]
        (tmp_path / str(one.seed) / "result.json").write_text(json.dumps(values))
    assert main([str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    (row,) = [row for row in rank_correlations(summarize(results)) if row.length is None]
    assert f"six 3/3 beyond training 2 4 6 1.000 0.900 0.800 {row.text}" in " ".join(printed.split())
    assert main([str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["value"] == pytest.approx(-1)
    assert main([str(tmp_path / "nothing")]) == 2
    assert "no results at" in capsys.readouterr().err
