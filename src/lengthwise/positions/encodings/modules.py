"""The torch base class of the encodings: three hooks, each a no-op."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.positions.encodings.base import FIXED_LEVEL_IDS, EncodingShape
from lengthwise.positions.encodings.module_list import Modules


class Scalars(nn.Module):
    """Learned numbers that multiply or bound activations; a module, so that many runs can train as one stack."""

    def __init__(self, values: Float[Tensor, "*N"]) -> None:
        super().__init__()
        self.weight = nn.Parameter(values)

    def forward(self, x: Tensor) -> Tensor:
        """The numbers, shaped to broadcast against ``x``: one per head along axis 1, or one for all."""
        del x
        return self.weight if self.weight.ndim == 0 else self.weight[:, None, None]


def gathered(table: Float[Tensor, "V D"], rows: Int[Tensor, "*rest"]) -> Float[Tensor, "*rest D"]:
    """The rows of a table; on a CPU by the operation whose backward pass takes a third of an embedding's."""
    if table.device.type != "cpu":
        return functional.embedding(rows, table)
    return table.index_select(0, rows.flatten()).view(*rows.shape, table.shape[1])


class Table(nn.Embedding):
    """`torch.nn.Embedding` by `gathered`."""

    def forward(self, input: Int[Tensor, "*rest"]) -> Float[Tensor, "*rest D"]:
        """The rows of these numbers."""
        return gathered(self.weight, input)


class PositionEncoding(nn.Module):
    """Adds nothing, rotates nothing, biases nothing: NoPE."""

    def embed(self, ids: Int[Tensor, "B T L"]) -> Float[Tensor, "B T D"] | None:
        """A vector to add to the token embedding, or None."""
        return None

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T L"]) -> Float[Tensor, "B H T d"]:
        """Queries or keys, turned by their ids."""
        return x

    def bias(self, queries: Int[Tensor, "B Q L"], keys: Int[Tensor, "B T L"]) -> Float[Tensor, "B H Q T"] | None:
        """What to add to the attention logits, or None."""
        return None


class SlottedEncoding(PositionEncoding):
    """An encoding that leaves ``fixed`` levels (slots) to a small learned table of their own."""

    def __init__(self, shape: EncodingShape) -> None:
        super().__init__()
        self.coupled, self.fixed = shape.coupled, shape.fixed
        self.slots = Modules[Table](Table(FIXED_LEVEL_IDS, shape.width) for _ in shape.fixed)
        for table in self.slots:
            nn.init.normal_(table.weight, std=0.05)

    def embed(self, ids: Int[Tensor, "B T L"]) -> Float[Tensor, "B T D"] | None:
        """The sum of the slots' vectors."""
        total = None
        for level, table in zip(self.fixed, self.slots, strict=True):
            vector = table(ids[..., level])
            total = vector if total is None else total + vector
        return total


def distances(queries: Int[Tensor, "B Q L"], keys: Int[Tensor, "B T L"], level: int) -> Int[Tensor, "B Q T"]:
    """Query's id minus key's id on one level."""
    return queries[:, :, None, level] - keys[:, None, :, level]


def add(first: Tensor | None, second: Tensor) -> Tensor:
    """The sum, where None counts as zero."""
    return second if first is None else first + second
