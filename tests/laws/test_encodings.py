"""Laws of every position encoding inside the model, under every scheme."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from lengthwise.core.rng import stream
from lengthwise.evaluation.accuracy import EvaluatedModel, score_layout
from lengthwise.models.attention_state import Cache
from lengthwise.models.config import ModelConfig
from lengthwise.models.kernels import optimize
from lengthwise.nn import PositionEncoding
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES, Coupled, PredictiveCoupling
from lengthwise.tasks import TASKS, Task
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup
from lengthwise.training.trainer import Trainer
from oracle import SMALL, rough_model, slow_logits, some_inputs
from small import ENCODING_NAMES, EXTENSIONS, SCHEME_VARIANTS, Echo, fitting_scheme

encodings = pytest.mark.parametrize("encoding", ENCODING_NAMES)

ADDITION, ECHO = TASKS.build("addition"), Echo()
# One level of ids or three, in turn: what an encoding does with a level, the others do not change.
with_tasks = pytest.mark.parametrize(
    ("encoding", "task"),
    [
        pytest.param(encoding, (ADDITION, ECHO)[number % 2], id=f"{encoding}-{('addition', 'echo')[number % 2]}")
        for number, encoding in enumerate(ENCODING_NAMES)
    ],
)
TINY = ModelConfig(layers=1, heads=2, width=16, mlp_ratio=1)
# Both tasks with every scheme and with every encoding; of the other pairs every fourth, with the tasks in turn.
COMBINATIONS = [
    pytest.param(task, scheme, encoding, id=f"{name}-{encoding}-{task.name}")
    for turn, (name, scheme) in enumerate(SCHEME_VARIANTS.items())
    for number, encoding in enumerate(ENCODING_NAMES)
    for index, task in enumerate((ADDITION, ECHO))
    if encoding == "learned" or name == "sequential" or (turn + number + 4 * index) % 8 == 0
    if (name in SCHEMES and encoding not in EXTENSIONS) or encoding == "learned" or name == "sequential"
]


@pytest.mark.parametrize(("task", "scheme", "encoding"), COMBINATIONS)
def test_every_scheme_with_every_encoding_trains_and_generates(task: Task, scheme, encoding: str):
    scheme = fitting_scheme(scheme, task)
    training = TrainingConfig(max_length=4, steps=1, batch_size=8, warmup=1)
    model = dataclasses.replace(TINY, layers=2) if encoding == "layers" or "+" in encoding else TINY
    trainer = Trainer(TaskSetup(task, scheme, ENCODINGS.build(encoding), model), training, [0])
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    loss = trainer.step(0)
    assert np.isfinite(loss.item())
    after = trainer.model.state_dict()
    assert all(torch.isfinite(value).all() for value in after.values())
    still = {name for name, value in after.items() if torch.equal(value, before[name])}
    assert not still, "one step moves every parameter"
    trainer.model.eval()
    layout = task.layout(3, stream(0, "layout"))  # A given one is scored in one piece.
    score = score_layout(EvaluatedModel(trainer.model, task, scheme), 3, layout, 8, stream(0, "test"))
    assert score.n == 8
    assert score.tokens_total == 8 * (5 if task.name == "addition" else 6)


@with_tasks
def test_the_fast_model_equals_the_slow_one(encoding: str, task: Task):
    """SDPA, masks, QK-norm, log-length scaling and biases against one token and one head at a time."""
    scheme = Coupled(max_position=20)
    model = rough_model(task, scheme, encoding)
    inputs = some_inputs(task, scheme, size=2)
    fast = model(inputs.input_ids, inputs.position_ids).logits
    slow = slow_logits(model, inputs.input_ids, inputs.position_ids)
    assert torch.allclose(fast, slow, atol=1e-4, rtol=1e-4)
    found = model(inputs.input_ids, inputs.position_ids, at=inputs.at).logits
    assert torch.allclose(found, slow[:, inputs.at], atol=1e-4, rtol=1e-4)
    some = torch.tensor([0, 2, 5])
    found = model(inputs.input_ids, inputs.position_ids, at=some).logits
    assert torch.allclose(found, slow[:, some], atol=1e-4, rtol=1e-4)


@with_tasks
def test_later_tokens_and_ids_change_nothing_earlier(encoding: str, task: Task):
    scheme = Coupled(max_position=20)
    model = rough_model(task, scheme, encoding)
    inputs = some_inputs(task, scheme)
    before = model(inputs.input_ids, inputs.position_ids).logits
    last = inputs.input_ids.shape[1] - 1
    for t in range(1, last + 1):
        tokens, ids = inputs.input_ids.clone(), inputs.position_ids.clone()
        tokens[:, t:] = 4 + (tokens[:, t:] - 3) % 4
        ids[:, t:] = 1 + (ids[:, t:] + 6) % 14
        after = model(tokens, ids).logits
        assert torch.allclose(before[:, :t], after[:, :t], atol=1e-5)
        assert not torch.allclose(before[:, t], after[:, t], atol=1e-3), "the token itself counts"


@encodings
def test_ids_matter_exactly_where_it_is_claimed(encoding: str):
    scheme = Coupled(max_position=60)
    model = rough_model("addition", scheme, encoding)
    inputs = some_inputs("addition", scheme)
    before = model(inputs.input_ids, inputs.position_ids).logits
    after = model(inputs.input_ids, inputs.position_ids.flip(1)).logits
    assert torch.allclose(before, after, atol=1e-4) == (not ENCODINGS.build(encoding).uses_ids)


@encodings
def test_hooks_that_an_encoding_lacks_cost_nothing(encoding: str, monkeypatch: pytest.MonkeyPatch):
    """The hook for content is called only where an encoding has it, in the readable model and in the optimized one."""
    calls = []
    task = TASKS.build("addition")
    model = rough_model(task, "coupled", encoding)
    layers = [model.encoding.layer(layer) for layer in range(SMALL.layers)]
    for cls in {PositionEncoding, *(type(each) for each in layers if each.has_scores)}:

        def counted(self, scores, tokens, own=cls.scores):
            calls.append(scores.shape)
            return own(self, scores, tokens)

        monkeypatch.setattr(cls, "scores", counted)
    expected = sum(type(each).scores is not PositionEncoding.scores for each in layers)
    inputs = some_inputs(task, SCHEMES.build("coupled"))
    for each in (model, optimize(model)):
        calls.clear()
        each(inputs.input_ids, inputs.position_ids)
        assert len(calls) == expected


@encodings
def test_translation_invariance_holds_exactly_where_it_is_claimed(encoding: str):
    scheme = Coupled(max_position=60)
    model = rough_model("addition", scheme, encoding)
    inputs = some_inputs("addition", Coupled(max_position=20))
    before = model(inputs.input_ids, inputs.position_ids).logits
    same = []
    for shift in (1, 7, 39):
        after = model(inputs.input_ids, inputs.position_ids + shift).logits
        same.append(torch.allclose(before, after, atol=1e-3))
    if ENCODINGS.build(encoding).translation_invariant:
        assert all(same)
    else:
        # FIRE is invariant below its threshold, so only the farthest shift has to change the logits.
        assert not same[-1]


@with_tasks
def test_cached_logits_equal_teacher_forced_ones(encoding: str, task: Task):
    """Keys may come token by token or in chunks, on one level of ids or several."""
    scheme = PredictiveCoupling(max_position=20, draw="contiguous")
    model = rough_model(task, scheme, encoding)
    inputs = some_inputs(task, scheme)
    tokens, ids = inputs.input_ids[:, :9], inputs.position_ids[:, :9]
    whole = model(tokens, ids)
    for chunks in ([1] * 9, [4, 1, 1, 1, 1, 1], [3, 4, 2], [1, 8], [9]):
        cache, at = Cache(capacity=9), 0
        for size in chunks:
            output = model(tokens[:, at : at + size], ids[:, at : at + size], cache=cache)
            assert torch.allclose(output.logits, whole.logits[:, at : at + size], atol=1e-4), chunks
            for level, full in zip(output.position, whole.position, strict=True):
                part = full.logits[:, at : at + size]  # type: ignore[attr-defined]
                assert torch.allclose(level.logits, part, atol=1e-4), chunks  # type: ignore[attr-defined]
            at += size
        assert cache.length == 9


@encodings
def test_half_precision_stays_near(encoding: str):
    """bf16 autocast keeps the loss finite and close: biases and norms must not be made in 8 bits of mantissa."""
    training = TrainingConfig(max_length=4, steps=3, batch_size=8, warmup=1, precision="bf16")
    scheme = SCHEMES.build("coupled", max_position=20)
    model = SMALL if encoding == "layers" or "+" in encoding else dataclasses.replace(SMALL, layers=1)
    losses = []
    for precision in ("float32", "bf16"):
        config = TrainingConfig(**{**vars_of(training), "precision": precision})
        trainer = Trainer(TaskSetup(TASKS.build("addition"), scheme, ENCODINGS.build(encoding), model), config, [0])
        losses.append([trainer.step(step).item() for step in range(3)])
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert losses[1] != losses[0], "without autocast the two are equal"


def vars_of(config: TrainingConfig) -> dict:
    return {name: getattr(config, name) for name in config.__dataclass_fields__}
