"""Time a training step against sequence length, width, batch size and number of stacked seeds.

Run: python benchmarks/scaling.py [--repeats 5] [--clock cpu] [--plot scaling.png]. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from baselines.measure import Effort

from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import LearnedSpec
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks.counting import Majority
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup
from lengthwise.training.trainer import Trainer

SWEEPS = {"length": (16, 64, 256), "width": (16, 64, 256), "batch": (16, 64, 256), "seeds": (1, 4, 16)}
BASE = {"length": 50, "width": 64, "batch": 64, "seeds": 1}


def step(length: int, width: int, batch: int, seeds: int) -> tuple[Callable[[int], object], int]:
    """A training step of a 2-layer model at exactly one length, and its tokens."""
    task = Majority(letters=2)
    config = TrainingConfig(min_length=length, max_length=length, batch_size=batch)
    model = ModelConfig(2, 1, width)
    setup = TaskSetup(task, Sequential(max_position=512), LearnedSpec(), model)
    return Trainer(setup, config, range(seeds)).step, (length + 4) * batch * seeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    effort = Effort(arguments.repeats, arguments.clock)
    curves: dict[str, list[tuple[int, float]]] = {}
    print("| what | value | ms/step | tokens/s |\n| --- | ---: | ---: | ---: |")
    for name, values in SWEEPS.items():
        sides = [step(**{**BASE, name: value}) for value in values]
        seconds = effort.seconds([side for side, _ in sides])
        for value, (_, tokens), time in zip(values, sides, seconds, strict=True):
            print(f"| {name} | {value} | {1e3 * time:.1f} | {tokens / time:,.0f} |", flush=True)
        curves[name] = list(zip(values, (1e3 * time for time in seconds), strict=True))
    if arguments.plot is not None:
        draw(curves, arguments.plot)


def draw(curves: dict[str, list[tuple[int, float]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(curves), figsize=(12, 3), sharey=True)
    for axis, (name, points) in zip(axes, curves.items(), strict=True):
        axis.loglog(*zip(*points, strict=True), marker="o")
        axis.set_xlabel(name)
    axes[0].set_ylabel("ms per step")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
