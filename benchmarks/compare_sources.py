"""Two versions of the source against each other: CPU time of a training step and of generation, strictly in turns.

    python benchmarks/compare_sources.py OLD/src NEW/src [--case 4-4-256 …] [--rounds 3] [--turns 5] [--json FILE]

Each version works in a process of its own with one thread; the two never work at the same time. A turn times the same
work on both sides, in changing order; the table shows the median of the turns' ratios new / old, and their quartiles.
Each round has new processes, since the speed of one depends on where its memory happens to lie: by up to a tenth.
Every turn takes new training steps, as a training does: torch compiles bf16 products anew for every shape.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
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
    parser.add_argument("--rounds", type=int, default=3, help="pairs of processes, one after the other")
    parser.add_argument("--turns", type=int, default=5, help="turns of each round")
    parser.add_argument("--json", type=Path, help="also write all times to this file")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return work()
    cases = arguments.case or list(CASES)
    found: dict[str, tuple[list[float], list[float]]] = {case: ([], []) for case in cases}
    for number in range(arguments.rounds):
        compare(arguments.sources, found, arguments.turns)
        print(f"round {number + 1} of {arguments.rounds} is done", file=sys.stderr)
        if arguments.json:
            arguments.json.write_text(json.dumps(found))
    print(f"{'case':28} {'old ms':>9} {'new ms':>9} {'new/old':>8}  quartiles")
    for case, times in found.items():
        ratios = [new / old for old, new in zip(*times, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        old, new = (1e3 * statistics.median(side) for side in times)
        print(f"{case:28} {old:9.1f} {new:9.1f} {middle:8.3f}  {low:.3f} to {high:.3f}")
    return None


def compare(sources: list[Path], found: dict[str, tuple[list[float], list[float]]], turns: int) -> None:
    """Add a round's CPU seconds, old and new, to those of each case."""
    workers = [start(source) for source in sources]
    try:
        # A turn is not counted: it builds models and fills caches.
        for case, turn in itertools.product(found, range(-1, turns)):
            for side in (0, 1) if turn % 2 else (1, 0):
                seconds = ask(workers[side], case)
                if turn >= 0:
                    found[case][side].append(seconds)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


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
    named("keep_memory", "training.threads", "training.memory")()
    sides: dict[str, Callable[[], object]] = {}
    for line in sys.stdin:
        case = line.strip()
        if case not in sides:
            sides[case] = generation() if case == "generation" else training(case)
        started = time.process_time()
        sides[case]()
        print(time.process_time() - started, flush=True)


def named(name: str, *modules: str) -> Any:
    """A name of the package, in the first of the modules that this version has: names move from one to the next."""
    for module in modules:
        try:
            return getattr(importlib.import_module(f"lengthwise.{module}"), name)
        except (ImportError, AttributeError):
            continue
    raise LookupError(f"{name} is in none of {modules}")


def component(kind: str, name: str, **fields: Any) -> Any:
    """A component from the registry of its kind."""
    return named(kind, "tasks", "positions.encodings", "positions.schemes").build(name, **fields)


def model(layers: int, heads: int, width: int, *, gpt2: bool, **fields: Any) -> Any:
    """A configuration of a model; with the parts of GPT-2, as in `benchmarks/bench.py`, or with RMSNorm and QK-norm."""
    parts: dict[str, Any] = {"norm": "layer", "bias": True, "qk_norm": False} if gpt2 else {}
    return named("ModelConfig", "models.config")(layers, heads, width, **parts, **fields)


def training(case: str) -> Callable[[], object]:
    """New steps of a training: of one seed, as in `benchmarks/bench.py`, or of many as one stack."""
    if " of " in case:
        seeds, _, shape = case.split()
        layers, width = map(int, shape.split("x"))
        size, config, encoding = int(seeds), model(layers, 1, width, gpt2=False), "learned"
    else:
        shape, *words = case.split()
        layers, heads, width = map(int, shape.split("-"))
        norms, size = "norms" in words, 1
        encoding = "rope" if norms else "learned"
        config = model(layers, heads, width, gpt2=not norms, **({"log_length": 50} if norms else {"tied": True}))
    sums = width == 512
    task = component("TASKS", "addition") if sums else component("TASKS", "majority", letters=2)
    scheme = component("SCHEMES", "sequential", max_position=201 if sums else 153)
    precision = "bf16" if "bf16" in case else "float32"
    settings = named("TrainingConfig", "training.config")(
        max_length=30 if sums else 50, batch_size=100 if sums else 64, stacked=" of " in case, precision=precision
    )
    setup = named("TaskSetup", "training.data", "training.setup")(
        task, scheme, component("ENCODINGS", encoding), config
    )
    made = named("Trainer", "training.trainer")(EveryToken(setup) if "every" in case else setup, settings, range(size))
    steps = itertools.count()
    count = 10 * STEPS if case.endswith("1x16") else STEPS
    return lambda: [made.step(step) for step in itertools.islice(steps, count)]


class EveryToken:
    """A setup in which every token is scored, prompts too."""

    def __init__(self, setup: Any) -> None:
        self.setup, self.model, self.build = setup, setup.model, setup.build

    def groups(self, config: Any, seeds: Any, step: int) -> list[Any]:
        """The same data, with all tokens but the first as targets."""
        return [
            dataclasses.replace(
                group, at=slice(0, group.input_ids.shape[1] - 1),
                targets=group.input_ids[:, 1:], target_position_ids=group.position_ids[:, 1:],
            )
            for group in self.setup.groups(config, seeds, step)
        ]  # fmt: skip


def generation() -> Callable[[], object]:
    """50 new tokens of 64 prompts, 4 layers of width 256, with the parts of GPT-2 and with QK-norm."""
    import torch

    build, generate = named("build_model", "models.build"), named("generate", "models.generate")
    task, encoding = component("TASKS", "addition"), component("ENCODINGS", "learned", init_std=1.0)
    scheme, rng = component("SCHEMES", "sequential", max_position=511), named("stream", "core.rng")(0, "bench")
    models = []
    for config in (model(4, 4, 256, gpt2=True, init="fan_in"), model(4, 4, 256, gpt2=False, log_length=50)):
        models.append(build(task, scheme, encoding, config, seed=0).eval())
        with torch.no_grad():
            # The logit of the end token is 0, below the largest: no row ends early.
            models[-1].head.weight[named("END", "models.generate")] = 0.0
    batch = task.batch(10, 64, rng)
    start = batch.prompt_length
    ids = torch.from_numpy(batch.input_ids)[:, :start]
    positions = torch.arange(start).expand(64, start)[..., None]
    given = torch.arange(start, start + 50).expand(64, 50)[..., None]
    return lambda: [generate(model, ids, positions, 50, next_ids=given) for model in models]


if __name__ == "__main__":
    main()
