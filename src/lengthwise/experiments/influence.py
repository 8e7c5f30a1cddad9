"""On how many far tokens does a language model's prediction depend (after Golowich et al. 2025, section 5.3)?

The recipe trains a pair of small models on Python's standard library, one at 128 tokens and one at 64 with PoSE up to
128, and measures the first; the second is the other model that chooses, and the one that extrapolates. All sizes are
ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lengthwise.core.errors import require
from lengthwise.core.rng import stream
from lengthwise.experiments.events import Report
from lengthwise.experiments.provenance import provenance
from lengthwise.experiments.recipe import Preset, study

if TYPE_CHECKING:
    from lengthwise.influence.corpus import Corpus, Document, Windows
    from lengthwise.influence.measure import MeasureConfig
    from lengthwise.influence.models import LanguageModel
    from lengthwise.influence.tokenizer import Tokenizer

SUMMARY = "influential tokens: a pair of small language models, and how few far tokens explain the long context"

TARGETS: dict[Preset, int] = {"quick": 200, "standard": 240, "full": 4000}
CONTEXT, RECENT = 72, 8
"""A block of 64 tokens, as in the paper, close behind few recent ones: models as small and as briefly trained as these
learn next to nothing from text that is farther back (see ``pair.long.held_out.far_half`` in the result)."""
SIZES: dict[Preset, str] = {"quick": "quick", "standard": "standard", "full": "standard"}
"""The preset of the pair; ``full`` measures more targets of the same models."""
KIND = "influence"
PASSAGES, PASSAGE_TARGETS = 2, 64
"""Passages of the token-level view, each of a document of its own, and consecutive targets in each."""


@dataclass(frozen=True)
class Models:
    """The model that is measured and how it reads text; a second one that chooses tokens; one trained at a shorter
    context, whose loss at the full one is held against the sparsity of the first.
    """

    model: LanguageModel
    tokenizer: Tokenizer
    chooser: LanguageModel | None = None
    extrapolator: LanguageModel | None = None
    about: dict[str, Any] | None = None
    """What is known of their training, for the result file."""


def trained_pair(size: str, seed: int, corpus: Corpus, folder: Path, report: Report) -> Models:
    """The pair of a preset in ``folder/long`` and ``folder/short``, trained there if it is not; resumable.

    Raises `LengthwiseError` where these folders hold models of another configuration or text.
    """
    from lengthwise.influence.lm import load_lm, pair, train_lm

    loaded, about = [], {}
    for name, config in zip(("long", "short"), pair(size, seed), strict=True):

        def tell(what: str, done: int, total: int, nats: float, name: str = name) -> None:
            report(f"{name} model: {what}", done, total)

        trained = train_lm(config, corpus, folder / name, tell, about=lambda: provenance("cpu"))
        loaded.append(load_lm(folder / name))
        about[name] = {key: trained[key] for key in ("parameters", "steps", "tokens_seen", "held_out", "at_target")}
        about[name]["seconds"] = trained["seconds"]
    (long, tokenizer), (short, other) = loaded
    contexts = [config.context for config in pair(size, seed)]
    require(
        tokenizer.to_json() == other.to_json(),
        f"the models in {folder} have different tokenizers; delete the folder and run again",
    )
    long.name = f"{size} model trained at {contexts[0]}"
    short.name = f"{size} model trained at {contexts[1]} with PoSE"
    return Models(long, tokenizer, short, short, about)


def observe(
    models: Models, documents: Sequence[Document], corpus: dict[str, Any], config: MeasureConfig, report: Report
) -> dict[str, Any]:
    """Measure on ``documents``; the contents of ``result.json`` but for provenance.

    Raises `LengthwiseError` for text that is too short, a model that can't be given the context, and losses that are
    not finite.
    """
    from lengthwise.influence.corpus import windows
    from lengthwise.influence.measure import measure, passage

    model, tokenizer = models.model, models.tokenizer
    require(
        model.max_length is None or model.max_length >= config.context,
        f"model {model.name} takes at most {model.max_length} tokens, not a context of {config.context}; "
        "choose a smaller context",
    )
    report("windows", 0, 1)
    drawn = windows(documents, tokenizer, config.context, config.targets, stream(config.seed, KIND, "windows"))
    result = measure(
        model, drawn, config, chooser=models.chooser, extrapolator=models.extrapolator, pieces=tokenizer.pieces,
        on_progress=report,
    )  # fmt: skip
    stretches = passage_windows(documents, models.tokenizer, drawn, result["targets"])
    for done, stretch in enumerate(stretches):
        report("passages", done, len(stretches))
        result["passages"].append(passage(model, stretch, config, tokenizer.pieces))
    return {**result, "kind": KIND, "corpus": corpus, "pair": models.about}


def passage_windows(
    documents: Sequence[Document], tokenizer: Tokenizer, drawn: Windows, measured: Sequence[dict[str, Any]]
) -> list[Windows]:
    """Windows of consecutive targets around the targets that gain most from their block, a document each.

    They are there to be looked at: examples where there is something to see, not a sample.
    """
    from lengthwise.influence.corpus import Windows

    context = drawn.tokens.shape[1] - 1
    gains = np.array([target["short"] - target["long"] for target in measured])
    stretches: list[Windows] = []
    seen: set[int] = set()
    for index in np.argsort(-gains, kind="stable"):
        owner = int(drawn.documents[index])
        if owner in seen:
            continue
        seen.add(owner)
        ids = np.array(tokenizer.encode(documents[owner].text), dtype=np.int64)
        # A little before the middle: what follows a target with a far dependence often has one too.
        last = len(ids) - PASSAGE_TARGETS
        start = max(context, min(int(drawn.offsets[index]) - PASSAGE_TARGETS // 3, last))
        offsets = np.arange(start, min(start + PASSAGE_TARGETS, len(ids)))
        tokens = np.stack([ids[at - context : at + 1] for at in offsets])
        stretches.append(Windows(tokens, np.full(len(offsets), owner), drawn.names, offsets))
        if len(stretches) == PASSAGES:
            break
    return stretches


@study("influence", SUMMARY, file="result.json", keeps=True)
def influence(preset: Preset, seed: int, report: Report, folder: Path) -> dict[str, Any]:
    """Train (or load) the pair in ``folder`` and measure; the models stay in ``folder/long`` and ``folder/short``."""
    from lengthwise.influence.corpus import standard_library
    from lengthwise.influence.measure import MeasureConfig

    corpus = standard_library()
    models = trained_pair(SIZES[preset], seed, corpus, folder, report)
    config = MeasureConfig(context=CONTEXT, recent=RECENT, targets=TARGETS[preset], seed=seed)
    return observe(models, corpus.held_out, corpus.describe(), config, report)
