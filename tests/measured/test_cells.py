"""The packaged evidence has every measured cell once, as the committed result files have it."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest

import lengthwise as lw
from lengthwise.core.result_file import result_files
from lengthwise.forecast.model import forecaster
from lengthwise.measured import FILE, SHORTEST_TRAINED, cells

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "studies"
TABLES = {
    "blind": "blind/table.json",
    "blind-published": "blind/published-table.json",
    "blind-next": "blind-next/table.json",
    "ten-expressions": "ten-expressions/study/table.json",
    "variants": "variants/study/table.json",
}


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("evidence_study", ROOT / "studies" / "forecast" / "evidence.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_shortest_training_of_a_task_is_that_of_the_forecaster():
    assert forecaster("task").domain["trained"][0] == SHORTEST_TRAINED


def test_the_file_is_what_the_results_give(study):
    assert FILE.read_text(encoding="utf-8") == study.text(study.table(STUDIES))
    assert FILE.stat().st_size < 1_000_000


def test_no_result_file_is_forgotten(study):
    """Each data file of a study is read, or named with a reason; no pattern is superfluous, and none is both."""
    ladder = ("*/results/**/preregistration.json", "*/results/**/cells/*-rung?.json", "*/results/**/published/*.json")
    patterns = (*ladder, "forecast/results/forecast/third/probes/*", *study.OTHERS, *study.LEFT_OUT)
    found = {pattern: {path for path in STUDIES.glob(pattern) if path.is_file()} for pattern in patterns}
    assert [pattern for pattern, paths in found.items() if not paths] == []
    assert [(a, b) for a in study.LEFT_OUT for b in study.OTHERS if found[a] & found[b]] == []
    runs = {path for path in STUDIES.glob("*/results/*/*/result.json") if b'"experiment"' in path.read_bytes()}
    data = {path for path in STUDIES.rglob("*") if path.suffix in (".json", ".jsonl", ".tsv", ".csv")}
    assert data - runs - set().union(*found.values()) == set()


def test_every_training_run_is_in_one_cell(study):
    """Counted from the files alone: a run is a recipe, a configuration and a seed."""
    runs = set()
    for path in result_files(STUDIES):
        values = json.loads(path.read_text(encoding="utf-8"))
        if "experiment" in values:
            runs.add((values["recipe"], values["system"], json.dumps(values["experiment"]), values["seed"]))
    expected = Counter(recipe for recipe, *_ in runs)
    found = Counter[str]()
    for cell in cells():
        if cell.rung is None and cell.study not in study.PLAIN:
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


@pytest.fixture(scope="module")
def table():
    return lw.evidence()


def test_the_table_has_each_cell_once(table, study):
    names = ["study", "task", "system", "settings", "train"]
    assert not table[names].map(lambda value: json.dumps(value, sort_keys=True)).duplicated().any()
    ours = table[: len(cells())]
    assert [tuple(row) for row in ours[["study", "train"]].to_numpy()] == [(c.study, c.train) for c in cells()]
    assert set(ours.study) & set(table[len(cells()) :].study) <= set(study.PLAIN)


@pytest.mark.parametrize("kind", ["language", "task"])
def test_the_forecaster_was_fitted_on_the_cells_that_say_so(table, kind):
    assert (table.forecaster == kind).sum() == lw.forecast.model.forecaster(kind).cells
    record = json.loads(lw.forecast.model.FILE.read_text(encoding="utf-8"))[kind]["studies"]
    pairs = {(cell.study, cell.commit) for cell in cells() if cell.forecaster == kind}
    assert pairs == {(study, commit) for study, commits in record.items() for commit in commits}


def test_plain_trainings_of_every_study_are_counted():
    """Attention alone, of registered names, and none of them is new to a fit."""
    plain = [cell for cell in cells() if cell.study == "architectures"]
    assert {cell.system for cell in plain} == {"nope", "learned", "rope", "coupled"}
    assert not any(cell.forecaster for cell in plain)
    assert not {"architectures-tuning", "probes", "probe-matrix", "huggingface-addition"} & {c.study for c in cells()}


@pytest.fixture(scope="module")
def by_test():
    return lw.evidence(by_test=True)


def test_a_row_a_test(table, by_test):
    assert len(by_test) == sum(map(len, table.tests))
    row = by_test[(by_test.study == "blind-published") & (by_test.target == "D-3") & (by_test.low == 101)]
    assert set(row.words) == {"uniform", "adversarial"}
    (seeds,) = row[(row.system == "ape") & (row.words == "adversarial")].by_seed
    assert seeds[0] == 0.072


PAGES = {
    "target == 'addition' and system == 'Llama, coupled ids' and seeds == 3": (0.99, 1.0, 0.97),
    "study == 'huggingface-addition' and target == 'reverse' and scheme == 'coupled'": (0.89, 1.0, 0.01),
    "study == 'self-improvement' and train == 16": (0.77, 0.97, 0.96, 0.92, 0.93, 0.96, 0.72, 0.96, 0.82),
    "study == 'audit' and system == 'Llama, self-extend'": (0.45, 0.53),
    "study == 'probe-matrix' and target == 'bucket-sort' and encoding == 'nope'": (0.96, 0.59, 0.94),
    "study == 'third-probes' and target == '((b)+((((ac))+(a|c)))*)' and system == 'alibi'": (0.09, 0.3, 0.02),
    "study == 'architectures' and target == 'parity' and system == 'lstm'": (0.555, 0.51, 0.47),
}
"""Cells of studies with files of their own, and their accuracies at the longest lengths, as pages or files say."""


@pytest.mark.parametrize("chosen", PAGES)
def test_studies_with_files_of_their_own(by_test, chosen):
    rows = by_test.query(chosen)
    (seeds,) = rows[rows.high == rows.high.max()].by_seed
    assert seeds == pytest.approx(PAGES[chosen], abs=0.006)
