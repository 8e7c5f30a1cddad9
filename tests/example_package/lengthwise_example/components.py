"""A task, a position scheme, a position encoding and a mixer."""

from __future__ import annotations

from functools import cached_property

import torch

import lengthwise as lw
from lengthwise.core.vocab import Vocab
from lengthwise.models.mixers import MixerSpec
from lengthwise.positions.encodings import EncodingSpec
from lengthwise.positions.schemes import PositionScheme, Sequential


@lw.config
class Caesar(lw.Task):
    """`<bos> 3 1 4 <sep> 4 2 5 <eos>`: every digit, moved by ``key``. Length = number of digits."""

    summary = "every digit of a number, moved by a key"
    place_rule = "next"

    key: int = 1

    @cached_property
    def vocab(self):
        return Vocab.of("0123456789")

    def write(self, seq, layout, rng):
        first = self.vocab["0"]
        digits = rng.integers(10, size=(layout.length, seq.size))
        seq.bos()
        given = [seq.given(digit + first, place=i + 2) for i, digit in enumerate(digits)]
        seq.sep(place=1)
        for i, digit in enumerate(digits):
            seq.predicted((digit + self.key) % 10 + first, place=i + 2, parents=[given[i]])
        seq.eos(place=layout.length + 2)

    def answer(self, prompt):
        digits = prompt[1:-1]
        if prompt[0] != "<bos>" or prompt[-1] != "<sep>" or not digits or not all(d.isdigit() for d in digits):
            raise ValueError("not digits between <bos> and <sep>")
        return [*(str((int(digit) + self.key) % 10) for digit in digits), "<eos>"]


@lw.config
class Even(PositionScheme):
    """Ids 0, 2, 4, …"""

    summary = "even numbers only"

    max_position: int = 1024

    def assign(self, places, kinds, rng):
        return 2 * Sequential(max_position=self.max_position // 2).assign(places, kinds, rng)


@lw.config
class HalfALiBi(EncodingSpec):
    """ALiBi with slopes of half the size."""

    summary = "a fixed linear penalty on distance, half as steep"

    def build(self, shape):
        module = lw.nn.ALiBi(shape.heads, shape.position_levels, slots=self.slots(shape))
        module.slopes *= 0.5
        return module


class RunningMean(lw.nn.Mixer):
    """The mean of all tokens so far, projected."""

    def __init__(self, width):
        super().__init__()
        self.out = torch.nn.Linear(width, width)

    def forward(self, x, state=None):
        total, count = (0, 0) if state is None else state
        sums, counts = total + x.cumsum(1), count + torch.ones_like(x[:, :, :1]).cumsum(1)
        return self.out(sums / counts), (sums[:, -1:], counts[:, -1:])


@lw.config
class Mean(MixerSpec):
    summary = "the mean of all tokens so far"

    def build(self, width, heads):
        return RunningMean(width)
