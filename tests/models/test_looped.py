"""Looped layers: against the unrolled model, with a cache, with more loops than in training, and when they stop."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from lengthwise.core.errors import LengthwiseError
from lengthwise.models.attention_state import Cache
from lengthwise.models.config import Loops, ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.models.kernels import optimize
from lengthwise.models.looped import adaptive_loops, with_loops
from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import Sequential
from lengthwise.tasks import TASKS
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup
from lengthwise.training.trainer import Trainer, progressive_loops, random_loops, run_losses, step_loss
from oracle import SMALL, rough_model, slow_logits, some_inputs

SCHEME = Sequential(max_position=40)
LOOPED = dataclasses.replace(SMALL, loops=3)


def model_and_inputs(
    config: ModelConfig = LOOPED, encoding: str = "rope", length: int = 4
) -> tuple[Transformer, torch.Tensor, torch.Tensor]:
    inputs = some_inputs("copy", SCHEME, length=length)
    return rough_model("copy", SCHEME, encoding, config), inputs.input_ids, inputs.position_ids


@pytest.mark.parametrize("encoding", ["learned", "rope(window=3)+nope", "cope"])
def test_loops_equal_the_slow_model(encoding: str) -> None:
    model, tokens, ids = model_and_inputs(encoding=encoding)
    slow, whole = slow_logits(model, tokens, ids), model(tokens, ids).logits
    assert torch.allclose(whole, slow, atol=1e-4, rtol=1e-4)
    some = torch.tensor([1, 4])
    assert torch.allclose(model(tokens, ids, at=some).logits, slow[:, some], atol=1e-4, rtol=1e-4)
    cache = Cache(capacity=tokens.shape[1])
    parts = [model(tokens[:, t : t + 2], ids[:, t : t + 2], cache=cache) for t in range(0, tokens.shape[1], 2)]
    assert torch.allclose(torch.cat([part.logits for part in parts], dim=1), whole, atol=1e-4)
    assert len(model.attention(tokens, ids, slice(None))) == 6


@pytest.mark.parametrize("encoding", ["local-bias", "cope"])
def test_loops_grow_with_the_tokens(encoding: str) -> None:
    model, tokens, ids = model_and_inputs(dataclasses.replace(SMALL, loops="tokens"), encoding, 2)
    length, some = tokens.shape[1], torch.tensor([1, 4])
    whole = model(tokens, ids).logits
    assert torch.allclose(whole, slow_logits(model, tokens, ids), atol=1e-4, rtol=1e-4)
    assert torch.allclose(whole, with_loops(model, length)(tokens, ids).logits)
    assert torch.allclose(model(tokens, ids, at=some).logits, whole[:, some], atol=1e-5)
    assert len(model.attention(tokens, ids, slice(None))) == length * SMALL.layers
    fast = TransformerStack([model]).model
    assert torch.allclose(fast(tokens, ids, at=some).logits, whole[:, some], atol=1e-4, rtol=1e-4)
    with pytest.raises(LengthwiseError, match="grows with the tokens can't use a cache; pass whole sequences"):
        model(tokens, ids, cache=Cache(capacity=length))


def test_loops_by_tokens_need_steps_of_one_length() -> None:
    setup = TaskSetup(TASKS.build("copy"), SCHEME, ENCODINGS.build("nope"), dataclasses.replace(SMALL, loops="tokens"))
    config = TrainingConfig(max_length=3, steps=1, warmup=0, batch_size=8)
    with pytest.raises(LengthwiseError, match="one group of lengths in a step, got 4"):
        Trainer(setup, config, [0]).run()
    (state,) = Trainer(setup, dataclasses.replace(config, groups=1), [0]).run()
    assert state.progress.done


def test_parameters_do_not_grow_with_loops() -> None:
    looped, _, _ = model_and_inputs()
    assert looped.parameter_count == model_and_inputs(SMALL)[0].parameter_count
    with pytest.raises(ValueError, match=r"loops.*\n.*greater than or equal to 1"):
        ModelConfig(loops=0)


def test_another_number_of_loops_shares_the_parameters() -> None:
    model, tokens, ids = model_and_inputs()
    other = with_loops(model, 5)
    assert (model.config.loops, other.config.loops) == (3, 5)
    assert [id(p) for p in other.parameters()] == [id(p) for p in model.parameters()]
    assert not torch.allclose(other(tokens, ids).logits, model(tokens, ids).logits, atol=1e-3)
    with pytest.raises(LengthwiseError, match="loops must be at least 1, got 0"):
        with_loops(model, 0)


def gradients(logits: torch.Tensor, model: torch.nn.Module) -> list[torch.Tensor]:
    factor = torch.randn(logits.shape, generator=torch.Generator().manual_seed(3))
    found = torch.autograd.grad((logits * factor).sum(), list(model.parameters()), materialize_grads=True)
    return [each.reshape(own.shape) for each, own in zip(found, model.parameters(), strict=True)]


@pytest.mark.parametrize("loops", [Loops(0, 3), Loops(1, 1), Loops(2, 3)], ids=str)
def test_no_gradient_flows_through_free_loops(loops: Loops) -> None:
    model, tokens, ids = model_and_inputs()
    found = model(tokens, ids, loops=loops).logits
    assert torch.equal(found, with_loops(model, sum(loops))(tokens, ids).logits)

    # The same by hand: the state after the free loops is a constant, and the embedded input is not.
    start, contexts = model.embed(tokens, ids), model.contexts(ids)
    x = start
    for loop in range(sum(loops)):
        x = (x.detach() if loop == loops.free > 0 else x) + (start if loop else 0)
        for layer, block in enumerate(model.blocks):
            x = block(x, contexts[layer], None, 0)
    by_hand = gradients(model.logits(model.norm(x)), model)
    for one, fast in ((model, found), (optimize(model), None)):
        logits = one(tokens, ids, loops=loops).logits if fast is None else fast
        for each, expected in zip(gradients(logits, one), by_hand, strict=True):
            assert torch.allclose(each, expected, atol=1e-3, rtol=1e-3)
    all_of_it = gradients(model(tokens, ids, loops=Loops(0, sum(loops))).logits, model)
    same = all(torch.allclose(one, other, atol=1e-3) for one, other in zip(all_of_it, by_hand, strict=True))
    assert same == (loops.free == 0)


def test_a_progressive_loss_is_a_share_of_fewer_loops() -> None:
    model, _, _ = model_and_inputs()
    inputs = some_inputs("copy", SCHEME, length=4)
    config = TrainingConfig(progressive=0.25)
    for step in range(3):
        fewer = progressive_loops(3, step)
        losses = [
            run_losses(model(inputs.input_ids, inputs.position_ids, at=inputs.at, loops=loops), inputs, 1).token
            for loops in (None, fewer)
        ]
        found = step_loss(optimize(model), Inputs.join([inputs], 1), config, step)
        assert found.item() == pytest.approx(0.75 * losses[0].item() + 0.25 * losses[1].item(), rel=1e-4)
    drawn = {progressive_loops(3, step) for step in range(200)}
    assert drawn == {Loops(r, u) for r in range(3) for u in range(1, 4 - r)}


def test_a_stack_trains_with_a_progressive_loss_as_its_separate_runs() -> None:
    setup = TaskSetup(TASKS.build("copy"), SCHEME, ENCODINGS.build("nope"), LOOPED)
    config = TrainingConfig(max_length=3, steps=3, warmup=0, batch_size=8, stacked=True, progressive=0.5)
    together, alone = Trainer(setup, config, [0, 1]), Trainer(setup, config, [1])
    for step in range(3):
        assert together.step(step)[1].item() == pytest.approx(alone.step(step).item(), rel=1e-4)
    plain = Trainer(setup, dataclasses.replace(config, progressive=0.0), [1])
    assert plain.step(0).item() != Trainer(setup, config, [1]).step(0).item()


def test_random_loops_are_a_pass_with_another_number_in_stacks_too() -> None:
    model, _, _ = model_and_inputs()
    inputs = some_inputs("copy", SCHEME, length=4)
    config = TrainingConfig(random_loops=2)
    for step in range(4):
        loops = random_loops(3, 2, step)
        output = model(inputs.input_ids, inputs.position_ids, at=inputs.at, loops=loops)
        found = step_loss(optimize(model), Inputs.join([inputs], 1), config, step)
        assert found.item() == pytest.approx(run_losses(output, inputs, 1).token.item(), rel=1e-4)
    assert {random_loops(3, 2, step) for step in range(200)} == {Loops(0, count) for count in range(1, 6)}
    assert {random_loops(1, 2, step).taught for step in range(200)} == {1, 2, 3}
    setup = TaskSetup(TASKS.build("copy"), SCHEME, ENCODINGS.build("nope"), LOOPED)
    config = TrainingConfig(max_length=3, steps=3, warmup=0, batch_size=8, stacked=True, random_loops=1)
    together, alone = Trainer(setup, config, [0, 1]), Trainer(setup, config, [1])
    for step in range(3):
        assert together.step(step)[1].item() == pytest.approx(alone.step(step).item(), rel=1e-4)
    with pytest.raises(ValueError, match="use one of them"):
        dataclasses.replace(config, progressive=0.5)


@pytest.mark.parametrize("rule", ["confidence", "unchanged"])
def test_each_sequence_stops_by_its_own_rule(rule) -> None:
    model, tokens, ids = model_and_inputs()
    at, most = slice(3, 7), 6
    found = adaptive_loops(model, tokens, ids, at, most=most, rule=rule)
    every = [with_loops(model, count)(tokens, ids, at=at).logits for count in range(1, most + 1)]
    for row in range(len(tokens)):
        answers = [logits[row].argmax(-1).tolist() for logits in every]
        if rule == "confidence":
            losses = [-logits[row].log_softmax(-1).amax(-1).sum().item() for logits in every]
            expected = 1 + losses.index(min(losses))
        else:
            expected = next((n for n in range(2, most + 1) if answers[n - 1] == answers[n - 2]), most)
        assert int(found.loops[row]) == expected
        assert torch.allclose(found.logits[row], every[expected - 1][row], atol=1e-5)


def test_at_least_one_loop_is_needed() -> None:
    model, tokens, ids = model_and_inputs()
    with pytest.raises(LengthwiseError, match="number of loops must be at least 1, got 0"):
        adaptive_loops(model, tokens, ids, slice(None), most=0)
