"""Looped models at test time: other numbers of loops than in training, and rules that say when to stop."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.models.extension import Model
from lengthwise.models.transformer import Transformer

StoppingRule = Literal["confidence", "unchanged"]


def with_loops(model: Model, loops: int) -> Model:
    """The same model (its parameters are shared) with another number of loops; raises `LengthwiseError` below 1."""
    require(loops >= 1, f"loops must be at least 1, got {loops}")
    made = copy.copy(model)
    made.config = dataclasses.replace(model.config, loops=loops)
    return made


@dataclass(frozen=True)
class LoopedOutput:
    """Logits of each sequence after the number of loops that its stopping rule chose."""

    logits: Float[Tensor, "B S V"]
    loops: Int[Tensor, " B"]


@torch.inference_mode()
def adaptive_loops(
    model: Transformer,
    input_ids: Int[Tensor, "B T"],
    position_ids: Int[Tensor, "B T L"],
    at: Int[Tensor, " S"] | slice,
    *,
    most: int = 64,
    rule: StoppingRule = "confidence",
) -> LoopedOutput:
    """The answers of a looped model that chooses its number of loops, from 1 to ``most``, for each sequence.

    ``confidence`` takes the number of loops after which the answers ``at`` have the smallest cross-entropy with
    themselves (Fan et al. 2024, "maximum confidence"); ``unchanged`` the first after which all answers are the same as
    one loop before, or ``most``. Raises `LengthwiseError` unless ``most`` is at least 1.
    """
    require(most >= 1, f"the largest number of loops must be at least 1, got {most}")

    def after(count: int) -> Tensor:
        return with_loops(model, count)(input_ids, position_ids, at=at).logits

    def cost(logits: Tensor) -> Float[Tensor, " B"]:
        return -logits.float().log_softmax(-1).amax(-1).sum(-1)

    chosen = logits = after(1)
    loops = torch.ones(len(logits), dtype=torch.long, device=logits.device)
    score, going = cost(logits), loops > 0
    for count in range(2, most + 1):
        before, logits = logits.argmax(-1), after(count)
        if rule == "confidence":
            new = cost(logits)
            better, score = new < score, torch.minimum(new, score)
        else:
            better, going = going, going & (logits.argmax(-1) != before).any(-1)
        chosen, loops = torch.where(better[:, None, None], logits, chosen), torch.where(better, count, loops)
        if not going.any():
            break
    return LoopedOutput(chosen, loops)
