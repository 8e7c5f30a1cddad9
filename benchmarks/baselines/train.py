"""Compares training with a padded GPT-2 of the same shape, and separates the gains of its parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from baselines import gpt2
from baselines.measure import BenchRow, Effort
from baselines.process import BaselineProcess
from lengthwise.core.errors import LengthwiseError
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.positions.encodings import LearnedSpec
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks import Task
from lengthwise.tasks.addition import Addition
from lengthwise.tasks.counting import Majority
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup
from lengthwise.training.trainer import Trainer

STEPS = 4
"""Steps of one timed repeat, which are the same in each."""
AGAINST = "GPT-2 (transformers), padded batches"


@dataclass(frozen=True)
class Case:
    """One configuration; the model has the parts of GPT-2: LayerNorm, biases, learned table, tied head."""

    task: Task
    layers: int
    heads: int
    width: int
    longest: int
    batch: int
    max_position: int

    @property
    def name(self) -> str:
        """The task and layers-heads-width."""
        return f"train {self.task.name} {self.layers}-{self.heads}-{self.width}"

    @property
    def model(self) -> ModelConfig:
        """The configuration of the model."""
        return ModelConfig(self.layers, self.heads, self.width, norm="layer", bias=True, qk_norm=False, tied=True)

    def config(self, precision: str) -> TrainingConfig:
        """The training configuration."""
        return TrainingConfig(max_length=self.longest, batch_size=self.batch, precision=precision)  # type: ignore[arg-type]

    def trainer(self, precision: str, *, every_token: bool = False) -> Trainer:
        """Our trainer of this case."""
        kind = EveryToken if every_token else TaskSetup
        setup = kind(self.task, Sequential(max_position=self.max_position), LearnedSpec(), self.model)
        return Trainer(setup, self.config(precision), [0])


CASES = (
    Case(Majority(letters=2), 4, 4, 256, 50, 64, 153),
    Case(Majority(letters=2), 1, 1, 256, 50, 64, 153),
    Case(Addition(), 1, 4, 512, 30, 100, 201),
)
QUICK = (Case(Majority(letters=2), 1, 1, 32, 10, 8, 30),)


class EveryToken(TaskSetup):
    """Every token is scored, prompts too."""

    def groups(self, config: TrainingConfig, seeds: Sequence[int], step: int) -> list[Inputs]:
        """The same data, with all tokens but the first as targets."""
        return [
            dataclasses.replace(
                group, at=slice(0, group.input_ids.shape[1] - 1),
                targets=group.input_ids[:, 1:], target_position_ids=group.position_ids[:, 1:],
            )
            for group in super().groups(config, seeds, step)
        ]  # fmt: skip


def rows(effort: Effort) -> Iterator[BenchRow]:
    """For each case: equal precision, best of each, every token scored, and the parts of the gain."""
    for case in QUICK if effort.quick else CASES:
        yield from _case(case, effort)
    yield _matmul_share((QUICK if effort.quick else CASES)[0], effort)


KEYS = (("float32", "scored"), ("bf16", "scored"), ("float32", "all"), ("bf16", "all"))
"""Precision, and which tokens are scored."""


def padded_sides(case: Case, steps: int) -> dict[tuple[str, str], Callable[[int], object]]:
    """The baseline: by key, a function that takes the first ``steps`` steps."""
    sides = {
        key: gpt2.PaddedTraining(
            case.task, case.model, case.config("float32"), case.max_position + 1,
            precision=key[0], every_token=key[1] == "all", batches=steps,
        )
        for key in KEYS
    }  # fmt: skip
    return {key: _repeated(side.step, steps) for key, side in sides.items()}


def _repeated(step: Callable[[int], object], steps: int) -> Callable[[int], object]:
    """Both sides take the same number of steps, on data that repeats: what is compiled per shape is not timed."""
    return lambda repeat: [step(index) for index in range(steps)]


def _case(case: Case, effort: Effort) -> Iterator[BenchRow]:
    try:
        import transformers  # noqa: F401
    except ImportError:
        yield BenchRow(case.name, "tokens/s", against=AGAINST, skipped=gpt2.NEEDS)
        return
    steps = 2 if effort.quick else STEPS
    ours = {key: case.trainer(key[0], every_token=key[1] == "all") for key in KEYS}
    with BaselineProcess(padded_sides, case, steps, clock=effort.clock) as padded:
        own_sides = [_repeated(side.step, steps) for side in ours.values()]
        seconds = effort.seconds([*(padded.side(key) for key in KEYS), *own_sides])
    batches = [gpt2.padded_batch(case.task, case.config("float32"), index, False, "cpu") for index in range(steps)]
    real = sum(tokens for _, tokens in batches)
    width = sum(batch["input_ids"].numel() for batch, _ in batches)
    own = sum(group.input_ids.numel() for step in range(steps) for group in ours["float32", "scored"].groups(step))
    theirs = dict(zip(KEYS, (real / time for time in seconds[:4]), strict=True))
    mine = dict(zip(KEYS, (own / time for time in seconds[4:]), strict=True))

    def best(speeds: dict[tuple[str, str], float], scored: str) -> float:
        return max(speeds["float32", scored], speeds["bf16", scored])

    for scored, label in (("scored", ""), ("all", ", every token scored")):
        for name, first, second in (
            ("float32", mine["float32", scored], theirs["float32", scored]),
            ("best precision of each", best(mine, scored), best(theirs, scored)),
        ):
            yield BenchRow.of(f"{case.name}, {name}{label}", "tokens/s", first, second, AGAINST)
    parts = (
        ("padding and loop", mine["float32", "all"], theirs["float32", "all"], AGAINST),
        ("only scored tokens", mine["float32", "scored"], mine["float32", "all"], "ours, every token"),
        ("bf16", mine["bf16", "scored"], mine["float32", "scored"], "ours, float32"),
        ("bf16 of GPT-2", theirs["bf16", "scored"], theirs["float32", "scored"], "GPT-2, float32"),
    )
    note = f"padding is {1 - real / width:.0%} of the baseline's tokens"
    for name, first, second, against in parts:
        yield BenchRow.of(f"{case.name}: gain from {name}", "tokens/s", first, second, against, note)


def _matmul_share(case: Case, effort: Effort) -> BenchRow:
    """Floating-point operations of a training step that scores every token, against a large float32 product's."""
    from torch.utils.flop_counter import FlopCounterMode

    trainer = case.trainer("float32", every_token=True)
    with FlopCounterMode(display=False) as counter:
        trainer.step(1)
    size = 256 if effort.quick else 1536
    left, right = torch.randn(size, size), torch.randn(size, size)
    step, product = effort.seconds([lambda repeat: trainer.step(1), lambda repeat: left @ right])
    ours, peak = counter.get_total_flops() / step / 1e9, 2 * size**3 / product / 1e9
    if peak <= 0:
        raise LengthwiseError("the clock did not advance during a matrix product; take the wall clock")
    return BenchRow.of(
        f"{case.name}: float32 operations", "GFLOP/s", ours, peak, f"one {size}³ product", f"{ours / peak:.0%} of it"
    )
