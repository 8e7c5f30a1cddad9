"""The loss on scored positions: next token (or next-symbol set) and, where ids are predicted, next id.

`IdPrediction.loss` in `models/position_head.py` is the part for ids. `Inputs.at` in `models/inputs.py` picks the scored
positions. `Trainer.step` divides by the number of scored tokens and adds the regularizer.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from lengthwise.core.rng import stream
from lengthwise.core.vocab import EOS, SPECIALS
from lengthwise.models.config import Loops
from lengthwise.models.inputs import Inputs
from lengthwise.models.kernels.model import FlatTransformer
from lengthwise.models.transformer import TransformerOutput
from lengthwise.training.config import TrainingConfig

FIRST_SCORED_ID = SPECIALS.index(EOS)
"""Next-symbol sets are scored on the end token and the task's own symbols, not on pad, bos and sep."""


@dataclass(frozen=True)
class Loss:
    """Sums over scored positions, in nats: of the batch, or of each of its runs."""

    token: Float[Tensor, "*runs"]
    position: Float[Tensor, "*runs"]


def next_token_loss(output: TransformerOutput, inputs: Inputs) -> Loss:
    """Cross-entropy of tokens (binary cross-entropy per symbol for sets) and of ids, summed over scored positions."""
    loss = run_losses(output, inputs, 1)
    return Loss(loss.token[0], loss.position[0])


def run_losses(output: TransformerOutput, inputs: Inputs, runs: int) -> Loss:
    """`next_token_loss` of each run of a stack, whose rows are ordered by run."""
    logits = output.logits.float()
    if inputs.allowed is not None:
        wanted = inputs.allowed[..., FIRST_SCORED_ID:].to(logits.dtype)
        token = functional.binary_cross_entropy_with_logits(logits[..., FIRST_SCORED_ID:], wanted, reduction="none")
    else:
        token = functional.cross_entropy(logits.flatten(0, 1), inputs.targets.flatten(), reduction="none")
    position = torch.zeros(runs, device=token.device)
    for level, prediction in enumerate(output.position):
        position = position + prediction.loss(inputs.target_position_ids[..., level]).view(runs, -1).sum(1)
    return Loss(token.reshape(runs, -1).sum(1), position)


def step_loss(model: FlatTransformer, inputs: Inputs, config: TrainingConfig, step: int) -> Float[Tensor, " runs"]:
    """What a training step minimizes, for each run of a stack: CE(token) + λ·CE(id), summed over scored positions.

    With a progressive loss a share α of it comes from a second pass with fewer loops.
    """

    def after(loops: Loops | None) -> Float[Tensor, " runs"]:
        output = model(inputs.input_ids, inputs.position_ids, at=inputs.at, groups=inputs.groups, loops=loops)
        loss = run_losses(output, inputs, len(inputs.input_ids))
        return loss.token + config.id_loss * loss.position

    if not config.progressive:
        return after(None)
    assert inputs.groups is not None
    fewer = progressive_loops(model.config.loops_for(inputs.groups[0].tokens), step)
    return (1 - config.progressive) * after(None) + config.progressive * after(fewer)


def progressive_loops(most: int, step: int) -> Loops:
    """r from 0 to T − 1 and u from 1 to T − r, the same for all runs, so that a stack equals its separate runs."""
    rng = stream(0, "train", "progressive loss", step)
    free = int(rng.integers(most))
    return Loops(free, int(rng.integers(1, most - free + 1)))
