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
    chosen = loops = score = None
    before = None
    for count in range(1, most + 1):
        logits = with_loops(model, count)(input_ids, position_ids, at=at).logits
        answers = logits.argmax(-1)
        # Lower is better; a sequence that has stopped keeps what it has.
        if rule == "confidence":
            new = -logits.float().log_softmax(-1).amax(-1).sum(-1)
        else:
            same = torch.zeros(len(logits)) if before is None else (answers == before).all(-1).float()
            new = -same.to(logits.device)
        before = answers
        if chosen is None or loops is None or score is None:
            chosen, score = logits, new
            loops = torch.ones(len(logits), dtype=torch.long, device=logits.device)
            continue
        better = new < score
        if rule == "unchanged":
            better |= score == 0  # Not stopped yet: the newest answers count.
        chosen = torch.where(better[:, None, None], logits, chosen)
        loops, score = torch.where(better, count, loops), torch.where(better, new, score)
        if rule == "unchanged" and bool((score < 0).all()):
            break
    assert chosen is not None
    assert loops is not None
    return LoopedOutput(chosen, loops)
