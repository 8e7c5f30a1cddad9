"""Laws of the model under every scheme: generation with a cache is generation without one, row by row."""

from __future__ import annotations

import pytest
import torch

from lengthwise.models.config import ModelConfig
from lengthwise.models.generate import generate
from lengthwise.tasks import TASKS, Task
from oracle import END, SMALL, rough_model, slow_generate, some_inputs
from small import SCHEME_VARIANTS, Echo, fitting_scheme

tasks = pytest.mark.parametrize("task", [TASKS.build("addition"), Echo()], ids=["addition", "echo"])
schemes = pytest.mark.parametrize("scheme", SCHEME_VARIANTS.values(), ids=SCHEME_VARIANTS.keys())
STEPS = 6


def eager_to_end(model) -> None:
    """Make ``<eos>`` win in some states and lose in others, so that rows end at different steps."""
    with torch.no_grad():
        model.head.weight[END] *= 2


@tasks
@schemes
@pytest.mark.parametrize("encoding", ["rope", "alibi", "learned"])
def test_cached_generation_equals_uncached_token_by_token(task: Task, scheme, encoding: str):
    """Ids are fed back, never counted up; each row goes its own way, whether or not others have ended."""
    scheme = fitting_scheme(scheme, task)
    model = rough_model(task, scheme, encoding)
    eager_to_end(model)
    inputs = some_inputs(task, scheme, length=4, size=8)
    prompt = inputs.input_ids.shape[1] - inputs.targets.shape[1]
    next_ids = None if scheme.predicted else inputs.target_position_ids[:, :STEPS]
    steps = STEPS if next_ids is None else next_ids.shape[1]
    fast = generate(model, inputs.input_ids[:, :prompt], inputs.position_ids[:, :prompt], steps, next_ids=next_ids)
    for row in range(8):
        tokens, ids = slow_generate(
            model,
            inputs.input_ids[row, :prompt].tolist(),
            inputs.position_ids[row, :prompt].tolist(),
            steps,
            None if next_ids is None else next_ids[row].tolist(),
        )
        assert fast.tokens[row].tolist() == tokens + [END] * (steps - len(tokens))
        assert fast.ids[row, : len(ids)].tolist() == ids


@pytest.mark.parametrize("head", ["classification", "pointer"])
@pytest.mark.parametrize("encoding", ["learned", "rope"])
def test_cached_generation_with_predicted_ids_on_three_levels(head, encoding: str):
    """Two pointing levels and a classified one: each level points with keys of its own."""
    config = ModelConfig(**{**vars(SMALL), "id_head": head})
    scheme = SCHEME_VARIANTS["predictive-coupling"]
    model = rough_model(Echo(), scheme, encoding, config)
    eager_to_end(model)
    inputs = some_inputs(Echo(), scheme, length=5, size=12)
    fast = generate(model, inputs.input_ids[:, :7], inputs.position_ids[:, :7], 12)
    lengths = set()
    for row in range(12):
        tokens, ids = slow_generate(
            model, inputs.input_ids[row, :7].tolist(), inputs.position_ids[row, :7].tolist(), 12, None
        )
        lengths.add(len(tokens))
        assert fast.tokens[row].tolist() == tokens + [END] * (12 - len(tokens))
        assert fast.ids[row, : len(ids)].tolist() == ids
    assert len(lengths) > 1, "the test wants rows that end at different steps"


@pytest.mark.parametrize("head", ["classification", "pointer"])
def test_results_do_not_depend_on_the_other_rows(head):
    """Dropping rows that have ended is a saving, not a change."""
    config = ModelConfig(**{**vars(SMALL), "id_head": head})
    scheme = SCHEME_VARIANTS["predictive-coupling"]
    model = rough_model(Echo(), scheme, "rope", config, seed=1)
    eager_to_end(model)
    inputs = some_inputs(Echo(), scheme, length=5, size=16)
    together = generate(model, inputs.input_ids[:, :7], inputs.position_ids[:, :7], 10)
    for row in range(16):
        alone = generate(model, inputs.input_ids[row : row + 1, :7], inputs.position_ids[row : row + 1, :7], 10)
        assert torch.equal(alone.tokens[0], together.tokens[row])
        ended = int((together.tokens[row] == END).int().argmax()) if END in together.tokens[row] else 9
        assert torch.equal(alone.ids[0, : ended + 1], together.ids[row, : ended + 1])
