"""Captured training steps equal eager ones to rounding; without a GPU they are refused in one line."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from graphed_steps import GraphedTrainer

from lengthwise.core.errors import LengthwiseError
from lengthwise.forecast.probe import SETTINGS, STRIDE, ProbeCell, Together
from lengthwise.tasks.language import Language
from lengthwise.training.trainer import Trainer

TEXTS = ("(a|b)*b", "(ab|b)*")
RUNS = [place * STRIDE + seed for place in range(len(TEXTS)) for seed in (0, 1)]


def parts(encoding: str, steps: int) -> tuple:
    cells = [ProbeCell(Language(language=text), encoding, 20) for text in TEXTS]
    rung = dataclasses.replace(SETTINGS.ladder[0], steps=steps)
    return Together(tuple(cell.setup(rung) for cell in cells)), cells[0].training(rung, steps), RUNS


def test_without_a_gpu_it_is_refused() -> None:
    with pytest.raises(LengthwiseError, match="need a GPU"):
        GraphedTrainer(*parts("nope", 5))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("encoding", ["nope", "ape", "rope", "alibi"])
def test_captured_steps_equal_eager_ones(encoding: str) -> None:
    eager = Trainer(*parts(encoding, 60), device="cuda")
    graphed = GraphedTrainer(*parts(encoding, 60), device="cuda")
    for step in range(30):
        ours, theirs = graphed.step(step), eager.step(step)
        assert torch.allclose(ours, theirs, rtol=2e-3, atol=2e-4), f"losses differ at step {step}"
    for one, other in zip(graphed.stack.parameters(), eager.stack.parameters(), strict=True):
        assert (one - other).abs().max() < 2e-2
