"""What checkpoints cost: the share of a training's time that they take, for trainings of very different sizes.

Run: python benchmarks/checkpoints.py [--steps 12] [--writes 6]

Prints a table for docs/operations.md. The share is that of one checkpoint in the steps between two of them: medians,
by the clock on the wall and by processor time. Probes come on top of the steps and would make it smaller.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lengthwise.experiments import recipes as _recipes  # noqa: F401
from lengthwise.experiments.blind.ladder import Rung, encoding_spec, model_config, position_scheme, training_config
from lengthwise.experiments.defaults import recipe_for
from lengthwise.influence import text
from lengthwise.influence.corpus import TextTask, load_corpus
from lengthwise.influence.lm import lm_config
from lengthwise.influence.tokenizer import Bytes
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS, LearnedSpec
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks.counting import Majority
from lengthwise.tasks.language import Language
from lengthwise.training.checkpoint import FILE
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup
from lengthwise.training.trainer import Trainer

Made = tuple[TaskSetup, TrainingConfig, int]
"""What is trained, how, and how many seeds as a stack."""
SMALLEST = Rung(layers=1, heads=1, width=16, lr=1e-3, steps=5000, batch=64, norm="rms", weight_decay=0.0)


def of_recipe(name: str, system: str, seeds: int) -> Made:
    """A system of a recipe as the preset ``quick`` trains it."""
    (job,) = (job for job in recipe_for(name, "quick").jobs if job.name == system)
    experiment = job.experiment
    setup = TaskSetup(experiment.task, experiment.scheme, experiment.encoding, experiment.model)
    return setup, experiment.training, seeds


def language_model(preset: str) -> Made:
    """A model of the shape and the batches of ``lm train``, over bytes: its text is this package's own."""
    config = lm_config(preset)
    task = TextTask(load_corpus(Path(text.__file__).parent, None).train, Bytes())
    setup = TaskSetup(task, config.positions(), ENCODINGS.build("rope"), config.model())
    return setup, config.training(), 1


def rung() -> Made:
    """A stack of five seeds on a rung smaller than the smallest of the blind study."""
    task = Language(language="(ab)*")
    setup = TaskSetup(
        task, position_scheme(task, "nope"), encoding_spec(SMALLEST, "nope"), model_config(SMALLEST, "nope")
    )
    return setup, training_config(SMALLEST, "nope"), 5


def large() -> Made:
    """Four layers of width 256."""
    setup = TaskSetup(Majority(letters=2), Sequential(max_position=512), LearnedSpec(), ModelConfig(4, 4, 256))
    return setup, TrainingConfig(max_length=50, batch_size=64), 1


WORK: dict[str, Callable[[], Made]] = {
    "addition, coupled": lambda: of_recipe("addition", "coupled", 1),
    "variable assignment, scratchpad + PPC": lambda: of_recipe("variable-assignment", "scratchpad + PPC", 1),
    "the same, a stack of 8 seeds": lambda: of_recipe("variable-assignment", "scratchpad + PPC", 8),
    "a language model of bytes, 2 × 128": lambda: language_model("quick"),
    "a rung of width 16, a stack of 5 seeds": rung,
    "majority, 4 × 256": large,
}


def timed(work: Callable[[], object], count: int) -> tuple[float, float]:
    """Median seconds of a call, on the wall and of the processor."""
    walls, processors = [], []
    for _ in range(count):
        wall, processor = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return statistics.median(walls), statistics.median(processors)


def row(name: str, made: Made, steps: int, writes: int) -> str:
    """One line of the table."""
    setup, config, seeds = made
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(setup, config, list(range(seeds)), folder=Path(folder))
        for step in range(2):
            trainer.step(step)
        step_wall, step_processor = timed(lambda: trainer.step(2), steps)
        trainer._save()
        wall, processor = timed(trainer._save, writes)
        size = Path(folder, FILE).stat().st_size
    between = config.probe_every
    shares = (100 * cost / (cost + between * step) for cost, step in ((wall, step_wall), (processor, step_processor)))
    cells = (f"{size / 1e6:.1f} MB", f"{1e3 * step_wall:.1f} ms", f"{1e3 * wall:.1f} ms", str(between))
    return " | ".join(("", name, *cells, *(f"{share:.2f} %" for share in shares), "")).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--writes", type=int, default=6)
    parser.add_argument("--only", action="append", choices=list(WORK))
    arguments = parser.parse_args()
    print("| run | size | a step | a checkpoint | steps between two | share, wall-clock | share, CPU |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in arguments.only or WORK:
        print(row(name, WORK[name](), arguments.steps, arguments.writes), flush=True)


if __name__ == "__main__":
    main()
