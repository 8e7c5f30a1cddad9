"""Figure 4 of Golowich et al. 2025 on models that use far tokens: 64 tokens behind 64 recent ones.

Two small models are trained at context 256 on text with quotations, until the block is worth 0.2 nats on held-out
windows. Then each is measured on held-out text with and without quotations; the other one is the control that chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray

import lengthwise as lw

SUMMARY = "influential tokens behind 64 recent ones, of two models that copy from afar; with controls"

SEEDS = (100, 101)
GOAL = 0.2
"""Nats per token at which training stops, twice what the measurement needs, because probes are small."""
NEEDED = 0.1
CONTEXT, RECENT = 128, 64
PROBED = 256
"""Held-out windows of each probe."""
TARGETS: dict[str, int] = {"quick": 40, "standard": 400, "full": 2000}
FIELDS: dict[str, dict[str, Any]] = {
    "quick": {"vocabulary": 512, "layers": 2, "width": 64, "steps": 200, "probe_every": 100},
    "standard": {"vocabulary": 2048, "layers": 4, "width": 128, "steps": 8000, "warmup": 200, "probe_every": 500},
    "full": {"vocabulary": 2048, "layers": 4, "width": 128, "steps": 8000, "warmup": 200, "probe_every": 500},
}
TRAINED = {"context": 256, "batch_tokens": 2048}


SHORTEST, LONGEST = 80, 240
"""Characters of a passage, before it is filled up to the end of a line: about 30 to 90 tokens."""
BACK = 3
"""A quotation is one of the last so many passages, the one just before it left out."""
QUOTED = 0.5
"""Share of the places between passages at which one is quoted."""


def with_quotations(corpus: lw.influence.corpus.Corpus, seed: int = 0) -> lw.influence.corpus.Corpus:
    """The same documents, each with some of its own passages repeated word by word some hundred characters later.

    Training and held-out documents stay apart. The quotations depend on ``seed`` and the document's name only.
    """
    return lw.influence.corpus.Corpus(
        f"{corpus.name}-quoted",
        tuple(quoted(document, seed) for document in corpus.train),
        tuple(quoted(document, seed) for document in corpus.held_out),
        corpus.skipped,
    )


def quoted(document: lw.influence.corpus.Document, seed: int) -> lw.influence.corpus.Document:
    """One document with its quotations."""
    rng = lw.stream(seed, "quotations", document.name)
    written: list[str] = []
    own: list[str] = []
    for passage in passages(document.text, rng):
        written.append(passage)
        if len(own) >= 1 and rng.random() < QUOTED:
            written.append(own[-1 - int(rng.integers(min(BACK, len(own))))])
        own.append(passage)
    return lw.influence.corpus.Document(document.name, "".join(written))


def passages(text: str, rng: lw.core.rng.Rng) -> Iterator[str]:
    """The text in pieces of whole lines, each of `SHORTEST` to `LONGEST` characters and the rest of its last line."""
    lines, held, wanted = text.splitlines(keepends=True), "", 0
    for line in lines:
        wanted = wanted or int(rng.integers(SHORTEST, LONGEST + 1))
        held += line if line.endswith("\n") else line + "\n"
        if len(held) >= wanted:
            yield held
            held, wanted = "", 0
    if held:
        yield held


CONTEXTS = (16, 32, 64, 96, 128, 192)
"""Tokens before a target that are visible, at least."""
LAST = 16
"""Targets at the end of each window, which have up to so many more tokens before them."""
PERIOD, FAR_GAIN_ROWS = 80, 32
"""Random tokens that are repeated once, and how many such sequences measure induction."""

Watch = Callable[[lw.models.transformer.Transformer], dict[str, Any]]


def far_gain(
    windows: Int[ndarray, "N L+1"], *, goal: float, recent: int = 64, block: int = 64, longest: int = CONTEXTS[-1]
) -> Watch:
    """A measurement for probes: the loss of the same targets by context, and what a block behind ``recent`` is worth.

    ``gain`` is the loss with ``recent`` tokens minus that with ``recent + block``, in nats per token. ``fitted`` says
    whether it is ``goal`` or more, which ends a training that stops when fitted.
    """
    contexts = [context for context in CONTEXTS if context <= min(longest, windows.shape[1] - 1 - LAST)]

    def watch(model: lw.models.transformer.Transformer) -> dict[str, Any]:
        by_context = {
            context: float(lw.influence.lm.losses(model, windows[:, -(context + LAST) - 1 :])[:, -LAST:].mean())
            for context in contexts
        }
        gain = by_context[recent] - by_context[recent + block]
        curve = {str(context): value for context, value in by_context.items()}
        return {"by_context": curve, "gain": gain, "induction": induction(model), "fitted": gain >= goal}

    return watch


@torch.inference_mode()
def induction(model: lw.models.transformer.Transformer, period: int = PERIOD) -> list[list[float]]:
    """By layer and head, the attention that repeated random tokens pay to the token after their first occurrence.

    Random tokens can be predicted by copying only, and the copy is ``period`` - 1 tokens back, so a head that finds it
    by content has a large number here (Olsson et al. 2022, prefix matching).
    """
    vocabulary = model.table.num_embeddings
    drawn = lw.stream(0, "induction").integers(vocabulary // 8, vocabulary, size=(FAR_GAIN_ROWS, period))
    tokens = torch.from_numpy(np.concatenate([drawn, drawn], axis=1))
    ids = torch.arange(2 * period)[None, :, None].expand(FAR_GAIN_ROWS, -1, -1)
    weights = model.attention(tokens, ids, slice(period, 2 * period))
    queries = torch.arange(period)
    found = weights[..., queries, queries + 1].mean(dim=(1, 3))
    return [[round(float(value), 4) for value in heads] for heads in found]


def curve(probes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The probes of a training as rows: step, gain, loss by context, and the strongest induction head of each layer."""
    return [
        {
            "step": probe["step"],
            "gain": round(probe["gain"], 4),
            "by_context": {name: round(value, 4) for name, value in probe["by_context"].items()},
            "induction": [max(heads) for heads in probe["induction"]],
        }
        for probe in probes
    ]


