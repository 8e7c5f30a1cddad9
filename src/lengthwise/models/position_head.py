"""The heads of predictive position coupling (PPC), which predict position ids: over a table, or by pointing.

`models/kernels.py` computes the same for flat batches and changes with it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.levels import LABEL_IDS
from lengthwise.models.attention_state import Cache, visible_keys_seen
from lengthwise.models.config import ModelConfig
from lengthwise.nn.base import Scalars
from lengthwise.positions.encodings import EncodingShape


class IdPrediction(ABC):
    """A prediction of the next id on one level, after each of Q tokens."""

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
        """Cross-entropy, computed in float32."""
        logits = self.logits.float().flatten(0, 1)
        return functional.cross_entropy(logits, target.flatten(), reduction="none").view_as(target)

    def best(self) -> Int[Tensor, "B Q"]:
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
        weight = torch.softmax(self.scores, dim=-1)
        total = weight.new_zeros(*weight.shape[:2], int(self.ids.max()) + 1)
        total.scatter_add_(2, self.ids[:, None, :].expand_as(weight), weight)
        return total.argmax(-1)


class PointerLevel(nn.Module):
    """Queries and keys of the pointing attention on one level."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.gain = Scalars(torch.tensor(1.0))

    def project(self, hidden: Float[Tensor, "B Q D"]) -> tuple[Tensor, Tensor]:
        width = hidden.shape[-1]
        return (
            functional.rms_norm(self.query(hidden), (width,)) * self.gain(hidden),
            functional.rms_norm(self.key(hidden), (width,)),
        )


class PositionHead(nn.Module):
    """One head per level; ``label`` levels have few ids and are always classified."""

    def __init__(self, config: ModelConfig, shape: EncodingShape) -> None:
        super().__init__()
        self.log_length = config.log_length
        levels: list[nn.Module] = []
        for kind in shape.kinds:
            if kind == "position" and config.id_head == "pointer":
                levels.append(PointerLevel(config.width))
            else:
                size = shape.max_position + 1 if kind == "position" else LABEL_IDS
                levels.append(nn.Linear(config.width, size, bias=False))
        self.levels = nn.ModuleList(levels)

    @property
    def points(self) -> bool:
        """Whether a level attends to the tokens so far, and so needs the hidden states of all of them."""
        return any(isinstance(level, PointerLevel) for level in self.levels)

    def tables(self) -> list[nn.Linear]:
        return [level for level in self.levels if isinstance(level, nn.Linear)]

    def forward(
        self,
        hidden: Float[Tensor, "B Q D"],
        key_ids: Int[Tensor, "B T L"],
        at: Int[Tensor, " S"] | slice | None,
        cache: Cache | None,
        visible: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[IdPrediction, ...]:
        """One prediction per level after each token, or each of those ``at``; keys are all tokens so far.

        No other token points at those that are not ``visible``.
        """
        queries = hidden if at is None else hidden[:, at]
        result: list[IdPrediction] = []
        for level, module in enumerate(self.levels):
            if not isinstance(module, PointerLevel):
                result.append(Classification(module(queries)))
                continue
            query, key = module.project(hidden)
            if cache is not None:
                key = cache.extend(f"pointer {level}", key, axis=1)
            result.append(point(query, key, key_ids[..., level], at, self.log_length, visible))
        return tuple(result)


def point(
    query: Float[Tensor, "B Q D"],
    key: Float[Tensor, "B T D"],
    ids: Int[Tensor, "B T"],
    at: Int[Tensor, " S"] | slice | None,
    log_length: int | None,
    visible: Bool[Tensor, "B T"] | None = None,
) -> Pointer:
    """Every query, or each of those ``at``, points at the keys up to its own; scores are scaled as in attention.

    Keys that are not ``visible`` are pointed at by their own query only, which must point at something.
    """
    queries, keys = query.shape[1], key.shape[1]
    index = torch.arange(keys, device=query.device)
    last = index[keys - queries :]
    if log_length is not None:
        count = last + 1 if visible is None else visible_keys_seen(visible)[:, keys - queries :]
        query = query * (count.to(query.dtype).log() / math.log(log_length))[..., None]
    if at is not None:
        query, last = query[:, at], last[at]
    masked = index > last[:, None]
    if visible is not None:
        masked = masked | (~visible[:, None] & (index != last[:, None]))
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    return Pointer(scores.masked_fill(masked, -math.inf), ids)
