"""What a measurement needs of a language model, and our own transformer as one.

A masked token is removed as a key of every later query in all layers; positions stay as they are. What remains of the
visible tokens then depends on visible tokens only, so a forward pass over these alone, each at its own position, gives
the same loss: the *compact* form. `LanguageModel.masked_losses` is the explicit form, the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor, nn

from lengthwise.core.errors import require
from lengthwise.influence.models.shared_layer import Workspace
from lengthwise.influence.models.shared_pass import SharedWindow, covers
from lengthwise.models.transformer import Transformer


@runtime_checkable
class LanguageModel(Protocol):
    """A causal language model whose tokens can be masked one by one. Losses are −ln p(target), in nats, float64.

    ``tokens`` and ``positions`` are the visible tokens and where they stand (increasing, from 0); the target follows
    the last of them. ``visible`` marks the tokens of a whole window that are not masked; the last must be visible.
    """

    name: str
    max_length: int | None
    """The most positions it can be given; None if any number."""
    vocab_size: int
    parameters: int
    """Number of trained numbers."""
    batch_tokens: int
    """Tokens of one forward pass that it is fastest with."""

    def target_losses(
        self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, " B"]:
        """Losses of the targets, from the visible tokens alone."""
        ...

    def masked_losses(
        self, tokens: Int[ndarray, "B Lbar"], visible: Bool[ndarray, "B Lbar"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, " B"]:
        """The same with an explicit mask over the whole window, one entry per query and key: slow and plain."""
        ...

    def attention(self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"]) -> Float[ndarray, "B T"]:
        """Attention of the last token on each, mean over layers and heads."""
        ...

    def gradient_input(
        self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, "B T"]:
        """−(gradient of the loss with respect to a token's vector) · vector; positive where the token helps."""
        ...


Losses = Callable[[Int[ndarray, " T"], Int[ndarray, " n"]], Float[ndarray, " n"]]
"""Positions that are visible (increasing), and others: the losses when one of these is visible too, each in turn."""


@runtime_checkable
class Sharing(Protocol):
    """A `LanguageModel` that computes masks which differ in one token faster than one by one."""

    shares: bool
    """Whether it can."""

    def share(self, tokens: Int[ndarray, " Lbar"], target: int) -> Losses:
        """The losses of one window's target."""
        ...


class OwnModel:
    """`Transformer` as a `LanguageModel`; its position ids are the positions.

    ``max_length`` is the number of positions that the model may be given, None if any. Raises `LengthwiseError` when
    its ids have several levels or ids must be predicted, which text has not.
    """

    def __init__(self, name: str, transformer: Transformer, max_length: int | None) -> None:
        require(
            transformer.shape.kinds == ("coupled",) and transformer.position_head is None,
            f"model {name} does not read plain position ids; train it with scheme sequential, randomized or pose",
        )
        self.name, self.max_length = name, max_length
        self.transformer = transformer.eval()
        self.vocab_size = transformer.table.num_embeddings
        self.parameters = transformer.parameter_count
        self.batch_tokens = batch_tokens(transformer.table.weight.device)
        self.shares = covers(transformer)
        self._space = Workspace()

    @torch.inference_mode()
    def target_losses(
        self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, " B"]:
        """Losses from the visible tokens alone; the last layer and the head act at the last token only."""
        ids, at = self._ids(positions), last(tokens.shape[1])
        return nats(self.transformer(self._tensor(tokens), ids, at=at).logits[:, 0], targets)

    @torch.inference_mode()
    def share(self, tokens: Int[ndarray, " Lbar"], target: int) -> Losses:
        """Losses under masks that differ in one token; for as long as the weights stay as they are."""
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
        """The same with the transformer's key mask."""
        ids = self._ids(np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape))
        logits = self.transformer(self._tensor(tokens), ids, visible=self._tensor(visible)).logits
        return nats(logits[:, -1], targets)

    @torch.inference_mode()
    def attention(self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"]) -> Float[ndarray, "B T"]:
        """Mean attention of the last token on each."""
        weights = self.transformer.attention(self._tensor(tokens), self._ids(positions), last(tokens.shape[1]))
        return weights[..., 0, :].double().mean(dim=(0, 2)).cpu().numpy()

    def gradient_input(
        self, tokens: Int[ndarray, "B T"], positions: Int[ndarray, "B T"], targets: Int[ndarray, " B"]
    ) -> Float[ndarray, "B T"]:
        """How much each token's vector lowers the loss, to first order."""
        with captured_vectors(self.transformer.table) as vectors:
            ids, at = self._ids(positions), last(tokens.shape[1])
            logits = self.transformer(self._tensor(tokens), ids, at=at).logits[:, 0]
            return helpfulness(logits, targets, vectors)

    def _ids(self, positions: Int[ndarray, "B T"]) -> Int[Tensor, "B T 1"]:
        return self._tensor(positions)[:, :, None]

    def _tensor(self, values: ndarray) -> Tensor:
        return tensor(values, self.transformer.table.weight.device)


CPU_TOKENS, CPU_SHARED_TOKENS, GPU_TOKENS = 1024, 4096, 1 << 16


def batch_tokens(device: torch.device) -> int:
    """Tokens of one forward pass: on a CPU, those whose activations stay in its caches.

    Passes that share work write over the same memory and take more: there, what a batch costs besides its tokens shows.
    """
    return CPU_TOKENS if device.type == "cpu" else GPU_TOKENS


def tensor(values: ndarray, device: torch.device) -> Tensor:
    """A copy on ``device``, so that views that can't be written to are fine."""
    return torch.from_numpy(np.array(values)).to(device)


def last(length: int) -> slice:
    """The last of ``length`` positions."""
    return slice(length - 1, length)


def nats(logits: Float[Tensor, "B V"], targets: Int[ndarray, " B"]) -> Float[ndarray, " B"]:
    """−ln of each target's probability, in float64."""
    wanted = tensor(targets, logits.device)
    # The sum over the vocabulary in float64; the logits themselves are as exact as the model is.
    largest = logits.amax(-1, keepdim=True)
    # What is below e^-80 of the largest adds nothing, and exponentials that underflow take many times as long.
    total = (logits - largest).clamp_(min=-80).exp_().sum(-1, dtype=torch.float64).log()
    return (total + (largest - logits.gather(1, wanted[:, None])).double()[:, 0]).detach().cpu().numpy()


@contextmanager
def captured_vectors(embedding: nn.Module) -> Iterator[list[Tensor]]:
    """Within the block, the embedding's outputs ask for gradients and are listed; its own weights are left alone."""
    found: list[Tensor] = []

    def capture(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        del module, inputs
        found.append(output.detach().requires_grad_())
        return found[-1]

    handle = embedding.register_forward_hook(capture)
    try:
        with torch.enable_grad():
            yield found
    finally:
        handle.remove()


def helpfulness(
    logits: Float[Tensor, "B V"], targets: Int[ndarray, " B"], vectors: list[Tensor]
) -> Float[ndarray, "B T"]:
    """−gradient · input of the summed losses with respect to the captured token vectors."""
    wanted = tensor(targets, logits.device)
    loss = nn.functional.cross_entropy(logits.float(), wanted, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, vectors)
    return -(gradient * vectors[0].detach()).sum(-1).double().cpu().numpy()
