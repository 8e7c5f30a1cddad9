"""The check of a measurement of influence on planted text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lengthwise.core.config import config
from lengthwise.core.rng import stream
from lengthwise.influence.corpus import Windows
from lengthwise.influence.measure import MeasureConfig, OnProgress, measure
from lengthwise.influence.models import LanguageModel, OwnModel, last
from lengthwise.influence.planted_text import PlantedText, strangers
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import EncodingShape, RoPESpec
from lengthwise.training.config import TrainingConfig
from lengthwise.training.trainer import Trainer


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

    def config(self) -> TrainingConfig:
        """The same for a `Trainer`: linear warm-up, then half a cosine to zero."""
        return TrainingConfig(
            steps=self.steps, batch_size=self.batch, groups=1, lr=self.lr, betas=(0.9, 0.999), warmup=self.warmup,
            final_lr=0.0, probe_every=min(500, self.steps),
        )  # fmt: skip


@dataclass(frozen=True)
class PlantedSetup:
    """A transformer that predicts the targets of ``text`` from blocks with random gaps.

    Masked tokens are left out, and the others keep their positions: what a key mask comes to for the target.
    """

    text: PlantedText
    training: PlantedTraining

    @property
    def model(self) -> ModelConfig:
        """Layers, heads and width of the training's configuration."""
        training = self.training
        return ModelConfig(layers=training.layers, heads=training.heads, width=training.width, init="fan_in")

    def build(self, seed: int) -> Transformer:
        """The model of one seed before its first step."""
        config, text = self.model, self.text
        shape = EncodingShape(config.width, config.heads, config.head_width, ("position",), text.context - 1)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(stream(seed, "planted", "init").integers(2**62)))
            return Transformer(config, RoPESpec(), text.vocab_size, shape, predicts_ids=False)

    def groups(self, config: TrainingConfig, seeds: Sequence[int], step: int) -> list[Inputs]:
        """One group of windows with equally many visible tokens each."""
        (seed,) = seeds
        text, size = self.text, config.batch_size
        rng = stream(seed, "planted", "train", step)
        tokens = text.sample(size, rng).tokens
        kept = text.block if rng.random() < self._whole(step) else int(rng.integers(text.block + 1))
        block = np.sort(rng.random((size, text.block)).argsort(axis=1)[:, :kept], axis=1)
        recent = np.broadcast_to(np.arange(text.block, text.context), (size, text.recent))
        positions = np.concatenate([block, recent], axis=1)
        ids = torch.from_numpy(positions)[:, :, None]
        return [
            Inputs(
                torch.from_numpy(np.take_along_axis(tokens, positions, axis=1)), ids, last(positions.shape[1]),
                targets=torch.from_numpy(tokens[:, -1:]), target_position_ids=ids[:, -1:] + 1, allowed=None,
            )
        ]  # fmt: skip

    def _whole(self, step: int) -> float:
        """The share of steps that mask nothing."""
        return max(0.1, 0.1 + (self.training.whole - 0.1) * (1 - 2 * step / self.training.steps))


def train_planted(
    text: PlantedText, training: PlantedTraining, seed: int, on_progress: OnProgress | None = None
) -> OwnModel:
    """A transformer that predicts the targets of ``text``; raises `LengthwiseError` if training diverges."""

    def on_step(step: int, loss: float) -> None:
        if on_progress is not None and step % 50 == 0:
            on_progress(f"{text.label}: training", step, training.steps)

    trainer = Trainer(PlantedSetup(text, training), training.config(), [seed], on_step=on_step)
    (state,) = trainer.run()
    return OwnModel(f"planted {text.label}", state.trained(), text.context)


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
