"""Makes comparisons of systems small enough for a test: a few steps on the smallest models."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from lengthwise.experiments.comparison import plan as planning
from lengthwise.experiments.comparison import run as running
from lengthwise.experiments.comparison import stages
from lengthwise.experiments.comparison.plan import ModelSetting, Plan


def make_comparisons_tiny(monkeypatch: pytest.MonkeyPatch, grid: tuple[ModelSetting, ...]) -> None:
    """Let `run_comparison` train models of width 8 with the settings of ``grid`` for five or six steps."""
    monkeypatch.setattr(planning, "FEWEST_STEPS", 5)
    monkeypatch.setattr(planning, "MOST_STEPS", 6)
    monkeypatch.setattr(running, "FEWEST_STEPS", 5)
    monkeypatch.setattr(stages, "TIMED_STEPS", 4)

    def small(*values: Any, **named: Any) -> Plan:
        plan = Plan(*values, **named)
        return dataclasses.replace(plan, grid=grid, width=8, heads=1, batch_size=8, samples=2, fit_samples=4)

    monkeypatch.setattr(running, "Plan", small)
