"""The 25 tasks of Huang et al. 2025, the position systems, and how the two are trained here: one cell each."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import lengthwise as lw

ENCODINGS: dict[str, lw.encodings.EncodingSpec] = {
    "nope": lw.encodings.NoPESpec(),
    "ape": lw.encodings.LearnedSpec(),
    "rope": lw.encodings.RoPESpec(),
    "alibi": lw.encodings.ALiBiSpec(),
    "ape+reg": lw.encodings.LearnedSpec(),
}
"""By name: what the published table has (no positions, learned ones), and what is added here."""

PUBLISHED_ENCODINGS = ("nope", "ape")
REGULARIZER = 1e-4
"""λ of the positional regularizer, the smaller one of the two published."""

ALGORITHMIC = tuple(lw.tasks.language.HUANG)
FORMAL = tuple(lw.languages.named.LANGUAGES)

ADVERSARIAL = ("{0,1,2}*02*", "Tomita-3")
"""Fixed before any training: on random words of these, a window of a few symbols is nearly always enough."""

TABLES = {"bin_majority_interleave": 156, "unique_copy": 303, "repeat_copy": 303, "sort": 303, "addition": 300}
"""Published sizes of the position tables; 154 for the other algorithmic tasks."""


@dataclass(frozen=True)
class Range:
    """Training lengths 1..``trained`` (or from 0, where there are such), and two bins beyond."""

    trained: int = 50
    samples: int = 2000

    @property
    def bins(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Up to twice and up to three times the training length."""
        n = self.trained
        return (n + 1, 2 * n), (2 * n + 1, 3 * n)


@dataclass(frozen=True)
class Size:
    """A configuration of the search: a decoder, its learning rate and its budget of steps.

    GPT-2-like as published, or with ``qk_norm`` RMSNorm and normed queries and keys, which fits in fewer steps.
    """

    layers: int
    heads: int
    width: int
    lr: float
    steps: int
    batch: int = 64
    qk_norm: bool = False
    peri: bool = False
    """RMSNorm on both sides of attention and MLP, and no biases."""
    fan_in: bool = False
    """`ModelConfig.init` is ``fan_in``: matrices and tables start larger."""
    decay: float = 0.01
    """Weight decay of matrices and tables."""
    log_length: bool = False
    """Attention logits grow with the logarithm of the length, as those of limit transformers do."""
    position_std: float = 0.05
    """Standard deviation with which a learned position table starts."""
    table_std: float = 0.05
    """Standard deviation with which the token table and the head start; without effect under ``fan_in``."""
    to_the_end: bool = False
    """All steps, however early a seed fits; otherwise a seed ends as soon as it fits."""


def task_of(name: str) -> lw.Task:
    """The task of a cell, by the key of its published results."""
    return (
        lw.task(lw.tasks.language.HUANG[name])
        if name in lw.tasks.language.HUANG
        else lw.tasks.language.Language(language=name)
    )


def table_size(name: str, span: Range) -> int:
    """Rows of the position table: as published for up to 150, in proportion for less; ours for languages.

    A language needs ``<bos>``, 150 symbols and ``<eos>``: 152, which gives offsets of 0 to 150 − n as for the other
    tasks (published: twice the longest word).
    """
    rows = TABLES.get(name, 154) if name in lw.tasks.language.HUANG else 152
    return rows if span.trained == Range.trained else rows * 3 * span.trained // 150 + 12


