"""The table of attached architectures: `studies/attach/table.py` is run for some types, and for all as a slow test."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "studies" / "attach"


@pytest.fixture(scope="module")
def table() -> Any:
    spec = importlib.util.spec_from_file_location("attach_table", FOLDER / "table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["llama", "opt", "gpt_neo", "codegen"])
def test_some_architectures_follow_the_slow_loop(table: Any, kind: str):
    found = table.row(kind)
    assert found["attached"], found
    assert set(found["modes"].values()) == {"same"}


def test_the_page_is_what_the_results_say(table: Any):
    rows = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))["rows"]
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == table.page(rows)


@pytest.mark.slow
def test_every_architecture_follows_the_slow_loop_or_is_refused(table: Any):
    rows = [row for row in map(table.row, table.kinds()) if row["built"]]
    good = [row for row in rows if row["attached"]]
    assert len(good) >= 25
    assert all(row["one line"] for row in rows if not row["attached"])
    wrong = {row["type"]: row["modes"] for row in good if any("WRONG" in mode for mode in row["modes"].values())}
    assert not wrong
