"""`RowIds`: ids of schemes that number tokens, as our own trainer and tests give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from lengthwise.core.rng import stream
from lengthwise.hf.rules.base import IdRule, training_rng
from lengthwise.hf.rules.from_scheme import assigned
from lengthwise.positions.schemes import PositionScheme

DEFAULT_NEW = 20
"""New tokens where neither ``max_new_tokens`` nor ``max_length`` is set, as in `transformers`."""


class RowIds(IdRule):
    """Ids of ``scheme`` for rows of which each has ``more`` tokens still to come, drawn anew for each row in training.

    At test, ids that depend on the number of tokens (``randomized``, ``randomized-float``) are those of a row of that
    many tokens in all, as far as ``max_position`` has room. All rows of that many tokens share one drawing from
    ``seed``, so that a row's ids don't depend on the rows beside it.
    """

    def __init__(self, scheme: PositionScheme, *, more: int = 0, fixed: bool = False, seed: int = 0) -> None:
        """``fixed`` says that ids at test depend on neither chance nor the number of tokens (`is_fixed`)."""
        self.scheme, self.more, self.fixed, self.seed = scheme, more, fixed, seed

    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Int[Tensor, "B T"]:
        rng = training_rng() if training else None
        counts = lengths.cpu().numpy()
        ids = np.zeros(tuple(tokens.shape), dtype=np.int64)
        for length in map(int, np.unique(counts[counts > 0])):
            chosen = np.flatnonzero(counts == length)
            ids[chosen, :length] = (
                self._at_test(length) if rng is None else assigned(self.scheme, len(chosen), length, rng)
            )
        return torch.from_numpy(ids).to(tokens.device)

    def _at_test(self, length: int) -> Int[np.ndarray, "1 T"]:
        scheme, count = self.scheme.for_evaluation(), length
        if self.more and not self.fixed:
            count = max(length, min(length + self.more, scheme.max_position + 1))
        return assigned(scheme, 1, count, stream(self.seed, "hf", "evaluation"))[:, :length]


def most_tokens(config: Any, default: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """How many columns the batch of a `generate` can have at its end; without a prompt it begins with one.

    What ``config`` leaves open is as in ``default``, the generation configuration of the model.
    """
    tokens = args[0] if args else kwargs.get("input_ids", kwargs.get("inputs"))
    width = 1 if tokens is None else int(tokens.shape[1])

    def setting(name: str) -> int | None:
        found = (kwargs.get(name), getattr(config, name, None), getattr(default, name, None))
        return next((value for value in found if value is not None), None)

    new, most = setting("max_new_tokens"), setting("max_length")
    if new is None and most is not None:
        return int(most)
    return width + (DEFAULT_NEW if new is None else int(new))
