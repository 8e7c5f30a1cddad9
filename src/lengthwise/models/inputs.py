"""The tensors of a batch: tokens, position ids, and the targets that the outputs are scored against.

Groups of sequences of different lengths can be one flat batch without padding: their tokens lie end to end along one
axis, and a list of `FlatGroup` gives the size of each group in turn. The first axis is then the run: 1, or the number
of models in a `TransformerStack`, whose groups have the same layout.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from lengthwise.core.batch import Batch
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.positions.schemes import PositionScheme


@dataclass(frozen=True)
class FlatGroup:
    """Of each run, ``rows`` sequences of ``tokens`` tokens; in each, the S positions ``at`` are scored."""

    rows: int
    tokens: int
    at: Int[Tensor, " S"] | slice

    @property
    def size(self) -> int:
        return self.rows * self.tokens

    @property
    def scored(self) -> int:
        each = len(range(self.tokens)[self.at]) if isinstance(self.at, slice) else len(self.at)
        return self.rows * each

    def sequences(self, x: Tensor) -> Tensor:
        """Split the token axis of ``x`` [R, tokens of this group, …] into sequences: [R·rows, tokens, …]."""
        return x.reshape(x.shape[0] * self.rows, -1, *x.shape[2:])


def flat_positions(groups: Sequence[FlatGroup]) -> Int[Tensor, " S"]:
    """Where the scored positions of all groups lie on the flat axis."""
    start, found = 0, []
    for group in groups:
        device = None if isinstance(group.at, slice) else group.at.device
        positions = torch.arange(group.tokens, device=device)[group.at]
        firsts = torch.arange(start, start + group.size, group.tokens, device=device)
        found.append((firsts[:, None] + positions).flatten())
        start += group.size
    return torch.cat(found)


BY_ROW = ("input_ids", "position_ids", "targets", "target_position_ids", "allowed")


@dataclass(frozen=True)
class Inputs:
    """Tensors of one batch; ``at`` are the positions whose outputs are scored, ``targets`` the tokens behind them.

    The shift by one happens here and nowhere else: the token at t is the target of the output at t − 1.
    """

    input_ids: Int[Tensor, "B T"]
    position_ids: Int[Tensor, "B T L"]
    at: Int[Tensor, " S"] | slice
    targets: Int[Tensor, "B S"]
    target_position_ids: Int[Tensor, "B S L"]
    allowed: Bool[Tensor, "B S V"] | None
    groups: tuple[FlatGroup, ...] | None = None
    """The groups of a flat batch (`join`), whose rows are runs; None: the rows are sequences of one length."""

    @property
    def scored(self) -> int:
        return self.targets.numel()

    def _changed(self, change: Callable[[str], Tensor], **others: Any) -> Inputs:
        values = {name: change(name) for name in BY_ROW if getattr(self, name) is not None}
        return dataclasses.replace(self, **values, **others)

    @classmethod
    def gather(cls, parts: Sequence[tuple[Inputs, slice | Tensor]]) -> Inputs:
        """Some rows of each of several batches of one layout, one below the other."""
        return parts[0][0]._changed(lambda name: torch.cat([getattr(part, name)[rows] for part, rows in parts]))

    @classmethod
    def join(cls, groups: Sequence[Inputs], runs: int = 1) -> Inputs:
        """Groups of different layouts end to end, without padding; their rows are ordered by run."""
        flat_groups = tuple(FlatGroup(len(g.input_ids) // runs, g.input_ids.shape[1], g.at) for g in groups)

        def flat(name: str) -> Tensor:
            # Rows and tokens become one axis; runs stay.
            parts = [getattr(group, name) for group in groups]
            return torch.cat([part.reshape(runs, -1, *part.shape[2:]) for part in parts], dim=1)

        return groups[0]._changed(flat, at=flat_positions(flat_groups), groups=flat_groups)

    def of_runs(self, runs: slice) -> Inputs:
        """Some runs of a flat batch."""
        return self._changed(lambda name: getattr(self, name)[runs])

    def to(self, device: torch.device | str) -> Inputs:
        """The same on ``device``; copies to a GPU do not block."""
        if torch.device(device).type == "cpu":
            return self
        groups = self.groups
        if groups is not None:
            groups = tuple(dataclasses.replace(group, **_tensors(group, device)) for group in groups)
        return dataclasses.replace(self, **_tensors(self, device), groups=groups)

    @classmethod
    def of(cls, batch: Batch, scheme: PositionScheme, kinds: tuple[LevelKind, ...], rng: Rng) -> Inputs:
        """Draw position ids for ``batch`` from ``rng``; everything stays in host memory until `to`."""
        ids = scheme.assign(batch.places, kinds, rng)
        target = np.flatnonzero(batch.scored)
        contiguous = len(target) > 0 and target[-1] - target[0] + 1 == len(target)
        at = slice(int(target[0]) - 1, int(target[-1])) if contiguous else torch.from_numpy(target - 1)
        allowed = None if batch.allowed is None else torch.from_numpy(batch.allowed[:, target - 1])
        return cls(
            input_ids=torch.from_numpy(batch.input_ids),
            position_ids=torch.from_numpy(ids),
            at=at,
            targets=torch.from_numpy(batch.input_ids[:, target]),
            target_position_ids=torch.from_numpy(ids[:, target]),
            allowed=allowed,
        )


def _tensors(of: Any, device: torch.device | str) -> dict[str, Tensor]:
    """The fields that are tensors, on ``device``: for a GPU by way of pinned memory, so that copies do not block."""
    pins = torch.device(device).type == "cuda"
    fields = {name: value for name, value in vars(of).items() if isinstance(value, Tensor)}
    return {
        name: (value.pin_memory() if pins and value.device.type == "cpu" else value).to(device, non_blocking=True)
        for name, value in fields.items()
    }
