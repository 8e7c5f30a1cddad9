"""The packaged evidence has every measured cell once, as the committed result files have it."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest

import lengthwise as lw
from lengthwise.core.result_file import result_files
from lengthwise.measured import FILE, cells

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "studies"
TABLES = {
    "blind": "blind/table.json",
    "blind-published": "blind/published-table.json",
    "blind-next": "blind-next/table.json",
    "ten-expressions": "ten-expressions/study/table.json",
    "variants": "variants/study/table.json",
}


def builder():
    spec = importlib.util.spec_from_file_location("evidence_study", ROOT / "studies" / "forecast" / "evidence.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_what_the_results_give():
    study = builder()
    assert FILE.read_text(encoding="utf-8") == study.text(study.table(STUDIES))
    assert FILE.stat().st_size < 1_000_000


def test_every_training_run_is_in_one_cell():
    """Counted from the files alone: a run is a recipe, a configuration and a seed."""
    runs = set()
    for path in result_files(STUDIES):
        values = json.loads(path.read_text(encoding="utf-8"))
        if "experiment" in values:
            runs.add((values["recipe"], values["system"], json.dumps(values["experiment"]), values["seed"]))
    expected = Counter(recipe for recipe, *_ in runs)
    found = Counter[str]()
    for cell in cells():
        if cell.rung is None:
            found[cell.study] += len(cell.seeds)
    assert found == expected


@pytest.mark.parametrize("study", TABLES)
def test_cells_of_the_ladder_are_those_of_the_tables(study):
    """The studies' own tables, made by other code: the same cells, with the same outcome and the same score."""
    table = json.loads(next(STUDIES.glob(f"*/results/{TABLES[study]}")).read_text(encoding="utf-8"))["cells"]
    mine = [cell for cell in cells() if cell.study == study]
    assert len(mine) == len(table) == len({(cell.target, str(cell.task), cell.system) for cell in mine})
    scores = Counter(
        (cell.system, cell.fit, None if (found := cell.accuracy(101, 150)) is None else round(found, 3))
        for cell in mine
    )
    assert scores == Counter(
        (row["encoding"], row["status"] == "decided", None if row["score"] is None else round(row["score"], 3))
        for row in table
    )


def test_the_table_has_a_row_a_cell_or_a_test():
    table = lw.evidence()
    assert len(table) == len(cells())
    by_test = lw.evidence(by_test=True)
    assert len(by_test) == sum(len(cell.tests) for cell in cells())
    row = by_test[(by_test.study == "blind-published") & (by_test.target == "D-3") & (by_test.low == 101)]
    assert set(row.words) == {"uniform", "adversarial"}
    (seeds,) = row[(row.system == "ape") & (row.words == "adversarial")].by_seed
    assert seeds[0] == 0.072
