"""Law: the optimized model equals the readable one, gradients too: every encoding, norm, precision, kind of batch."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lengthwise.core.rng import stream
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.models.kernels.model import optimize
from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer, TransformerOutput
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes.predictive_coupling import PredictiveCoupling
from oracle import SMALL, rough_model
from small import ENCODING_NAMES, EXTENSIONS, Echo

SCHEME = PredictiveCoupling(max_position=20)
TASK = Echo()
MODELS = {
    "rms, QK-norm, log length": SMALL,
    "rms": dataclasses.replace(SMALL, qk_norm=False, log_length=None, tied=True),
    "layer, biases": dataclasses.replace(SMALL, norm="layer", bias=True, qk_norm=False),
    "layer, QK-norm, pointing": dataclasses.replace(SMALL, norm="layer", bias=True, id_head="pointer"),
    "peri": dataclasses.replace(SMALL, norm="peri", log_length=None),
    "looped": dataclasses.replace(SMALL, loops=3),
}
LOOPED = ("learned", "rope(window=3)+nope", "cope")
"""Encodings that are tested in loops; the loops do not depend on the encoding."""
RUNS = 3
KINDS = (
    "plain", "scored", "some", "few queries", "visible", "visible, scored",
    "flat", "flat, few queries", "stack", "stack, flat",
)  # fmt: skip


def cases(models: Sequence[str], encodings: Sequence[str], *, whole: Sequence[str] = (), one_in: int = 2) -> list[Any]:
    """Model, encoding and kind of batch: those ``whole`` with every pair of the two, others with one in some."""
    return [
        pytest.param(MODELS[name], encoding, kind, id=f"{kind}-{name}-{encoding}")
        for turn, name in enumerate(models)
        for number, encoding in enumerate(encodings)
        for index, kind in enumerate(KINDS)
        if name in whole or (encoding not in EXTENSIONS and (turn + number + index) % one_in == 1)
        if name != "looped" or encoding in LOOPED
    ]


@functools.cache
def draw_groups(few: bool, rows: int, lengths: tuple[int, ...]) -> list[Inputs]:
    """Groups of sequences of these lengths; with ``few`` only the last position of each sequence is scored."""
    rng, groups = stream(0, "kernels"), []
    for index, length in enumerate(lengths):
        group = Inputs.of(TASK.batch(length, rows * (index + 1), rng), SCHEME, TASK.levels, rng)
        if few:
            last = slice(group.input_ids.shape[1] - 2, group.input_ids.shape[1] - 1)
            group = dataclasses.replace(
                group, at=last, targets=group.targets[:, -1:], target_position_ids=group.target_position_ids[:, -1:]
            )
        groups.append(group)
    return groups


@functools.lru_cache(maxsize=32)
def models_of(config: ModelConfig, encoding: str, runs: int) -> list[Transformer]:
    """Models with large weights, and biases that are not 0."""
    models = [rough_model(TASK, SCHEME, encoding, config, seed) for seed in range(runs)]
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for model in models:
            for name, parameter in model.named_parameters():
                if name.endswith("bias"):
                    parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return models


def numbers(output: TransformerOutput, targets: Tensor) -> list[Tensor]:
    """Logits and the losses of the id heads, with a row per output."""
    losses = [level.loss(targets[..., index]) for index, level in enumerate(output.position)]
    return [output.logits.float().flatten(0, 1), *(loss.flatten()[:, None] for loss in losses)]


def ids_at(inputs: Inputs, at: Tensor | slice | None) -> Tensor:
    """Some ids to be predicted after the tokens ``at``: their own."""
    return inputs.position_ids if at is None else inputs.position_ids[:, at]


def readable_and_optimized(
    config: ModelConfig, encoding: str, kind: str
) -> tuple[list[nn.Module], nn.Module, list[list[Tensor]], list[Tensor]]:
    """The readable models, the optimized one, and what both compute (for the readable: of each run and group)."""
    runs = RUNS if "stack" in kind else 1
    models = models_of(config, encoding, runs)
    fast: nn.Module = TransformerStack(models) if runs > 1 else optimize(models[0])
    flat = "flat" in kind
    groups = draw_groups("few" in kind, 2 * runs, (3, 2, 9) if flat else (9,))
    more = {}
    if "visible" in kind:
        shape = groups[0].input_ids.shape
        more = {"visible": torch.rand(shape, generator=torch.Generator().manual_seed(1)) < 0.6}
    expected, at = [], None
    for run, model in enumerate(models):
        found = []
        for group in groups:
            rows = len(group.input_ids) // runs
            own = slice(run * rows, (run + 1) * rows)
            at = {"plain": None, "visible": None, "some": torch.tensor([4, 0, 2])}.get(kind, group.at)
            output = model(group.input_ids[own], group.position_ids[own], at=at, **more)
            found.append(numbers(output, ids_at(group, at)[own]))
        expected += [[torch.cat(parts) for parts in zip(*found, strict=True)]]
    if flat:
        inputs = Inputs.join(groups, runs)
        output = fast(inputs.input_ids, inputs.position_ids, at=inputs.at, groups=inputs.groups)
        result = numbers(output, ids_at(inputs, inputs.at))
    else:
        output = fast(groups[0].input_ids, groups[0].position_ids, at=at, **more)
        result = numbers(output, ids_at(groups[0], at))
    return list(models), fast, expected, result


def gradients(module: nn.Module, values: Sequence[Tensor], factors: Sequence[Tensor]) -> list[Tensor]:
    """Of the sum of the products of ``values`` and ``factors``, for all parameters."""
    total = sum((value * factor).sum() for value, factor in zip(values, factors, strict=True))
    assert isinstance(total, Tensor)
    return list(torch.autograd.grad(total, list(module.parameters()), allow_unused=True, materialize_grads=True))


def both(config: ModelConfig, encoding: str, kind: str) -> tuple[list[Tensor], list[Tensor]]:
    """Outputs and gradients (where they are continuous) of the readable models, joined, and of the optimized one."""
    models, fast, expected, result = readable_and_optimized(config, encoding, kind)
    joined = [torch.cat(parts) for parts in zip(*expected, strict=True)]
    if not ENCODINGS.build(encoding).smooth:
        return joined, result
    generator = torch.Generator().manual_seed(2)
    factors = [torch.randn(value.shape, generator=generator) for value in joined]
    own = [factor.chunk(len(models)) for factor in factors]
    by_run = [
        gradients(model, values, [factor[run] for factor in own])
        for run, (model, values) in enumerate(zip(models, expected, strict=True))
    ]
    stacked = [torch.stack(parts) if len(models) > 1 else parts[0] for parts in zip(*by_run, strict=True)]
    return [*joined, *stacked], [*result, *gradients(fast, result, factors)]


def error(found: Sequence[Tensor], exact: Sequence[Tensor]) -> float:
    """Mean relative error."""
    pairs = [(a.detach(), b.detach()) for a, b in zip(found, exact, strict=True)]
    return sum(float((a - b).norm() / (b.norm() + 0.1)) for a, b in pairs) / len(pairs)


@pytest.mark.parametrize(("config", "encoding", "kind"), cases([*MODELS], ENCODING_NAMES, whole=[*MODELS][:1]))
def test_float32(config: ModelConfig, encoding: str, kind: str) -> None:
    if "visible" in kind and config.id_head == "pointer":
        config = dataclasses.replace(config, id_head="classification")
    for expected, found in zip(*both(config, encoding, kind), strict=True):
        assert found.shape == expected.shape
        size = float(expected.detach().norm()) / expected.numel() ** 0.5
        assert torch.allclose(found, expected, atol=1e-3 * (1 + size), rtol=1e-3)


@pytest.mark.parametrize(
    ("config", "encoding", "kind"),
    cases(
        ["layer, biases", "rms, QK-norm, log length"],
        [name for name in ENCODING_NAMES if name not in EXTENSIONS],
        one_in=4,
    ),
)
def test_bf16_is_as_close_to_float32(config: ModelConfig, encoding: str, kind: str) -> None:
    exact, _ = both(config, encoding, kind)
    with torch.autocast("cpu", torch.bfloat16):
        readable, optimized = both(config, encoding, kind)
    errors = error(readable, exact), error(optimized, exact)
    assert 1e-4 < errors[0] < 0.5, "autocast changes the result, and not all of it"
    assert errors[1] < 3 * errors[0] + 0.005


@pytest.mark.parametrize("config", MODELS.values(), ids=MODELS)
def test_conversion_is_free_both_ways(config: ModelConfig) -> None:
    (model,) = models_of(config, "fire", 1)
    fast = optimize(model)
    assert list(fast.state_dict()) == list(model.state_dict())
    for one, other in zip(fast.parameters(), model.parameters(), strict=True):
        assert one is other
    stack = TransformerStack([model, model])
    assert [name for name, _ in stack.model.named_parameters()] == [name for name, _ in model.named_parameters()]
    for name, value in stack.unstack(1).state_dict().items():
        assert torch.equal(value, model.state_dict()[name])
