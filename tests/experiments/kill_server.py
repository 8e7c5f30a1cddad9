"""Run by `test_run.py`: one process that loads torch once, then forks runs and kills them at random moments.

Prints one JSON line: the folders of the finished runs and how many processes were killed. Forking keeps it honest (each
run is a process of its own that dies by SIGKILL) and quick (importing torch takes seconds).
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

from lengthwise.experiments.provenance import commit
from lengthwise.experiments.run import run_seed
from lengthwise.experiments.run_config import RunConfig


def start(experiment: RunConfig, folder: Path) -> int:
    """Fork a process that runs the experiment in ``folder``; returns its id."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            run_seed(experiment, 0, folder, recipe="test", system="test")
            code = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    return process


def main(description: str, out: str, kills: int, seed: int) -> None:
    torch.set_num_threads(1)
    experiment = RunConfig.from_json(json.loads(description))
    commit()  # cached before forking, so that all runs state the same one
    began = time.perf_counter()
    _, status = os.waitpid(start(experiment, Path(out, "uninterrupted")), 0)
    assert status == 0
    duration = time.perf_counter() - began
    moments = random.Random(seed)
    killed, folders = 0, [Path(out, "killed0")]
    while True:
        process = start(experiment, folders[-1])
        if killed < kills:
            time.sleep(moments.uniform(0, duration / 4))
            os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        killed += os.WIFSIGNALED(status)
        assert os.WIFSIGNALED(status) or status == 0, f"a resumed run failed with status {status}"
        if Path(folders[-1], "result.json").exists():
            if killed >= kills:
                break
            folders.append(Path(out, f"killed{len(folders)}"))
    print(json.dumps({"killed": killed, "folders": [str(folder) for folder in folders]}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
