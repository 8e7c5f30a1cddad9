"""One cell of a blind study, with all its rungs, as a piece of work on a cluster."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lengthwise.core.files import slug
from lengthwise.experiments.blind.cells import cell_path
from lengthwise.experiments.blind.run import run_cell
from lengthwise.experiments.blind.study import BlindStudy, read_study
from lengthwise.experiments.cluster.lease import Lease
from lengthwise.experiments.cluster.piece import Piece, TellState
from lengthwise.experiments.run_directory import LEASES


@dataclass(frozen=True)
class CellPiece(Piece):
    """An entry of a table under one encoding; ``work`` holds the leases, and checkpoints in them."""

    folder: Path
    table: str
    entry: str
    encoding: str
    work: Path

    @cached_property
    def study(self) -> BlindStudy:
        """The study in ``folder``."""
        return read_study(self.folder)

    @property
    def root(self) -> Path:
        return self.work / LEASES / f"{self.table}-{slug(self.entry)}-{self.encoding}"

    def to_json(self) -> dict[str, Any]:
        values = {field.name: str(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return {"kind": "cell", **values}

    @classmethod
    def of(cls, values: dict[str, Any]) -> CellPiece:
        """The piece that `to_json` wrote."""
        return cls(Path(values["folder"]), values["table"], values["entry"], values["encoding"], Path(values["work"]))

    def paths(self, folder: Path) -> list[Path]:
        """The result files of all rungs in a folder, in order, whether they exist or not."""
        study = dataclasses.replace(self.study, folder=folder)
        rungs = range(1, len(self.study.ladder) + 1)
        return [cell_path(study, self.table, self.entry, self.encoding, rung) for rung in rungs]

    def take(self, folder: Path) -> None:
        for there, here in zip(self.paths(self.folder), self.paths(folder / "study"), strict=True):
            here.parent.mkdir(parents=True, exist_ok=True)
            if there.exists() and not here.exists():
                shutil.copyfile(there, here)

    def run(self, folder: Path, tell: TellState) -> str:
        (entry,) = [entry for entry in self.study.entries(self.table) if entry.name == self.entry]
        study = dataclasses.replace(self.study, folder=folder / "study")
        run_cell(
            study, self.table, entry, self.encoding, folder / "work", lambda line: tell({"note": line}),
            lambda step, loss: tell({"step": step, "loss": loss}), listed=False,
        )  # fmt: skip
        found = [path.read_bytes() for path in self.paths(folder / "study") if path.exists()]
        return hashlib.sha256(b"".join(found)).hexdigest()

    def give(self, folder: Path, lease: Lease) -> None:
        for here, there in zip(self.paths(folder / "study"), self.paths(self.folder), strict=True):
            if here.exists() and not there.exists():
                lease.check(there)
                there.parent.mkdir(parents=True, exist_ok=True)
                os.rename(here, there)

    def shed(self, folder: Path) -> None:
        del folder  # A stack's settings are part of the preregistration: it is never cut.

    def halves(self) -> list[Piece]:
        return []
