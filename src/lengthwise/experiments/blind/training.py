"""The study's only use of the trainer: several seeds of one rung, trained as one stack that can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lengthwise.experiments.blind.ladder import Rung, encoding_spec, model_config, position_scheme, training_config
from lengthwise.tasks import Task

if TYPE_CHECKING:
    from lengthwise.models.transformer import Transformer


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
    from lengthwise.training.setup import TaskSetup
    from lengthwise.training.trainer import Trainer

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(
        TaskSetup(task, position_scheme(task, encoding), encoding_spec(rung, encoding), model_config(rung, encoding)),
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
