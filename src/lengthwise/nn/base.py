"""What every position encoding has in common: its hooks, id levels, tables and scalars."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import LengthwiseError


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
        return gathered(self.weight, input)


def level_indices(levels: int | Sequence[int]) -> tuple[int, ...]:
    """The levels that an encoding uses: the first ``levels`` of them, or those listed."""
    return tuple(range(levels)) if isinstance(levels, int) else tuple(levels)


def on_level(ids: Int[Tensor, "B T *L"], level: int) -> Int[Tensor, "B T"]:
    """The ids of one level; raises IndexError if the ids have fewer levels."""
    return all_levels(ids)[..., level]


def all_levels(ids: Int[Tensor, "B T *L"]) -> Int[Tensor, "B T K"]:
    """The ids with an axis for their levels."""
    return ids if ids.ndim == 3 else ids[..., None]


def add(first: Tensor | None, second: Tensor) -> Tensor:
    """The sum, where None counts as zero."""
    return second if first is None else first + second


def not_none(result: Tensor | None) -> Tensor:
    """The result of an encoding that uses a level; raises `LengthwiseError` if it uses none."""
    if result is None:
        raise LengthwiseError("this encoding uses no level of the ids; give it levels=1 or more")
    return result


@dataclass(frozen=True)
class ScoreContext:
    """The T tokens so far, those of a cache included, and which Q of them are the queries of the scores.

    ``q`` and ``k`` are those that the model multiplies: normed, rotated and scaled. ``x`` is the input of the layer's
    attention.
    """

    q: Float[Tensor, "B H T d"]
    k: Float[Tensor, "B H T d"]
    x: Float[Tensor, "B T D"]
    ids: Int[Tensor, "B T *L"]
    index: Int[Tensor, " Q"]
    """The queries' positions among the tokens."""
    visible: Bool[Tensor, "*rows Q T"]
    """The keys that each query may see: its own token, and those before it that are not hidden."""

    @property
    def queries(self) -> Float[Tensor, "B H Q d"]:
        return self.q[:, :, self.index]

    @property
    def query_ids(self) -> Int[Tensor, "B Q *L"]:
        return self.ids[:, self.index]

    @staticmethod
    def of_last(
        queries: int,
        q: Float[Tensor, "B H T d"],
        k: Float[Tensor, "B H T d"],
        x: Float[Tensor, "B T D"],
        ids: Int[Tensor, "B T *L"],
        mask: Float[Tensor, "*rows Q T"] | None = None,
    ) -> ScoreContext:
        """The last ``queries`` tokens are queries; they see the keys where ``mask`` is 0, or all earlier ones."""
        keys = torch.arange(q.shape[2], device=q.device)
        index = keys[len(keys) - queries :]
        return ScoreContext(q, k, x, ids, index, index[:, None] >= keys if mask is None else mask == 0)


def sum_after(x: Float[Tensor, "*rows T"]) -> Float[Tensor, "*rows T"]:
    """At each key, the sum over it and all keys after it."""
    return x.flip(-1).cumsum(-1).flip(-1)


def at_distance(
    products: Float[Tensor, "B H Q N"], rows: Int[Tensor, "B Q T"] | Int[Tensor, "B H Q T"]
) -> Float[Tensor, "B H Q T"]:
    """For each pair of query and key, the product of the query with the row that belongs to the pair."""
    if rows.ndim == 3:
        rows = rows[:, None].expand(-1, products.shape[1], -1, -1)
    return products.gather(3, rows)


M = TypeVar("M", bound=nn.Module)


