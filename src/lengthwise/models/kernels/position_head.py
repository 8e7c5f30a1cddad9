"""The fast form of `models/position_head.py` for flat batches: pointing goes on inside sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lengthwise.models.flat_groups import FlatGroup
from lengthwise.models.kernels.layers import Hold, replace_layers, take
from lengthwise.models.position_head import Classification, IdPrediction, Pointer, PointerLevel, PositionHead, point


@dataclass
class GroupPointers(IdPrediction):
    """Pointers of the groups of a flat batch, whose rows are the runs."""

    parts: list[Pointer]
    groups: Sequence[FlatGroup]

    def loss(self, target: Int[Tensor, "R Q"]) -> Float[Tensor, "R Q"]:
        """As of each group alone."""
        targets = target.split([group.scored for group in self.groups], dim=1)
        losses = [
            part.loss(group.sequences(own)) for part, group, own in zip(self.parts, self.groups, targets, strict=True)
        ]
        return torch.cat([loss.view(len(target), -1) for loss in losses], dim=1)

    def best(self) -> Int[Tensor, "R Q"]:
        """As of each group alone."""
        runs = len(self.parts[0].ids) // self.groups[0].rows
        return torch.cat([part.best().view(runs, -1) for part in self.parts], dim=1)


class FlatPositionHead(nn.Module):
    """`PositionHead` for R runs, with the same parameters."""

    def __init__(self, plain: PositionHead, hold: Hold) -> None:
        super().__init__()
        self.log_length, self.points = plain.log_length, plain.points
        self.levels = replace_layers(plain.levels, hold)

    def forward(
        self,
        hidden: Float[Tensor, "R Q D"],
        ids: Int[Tensor, "R N L"],
        at: Int[Tensor, " S"] | None,
        groups: Sequence[FlatGroup],
    ) -> tuple[IdPrediction, ...]:
        """One prediction per level after each token, or each of those ``at``, the groups' scored positions."""
        queries = hidden if at is None else take(hidden, at)
        result: list[IdPrediction] = []
        for level, module in enumerate(self.levels.children()):
            if isinstance(module, PointerLevel):
                result.append(self.point_in_groups(*module.project(hidden), ids[..., level], groups))
            else:
                result.append(Classification(module(queries)))
        return tuple(result)

    def point_in_groups(self, query: Tensor, key: Tensor, ids: Tensor, groups: Sequence[FlatGroup]) -> GroupPointers:
        """The tokens of every sequence point at those of the same sequence."""
        sizes = [group.size for group in groups]
        parts = []
        for group, *own in zip(groups, query.split(sizes, 1), key.split(sizes, 1), ids.split(sizes, 1), strict=True):
            q, k, i = (group.sequences(part) for part in own)
            parts.append(point(q, k, i, group.at, self.log_length))
        return GroupPointers(parts, groups)


def by_sequence(prediction: IdPrediction, sequences: int) -> IdPrediction:
    """The prediction of a flat batch of one group with a row for each of its ``sequences``."""
    if isinstance(prediction, GroupPointers):
        return prediction.parts[0]
    assert isinstance(prediction, Classification)
    return Classification(prediction.logits.reshape(sequences, -1, prediction.logits.shape[-1]))
