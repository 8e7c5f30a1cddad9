"""The learned parts that encodings are made of: tables of vectors and small sets of numbers.

All parameters of an encoding lie in these or in torch's own layers, so that many models can train as one stack.
"""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional


class Scalars(nn.Module):
    """Learned numbers that multiply or bound activations: one for all, or one per head."""

    def __init__(self, values: Float[Tensor, "*N"]) -> None:
        super().__init__()
        self.weight = nn.Parameter(values)

    def forward(self, x: Tensor) -> Tensor:
        """The numbers, shaped to broadcast against ``x``: one per head along axis 1, or one for all."""
        return self.weight if self.weight.ndim == 0 else self.weight[:, None, None]


def gathered(table: Float[Tensor, "V D"], rows: Int[Tensor, "*rest"]) -> Float[Tensor, "*rest D"]:
    """The rows of a table; on a CPU by `index_select`, whose backward pass takes a third of an embedding's time."""
    if table.device.type != "cpu":
        return functional.embedding(rows, table)
    return table.index_select(0, rows.flatten()).view(*rows.shape, table.shape[1])


class EmbeddingTable(nn.Embedding):
    """`torch.nn.Embedding`, with the faster backward pass of `gathered`."""

    def forward(self, input: Int[Tensor, "*rest"]) -> Float[Tensor, "*rest D"]:
        """The rows with these numbers; raises IndexError for a number that the table does not have."""
        return gathered(self.weight, input)
