"""One job of a recipe with some seeds as a piece of work on a cluster."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lengthwise.core.config import digest
from lengthwise.core.files import locked
from lengthwise.experiments.cluster.lease import Lease
from lengthwise.experiments.cluster.piece import Piece, TellState
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import Job, Study
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import DIVERGED, LEASES, RESULT, run_directory
from lengthwise.experiments.stack import stack_folders
from lengthwise.experiments.sweep import run_job


@dataclass(frozen=True)
class SweepPiece(Piece):
    """A job with the seeds that one task trains, as one stack where the job is stacked."""

    recipe: str
    out: Path
    job: Job

    @property
    def root(self) -> Path:
        return self.out / self.recipe / LEASES / digest(self.job.to_json())

    def to_json(self) -> dict[str, Any]:
        return {"kind": "sweep", "recipe": self.recipe, "out": str(self.out), "job": self.job.to_json()}

    @classmethod
    def of(cls, values: dict[str, Any]) -> SweepPiece:
        """The piece that `to_json` wrote."""
        from lengthwise.experiments import recipes as _recipes  # noqa: F401

        return cls(values["recipe"], Path(values["out"]), Job.from_json(values["job"], load_code=True))

    def take(self, folder: Path) -> None:
        mine = folder / self.recipe
        mine.mkdir(exist_ok=True)
        for run in self._runs():
            target = mine / run.name
            if not run.is_dir() or target.exists():
                continue
            if self._is_finished(run):
                shutil.copytree(run, target)
            else:
                with locked(run):  # not while a process without a lease is at work there
                    pass
                os.rename(run, target)
        for work in self._works():
            if isinstance(work, RunConfig):
                for stack in stack_folders(work, self.out / self.recipe):
                    os.rename(stack, mine / stack.name)

    def run(self, folder: Path, tell: TellState) -> str:
        def observe(event: Event) -> None:
            tell(dataclasses.asdict(event))

        run_job(self.recipe, folder, self.job, observe)
        found = sorted((folder / self.recipe).glob(f"*/{RESULT}"))
        return hashlib.sha256(b"".join(path.read_bytes() for path in found)).hexdigest()

    def give(self, folder: Path, lease: Lease) -> None:
        for run in sorted((folder / self.recipe).iterdir()):
            target = self.out / self.recipe / run.name
            if not target.exists():
                lease.check(target)
                os.rename(run, target)

    def shed(self, folder: Path) -> None:
        if self.halves():
            for stack in (folder / self.recipe).glob("stack-*"):
                shutil.rmtree(stack)

    def halves(self) -> list[SweepPiece]:
        seeds, half = self.job.seeds, len(self.job.seeds) // 2
        stacked = isinstance(self.job.work, RunConfig) and self.job.work.training.stacked
        if not stacked or self.job.fallbacks or not half:
            return []
        jobs = [dataclasses.replace(self.job, seeds=part) for part in (seeds[:half], seeds[half:])]
        return [dataclasses.replace(self, job=job) for job in jobs]

    def _works(self) -> list[RunConfig | Study]:
        return [self.job.work, *self.job.fallbacks]

    def _runs(self) -> list[Path]:
        return [run_directory(self.out, self.recipe, work, seed) for work in self._works() for seed in self.job.seeds]

    def _is_finished(self, run: Path) -> bool:
        files = [RESULT, DIVERGED, *[work.file for work in self._works() if isinstance(work, Study)]]
        return any((run / file).exists() for file in files)
