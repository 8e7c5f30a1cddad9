"""Two versions of the source against each other: CPU time of a training step and of generation, strictly in turns.

    python benchmarks/compare_sources.py OLD/src NEW/src [--case 4-4-256 …] [--turns 15] [--json FILE]

Each version works in a process of its own with one thread; the two never work at the same time. A turn times the same
work on both sides, in changing order; the table shows the median of the turns' ratios new / old, and their quartiles.
Every turn takes new training steps, as a training does: torch compiles bf16 products anew for every shape.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CASES = (
    "4-4-256", "4-4-256 bf16", "1-1-256", "1-1-256 bf16", "1-4-512", "1-4-512 bf16",
    "4-4-256 every token", "1-4-512 every token bf16", "16 of 2x64", "16 of 1x16", "1 of 1x16", "2-4-128 norms",
    "generation",
)  # fmt: skip
STEPS = 4
"""Training steps of one turn."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs=2, type=Path, help="the old and the new source folder")
    parser.add_argument("--case", action="append", choices=CASES, help="one case; may be repeated (default: all)")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--json", type=Path, help="also write all times to this file")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return work()
    found = {}
    print(f"{'case':28} {'old ms':>9} {'new ms':>9} {'new/old':>8}  quartiles")
    for case in arguments.case or CASES:
        times = found[case] = compare(arguments.sources, case, arguments.turns)
        ratios = [new / old for old, new in zip(*times, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        old, new = (1e3 * statistics.median(side) for side in times)
        print(f"{case:28} {old:9.1f} {new:9.1f} {middle:8.3f}  {low:.3f} to {high:.3f}", flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(found))
    return None


def compare(sources: list[Path], case: str, turns: int) -> tuple[list[float], list[float]]:
    """CPU seconds of every turn, old and new."""
    workers = [start(source) for source in sources]
    times: tuple[list[float], list[float]] = ([], [])
    try:
        for turn in range(-2, turns):
            # Two turns are not counted: they build models and fill caches.
            for side in (0, 1) if turn % 2 else (1, 0):
                seconds = ask(workers[side], case)
                if turn >= 0:
                    times[side].append(seconds)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    return times


def start(source: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(source.resolve()), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, ".", ".", "--worker"]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(worker: subprocess.Popen[str], case: str) -> float:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(case + "\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())


def work() -> None:
    """Answer each line that names a case with the CPU seconds of one turn."""
    from lengthwise.training.threads import keep_memory

    keep_memory()
    sides: dict[str, Callable[[], object]] = {}
    for line in sys.stdin:
        case = line.strip()
        if case not in sides:
            sides[case] = prepare(case)
        started = time.process_time()
        sides[case]()
        print(time.process_time() - started, flush=True)


def prepare(case: str) -> Callable[[], object]:
    """What one turn of a case does."""
    if case == "generation":
        return generation()
    trainer = stack(case) if " of " in case else single(case)
    steps = itertools.count()
    count = 10 * STEPS if case.endswith("1x16") else STEPS
    return lambda: [trainer.step(step) for step in itertools.islice(steps, count)]


def single(case: str):
    """The trainings of `benchmarks/bench.py`, and one of a model with RMSNorm and QK-norm."""
    from baselines.train import CASES as BENCH

    from lengthwise.models.config import ModelConfig

    shape, *words = case.split()
    if "norms" in words:
        layers, heads, width = map(int, shape.split("-"))
        return majority(ModelConfig(layers, heads, width, log_length=50), "rope", 1, stacked=False)
    (bench,) = (one for one in BENCH if one.name.endswith(shape))
    return bench.trainer("bf16" if "bf16" in words else "float32", every_token="every" in words)


def stack(case: str):
    """Seeds as one stack, as in `benchmarks/bench.py`."""
    from lengthwise.models.config import ModelConfig

    seeds, _, shape = case.split()
    layers, width = map(int, shape.split("x"))
    return majority(ModelConfig(layers, 1, width), "learned", int(seeds), stacked=True)


def majority(model: Any, encoding: str, seeds: int, *, stacked: bool):
    """A training of the majority of two letters, lengths 1 to 50, by either version's trainer."""
    from lengthwise.positions.encodings import ENCODINGS
    from lengthwise.positions.schemes import SCHEMES
    from lengthwise.tasks.counting import Majority
    from lengthwise.training.config import TrainingConfig

    config = TrainingConfig(max_length=50, batch_size=64, stacked=stacked)
    scheme = SCHEMES.build("sequential", max_position=153)
    system = Majority(letters=2), scheme, ENCODINGS.build(encoding), model
    try:
        from lengthwise.training.data import TaskSetup
        from lengthwise.training.trainer import Trainer
    except ImportError:
        # Versions before one class trained one seed and many.
        from lengthwise.training import parallel, trainer

        if stacked:
            return parallel.ParallelTrainer(*system, config, list(range(seeds)))
        return trainer.Trainer(*system, config, seed=0)
    return Trainer(TaskSetup(*system), config, range(seeds))


def generation() -> Callable[[], object]:
    """50 new tokens of 64 prompts, 4 layers of width 256: the model of `benchmarks/bench.py` and one with QK-norm."""
    import torch
    from baselines import generate as bench

    from lengthwise.models.config import ModelConfig
    from lengthwise.models.generate import generate
    from lengthwise.positions.schemes import SCHEMES

    scheme = SCHEMES.build("sequential", max_position=bench.ROOM)
    models = [bench.endless(scheme, config) for config in (bench.MODEL, ModelConfig(4, 4, 256, log_length=50))]
    ids, positions = bench.prompts(scheme, 64)
    given = torch.arange(ids.shape[1], ids.shape[1] + 50).expand(64, 50)[..., None]
    return lambda: [generate(model, ids, positions, 50, next_ids=given) for model in models]


if __name__ == "__main__":
    main()
