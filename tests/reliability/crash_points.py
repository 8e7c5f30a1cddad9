"""Stops a command at each change that it makes to files; then the same command must end with the same bits.

One run of the command is watched. Before each change below its folder (a file made, written, synced, renamed, removed,
a folder made, removed or synced) the folder is copied as a stop at that moment would leave it, in three ways:

* ``kill``: what was done so far is there.
* ``torn``: a file that was not synced has the first half of its bytes only.
* ``power``: all that was not synced is lost: contents, new names, removals and new folders.

Equal copies are kept once. From each of them the same command runs again, in a fork of this process.
Changes are known from audit events: those of Python, and those that `core.files` adds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lengthwise.api import compare as api_compare
from lengthwise.api.explain import explain
from lengthwise.api.influence import measure_influence
from lengthwise.audit.model import Asker, ModelFacts, Reply
from lengthwise.audit.questions import AuditPlan
from lengthwise.audit.run import run_audit
from lengthwise.core.files import LOCK
from lengthwise.crasp import library
from lengthwise.experiments import compare
from lengthwise.experiments.blind import run as blind_run
from lengthwise.experiments.blind.ladder import LADDER, Rung
from lengthwise.experiments.blind.study import write_study
from lengthwise.experiments.compare import ModelSetting
from lengthwise.experiments.engine import sweep
from lengthwise.experiments.recipe import Job, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.forecast.probe import ProbeCell, ProbeSettings, probe
from lengthwise.influence.corpus import load_corpus
from lengthwise.influence.lm import LMConfig, train_lm
from lengthwise.models.compile import compile_program
from lengthwise.models.tensor_files import read_tensors
from lengthwise.tasks import TASKS
from tiny_comparison import make_comparisons_tiny

MODES = ("kill", "torn", "power")
CLOCK = ("seconds", "seconds_this_process", "speed", "time", "machine", "digest")
"""What a clock or a machine says, and digests of it."""
TINY = RunConfig.from_json(
    {
        "task": {"name": "copy", "symbols": "repeats", "letters": 3},
        "scheme": {"name": "coupled", "max_position": 24},
        "encoding": {"name": "learned"},
        "model": {"layers": 1, "heads": 1, "width": 8, "mlp_ratio": 1},
        "training": {"max_length": 3, "steps": 3, "batch_size": 4, "groups": 1, "probe_every": 2},
        "evaluation": {"lengths": [2], "samples": 4, "fit_samples": 4, "probe_samples": 2, "unfitted_too": True},
    }
)
TEXT = Path(__file__).parents[2] / "docs" / "howto"


def a_run(out: Path) -> None:
    sweep(Recipe("r", "", (Job("a", TINY, (0,)),)), out)


def a_stack(out: Path) -> None:
    sweep(Recipe("r", "", (Job("a", TINY.edited(["training.stacked=true"]), (0, 1, 2)),)), out)


def a_comparison(out: Path) -> None:
    grid = (ModelSetting(1, 1e-3, 0.0), ModelSetting(1, 1e-2, 0.0))
    with pytest.MonkeyPatch.context() as patch:
        make_comparisons_tiny(patch, grid)
        patch.setattr(compare, "MULTIPLES", (1, 2))
        api_compare.compare("copy", ["nope", "rope"], seeds=3, max_length=3, budget=10_000, out=out)


class Planted(Asker):
    """Answers by the length of the prompt, so some answers are right by chance and all are the same each time."""

    facts = ModelFacts("planted", "here", 512)
    identity = property(lambda _: {"weights": "planted"})

    def ask(self, prompt: str, budget: int) -> Reply:
        return Reply("ab"[len(prompt) % 2], "stop", len(prompt), 1, 0, False)


def an_audit(out: Path) -> None:
    run_audit(Planted(), AuditPlan(TASKS.build("parity"), (2, 3), samples=2, shots=1, forms=("lines",)), out / "audit")


def a_verification(out: Path) -> None:
    rung = Rung(layers=1, heads=1, width=8, lr=1e-2, steps=2, batch=4, norm="rms", weight_decay=0.1)
    frozen = write_study(out.parent / "frozen", {"ladder": [rung.to_json()] * 2, "seeds": [0, 1, 2, 3, 4]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api_compare, "frozen_study", lambda: frozen)
        for name in ("FIT_WORDS", "PROBE_WORDS", "SIZE"):
            patch.setattr(blind_run, name, 4)
        api_compare.verify("a*", ["nope"], out=out, budget=10_000, jobs=1)


def a_language_model(out: Path) -> None:
    config = LMConfig(context=16, vocabulary=280, layers=1, heads=1, width=8, steps=3, batch_tokens=32, probe_every=2)
    train_lm(config, load_corpus(TEXT, None), out / "lm", lambda *_: None)


def an_influence(out: Path) -> None:
    a_language_model(out)
    os.chdir(out)
    settings = {"context": 12, "recent": 6, "ks": [1], "targets": 2, "rules": ["greedy", "last-k"]}
    measure_influence("lm", text=TEXT, out=Path(), settings=settings)


def a_probe(out: Path) -> None:
    rung = dataclasses.replace(LADDER[0], layers=1, width=8, heads=1, batch=4, steps=3)
    settings = ProbeSettings((rung, rung), (1, 2), 3, every=2, probe_words=4, fit_words=4, test_words=4)
    probe(ProbeCell(TASKS.build("regex:(ab)*"), "ape", 8), settings=settings, folder=out / "probe")


def an_explanation(out: Path) -> None:
    program = compile_program(library.get("Tomita-2")).required()
    task = {"name": "language", "language": "Tomita-2", "ask": "member"}
    explain(program, task, train=6, lengths=[4, 9], samples=8, out=out / "why").save(out / "why")


KINDS: dict[str, Callable[[Path], None]] = {
    "run": a_run, "stack": a_stack, "compare": a_comparison, "audit": an_audit, "verify": a_verification,
    "lm": a_language_model, "influence": an_influence, "probe": a_probe, "explain": an_explanation,
}  # fmt: skip


@dataclass
class Disk:
    """What a folder holds for sure, by what was synced, and copies of it at each change."""

    root: Path
    copies: Path
    names: dict[Path, dict[str, int]] = field(default_factory=dict)
    """By folder: its entries when it was last synced."""
    contents: dict[int, bytes] = field(default_factory=dict)
    """By inode: what the file held when it was last synced."""
    pending: tuple[str, Path] | None = None
    points: dict[str, list[str]] = field(default_factory=lambda: {mode: [] for mode in MODES})
    """The copy of each change, by mode."""
    busy: bool = False

    def step(self, name: str, path: Path) -> None:
        """A change that is about to be made."""
        if self.busy:
            return
        self.busy = True
        self._settle()
        for mode in MODES:
            files = dict(self._durable(self.root) if mode == "power" else self._there(torn=mode == "torn"))
            key = _key(files)
            if not (self.copies / key).exists():
                _write(files, self.copies / key)
            self.points[mode].append(key)
        self.pending = (name, path) if name in (SYNC, SYNC_FOLDER) else None
        self.busy = False

    def audited(self, event: str, values: tuple[Any, ...]) -> None:
        """A change that Python reports, by whoever makes it."""
        if self.busy or event not in AUDITED or (event == "open" and not values[2] & WRITES):
            return
        for value in values[: AUDITED[event]]:
            if isinstance(value, (str, bytes, os.PathLike)):
                path = Path(os.fsdecode(value))
                if event in ("os.remove", "os.rmdir") and values[1] > 0 and not path.is_absolute():
                    path = Path(os.readlink(f"/proc/self/fd/{values[1]}")) / path
                if self.root in ((whole := Path(os.path.abspath(path))), *whole.parents):
                    self.step(event, path)
                    return

    def _settle(self) -> None:
        """What was synced by the last step is there for sure."""
        if self.pending is None:
            return
        name, path = self.pending
        if name == SYNC and path.exists():
            self.contents[path.stat().st_ino] = path.read_bytes()
        elif name == SYNC_FOLDER and path.is_dir():
            self.names[path] = {entry.name: entry.inode() for entry in os.scandir(path)}

    def _there(self, torn: bool) -> Iterator[tuple[str, bytes | None]]:
        for path in sorted(self.root.rglob("*")):
            if path.is_dir():
                yield str(path.relative_to(self.root)), None
                continue
            content = path.read_bytes()
            if torn and content != (sure := self.contents.get(path.stat().st_ino, b"")):
                kept = len(sure) if content.startswith(sure) else 0
                content = content[: (kept + len(content)) // 2]
            yield str(path.relative_to(self.root)), content

    def _durable(self, folder: Path) -> Iterator[tuple[str, bytes | None]]:
        for name, inode in self.names.get(folder, {}).items():
            path = folder / name
            if path in self.names or (path.is_dir() and path.stat().st_ino == inode):
                yield str(path.relative_to(self.root)), None
                yield from self._durable(path)
            else:
                yield str(path.relative_to(self.root)), self.contents.get(inode, b"")


WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
SYNC, SYNC_FOLDER = "lengthwise.sync", "lengthwise.sync folder"
AUDITED = {
    "open": 1, "os.rename": 2, "os.remove": 1, "os.rmdir": 1, "os.mkdir": 1, "os.truncate": 1, "os.symlink": 2,
    "lengthwise.written": 1, "lengthwise.append": 1, SYNC: 1, SYNC_FOLDER: 1,
}  # fmt: skip
"""Events of changes to files, and how many of their values are paths."""


def _key(files: dict[str, bytes | None]) -> str:
    total = hashlib.sha256()
    for name, content in sorted(files.items()):
        total.update(f"{name} {-1 if content is None else len(content)}\n".encode() + (content or b""))
    return total.hexdigest()[:16]


def _write(files: dict[str, bytes | None], folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).mkdir(exist_ok=True) if content is None else (folder / name).write_bytes(content)


def forked(work: Callable[[], None]) -> int:
    """Do the work in a fork of this process; returns its exit code."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def watch(kind: str, home: Path) -> dict[str, list[str]]:
    """Run a command once; returns the copy of its folder at each change, by mode."""
    root = home / "out"

    def work() -> None:
        root.mkdir(parents=True)
        disk = Disk(root, home / "copies")
        sys.addaudithook(disk.audited)
        KINDS[kind](root)
        disk.busy = True
        (home / "points.json").write_text(json.dumps(disk.points))
        (home / "modules.json").write_text(json.dumps([name for name in sys.modules if "__main__" not in name]))

    assert forked(work) == 0
    shutil.move(root, home / "whole")
    for name in json.loads((home / "modules.json").read_text()):
        with contextlib.suppress(Exception):
            importlib.import_module(name)  # so that no fork has to do it again
    return json.loads((home / "points.json").read_text())


