"""Our transformer as a language model: compact and explicit masks, gradients, attention, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lengthwise.core.errors import LengthwiseError
from lengthwise.influence.models import LanguageModel, OwnModel, nats
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import PredictiveCoupling, Sequential
from made_up_models import masked_losses
from oracle import SMALL, rough_model
from small import Echo

CONTEXT = 12


def some_model(encoding: str = "rope", **changes) -> OwnModel:
    config = ModelConfig(**{**vars(SMALL), **changes})
    return OwnModel("ours", rough_model("addition", Sequential(max_position=20), encoding, config), 21)


def some_tokens(model: OwnModel, rows: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    visible = rng.random((rows, CONTEXT)) < 0.5
    visible[:, -1] = True
    visible[0, 0] = False
    return rng.integers(model.vocab_size, size=(rows, CONTEXT)), visible, rng.integers(model.vocab_size, size=rows)


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
@pytest.mark.parametrize("changes", [{}, {"layers": 3, "log_length": None}, {"layers": 1, "tied": True}], ids=str)
def test_compact_losses_equal_the_explicit_mask(encoding: str, changes: dict):
    if encoding == "layers":
        # Its default pattern names two layers.
        changes = {**changes, "layers": max(changes.get("layers", 2), 2)}
    model = some_model(encoding, **changes)
    assert isinstance(model, LanguageModel)
    tokens, visible, targets = some_tokens(model)
    masked = masked_losses(model, tokens, visible, targets)
    for row, seen, target, expected in zip(tokens, visible, targets, masked, strict=True):
        positions = np.flatnonzero(seen)[None]
        found = model.target_losses(row[positions], positions, np.array([target]))
        assert found[0] == pytest.approx(expected, abs=1e-5, rel=1e-5)


def test_a_loss_is_minus_the_logarithm_of_a_probability():
    model = some_model()
    tokens, _, targets = some_tokens(model)
    positions = np.tile(np.arange(CONTEXT), (len(tokens), 1))
    with torch.no_grad():
        logits = model.transformer(torch.from_numpy(tokens), torch.from_numpy(positions)[:, :, None]).logits[:, -1]
    p = torch.softmax(logits.double(), dim=-1)[np.arange(len(targets)), targets]
    assert np.exp(-model.target_losses(tokens, positions, targets)) == pytest.approx(p.numpy(), rel=1e-5)
    everything = np.ones_like(tokens, dtype=bool)
    assert np.exp(-masked_losses(model, tokens, everything, targets)) == pytest.approx(p.numpy(), rel=1e-4)


@pytest.mark.parametrize("encoding", ["rope", "learned", "alibi"])
def test_gradient_input_is_the_derivative_along_each_vector(encoding: str):
    model = some_model(encoding)
    model.transformer.double()
    tokens, _, targets = some_tokens(model, rows=2)
    positions = np.tile(np.arange(CONTEXT), (2, 1))
    found = model.gradient_input(tokens, positions, targets)
    step = 1e-6
    for at in range(CONTEXT):

        def shrink(module, inputs, output, at=at):
            del module, inputs
            scaled = output.clone()
            scaled[:, at] *= 1 - step
            return scaled

        handle = model.transformer.table.register_forward_hook(shrink)
        less = model.target_losses(tokens, positions, targets)
        handle.remove()
        slope = (less - model.target_losses(tokens, positions, targets)) / step
        assert found[:, at] == pytest.approx(slope, abs=1e-3, rel=1e-3)
    assert all(parameter.grad is None for parameter in model.transformer.parameters())


def test_attention_is_the_mean_over_layers_and_heads():
    model = some_model(layers=3)
    tokens, _, _ = some_tokens(model)
    positions = np.tile(np.arange(CONTEXT), (len(tokens), 1))
    found = model.attention(tokens, positions)
    ids = torch.from_numpy(positions)[:, :, None]
    with torch.no_grad():
        layers = model.transformer.attention(torch.from_numpy(tokens), ids, slice(CONTEXT - 1, CONTEXT))
    expected = sum(layers[i, :, h, 0] for i in range(3) for h in range(2)) / 6
    assert found == pytest.approx(expected.numpy(), abs=1e-6)
    assert found.sum(axis=1) == pytest.approx([1] * 4, abs=1e-5)


def test_models_that_do_not_take_plain_position_ids_are_refused():
    for scheme, encoding in ((PredictiveCoupling(max_position=20), "learned"), ("coupled", "rope")):
        with pytest.raises(LengthwiseError, match="does not take plain position ids"):
            OwnModel("echo", rough_model(Echo(), scheme, encoding), None)


def test_nats_of_logits_far_apart_and_of_damaged_ones():
    generator = torch.Generator().manual_seed(0)
    logits = 100 * torch.randn(6, 50, generator=generator)
    targets = np.arange(6)
    expected = -logits.double().log_softmax(-1)[torch.arange(6), torch.arange(6)].numpy()
    assert (expected > 90).any()
    np.testing.assert_allclose(nats(logits, targets), expected, rtol=1e-6, atol=1e-6)
    logits[2, 7] = torch.nan
    assert np.isnan(nats(logits, targets)).tolist() == [False, False, True, False, False, False]
