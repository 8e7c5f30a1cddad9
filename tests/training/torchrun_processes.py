"""Trainings of several processes: `torchrun` of a small `lengthwise run`, and the losses that it logs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def torchrun(count: int, out: Path, *more: str, steps: int, layers: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}", "-m"]
    sets = [f"--set={key}={json.dumps(value)}" for key, value in (
        ("training.steps", steps), ("training.batch_size", 16), ("training.probe_every", 20), ("model.width", 16),
        ("model.layers", layers), ("evaluation.lengths", [2]), ("evaluation.samples", 8), ("evaluation.fit_samples", 8),
        ("evaluation.probe_samples", 6), ("training.max_length", 4), ("scheme.max_position", 24),
    )]  # fmt: skip
    words += ["lengthwise", "run", "addition", "--only", "coupled", "--seed", "0", *sets, "--out", str(out), *more]
    return subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True)


def ended(process: subprocess.Popen[str]) -> None:
    _, error = process.communicate(timeout=500)
    assert process.returncode == 0, error


def losses(out: Path) -> list[float]:
    (log,) = out.glob("*/*/log.jsonl")
    return [json.loads(line)["loss"] for line in log.read_text().splitlines()]
