"""Defines the interface of a language model whose tokens can be masked, and adapts our transformer to it.

A masked token is not a key of any later query in any layer; positions do not change. A forward pass over the visible
tokens alone, each at its own position, therefore gives the same loss: this is the *compact* form.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Num
from numpy import ndarray
from torch import Tensor, nn

from lengthwise.core.errors import require
from lengthwise.influence.models.shared_layer import Workspace
from lengthwise.influence.models.shared_pass import SharedWindow, covers
from lengthwise.models.transformer import Transformer


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
