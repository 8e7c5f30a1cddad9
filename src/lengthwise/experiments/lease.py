"""A lease on a folder of shared storage: one holder at a time; who has lost it can't write there any more.

The folder's name is the fencing token. To take over is to rename it, which is atomic and moves its files along: the
paths of the holder before then lead nowhere. No clocks are compared; a lease is stale when its beats stop.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import LOCK, guarded

BEAT, HOLDER = "beat.json", "holder"
PATIENCE = 15.0
"""Seconds without a beat after which a lease is stale. A beat comes five times as often."""


class LeaseLostError(LengthwiseError):
    """Another process has taken over; nothing more may be written."""


class Lease:
    """The right to work in ``folder``; ``token`` grows with every holder. Made by `acquire`."""

    def __init__(self, folder: Path, patience: float) -> None:
        self.folder, self.token, self.lost = folder, int(folder.name), False
        self._name, self._every = secrets.token_hex(8), patience / 5
        self._state: dict[str, Any] = {}
        self._ended = threading.Event()
        (folder / HOLDER).write_text(self._name)
        self._beat(0)

    def check(self, path: Path | None = None) -> None:
        """Raise `LeaseLostError` if another process holds the lease; ``path`` is what is to be written."""
        try:
            mine = (self.folder / HOLDER).read_text() == self._name
        except OSError:
            mine = False
        if self.lost or not mine:
            self.lost = True
            raise LeaseLostError(f"the lease on {self.folder.parent} has passed to another process; nothing is written")

    def tell(self, state: dict[str, Any]) -> None:
        """Plain values that the next beats carry, for whoever watches; raises `LeaseLostError`."""
        self._state = state
        if self.lost:
            self.check()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Beat while the block lasts, and let no write of this process pass once the lease is lost."""
        beats = threading.Thread(target=self._keep_beating, daemon=True)
        beats.start()
        try:
            with guarded(self.check):
                yield
        finally:
            self._ended.set()
            beats.join()

    def release(self) -> None:
        """Delete the folder, at once for everybody else; raises `LeaseLostError`."""
        self.check()
        gone = self.folder.with_name(f".gone-{self._name}")
        os.rename(self.folder, gone)
        shutil.rmtree(gone, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.folder.parent.rmdir()
            self.folder.parent.parent.rmdir()

    def _keep_beating(self) -> None:
        number = 0
        while not self._ended.wait(self._every):
            number += 1
            try:
                self.check()
                self._beat(number)
            except LeaseLostError:
                return
            except OSError:
                continue  # A full disk or a network that is away for a moment: the next beat may come through.

    def _beat(self, number: int) -> None:
        temporary = self.folder / f".{BEAT}.tmp"
        temporary.write_text(json.dumps({"holder": self._name, "beat": number, "state": self._state}))
        os.replace(temporary, self.folder / BEAT)


def acquire(root: Path, patience: float = PATIENCE) -> Lease | None:
    """The lease on ``root``, or None while another process holds it; waits up to ``patience`` seconds to find out.

    The files that a stale holder left in the folder are the new holder's.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        newest = _newest(root)
        if newest is None:
            folder = root / f"{1:06d}"
            folder.mkdir()
        elif _is_beating(newest, patience):
            return None
        else:
            folder = root / f"{int(newest.name) + 1:06d}"
            os.rename(newest, folder)
            for pattern in (LOCK, ".*.tmp"):  # of the holder before; the lease stands in for its locks
                for path in folder.rglob(pattern):
                    path.unlink(missing_ok=True)
        return Lease(folder, patience)
    except (FileExistsError, FileNotFoundError):
        return None  # Another process was faster.
    except OSError as error:
        raise LengthwiseError(f"cannot work in {root}: {error.strerror or error}; choose another folder") from None


def state_of(root: Path, *, whole: bool = False) -> dict[str, Any]:
    """What the holder of the lease on ``root`` last told; empty if nobody holds it. ``whole``: with its beat."""
    newest = _newest(root)
    found = _beat_of(newest) if newest is not None else None
    if whole:
        return {"beat": found, "folder": newest}
    return found["state"] if isinstance(found, dict) and isinstance(found.get("state"), dict) else {}


def _newest(root: Path) -> Path | None:
    try:
        return max((path for path in root.iterdir() if path.name.isdigit()), default=None)
    except OSError:
        return None


def _beat_of(folder: Path) -> Any:
    try:
        return json.loads((folder / BEAT).read_text())
    except (OSError, ValueError):
        return None


def _is_beating(folder: Path, patience: float) -> bool:
    """Whether there is a beat within ``patience`` seconds, or the folder goes to somebody else."""
    first, ends = _beat_of(folder), time.monotonic() + patience
    while time.monotonic() < ends:
        time.sleep(min(0.1, patience / 20))
        if not folder.exists() or _beat_of(folder) != first:
            return True
    return False
