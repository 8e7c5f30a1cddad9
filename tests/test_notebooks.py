"""The notebooks are short, open with a picture, keep the outputs of a clean run, and run in a kernel of their own."""

from __future__ import annotations

import json
import os
import posixpath
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
MOST_LINES, MOST_BYTES = 30, 200_000


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell | {"text": "".join(cell["source"])} for cell in found if cell["cell_type"] == kind]


def outputs(path: Path) -> list[dict[str, Any]]:
    return [output for cell in cells(path, "code") for output in cell["outputs"]]


def pictures(output: dict[str, Any]) -> bool:
    data = output.get("data", {})
    return "image/png" in data or "<svg" in "".join(data.get("text/html", ""))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder like that of the notebooks, which they may write to."""
    (tmp_path / "studies").symlink_to(ROOT / "studies")
    folder = tmp_path / "docs" / "notebooks"
    folder.mkdir(parents=True)
    return folder


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "coupled-ids-in-my-llama", "figure-and-table-for-my-paper", "will-my-task-extrapolate",
    ]  # fmt: skip


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_short_opens_with_a_picture_and_keeps_clean_outputs(path: Path) -> None:
    lines = [line for cell in cells(path, "code") for line in cell["text"].splitlines() if line.strip()]
    assert len(lines) < MOST_LINES
    assert path.stat().st_size < MOST_BYTES
    first = cells(path, "markdown")[0]["text"]
    assert first.startswith("# ")
    assert "![" in first or pictures(outputs(path)[0])
    assert all(output["output_type"] != "error" and output.get("name") != "stderr" for output in outputs(path))
    counts = [cell["execution_count"] for cell in cells(path, "code")]
    assert counts == list(range(1, len(counts) + 1)), "run it from top to bottom and save it"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_prints_what_it_shows(path: Path, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a Jupyter kernel. Trained models may differ on another processor, so their counts are not compared."""
    nbformat = pytest.importorskip("nbformat", reason="needs the extra dev")
    client = pytest.importorskip("nbclient", reason="needs the extra dev")
    pytest.importorskip("ipykernel", reason="needs the extra dev")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = nbformat.read(path, 4)
    for cell in notebook.cells:  # The model without ids is there to be compared by a reader.
        cell.source = cell.source.replace("plain = trained()", "plain = trained(steps=2)")
    runner = client.NotebookClient(
        notebook, timeout=300, kernel_name="python3", coalesce_streams=True,
        resources={"metadata": {"path": str(clone)}},
    )  # fmt: skip
    runner.execute()
    if "llama" in path.stem:
        counts = re.findall(r"coupled \{4: (\d+)", str(notebook.cells))
        assert int(counts[-1]) > 10
        return
    texts = [
        text for text in (printed(output) for cell in notebook.cells for output in cell.get("outputs", [])) if text
    ]
    assert texts == [text for text in map(printed, outputs(path)) if text]


def printed(output: Any) -> str:
    """The text of an output that is no picture and no warning."""
    if output.get("name") == "stderr" or pictures(output):
        return ""
    return "".join(output.get("text") or output["data"]["text/plain"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_a_page_of_the_site_with_links_that_lead_somewhere(path: Path) -> None:
    assert f": notebooks/{path.stem}.md\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    hook = runpy.run_path(str(ROOT / "docs" / "hook.py"))
    text = hook["notebook"](path)
    assert len(re.findall(r"^```", text, re.M)) % 2 == 0
    for cell in cells(path, "code"):
        assert cell["text"] in text
    for page, base in (
        (text, "docs/notebooks"),
        (hook["for_the_site"](text, f"notebooks/{path.stem}.md"), "notebooks"),
    ):
        links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", page)]
        assert links
        for link in links:
            place = posixpath.normpath(posixpath.join(base, link))
            assert any((ROOT / folder / place).exists() for folder in (".", "docs")), link