@lw.study("influence-far", SUMMARY, keeps=True)
def influence_far(preset: str, seed: int, report: lw.experiments.events.Report, folder: Path) -> dict[str, Any]:
    """One row per model and text; ``training`` holds the curve of each model while it trained."""

    plain = lw.influence.corpus.standard_library()
    corpus = with_quotations(plain)
    trained = {number: _trained(preset, number, corpus, folder, report) for number in SEEDS}
    rows = []
    for number, (model, tokenizer, _) in trained.items():
        other = next(found for key, (found, _, _) in trained.items() if key != number)
        for name, documents in (("with quotations", corpus.held_out), ("as it is", plain.held_out)):
            found = _kept(
                folder / "rows" / f"seed-{number}, {name}.json",
                partial(_measured, model, other, tokenizer, documents, preset, report),
            )
            rows.append({"seed": number, "text": name, **found})
    return {
        "goal": GOAL,
        "corpus": corpus.describe(),
        "training": {
            str(number): {
                **{key: about[key] for key in ("parameters", "steps", "tokens_seen", "seconds", "held_out")},
                "curve": curve(about["probes"]),
            }
            for number, (_, _, about) in trained.items()
        },
        "rows": rows,
    }


def _trained(
    preset: str, seed: int, corpus: Any, folder: Path, report: lw.experiments.events.Report
) -> tuple[Any, Any, dict[str, Any]]:
    """A model in ``folder/seed-N``, trained there if it is not; its tokenizer; what is known of its training."""

    config = lw.influence.lm.lm_config("standard", **FIELDS[preset], **TRAINED, seed=seed)

    def tell(what: str, done: int, total: int, nats: float) -> None:
        report(f"seed {seed}: {what}", done, total, nats)

    about = lw.influence.lm.train_lm(
        config, corpus, folder / f"seed-{seed}", tell, probed=PROBED, watch=lambda windows: far_gain(windows, goal=GOAL)
    )
    model, tokenizer = lw.influence.lm.load_lm(folder / f"seed-{seed}")
    model.name = f"seed {seed}"
    return model, tokenizer, about


def _kept(path: Path, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What is measured once, and then is in a file: a study that was interrupted goes on with its next row."""

    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        lw.core.files.write_json(path, lw.core.result_file.sealed(measure()))
    found = lw.core.files.read_json(path, what="row of the study")
    lw.core.result_file.check_seal(found, f"row {path}")
    return {key: value for key, value in found.items() if key != "digest"}


def _measured(
    model: Any, other: Any, tokenizer: Any, documents: Any, preset: str, report: lw.experiments.events.Report
) -> dict[str, Any]:
    """Losses with and without the block, whether it is worth enough, and all summaries of the measurement."""

    config = lw.influence.measure.MeasureConfig(context=CONTEXT, recent=RECENT, targets=TARGETS[preset])
    drawn = lw.influence.corpus.windows(
        documents, tokenizer, CONTEXT, config.targets, lw.stream(config.seed, "influence-far", "windows")
    )
    found = lw.influence.measure.measure(
        model, drawn, config, chooser=other, pieces=tokenizer.pieces, on_progress=report
    )
    short, long = (
        sum(target[name] for target in found["targets"]) / len(found["targets"]) for name in ("short", "long")
    )
    return {
        "targets": len(found["targets"]),
        "documents": len(set(drawn.documents.tolist())),
        "short": short,
        "long": long,
        "gain": short - long,
        "enough": short - long >= NEEDED,
        "summary": found["summary"],
    }
