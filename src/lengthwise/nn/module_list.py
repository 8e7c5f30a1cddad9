"""`Modules`, a list of torch modules of one class, so that types are known when it is iterated."""

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
        """One module (no slices)."""
        return cast(M, super().__getitem__(index))
