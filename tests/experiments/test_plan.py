"""Plans: jobs are those of a sweep, work and time add up, and bad machines are one clear line."""

from __future__ import annotations

import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.cost import Machines, _makespan, plan
from lengthwise.experiments.recipe import Job, Recipe
from lengthwise.experiments.run_config import RunConfig

TINY = RunConfig.from_json(
    {
        "task": {"name": "copy", "symbols": "repeats", "letters": 3},
        "scheme": {"name": "coupled", "max_position": 24},
        "encoding": {"name": "learned"},
        "model": {"layers": 1, "heads": 2, "width": 16, "mlp_ratio": 1},
        "training": {"max_length": 3, "steps": 100, "batch_size": 8, "groups": 2},
        "evaluation": {"lengths": [2, 3], "samples": 16},
    }
)


def test_a_plan_adds_up() -> None:
    stacked = TINY.edited(["training.stacked=true"])
    found = plan(Recipe("r", "", (Job("alone", TINY, (0, 1, 2)), Job("stack", stacked, (0, 1, 2)))), Machines(2, 2))
    assert [(job.name, job.tasks, job.seeds) for job in found.jobs] == [("alone", 3, 3), ("stack", 1, 3)]
    for job, seeds in zip(found.jobs, (1, 3), strict=True):
        assert job.task_seconds == pytest.approx(100 * job.step_seconds + seeds * job.test_seconds)
    total = sum(job.task_seconds * job.tasks for job in found.jobs)
    assert found.core_hours == pytest.approx(total / 3600)
    assert found.hours == pytest.approx(max(job.task_seconds for job in found.jobs) / 3600)
    assert found.memory > 10 * 2**20


def test_the_last_task_decides() -> None:
    assert _makespan([3.0, 3.0, 2.0, 2.0, 2.0], 2) == 7.0
    assert _makespan([1.0] * 7, 3) == 3.0
    assert _makespan([5.0], 100) == 5.0


@pytest.mark.parametrize("text", ["4", "4x", "x4", "0x4", "4x0", "-1x2", "4x16x2", "a"])
def test_machines_are_a_count_and_cores(text: str) -> None:
    with pytest.raises(LengthwiseError, match=r"machines must be COUNTxCORES, e.g. 4x16"):
        Machines.of(text)
    assert Machines.of("4x16").slots(5) == 12
    with pytest.raises(LengthwiseError, match=r"cpus_per_job must be in 1\.\.16, got 17"):
        Machines.of("4x16").slots(17)
