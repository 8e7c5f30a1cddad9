"""The ladder: the training configurations that every cell tries, smallest first, whatever its language or encoding."""

from __future__ import annotations

from typing import Any, Literal

from lengthwise.core.config import config, fields_of
from lengthwise.core.rng import stream
from lengthwise.experiments.blind.variants import variant
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import EncodingSpec, LearnedSpec
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks import Task
from lengthwise.training.config import TrainingConfig

ENCODINGS = ("nope", "ape")
"""Without positions, and with a learned position table under random starts in training."""
TRAINED = (1, 50)
"""Training lengths; a task whose shortest length is larger starts there."""
BINS = ((51, 100), (101, 150), (151, 300))
"""Test lengths."""

DRAWS = 64
"""Strings of the longest test length that are drawn to see how many tokens they have."""


@config
class Rung:
    """One training configuration; nothing in it depends on a language, an encoding or a verdict."""

    layers: int
    heads: int
    width: int
    lr: float
    steps: int
    batch: int
    norm: Literal["rms", "peri"]
    weight_decay: float
    init: Literal["small", "fan_in"] = "small"
    log_length: bool = False
    """Attention logits grow with the logarithm of the number of visible tokens."""
    position_std: float = 0.002
    """Standard deviation with which a learned position table starts."""
    table_std: float = 0.05
    """Standard deviation with which the token table starts; without effect under ``fan_in``."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return fields_of(self)


LADDER: tuple[Rung, ...] = (
    Rung(layers=2, heads=2, width=32, lr=3e-3, steps=6_000, batch=16, norm="rms", weight_decay=1.0, log_length=True),
    Rung(
        layers=2,
        heads=4,
        width=64,
        lr=1e-3,
        steps=5_000,
        batch=8,
        norm="rms",
        weight_decay=0.01,
        log_length=True,
        position_std=0.02,
        table_std=0.02,
    ),
    Rung(layers=4, heads=4, width=64, lr=3e-3, steps=5_000, batch=16, norm="rms", weight_decay=0.1, init="fan_in"),
)
"""Smallest first."""


def model_config(rung: Rung, encoding: str = "nope") -> ModelConfig:
    """The decoder of a rung: normed queries and keys (but for two variants), no biases."""
    return ModelConfig(
        layers=rung.layers,
        heads=rung.heads,
        width=rung.width,
        norm=rung.norm,
        bias=False,
        qk_norm=variant(encoding).qk_norm,
        init=rung.init,
        table_std=rung.table_std,
        log_length=TRAINED[1] if rung.log_length else None,
    )


def training_config(rung: Rung, encoding: str = "nope") -> TrainingConfig:
    """AdamW with warm-up and a rate that falls linearly to zero; every rung is trained for all its steps."""
    return TrainingConfig(
        min_length=TRAINED[0],
        max_length=TRAINED[1],
        steps=rung.steps,
        batch_size=rung.batch,
        groups=4,
        lr=rung.lr,
        weight_decay=rung.weight_decay,
        warmup=min(200, rung.steps // 10),
        decay="linear",
        final_lr=0.0,
        probe_every=min(500, rung.steps),
        stacked=True,
        regularizer=variant(encoding).regularizer,
        regularizer_normed=variant(encoding).regularizer > 0,
    )


def encoding_spec(rung: Rung, encoding: str) -> EncodingSpec:
    """The model's position encoding; a learned table starts as the rung says."""
    spec = variant(encoding).spec
    return LearnedSpec(init_std=rung.position_std) if isinstance(spec, LearnedSpec) else spec


def position_scheme(task: Task, encoding: str) -> Sequential:
    """Ids 0, 1, 2, …; learned positions draw a random start in training and start at 0 in the test.

    There are as many ids as the longest test string of the study has tokens. Where strings of one length differ in
    tokens (sums of two numbers), a part of them is drawn, and there is room for as many more as those differ by.
    """
    longest = task.lengths(TRAINED[0], BINS[-1][1])[-1]
    rng = stream(0, "blind", "longest")
    drawn = [task.batch(longest, 1, rng).tokens for _ in range(DRAWS)]
    return Sequential(
        max_position=2 * max(drawn) - min(drawn) - 1, random_start=isinstance(variant(encoding).spec, LearnedSpec)
    )
