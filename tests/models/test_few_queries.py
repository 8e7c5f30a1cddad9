"""With few queries, averaging the tokens' vectors gives what keys and values of all tokens give."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor

from lengthwise.core.rng import stream
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.models.kernels import FlatAttention, FlatTransformer, optimize
from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer
from lengthwise.positions.schemes import Coupled
from lengthwise.tasks import TASKS
from lengthwise.training.trainer import run_losses
from oracle import SMALL, rough_model
from small import ENCODING_NAMES

WIDE = dataclasses.replace(SMALL, heads=2, width=32)
VARIANTS = {
    "qk-norm": WIDE,
    "plain": dataclasses.replace(WIDE, qk_norm=False, bias=False, norm="rms"),
    "norms on both sides": dataclasses.replace(WIDE, qk_norm=True, norm="peri"),
    "biases": dataclasses.replace(WIDE, qk_norm=False, bias=True, norm="layer"),
    "qk-norm, biases": dataclasses.replace(WIDE, qk_norm=True, bias=True, norm="layer"),
    "log length": dataclasses.replace(WIDE, qk_norm=False, bias=True, log_length=8),
    "one head": dataclasses.replace(WIDE, heads=1, qk_norm=False, bias=True, log_length=8),
}
SCHEME = Coupled(max_position=40)
TASK = TASKS.build("majority")


def few(monkeypatch: pytest.MonkeyPatch, answer: bool) -> None:
    monkeypatch.setattr(
        FlatAttention, "has_few_queries", lambda self, context: answer and context.query_index is not None
    )


def biased_model(config: ModelConfig, encoding: str = "learned", seed: int = 0) -> Transformer:
    """A rough model whose biases aren't 0 either."""
    model = rough_model(TASK, SCHEME, encoding, config, seed)
    generator = torch.Generator().manual_seed(seed + 100)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model


def found(model: Transformer, joined: bool, runs: int = 1) -> list[Tensor]:
    """Logits and gradients."""
    model = model if isinstance(model, FlatTransformer) else optimize(model)
    rng = stream(0, "few queries")
    groups = [
        Inputs.of(TASK.batch(length, runs * rows, rng), SCHEME, TASK.levels, rng) for length, rows in ((5, 3), (9, 2))
    ]
    result, total = [], torch.zeros(())
    for inputs in [Inputs.join(groups, runs)] if joined else groups:
        output = model(inputs.input_ids, inputs.position_ids, at=inputs.at, groups=inputs.groups)
        result.append(output.logits.float())
        total = total + run_losses(output, inputs, runs).token.sum()
    gradients = torch.autograd.grad(total, list(model.parameters()), allow_unused=True, materialize_grads=True)
    return [*result, *gradients]


def assert_same(monkeypatch: pytest.MonkeyPatch, model: Transformer, joined: bool, runs: int = 1) -> None:
    few(monkeypatch, False)
    expected = found(model, joined, runs)
    few(monkeypatch, True)
    for one, other in zip(found(model, joined, runs), expected, strict=True):
        assert torch.allclose(one, other, atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("joined", [True, False])
def test_every_part(monkeypatch: pytest.MonkeyPatch, config: ModelConfig, joined: bool) -> None:
    assert_same(monkeypatch, biased_model(config), joined)


@pytest.mark.parametrize("encoding", ENCODING_NAMES)
def test_every_encoding(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    assert_same(monkeypatch, biased_model(VARIANTS["biases"], encoding), True)


@pytest.mark.parametrize("name", ["qk-norm, biases", "log length"])
def test_a_stack(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    models = [biased_model(VARIANTS[name], seed=seed) for seed in range(3)]
    assert_same(monkeypatch, TransformerStack(models).model, True, runs=3)


def test_bf16_is_as_close_as_without(monkeypatch: pytest.MonkeyPatch) -> None:
    model = biased_model(VARIANTS["biases"])
    few(monkeypatch, False)
    exact = found(model, True)
    errors = []
    for answer in (False, True):
        few(monkeypatch, answer)
        with torch.autocast("cpu", torch.bfloat16):
            result = found(model, True)
        pairs = list(zip(result, exact, strict=True))
        errors.append(sum(((one - other).norm() / (other.norm() + 0.1)).item() for one, other in pairs) / len(pairs))
    assert 0 < errors[1] < 1.5 * errors[0]


def test_chosen_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    plain = FlatAttention.attend_unprojected
    monkeypatch.setattr(FlatAttention, "attend_unprojected", lambda self, *rest: taken.append(1) or plain(self, *rest))
    wide = dataclasses.replace(VARIANTS["plain"], heads=2, width=64)
    model = optimize(biased_model(wide))
    ids = torch.ones(1, 30, dtype=torch.long)
    places = torch.arange(30)[None, :, None]
    model(ids, places, at=slice(28, 30))
    assert len(taken) == 1
    model(ids, places, at=slice(0, 30))
    model(ids, places)
    assert len(taken) == 1
