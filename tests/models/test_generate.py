"""Generation: where it stops, what it needs, and what it leaves behind the end."""

from __future__ import annotations

import pytest
import torch

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.vocab import EOS, SPECIALS
from lengthwise.models.generate import generate
from lengthwise.positions.schemes import Coupled, PredictiveCoupling
from lengthwise.tasks import TASKS
from oracle import END, rough_model, some_inputs
from small import Echo

SCHEME = Coupled(max_position=20)


def test_the_end_token_has_one_id_in_all_vocabularies():
    assert SPECIALS.index(EOS) == END == TASKS.build("addition").vocab[EOS]


def test_ids_are_needed():
    model = rough_model("addition", SCHEME, "rope")
    inputs = some_inputs("addition", SCHEME)
    with pytest.raises(LengthwiseError, match="generation needs position ids: give next_ids, or train with predictive"):
        generate(model, inputs.input_ids[:, :4], inputs.position_ids[:, :4], 3)


def test_given_ids_win_over_predicted_ones():
    """The oracle's ids can be fed to a model that has id heads."""
    scheme = PredictiveCoupling(max_position=20, draw="contiguous")
    model = rough_model("addition", scheme, "learned")
    inputs = some_inputs("addition", scheme)
    given = inputs.target_position_ids[:, :3]
    result = generate(model, inputs.input_ids[:, :9], inputs.position_ids[:, :9], 3, next_ids=given)
    assert torch.equal(result.ids, given)


def always(model, token: int):
    """Make the model say one token after any input (its last norm has no mean, so a large bias does it)."""
    table = model.head.weight
    with torch.no_grad():
        table.zero_()

    def forward(hidden):
        logits = torch.zeros(*hidden.shape[:-1], table.shape[0])
        logits[..., token] = 1.0
        return logits

    model.head.forward = forward
    return model


def test_rows_that_end_are_filled_with_the_end_token():
    model = always(rough_model("addition", SCHEME, "rope"), END)
    inputs = some_inputs("addition", SCHEME)
    result = generate(
        model, inputs.input_ids[:, :9], inputs.position_ids[:, :9], 4, next_ids=inputs.target_position_ids[:, :4]
    )
    assert (result.tokens == END).all()


def test_expected_tokens_stop_a_row_at_its_first_wrong_one():
    """The wrong token is kept, what follows is not generated, and right rows run on to the end."""
    model = always(rough_model("addition", SCHEME, "rope"), 7)
    inputs = some_inputs("addition", SCHEME)
    expected = torch.tensor([[7, 7, 5, 7, END], [7, 7, 7, 7, 7], [5, 7, 7, 7, 7]])
    result = generate(
        model,
        inputs.input_ids[:, :9],
        inputs.position_ids[:, :9],
        5,
        next_ids=inputs.target_position_ids[:, :5],
        expected=expected,
    )
    assert result.tokens.tolist() == [[7, 7, 7, END, END], [7, 7, 7, 7, 7], [7, END, END, END, END]]


def test_expected_tokens_do_not_change_a_verdict():
    """Whole strings are right with `expected` exactly where they are right without."""
    scheme = PredictiveCoupling(max_position=20)
    model = rough_model(Echo(), scheme, "rope")
    inputs = some_inputs(Echo(), scheme, size=20)
    free = generate(model, inputs.input_ids[:, :5], inputs.position_ids[:, :5], 6)
    # Half of the rows expect what the model says, the others what the task says.
    expected = torch.where(torch.arange(20)[:, None] % 2 == 0, free.tokens, inputs.targets)
    stopped = generate(model, inputs.input_ids[:, :5], inputs.position_ids[:, :5], 6, expected=expected)
    right = (free.tokens == expected).all(dim=1)
    assert torch.equal((stopped.tokens == expected).all(dim=1), right)
    assert right.sum() >= 10


def test_generation_leaves_no_gradients():
    model = rough_model("addition", SCHEME, "rope")
    inputs = some_inputs("addition", SCHEME)
    result = generate(
        model, inputs.input_ids[:, :9], inputs.position_ids[:, :9], 2, next_ids=inputs.target_position_ids[:, :2]
    )
    assert not result.tokens.requires_grad
    assert result.tokens.shape == (3, 2)
    assert result.ids.shape == (3, 2, 1)
