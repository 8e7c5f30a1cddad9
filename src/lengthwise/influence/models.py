"""Language models that a measurement of influence reads: one interface, and our transformer behind it."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Num
from numpy import ndarray
from torch import Tensor, nn

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.models.transformer import Transformer

Tokens = Int[ndarray, "B T"]
Ids = Num[ndarray, "B T *levels"]
Targets = Int[ndarray, " B"]
Nats = Float[ndarray, " B"]
PerToken = Float[ndarray, "B T"]


class LanguageModel(ABC):
    """A causal language model whose tokens can be masked; losses are −ln p(target) in nats, float64.

    ``tokens`` are the visible tokens of a window and ``positions`` their ids among those that `window_ids` gives the
    whole window; the target follows the last, which is always visible.
    """

    name: str
    max_length: int | None
    """Largest number of positions; None if there is no limit."""
    vocab_size: int
    parameters: int
    batch_tokens: int
    """Number of tokens per forward pass at which the model is fastest."""

    def window_ids(self, tokens: Tokens) -> Ids:
        """The position ids of whole windows, which a token keeps under every mask of the others: the positions."""
        return np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)

    @abstractmethod
    def target_losses(self, tokens: Tokens, positions: Ids, targets: Targets) -> Nats:
        """Losses from the visible tokens alone, which are those under a mask over the whole window."""

    def attention(self, tokens: Tokens, positions: Ids) -> PerToken:
        """Attention of the last token to each token, averaged over layers and heads."""
        raise LengthwiseError(f"model {self.name} has no attention; leave out rule attention")

    def gradient_input(self, tokens: Tokens, positions: Ids, targets: Targets) -> PerToken:
        """−gradient · input of each token's embedding; positive where the token lowers the loss."""
        raise LengthwiseError(f"model {self.name} has no gradients; leave out rule gradient-input")


WindowIds = Callable[[Int[ndarray, "N Lbar"]], Int[ndarray, "N Lbar L"]]
"""Maps whole windows to the position ids of their tokens, one per level."""


class OwnModel(LanguageModel):
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

    def window_ids(self, tokens: Tokens) -> Ids:
        return super().window_ids(tokens) if self._number is None else self._number(tokens)

    @torch.inference_mode()
    def target_losses(self, tokens: Tokens, positions: Ids, targets: Targets) -> Nats:
        """The last layer and the head are computed at the last token only."""
        return nats(self._last_logits(tokens, positions), targets)

    @torch.inference_mode()
    def attention(self, tokens: Tokens, positions: Ids) -> PerToken:
        weights = self.transformer.attention(self._tensor(tokens), self._ids(positions), last(tokens.shape[1]))
        return weights[..., 0, :].double().mean(dim=(0, 2)).cpu().numpy()

    def gradient_input(self, tokens: Tokens, positions: Ids, targets: Targets) -> PerToken:
        with captured_vectors(self.transformer.table) as vectors:
            return gradient_times_input(self._last_logits(tokens, positions), targets, vectors)

    def _last_logits(self, tokens: Tokens, positions: Ids) -> Float[Tensor, "B V"]:
        return self.transformer(self._tensor(tokens), self._ids(positions), at=last(tokens.shape[1])).logits[:, 0]

    def _ids(self, positions: Ids) -> Int[Tensor, "B T L"]:
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


def batch_tokens(device: torch.device) -> int:
    """Tokens per forward pass; on a CPU their activations fit into its caches."""
    return 1024 if device.type == "cpu" else 1 << 16


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


def model_type(folder: Path) -> Any:
    """The type of model that ``config.json`` names, ``"lengthwise"`` for an exported one; None where it names none.

    A damaged file is reported by who loads it.
    """
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError):
        return None
    return found.get("model_type") if isinstance(found, dict) else None
