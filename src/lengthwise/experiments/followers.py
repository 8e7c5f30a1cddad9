"""Under torchrun rank 0 runs the command; the other ranks take part in each training that it announces."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lengthwise.experiments.run_config import RunConfig

if TYPE_CHECKING:
    from lengthwise.training.ranks import Ranks
    from lengthwise.training.trainer import Trainer


def follows() -> bool:
    """Whether torchrun started this process as another rank than 0."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and int(os.environ.get("RANK", "0")) > 0


def announce(experiment: RunConfig, seeds: Sequence[int]) -> None:
    """Tell the other ranks, if there are any, which training begins."""
    from lengthwise.training.ranks import ranks

    others = ranks()
    if others is not None:
        others.said(json.dumps({"experiment": experiment.to_json(), "seeds": list(seeds)}))


@contextmanager
def leading() -> Iterator[None]:
    """Let the other ranks go at the end of the block; an error ends them too, by torchrun."""
    from lengthwise.training.ranks import ranks

    others = ranks()
    yield
    if others is not None:
        others.said(json.dumps(None))


def trainer_for(others: Ranks | None) -> type[Trainer]:
    """How this process trains: a whole model, or its share of one."""
    from lengthwise.training.trainer import Trainer

    if others is None or not others.shards:
        return Trainer
    # Its part of torch takes long to load.
    from lengthwise.training.distributed import ShardedTrainer

    return ShardedTrainer


def follow() -> None:
    """Take part in every training that rank 0 announces, until there are no more."""
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.models.device import chosen_device
    from lengthwise.training.data import TaskSetup
    from lengthwise.training.ranks import ranks

    others = ranks()
    assert others is not None
    while (said := json.loads(others.said(""))) is not None:
        experiment = RunConfig.from_json(said["experiment"], load_code=True)
        setup = TaskSetup(experiment.task, experiment.scheme, experiment.encoding, experiment.model)
        trainer = trainer_for(others)
        trainer(setup, experiment.training, said["seeds"], device=chosen_device(), ranks=others).run()
