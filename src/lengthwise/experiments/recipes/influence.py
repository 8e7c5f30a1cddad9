"""On how many far tokens does a language model's prediction depend (after Golowich et al. 2025, section 5.3)?

Trains a pair of small models on Python's standard library, one at 128 tokens and one at 64 with PoSE up to 128, and
measures the first; the second is the other model that chooses, and the one that extrapolates. All sizes are ours.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lengthwise.experiments.events import Report
from lengthwise.experiments.recipe import Preset, study

SUMMARY = "influential tokens: a pair of small language models, and how few far tokens explain the long context"

TARGETS: dict[Preset, int] = {"quick": 200, "standard": 240, "full": 4000}
CONTEXT, RECENT = 72, 8
"""A block of 64 tokens, as in the paper, close behind few recent ones: models as small and as briefly trained as these
learn next to nothing from text that is farther back (see ``pair.long.held_out.far_half`` in the result)."""
SIZES: dict[Preset, str] = {"quick": "quick", "standard": "standard", "full": "standard"}
"""The preset of the pair; ``full`` measures more targets of the same models."""


@study("influence", SUMMARY, file="result.json", keeps=True)
def influence(preset: Preset, seed: int, report: Report, folder: Path) -> dict[str, Any]:
    """Train (or load) the pair in ``folder`` and measure; the models stay in ``folder/long`` and ``folder/short``."""
    from lengthwise.experiments.influence import observe, trained_pair
    from lengthwise.influence.corpus import standard_library
    from lengthwise.influence.measure import MeasureConfig

    corpus = standard_library()
    models = trained_pair(SIZES[preset], seed, corpus, folder, report)
    config = MeasureConfig(context=CONTEXT, recent=RECENT, targets=TARGETS[preset], seed=seed)
    return observe(models, corpus.held_out, corpus.describe(), config, report)
