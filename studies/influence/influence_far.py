"""Figure 4 of Golowich et al. 2025 on models that use far tokens: 64 tokens behind 64 recent ones.

Two small models are trained at context 256 on text with quotations, until the block is worth 0.2 nats on held-out
windows. Then each is measured on held-out text with and without quotations; the other one is the control that chooses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

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


@lw.study("influence-far", SUMMARY, keeps=True)
def influence_far(preset: str, seed: int, report: lw.experiments.events.Report, folder: Path) -> dict[str, Any]:
    """One row per model and text; ``training`` holds the curve of each model while it trained."""

    plain = lw.influence.corpus.standard_library()
    corpus = lw.influence.corpus.with_quotations(plain)
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
                "curve": lw.influence.lm.curve(about["probes"]),
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
        config,
        corpus,
        folder / f"seed-{seed}",
        tell,
        probed=PROBED,
        watch=lambda windows: lw.influence.lm.far_gain(windows, goal=GOAL),
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
