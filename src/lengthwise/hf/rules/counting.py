"""Rules that count tokens: restart at a separator, Abacus numbers of digits, position interpolation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.core import arguments
from lengthwise.hf.rules.base import IdRule


@dataclass(frozen=True, init=False)
class Restart(IdRule):
    """Ids count from 0 and start again at 0 at every separator token."""

    separators: tuple[int, ...]

    def __init__(self, separator: int | Iterable[int]) -> None:
        given = separator if isinstance(separator, Iterable) else (separator,)
        object.__setattr__(self, "separators", tuple(arguments.whole_numbers("separator (token ids)", given, 0)))

    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Int[Tensor, "B T"]:
        starts = torch.isin(tokens, torch.tensor(self.separators, device=tokens.device))
        return since_last(starts)


@dataclass(frozen=True, init=False)
class Abacus(IdRule):
    """Digit i of a number has id i (from 1), every other token has 0 (McLeish et al. 2024, Abacus embeddings).

    In training each row's digits are shifted by an offset, uniform in ``0..offset``, so that larger ids are trained
    too.
    """

    digits: tuple[int, ...]
    offset: int

    def __init__(self, digits: Iterable[int], offset: int = 0) -> None:
        object.__setattr__(self, "digits", tuple(arguments.whole_numbers("digits (token ids)", digits, 0)))
        object.__setattr__(self, "offset", arguments.whole("offset", offset, 0))

    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Int[Tensor, "B T"]:
        is_digit = torch.isin(tokens, torch.tensor(self.digits, device=tokens.device))
        # A token that is no digit is number 0 of the digits that follow it.
        before = torch.cat([torch.zeros_like(is_digit[:, :1]), is_digit[:, :-1]], dim=1)
        number = since_last(is_digit & ~before) + 1
        if training and self.offset:
            number = number + torch.randint(self.offset + 1, (len(tokens), 1), device=tokens.device)
        return number * is_digit


@dataclass(frozen=True)
class Interpolated(IdRule):
    """Consecutive ids divided by ``factor`` (Chen et al. 2023, position interpolation); for rotary encodings only."""

    factor: float

    def __post_init__(self) -> None:
        arguments.number("factor", self.factor, 0)

    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Float[Tensor, "B T"]:
        index = torch.arange(tokens.shape[1], device=tokens.device, dtype=torch.float32)
        return (index / self.factor).expand(tokens.shape)


def since_last(starts: Tensor) -> Int[Tensor, "B T"]:
    """How many tokens ago the last start was; before the first one, how many tokens came before."""
    index = torch.arange(starts.shape[1], device=starts.device).expand(starts.shape)
    return index - torch.where(starts, index, 0).cummax(dim=1).values
