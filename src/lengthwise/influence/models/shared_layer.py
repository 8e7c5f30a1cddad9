"""Computes a transformer layer from plain matrices, with RMSNorm gains folded in and rotations as complex numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor, nn

from lengthwise.models.transformer import Block, Transformer

Rotations = Complex[Tensor, "*B T f"]


def rotations(transformer: Transformer, length: int) -> Rotations | None:
    """The complex factors of queries and keys at positions 0, 1, …, for coordinates t and t + d/2 as one number.

    None if the encoding does not change them. Raises `ValueError` if it is no rotation of pairs, or also scales them.
    """
    table, width = transformer.table.weight, transformer.shape.head_width
    ids = torch.arange(length, device=table.device)[None, :, None]
    probe = torch.linspace(-1, 1, width, dtype=table.dtype, device=table.device).expand(1, 1, length, width)
    rotated = transformer.encoding.rotate(probe, ids)
    if torch.equal(rotated, probe):
        return None
    first = (torch.arange(width, device=table.device) < width // 2).to(table.dtype)
    found = torch.complex(*transformer.encoding.rotate(first.expand_as(probe), ids)[0, 0].chunk(2, dim=-1))
    product = torch.complex(*probe[0, 0].chunk(2, dim=-1)) * found
    if not torch.allclose(torch.cat([product.real, product.imag], dim=-1), rotated[0, 0], atol=1e-4):
        raise ValueError("the encoding does not rotate pairs of coordinates")
    if not torch.allclose(found.abs(), torch.ones_like(found.abs()), atol=1e-4):
        raise ValueError("the encoding changes the norm of queries and keys")
    return found


class Workspace:
    """Reuses memory between batches, since allocating megabytes costs more than writing them."""

    def __init__(self) -> None:
        self._held: dict[str, Tensor] = {}

    def take(self, name: str, *shape: int, like: Tensor) -> Tensor:
        """A tensor of this shape and of ``like``'s type; it overwrites the previous one of the same name."""
        size, held = math.prod(shape), self._held.get(name)
        if held is None or len(held) < size or held.dtype != like.dtype or held.device != like.device:
            held = self._held[name] = like.new_empty(size)
        return held[:size].view(shape)


@dataclass(frozen=True)
class Mask:
    """Values added to attention logits or, with ``factors``, multiplied with their exponentials.

    Factors are faster, since softmax needs no maximum, and valid for logits that can't overflow.
    """

    values: Float[Tensor, "B h A T"]
    factors: bool

    def weigh(self, logits: Float[Tensor, "B H A T"]) -> tuple[Float[Tensor, "B H A T"], Tensor | float]:
        """Attention weights and the divisor of their weighted sum; overwrites ``logits``."""
        if not self.factors:
            return torch.softmax(logits.add_(self.values), dim=-1), 1.0
        weights = logits.exp_().mul_(self.values)
        return weights, weights.sum(-1, keepdim=True)

    def last(self) -> Mask:
        """The mask of the last query."""
        return Mask(self.values[:, :, -1:], self.factors)


