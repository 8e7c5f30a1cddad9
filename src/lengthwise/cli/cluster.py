"""The options by which commands run on a cluster: ``--ray``, ``--slurm``, ``--cpus-per-job`` and ``--gpus-per-job``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lengthwise.core.errors import require

if TYPE_CHECKING:
    from lengthwise.experiments.blind.run import CellRunner
    from lengthwise.experiments.cluster.drive import Scheduler
    from lengthwise.experiments.comparison.run import StageRunner
    from lengthwise.experiments.sweep import Runner

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

    def scheduler(self, logs: Path) -> Callable[[], Scheduler] | None:
        """What starts the scheduler; None without one. Raises `LengthwiseError` for senseless amounts, or both."""
        if self.ray is None and self.slurm is None:
            return None
        require(self.ray is None or self.slurm is None, "--ray and --slurm exclude each other; give one of them")
        from lengthwise.experiments.cluster.on_ray import ClusterOptions, RayScheduler
        from lengthwise.experiments.cluster.on_slurm import SlurmScheduler

        if self.ray is not None:
            options = ClusterOptions(self.ray, self.cpus, self.gpus)
            return lambda: RayScheduler(options)
        options = ClusterOptions(str(self.slurm), self.cpus, self.gpus)
        return lambda: SlurmScheduler(options, logs)

    def sweeps(self, logs: Path) -> Runner | None:
        """What runs a sweep on the cluster; None without one."""
        scheduler = self.scheduler(logs)
        if scheduler is None:
            return None
        from lengthwise.experiments.cluster.runners import sweep_on

        return sweep_on(scheduler)

    def stages(self) -> StageRunner | None:
        """What runs the stages of a comparison on a Ray cluster; None without one."""
        if self.ray is None:
            return None
        from lengthwise.experiments.cluster.on_ray import ClusterOptions, RayScheduler
        from lengthwise.experiments.cluster.runners import stages_on

        options = ClusterOptions(self.ray, self.cpus, self.gpus)
        return stages_on(lambda: RayScheduler(options))

    def cells(self, logs: Path) -> CellRunner | None:
        """What runs the cells of a blind study on the cluster; None without one."""
        scheduler = self.scheduler(logs)
        if scheduler is None:
            return None
        from lengthwise.experiments.cluster.runners import cells_on

        return cells_on(scheduler)
