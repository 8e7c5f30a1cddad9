"""Sweeps by submitit with its local executor: a preempted job is queued again and ends with the bits of a local run."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.cluster import ClusterOptions, Slurm
from lengthwise.experiments.engine import sweep
from lengthwise.experiments.execute import Unit
from lengthwise.experiments.recipe import Job, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import LEASES, finished, run_directory

TINY = RunConfig.from_json(
    {
        "task": {"name": "copy", "symbols": "repeats", "letters": 3},
        "scheme": {"name": "coupled", "max_position": 24},
        "encoding": {"name": "learned"},
        "model": {"layers": 1, "heads": 2, "width": 16, "mlp_ratio": 1},
        "training": {"max_length": 3, "steps": 200, "batch_size": 8, "groups": 2, "probe_every": 20},
        "evaluation": {"lengths": [2], "samples": 8, "fit_samples": 8, "probe_samples": 6, "unfitted_too": True},
    }
)
RECIPE = Recipe("r", "", (Job("a", TINY, (0,)),))


def bits(out: Path) -> dict[str, Any]:
    result = finished(run_directory(out, "r", TINY, 0), TINY, 0)
    assert result is not None
    return {key: value for key, value in result.to_json().items() if key not in ("seconds", "time", "machine")}


@pytest.mark.slow
def test_a_preempted_job_goes_on(tmp_path: Path) -> None:
    out, started = tmp_path / "slurm", []

    class Watched(Slurm):
        def start(self, unit: Unit) -> Any:
            started.append(super().start(unit))
            return started[-1]

    def preempt() -> None:
        while not list((out / "r").glob(f"{LEASES}/*/*/r/*/checkpoint.safetensors")):
            time.sleep(0.1)
        controller = started[0].job_id
        task = subprocess.run(["pgrep", "-P", controller], capture_output=True, text=True, check=True).stdout
        os.kill(int(task), signal.SIGUSR2)  # what Slurm sends before it takes the node away

    thread = threading.Thread(target=preempt, daemon=True)
    thread.start()
    sweep(RECIPE, out, on=Watched(ClusterOptions("local", patience=3.0), tmp_path / "logs"))
    thread.join(1)
    logs = "".join(path.read_text() for path in (tmp_path / "logs").glob("*_log.*"))
    assert "preempted" in logs.lower()
    sweep(RECIPE, tmp_path / "local")
    assert bits(out) == bits(tmp_path / "local")
    assert not (out / "r" / LEASES).exists()


def test_fractions_of_gpus_are_for_ray(tmp_path: Path) -> None:
    with pytest.raises(LengthwiseError, match="gpus_per_job must be a whole number on Slurm"):
        Slurm(ClusterOptions("local", gpus_per_job=0.5), tmp_path)
