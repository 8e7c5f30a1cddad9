"""The frozen study as the package ships it, wherever it is installed: ladder and rules."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from lengthwise.experiments.blind.study import BlindStudy, read_study

FOLDER = Path(str(files("lengthwise"))) / "experiments" / "blind" / "frozen"


def frozen_study() -> BlindStudy:
    """The committed preregistration."""
    return read_study(FOLDER)
