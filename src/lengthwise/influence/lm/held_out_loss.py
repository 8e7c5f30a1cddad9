"""Computes a language model's cross-entropy on held-out text, overall and by amount of context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from lengthwise.influence.text.text_task import TextTask
from lengthwise.influence.text.tokenizer import OwnTokenizer
from lengthwise.models.transformer import Transformer

ROWS = 32


@dataclass(frozen=True)
class HeldOut:
    """Windows of held-out text and the loss of a unigram model on them."""

    windows: Int[ndarray, "N L+1"]
    sizes: Int[ndarray, " V"]
    """Bytes of each token."""
    unigram: float
    """Nats per token of the windows under the token frequencies of the training text (one added to each count)."""

    @classmethod
    def of(
        cls, held_out: TextTask, train: TextTask, tokenizer: OwnTokenizer, context: int, rng: np.random.Generator,
        *, count: int,
    ) -> HeldOut:  # fmt: skip
        """Draw ``count`` random windows of ``context`` predicted tokens."""
        windows = held_out.windows(context, count, rng)
        counts = np.bincount(train.tokens, minlength=tokenizer.vocab_size) + 1.0
        frequencies = np.log(counts / counts.sum())
        return cls(windows, tokenizer.sizes, float(-frequencies[windows[:, 1:]].mean()))


@torch.inference_mode()
def losses(transformer: Transformer, windows: Int[ndarray, "N L+1"]) -> Float[ndarray, "N L"]:
    """Loss in nats of every token but the first; the token of entry i has i + 1 tokens of context."""
    training = transformer.training
    transformer.eval()
    result = []
    length = windows.shape[1] - 1
    ids = torch.arange(length)[None, :, None]
    for start in range(0, len(windows), ROWS):
        tokens = torch.from_numpy(windows[start : start + ROWS])
        logits = transformer(tokens[:, :-1], ids.expand(len(tokens), -1, -1)).logits
        nats = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
        result.append(nats.view(len(tokens), length).double().numpy())
    transformer.train(training)
    return np.concatenate(result)


def report(transformer: Transformer, held_out: HeldOut, context: int) -> dict[str, Any]:
    """Mean losses on the first ``context`` predicted tokens: per token, per byte and by amount of context."""
    windows = held_out.windows[:, : context + 1]
    nats = losses(transformer, windows)
    size = held_out.sizes[windows[:, 1:]].sum()
    return {
        "context": context,
        "windows": len(nats),
        "nats_per_token": float(nats.mean()),
        "nats_per_byte": float(nats.sum() / size),
        "bytes_per_token": float(size / nats.size),
        "unigram_nats_per_token": held_out.unigram,
        "by_context": [
            {"from": low, "to": high, "nats_per_token": float(nats[:, low - 1 : high].mean())}
            for low, high in bands(nats.shape[1])
        ],
        "far_half": far_half(transformer, windows, nats),
    }


def far_half(transformer: Transformer, windows: Int[ndarray, "N L+1"], nats: Float[ndarray, "N L"]) -> dict[str, float]:
    """Mean loss of the last quarter of the targets ``with`` and ``without`` the farther half of the context.

    ``gain`` is the difference of the two, in nats per token.
    """
    half, quarter = nats.shape[1] // 2, max(1, nats.shape[1] // 4)
    short = float(losses(transformer, windows[:, half:])[:, -quarter:].mean())
    long = float(nats[:, -quarter:].mean())
    return {"with": long, "without": short, "gain": short - long}


def bands(context: int) -> Sequence[tuple[int, int]]:
    """Ranges of context, in tokens: 1, 2, 3–4, 5–8, 9–16 and so on."""
    result, low = [(1, 1)], 2
    while low <= context:
        high = min(2 * low - 2, context)
        result.append((low, high))
        low = high + 1
    return result
