"""The options by which commands run on a cluster: ``--ray``, ``--slurm``, ``--cpus-per-job`` and ``--gpus-per-job``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lengthwise.core.errors import require

if TYPE_CHECKING:
    from lengthwise.experiments.execute import Executor

Ray = Annotated[
    str | None,
    typer.Option("--ray", metavar="ADDRESS|local", help="Run on this Ray cluster, all of whose nodes see --out."),
]
Slurm = Annotated[
    str | None, typer.Option("--slurm", metavar="PARTITION|local", help="Run as Slurm jobs, which all see --out.")
]
CpusPerJob = Annotated[int, typer.Option("--cpus-per-job", min=1, help="On a cluster: cores and threads of each job.")]
GpusPerJob = Annotated[float, typer.Option("--gpus-per-job", help="On a cluster: GPUs of each job; Ray takes 0.1.")]


@dataclass(frozen=True)
class ClusterSettings:
    """What a command was told of a cluster."""

    ray: str | None = None
    slurm: str | None = None
    cpus: int = 1
    gpus: float = 0.0

    def executor(self, logs: Path) -> Executor | None:
        """What computes on the cluster; None without one. Raises `LengthwiseError` for senseless amounts, or both."""
        if self.ray is None and self.slurm is None:
            return None
        require(self.ray is None or self.slurm is None, "--ray and --slurm exclude each other; give one of them")
        from lengthwise.experiments import cluster

        options = cluster.ClusterOptions(str(self.ray or self.slurm), self.cpus, self.gpus)
        return cluster.Slurm(options, logs) if self.ray is None else cluster.Ray(options)
