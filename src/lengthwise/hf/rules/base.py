"""`IdRule`: position ids as a function of token ids, and the checks of a user's own function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Int, Num
from torch import Tensor

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import Rng

IdFunction = Callable[[Tensor], Tensor]
"""Token ids [B, T] to position ids [B, T]."""


class IdRule(ABC):
    """Gives every token a position id; the id of a token depends on no later token, except in training."""

    @abstractmethod
    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Num[Tensor, "B T"]:
        """Ids of B rows, of which row b holds ``lengths[b]`` tokens followed by padding.

        Rules with random ids draw anew for each row in ``training``, and are deterministic otherwise. Raises
        `LengthwiseError` for tokens that the rule can't number.
        """


@dataclass(frozen=True)
class UserRule(IdRule):
    """A user's function of token ids [B, T] to position ids [B, T]; in rows, padding comes last."""

    function: IdFunction

    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Num[Tensor, "B T"]:
        found: Any = self.function(tokens)
        require(
            isinstance(found, Tensor) and found.shape == tokens.shape,
            f"the rule must return a tensor of shape {list(tokens.shape)}, one position id per token, "
            f"got {list(found.shape) if isinstance(found, Tensor) else type(found).__name__}",
        )
        require(
            found.dtype != torch.bool and not found.dtype.is_complex,
            f"the rule must return integers or floats, got {found.dtype}",
        )
        require(
            not found.dtype.is_floating_point or bool(found.isfinite().all()),
            "the rule returns position ids that are not finite; return numbers",
        )
        return found


def check_prefix(rule: IdRule, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], ids: Num[Tensor, "B T"]) -> None:
    """Raises `LengthwiseError` if a user's function gives a token another id when fewer tokens follow, or alone.

    The rows are cut before the last token of the shortest, and in half. Our own rules need no check.
    """
    if not isinstance(rule, UserRule):
        return
    shortest = int(lengths.min())
    for end in {shortest - 1, shortest // 2} - {0, -1}:
        before = rule.ids(tokens[:, :end], lengths.clamp(max=end), training=False)
        require(
            torch.equal(before, ids[:, :end]),
            "the rule changes the id of a token when more tokens follow, so generation with a cache would differ from "
            "a full pass; let the id of a token depend on the tokens up to it only",
        )
    own = slice(int(lengths[-1]))
    require(
        len(tokens) == 1 or torch.equal(rule.ids(tokens[-1:], lengths[-1:], training=False)[:, own], ids[-1:, own]),
        "the rule changes the ids of a row with the rows beside it; let them depend on the row's own tokens only",
    )


def as_rule(rule: IdRule | IdFunction) -> IdRule:
    """A rule as an `IdRule`; raises `LengthwiseError` for anything but a rule or a function."""
    if isinstance(rule, IdRule):
        return rule
    if not callable(rule):
        raise LengthwiseError(
            f"a rule is a function of token ids [B, T] to position ids [B, T], or an IdRule such as "
            f"Restart(separator=…), got {rule!r}"
        )
    return UserRule(rule)


def training_rng() -> Rng:
    """A NumPy generator drawn from torch's global one, so that `torch.manual_seed` repeats a training."""
    return np.random.default_rng(int(torch.randint(2**62, ())))
