"""The frozen study as the package ships it, wherever it is installed: ladder, rules and measured reliability."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from lengthwise.core.files import read_json
from lengthwise.experiments.blind.study import BlindStudy, read_study

FOLDER = Path(str(files("lengthwise"))) / "experiments" / "blind" / "frozen"
RELIABILITY = "reliability.json"


def frozen_study() -> BlindStudy:
    """The committed preregistration."""
    return read_study(FOLDER)


def measured_reliability() -> dict[str, Any]:
    """By encoding and verdict: cells of the study, decided ones, and those that came out as predicted.

    ``reliability`` is that of the first study; ``next_symbols`` that of the second one, whose verdicts are on next
    symbols.
    """
    return dict(read_json(FOLDER / RELIABILITY, what="measured reliability"))
