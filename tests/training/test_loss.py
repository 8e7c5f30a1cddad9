"""The loss against numbers worked out by hand: the only shift by one, sums over scored positions, ids beside tokens."""

from __future__ import annotations

import math

import pytest
import torch

from lengthwise.models.inputs import Inputs
from lengthwise.models.position_head import Classification
from lengthwise.models.transformer import TransformerOutput
from lengthwise.positions.schemes import PredictiveCoupling
from lengthwise.training.trainer import FIRST_SCORED_ID, run_losses
from oracle import rough_model, slow_logits, some_inputs
from small import Echo


def inputs(targets: list[list[int]], ids: list[list[list[int]]], allowed: torch.Tensor | None = None) -> Inputs:
    """Only what the loss reads."""
    tokens = torch.tensor(targets)
    return Inputs(
        input_ids=tokens,
        position_ids=torch.tensor(ids),
        at=slice(0, tokens.shape[1]),
        targets=tokens,
        target_position_ids=torch.tensor(ids),
        allowed=allowed,
    )


def test_tokens_and_ids_by_hand():
    """Logits ln 1, ln 2, ln 3, ln 4: the probability of token t is (t + 1)/10."""
    logits = torch.tensor([1.0, 2.0, 3.0, 4.0]).log().expand(1, 3, 4)
    output = TransformerOutput(logits, (Classification(logits), Classification(torch.zeros(1, 3, 2))))
    loss = run_losses(output, inputs([[3, 0, 1]], [[[0, 0], [2, 1], [3, 0]]]), 1)
    assert loss.token.item() == pytest.approx(-math.log(0.4 * 0.1 * 0.2), abs=1e-5)
    assert loss.position.item() == pytest.approx(-math.log(0.1 * 0.3 * 0.4 * 0.5**3), abs=1e-5)


def test_sets_of_next_symbols_are_judged_symbol_by_symbol():
    """Pad, bos and sep take no part."""
    logits = torch.tensor([[[50.0, 50.0, 50.0, 0.0, math.log(3)]]])
    allowed = torch.tensor([[[False, False, False, True, False]]])
    loss = run_losses(TransformerOutput(logits), inputs([[3]], [[[0]]], allowed), 1)
    assert FIRST_SCORED_ID == 3
    assert loss.token.item() == pytest.approx(-math.log(0.5 * 0.25), abs=1e-5)


def test_the_output_before_a_token_is_held_against_it():
    """From a whole batch: the token and the ids at t are the targets of the output at t − 1."""
    scheme = PredictiveCoupling(max_position=20)
    model = rough_model(Echo(), scheme, "learned")
    batch = some_inputs(Echo(), scheme, length=3, size=2)
    loss = run_losses(model(batch.input_ids, batch.position_ids, at=batch.at), batch, 1)
    logits = slow_logits(model, batch.input_ids, batch.position_ids)
    everywhere = model(batch.input_ids, batch.position_ids).position
    token = position = 0.0
    length = batch.input_ids.shape[1]
    for b in range(2):
        for t in range(length - 6, length):  # 3 of the trace, 2 of the answer, the end
            token -= float(torch.log_softmax(logits[b, t - 1], -1)[batch.input_ids[b, t]])
            for level, prediction in enumerate(everywhere):
                right = batch.position_ids[b, t, level]
                position -= float(torch.log_softmax(prediction.logits[b, t - 1].detach(), -1)[right])  # type: ignore[attr-defined]
    assert batch.scored == 12
    assert loss.token.item() == pytest.approx(token, rel=1e-4)
    assert loss.position.item() == pytest.approx(position, rel=1e-4)
