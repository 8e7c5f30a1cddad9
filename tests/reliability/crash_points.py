"""Stops a process at each change that it makes to files, in turn; then the same command must end with the same bits.

``python crash_points.py KIND FOLDER [MODE] [EVERY]``; kinds are those of `kill_server`. Modes:

* ``kill``: what was done so far is there.
* ``torn``: a file that was written and not synced has the first part of its bytes only.
* ``power``: a simulated file system loses all that was not synced: contents, new names, removals and new folders.

``EVERY`` takes each so-many-th point. Prints one JSON line: the points, how many ended with the bits of a process that
was not stopped, and what was left over.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from kill_server import KINDS, finished, leftovers

from lengthwise.core.files import watched
from lengthwise.experiments.provenance import commit

STOPPED = 77
MODES = ("kill", "torn", "power")


class Disk:
    """Counts changes, ends the process at one of them, and before that loses what a disk would have lost."""

    def __init__(self, stop_at: int, mode: str) -> None:
        self.stop_at, self.mode, self.count = stop_at, mode, 0
        self.unsynced: dict[Path, None] = {}  # files whose contents may be lost
        self.names: list[tuple[Path, Callable[[], None]]] = []  # folders with changes, and how to take each back

    def step(self, name: str, path: Path, source: Path | None) -> None:
        self.count += 1
        if self.count == self.stop_at:
            if name == "written":
                self.unsynced[path] = None
            if self.mode != "kill":
                for file in self.unsynced:
                    if file.exists():
                        os.truncate(file, file.stat().st_size // 2 if self.mode == "torn" else 0)
            if self.mode == "power":
                for _, undo in reversed(self.names):
                    undo()
            os._exit(STOPPED)
        if name == "written":
            self.unsynced[path] = None
        elif name == "sync":
            self.unsynced.pop(path, None)
        elif name == "sync folder":
            self.names = [(folder, undo) for folder, undo in self.names if folder != path]
        elif name == "folder":
            self.names.append((path.parent, partial(shutil.rmtree, path, ignore_errors=True)))
        elif name == "create":
            before = set(path.parent.iterdir()) if path.parent.is_dir() else set()
            self.names.append((path.parent, partial(_remove_new, path, before)))
        elif name in ("replace", "remove"):
            held = {file: file.read_bytes() if file.exists() else None for file in (path, source) if file is not None}
            self.names.append((path.parent, partial(_restore, held)))


def _remove_new(path: Path, before: set[Path]) -> None:
    for file in path.parent.glob(f".{path.name}.*.tmp"):
        if file not in before:
            file.unlink()


def _restore(held: dict[Path, bytes | None]) -> None:
    for file, content in held.items():
        if content is None:
            file.unlink(missing_ok=True)
        elif file.parent.is_dir():
            file.write_bytes(content)


def run(kind: str, out: Path, disk: Disk) -> int:
    """The work in a process of its own, a fork of this one; returns its exit code."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            out.mkdir(parents=True, exist_ok=True)
            with watched(disk.step):
                KINDS[kind](out)
            (out.parent / f"{out.name}.count").write_text(str(disk.count))
            code = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def main(kind: str, out: Path, mode: str = "kill", every: int = 1) -> None:
    torch.set_num_threads(1)
    commit()
    assert mode in MODES
    assert run(kind, out / "whole", Disk(0, mode)) == 0
    whole, points = finished(out / "whole"), int((out / "whole.count").read_text())
    stopped, equal, left, failed = 0, 0, [], []
    for point in range(1, points + 1, every):
        folder = out / f"{mode}-{point}"
        stopped += run(kind, folder, Disk(point, mode)) == STOPPED
        if run(kind, folder, Disk(0, mode)) == 0 and finished(folder) == whole:
            equal += 1
        else:
            failed.append(point)
        left += leftovers(folder)
        if point not in failed:
            shutil.rmtree(folder)
    print(json.dumps({"kind": kind, "mode": mode, "changes": points, "stopped": stopped, "equal": equal,
                      "failed": failed, "left": left}))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:4], *map(int, sys.argv[4:5]))
