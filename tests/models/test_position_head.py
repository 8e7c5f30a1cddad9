"""Id heads: pointing is the total attention on the tokens that carry an id; classification is cross-entropy."""

from __future__ import annotations

import math

import pytest
import torch

from lengthwise.models.config import ModelConfig
from lengthwise.models.position_head import Classification, Pointer
from lengthwise.positions.schemes import PredictiveCoupling
from oracle import SMALL, norm, rough_model, slow_hidden, some_inputs
from small import Echo

SCHEME = PredictiveCoupling(max_position=20)
POINTER = ModelConfig(**{**vars(SMALL), "id_head": "pointer"})


def attention_by_id(scores: list[float], ids: list[int], visible: int) -> dict[int, float]:
    """The definition: softmax over the tokens so far, added up by the id that they carry."""
    weights = [math.exp(score) for score in scores[:visible]]
    total: dict[int, float] = {}
    for weight, identity in zip(weights, ids, strict=False):
        total[identity] = total.get(identity, 0.0) + weight / sum(weights)
    return total


def test_pointing_adds_up_the_attention_by_id():
    generator = torch.Generator().manual_seed(0)
    ids = torch.tensor([[0, 3, 3, 1, 7, 3], [5, 5, 5, 5, 5, 5]])
    scores = torch.randn(2, 6, 6, generator=generator)
    visible = torch.ones(6, 6).tril().bool()
    pointer = Pointer(scores.masked_fill(~visible, -math.inf), ids)
    for b in range(2):
        for t in range(6):
            share = attention_by_id(scores[b, t].tolist(), ids[b].tolist(), t + 1)
            assert int(pointer.best()[b, t]) == max(share, key=lambda identity: share[identity])
            for identity, value in share.items():
                target = torch.full((2, 6), identity)
                assert pointer.loss(target)[b, t].item() == pytest.approx(-math.log(value), abs=1e-5)


def test_the_whole_head_equals_the_definition():
    """Queries and keys of the model itself, with norm, gain and log-length scaling."""
    model = rough_model(Echo(), SCHEME, "learned", POINTER)
    inputs = some_inputs(Echo(), SCHEME)
    output = model(inputs.input_ids, inputs.position_ids, at=inputs.at)
    hidden = slow_hidden(model, inputs.input_ids, inputs.position_ids)
    state = model.position_head.state_dict()  # type: ignore[union-attr]
    start = inputs.at.start  # type: ignore[union-attr]
    for level in (0, 1):
        gain = next(float(state[name]) for name in state if name.startswith(f"levels.{level}.gain"))
        losses = output.position[level].loss(inputs.target_position_ids[..., level])
        best = output.position[level].best()
        for b in range(3):
            keys = [norm(state[f"levels.{level}.key.weight"] @ x, None) for x in hidden[b]]
            for s in range(inputs.targets.shape[1]):
                t = start + s
                query = norm(state[f"levels.{level}.query.weight"] @ hidden[b, t], None) * gain
                scale = math.log(t + 1) / math.log(POINTER.log_length) / math.sqrt(POINTER.width)  # type: ignore[arg-type]
                scores = [float(query @ key) * scale for key in keys]
                share = attention_by_id(scores, inputs.position_ids[b, :, level].tolist(), t + 1)
                target = int(inputs.target_position_ids[b, s, level])
                assert losses[b, s].item() == pytest.approx(-math.log(share[target]), abs=1e-3)
                ranked = sorted(share, key=lambda identity: -share[identity])
                assert int(best[b, s]) == ranked[0] or share[ranked[0]] - share[ranked[1]] < 1e-5


def test_a_fixed_level_is_always_classified():
    model = rough_model(Echo(), SCHEME, "learned", POINTER)
    inputs = some_inputs(Echo(), SCHEME)
    kinds = [type(level) for level in model(inputs.input_ids, inputs.position_ids).position]
    assert kinds == [Pointer, Pointer, Classification]


def test_a_target_that_nothing_carries_costs_much_and_moves_nothing():
    scores = torch.randn(1, 2, 3, requires_grad=True)
    pointer = Pointer(scores, torch.tensor([[1, 2, 3]]))
    loss = pointer.loss(torch.tensor([[9, 2]]))
    assert 9_000 < loss[0, 0].item() < 10_100
    loss.sum().backward()
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()
    assert scores.grad[0, 0].abs().max() < 1e-6
    assert scores.grad[0, 1].abs().max() > 1e-3


def test_a_token_of_the_future_cannot_be_pointed_at():
    """The right id, but behind the query: its score is -inf, and the loss says so without becoming infinite."""
    scores = torch.tensor([[[0.3, -math.inf]]], requires_grad=True)
    pointer = Pointer(scores, torch.tensor([[1, 2]]))
    loss = pointer.loss(torch.tensor([[2]]))
    assert math.isfinite(loss.item())
    assert loss.item() > 9_000
    loss.sum().backward()
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()
    assert int(pointer.best()) == 1


def test_classification_is_cross_entropy():
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    target = torch.tensor([[0, 4, 2], [1, 1, 3]])
    loss = Classification(logits).loss(target)
    for b in range(2):
        for s in range(3):
            row = logits[b, s].tolist()
            expected = math.log(sum(map(math.exp, row))) - row[int(target[b, s])]
            assert loss[b, s].item() == pytest.approx(expected, abs=1e-5)
    assert torch.equal(Classification(logits).best(), logits.argmax(-1))


@pytest.mark.parametrize(
    "make",
    [lambda scores: Classification(scores), lambda scores: Pointer(scores, torch.arange(50)[None])],
    ids=["classification", "pointer"],
)
def test_losses_are_summed_in_full_precision(make):
    """Under bf16 autocast logits have 8 bits; the logarithm of their sum must not."""
    scores = torch.randn(1, 1, 50, generator=torch.Generator().manual_seed(0)).bfloat16()
    loss = make(scores).loss(torch.tensor([[7]]))
    expected = -torch.log_softmax(scores.double(), dim=-1)[0, 0, 7].item()
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(expected, abs=1e-5)
