"""`Slots`: learned vectors for levels of the ids that hold a few labels and no positions.

In variable assignment a label says whether a token is the first or the second name of its line.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.nn.levels import add, level_indices, on_level
from lengthwise.nn.module_list import Modules
from lengthwise.nn.parameters import EmbeddingTable


class Slots(Modules[EmbeddingTable]):
    """One table of ``size`` vectors of size ``width`` for each of ``levels``; the levels' vectors are summed.

    An encoding that gets ``slots=Slots((1,), 64)`` treats level 1 of the ids as labels: ids in 0..15 whose distance
    has no meaning.
    """

    def __init__(self, levels: int | Sequence[int], width: int, size: int = 16) -> None:
        super().__init__(EmbeddingTable(size, width) for _ in level_indices(levels))
        self.levels = level_indices(levels)
        for table in self:
            nn.init.normal_(table.weight, std=0.05)

    def forward(self, ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B T D"] | None:
        """The sum of the labels' vectors; None without levels. Raises IndexError for an id of ``size`` or more."""
        total = None
        for level, table in zip(self.levels, self, strict=True):
            total = add(total, table(on_level(ids, level)))
        return total
