"""Few words for the measurements of a rung, here and in the processes that train rungs."""

from __future__ import annotations

from typing import Any

import pytest

from lengthwise.experiments import execute
from lengthwise.experiments.blind import run

SIZES = {"FIT_WORDS": 12, "PROBE_WORDS": 6, "SIZE": 6}


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the end of the test."""
    for name, value in SIZES.items():
        monkeypatch.setattr(run, name, value)
    monkeypatch.setattr(execute, "serve", serve)


def serve(*arguments: Any) -> None:
    """What a process runs in place of `execute.serve`, which is the original there."""
    for name, value in SIZES.items():
        setattr(run, name, value)
    execute.serve(*arguments)
