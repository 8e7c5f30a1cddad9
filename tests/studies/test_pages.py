"""The tables and counts of the results pages are those of the committed result files."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import alternation_depth
import fixed_tables
import pytest
import tables

from lengthwise.core.files import write_json
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import run_directory

ROOT = Path(__file__).parents[2]


def _page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def _tables(name: str) -> dict[str, str]:
    return tables.PAGES[name]()


@pytest.mark.parametrize("name", tables.PAGES)
def test_every_table_is_on_its_page(name: str) -> None:
    computed, page = _tables(name), _page(name)
    assert computed
    for title, table in computed.items():
        assert len(table.splitlines()) > 2, title
        assert table in page, f"{title}: copy it from `python studies/tables.py {name}`"


def test_intervals_of_shares() -> None:
    """Clopper and Pearson's interval: at 0 of n and n of n in closed form, and symmetric."""
    low, high = tables.share_interval(0, 20)
    assert low == 0.0
    assert high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert tables.share_interval(20, 20) == pytest.approx((1 - high, 1.0))
    below, above = tables.share_interval(7, 30)
    assert tables.share_interval(23, 30) == pytest.approx((1 - above, 1 - below))


def test_pictures_of_the_pages_exist() -> None:
    for path in [*(ROOT / "docs").rglob("*.md"), *(ROOT / "studies").rglob("*.md")]:
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path}: {target}"


def test_the_page_of_fixed_settings_is_what_its_command_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "studies/golowich/README.md"
    text = _page(name)
    assert tables.PAGES[name] is fixed_tables.fixed_beforehand
    monkeypatch.setattr(fixed_tables, "fixed_beforehand", lambda: _tables(name))
    assert fixed_tables.updated(text) == text
    made_up = {"queue": "| training | x |\n| --- | --- |", "depth": "| a |\n| --- |\n| 1 |"}
    monkeypatch.setattr(fixed_tables, "fixed_beforehand", lambda: made_up)
    changed = fixed_tables.updated(text)
    assert changed.endswith("### Depth\n\n| a |\n| --- |\n| 1 |\n")
    assert "| training | x |\n| --- | --- |\n\n## Results" in changed
    assert fixed_tables.updated(changed) == changed


def test_a_system_speaks_with_its_first_configuration_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made-up results of one system: nothing while a seed is missing; then the rule of choice, and the tables."""
    monkeypatch.setattr(fixed_tables, "results", lambda recipe: tmp_path / recipe)
    (job,) = [job for job in alternation_depth.alternation_depth("standard").jobs if job.name == "d = 1, k = 3"]
    first, second = job.candidates.configs[:2]
    for count, (work, fitted) in enumerate(((first, 3), (second, 4))):
        for place, seed in enumerate(job.seeds):
            assert not fixed_tables.speaking("alternation-depth")
            _write(tmp_path, work, seed, fitted=place < fitted, right=50 + 10 * count + place)
            fixed_tables._speaking.cache_clear()
    (system,) = fixed_tables.speaking("alternation-depth")
    assert (system.number, system.head[2]) == (2, "4 of 5")
    ((*_, last),) = fixed_tables.depth()
    assert last == "0.60 0.61 0.62 0.63 0.64"


def _write(folder: Path, work: RunConfig, seed: int, *, fitted: bool, right: int) -> None:
    counts = {"n": 100, "correct": {"exact_match": right}, "tokens": 1, "tokens_total": 1}
    values = {
        "format": 1, "recipe": "alternation-depth", "system": "s", "experiment": work.to_json(), "seed": seed,
        "fitted": fitted, "in_distribution": {"length": 50, "n": 100, "correct": {"exact_match": 99}},
        "scores": [
            {"length": high, "axes": {"low": low, "high": high}, **counts} for low, high in work.evaluation.bins
        ],
    }  # fmt: skip
    write_json(run_directory(folder, "alternation-depth", work, seed) / "result.json", values)


def test_rows_of_figure_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up file: the fractions have their intervals, and each probe of the training has a row."""
    monkeypatch.setattr(fixed_tables, "results", lambda recipe: tmp_path / recipe)
    by_k = {k: {"recovered": 0.5, "interval": [0.4, 0.6]} for k in ("1", "4", "16")}
    none = {k: {"recovered": None, "interval": None} for k in by_k}
    summary = {
        "rules": {"greedy": by_k, "attention": by_k, "random": none, "last-k": by_k},
        "cross": by_k,
        "null": by_k,
    }
    curve = [{"step": 500, "gain": 0.01, "by_context": {"16": 3.0, "32": 2.5}, "induction": [0.1, 0.9]}]
    values = {
        "rows": [{"seed": 100, "text": "as it is", "gain": 0.2, "summary": summary}],
        "training": {"100": {"curve": curve}},
    }
    (tmp_path / "influence-far" / "x").mkdir(parents=True)
    write_json(tmp_path / "influence-far" / "x" / "study.json", values)
    rows = fixed_tables.figure_4()
    assert [row[3] for row in rows] == [
        "greedy", "attention", "random", "last-k", "greedy, other model", "greedy, null",
    ]  # fmt: skip
    assert rows[0] == ["100", "as it is", "0.200", "greedy", *["0.50 [0.40, 0.60]"] * 3]
    assert rows[2][4:] == ["–"] * 3
    assert fixed_tables.gain_while_training() == [["100", "500", "3.000", "2.500", "–", "–", "–", "0.010", "0.10 0.90"]]
