"""A flat batch of several lengths gives what its groups give one by one, in every kind of model; bf16 attention."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor

from lengthwise.core.rng import stream
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.models.kernels import FlatTransformer, attention, optimize
from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer
from lengthwise.positions.schemes import Coupled, PositionScheme, PredictiveCoupling
from lengthwise.tasks import TASKS, Task
from lengthwise.training.trainer import Loss, run_losses
from oracle import SMALL, attention_reference, rough_model
from small import ENCODING_NAMES, Echo

COUPLED = Coupled(max_position=20)
PREDICTED = PredictiveCoupling(max_position=20)
POINTING = dataclasses.replace(SMALL, id_head="pointer")


def groups_of(
    task: Task | str, scheme: PositionScheme, runs: int = 1, lengths: tuple[int, ...] = (3, 2, 5)
) -> list[Inputs]:
    """Groups of different lengths and numbers of rows."""
    task, rng = TASKS.build(task), stream(0, "ragged")
    return [
        Inputs.of(task.batch(length, runs * (index + 2), rng), scheme, task.levels, rng)
        for index, length in enumerate(lengths)
    ]


def total(model: Transformer, groups: list[Inputs], runs: int, joined: bool) -> tuple[Tensor, ...]:
    """Token and id losses of the runs, and the gradients of their sum."""

    fast = model if isinstance(model, FlatTransformer) else optimize(model)

    def loss(inputs: Inputs) -> Loss:
        if inputs.groups is None:
            output = model(inputs.input_ids, inputs.position_ids, at=inputs.at)
        else:
            output = fast(inputs.input_ids, inputs.position_ids, at=inputs.at, groups=inputs.groups)
        return run_losses(output, inputs, runs)

    found = [loss(Inputs.join(groups, runs))] if joined else [loss(group) for group in groups]
    token, position = sum(one.token for one in found), sum(one.position for one in found)
    assert isinstance(token, Tensor)
    assert isinstance(position, Tensor)
    gradients = torch.autograd.grad(token.sum() + position.sum(), list(model.parameters()), allow_unused=True)
    return token, position, *(g for g in gradients if g is not None)


def assert_same(model: Transformer, groups: list[Inputs], runs: int = 1) -> None:
    """Joined and one by one."""
    for one, other in zip(total(model, groups, runs, True), total(model, groups, runs, False), strict=True):
        assert torch.allclose(one, other, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("encoding", ENCODING_NAMES)
def test_every_encoding(encoding: str) -> None:
    assert_same(rough_model(Echo(), COUPLED, encoding), groups_of(Echo(), COUPLED))


@pytest.mark.parametrize("config", [SMALL, POINTING], ids=["classified", "pointed"])
def test_predicted_ids(config: ModelConfig) -> None:
    model = rough_model(Echo(), PREDICTED, "rope", config)
    assert total(model, groups_of(Echo(), PREDICTED), 1, True)[1].item() > 0
    assert_same(model, groups_of(Echo(), PREDICTED))


def test_norms_on_both_sides() -> None:
    peri = dataclasses.replace(SMALL, norm="peri")
    assert_same(rough_model(Echo(), COUPLED, "learned", peri), groups_of(Echo(), COUPLED))


def test_pointed_ids_are_the_same() -> None:
    groups = groups_of(Echo(), PREDICTED)
    model = rough_model(Echo(), PREDICTED, "rope", POINTING)
    inputs = Inputs.join(groups)
    fast = optimize(model)
    joined = fast(inputs.input_ids, inputs.position_ids, at=inputs.at, groups=inputs.groups).position
    alone = [model(group.input_ids, group.position_ids, at=group.at).position for group in groups]
    for level, prediction in enumerate(joined):
        expected = torch.cat([one[level].best().flatten() for one in alone])
        assert torch.equal(prediction.best().flatten(), expected)


def test_sets_of_next_symbols() -> None:
    task = TASKS.build("language", language="Dyck-1")
    groups = groups_of(task, COUPLED, lengths=(4, 2, 6))
    assert groups[0].allowed is not None
    assert_same(rough_model(task, COUPLED, "learned"), groups)


@pytest.mark.parametrize("encoding", ["fire", "t5", "rope"])
@pytest.mark.parametrize("config", [SMALL, POINTING], ids=["classified", "pointed"])
def test_a_stack(encoding: str, config: ModelConfig) -> None:
    models = [rough_model(Echo(), PREDICTED, encoding, config, seed) for seed in range(3)]
    assert_same(TransformerStack(models).model, groups_of(Echo(), PREDICTED, runs=3), runs=3)


def test_scored_positions_that_are_not_contiguous() -> None:
    groups = [
        dataclasses.replace(
            group,
            at=torch.tensor([1, 4]),
            targets=group.input_ids[:, [2, 5]],
            target_position_ids=group.position_ids[:, [2, 5]],
        )
        for group in groups_of(Echo(), COUPLED)
    ]
    assert_same(rough_model(Echo(), COUPLED, "alibi"), groups)


def test_no_sequence_sees_another() -> None:
    groups = groups_of(Echo(), COUPLED)
    model = rough_model(Echo(), COUPLED, "fire")
    before = Inputs.join(groups)
    changed = [groups[0], dataclasses.replace(groups[1], input_ids=groups[1].input_ids.flip(1)), groups[2]]
    after = Inputs.join(changed)
    one, other = (
        optimize(model)(inputs.input_ids, inputs.position_ids, at=inputs.at, groups=inputs.groups).logits[0]
        for inputs in (before, after)
    )
    sizes = [group.scored for group in groups]
    same = [torch.equal(a, b) for a, b in zip(one.split(sizes), other.split(sizes), strict=True)]
    assert same == [True, False, True]


@pytest.mark.parametrize("kind", ["causal", "bias", "few queries"])
def test_bf16_attention_in_training_equals_the_reference(kind: str) -> None:
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(3, 2, 9, 8, generator=generator).bfloat16().requires_grad_() for _ in range(3))
    bias = torch.randn(3, 2, 9, 9, generator=generator) if kind == "bias" else None
    mask = torch.full((9, 9), -torch.inf).triu(1)
    with torch.autocast("cpu", torch.bfloat16):
        if kind == "few queries":
            found = attention(q[:, :, -2:], k, v, mask[-2:], 0.0)
        else:
            found = attention(q, k, v, None if bias is None else bias + mask, 0.0)
    exact = (a, b, c) = tuple(x.detach().float().requires_grad_() for x in (q, k, v))
    expected = attention_reference(a, b, c, bias)[:, :, -found.shape[2] :]
    assert torch.allclose(found.float(), expected, atol=0.03, rtol=0.03)
    weight = torch.randn(found.shape, generator=generator)
    fast = torch.autograd.grad((found.float() * weight).sum(), (q, k, v))
    slow = torch.autograd.grad((expected * weight).sum(), exact)
    for one, other in zip(fast, slow, strict=True):
        assert torch.allclose(one.float(), other, atol=0.06, rtol=0.06)


def test_a_norm_without_a_weight_stays_as_it_is_and_a_view_is_the_plain_model() -> None:
    model = rough_model("addition", COUPLED, "kerple")
    model.blocks[0].added1 = torch.nn.RMSNorm(SMALL.width, elementwise_affine=False)
    (inputs,) = groups_of("addition", COUPLED, lengths=(4,))
    expected = model(inputs.input_ids, inputs.position_ids).logits
    stack = TransformerStack([model, model])
    both = (x.repeat(2, *[1] * (x.ndim - 1)) for x in (inputs.input_ids, inputs.position_ids))
    assert torch.allclose(stack.model(*both).logits, expected.repeat(2, 1, 1), atol=1e-4, rtol=1e-4)
    plain = stack.view(1)
    assert [type(each) for each in plain.modules()] == [type(each) for each in model.modules()]
    assert torch.equal(plain(inputs.input_ids, inputs.position_ids).logits, expected)
