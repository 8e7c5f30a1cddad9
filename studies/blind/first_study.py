"""The first blind study: what was fixed before its training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import blind_draw as draw
import comparison
import preregister

import lengthwise as lw


def preregistration() -> dict[str, Any]:
    """Everything that is fixed; JSON values."""
    drawn = draw.draw()
    return {
        "title": "Predictions of length generalization made before training: 42 languages, with and without positions",
        "ladder": [rung.to_json() for rung in lw.experiments.blind.ladder.LADDER],
        "seeds": list(preregister.SEEDS),
        "encodings": list(lw.experiments.blind.ladder.ENCODINGS),
        "trained": list(lw.experiments.blind.ladder.TRAINED),
        "bins": [list(bounds) for bounds in lw.experiments.blind.ladder.BINS],
        "sizes": {
            "fit": lw.experiments.blind.run.FIT_WORDS,
            "probe": lw.experiments.blind.run.PROBE_WORDS,
            "words": lw.experiments.blind.ladder.SIZE,
            "lengths": lw.experiments.blind.ladder.LENGTHS,
        },
        "cut": lw.experiments.blind.study.CUT,
        "cuts": list(comparison.CUTS),
        "rules": preregister.RULES,
        "rivals": {rival.name: rival.text for rival in comparison.RIVALS},
        "development": [list(pair) for pair in draw.DEVELOPMENT],
        "draw": {
            "seed": draw.SEED,
            "alphabets": list(draw.ALPHABETS),
            "nodes": list(draw.SIZES),
            "states": list(draw.STATES),
            "per_class": draw.PER_CLASS,
            "words_seed": lw.experiments.blind.ladder.WORDS_SEED,
        },
        "languages": [
            preregister.entry(item.name, item.task, lw.experiments.blind.ladder.ENCODINGS, expression=item.expression)
            for item in drawn
        ],
        "published": [
            preregister.entry(name, task, lw.experiments.blind.ladder.ENCODINGS)
            for name, task in published_tasks().items()
        ],
        "code": "the commit that adds this file",
    }


def freeze(folder: Path) -> lw.experiments.blind.study.BlindStudy:
    """Write the preregistration to ``folder``; raises `LengthwiseError` if another one is there."""
    return lw.experiments.blind.study.write_study(folder, preregistration())


def published_tasks() -> dict[str, lw.Task]:
    """The 25 tasks of Huang et al. 2025 by name."""
    tasks: dict[str, lw.Task] = {
        name: lw.tasks.language.Language(language=name) for name in lw.languages.named.LANGUAGES
    }
    return tasks | {name: lw.task(value) for name, value in lw.tasks.language.HUANG.items()}
