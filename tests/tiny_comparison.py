"""Makes comparisons of systems small enough for a test: a few steps on the smallest models."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from lengthwise.experiments import compare
from lengthwise.experiments.compare import ModelSetting, Plan


def make_comparisons_tiny(monkeypatch: pytest.MonkeyPatch, grid: tuple[ModelSetting, ...]) -> None:
    """Let `run_comparison` train models of width 8 with the settings of ``grid`` for five or six steps."""
    monkeypatch.setattr(compare, "FEWEST_STEPS", 5)
    monkeypatch.setattr(compare, "MOST_STEPS", 6)
    monkeypatch.setattr(compare, "TIMED_STEPS", 4)

    made = compare.wanted_plan

    def small(*values: Any, **named: Any) -> Plan:
        plan = made(*values, **named)
        return dataclasses.replace(plan, grid=grid, width=8, heads=1, batch_size=8, samples=2, fit_samples=4)

    monkeypatch.setattr(compare, "wanted_plan", small)
