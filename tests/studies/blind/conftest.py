"""A study so small that it trains in seconds: two languages, two rungs, few words."""

from __future__ import annotations

from pathlib import Path

import pytest
from preregister import entry

from lengthwise.experiments.blind import run as running
from lengthwise.experiments.blind.ladder import Rung
from lengthwise.experiments.blind.study import BlindStudy, write_study
from lengthwise.tasks.language import Language

RUNGS = (
    Rung(layers=1, heads=1, width=8, lr=1e-2, steps=10, batch=4, norm="peri", weight_decay=0.1),
    Rung(layers=1, heads=1, width=16, lr=1e-2, steps=15, batch=4, norm="rms", weight_decay=0.1, log_length=True),
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few words, so that measuring takes no time."""
    for name, value in (("FIT_WORDS", 12), ("PROBE_WORDS", 6), ("SIZE", 6)):
        monkeypatch.setattr(running, name, value)


@pytest.fixture
def study(tmp_path: Path, small: None) -> BlindStudy:
    """(ab)* and b*ab*ab*… in parity classes: one that fits at once is not needed here."""
    names = {"everything": "(a|b)*", "parity": "(b*ab*a)*b*"}
    content = {
        "title": "small",
        "ladder": [rung.to_json() for rung in RUNGS],
        "seeds": [0, 1, 2, 3, 4],
        "encodings": ["nope", "ape"],
        "languages": [
            dict(entry(name, Language(language=text), ["nope", "ape"], expression=text)) for name, text in names.items()
        ],
        "published": [],
    }
    return write_study(tmp_path / "study", content)
