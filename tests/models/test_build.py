"""Building a model: seeded weights of the configured sizes, and combinations that can't work."""

from __future__ import annotations

import pytest
import torch

from lengthwise.core.config import from_fields
from lengthwise.core.errors import LengthwiseError
from lengthwise.models.build import build_model
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import Coupled, PredictiveCoupling
from lengthwise.tasks import TASKS
from small import Echo

TASK, SCHEME = TASKS.build("addition"), Coupled(max_position=50)
CONFIG = ModelConfig(layers=2, heads=4, width=64)


def weights(config: ModelConfig = CONFIG, seed: int = 0, encoding: str = "learned") -> dict[str, torch.Tensor]:
    return build_model(TASK, SCHEME, ENCODINGS.build(encoding), config, seed=seed).state_dict()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_weights_are_a_function_of_the_seed(encoding: str):
    torch.manual_seed(1)
    first = weights(encoding=encoding)
    torch.manual_seed(2)
    second, other = weights(encoding=encoding), weights(seed=1, encoding=encoding)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["table.weight"], other["table.weight"])


def test_building_leaves_the_global_generator_alone():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    weights()
    assert torch.equal(torch.rand(3), expected)


def test_small_initialization_has_the_documented_sizes():
    state = weights(ModelConfig(layers=2, heads=4, width=64, table_std=0.07))
    assert state["table.weight"].std().item() == pytest.approx(0.07, rel=0.1)
    assert state["head.weight"].std().item() == pytest.approx(0.07, rel=0.1)
    for name in ("attention.qkv", "attention.out", "up", "down"):
        assert state[f"blocks.1.{name}.weight"].std().item() == pytest.approx(0.02, rel=0.1)


def test_fan_in_initialization_scales_what_writes_to_the_stream():
    state = weights(ModelConfig(layers=2, heads=4, width=64, init="fan_in", bias=True))
    assert state["table.weight"].std().item() == pytest.approx(1, rel=0.1)
    assert state["blocks.0.attention.qkv.weight"].std().item() == pytest.approx(1 / 8, rel=0.1)
    assert state["blocks.0.attention.out.weight"].std().item() == pytest.approx(1 / 16, rel=0.1)
    assert state["blocks.0.down.weight"].std().item() == pytest.approx(1 / 32, rel=0.1)
    assert (state["blocks.0.attention.qkv.bias"] == 0).all()


@pytest.mark.parametrize("draw", ["sorted", "permuted"])
def test_ids_that_do_not_follow_from_the_prefix_are_refused(draw):
    """The next place of a random subset is anywhere above: no model can predict it."""
    with pytest.raises(LengthwiseError) as error:
        build_model(TASK, PredictiveCoupling(draw=draw), ENCODINGS.build("nope"), CONFIG, seed=0)
    assert str(error.value) == (
        f"predictive-coupling with draw {draw!r} can't predict the id of a new place, and this task goes on to new "
        "places; set scheme.draw to contiguous or pose, or use scheme coupled"
    )
    assert build_model(Echo(), PredictiveCoupling(draw=draw), ENCODINGS.build("nope"), CONFIG, seed=0)


def test_pointing_at_a_new_place_is_refused():
    config = ModelConfig(layers=1, heads=2, width=8, id_head="pointer")
    scheme = PredictiveCoupling(draw="contiguous")
    with pytest.raises(LengthwiseError, match=r"'pointer' can only name ids of earlier tokens.*set model.id_head"):
        build_model(TASK, scheme, ENCODINGS.build("nope"), config, seed=0)
    assert build_model(Echo(), scheme, ENCODINGS.build("nope"), config, seed=0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"width": 10, "heads": 4}, "width must be a multiple of heads, got 10 and 4"),
        ({"layers": 0}, "layers must be at least 1, got 0"),
        ({"log_length": 1}, "log_length must be at least 2, got 1"),
        ({"dropout": 1.0}, "dropout must be below 1, got 1.0"),
    ],
)
def test_impossible_models_are_refused(fields: dict, message: str):
    with pytest.raises(LengthwiseError, match=message):
        from_fields(ModelConfig, fields, where="model")
