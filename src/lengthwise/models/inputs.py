"""The tensors of a batch: tokens, position ids, and the targets that the outputs are scored against."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from lengthwise.core.batch import Batch
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import Rng
from lengthwise.models.flat_groups import FlatGroup, flat_positions
from lengthwise.positions.schemes import PositionScheme


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
        """Number of scored tokens in the batch."""
        return self.targets.numel()

    @classmethod
    def gather(cls, parts: Sequence[tuple[Inputs, slice | Tensor]]) -> Inputs:
        """Some rows of each of several batches of one layout, one below the other."""

        def joined(name: str) -> Tensor:
            return torch.cat([getattr(part, name)[rows] for part, rows in parts])

        first = parts[0][0]
        return cls(
            input_ids=joined("input_ids"),
            position_ids=joined("position_ids"),
            at=first.at,
            targets=joined("targets"),
            target_position_ids=joined("target_position_ids"),
            allowed=None if first.allowed is None else joined("allowed"),
        )

    @classmethod
    def join(cls, groups: Sequence[Inputs], runs: int = 1) -> Inputs:
        """Groups of different layouts end to end, without padding; their rows are ordered by run."""
        flat_groups = tuple(FlatGroup(len(g.input_ids) // runs, g.input_ids.shape[1], g.at) for g in groups)

        def flat(name: str) -> Tensor:
            # Rows and tokens become one axis; runs stay.
            parts = [getattr(group, name) for group in groups]
            return torch.cat([part.reshape(runs, -1, *part.shape[2:]) for part in parts], dim=1)

        return cls(
            input_ids=flat("input_ids"),
            position_ids=flat("position_ids"),
            at=flat_positions(flat_groups),
            targets=flat("targets"),
            target_position_ids=flat("target_position_ids"),
            allowed=None if groups[0].allowed is None else flat("allowed"),
            groups=flat_groups,
        )

    def of_runs(self, runs: slice) -> Inputs:
        """Some runs of a flat batch."""
        allowed = None if self.allowed is None else self.allowed[runs]
        return dataclasses.replace(
            self, input_ids=self.input_ids[runs], position_ids=self.position_ids[runs], targets=self.targets[runs],
            target_position_ids=self.target_position_ids[runs], allowed=allowed,
        )  # fmt: skip

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
        name: (value.pin_memory() if pins else value).to(device, non_blocking=True) for name, value in fields.items()
    }
