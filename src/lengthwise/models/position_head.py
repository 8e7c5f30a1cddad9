"""The heads that predict position ids (predictive position coupling): over a table, or by pointing."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.levels import FIXED_LEVEL_IDS
from lengthwise.models.cache import Cache
from lengthwise.models.config import ModelConfig
from lengthwise.models.layers import take
from lengthwise.models.ragged import Segment
from lengthwise.nn.parameters import Scalars
from lengthwise.positions.encodings import EncodingShape


class IdPrediction(ABC):
    """A prediction of the next id on one level, at every asked position."""

    @abstractmethod
    def loss(self, target: Int[Tensor, "B Q"]) -> Float[Tensor, "B Q"]:
        """−ln of the probability given to the target id, in nats."""

    @abstractmethod
    def best(self) -> Int[Tensor, "B Q"]:
        """The most probable id."""


@dataclass
class Classification(IdPrediction):
    """Logits over all ids of a table."""

    logits: Float[Tensor, "B Q N"]

    def loss(self, target: Int[Tensor, "B Q"]) -> Float[Tensor, "B Q"]:
        """Cross-entropy, in float32 whatever the logits are."""
        logits = self.logits.float().flatten(0, 1)
        return functional.cross_entropy(logits, target.flatten(), reduction="none").view_as(target)

    def best(self) -> Int[Tensor, "B Q"]:
        """The largest logit."""
        return self.logits.argmax(-1)


@dataclass
class Pointer(IdPrediction):
    """Attention over the tokens so far; an id has the total attention of the tokens that carry it."""

    scores: Float[Tensor, "B Q T"]
    ids: Int[Tensor, "B T"]

    def loss(self, target: Int[Tensor, "B Q"]) -> Float[Tensor, "B Q"]:
        """−ln of the attention on all tokens that carry the target id.

        A target that no token carries can't be pointed at: it costs a constant 10⁴ nats and has no gradient.
        `build_model` refuses the tasks that have such targets.
        """
        right = self.ids[:, None, :] == target[:, :, None]
        logp = torch.log_softmax(self.scores.float(), dim=-1)
        # Not -inf: where nothing is right, a row of -inf only would have NaN as its gradient.
        return -torch.logsumexp(logp.masked_fill(~right, -1e4), dim=-1)

    def best(self) -> Int[Tensor, "B Q"]:
        """The id with the most attention in total."""
        weight = torch.softmax(self.scores, dim=-1)
        total = weight.new_zeros(*weight.shape[:2], int(self.ids.max()) + 1)
        total.scatter_add_(2, self.ids[:, None, :].expand_as(weight), weight)
        return total.argmax(-1)


@dataclass
class RaggedPointer(IdPrediction):
    """Pointers of the segments of a flat batch, whose rows are the runs."""

    parts: list[Pointer]
    segments: Sequence[Segment]

    def loss(self, target: Int[Tensor, "R Q"]) -> Float[Tensor, "R Q"]:
        """As of each segment alone."""
        targets = target.split([segment.scored for segment in self.segments], dim=1)
        losses = [
            part.loss(segment.sequences(own))
            for part, segment, own in zip(self.parts, self.segments, targets, strict=True)
        ]
        return self._flat(losses, len(target))

    def best(self) -> Int[Tensor, "R Q"]:
        """As of each segment alone."""
        runs = len(self.parts[0].ids) // self.segments[0].rows
        return self._flat([part.best() for part in self.parts], runs)

    @staticmethod
    def _flat(parts: list[Tensor], runs: int) -> Tensor:
        return torch.cat([part.view(runs, -1) for part in parts], dim=1)


class PointerLevel(nn.Module):
    """Queries and keys of the pointing attention on one level."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.gain = Scalars(torch.tensor(1.0))

    def project(self, hidden: Float[Tensor, "B Q D"]) -> tuple[Tensor, Tensor]:
        """Normalized queries and keys."""
        width = hidden.shape[-1]
        return (
            functional.rms_norm(self.query(hidden), (width,)) * self.gain(hidden),
            functional.rms_norm(self.key(hidden), (width,)),
        )


class PositionHead(nn.Module):
    """One head per level; ``fixed`` levels have few ids and are always classified."""

    def __init__(self, config: ModelConfig, shape: EncodingShape) -> None:
        super().__init__()
        self.pointing = config.id_head == "pointer"
        self.log_length = config.log_length
        levels: list[nn.Module] = []
        for kind in shape.kinds:
            if kind == "coupled" and self.pointing:
                levels.append(PointerLevel(config.width))
            else:
                size = shape.max_position + 1 if kind == "coupled" else FIXED_LEVEL_IDS
                levels.append(nn.Linear(config.width, size, bias=False))
        self.levels = nn.ModuleList(levels)

    @property
    def points(self) -> bool:
        """Whether a level attends to the tokens so far, and so needs the hidden states of all of them."""
        return any(isinstance(level, PointerLevel) for level in self.levels)

    def tables(self) -> list[nn.Linear]:
        """The classification heads."""
        return [level for level in self.levels if isinstance(level, nn.Linear)]

    def forward(
        self,
        hidden: Float[Tensor, "B Q D"],
        key_ids: Int[Tensor, "B T L"],
        at: Int[Tensor, " S"] | slice | None,
        cache: Cache | None,
        segments: Sequence[Segment] | None = None,
    ) -> tuple[IdPrediction, ...]:
        """One prediction per level after each asked position; keys are all tokens so far."""
        asked = hidden if at is None else take(hidden, at)
        result: list[IdPrediction] = []
        pointers = 0
        for level, module in enumerate(self.levels):
            if not isinstance(module, PointerLevel):
                result.append(Classification(module(asked)))
                continue
            query, key = module.project(hidden)
            ids = key_ids[..., level]
            if segments is not None:
                result.append(self._point_each(query, key, ids, segments))
                continue
            if cache is not None:
                key = cache.extend("pointers", key, layer=pointers, axis=1)
            result.append(self._point(query, key, ids, at))
            pointers += 1
        return tuple(result)

    def _point(self, query: Tensor, key: Tensor, ids: Tensor, at: Tensor | slice | None) -> Pointer:
        """Every query points at the keys up to its own."""
        queries, keys = query.shape[1], key.shape[1]
        index = torch.arange(keys, device=query.device)
        last = index[keys - queries :]
        if self.log_length is not None:
            query = query * ((last + 1).to(query.dtype).log() / math.log(self.log_length))[:, None]
        if at is not None:
            query, last = query[:, at], last[at]
        scores = query @ key.mT / math.sqrt(key.shape[-1])
        return Pointer(scores.masked_fill(index > last[:, None], -math.inf), ids)

    def _point_each(self, query: Tensor, key: Tensor, ids: Tensor, segments: Sequence[Segment]) -> RaggedPointer:
        """Pointing goes on inside sequences, so segment by segment."""
        sizes = [segment.size for segment in segments]
        pieces = zip(segments, query.split(sizes, 1), key.split(sizes, 1), ids.split(sizes, 1), strict=True)
        parts = [
            self._point(segment.sequences(q), segment.sequences(k), segment.sequences(i), segment.at)
            for segment, q, k, i in pieces
        ]
        return RaggedPointer(parts, segments)
