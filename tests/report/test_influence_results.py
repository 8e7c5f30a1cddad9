"""The committed results on influential tokens: readable, and what the page in the docs says of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lengthwise.core.files import read_json
from lengthwise.report.influence import InfluenceResult

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "studies/influence/README.md"
ROWS = {
    "greedy": "greedy",
    "one-shot": "one-shot",
    "gradient × input": "gradient-input",
    "attention": "attention",
    "surrogate": "surrogate",
    "random": "random",
    "last k": "last-k",
    "greedy, other model": "cross",
    "greedy, block of another document": "null",
    "greedy beyond that": "beyond_null",
}


@pytest.fixture(scope="module", params=["quick", "standard"])
def preset(request: pytest.FixtureRequest) -> str:
    return request.param


def result(preset: str) -> InfluenceResult:
    path = ROOT / "studies/influence/results/influence" / preset / "result.json"
    return InfluenceResult.of(read_json(path), where=str(path))


def test_every_cell_of_the_table_is_the_results(preset: str) -> None:
    read = result(preset)
    section = PAGE.read_text(encoding="utf-8").split(f"### {preset}\n")[1].split("\n#")[0]
    found = 0
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] not in ROWS:
            continue
        found += 1
        for k, text in zip(read.ks, cells[1:], strict=True):
            cell = read.cells[ROWS[cells[0]]][k]
            assert cell.recovered is not None
            wanted = f"{cell.recovered:.2f}"
            if cell.interval is not None:
                wanted += f" [{cell.interval[0]:.2f}, {cell.interval[1]:.2f}]"
            assert text == wanted, (preset, cells[0], k)
    assert found == len(ROWS)


def test_the_gain_of_the_block_is_the_results(preset: str) -> None:
    read = result(preset)
    section = PAGE.read_text(encoding="utf-8").split(f"### {preset}\n")[1].split("\n#")[0]
    (targets, short, long) = re.findall(r"(\d+) targets.*?from ([\d.]+) to ([\d.]+) nats", section, flags=re.DOTALL)[0]
    assert int(targets) == len(read.long)
    assert (short, long) == (f"{read.short.mean():.3f}", f"{read.long.mean():.3f}")


def test_the_corpus_is_the_standard_library_and_its_held_out_part() -> None:
    for name in ("quick", "standard"):
        values = result(name).values
        assert values["corpus"]["name"] == "standard-library"
        assert values["chooser"] is not None
        assert all("null" in target and "cross" in target for target in values["targets"])
        assert not str(values["commit"]).endswith("+")
