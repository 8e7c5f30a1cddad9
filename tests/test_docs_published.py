"""The published tasks under the frozen ladder, and unions and induction of the fixed settings: sentences from files."""

from __future__ import annotations

import blind_tables
import fixed_tables

from lengthwise.core.files import read_json
from lengthwise.experiments.blind.comparison.table import table
from page_text import ROOT, assert_on

COUNTING = ("D-2", "D-3", "D-4", "D-12")
EASY = ("Tomita 1", "Tomita-2", "Tomita-7", "aa*bb*cc*dd*ee*")


def test_the_published_tasks_so_far() -> None:
    values = table(blind_tables.study("blind"), "published")
    assert values == read_json(ROOT / "results" / "blind" / "published-table.json")
    done = [cell for cell in values["cells"] if cell["status"] != "not run"]
    scores = {(cell["language"], cell["encoding"]): cell["score"] for cell in done}
    assert {cell["status"] for cell in done} == {"decided"}
    assert {cell["rung"] for cell in done} == {1}
    right = sum(cell["right"] for cell in done)
    counting = [scores[name, encoding] for name in COUNTING for encoding in ("nope", "ape")]
    theory = {(cell["language"], cell["encoding"]): cell["predicted"] for cell in done}
    assert {theory[name, encoding] for name in COUNTING for encoding in ("nope", "ape")} == {"yes"}
    assert (theory["Tomita-4", "nope"], theory["Tomita-4", "ape"]) == ("no", "yes")
    assert {scores[name, encoding] for name in EASY for encoding in ("nope", "ape")} == {1.0}
    assert_on(
        "blind",
        f"{len(done)} of {len(values['cells'])} cells are done, all are decided, and {right} are as the verdict",
        f"On 101–150 symbols their medians are {min(counting):.2f} to {max(counting):.2f}.",
        f"Tomita-4 is a *no* without positions and fails ({scores['Tomita-4', 'nope']:.2f}); it is a *yes* with "
        f"learned positions and fails, too ({scores['Tomita-4', 'ape']:.2f}).",
    )
    so_far = f"{len(done)} of {len(values['cells'])} cells have run"
    assert_on("huang", f"of which {so_far}, has other outcomes: {right} of the {len(done)} are compatible")
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"Under one frozen ladder {right} of the first {len(done)} of these cells are compatible" in readme


def test_unions() -> None:
    rows = fixed_tables.unions()
    held = {(relation, width): extrapolates for relation, width, *_, extrapolates in rows}
    assert held.pop(("j = i-12 or i-j mod 5 = 0", "32")) == "2 of 5"
    assert set(held.values()) == {"0 of 5"}
    assert len(held) == 7
    (errors,) = [row[2] for row in rows if row[:2] == ["j = i-12 or i-j mod 5 = 0", "32"]]
    assert_on("fixed-beforehand", f"two of five seeds are below the limit of 4.0 (median {errors.split()[0]})")
