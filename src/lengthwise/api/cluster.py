"""Where seeds are computed: a Ray cluster or Slurm instead of processes of this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lengthwise.core.errors import require

if TYPE_CHECKING:
    from lengthwise.experiments.execute import Executor


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster or a Slurm partition, all of whose nodes see the folder of results.

    Arguments:
        ray: the cluster's address, or ``"local"``.
        slurm: the partition, or ``"local"`` for processes of this machine.
        cpus_per_job: cores and threads of each job.
        gpus_per_job: GPUs of each job; Ray takes fractions.

    Without ``ray`` and ``slurm`` it stands for this machine.
    """

    ray: str | None = None
    slurm: str | None = None
    cpus_per_job: int = 1
    gpus_per_job: float = 0.0

    def executor(self, logs: Path) -> Executor | None:
        """What computes on the cluster; None without one. Raises `LengthwiseError` for senseless amounts, or both."""
        if self.ray is None and self.slurm is None:
            return None
        require(self.ray is None or self.slurm is None, "`ray` and `slurm` exclude each other; give one of them")
        from lengthwise.experiments import cluster

        options = cluster.ClusterOptions(str(self.ray or self.slurm), self.cpus_per_job, self.gpus_per_job)
        return cluster.Slurm(options, logs) if self.ray is None else cluster.Ray(options)


HERE = Cluster()
"""This machine."""
