"""One stage of a comparison for one system as a piece of work on a cluster."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lengthwise.experiments.cluster.lease import Lease
from lengthwise.experiments.cluster.piece import Piece, TellState
from lengthwise.experiments.cluster.sweep_piece import SweepPiece
from lengthwise.experiments.comparison.plan import FILE
from lengthwise.experiments.comparison.stages import FIRST_SEED, RUNS, STAGES, plan_in, times_file, tuning_file
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import Job
from lengthwise.experiments.run_directory import LEASES


@dataclass(frozen=True)
class StagePiece(Piece):
    """A stage of the comparison in ``folder``; the job's name is that of the system."""

    folder: Path
    stage: str
    job: Job

    @property
    def root(self) -> Path:
        return self.folder / RUNS / LEASES / f"{self.stage}-{self.job.name}"

    def to_json(self) -> dict[str, Any]:
        return {"kind": "stage", "folder": str(self.folder), "stage": self.stage, "job": self.job.to_json()}

    @classmethod
    def of(cls, values: dict[str, Any]) -> StagePiece:
        """The piece that `to_json` wrote."""
        return cls(Path(values["folder"]), values["stage"], Job.from_json(values["job"], load_code=True))

    def take(self, folder: Path) -> None:
        self._runs().take(folder)
        shutil.copyfile(self.folder / FILE, folder / FILE)
        for there, here in zip(self._notes(self.folder), self._notes(folder), strict=True):
            if there.exists() and not here.exists():
                here.parent.mkdir(exist_ok=True)
                shutil.copyfile(there, here)

    def run(self, folder: Path, tell: TellState) -> str:
        def observe(event: Event) -> None:
            tell(asdict(event))

        STAGES[self.stage](folder, self.job, observe)
        found = [path.read_bytes() for path in self._notes(folder) if path.exists()]
        return hashlib.sha256(b"".join(found)).hexdigest()

    def give(self, folder: Path, lease: Lease) -> None:
        self._runs().give(folder, lease)
        for here, there in zip(self._notes(folder), self._notes(self.folder), strict=True):
            if here.exists() and not there.exists():
                lease.check(there)
                there.parent.mkdir(exist_ok=True)
                os.rename(here, there)

    def shed(self, folder: Path) -> None:
        del folder  # All systems have the same settings: a stack is never cut.

    def halves(self) -> Sequence[Piece]:
        return []

    def _runs(self) -> SweepPiece:
        """The runs of the system, with all settings of the grid; the first seed trains before the others."""
        plan = plan_in(self.folder)
        first, *others = (plan.experiment(plan.system(self.job.name), setting) for setting in plan.grid)
        seeds = (FIRST_SEED,) if self.stage == "tune" else self.job.seeds
        return SweepPiece(RUNS, self.folder, Job(self.job.name, first, seeds, fallbacks=tuple(others)))

    def _notes(self, folder: Path) -> list[Path]:
        """What a stage writes beside runs."""
        system = plan_in(self.folder).system(self.job.name)
        return [times_file(folder, system), tuning_file(folder, system)]
