"""Checks the measurement on planted text, with a small model trained under random key masks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from lengthwise.core.config import config
from lengthwise.core.errors import require
from lengthwise.core.rng import stream
from lengthwise.influence.measure.config import MeasureConfig
from lengthwise.influence.measure.measure import OnProgress, measure
from lengthwise.influence.models.language_model import LanguageModel, OwnModel, last
from lengthwise.influence.text.planted_text import PlantedText, strangers
from lengthwise.influence.text.windows import Windows
from lengthwise.models.config import ModelConfig
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import EncodingShape
from lengthwise.positions.encodings.rope import RoPE


@config
class PlantedTraining:
    """A one-hop model and its training: each step masks random tokens of every block.

    The share that stays visible is uniform over 0..1, but 1 in a share of the steps that falls from ``whole`` to a
    tenth over the first half of training: a parity is learned from whole words first.
    """

    layers: int = 1
    heads: int = 4
    width: int = 64
    steps: int = 3000
    batch: int = 64
    lr: float = 3e-3
    warmup: int = 50
    whole: float = 0.5


def train_planted(
    text: PlantedText, training: PlantedTraining, seed: int, on_progress: OnProgress | None = None
) -> OwnModel:
    """A transformer that predicts the targets of ``text``; raises `LengthwiseError` if training diverges.

    Masked tokens are left out, and the others keep their positions: what a key mask comes to for the target.
    """
    model_config = ModelConfig(layers=training.layers, heads=training.heads, width=training.width, init="fan_in")
    shape = EncodingShape(
        model_config.width, model_config.heads, model_config.head_width, ("coupled",), text.context - 1
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream(seed, "planted", "init").integers(2**62)))
        model = Transformer(model_config, RoPE(), text.vocab_size, shape, predicts_ids=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=training.lr, weight_decay=0.01)
    recent = np.arange(text.block, text.context)
    for step in range(training.steps):
        if on_progress is not None and step % 50 == 0:
            on_progress(f"{text.label}: training", step, training.steps)
        rng = stream(seed, "planted", "train", step)
        tokens = text.sample(training.batch, rng).tokens
        kept = text.block if rng.random() < _whole(step, training) else int(rng.integers(text.block + 1))
        block = np.sort(rng.random((training.batch, text.block)).argsort(axis=1)[:, :kept], axis=1)
        positions = np.concatenate([block, np.broadcast_to(recent, (training.batch, text.recent))], axis=1)
        seen = torch.from_numpy(np.take_along_axis(tokens, positions, axis=1))
        logits = model(seen, torch.from_numpy(positions)[:, :, None], at=last(positions.shape[1])).logits[:, 0]
        loss = functional.cross_entropy(logits, torch.from_numpy(tokens[:, -1]))
        require(bool(torch.isfinite(loss)), f"training on planted text diverged at step {step}; lower lr")
        for group in optimizer.param_groups:
            group["lr"] = training.lr * _schedule(step, training)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return OwnModel(f"planted {text.label}", model, text.context)


def _whole(step: int, training: PlantedTraining) -> float:
    """The share of steps that mask nothing."""
    return max(0.1, 0.1 + (training.whole - 0.1) * (1 - 2 * step / training.steps))


def _schedule(step: int, training: PlantedTraining) -> float:
    """Linear warm-up, then half a cosine to zero."""
    if step < training.warmup:
        return (step + 1) / training.warmup
    return 0.5 * (1 + math.cos(math.pi * (step - training.warmup) / max(1, training.steps - training.warmup)))


def check_planted(
    text: PlantedText,
    reader: LanguageModel,
    *,
    targets: int,
    seed: int,
    rules: tuple[str, ...] = MeasureConfig.rules,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """Measure ``reader`` on ``text`` and compare the chosen tokens with S*, as JSON values; losses in nats.

    ``found`` gives, by rule, the share of targets whose first k tokens are S*; ``recovered`` gives R_k by rule and k
    with its interval; ``null`` gives greedy's R_k in blocks of text on other topics. Every target is its own document.
    """
    sample = text.sample(targets, stream(seed, "planted", "targets"))
    documents = np.arange(targets)
    windows = Windows(sample.tokens, documents, tuple(map(str, documents)), np.full(targets, text.context))
    config = MeasureConfig(
        context=text.context,
        recent=text.recent,
        ks=tuple(range(1, text.k + 2)),
        targets=targets,
        rules=rules,
        seed=seed,
    )

    def tell(what: str, done: int, total: int) -> None:
        if on_progress is not None:
            on_progress(f"{text.label}: {what}", done, total)

    others = strangers(sample.topics, stream(seed, "planted", "null"))
    result = measure(reader, windows, config, others=others, on_progress=tell)
    planted = [set(row) for row in sample.relevant.tolist()]
    summary = result["summary"]

    def found(name: str) -> float:
        orders = [entry["chosen"][name]["order"][: text.k] for entry in result["targets"]]
        return sum(set(order) == own for order, own in zip(orders, planted, strict=True)) / targets

    return {
        "label": text.label,
        "k": text.k,
        "block": text.block,
        "targets": targets,
        "long": summary["mean"]["long"],
        "short": summary["mean"]["short"],
        "found": {name: found(name) for name in rules},
        "recovered": summary["rules"],
        "null": summary["null"],
    }
