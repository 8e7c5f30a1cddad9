"""The ladder: the training configurations that every cell tries, smallest first, whatever its language or encoding.

Then the position systems that climb it, and the words that they are tested on: uniform ones, and pairs that agree on a
long window and need different answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from lengthwise.core.batch import Batch
from lengthwise.core.config import config, fields_of
from lengthwise.core.errors import UnknownNameError
from lengthwise.core.rng import stream
from lengthwise.languages.automaton import Dfa
from lengthwise.languages.hard_words import half_pairs
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ALiBiSpec, EncodingSpec, LearnedSpec, NoPESpec, RoPESpec
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks import Task
from lengthwise.tasks.base import ROWS, chunks, shares
from lengthwise.tasks.language import Language
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


REGULARIZER = 1e-4
"""λ of the positional regularizer, the smaller one of the two published."""


@dataclass(frozen=True)
class Variant:
    """One position system: its encoding, and whose verdict is compared with it."""

    verdict: str
    spec: EncodingSpec
    qk_norm: bool = True
    regularizer: float = 0.0


VARIANTS: dict[str, Variant] = {
    "nope": Variant("nope", NoPESpec()),
    "ape": Variant("ape", LearnedSpec()),
    "rope": Variant("rope", RoPESpec()),
    "alibi": Variant("alibi", ALiBiSpec()),
    # QK-norm makes the regularizer vacuous, so the regularized system has a partner without both.
    "ape-no-qk-norm": Variant("ape", LearnedSpec(), qk_norm=False),
    "ape+reg": Variant("ape", LearnedSpec(), qk_norm=False, regularizer=REGULARIZER),
}


def variant(name: str) -> Variant:
    """The system of this name; raises `UnknownNameError`."""
    if name not in VARIANTS:
        raise UnknownNameError("encoding of the ladder", name, VARIANTS)
    return VARIANTS[name]


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
    try:
        ids = _ids(task)
    except TypeError:  # A task of the user's may have fields that can't be compared by a hash.
        ids = _ids.__wrapped__(task)
    return Sequential(max_position=ids, random_start=isinstance(variant(encoding).spec, LearnedSpec))


@lru_cache(maxsize=256)
def _ids(task: Task) -> int:
    """Kept, since every rung and encoding of a task asks."""
    longest = task.lengths(TRAINED[0], BINS[-1][1])[-1]
    rng = stream(0, "blind", "longest")
    drawn = [task.batch(longest, 1, rng).tokens for _ in range(DRAWS)]
    return 2 * max(drawn) - min(drawn) - 1


WORDS_SEED = 20261122
SIZE = 500
"""Test words of one set and one bin."""
LENGTHS = 10
"""Lengths of a bin that are tested: the shortest and the longest that have words, and others evenly between them."""


def spread(lengths: Sequence[int], count: int = LENGTHS) -> list[int]:
    """Up to ``count`` of ``lengths``, evenly spread with both ends.

    >>> spread([51, 52, 53, 54, 55], 3)
    [51, 53, 55]
    """
    indices = np.unique(np.linspace(0, len(lengths) - 1, min(count, len(lengths))).round().astype(int))
    return [lengths[index] for index in indices]


def uniform_batches(task: Task, key: str, low: int, high: int, size: int, *, every: bool = False) -> Iterator[Batch]:
    """``size`` strings of the task's own distribution over the lengths ``low..high``: some lengths, or ``every`` one.

    The strings are a function of the task, its ``key`` and each length. Empty if these lengths have no strings.
    """
    lengths = task.lengths(low, high)
    if not lengths:
        return
    for length, number in shares(lengths if every else spread(lengths), size):
        rng = stream(WORDS_SEED, "blind", "uniform", key, length)
        for rows in chunks(number, ROWS if type(task).layout is Task.layout else 8):
            yield task.batch(length, rows, rng)


def pair_lengths(dfa: Dfa, lengths: Sequence[int]) -> list[int]:
    """Those of ``lengths`` at which words agree on half their length and need different answers after it."""
    return [n for n in lengths if half_pairs(dfa, n, 2, stream(WORDS_SEED, "blind", "adversarial", n)) is not None]


def adversarial_batches(task: Task, key: str, low: int, high: int, size: int) -> Iterator[Batch]:
    """``size`` words in pairs that agree on a window of half their length and need different answers after it.

    Empty for a task that is no regular language, or whose words of these lengths have no such pairs.
    """
    dfa = task.automaton() if isinstance(task, Language) else None
    if not isinstance(task, Language) or dfa is None or not task.lengths(low, high):
        return
    for length, number in shares(pair_lengths(dfa, spread(task.lengths(low, high))), size // 2):
        words = half_pairs(dfa, length, 2 * number, stream(WORDS_SEED, "blind", "adversarial", key, length))
        if words is not None:
            yield from task.batches_of([words])
