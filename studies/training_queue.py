"""Work through the trainings that the results pages still need in turn: ``python studies/training_queue.py run``.

``studies/queue.json`` lists them, by our guess the most valuable per minute first, with the estimated minutes of one
idle core. Every command can be stopped at any time and goes on where it was; started once for each core, it shares the
list. What is finished is in ``studies/queue-done.jsonl``, its result files are copied from ``runs`` to ``results``, and
nothing there is ever overwritten. A fresh checkout goes on from the committed files: they are copied to ``runs`` first.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import filelock

ROOT = Path(__file__).resolve().parents[1]
RESULTS, RUNS = ROOT / "results", ROOT / "runs"
ITEMS, DONE = (Path(__file__).with_name(name) for name in ("queue.json", "queue-done.jsonl"))
FILES = ("result.json", "study.json")


def items() -> list[dict[str, Any]]:
    """The trainings in order: ``name``, ``minutes``, ``command`` (the words after ``lengthwise``)."""
    return json.loads(ITEMS.read_text(encoding="utf-8"))


def done() -> set[str]:
    """The commands of finished trainings."""
    if not DONE.exists():
        return set()
    return {key(json.loads(line)) for line in DONE.read_text(encoding="utf-8").splitlines()}


def key(item: dict[str, Any]) -> str:
    """What makes a training: another command is another one, whatever its name."""
    return json.dumps(item["command"])


def run(minutes: float) -> None:
    """Train what is not finished until the time is up; one that fails is reported, and the next one is tried.

    What another process is at work on is left to it.
    """
    ends = time.monotonic() + 60 * minutes
    restore()
    for item in items():
        try:
            with filelock.FileLock(lock_of(item), timeout=0):
                if key(item) not in done() and not _train(item, ends - time.monotonic()):
                    print("the time is up; the same command goes on from here", flush=True)
                    return
        except filelock.Timeout:
            print(f"another process is at work on {item['name']}", flush=True)


def lock_of(item: dict[str, Any]) -> Path:
    """The file that the process at work on an item has locked."""
    path = RUNS / "queue" / f"{hashlib.sha256(key(item).encode()).hexdigest()[:12]}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _train(item: dict[str, Any], seconds: float) -> bool:
    """Run one command and keep its results; False if the time is up."""
    if seconds <= 0:
        return False
    started = time.monotonic()
    print(f"[{_now():%H:%M:%S}] {item['name']} (about {item['minutes']} minutes)", flush=True)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "lengthwise", *item["command"]],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        collect()
    if ended.returncode:
        print(f"{item['name']} ended with exit code {ended.returncode}", flush=True)
        return True
    finished = {**item, "seconds": round(time.monotonic() - started), "ended": f"{_now():%Y-%m-%dT%H:%MZ}"}
    with DONE.open("a", encoding="utf-8") as file:
        file.write(json.dumps(finished) + "\n")
    return True


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def collect() -> list[Path]:
    """Copy the result files of the queue's recipes from ``runs`` to ``results``; returns the new ones."""
    return _copy(RUNS, RESULTS)


def restore() -> list[Path]:
    """Copy them the other way, so that no system is trained again; returns the new ones."""
    return _copy(RESULTS, RUNS)


def _copy(source: Path, target: Path) -> list[Path]:
    recipes = {item["command"][1] for item in items() if item["command"][0] == "run"}
    new = []
    for path in sorted(path for recipe in recipes for name in FILES for path in (source / recipe).glob(f"*/{name}")):
        copy = target / path.relative_to(source)
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            new.append(copy)
    return new


def show() -> None:
    """Print every training with its state."""
    finished = done()
    left = [item for item in items() if key(item) not in finished]
    for item in items():
        print(f"{'done' if key(item) in finished else 'open':5} {item['minutes']:4} min  {item['name']}")
    print(f"{len(left)} open, about {sum(item['minutes'] for item in left) / 60:.1f} hours of one idle core")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Trainings that the results pages still need.")
    parser.add_argument("action", choices=("show", "run", "collect"))
    parser.add_argument("--minutes", type=float, default=24 * 60, help="stop after so many minutes")
    given = parser.parse_args()
    if given.action == "run":
        run(given.minutes)
    elif given.action == "collect":
        print(*collect(), sep="\n")
    else:
        show()


if __name__ == "__main__":
    main()
