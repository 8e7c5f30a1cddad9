"""A seed that diverges ends no sweep: other seeds, systems and configurations go on, and the end says which it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lengthwise.core.errors import TrainingDivergedError
from lengthwise.experiments.engine import sweep
from lengthwise.experiments.events import Event
from lengthwise.experiments.execute import Processes
from lengthwise.experiments.recipe import Candidates, Job, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import finished, run_directory

FINE = RunConfig.from_json(
    {
        "task": {"name": "copy", "symbols": "repeats", "letters": 3},
        "scheme": {"name": "sequential", "max_position": 24},
        "encoding": {"name": "learned"},
        "model": {"layers": 1, "heads": 2, "width": 16, "mlp_ratio": 1},
        "training": {"max_length": 3, "steps": 4, "batch_size": 8, "groups": 2, "probe_every": 2, "warmup": 0},
        "evaluation": {"lengths": [3], "samples": 8, "fit_samples": 8, "probe_samples": 6, "fit_threshold": 0.000001},
    }
)
WILD = FINE.edited(["training.lr=1e30"])


def results(out: Path, job: Job) -> list[Any]:
    experiment = job.experiment
    return [finished(run_directory(out, "r", experiment, seed), experiment, seed) for seed in job.seeds]


@pytest.mark.parametrize(("jobs", "stacked"), [(1, True), (2, False)])
def test_the_others_are_finished(tmp_path: Path, jobs: int, stacked: bool) -> None:
    edit = [f"training.stacked={str(stacked).lower()}"]
    # Beside one another each seed has a process of its own, and one more starts after one that diverged.
    wild, fine = Job("wild", WILD.edited(edit), (0, 1)), Job("fine", FINE.edited(edit), (0, 1) if stacked else (0,))
    for _ in range(2 if jobs == 1 else 1):
        with pytest.raises(TrainingDivergedError, match=r"wild, seed 0: training diverged: .*\(and 1 more; all other"):
            sweep(Recipe("r", "", (wild, fine)), tmp_path, on=Processes(jobs) if jobs > 1 else None)
        assert results(tmp_path, wild) == [None, None]
        assert None not in results(tmp_path, fine)


@pytest.mark.parametrize("jobs", [1, 2])
def test_another_configuration_of_the_search_speaks_for_the_system(tmp_path: Path, jobs: int) -> None:
    search = Job("search", Candidates((WILD, FINE)), (0, 1))
    events: list[Event] = []
    found = sweep(
        Recipe("r", "", (search,)), tmp_path, on=Processes(jobs) if jobs > 1 else None, progress=events.append
    )
    assert [result.experiment for result in found.results[0]] == [FINE.to_json()] * 2
    assert found.to_json()["systems"][0]["name"] == "search"
    assert found.to_json()["train"]["steps"] == FINE.training.steps
    events.clear()
    again = sweep(
        Recipe("r", "", (search,)), tmp_path, on=Processes(jobs) if jobs > 1 else None, progress=events.append
    )
    assert again.results == found.results
    assert {event.phase for event in events} == {"reused"}


def test_the_json_form_states_the_training_of_the_configuration_that_speaks(tmp_path: Path) -> None:
    first = FINE.edited(["training.steps=2", "evaluation.fit_threshold=1.0"])
    search = Job("search", Candidates((first, FINE.edited(["training.steps=3"]))), (0,))
    found = sweep(Recipe("r", "", (search,)), tmp_path)
    assert found.results[0][0].steps == found.to_json()["train"]["steps"]