def cell_experiment(
    task: lw.Task, encoding: str, size: Size, span: Range, *, rows: int, adversarial: bool = False
) -> lw.RunConfig:
    """One configuration of a task: fitted from 99.5 % on, stopped then unless ``size`` goes ``to_the_end``.

    Learned positions have a table of ``rows``; training starts at a random one of those that leave room, test at 0.
    """
    model = lw.ModelConfig(
        layers=size.layers,
        heads=size.heads,
        width=size.width,
        norm="peri" if size.peri else "rms" if size.qk_norm else "layer",
        bias=not size.peri,
        qk_norm=size.qk_norm,
        init="fan_in" if size.fan_in else "small",
        table_std=size.table_std,
        log_length=span.trained if size.log_length else None,
    )
    positions = ENCODINGS[encoding]
    if isinstance(positions, lw.encodings.LearnedSpec):
        positions = lw.encodings.LearnedSpec(init_std=size.position_std)
    training = lw.TrainingConfig(
        min_length=0 if isinstance(task, lw.tasks.parity.Parity) and task.ones == "uniform" else 1,
        max_length=span.trained,
        steps=size.steps,
        batch_size=size.batch,
        groups=4,
        lr=size.lr,
        weight_decay=size.decay,
        warmup=min(200, size.steps // 10),
        decay="linear",
        final_lr=0.0,
        regularizer=REGULARIZER if encoding == "ape+reg" else 0.0,
        probe_every=min(500, size.steps),
        stacked=True,
        stop_when_fitted=not size.to_the_end,
    )
    evaluation = lw.EvaluationConfig(
        samples=span.samples,
        fit_samples=span.samples,
        fit_threshold=0.995,
        probe_samples=min(400, span.samples),
        bins=span.bins,
        adversarial=adversarial,
    )
    scheme = lw.schemes.Sequential(max_position=rows - 1, random_start=encoding.startswith("ape"))
    return lw.RunConfig(task, scheme, positions, model, training, evaluation)


def search(name: str, *, full: bool, encoding: str) -> tuple[Size, ...]:
    """The configurations of a cell in the order in which they are tried; long lengths of the cell end no search.

    ``standard``: small ones that a CPU trains in minutes; those of the languages were looked for on long words of other
    languages, though not blindly (studies/huang/README.md). ``full``: the published grid of layers, heads, width and
    learning rate in order of cost, at the published 30,000 steps.
    """
    if full:
        return _GRID
    sizes = _SEARCHES.get((name, encoding)) or _SEARCHES.get((name, "any"))
    if sizes is not None:
        return sizes
    if name in lw.tasks.language.HUANG:
        return TASK_SIZES
    return language_sizes(encoding, periodic_or_local=name in PERIODIC_OR_LOCAL)


def language_sizes(encoding: str, *, periodic_or_local: bool) -> tuple[Size, ...]:
    """What is tried for a language, with ``periodic_or_local`` if its program needs positions, as the verdicts say."""
    if periodic_or_local:
        return (_DECAY_LOG_2X2X32_5000, _LOG_2X4X64_5000) if encoding != "nope" else (_FAN_IN_4X4X64_8000,)
    if encoding == "nope":
        return (_PERI_1X2X32_3000, _PERI_2X2X32_4000, _2X4X64_6000)
    return (_PERI_1X2X32_8000, _PERI_2X2X32_8000, _2X4X64_6000)


PERIODIC_OR_LOCAL = ("Tomita-4", "(aa)*", "(aaaa)*", "(abab)*")
"""Languages whose programs need positions: theory says yes with learned ones and no without."""

# Sizes are named by what sets them apart (STD: of the position table), layers x heads x width, and steps.
_PERI_1X2X32_8000 = Size(
    1, 2, 32, 3e-3, 8_000, batch=32, qk_norm=True, peri=True, decay=1.0, position_std=0.002, to_the_end=True
)
"""Counts come out of attention divided by the length. The norm after it undoes that if all that attention adds is
counts: without biases, and with decay of what nothing needs."""
_PERI_2X2X32_8000 = dataclasses.replace(_PERI_1X2X32_8000, layers=2)
_PERI_1X2X32_3000 = dataclasses.replace(_PERI_1X2X32_8000, steps=3_000, batch=8)
"""Without positions fewer steps do, and more made D-5 worse at three times the length (studies/huang/README.md)."""
_PERI_2X2X32_4000 = dataclasses.replace(_PERI_1X2X32_3000, layers=2, steps=4_000)
_DECAY_LOG_2X2X32_5000 = Size(
    2, 2, 32, 3e-3, 5_000, batch=8, qk_norm=True, decay=1.0, position_std=0.002, log_length=True, to_the_end=True
)
"""One long word holds all its prefixes as examples, so few strings a step do. What a table learns about pairs of
positions that no word of training has is noise unless decay removes it."""
_2X4X64_6000 = Size(2, 4, 64, 1e-3, 6_000, batch=16, qk_norm=True, position_std=0.002, to_the_end=True)
_LOG_2X4X64_5000 = dataclasses.replace(
    _2X4X64_6000, steps=5_000, batch=8, position_std=0.02, table_std=0.02, log_length=True
)
_2X4X64_30000 = dataclasses.replace(_2X4X64_6000, steps=30_000)
_FAN_IN_4X4X64_12000 = Size(4, 4, 64, 1e-3, 12_000, batch=4, qk_norm=True, fan_in=True)
_FAN_IN_4X4X64_8000 = dataclasses.replace(_FAN_IN_4X4X64_12000, steps=8_000)
"""Without positions a period is learned as so many thresholds of a count, one length after the other."""
_FAN_IN_LOG_4X4X64_40000 = dataclasses.replace(_FAN_IN_4X4X64_12000, steps=40_000, batch=32, log_length=True)
"""Without positions the parity of a run of equal symbols is learned one length after the other, too, and long runs are
rare: more words a step."""
_FAN_IN_4X4X64_30000 = dataclasses.replace(_FAN_IN_4X4X64_12000, steps=30_000)
_BATCH_64_2X4X64_6000 = Size(2, 4, 64, 2e-3, 6_000, qk_norm=True)
_BATCH_64_4X4X64_12000 = Size(4, 4, 64, 1e-3, 12_000, qk_norm=True)
TASK_SIZES = (_BATCH_64_2X4X64_6000, _BATCH_64_4X4X64_12000)
"""What is tried for a task that is no language."""
_DECAY_LOG_2X1X64_12000 = Size(
    2, 1, 64, 1e-3, 12_000, batch=32, qk_norm=True, fan_in=True, decay=1.0, log_length=True, to_the_end=True
)
"""Layers, heads, width and rate of the published runs of unique copy; decay and log-length attention as for languages
that need positions. Matrices that start small left two of three seeds for 17,000 steps at naming any unused symbol."""
_DECAY_LOG_STD_05_2X1X64_12000 = dataclasses.replace(_DECAY_LOG_2X1X64_12000, position_std=0.5)
"""Tables that start large are learned sooner."""
_BATCH_16_4X4X64_12000 = dataclasses.replace(_BATCH_64_4X4X64_12000, batch=16)
"""Every token of a copy is scored, so few strings a step do."""
_BATCH_16_4X4X64_24000 = dataclasses.replace(_BATCH_16_4X4X64_12000, steps=24_000)
_FAN_IN_STD_05_4X4X64_24000 = dataclasses.replace(_BATCH_16_4X4X64_24000, fan_in=True, position_std=0.5)
_BATCH_64_1X4X64_6000 = Size(1, 4, 64, 2e-3, 6_000, qk_norm=True)

_SEARCHES: dict[tuple[str, str], tuple[Size, ...]] = {
    ("bin_majority", "any"): (Size(1, 1, 16, 3e-3, 6_000), _BATCH_64_4X4X64_12000),
    ("majority", "any"): (_BATCH_64_1X4X64_6000, _BATCH_64_4X4X64_12000),
    ("sort", "any"): (_BATCH_64_1X4X64_6000, _BATCH_64_4X4X64_12000),
    ("repeat_copy", "any"): (_FAN_IN_STD_05_4X4X64_24000,),
    ("repeat_copy", "nope"): (_BATCH_16_4X4X64_24000,),
    ("unique_copy", "any"): (_DECAY_LOG_2X1X64_12000, _DECAY_LOG_STD_05_2X1X64_12000),
    ("unique_copy", "nope"): (_BATCH_16_4X4X64_12000,),
    ("{0,1,2}*02*", "any"): (_2X4X64_6000, _FAN_IN_4X4X64_12000),
    ("Tomita-3", "any"): (_2X4X64_30000,),
    ("Tomita-3", "nope"): (_FAN_IN_LOG_4X4X64_40000,),
    ("Tomita-5", "any"): (_2X4X64_6000,),
    ("Tomita-6", "any"): (_2X4X64_6000,),
    ("Tomita-4", "nope"): (_2X4X64_6000, _FAN_IN_4X4X64_12000),
    ("(abab)*", "nope"): (_2X4X64_6000, _FAN_IN_4X4X64_12000),
    ("(aa)*", "nope"): (_FAN_IN_4X4X64_30000,),
    ("(aaaa)*", "nope"): (_FAN_IN_4X4X64_30000,),
}
"""Cells with a search of their own, for one system or for all that have none of their own ("any")."""

_GRID = tuple(
    Size(layers, heads, width, lr, 30_000)
    for width in (16, 64, 256)
    for layers in (1, 2, 4)
    for heads in (1, 2, 4)
    for lr in (1e-3, 1e-4)
)
