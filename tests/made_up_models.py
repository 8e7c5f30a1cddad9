"""Language models whose losses are written down: which visible tokens help, and by how much."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy import ndarray

from lengthwise.influence.corpus import Windows
from lengthwise.influence.huggingface import HuggingFaceModel
from lengthwise.influence.models import LanguageModel, OwnModel, nats


class WrittenDown(LanguageModel):
    """The loss is a function of the window's target and the set of visible positions."""

    def __init__(self, loss: Callable[[int, frozenset[int]], float], *, max_length: int | None = None) -> None:
        self.loss = loss
        self.name, self.max_length, self.vocab_size, self.parameters = "written-down", max_length, 1000, 0
        self.batch_tokens = 64
        self.calls: list[int] = []

    def target_losses(self, tokens: ndarray, positions: ndarray, targets: ndarray) -> ndarray:
        self.calls.append(len(tokens))
        assert (np.diff(positions, axis=1) > 0).all()
        assert tokens.shape == positions.shape
        return np.array([self.loss(int(t), frozenset(p.tolist())) for t, p in zip(targets, positions, strict=True)])

    def attention(self, tokens: ndarray, positions: ndarray) -> ndarray:
        """The more, the nearer to position 3."""
        del tokens
        return 1 / (1 + np.abs(positions - 3.1))

    def gradient_input(self, tokens: ndarray, positions: ndarray, targets: ndarray) -> ndarray:
        """What each token's absence costs."""
        del tokens
        whole = [frozenset(p.tolist()) for p in positions]
        return np.array(
            [[self.loss(int(t), s - {int(p)}) - self.loss(int(t), s) for p in row]
             for t, s, row in zip(targets, whole, positions, strict=True)]
        )  # fmt: skip


@torch.inference_mode()
def masked_losses(model: LanguageModel, tokens: ndarray, visible: ndarray, targets: ndarray) -> ndarray:
    """Losses under an explicit mask over the whole window: the reference for those from visible tokens alone."""
    ids = model.window_ids(tokens)
    if isinstance(model, HuggingFaceModel):
        return model._masked(tokens, visible, targets, ids)
    assert isinstance(model, OwnModel)
    logits = model.transformer(model._tensor(tokens), model._ids(ids), visible=model._tensor(visible)).logits
    return nats(logits[:, -1], targets)


def additive(gain: Callable[[int, int], float], base: float = 10.0) -> Callable[[int, frozenset[int]], float]:
    """Every visible token lowers the loss by its own ``gain(target, position)``."""
    return lambda target, seen: base - sum(gain(target, p) for p in sorted(seen))


def some_windows(count: int = 6, context: int = 12, documents: int = 3, seed: int = 0) -> Windows:
    """Random tokens; the targets are numbered 0, 1, …."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(100, size=(count, context + 1))
    tokens[:, -1] = np.arange(count)
    owners = np.sort(np.arange(count) % documents)
    return Windows(tokens, owners, tuple(f"d{i}" for i in range(documents)), np.arange(count) + context)
