"""Runs our transformer under masks that differ in one token and computes the shared part once, exact to rounding.

In the first layer, queries, keys and values don't depend on the mask. A new key with weight w changes attention's
output from a to (1 − w) · a + w · (new value), so the input of the MLP is a sum of known vectors.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from lengthwise.influence.models.shared_layer import Layer, Mask, Workspace, rotations
from lengthwise.models.transformer import Block, Transformer

MOST = 60.0
"""Largest attention logit whose exponential is computed directly; e^±60 is within float32's range."""


def covers(transformer: Transformer) -> bool:
    """Whether `SharedWindow` supports this transformer.

    It needs two layers or more, one loop, RMSNorm, linear layers without biases, no log-length factor, and one encoding
    for all layers that has no window and does not depend on the tokens' content, and whose rotations, if any, act alike
    on the pairs of queries and keys.
    """
    config, encoding = transformer.config, transformer.encoding
    if config.layers < 2 or config.loops != 1 or config.norm != "rms" or config.bias or config.log_length is not None:
        return False
    if encoding.has_scores or not encoding.rotates_keys_alike or encoding.window is not None:
        return False
    if any(encoding.layer(layer) is not encoding for layer in range(config.layers)):
        return False
    try:
        rotations(transformer, 8)
    except ValueError:
        return False
    return True


class SharedWindow:
    """A window of W tokens at positions 0, 1, …, whose last token predicts the target.

    A batch has at most ``batch_tokens`` tokens, so that its activations fit into the processor's cache.
    """

    @torch.no_grad()
    def __init__(
        self, transformer: Transformer, tokens: Int[Tensor, " W"], batch_tokens: int, space: Workspace
    ) -> None:
        self.transformer, self.batch_tokens, self.space = transformer, batch_tokens, space
        self.layers = [Layer.of(block) for block in transformer.blocks if isinstance(block, Block)]
        self.rotations = rotations(transformer, len(tokens))
        ids = torch.arange(len(tokens), device=tokens.device)[None, :, None]
        x, embedded = transformer.table(tokens), transformer.encoding.embed(ids)
        self.x: Float[Tensor, "W D"] = x if embedded is None else x + embedded[0]
        bias = transformer.encoding.bias(ids, ids)
        causal = torch.full((len(x), len(x)), -math.inf, dtype=x.dtype, device=x.device).triu(1)
        self.bias: Float[Tensor, "h W W"] = causal[None] if bias is None else bias[0] + causal
        largest = max(float(self.bias.max()), -float(self.bias.diagonal(dim1=1, dim2=2).min()))
        self.factors = largest + max(layer.largest_logit for layer in self.layers) <= MOST
        self.mask = self.bias.exp() if self.factors else self.bias
        self._first_layer()

    def _first_layer(self) -> None:
        """Compute the part of the first layer that does not depend on the mask."""
        first, width = self.layers[0], self.x.shape[1]
        projected = (self.x * first.inverse_size(self.x)) @ first.qkv.T
        rotated = None if self.rotations is None else self.rotations[None]
        q, k = first.heads_of(projected[None, :, : 2 * width], first.gain, rotated, Workspace())[:, 0]
        v = projected[:, 2 * width :].unflatten(1, (first.heads, -1)).transpose(0, 1)
        self.logits: Float[Tensor, "H W W"] = q @ k.mT + self.bias
        self.values: Float[Tensor, "H W D"] = v @ first.out.unflatten(1, (first.heads, -1)).permute(1, 2, 0)

    @torch.no_grad()
    def scores(self, visible: Int[Tensor, " T"], added: Int[Tensor, " n"]) -> Float[Tensor, "n V"]:
        """Logits of the last token for each of ``added``, visible together with ``visible`` (increasing positions)."""
        first = self.layers[0]
        common = self.logits[:, visible][:, :, visible]
        total = common.logsumexp(-1, keepdim=True)
        values = self.values[:, visible]
        mixed = (common - total).exp() @ values
        # The new token attends to itself and to the visible tokens before it.
        own = torch.cat([self.logits[:, added][:, :, visible], self.logits[:, added, added][..., None]], dim=-1)
        own = own.softmax(-1)
        news = self.x[added] + (own[..., :-1] @ values + own[..., -1:] * self.values[:, added]).sum(0)
        known = torch.cat([(self.x[visible] + mixed.sum(0))[None], -mixed]).transpose(0, 1)
        # Slot 0 belongs to the new token.
        known = functional.pad(known, (0, 0, 0, 0, 1, 0))
        weights = torch.sigmoid(self.logits[:, visible][:, :, added] - total).permute(2, 1, 0)
        weights = functional.pad(weights, (0, 0, 1, 0))
        size = max(1, self.batch_tokens // (len(visible) + 1))
        parts = math.ceil(len(added) / size)
        found = []
        for w, new, j in zip(*(x.tensor_split(parts) for x in (weights, news, added)), strict=True):
            x = self._sum(w, known, self.values[:, j])
            x[:, 0] = new
            first.mlp(x.view(-1, x.shape[2]), self.space)
            found.append(self._later_layers(x, visible, j))
        hidden = self.transformer.norm(torch.cat(found))[:, None]
        return self.transformer.logits(hidden)[:, 0]

    def _later_layers(self, x: Float[Tensor, "B T D"], visible: Tensor, added: Tensor) -> Float[Tensor, "B D"]:
        slots = torch.cat([added[:, None], visible.expand(len(added), -1)], dim=1)
        rotated = None if self.rotations is None else self.rotations[slots]
        mask = self._mask(visible, added)
        for layer in self.layers[1:-1]:
            x = layer.forward(x, rotated, mask, self.space)
        return self.layers[-1].last(x, rotated, mask, self.space)

    def _mask(self, visible: Tensor, added: Tensor) -> Mask:
        """The mask of queries and keys in the order: new token, ``visible``."""
        rows, tokens = len(added), len(visible) + 1
        mask = self.space.take("mask", rows, len(self.mask), tokens, tokens, like=self.mask)
        mask[:, :, 1:, 1:] = self.mask[:, visible][:, :, visible]
        mask[:, :, 1:, 0] = self.mask[:, visible][:, :, added].permute(2, 0, 1)
        mask[:, :, 0, 1:] = self.mask[:, added][:, :, visible].transpose(0, 1)
        mask[:, :, 0, 0] = self.mask[:, added, added].T
        return Mask(mask, self.factors)

    def _sum(
        self, weights: Float[Tensor, "B T H"], known: Float[Tensor, "T 1+H D"], values: Float[Tensor, "H B D"]
    ) -> Float[Tensor, "B T D"]:
        """known₀ + Σ_h w_h · (value_h + known_h)."""
        rows, tokens, size = len(weights), len(known), known.shape[2]
        of_tokens = torch.bmm(
            functional.pad(weights, (1, 0), value=1.0).transpose(0, 1),
            known,
            out=self.space.take("of tokens", tokens, rows, size, like=known),
        )
        total = self.space.take("x", rows, tokens, size, like=known)
        return torch.bmm(weights, values.transpose(0, 1), out=total).add_(of_tokens.transpose(0, 1))
