"""The study's only use of the trainer: several seeds of one rung, trained as one stack that can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lengthwise.experiments.blind.ladder import Rung, encoding_spec, model_config, position_scheme, training_config
from lengthwise.models.config import ModelConfig
from lengthwise.tasks import Task
from lengthwise.training.config import TrainingConfig

if TYPE_CHECKING:
    from lengthwise.models.inputs import Inputs
    from lengthwise.models.transformer import Transformer
    from lengthwise.training.data import Setup


@dataclass(frozen=True)
class EachWordOnce:
    """A `Setup` whose steps have one row of each run where all rows of a run are equal, in every group.

    A language with one word of each length gives many equal rows. One of them has the same mean loss, to rounding.
    """

    setup: Setup

    @property
    def model(self) -> ModelConfig:
        """The configuration of the model."""
        return self.setup.model

    def build(self, seed: int) -> Transformer:
        """The model of one seed before its first step."""
        return self.setup.build(seed)

    def groups(self, config: TrainingConfig, seeds: Sequence[int], step: int) -> list[Inputs]:
        """The data of one step, seed by seed."""
        groups = self.setup.groups(config, seeds, step)
        if not all(_repeats(group, len(seeds)) for group in groups):
            return groups
        return [group.gather([(group, slice(None, None, len(group.input_ids) // len(seeds)))]) for group in groups]


def _repeats(group: Inputs, runs: int) -> bool:
    """Whether each run has the same row again and again, under the same ids; what a task allows follows from them."""
    both = (part.unflatten(0, (runs, -1)) for part in (group.input_ids, group.position_ids))
    return all(bool((rows == rows[:, :1]).all()) for rows in both)


@dataclass(frozen=True)
class TrainedSeed:
    """One seed at the end of a rung; ``model`` is None where the training diverged."""

    seed: int
    model: Transformer | None
    seconds: float
    fit_by_step: dict[str, float]
    """What ``probe`` gave after so many steps."""


def train_rung(
    task: Task,
    encoding: str,
    rung: Rung,
    seeds: Sequence[int],
    folder: Path | None,
    *,
    probe: Callable[[Transformer, int], float],
    on_step: Callable[[int, float], None] | None = None,
) -> list[TrainedSeed]:
    """Train ``seeds`` for all steps of the rung; with a ``folder``, go on from the checkpoint in it.

    The training is a function of the rung, the task, the encoding and the seeds. ``probe`` measures a
    model in distribution, given its seed, every few hundred steps; it changes nothing. ``on_step`` gets the number of
    steps done and the mean loss in nats per scored token.
    """
    # Torch is loaded only when something has to be trained.
    from lengthwise.training.data import TaskSetup
    from lengthwise.training.trainer import Trainer

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    spec, model = encoding_spec(rung, encoding), model_config(rung, encoding)
    trainer = Trainer(
        EachWordOnce(TaskSetup(task, position_scheme(task, encoding), spec, model)),
        training_config(rung, encoding),
        list(seeds),
        probe=lambda model, step, seed: {"fitted": False, "in_distribution": probe(model, seed)},
        folder=folder,
        on_step=on_step,
    )
    return [
        TrainedSeed(
            state.run.seed,
            state.model,
            state.progress.seconds,
            {str(record["step"]): record["in_distribution"] for record in state.progress.probes},
        )
        for state in trainer.run()
    ]
