"""The campaign of probes: data drawn ahead is the same data, jobs are taken from both ends, results are kept."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest
import torch

from lengthwise.forecast.probe import SETTINGS, STRIDE, Together

STUDY = Path(__file__).parents[2] / "studies" / "forecast"
sys.path.insert(0, str(STUDY))
import cells as cell_list  # noqa: E402
import probes  # noqa: E402


def test_the_list_is_that_of_the_measured_cells() -> None:
    listed = cell_list.read_cells()
    assert listed == cell_list.measured_cells()
    assert len({values["key"] for values in listed}) == len(listed) == 206
    assert {values["encoding"] for values in listed} == {"nope", "ape", "rope", "alibi"}


def test_packed_data_is_the_same_data() -> None:
    group = probes.groups_of(cell_list.read_cells())[0][:3]
    own = [probes.cell_of(values) for values in group]
    setup = Together(tuple(cell.setup(SETTINGS.ladder[0]) for cell in own))
    config = own[0].training(dataclasses.replace(SETTINGS.ladder[0], steps=50), 50)
    runs = [place * STRIDE + seed for place in range(3) for seed in (0, 1)]

    class Here:
        """Draws when asked."""

        def submit(self, draw, first: int, last: int):
            probes._begin_drawing(setup, config, runs)  # type: ignore[arg-type]
            found = draw(first, last)
            return type("Done", (), {"result": lambda self: found})()

    ahead = probes.DrawnAhead(setup, config, runs, Here(), 1)  # type: ignore[arg-type]
    for kept in (runs, runs[:1] + runs[3:]):
        for step in (0, 1, 21, 45) if kept == runs else (45,):
            for ours, theirs in zip(ahead.groups(config, kept, step), setup.groups(config, kept, step), strict=True):
                for name, value in vars(theirs).items():
                    mine = getattr(ours, name)
                    same = torch.equal(mine, value) if isinstance(value, torch.Tensor) else mine == value
                    assert same, f"{name} of step {step} differs"


def test_a_gpu_takes_groups_and_a_core_takes_single_cells() -> None:
    listed = cell_list.read_cells()
    queue = probes.Queue(listed, grouped=True)
    first, small = queue.take("cuda"), queue.take("cpu")
    assert first is not None
    assert small is not None
    assert len(first.cells) == 27
    assert len(small.cells) == 1
    taken = [*first.cells, *small.cells]
    while (job := queue.take("cpu")) is not None:
        taken += job.cells
    assert sorted(values["key"] for values in taken) == sorted(values["key"] for values in listed)


@pytest.mark.parametrize("device", ["cpu", pytest.param("together", marks=pytest.mark.slow)])
def test_results_are_kept_and_passed_over(tmp_path: Path, device: str, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = [values for values in cell_list.read_cells() if values["key"].startswith("ten_expressions_a_b_nope")]
    assert len(chosen) == 1
    ladder = tuple(dataclasses.replace(rung, steps=20) for rung in SETTINGS.ladder[:1])
    settings = dataclasses.replace(SETTINGS, ladder=ladder, every=20, fit_words=50, test_words=50)
    probes.run(chosen, tmp_path, [device], minutes=2, settings=settings)
    assert [path.stem for path in (tmp_path / "results").glob("*.json")] == [chosen[0]["key"]]
    assert not list((tmp_path / "work").iterdir())
    probes.run(chosen, tmp_path, [device], minutes=2, settings=settings)
    assert "0 of 1 cells to run" in capsys.readouterr().out
