"""Tests whether selection rules find planted tokens, for three label functions g*; greedy search fails on one.

Each g* has two readers: exact inference, which tests the rules alone, and a small transformer trained under random key
masks. The relevant tokens S* lie in the masked block. Settings are ours.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations, product
from math import comb, log, prod
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from pydantic import Field

import lengthwise as lw

sys.path.append(str(Path(__file__).parents[1] / "theory"))
from planted import Planted, Uniform, WordDistribution

SUMMARY = "influential tokens on planted text: greedy finds S* of a sum, stops early on a majority, fails on parity"

FOUND, RECOVERED, NULL = 0.95, 0.95, 0.05
"""What is asked of greedy on a sum: share of targets with exactly S*, R_k at the true k, most |R_k| in the null."""

LabelName = Literal["sum", "majority", "parity"]
KINDS: tuple[tuple[LabelName, int], ...] = (("sum", 3), ("majority", 3), ("parity", 2))
"""g* and its k. A transformer learns the parity of two bits in the time that there is, not that of three."""
EXPECTED = {"sum": "finds S*", "majority": "needs no S*", "parity": "misses S*"}
"""What greedy does: every token of a sum helps by itself; two equal bits of three settle a majority; one bit of a
parity gains nothing."""
_STEPS: dict[str, int] = {"quick": 4000, "standard": 6000, "full": 6000}
_TARGETS: dict[str, int] = {"quick": 200, "standard": 500, "full": 1000}
_WITHOUT_WEIGHTS = ("greedy", "one-shot", "surrogate", "random", "last-k")
"""The rules that use losses only."""


NOISE = 4
"""Number of noise symbols in the alphabet."""


@dataclass(frozen=True)
class PlantedWindows:
    """Context and target ``tokens``, the positions S* in ``relevant``, and the queried and the decoy topic."""

    tokens: Int[ndarray, "N W"]
    relevant: Int[ndarray, "N k"]
    topics: Int[ndarray, "N 2"]


@lw.core.config.config
class PlantedText:
    """A block of noise that holds S* and a decoy, ``recent`` − 1 tokens of noise, the query, and g*(X_{S*}).

    ``label`` is g*. ``sum``: token i of S* adds v·2^i for its bit v, so each visible token lowers the loss by ln 2
    nats. ``majority`` and ``parity`` are those of k bits. Raises `ValueError` if the block can't hold 2k tokens.
    """

    label: Literal["sum", "majority", "parity"] = "sum"
    k: lw.core.config.AtLeast1 = 3
    topics: Annotated[int, Field(ge=3)] = 4
    context: int = 32
    recent: int = 8

    def __post_init__(self) -> None:
        if not 1 <= self.recent <= self.context - 2 * self.k:
            raise ValueError(
                f"recent must leave a block of 2k = {2 * self.k} tokens or more, got {self.recent} of {self.context}"
            )

    @property
    def block(self) -> int:
        """Number of tokens before the recent ones."""
        return self.context - self.recent

    @cached_property
    def planted(self) -> Planted:
        """The distribution of one topic: noise symbols, then marked tokens."""
        bits = 2 * (self.k if self.label == "sum" else 1)
        digits = range(bits // 2)
        # Marked token 2i + v is bit v of digit i.
        values = [v << i for i in digits for v in range(2)]
        if self.label == "sum":
            orders = permutations(digits)
            words = [tuple(NOISE + 2 * i + v for i, v in zip(order, word, strict=True))
                     for order in orders for word in product(range(2), repeat=self.k)]  # fmt: skip
            listed, symbols, label = tuple(words), (), lw.tasks.planted.SumMod(modulus=2**self.k)
        else:
            listed, symbols = (), (NOISE, NOISE + 1)
            label = lw.tasks.planted.MajorityLabel() if self.label == "majority" else lw.tasks.planted.ParityLabel()
        return Planted(
            placement=Uniform(self.k),
            words=WordDistribution(symbols=symbols, listed=listed),
            background=(1 / NOISE,) * NOISE + (0.0,) * bits,
            values=(0,) * NOISE + tuple(values),
            label=label,
        )

    @property
    def marks(self) -> int:
        """Number of marked tokens of one topic."""
        return self.planted.alphabet - NOISE

    @property
    def queries(self) -> int:
        """The first query token; the order is noise, marked tokens, queries, labels."""
        return NOISE + self.topics * self.marks

    @property
    def vocab_size(self) -> int:
        """Number of noise symbols, marked tokens, queries and labels."""
        return self.queries + self.topics + self.planted.classes

    def sample(self, size: int, rng: lw.core.rng.Rng) -> PlantedWindows:
        """Draw ``size`` independent windows."""
        planted, marks = self.planted, self.marks
        queried, decoy = (planted.sample(size, self.block, rng) for _ in range(2))
        first = rng.integers(self.topics, size=size)
        second = (first + rng.integers(1, self.topics, size=size)) % self.topics
        block = np.where(queried.tokens >= NOISE, queried.tokens + (first * marks)[:, None], queried.tokens)
        # The decoy's tokens keep their order and take random positions outside S*.
        keys = rng.random(block.shape)
        np.put_along_axis(keys, queried.relevant, np.inf, axis=1)
        free = np.sort(np.argsort(keys, axis=1)[:, : self.k], axis=1)
        words = np.take_along_axis(decoy.tokens, decoy.relevant, axis=1) + (second * marks)[:, None]
        np.put_along_axis(block, free, words, axis=1)
        noise = rng.integers(NOISE, size=(size, self.recent - 1))
        answers = queried.labels + self.queries + self.topics
        tokens = np.concatenate([block, noise, (self.queries + first)[:, None], answers[:, None]], axis=1)
        return PlantedWindows(tokens, queried.relevant, np.stack([first, second], axis=1))


def strangers(topics: Int[ndarray, "N 2"], rng: lw.core.rng.Rng) -> Int[ndarray, " N"]:
    """For each of N windows, the index of a random window without tokens of its queried topic."""
    return np.array([rng.choice(np.flatnonzero((topics != queried).all(axis=1))) for queried in topics[:, 0]])


class ExactReader(lw.influence.models.LanguageModel):
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

    def _count(self, seen: tuple[int, ...], label: int) -> float:
        """A word counts once for every way to pick the visible tokens from it."""
        wanted = Counter(seen)
        shares = [prod(comb(word[token], times) for token, times in wanted.items()) for word in self._words]
        agreeing = sum(share for share, own in zip(shares, self._labels, strict=True) if own == label)
        return -log(max(agreeing / max(1, sum(shares)), self.floor))


@lw.core.config.config
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

    def config(self) -> lw.training.config.TrainingConfig:
        """The same for a `Trainer`: linear warm-up, then half a cosine to zero."""
        return lw.training.config.TrainingConfig(
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
    def model(self) -> lw.models.config.ModelConfig:
        """Layers, heads and width of the training's configuration."""
        training = self.training
        return lw.models.config.ModelConfig(
            layers=training.layers, heads=training.heads, width=training.width, init="fan_in"
        )

    def build(self, seed: int) -> lw.models.transformer.Transformer:
        """The model of one seed before its first step."""
        config, text = self.model, self.text
        shape = lw.positions.encodings.EncodingShape(
            config.width, config.heads, config.head_width, ("position",), text.context - 1
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(lw.stream(seed, "planted", "init").integers(2**62)))
            return lw.models.transformer.Transformer(
                config, lw.positions.encodings.RoPESpec(), text.vocab_size, shape, predicts_ids=False
            )

    def groups(
        self, config: lw.training.config.TrainingConfig, seeds: Sequence[int], step: int
    ) -> list[lw.models.inputs.Inputs]:
        """One group of windows with equally many visible tokens each."""
        (seed,) = seeds
        text, size = self.text, config.batch_size
        rng = lw.stream(seed, "planted", "train", step)
        tokens = text.sample(size, rng).tokens
        kept = text.block if rng.random() < self._whole(step) else int(rng.integers(text.block + 1))
        block = np.sort(rng.random((size, text.block)).argsort(axis=1)[:, :kept], axis=1)
        recent = np.broadcast_to(np.arange(text.block, text.context), (size, text.recent))
        positions = np.concatenate([block, recent], axis=1)
        ids = torch.from_numpy(positions)[:, :, None]
        return [
            lw.models.inputs.Inputs(
                torch.from_numpy(np.take_along_axis(tokens, positions, axis=1)),
                ids,
                slice(positions.shape[1] - 1, positions.shape[1]),
                targets=torch.from_numpy(tokens[:, -1:]),
                target_position_ids=ids[:, -1:] + 1,
                allowed=None,
            )
        ]

    def _whole(self, step: int) -> float:
        """The share of steps that mask nothing."""
        return max(0.1, 0.1 + (self.training.whole - 0.1) * (1 - 2 * step / self.training.steps))


