"""The readable transformer on rows with padding: no token attends to it, with and without a cache."""

from __future__ import annotations

import dataclasses
import math

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from lengthwise.models.cache import Cache
from lengthwise.models.masks import causal_mask, visible_keys_seen
from lengthwise.models.position_head import IdPrediction, PositionHead
from lengthwise.models.transformer import AttentionContext, Transformer, TransformerOutput


def forward(
    model: Transformer,
    input_ids: Int[Tensor, "B Q"],
    ids: Int[Tensor, "B Q L"],
    mask: Bool[Tensor, "B T"] | None,
    cache: Cache | None,
) -> TransformerOutput:
    """`Transformer.forward` for the last Q of T tokens; ``mask`` is False at padding, None where there is none."""
    if mask is None or bool(mask.all()):
        return model(input_ids, ids, cache=cache)
    view = _Padded.__new__(_Padded)
    view.__dict__.update(model.__dict__)
    view.mask = mask
    if model.position_head is not None:
        view._modules = {**model._modules, "position_head": _PaddedHead(model.position_head, mask)}
    return view(input_ids, ids, cache=cache)


class _PaddedHead(nn.Module):
    """The same id head, which points at no padding."""

    def __init__(self, head: PositionHead, mask: Bool[Tensor, "B T"]) -> None:
        super().__init__()
        self.head, self.mask, self.points = head, mask, head.points

    def forward(
        self, hidden: Tensor, key_ids: Tensor, at: Tensor | slice | None, cache: Cache | None
    ) -> tuple[IdPrediction, ...]:
        return self.head(hidden, key_ids, at, cache, self.mask)


class _Padded(Transformer):
    """The same module (its parameters are shared), in which no token attends to padding."""

    mask: Tensor

    def contexts(
        self, position_ids: Int[Tensor, "B Q L"], cache: Cache | None = None, visible: Tensor | None = None
    ) -> list[AttentionContext]:
        found = super().contexts(position_ids, cache, visible)
        return [_without_padding(self, context, self.mask, position_ids.shape[1]) for context in found]


def _without_padding(
    model: Transformer, context: AttentionContext, mask: Bool[Tensor, "B T"], queries: int
) -> AttentionContext:
    """The context with −∞ at padded keys, and log-length factors that count tokens only; padding sees itself."""
    keys = mask.shape[1]
    bias = causal_mask(queries, keys, mask.device) if context.bias is None else context.bias
    itself = torch.eye(keys, dtype=torch.bool, device=mask.device)[keys - queries :]
    hidden = ~mask[:, None, None, :] & ~itself
    scale = None
    if model.config.log_length is not None:
        window = context.encoding.window
        seen = visible_keys_seen(mask, window if window is not None and window < keys else None)
        count = seen[:, None, keys - queries :, None]
        scale = count.to(model.table.weight.dtype).log() / math.log(model.config.log_length)
    return dataclasses.replace(context, bias=bias.masked_fill(hidden, -math.inf), scale=scale)
