"""Encodings that add a vector per id to the token embedding: learned tables and sinusoids."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.positions.encodings.base import EncodingShape
from lengthwise.positions.encodings.module_list import Modules
from lengthwise.positions.encodings.modules import SlottedEncoding, Table, add
from lengthwise.positions.encodings.specs import Learned, Sinusoidal, SlowLearned


class LearnedTable(SlottedEncoding):
    """One table of ``max_position + 1`` rows per coupled level, summed."""

    def __init__(self, spec: Learned, shape: EncodingShape) -> None:
        super().__init__(shape)
        self.tables = Modules[Table](Table(shape.max_position + 1, shape.width) for _ in shape.coupled)
        for table in self.tables:
            nn.init.normal_(table.weight, std=spec.init_std)

    def embed(self, ids: Int[Tensor, "B T L"]) -> Float[Tensor, "B T D"] | None:
        """The sum of the levels' rows."""
        total = super().embed(ids)
        for level, table in zip(self.coupled, self.tables, strict=True):
            total = add(total, self.rows(table, ids[..., level]))
        return total

    def rows(self, table: nn.Module, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """What the ids of one level add."""
        return table(ids)

    def table(self) -> Float[Tensor, "*runs N D"]:
        """What each id adds to a token: the levels' tables, summed."""
        return torch.stack([table.weight for table in self.tables]).sum(0)


class SlowLearnedTable(LearnedTable):
    """The tables of `LearnedTable`, kept divided by ``scale``."""

    def __init__(self, spec: SlowLearned, shape: EncodingShape) -> None:
        super().__init__(spec, shape)
        self.scale = spec.scale
        with torch.no_grad():
            for table in self.tables:
                table.weight.div_(self.scale)

    def rows(self, table: nn.Module, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """What the ids of one level add."""
        return self.scale * table(ids)

    def table(self) -> Float[Tensor, "*runs N D"]:
        """What each id adds to a token."""
        return self.scale * super().table()


class SinusoidalTable(SlottedEncoding):
    """Sines and cosines in alternation: coordinate 2t is sin(p / base^(2t/width)), 2t + 1 the cosine."""

    frequencies: Tensor

    def __init__(self, spec: Sinusoidal, shape: EncodingShape) -> None:
        super().__init__(shape)
        self.scale = spec.scale
        exponents = torch.arange(0, shape.width, 2, dtype=torch.float32) / shape.width
        self.register_buffer("frequencies", torch.exp(-math.log(spec.base) * exponents), persistent=False)
        self.width = shape.width

    def embed(self, ids: Int[Tensor, "B T L"]) -> Float[Tensor, "B T D"] | None:
        """The sum of the levels' waves."""
        total = super().embed(ids)
        for level in self.coupled:
            angles = ids[..., level, None] * self.frequencies
            waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., : self.width]
            total = add(total, self.scale * waves)
        return total
