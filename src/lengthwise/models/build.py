"""A model from its configuration, with its initial weights."""

from __future__ import annotations

import torch

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.models.config import ModelConfig
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import EncodingShape, EncodingSpec
from lengthwise.positions.schemes import PositionScheme
from lengthwise.positions.structure import check_places
from lengthwise.tasks import Task


def build_model(
    task: Task, scheme: PositionScheme, encoding: EncodingSpec, config: ModelConfig, *, seed: int
) -> Transformer:
    """A transformer for ``task`` under ``scheme``; its weights are drawn from the stream (seed, "init").

    Raises `LengthwiseError` when the model would have to predict ids that don't follow from the prefix, and when ids
    come from places that the task does not state.
    """
    check_places(task, scheme)
    scheme.check_rule(task.place_rule)
    if scheme.predicted and task.place_rule == "next" and config.id_head == "pointer":
        raise LengthwiseError(
            f"id_head 'pointer' can only name ids of earlier tokens, but task {task.name!r} goes on to new places; "
            "set model.id_head to classification"
        )
    shape = EncodingShape(
        width=config.width,
        heads=config.heads,
        head_width=config.head_width,
        kinds=scheme.kinds(task.levels),
        max_position=scheme.max_position,
    )
    with torch.random.fork_rng(devices=[]):
        # The generator of the processor alone: weights are drawn there, and those of other devices are not restored.
        torch.default_generator.manual_seed(int(stream(seed, "init").integers(2**62)))
        return Transformer(config, encoding, len(task.vocab), shape, predicts_ids=scheme.predicted)
