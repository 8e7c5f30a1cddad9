"""The work of one task on a cluster: it runs in the folder of a lease, and only finished files leave that folder."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lengthwise.core.errors import LengthwiseError, TrainingDivergedError
from lengthwise.core.files import read_json
from lengthwise.experiments.cluster.lease import Lease, LeaseLostError, acquire

PieceStatus = Literal["finished", "diverged", "failed", "memory", "held", "lost"]
TellState = Callable[[dict[str, Any]], None]
ATTEMPTS = "attempts.json"
MOST_ATTEMPTS = 3
"""Ends without a trace and without a new checkpoint in between, after which memory is taken to be the reason."""


class Piece(ABC):
    """What one task computes."""

    @property
    @abstractmethod
    def root(self) -> Path:
        """The folder of its leases."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain values from which another process makes the same piece."""

    @abstractmethod
    def take(self, folder: Path) -> None:
        """Move what there is of this piece into the folder of a lease."""

    @abstractmethod
    def run(self, folder: Path, tell: TellState) -> str:
        """Compute in ``folder``, going on from what is there; returns a hash of the results."""

    @abstractmethod
    def give(self, folder: Path, lease: Lease) -> None:
        """Move all results and unfinished runs to where they belong."""

    @abstractmethod
    def shed(self, folder: Path) -> None:
        """Delete what would make halves of this piece take as much memory as the whole."""

    @abstractmethod
    def halves(self) -> Sequence[Piece]:
        """Two pieces that together do the work of this one with half the memory; none if it can't be cut."""


@dataclass(frozen=True)
class Outcome:
    """How a task ended; ``what`` is a message or the hash of its results."""

    status: PieceStatus
    what: str = ""


def run_piece(piece: Piece, patience: float, driver: str = "") -> Outcome:
    """Do the work of a piece under its lease. Only what the system did to the process is left to be tried again.

    ``driver`` names the command that submitted it, whose attempts are counted; without a name they are not.
    """
    lease = acquire(piece.root, patience)
    if lease is None:
        return Outcome("held")
    try:
        with lease.kept():
            piece.take(lease.folder)
            outcome = _outcome(piece, lease, driver)
            if outcome.status == "memory":
                piece.shed(lease.folder)
            piece.give(lease.folder, lease)
            lease.release()
    except LeaseLostError as error:
        return Outcome("lost", str(error))
    return outcome


def _outcome(piece: Piece, lease: Lease, driver: str) -> Outcome:
    try:
        if driver and _attempts(lease, driver) > MOST_ATTEMPTS:
            return Outcome("memory", f"a process ended {MOST_ATTEMPTS} times before its next checkpoint")
        return Outcome("finished", piece.run(lease.folder, lease.tell))
    except LeaseLostError:
        raise
    except TrainingDivergedError as error:
        return Outcome("diverged", str(error))
    except LengthwiseError as error:
        return Outcome("failed", str(error))
    except MemoryError:
        return Outcome("memory", "not enough memory")
    except RuntimeError as error:
        # What torch raises, on a CPU and on a GPU.
        if "allocate memory" in str(error) or "out of memory" in str(error):
            return Outcome("memory", "not enough memory")
        raise


def _attempts(lease: Lease, driver: str) -> int:
    """How often this driver began this piece since its last checkpoint, this time included."""
    path = lease.folder / ATTEMPTS
    found = sorted(lease.folder.rglob("checkpoint.safetensors"))
    about = [driver, *[[str(p.relative_to(lease.folder)), p.stat().st_mtime_ns] for p in found]]
    try:
        before = read_json(path)
        count = before["count"] + 1 if before["since"] == about else 1
    except (LengthwiseError, KeyError, TypeError):
        count = 1
    # Not whole or not at all: a damaged file counts as none.
    path.write_text(json.dumps({"count": count, "since": about}))
    return count
