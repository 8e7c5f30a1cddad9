"""Language models that a measurement of influence reads: one interface, a fast path for each."""

from __future__ import annotations

import copy
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from math import comb, log, prod
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Complex, Float, Int, Num
from numpy import ndarray
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.influence.planted_text import NOISE, PlantedText
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


@runtime_checkable
class LanguageModel(Protocol):
    """A causal language model whose tokens can be masked; losses are −ln p(target) in nats, float64.

    ``tokens`` are visible tokens and ``positions`` their increasing positions from 0, or the ids that `Numbering` gives
    them; the target follows the last.
    ``visible`` marks the unmasked tokens of a whole window, of which the last is one.
    """

    name: str
    max_length: int | None
    """Largest number of positions; None if there is no limit."""
    vocab_size: int
    parameters: int
    batch_tokens: int
    """Number of tokens per forward pass at which the model is fastest."""

    def target_losses(
        self, tokens: Int[ndarray, "B T"], positions: Num[ndarray, "B T *levels"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, " B"]:
        """Losses in the compact form, from the visible tokens alone."""
        ...

    def masked_losses(
        self, tokens: Int[ndarray, "B Lbar"], visible: Bool[ndarray, "B Lbar"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, " B"]:
        """Losses under an explicit mask over the whole window; the slow reference for `target_losses`."""
        ...

    def attention(self, tokens: Int[ndarray, "B T"], positions: Num[ndarray, "B T *levels"]) -> Float[ndarray, "B T"]:
        """Attention of the last token to each token, averaged over layers and heads."""
        ...

    def gradient_input(
        self, tokens: Int[ndarray, "B T"], positions: Num[ndarray, "B T *levels"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, "B T"]:
        """−gradient · input of each token's embedding; positive where the token lowers the loss."""
        ...


@runtime_checkable
class Numbering(Protocol):
    """A `LanguageModel` whose position ids are not the positions, but follow from the tokens of a whole window.

    The ``positions`` of its other methods are then such ids. They are computed once for a window, so that a token has
    the same id under every mask of the others.
    """

    def window_ids(self, tokens: Int[ndarray, "N Lbar"]) -> Num[ndarray, "N Lbar *levels"]:
        """The position ids of whole windows."""
        ...


def ids_of_windows(model: LanguageModel, tokens: Int[ndarray, "N Lbar"]) -> Num[ndarray, "N Lbar *levels"]:
    """The position ids of whole windows: those of the model, or else the positions."""
    if isinstance(model, Numbering):
        return model.window_ids(tokens)
    return np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)


Losses = Callable[[Int[ndarray, " T"], Int[ndarray, " n"]], Float[ndarray, " n"]]
"""Maps visible positions (increasing) and n further ones to the losses with each of the n added separately."""


@runtime_checkable
class Sharing(Protocol):
    """A `LanguageModel` that shares work between masks that differ in one token."""

    shares: bool
    """Whether the model supports this."""

    def share(self, tokens: Int[ndarray, " Lbar"], target: int) -> Losses:
        """The losses of one window's target, as a function of the mask."""
        ...


WindowIds = Callable[[Int[ndarray, "N Lbar"]], Int[ndarray, "N Lbar L"]]
"""Maps whole windows to the position ids of their tokens, one per level."""


class OwnModel:
    """Our `Transformer` as a `LanguageModel`; position ids are the positions, or what ``ids`` gives a whole window.

    ``max_length`` is the largest number of positions, None without a limit. Without ``ids``, raises `LengthwiseError`
    if the model has several levels of ids or predicts ids.
    """

    def __init__(
        self, name: str, transformer: Transformer, max_length: int | None, *, ids: WindowIds | None = None
    ) -> None:
        require(
            ids is not None or (transformer.shape.kinds == ("position",) and transformer.position_head is None),
            f"model {name} does not take plain position ids; train it with scheme sequential, randomized or pose",
        )
        self.name, self.max_length, self._number = name, max_length, ids
        self.transformer = _without_id_head(transformer.eval())
        self.vocab_size = transformer.table.num_embeddings
        self.parameters = transformer.parameter_count
        self.batch_tokens = batch_tokens(transformer.table.weight.device)
        self.shares = ids is None and covers(transformer)
        self._space = Workspace()

    def window_ids(self, tokens: Int[ndarray, "N Lbar"]) -> Int[ndarray, "N Lbar *levels"]:
        """The position ids of whole windows."""
        if self._number is None:
            return np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)
        return self._number(tokens)

    @torch.inference_mode()
    def target_losses(
        self, tokens: Int[ndarray, "B T"], positions: Num[ndarray, "B T *levels"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, " B"]:
        """Losses from the visible tokens; the last layer and the head are computed at the last token only."""
        ids, at = self._ids(positions), last(tokens.shape[1])
        return nats(self.transformer(self._tensor(tokens), ids, at=at).logits[:, 0], targets)

    @torch.inference_mode()
    def share(self, tokens: Int[ndarray, " Lbar"], target: int) -> Losses:
        """Losses under masks that differ in one token, valid until the weights change."""
        window = SharedWindow(
            self.transformer, self._tensor(tokens), max(self.batch_tokens, CPU_SHARED_TOKENS), self._space
        )

        @torch.inference_mode()
        def losses(visible: Int[ndarray, " T"], added: Int[ndarray, " n"]) -> Float[ndarray, " n"]:
            return nats(window.scores(self._tensor(visible), self._tensor(added)), np.full(len(added), target))

        return losses

    @torch.inference_mode()
    def masked_losses(
        self, tokens: Int[ndarray, "B Lbar"], visible: Bool[ndarray, "B Lbar"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, " B"]:
        """Losses under the transformer's key mask."""
        ids = self._ids(self.window_ids(tokens))
        logits = self.transformer(self._tensor(tokens), ids, visible=self._tensor(visible)).logits
        return nats(logits[:, -1], targets)

    @torch.inference_mode()
    def attention(self, tokens: Int[ndarray, "B T"], positions: Num[ndarray, "B T *levels"]) -> Float[ndarray, "B T"]:
        """Attention of the last token to each token, averaged over layers and heads."""
        weights = self.transformer.attention(self._tensor(tokens), self._ids(positions), last(tokens.shape[1]))
        return weights[..., 0, :].double().mean(dim=(0, 2)).cpu().numpy()

    def gradient_input(
        self, tokens: Int[ndarray, "B T"], positions: Num[ndarray, "B T *levels"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, "B T"]:
        """−gradient · input of each token's embedding."""
        with captured_vectors(self.transformer.table) as vectors:
            ids, at = self._ids(positions), last(tokens.shape[1])
            logits = self.transformer(self._tensor(tokens), ids, at=at).logits[:, 0]
            return gradient_times_input(logits, targets, vectors)

    def _ids(self, positions: Int[ndarray, "B T *levels"]) -> Int[Tensor, "B T L"]:
        found = self._tensor(positions)
        return found[:, :, None] if found.ndim == 2 else found

    def _tensor(self, values: ndarray) -> Tensor:
        return tensor(values, self.transformer.table.weight.device)


def _without_id_head(transformer: Transformer) -> Transformer:
    """The same module without the head that predicts ids, whose output nothing reads here; parameters are shared."""
    if transformer.position_head is None:
        return transformer
    view = copy.copy(transformer)
    view._modules = {**transformer._modules, "position_head": None}
    return view


CPU_TOKENS, CPU_SHARED_TOKENS, GPU_TOKENS = 1024, 4096, 1 << 16


def batch_tokens(device: torch.device) -> int:
    """Tokens per forward pass; on a CPU their activations fit into its caches.

    Passes that share work reuse their memory, so `CPU_SHARED_TOKENS` is larger.
    """
    return CPU_TOKENS if device.type == "cpu" else GPU_TOKENS


def tensor(values: ndarray, device: torch.device) -> Tensor:
    """A copy on ``device``; ``values`` may be read-only."""
    return torch.from_numpy(np.array(values)).to(device)


def last(length: int) -> slice:
    """The slice of the last of ``length`` positions."""
    return slice(length - 1, length)


def nats(logits: Float[Tensor, "B V"], targets: Int[ndarray, " B"]) -> Float[ndarray, " B"]:
    """−ln of each target's probability, in float64."""
    wanted = tensor(targets, logits.device)
    largest = logits.amax(-1, keepdim=True)
    # Terms below e^-80 do not change the sum, and exponentials that underflow are slow.
    total = (logits - largest).clamp_(min=-80).exp_().sum(-1, dtype=torch.float64).log()
    return (total + (largest - logits.gather(1, wanted[:, None])).double()[:, 0]).detach().cpu().numpy()


@contextmanager
def captured_vectors(embedding: nn.Module) -> Iterator[list[Tensor]]:
    """Collect the embedding's outputs as leaves that require gradients, while the context is active."""
    found: list[Tensor] = []

    def capture(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        found.append(output.detach().requires_grad_())
        return found[-1]

    handle = embedding.register_forward_hook(capture)
    try:
        with torch.enable_grad():
            yield found
    finally:
        handle.remove()


def gradient_times_input(
    logits: Float[Tensor, "B V"], targets: Int[ndarray, " B"], vectors: list[Tensor]
) -> Float[ndarray, "B T"]:
    """−gradient · input of the summed losses for the captured embeddings."""
    wanted = tensor(targets, logits.device)
    loss = nn.functional.cross_entropy(logits.float(), wanted, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, vectors)
    return -(gradient * vectors[0].detach()).sum(-1).double().cpu().numpy()


def separable_mlp(inner: Any, losses: Callable[[], Float[ndarray, " N"]]) -> nn.Module | None:
    """The MLP of the last block, if ``losses()`` does not change when it computes the last token only."""
    mlp = last_mlp(inner)
    if mlp is None:
        return None
    full = losses()
    try:
        with at_last_token(mlp):
            cut = losses()
    # Some blocks use the output of their MLP in another way.
    except (TypeError, ValueError, RuntimeError, IndexError):
        return None
    return mlp if np.allclose(cut, full, rtol=1e-5, atol=1e-5) else None


def last_mlp(inner: Any) -> nn.Module | None:
    """The attribute ``mlp`` of the last block; None if the model has no unique list of blocks or no such attribute."""
    layers = getattr(inner.config, "num_hidden_layers", None)
    stacks = [part for part in inner.modules() if isinstance(part, nn.ModuleList) and len(part) == layers]
    found = getattr(stacks[0][-1], "mlp", None) if len(stacks) == 1 else None
    return found if isinstance(found, nn.Module) else None


@contextmanager
def at_last_token(mlp: nn.Module) -> Iterator[None]:
    """Make ``mlp`` map [B, T, D] to [B, 1, D], computed from the last token, while the context is active.

    The sum with the residual stream broadcasts, so the stream is correct at the last token only.
    """

    def cut(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (inputs[0][:, -1:], *inputs[1:])

    handle = mlp.register_forward_pre_hook(cut)
    try:
        yield
    finally:
        handle.remove()


class ExactReader:
    """p(label | visible tokens), from counts of the words of S* that contain the visible tokens of the queried topic.

    All words of S* and all positions are equally likely, so other tokens carry no information. Probabilities below
    ``floor`` are raised to it. Rules that need attention or gradients raise `LengthwiseError`.
    """

    def __init__(self, text: PlantedText, floor: float = 1e-9) -> None:
        self.text, self.floor = text, floor
        self.name, self.vocab_size = f"exact {text.label}", text.vocab_size
        self.max_length: int | None = text.context
        self.parameters, self.batch_tokens = 0, 1 << 16
        words = text.planted.words.support(text.k)
        self._words = [Counter(word) for word in words.tolist()]
        self._labels = text.planted.label_of(words).tolist()
        self._nats = lru_cache(maxsize=None)(self._count)

    def target_losses(
        self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, " B"]:
        """−ln of each label's share among the words that agree with the visible tokens."""
        topics = tokens[:, -1:] - self.text.queries
        marked = tokens - topics * self.text.marks
        own = (marked >= NOISE) & (marked < NOISE + self.text.marks) & (tokens < self.text.queries)
        labels = targets - self.text.queries - self.text.topics
        return np.array(
            [
                self._nats(tuple(sorted(row[seen].tolist())), int(label))
                for row, seen, label in zip(marked, own, labels, strict=True)
            ]
        )

    def masked_losses(
        self, tokens: Int[ndarray, "B Lbar"], visible: Bool[ndarray, "B Lbar"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, " B"]:
        """Losses of `target_losses`, computed window by window."""
        rows = zip(tokens, visible, targets, strict=True)
        return np.array([self.target_losses(t[None, v], np.flatnonzero(v)[None], y[None])[0] for t, v, y in rows])

    def attention(self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"]) -> Float[ndarray, "B T"]:
        """Raise `LengthwiseError`, since this model has no attention."""
        raise LengthwiseError(f"model {self.name} has no attention; leave out rule attention")

    def gradient_input(
        self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, "B T"]:
        """Raise `LengthwiseError`, since this model has no gradients."""
        raise LengthwiseError(f"model {self.name} has no gradients; leave out rule gradient-input")

    def _count(self, seen: tuple[int, ...], label: int) -> float:
        """A word counts once for every way to pick the visible tokens from it."""
        wanted = Counter(seen)
        shares = [prod(comb(word[token], times) for token, times in wanted.items()) for word in self._words]
        agreeing = sum(share for share, own in zip(shares, self._labels, strict=True) if own == label)
        return -log(max(agreeing / max(1, sum(shares)), self.floor))


def of_transformers(name: str) -> Any:
    """A name of `transformers`; raises `LengthwiseError` if the package is not installed."""
    try:
        import transformers
    except ImportError:
        raise LengthwiseError(
            "models of Hugging Face need the package transformers; run: pip install 'lengthwise[lm]'"
        ) from None
    return getattr(transformers, name)


def check_folder(source: str) -> None:
    """Raises `LengthwiseError` for a folder that does not exist, holds no model, or holds the model of a task."""
    path = Path(source)
    looks_local = path.is_absolute() or source.startswith((".", "~")) or source.count("/") > 1
    require(path.is_dir() or not looks_local, f"no folder {source}; check `model`")
    if not path.is_dir():
        return
    require((path / "config.json").is_file(), f"folder {source} holds no model (config.json is missing); check `model`")
    require(
        model_type(path) != "lengthwise",
        f"{source} holds the model of a task, which reads no text; measure it alone, as `model`",
    )


def opened(load: Callable[[], Any], what: str) -> Any:
    """What ``load`` returns; raises `LengthwiseError` with ``what`` if it fails."""
    try:
        return load()
    # The package raises errors without a common type for missing and damaged files.
    except Exception as error:
        raise LengthwiseError(f"{what} ({type(error).__name__}: {first_line(error)})") from None


def first_line(error: Exception) -> str:
    """The beginning of an error's text."""
    lines = str(error).strip().splitlines() or [""]
    return lines[0][:160].rstrip(".")


@contextmanager
def without_progress_bars() -> Iterator[None]:
    """Hide the progress bars of loading while the context is active."""
    logging = of_transformers("utils").logging
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.enable_progress_bar()


def model_type(folder: Path) -> Any:
    """The type of model that ``config.json`` names, ``"lengthwise"`` for an exported one; None where it names none.

    A damaged file is reported by who loads it.
    """
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError):
        return None
    return found.get("model_type") if isinstance(found, dict) else None
