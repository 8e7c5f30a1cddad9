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
from lengthwise.models.kernels import optimize
from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer, TransformerOutput
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import PredictiveCoupling
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
    "plain", "scored", "some", "few queries",
    "flat", "flat, few queries", "stack", "stack, flat",
)  # fmt: skip


def cases(models: Sequence[str], encodings: Sequence[str], *, one_in: int = 0) -> list[Any]:
    """Every encoding with every kind of batch (or one kind in some), the models in turn; in loops, every kind."""
    straight, every = [name for name in models if name != "looped"], one_in or len(models) - ("looped" in models)
    found = []
    for name in models:
        for number, encoding in enumerate(encodings):
            kinds = [
                kind
                for index, kind in enumerate(KINDS)
                if (encoding in LOOPED if name == "looped" else (straight.index(name) + number + index) % every == 0)
            ]
            if kinds:
                found.append(pytest.param(MODELS[name], encoding, kinds, id=f"{name}-{encoding}"))
    return found


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


@functools.lru_cache(maxsize=2 * RUNS)
def model_of(config: ModelConfig, encoding: str, seed: int) -> Transformer:
    """A model with large weights, and biases that are not 0."""
    model = rough_model(TASK, SCHEME, encoding, config, seed)
    generator = torch.Generator().manual_seed(7 + seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model


@functools.lru_cache(maxsize=8)
def optimized(config: ModelConfig, encoding: str, runs: int) -> nn.Module:
    """The optimized form of the first models; all kinds of batches go through the same one."""
    models = [model_of(config, encoding, seed) for seed in range(runs)]
    return TransformerStack(models).model if runs > 1 else optimize(models[0])


def numbers(output: TransformerOutput, targets: Tensor) -> list[Tensor]:
    """Logits and the losses of the id heads, with a row per output."""
    losses = [level.loss(targets[..., index]) for index, level in enumerate(output.position)]
    return [output.logits.float().flatten(0, 1), *(loss.flatten()[:, None] for loss in losses)]


def ids_at(inputs: Inputs, at: Tensor | slice | None) -> Tensor:
    """Some ids to be predicted after the tokens ``at``: their own."""
    return inputs.position_ids if at is None else inputs.position_ids[:, at]


@dataclasses.dataclass
class Case:
    """A model, an encoding and a kind of batch, with the batch's groups and what a model is asked for."""

    config: ModelConfig
    encoding: str
    kind: str

    def __post_init__(self) -> None:
        self.flat, self.runs = "flat" in self.kind, RUNS if "stack" in self.kind else 1
        self.groups = draw_groups("few" in self.kind, 2 * self.runs, (3, 2, 9) if self.flat else (9,))

    def at(self, group: Inputs) -> Tensor | slice | None:
        """The positions whose outputs are asked for."""
        return {"plain": None, "some": torch.tensor([4, 0, 2])}.get(self.kind, group.at)

    def by_readable(self) -> list[Tensor]:
        """Outputs and gradients (where they are continuous) of the readable models, joined."""
        models = [model_of(self.config, self.encoding, seed) for seed in range(self.runs)]
        values = [self._of_one(run, model) for run, model in enumerate(models)]
        joined = [torch.cat(parts) for parts in zip(*values, strict=True)]
        if not ENCODINGS.build(self.encoding).smooth:
            return joined
        own = [factor.chunk(self.runs) for factor in factors_of(joined)]
        by_run = [gradients(model, values[run], [factor[run] for factor in own]) for run, model in enumerate(models)]
        stacked = [torch.stack(parts) if self.runs > 1 else parts[0] for parts in zip(*by_run, strict=True)]
        return [*joined, *stacked]

    def _of_one(self, run: int, model: Transformer) -> list[Tensor]:
        """What one readable model computes for its own rows, of all groups."""
        found = []
        for group in self.groups:
            rows = len(group.input_ids) // self.runs
            own, at = slice(run * rows, (run + 1) * rows), self.at(group)
            output = model(group.input_ids[own], group.position_ids[own], at=at)
            found.append(numbers(output, ids_at(group, at)[own]))
        return [torch.cat(parts) for parts in zip(*found, strict=True)]

    def by_optimized(self) -> list[Tensor]:
        """The same by the optimized model."""
        fast = optimized(self.config, self.encoding, self.runs)
        if self.flat:
            inputs = Inputs.join(self.groups, self.runs)
            at = inputs.at
            output = fast(inputs.input_ids, inputs.position_ids, at=at, groups=inputs.groups)
        else:
            inputs = self.groups[0]
            at = self.at(inputs)
            output = fast(inputs.input_ids, inputs.position_ids, at=at)
        result = numbers(output, ids_at(inputs, at))
        if not ENCODINGS.build(self.encoding).smooth:
            return result
        return [*result, *gradients(fast, result, factors_of(result))]


def factors_of(values: Sequence[Tensor]) -> list[Tensor]:
    """Random factors of the values, the same for the same shapes."""
    generator = torch.Generator().manual_seed(2)
    return [torch.randn(value.shape, generator=generator) for value in values]


def gradients(module: nn.Module, values: Sequence[Tensor], factors: Sequence[Tensor]) -> list[Tensor]:
    """Of the sum of the products of ``values`` and ``factors``, for all parameters."""
    total = sum((value * factor).sum() for value, factor in zip(values, factors, strict=True))
    assert isinstance(total, Tensor)
    return list(torch.autograd.grad(total, list(module.parameters()), allow_unused=True, materialize_grads=True))


def error(found: Sequence[Tensor], exact: Sequence[Tensor]) -> float:
    """Mean relative error."""
    pairs = [(a.detach(), b.detach()) for a, b in zip(found, exact, strict=True)]
    return sum(float((a - b).norm() / (b.norm() + 0.1)) for a, b in pairs) / len(pairs)


@pytest.mark.parametrize(("config", "encoding", "kinds"), cases([*MODELS], ENCODING_NAMES))
def test_float32(config: ModelConfig, encoding: str, kinds: list[str]) -> None:
    for kind in kinds:
        case = Case(config, encoding, kind)
        for expected, found in zip(case.by_readable(), case.by_optimized(), strict=True):
            assert found.shape == expected.shape, kind
            size = float(expected.detach().norm()) / expected.numel() ** 0.5
            assert torch.allclose(found, expected, atol=1e-3 * (1 + size), rtol=1e-3), kind


@pytest.mark.parametrize(
    ("config", "encoding", "kinds"),
    cases(
        ["layer, biases", "rms, QK-norm, log length"],
        [name for name in ENCODING_NAMES if name not in EXTENSIONS],
        one_in=4,
    ),
)
def test_bf16_is_as_close_to_float32(config: ModelConfig, encoding: str, kinds: list[str]) -> None:
    for kind in kinds:
        case = Case(config, encoding, kind)
        exact = case.by_readable()
        with torch.autocast("cpu", torch.bfloat16):
            errors = error(case.by_readable(), exact), error(case.by_optimized(), exact)
        assert 1e-4 < errors[0] < 0.5, f"{kind}: autocast changes the result, and not all of it"
        assert errors[1] < 3 * errors[0] + 0.005, kind


@pytest.mark.parametrize("config", MODELS.values(), ids=MODELS)
def test_conversion_is_free_both_ways(config: ModelConfig) -> None:
    model = model_of(config, "fire", 0)
    fast = optimize(model)
    assert list(fast.state_dict()) == list(model.state_dict())
    for one, other in zip(fast.parameters(), model.parameters(), strict=True):
        assert one is other
    stack = TransformerStack([model, model])
    assert [name for name, _ in stack.model.named_parameters()] == [name for name, _ in model.named_parameters()]
    for name, value in stack.unstack(1).state_dict().items():
        assert torch.equal(value, model.state_dict()[name])