@dataclass(frozen=True)
class Layer:
    """The matrices of one `Block` with RMSNorm and no biases, each [outputs, inputs].

    Within a head, coordinates t and t + d/2 of queries and keys are adjacent, which does not change their products.
    ``gain`` holds the factors of QK-norm for queries and keys, or None. Attention's 1/√d is part of the factors of
    queries or, without them, of the query matrix. ``epsilon`` is the constant under the root of a norm.
    """

    heads: int
    qkv: Float[Tensor, "3D D"]
    out: Float[Tensor, "D D"]
    up: Float[Tensor, "E D"]
    down: Float[Tensor, "D E"]
    gain: Float[Tensor, "2 H"] | None
    epsilon: float

    @classmethod
    @torch.no_grad()
    def of(cls, block: Block) -> Layer:
        """Copy the current matrices of ``block``."""
        attention, width = block.attention, block.up.in_features
        assert isinstance(block.norm1, nn.RMSNorm)
        assert isinstance(block.norm2, nn.RMSNorm)
        head_width, scale = attention.head_width, 1 / math.sqrt(attention.head_width)
        qkv = (attention.qkv.weight * block.norm1.weight).view(3, attention.heads, head_width, width)
        order = torch.arange(head_width, device=qkv.device)
        if head_width % 2 == 0:
            order = order.view(2, -1).T.flatten()
        qkv = torch.cat([qkv[:2, :, order], qkv[2:]])
        gain = None
        if attention.gain is None:
            qkv[0] *= scale
        else:
            gain = torch.stack([attention.gain.weight * scale, torch.ones_like(attention.gain.weight)])
        return cls(
            heads=attention.heads,
            qkv=qkv.flatten(0, 2),
            out=attention.out.weight,
            up=block.up.weight * block.norm2.weight,
            down=block.down.weight,
            gain=gain,
            epsilon=torch.finfo(qkv.dtype).eps,
        )

    def forward(
        self, x: Float[Tensor, "B T D"], rotations: Rotations | None, mask: Mask, space: Workspace
    ) -> Float[Tensor, "B T D"]:
        """The layer's output at every token; overwrites ``x``."""
        rows, tokens, width = x.shape
        flat = x.view(rows * tokens, width)
        projected = torch.mm(self.normed(flat, space), self.qkv.T, out=space.take("qkv", len(flat), 3 * width, like=x))
        projected = projected.view(rows, tokens, -1)
        q, k = self.heads_of(projected[..., : 2 * width], self.gain, rotations, space)
        v = self.heads_of(projected[..., 2 * width :], None, None, space)[0]
        logits = space.take("logits", rows * self.heads, tokens, tokens, like=x)
        torch.bmm(q.flatten(0, 1), k.flatten(0, 1).mT, out=logits)
        weights, total = mask.weigh(logits.view(rows, self.heads, tokens, tokens))
        mixed = space.take("mixed", *v.flatten(0, 1).shape, like=x)
        torch.bmm(weights.flatten(0, 1), v.flatten(0, 1), out=mixed)
        side_by_side = space.take("normed", *flat.shape, like=x)
        torch.div(mixed.view(v.shape), total, out=side_by_side.view(rows, tokens, self.heads, -1).transpose(1, 2))
        flat.addmm_(side_by_side, self.out.T)
        return self.mlp(flat, space).view(x.shape)

    def last(
        self, x: Float[Tensor, "B T D"], rotations: Rotations | None, mask: Mask, space: Workspace
    ) -> Float[Tensor, "B D"]:
        """The layer's output at the last token; values are averaged before they are projected."""
        width = x.shape[2]
        query, key, value = self.qkv.split(width)
        query_gain, key_gain = (None, None) if self.gain is None else self.gain
        normed = self.normed(x.view(-1, width), space)
        keys = torch.mm(normed, key.T, out=space.take("qkv", *normed.shape, like=x))
        (k,) = self.heads_of(keys.view(x.shape), key_gain, rotations, space)
        normed = normed.view(x.shape)
        (q,) = self.heads_of(
            normed[:, -1:] @ query.T, query_gain, None if rotations is None else rotations[:, -1:], Workspace()
        )
        weights, total = mask.last().weigh(q @ k.mT)
        mixed = torch.bmm(weights[:, :, 0], normed)[:, :, None].div_(total)[:, :, 0]
        taken = torch.einsum("bhi,hoi->bho", mixed, value.unflatten(0, (self.heads, -1)))
        return self.mlp(x[:, -1].addmm(taken.flatten(1), self.out.T), space)

    def mlp(self, x: Float[Tensor, "N D"], space: Workspace) -> Float[Tensor, "N D"]:
        """Residual plus MLP; overwrites ``x``."""
        hidden = torch.mm(self.normed(x, space), self.up.T, out=space.take("hidden", len(x), len(self.up), like=x))
        return x.addmm_(torch.ops.aten.gelu_(hidden), self.down.T)

    def normed(self, x: Float[Tensor, "N D"], space: Workspace) -> Float[Tensor, "N D"]:
        """RMSNorm of ``x`` without gains."""
        return torch.mul(x, self.inverse_size(x), out=space.take("normed", *x.shape, like=x))

    def heads_of(
        self,
        projected: Float[Tensor, "B T P*D"],
        gain: Float[Tensor, "P H"] | None,
        rotations: Rotations | None,
        space: Workspace,
    ) -> Float[Tensor, "P B H T d"]:
        """Queries, keys, values or several, split into heads, rotated and normed; P is their number."""
        parts = projected.shape[2] // self.qkv.shape[1]
        x = projected.unflatten(2, (parts, self.heads, -1)).permute(2, 0, 3, 1, 4)
        # The copy also makes heads contiguous, which speeds up matrix products.
        whole = space.take("values" if rotations is None and gain is None else "rotated", *x.shape, like=x)
        if rotations is None:
            whole.copy_(x)
        else:
            pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
            torch.mul(pairs, rotations[:, None], out=torch.view_as_complex(whole.unflatten(-1, (-1, 2))))
        return whole if gain is None else whole.mul_(self.inverse_size(whole).mul_(gain.view(parts, 1, -1, 1, 1)))

    @property
    def largest_logit(self) -> float:
        """A bound on attention logits before the encoding's bias: gain · √d, by Cauchy and Schwarz."""
        width = self.qkv.shape[1] // self.heads
        return math.inf if self.gain is None else float(self.gain[0].abs().max()) * width

    def inverse_size(self, x: Float[Tensor, "*s D"]) -> Float[Tensor, "*s 1"]:
        """RMSNorm's factor 1 / √(mean square + ε)."""
        size = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return torch.addcmul(size.new_full((), self.epsilon), size, size, value=1 / x.shape[-1]).rsqrt_()