class Modules(nn.ModuleList, Generic[M]):
    """An ``nn.ModuleList`` of modules of one class; parameters have the same names."""

    def __iter__(self) -> Iterator[M]:
        return cast("Iterator[M]", super().__iter__())

    def __getitem__(self, index: int) -> M:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One module (no slices)."""
        return cast(M, super().__getitem__(index))


def normal_tables(count: int, rows: int, width: int, std: float = 0.02) -> Modules[EmbeddingTable]:
    """Tables with normal entries."""
    tables = Modules[EmbeddingTable](EmbeddingTable(rows, width) for _ in range(count))
    for table in tables:
        nn.init.normal_(table.weight, std=std)
    return tables


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


class PositionEncoding(nn.Module):
    """An encoding that leaves attention as it is; subclasses override the hooks that they use.

    ``slots`` adds learned vectors for levels of the ids that hold labels instead of positions; most models have none.
    """

    window: int | None = None
    """A query sees its own token and those before it, this many in all; None: all of them."""
    period: int = 1
    """After how many layers the encodings of the layers repeat."""

    def __init__(self, slots: Slots | None = None) -> None:
        super().__init__()
        self.slots = slots
        self.dtype = torch.get_default_dtype()
        """The type of what `embed` and `bias` return: that of the model around."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        before = dict(self._buffers)
        super()._apply(fn, recurse)
        self.dtype = fn(torch.empty(0, dtype=self.dtype)).dtype
        for name, old in before.items():
            new = self._buffers[name]
            if old is not None and new is not None and new.is_floating_point() and new.dtype.itemsize < 4:
                self._buffers[name] = old.to(new.device)
        return self

    def embed(self, ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B T D"] | None:
        """A vector to add to each token's embedding, or None where there is nothing to add."""
        return None if self.slots is None else self.slots(ids)

    def rotate(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        """Queries (and keys, where `rotate_keys` is not overridden), rotated by the ids of their tokens."""
        return x

    def rotate_keys(self, x: Float[Tensor, "B H T d"], ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H T d"]:
        """Keys, rotated by the ids of their tokens; the same as for queries by default."""
        return self.rotate(x, ids)

    def bias(self, queries: Int[Tensor, "B Q *L"], keys: Int[Tensor, "B T *L"]) -> Float[Tensor, "B H Q T"] | None:
        """A number to add to each attention logit (after its division by √d), or None where there is nothing to add."""
        return None

    def scores(self, scores: Float[Tensor, "B H Q T"], tokens: ScoreContext) -> Float[Tensor, "B H Q T"]:
        """The attention logits (q·k/√d, with no mask yet), changed as a function of the tokens' content."""
        return scores

    def layer(self, index: int) -> PositionEncoding:
        """The encoding of one layer of a model; they count from 0."""
        return self

    @property
    def is_rotary(self) -> bool:
        """Whether the encoding rotates queries and keys."""
        return type(self).rotate is not PositionEncoding.rotate

    @property
    def has_bias(self) -> bool:
        """Whether the encoding adds to the attention logits."""
        return type(self).bias is not PositionEncoding.bias

    @property
    def has_scores(self) -> bool:
        """Whether the encoding depends on the tokens' content, by `scores`."""
        return type(self).scores is not PositionEncoding.scores


class AddedVectors(PositionEncoding):
    """The sum of a vector per level; subclasses say which vector an id of a level has."""

    def __init__(self, levels: int | Sequence[int], slots: Slots | None) -> None:
        super().__init__(slots)
        self.levels = level_indices(levels)

    @abstractmethod
    def vectors(self, ids: Int[Tensor, "B T"], index: int) -> Float[Tensor, "B T D"]:
        """What the ids of one level add; ``index`` counts the levels that are used, from 0."""

    def forward(self, ids: Int[Tensor, "B T *L"], /) -> Float[Tensor, "B T D"]:
        return not_none(self.embed(ids))

    def embed(self, ids: Int[Tensor, "B T *L"]) -> Float[Tensor, "B T D"] | None:
        """The sum over the levels; None without levels."""
        total = super().embed(ids)
        for index, level in enumerate(self.levels):
            total = add(total, self.vectors(on_level(ids, level), index))
        return None if total is None else total.to(self.dtype)
