"""A list of modules that knows their class, which torch's own forgets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar, cast

from torch import nn

M = TypeVar("M", bound=nn.Module)


class Modules(nn.ModuleList, Generic[M]):
    """An ``nn.ModuleList`` of modules of one class; parameters have the same names."""

    def __iter__(self) -> Iterator[M]:
        return cast("Iterator[M]", super().__iter__())

    def __getitem__(self, index: int) -> M:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One module; slices are not needed here."""
        return cast(M, super().__getitem__(index))
