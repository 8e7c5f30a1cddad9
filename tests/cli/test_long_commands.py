"""Commands that take minutes, on the smallest input: `agreement`, `compare` and `plan` from the command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from terminal import TINY_OPTIONS, Terminal

from lengthwise.cli.compare import at_limit
from lengthwise.experiments.compare import ModelSetting
from lengthwise.report.pages import what_next
from lengthwise.tasks import TASKS
from tiny_comparison import make_comparisons_tiny

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings of a few steps on the smallest models."""
    make_comparisons_tiny(monkeypatch, (ModelSetting(1, 1e-2, 0.0),))


def test_compare_ranks_a_task_of_a_file_and_writes_its_page(terminal: Terminal, tiny: None, tmp_path: Path) -> None:
    task = f"{ROOT / 'examples' / 'my_task.py'}:EverySecond"
    words = ["compare", task, "--systems", "coupled,coupled+local-bias-sink", "--budget", "10m", "--seeds", "1"]
    words += ["--max-length", "3"]
    answer = terminal(*words, "--out", tmp_path)
    assert answer.code == 0
    first, _, rest = answer.out.partition("\n")
    ways = ("Trained on lengths up to 3, ", "No system fits its training lengths yet: ")
    assert first.removeprefix("finding   ").startswith(ways)
    assert "settings: 1 layer" not in rest
    assert "They differ in log-length scaling of attention (" in " ".join(rest.split())
    cost = r"about [\d.]+ min at most: each system is trained once, [\d,]+ steps"
    assert re.search(cost, answer.err), "the cost first"
    assert len(answer.out.splitlines()) <= 26
    assert {"comparison.json", "comparison.html"} <= {path.name for path in tmp_path.iterdir()}
    page = (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert "<h1>Position systems on EverySecond</h1>" in page
    assert "settings: 1 layer at lr 0.01: the first that makes seed 0" in page
    assert "longer lengths chose nothing" in page
    assert "coupled+learned" in page
    again = terminal(*words, "--out", tmp_path, "--json").json()
    assert [row["system"] for row in again["systems"]]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["adition"], "Did you mean 'addition'?"),
        (["addition", "--systems", "rop"], "Did you mean 'rope'?"),
        (["addition", "--budget", "soon"], "--budget must be a time such as 90s, 10m or 1h, got 'soon'"),
        (["addition", "--budget", "5"], "--budget needs a unit, such as 5s or 5m, got '5'"),
        (["addition", "--seeds", "0"], "seeds must be at least 1, got 0"),
        (["examples/my_encoding.py"], "write examples/my_encoding.py:Class"),
    ],
)
def test_a_mistake_in_a_comparison_is_one_line(
    terminal: Terminal, words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    answer = terminal("compare", *words, "--out", tmp_path / "runs")
    assert (answer.code, answer.out) == (2, "")
    assert says in answer.err
    assert answer.err.count("\n") == 1


def test_plan_prints_jobs_and_hours(terminal: Terminal) -> None:
    answer = terminal("plan", "addition", "--only", "coupled", *TINY_OPTIONS, "--machines", "2x4", "--seeds", "3")
    assert answer.code == 0
    assert "core-hours" in answer.out
    assert terminal("plan", "addition", "--machines", "many").code == 2
    one = terminal("plan", "copy", "--scheme", "coupled", "--encoding", "learned", "--max-length", "3",
                   "--test-lengths", "3,4", *TINY_OPTIONS)  # fmt: skip
    assert "coupled+learned" in one.out, one.err


def test_one_system_that_fits_gets_no_more_seeds_before_others_fit() -> None:
    rows = [
        {"system": name, "fitted": fitted, "seeds": [{"in_distribution": 0.9}], "missing": 0, "diverged": False}
        for name, fitted in (("coupled+learned", 1), ("rope", 0))
    ]
    values = {
        "systems": rows, "seeds": 1, "seeds_wanted": 3, "steps": 400, "default_steps": 2000, "budget_seconds": 600.0,
        "trained_to": 6, "task": TASKS.describe(TASKS.build("copy")),
    }  # fmt: skip
    why, changes = what_next(values, [])
    assert why.startswith("2,000 steps, for what does not fit yet")
    assert changes == {"budget": "50m", "seeds": 1, "out": "2000-steps"}


@pytest.mark.parametrize(("plain", "next_is"), [(0, {"budget": "50m", "seeds": 1, "out": "2000-steps"}), (1, {})])
def test_systems_that_fit_get_no_more_seeds_before_plain_ids_fit(plain: int, next_is: dict[str, Any]) -> None:
    rows = [
        {"system": name, "scheme": scheme, "fitted": fitted, "seeds": [{"in_distribution": 0.9}], "missing": 0,
         "diverged": False}
        for name, scheme, fitted in (
            ("coupled+learned", "coupled", 1), ("coupled+rope", "coupled", 1), ("rope", "sequential", plain)
        )
    ]  # fmt: skip
    values = {
        "systems": rows, "seeds": 1, "seeds_wanted": 3, "steps": 400, "default_steps": 2000, "budget_seconds": 600.0,
        "trained_to": 6, "task": TASKS.describe(TASKS.build("copy")),
    }  # fmt: skip
    assert what_next(values, [])[1] == next_is


@pytest.mark.parametrize(
    ("seeds", "fitted", "rate", "steps", "says"),
    [
        (1, 1, 0.99, 400, {}),
        (1, 0, 0.9, 400, {"budget": "50m", "seeds": 1, "out": "2000-steps"}),
        (1, 0, 0.01, 400, {"budget": "50m", "seeds": 1, "out": "2000-steps"}),
        (1, 0, 0.01, 1200, {"budget": "20m", "seeds": 1, "out": "2400-steps"}),
        (1, 0, 0.01, 2000, {"max_length": 3, "out": "to-3"}),
        (3, 0, 0.9, 400, {"budget": "50m", "out": "2000-steps"}),
        (3, 3, 0.99, 400, None),
    ],
)
def test_after_one_seed_more_are_next_and_shorter_strings_where_many_steps_make_hardly_any_right(
    seeds: int, fitted: int, rate: float, steps: int, says: dict[str, Any] | None
) -> None:
    row = {"system": "rope", "fitted": fitted, "seeds": [{"in_distribution": rate}] * seeds, "missing": 0,
           "diverged": False}  # fmt: skip
    values = {
        "systems": [row], "seeds": seeds, "seeds_wanted": 3, "steps": steps, "default_steps": 2000,
        "budget_seconds": 600.0, "trained_to": 6, "task": TASKS.describe(TASKS.build("copy")),
    }  # fmt: skip
    assert what_next(values, [])[1] == says
    if says == {}:
        assert what_next(values | {"seeds_wanted": 1}, [])[1] == {"seeds": 3}


@pytest.mark.parametrize(
    ("rate", "reach", "fitted"), [(0.95, 12, True), (0.96, 12, True), (1.0, 6, True), (0.95, 12, False)]
)
def test_a_reach_that_one_string_decides_is_said(rate: float, reach: int, fitted: bool) -> None:
    seed = {"fitted": fitted, "reach": reach, "exact_match": {"6": rate, "12": rate}}
    values = {"reach_at": 0.95, "trained_to": 6, "systems": [{"system": "rope", "seeds": [seed]}]}
    assert ("rope at 12: just 95 %" in at_limit(values)) == (rate == 0.95 and fitted)
