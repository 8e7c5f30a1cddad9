"""`SchemeIds`: ids of a position scheme that numbers tokens: random starts, randomized ids, PoSE."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from lengthwise.core.errors import require
from lengthwise.core.rng import Rng, stream
from lengthwise.hf.rules.base import IdRule, training_rng
from lengthwise.positions.schemes import SCHEMES, PositionScheme

MOST_PROBED = 1 << 16
"""The longest sequence on which the ids at test are looked at."""


class SchemeIds(IdRule):
    """Ids of a scheme such as ``SchemeIds("pose", max_position=255)``: drawn per row in training, as at test otherwise.

    ``tokens`` is the number of tokens at test, prompt and answer together. Ids that stay random at test
    (``randomized``) need it, and are then one subset drawn from ``seed``; so do ids that depend on that number
    (``randomized-float``). Raises `LengthwiseError` for a scheme that uses places, for which `CoupledPlaces` exists.
    """

    def __init__(
        self, scheme: str | PositionScheme | dict[str, Any], *, tokens: int | None = None, seed: int = 0, **fields: Any
    ) -> None:
        self.scheme = SCHEMES.build(scheme, **fields)
        self.tokens, self.seed = tokens, seed
        require(
            not self.scheme.uses_places,
            f"scheme {self.scheme.name!r} needs the places of a task; use CoupledPlaces(task)",
        )
        self._counted = not is_fixed(self.scheme.for_evaluation())
        require(
            not self._counted or tokens is not None,
            f"ids of scheme {self.scheme.name!r} at test are random or depend on the number of tokens, so it must be "
            "known; give tokens=… for prompt and answer together",
        )

    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Int[Tensor, "B T"]:
        rows, width = tokens.shape
        if training:
            return torch.from_numpy(self._drawn(rows, width, lengths.cpu().numpy())).to(tokens.device)
        count = width
        if self._counted:
            assert self.tokens is not None
            require(width <= self.tokens, f"{width} tokens are more than the rule's tokens = {self.tokens}; raise it")
            count = self.tokens
        table = assigned(self.scheme.for_evaluation(), 1, count, stream(self.seed, "hf", "evaluation"))
        return torch.from_numpy(table[:, :width]).to(tokens.device).expand(rows, width)

    def _drawn(self, rows: int, width: int, lengths: np.ndarray) -> np.ndarray:
        rng = training_rng()
        ids = np.zeros((rows, width), dtype=np.int64)
        for length in np.unique(lengths[lengths > 0]):
            chosen = np.flatnonzero(lengths == length)
            ids[chosen, :length] = assigned(self.scheme, len(chosen), int(length), rng)
        return ids


def assigned(scheme: PositionScheme, rows: int, tokens: int, rng: Rng) -> np.ndarray:
    """Ids ``[rows, tokens]`` of a scheme that numbers tokens."""
    return scheme.assign(np.zeros((rows, tokens, 1), dtype=np.int64), ("position",), rng)[:, :, 0]


def is_fixed(scheme: PositionScheme) -> bool:
    """Whether two draws of the ids at test agree, and more tokens don't change the ids of those before them."""
    count, most = min(32, scheme.max_position + 1), min(MOST_PROBED, scheme.max_position + 1)
    draws = [assigned(scheme, 4, count, stream(seed, "hf", "probe")) for seed in (0, 1)]
    longest = assigned(scheme, 1, most, stream(0, "hf", "probe"))[:, :count]
    return all(bool((draw == longest).all()) for draw in draws)