def again(kind: str, home: Path, copy: str) -> bool:
    """Whether the command ends with the same bits from a copy, and leaves nothing over."""
    root = home / "out"
    shutil.copytree(home / "copies" / copy, root)
    try:
        return forked(lambda: KINDS[kind](root)) == 0 and contents(root) == contents(home / "whole")
    finally:
        shutil.rmtree(root)


def contents(folder: Path) -> dict[str, Any]:
    """All files without what a clock or a machine says; a checkpoint before the last may be there or not."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir():
            found[name] = None
        elif path.suffix == ".json":
            found[name] = _without_clock(json.loads(path.read_bytes()))
        elif path.suffix == ".jsonl":
            found[name] = sorted(line for line in path.read_text().splitlines() if _is_json(line))
        elif path.suffix == ".safetensors":
            if "previous" not in name:
                found[name] = {key: value.numpy().tobytes() for key, value in read_tensors(path)[0].items()}
        elif path.name != LOCK:
            found[name] = None if path.suffix == ".html" else path.read_bytes()
    return found


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _without_clock(values: Any) -> Any:
    if isinstance(values, dict):
        return {key: _without_clock(value) for key, value in values.items() if key not in CLOCK}
    return [_without_clock(value) for value in values] if isinstance(values, list) else values


def spread(keys: list[str], most: int) -> list[str]:
    """At most so many of the different copies, evenly over the run."""
    different = list(dict.fromkeys(keys))
    return different[:: max(1, -(-len(different) // most))] if most else different


def main(kind: str, home: Path, most: int = 0) -> dict[str, Any]:
    """Counts, by mode: changes, those whose end was looked at, and copies from which the end was another one."""
    began = sum(os.times()[:4])
    points, found = watch(kind, home), {}
    ends: dict[str, bool] = {}
    for mode in MODES:
        chosen = spread(points[mode], most)
        for copy in chosen:
            if copy not in ends:
                ends[copy] = again(kind, home, copy)
        found[mode] = {
            "changes": len(points[mode]),
            "tried": sum(copy in ends for copy in points[mode]),
            "failed": [number for number, copy in enumerate(points[mode]) if not ends.get(copy, True)],
        }
    return {"kind": kind, "states": len(ends), "cpu_seconds": round(sum(os.times()[:4]) - began, 1), **found}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]).resolve(), *map(int, sys.argv[3:4]))))
