"""Runs pieces as Slurm jobs, or as processes of this machine, by submitit; a preempted job is queued again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.experiments.cluster.drive import Scheduler
from lengthwise.experiments.cluster.on_ray import ClusterOptions
from lengthwise.experiments.cluster.piece import Outcome, Piece
from lengthwise.experiments.cluster.task import run_values

LOCAL = "local"
MINUTES, TIMEOUTS = 24 * 60, 1000
"""Time limit of a job, after which it is queued again as a preempted one is, and how often."""


@dataclass(frozen=True)
class Submitted:
    """What submitit carries to a node: plain values. A preempted one is the same again; its state is in the lease."""

    values: dict[str, Any]
    cpus: int
    patience: float

    def __call__(self) -> tuple[str, str]:
        return run_values(self.values, self.cpus, self.patience, "")

    def checkpoint(self) -> Any:
        """What submitit queues after a preemption or a timeout."""
        import submitit

        return submitit.helpers.DelayedSubmission(self)


class SlurmScheduler(Scheduler):
    """Starts each piece as a job of the partition ``options.address``; ``local`` as a process of this machine."""

    def __init__(self, options: ClusterOptions, logs: Path) -> None:
        try:
            import submitit
        except ImportError:
            raise LengthwiseError("--slurm needs the cluster extra; run: pip install 'lengthwise[cluster]'") from None
        self.patience, self._options = options.patience, options
        local = options.address == LOCAL
        try:
            self._executor = submitit.AutoExecutor(logs, cluster="local" if local else "slurm")
        except RuntimeError as error:
            raise LengthwiseError(f"no Slurm here ({error}); give --slurm local, or --ray") from None
        settings: dict[str, Any] = {"timeout_min": MINUTES, "cpus_per_task": options.cpus_per_job}
        if not local:
            settings |= {"slurm_partition": options.address, "slurm_max_num_timeout": TIMEOUTS}
        if options.gpus_per_job:
            whole = options.gpus_per_job == int(options.gpus_per_job)
            require(whole, f"--gpus-per-job must be a whole number with --slurm, got {options.gpus_per_job}")
            settings["gpus_per_node"] = int(options.gpus_per_job)
        self._executor.update_parameters(**settings)
        self._jobs: list[Any] = []

    def start(self, piece: Piece) -> Any:
        job = self._executor.submit(Submitted(piece.to_json(), self._options.cpus_per_job, self.patience))
        self._jobs.append(job)
        return job

    def done(self, handles: Sequence[Any], seconds: float) -> list[Any]:
        time.sleep(seconds)
        return [job for job in handles if job.done()]

    def outcome(self, handle: Any) -> Outcome:
        return Outcome(*handle.result())

    def stop(self) -> None:
        for job in self._jobs:
            with contextlib.suppress(Exception):
                if not job.done():
                    job.cancel()
