"""Greedy generation with a cache; the position ids of new tokens are given, or predicted by the model."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.vocab import EOS, SPECIALS
from lengthwise.models.attention_state import Cache
from lengthwise.models.transformer import Transformer

END = SPECIALS.index(EOS)


@dataclass(frozen=True)
class Generated:
    """The tokens after the prompt and their position ids; rows that ended early are filled with ``<eos>``."""

    tokens: Int[Tensor, "B S"]
    ids: Int[Tensor, "B S L"]


@torch.inference_mode()
def generate(
    model: Transformer,
    input_ids: Int[Tensor, "B P"],
    position_ids: Int[Tensor, "B P L"],
    steps: int,
    *,
    next_ids: Int[Tensor, "B S L"] | None = None,
    expected: Int[Tensor, "B S"] | None = None,
) -> Generated:
    """Generate up to ``steps`` tokens greedily.

    The ids of new tokens are ``next_ids`` (from a scheme that knows them from the layout) or else the predictions of
    the model's id heads, fed back with the token. A row stops at ``<eos>``; with ``expected`` it also stops after its
    first wrong token, because no later token can make it right.

    Raises `LengthwiseError` when ids are neither given nor predicted.
    """
    predicts = model.position_head is not None and next_ids is None
    if next_ids is None and not predicts:
        raise LengthwiseError("generation needs position ids: give next_ids, or train with predictive-coupling")
    rows, prompt = input_ids.shape
    tokens = input_ids.new_full((rows, steps), END)
    ids = position_ids.new_zeros(rows, steps, position_ids.shape[2])
    cache = Cache(capacity=prompt + steps)
    active = torch.arange(rows, device=input_ids.device)
    token, position = input_ids, position_ids
    for step in range(steps):
        output = model(token, position, cache=cache, at=slice(token.shape[1] - 1, None))
        best = output.logits[:, -1].argmax(-1)
        if predicts:
            new_ids = torch.stack([level.best()[:, -1] for level in output.position], dim=-1)
        else:
            assert next_ids is not None
            new_ids = next_ids[active, step]
        tokens[active, step], ids[active, step] = best, new_ids
        going = best != END
        if expected is not None:
            going &= best == expected[active, step]
        if step + 1 == steps or not going.any():
            break
        # Dropping rows costs a copy of the cache: do it when it halves the work.
        if int(going.sum()) * 2 <= len(active):
            kept = going.nonzero().squeeze(1)
            active, best, new_ids, going = active[kept], best[kept], new_ids[kept], going[kept]
            cache.select(kept)
        token, position = best[:, None], new_ids[:, None]
    return Generated(_end(tokens, expected), ids)


def _end(tokens: Int[Tensor, "B S"], expected: Int[Tensor, "B S"] | None) -> Int[Tensor, "B S"]:
    """Overwrite with ``<eos>`` what was generated after the end of rows that were still in the batch."""
    ended = tokens == END
    if expected is not None:
        ended = ended | (tokens != expected)
    after = ended.cumsum(1) - ended.long() > 0
    return tokens.masked_fill(after, END)