def train_planted(
    text: PlantedText, training: PlantedTraining, seed: int, on_progress: lw.influence.measure.OnProgress | None = None
) -> lw.influence.models.OwnModel:
    """A transformer that predicts the targets of ``text``; raises `LengthwiseError` if training diverges."""

    def on_step(step: int, loss: float) -> None:
        if on_progress is not None and step % 50 == 0:
            on_progress(f"{text.label}: training", step, training.steps)

    trainer = lw.training.trainer.Trainer(PlantedSetup(text, training), training.config(), [seed], on_step=on_step)
    (state,) = trainer.run()
    return lw.influence.models.OwnModel(f"planted {text.label}", state.trained(), text.context)


def check_planted(
    text: PlantedText,
    reader: lw.influence.models.LanguageModel,
    *,
    targets: int,
    seed: int,
    rules: tuple[str, ...] = lw.influence.measure.MeasureConfig.rules,
    on_progress: lw.influence.measure.OnProgress | None = None,
) -> dict[str, Any]:
    """Measure ``reader`` on ``text`` and compare the chosen tokens with S*, as JSON values; losses in nats.

    ``found`` gives, by rule, the share of targets whose first k tokens are S*; ``recovered`` gives R_k by rule and k
    with its interval; ``null`` gives greedy's R_k in blocks of text on other topics. Every target is its own document.
    """
    sample = text.sample(targets, lw.stream(seed, "planted", "targets"))
    documents = np.arange(targets)
    windows = lw.influence.corpus.Windows(
        sample.tokens, documents, tuple(map(str, documents)), np.full(targets, text.context)
    )
    config = lw.influence.measure.MeasureConfig(
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

    others = strangers(sample.topics, lw.stream(seed, "planted", "null"))
    result = lw.influence.measure.measure(reader, windows, config, others=others, on_progress=tell)
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


@lw.study("influence-planted", SUMMARY)
def influence_planted(preset: str, seed: int, report: lw.experiments.events.Report) -> dict[str, Any]:
    """One row per g* and reader.

    ``found`` by rule: the share of targets whose first k tokens are S*. ``R`` and ``null`` by k: greedy's R_k, and
    what it gains where the block is that of a text on other topics. ``rules`` holds R_k of all rules with intervals.
    """
    steps = _STEPS[preset]
    rows = [row for label, _ in KINDS for row in rows_of(label, steps, _TARGETS[preset], seed, report)]
    return {"steps": steps, "rows": rows}


def rows_of(
    label: LabelName, steps: int, targets: int, seed: int, report: lw.experiments.events.Report
) -> list[dict[str, Any]]:
    """The rows of one g*: exact inference, and a transformer trained for ``steps`` steps."""

    text = PlantedText(label=label, k=dict(KINDS)[label])
    readers = (
        ("exact", ExactReader(text), _WITHOUT_WEIGHTS),
        (
            "trained",
            train_planted(text, PlantedTraining(steps=steps), seed, report),
            lw.influence.measure.MeasureConfig.rules,
        ),
    )
    return [
        _row(label, reader, check_planted(text, model, targets=targets, seed=seed, rules=rules, on_progress=report))
        for reader, model, rules in readers
    ]


def _row(label: str, reader: str, checked: dict[str, Any]) -> dict[str, Any]:
    recovered, null = checked.pop("recovered"), checked.pop("null")
    shares = {k: row["recovered"] for k, row in recovered["greedy"].items()}
    noise = {k: row["recovered"] for k, row in null.items()}
    true = str(checked["k"])
    return {
        "reader": reader,
        **checked,
        "R": shares,
        "null": noise,
        "expected": EXPECTED[label],
        "as_expected": as_expected(label, checked["found"]["greedy"], shares[true], noise[true]),
        "rules": [{"rule": name, "by_k": by_k} for name, by_k in recovered.items()],
    }


def as_expected(label: str, found: float, recovered: float | None, null: float | None) -> bool:
    """Whether greedy's numbers at the true k are what ``EXPECTED`` says."""
    if recovered is None or null is None or abs(null) > NULL:
        return False
    if label == "parity":
        return found < FOUND and recovered < RECOVERED
    return (found >= FOUND) == (label == "sum") and recovered >= RECOVERED
