"""Learned absolute positions: a learned vector per id, added to the token embedding (Gehring et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.core.errors import require
from lengthwise.nn.added import AddedVectors
from lengthwise.nn.module_list import Modules
from lengthwise.nn.parameters import EmbeddingTable
from lengthwise.nn.slots import Slots


class LearnedEmbedding(AddedVectors):
    """x_t + Σ_ℓ P_ℓ[p_t^ℓ], with one table P_ℓ of ``max_position + 1`` rows for each level of the ids.

    Input: ids in 0..max_position, ``[B, T]`` or ``[B, T, L]``. Output: vectors to add, ``[B, T, width]``.

    ``levels`` is the number of levels, or a list of those to use. With ``scale`` below 1 the tables are kept divided
    by it and multiplied by it on use, so that Adam changes them ``scale`` times as fast; ``init_std`` is the standard
    deviation of the product. Raises `LengthwiseError` for settings without meaning, and IndexError for ids above
    ``max_position`` (on a GPU, torch's device assertion).

    >>> import torch
    >>> from lengthwise.nn import LearnedEmbedding
    >>> position = LearnedEmbedding(512, 64)
    >>> x = torch.randn(2, 10, 64)
    >>> (x + position(torch.arange(10).expand(2, 10))).shape
    torch.Size([2, 10, 64])
    """

    def __init__(
        self,
        max_position: int,
        width: int,
        levels: int | Sequence[int] = 1,
        *,
        init_std: float = 0.05,
        scale: float = 1.0,
        slots: Slots | None = None,
    ) -> None:
        require(max_position >= 0 and width >= 1, f"a table needs rows and a width, got {max_position} and {width}")
        require(0 <= init_std < math.inf, f"init_std must be finite and at least 0, got {init_std}")
        require(0 < scale <= 1, f"scale must be above 0 and at most 1, got {scale}")
        super().__init__(levels, slots)
        self.scale = scale
        self.tables = Modules[EmbeddingTable](EmbeddingTable(max_position + 1, width) for _ in self.levels)
        for table in self.tables:
            nn.init.normal_(table.weight, std=init_std)
            with torch.no_grad():
                table.weight.div_(scale)

    def vectors(self, ids: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B T D"]:
        """The rows of the level's table."""
        rows = self.tables[index](ids)
        return rows if self.scale == 1 else self.scale * rows

    def table(self) -> Float[Tensor, "*runs N D"]:
        """What each id adds to a token: the levels' tables, summed."""
        total = torch.stack([table.weight for table in self.tables]).sum(0)
        return total if self.scale == 1 else self.scale * total
