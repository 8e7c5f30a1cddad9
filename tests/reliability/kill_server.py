"""Run by `test_kills.py`: loads torch once, then forks the same work again and again and kills it at random moments.

Prints a JSON line whenever a run has ended, of which the last counts: how many processes were killed, how many runs
ended, how many of these have the bits of one that was not killed, and what was left over.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from lengthwise.api.influence import measure_influence
from lengthwise.experiments.blind.ladder import Rung
from lengthwise.experiments.blind.run import train_rung
from lengthwise.experiments.cluster import run_leased
from lengthwise.experiments.engine import SweepUnit, sweep
from lengthwise.experiments.execute import Processes
from lengthwise.experiments.lease import LeaseLostError
from lengthwise.experiments.provenance import commit
from lengthwise.experiments.recipe import Job, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.influence.corpus import load_corpus
from lengthwise.influence.lm import LMConfig, train_lm
from lengthwise.tasks.language import Language

TINY = RunConfig.from_json(
    {
        "task": {"name": "copy", "symbols": "repeats", "letters": 3},
        "scheme": {"name": "coupled", "max_position": 24},
        "encoding": {"name": "learned"},
        "model": {"layers": 1, "heads": 2, "width": 16, "mlp_ratio": 1},
        "training": {"max_length": 3, "steps": 30, "batch_size": 8, "groups": 2, "probe_every": 5},
        "evaluation": {"lengths": [2], "samples": 8, "fit_samples": 8, "probe_samples": 6, "unfitted_too": True},
    }
)
STACKED = TINY.edited(["training.stacked=true"])
TEXT = Path(__file__).parents[2] / "docs" / "howto"
CLOCK = ("seconds", "speed", "time", "machine", "digest")


def one(out: Path) -> None:
    sweep(Recipe("r", "", (Job("a", TINY, (0,)),)), out)


def stack(out: Path) -> None:
    sweep(Recipe("r", "", (Job("a", STACKED, (0, 1, 2)),)), out)


def jobs(out: Path) -> None:
    sweep(Recipe("r", "", (Job("a", TINY, (0, 1)),)), out, on=Processes(2))


def piece(out: Path) -> None:
    while run_leased(SweepUnit("r", out, Job("a", STACKED, (0, 1))), 0.1).status == "held":
        pass


def lm(out: Path) -> None:
    config = LMConfig(context=16, vocabulary=280, layers=1, heads=2, width=16, steps=20, batch_tokens=64, probe_every=4)
    train_lm(config, load_corpus(TEXT, None), out / "lm", lambda *_: None)


def influence(out: Path) -> None:
    lm(out)
    os.chdir(out)
    settings = {"context": 12, "recent": 6, "ks": [1, 2], "targets": 4, "rules": ["greedy", "last-k"]}
    measure_influence("lm", text=TEXT, out=Path(), settings=settings)


def blind(out: Path) -> None:
    rung = Rung(1, 1, 16, 1e-3, 30, 8, "rms", 0.0)
    trained = train_rung(Language(language="(ab)*"), "nope", rung, (0, 1), out / "rung", probe=lambda *_: 0.0)
    sums = [float(sum(p.double().sum() for p in seed.model.parameters())) for seed in trained if seed.model]
    (out / "result.json").write_text(json.dumps({"sums": sums, "fit": [seed.fit_by_step for seed in trained]}))


KINDS: dict[str, Callable[[Path], None]] = {
    "run": one, "stack": stack, "jobs": jobs, "cluster": piece, "lm": lm, "influence": influence, "blind": blind,
}  # fmt: skip


def start(work: Callable[[Path], None], out: Path) -> int:
    """Fork a process, in a group of its own, that does the work; returns its id."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.setpgid(0, 0)
            out.mkdir(parents=True, exist_ok=True)
            work(out)
            code = 0
        except LeaseLostError:
            code = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    return process


def kill_at(moment: float, process: int) -> None:
    """Kill a process and its group at a moment of the clock, unless it ends before; it is not reaped here."""
    while (rest := moment - time.monotonic()) > 0:
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(min(rest, 0.02))
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(process, signal.SIGKILL)


def finished(out: Path) -> dict[str, str]:
    """Digests of all result files without what a clock or a machine says."""
    found = {}
    for path in sorted(out.rglob("result.json")):
        values: dict[str, Any] = json.loads(path.read_text())
        kept = json.dumps({key: value for key, value in values.items() if key not in CLOCK}, sort_keys=True)
        found[str(path.relative_to(out))] = hashlib.sha256(kept.encode()).hexdigest()
    return found


def leftovers(out: Path) -> list[str]:
    """Temporary files, and folders of stacks and leases, that nobody needs any more."""
    names = [path for pattern in (".*.tmp", "stack-*", "leases") for path in out.rglob(pattern)]
    return [str(path.relative_to(out)) for path in names]


def main(kind: str, out: Path, kills: int, seed: int) -> None:
    torch.set_num_threads(1)
    commit()
    work, moments = KINDS[kind], random.Random(seed)
    began = time.perf_counter()
    _, status = os.waitpid(start(work, out / "whole"), 0)
    assert status == 0
    duration, killed, ends, left = time.perf_counter() - began, 0, [], []
    whole = finished(out / "whole")
    assert whole
    while killed < kills:
        folder, began = out / f"killed{len(ends)}", time.perf_counter()
        while True:
            process = start(work, folder)
            if killed < kills:
                kill_at(time.monotonic() + moments.uniform(0, duration), process)
            _, status = os.waitpid(process, 0)
            killed += os.WIFSIGNALED(status)
            assert os.WIFSIGNALED(status) or status == 0, f"a resumed run failed with status {status}"
            if not os.WIFSIGNALED(status):
                break
        ends.append(finished(folder))
        left += leftovers(folder)
        shutil.rmtree(folder)
        # Under another load than before, most kills would come too late.
        duration = min(duration, time.perf_counter() - began)
        equal = sum(end == whole for end in ends)
        found = {"kind": kind, "killed": killed, "runs": len(ends), "equal": equal, "left": left}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
