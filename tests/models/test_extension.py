"""`extend` and `drop_positions`: trained RoPE models with other encodings in place."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import lengthwise as lw
from lengthwise import nn
from lengthwise.core.errors import LengthwiseError
from lengthwise.models.attention_state import Cache
from lengthwise.models.extension import drop_positions, extend, extension_methods, extension_spec, smallest_group
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import Sequential
from oracle import rough_model, some_inputs
from small import Echo

SCHEME = Sequential(max_position=60)


def logits(model: Transformer, length: int = 8) -> torch.Tensor:
    inputs = some_inputs(Echo(), SCHEME, length=length)
    return model(inputs.input_ids, inputs.position_ids).logits


@pytest.mark.parametrize("method", extension_methods())
def test_an_extended_model_equals_one_built_with_that_encoding(method: str):
    """The weights stay; the base is the model's own."""
    model = rough_model(Echo(), SCHEME, ENCODINGS.build("rope", base=500.0))
    before = logits(model)
    extended = extend(model, method, factor=3.0, length=6)
    assert torch.equal(logits(model), before), "the model itself is left alone"
    assert not torch.allclose(logits(extended), before, atol=1e-3)
    known = {"factor": 3.0, "length": 6, "near": 3, "group": 6, "base": 500.0}
    fields = {name: value for name, value in known.items() if hasattr(ENCODINGS.get(method), name)}
    fresh = rough_model(Echo(), SCHEME, ENCODINGS.build(method, **fields), seed=1)
    fresh.load_state_dict(model.state_dict())
    assert torch.equal(logits(fresh), logits(extended))
    inputs, cache = some_inputs(Echo(), SCHEME, length=8), Cache(capacity=40)
    steps = [
        extended(inputs.input_ids[:, t : t + 1], inputs.position_ids[:, t : t + 1], cache=cache).logits
        for t in range(inputs.input_ids.shape[1])
    ]
    assert torch.allclose(torch.cat(steps, dim=1), logits(extended), atol=1e-4)


def test_layers_with_rope_are_extended_and_keep_their_windows():
    model = rough_model(Echo(), SCHEME, "rope(window=5)+nope")
    extended = lw.extend(model, "pi", factor=2.0)
    local, whole = extended.encoding.layer(0), extended.encoding.layer(1)
    assert (type(local), local.window, type(whole)) == (nn.PositionInterpolation, 5, nn.NoPE)
    assert not torch.allclose(logits(extended), logits(model), atol=1e-3)


def test_dropped_positions_leave_weights_and_windows():
    model = rough_model("copy", SCHEME, "rope(window=5)+nope")
    dropped = drop_positions(model)
    other = rough_model("copy", SCHEME, "nope(window=5)+nope", seed=1)
    other.load_state_dict(model.state_dict())
    inputs = some_inputs("copy", SCHEME, length=8)
    assert torch.equal(*(m(inputs.input_ids, inputs.position_ids).logits for m in (dropped, other)))


def test_what_cannot_be_extended_is_refused():
    with pytest.raises(LengthwiseError, match="trained with encoding 'rope', and this one has ALiBi"):
        extend(rough_model("copy", SCHEME, "alibi"), "pi")
    model = rough_model("copy", SCHEME, "rope")
    with pytest.raises(LengthwiseError, match="unknown way to extend a context 'yarm'"):
        extend(model, "yarm")
    with pytest.raises(LengthwiseError, match="yarn needs the trained context; give length=…"):
        extend(model, "yarn")
    with pytest.raises(LengthwiseError, match="unknown field of encoding 'pi' 'widen'"):
        extend(model, "pi", widen=3)
    with pytest.raises(LengthwiseError, match="only where the encoding has no parameters"):
        drop_positions(rough_model("copy", SCHEME, "learned"))


@settings(max_examples=40)
@given(length=st.integers(3, 60), factor=st.floats(1, 9), data=st.data())
def test_self_extend_groups_no_more_than_the_trained_distances_need(length: int, factor: float, data: st.DataObject):
    near = data.draw(st.integers(1, length - 1))
    q, k = np.arange(math.ceil(factor * length))[:, None], np.arange(math.ceil(factor * length))[None, :]

    def farthest(group: int) -> int:
        far = q // group - k // group + near - near // group
        return int(np.where(q - k < near, q - k, far)[q >= k].max())

    group = smallest_group(factor, length, near)
    assert farthest(group) < length
    assert group == 1 or farthest(group - 1) >= length


def test_the_default_group_follows_from_the_trained_length():
    found = {factor: extension_spec("self-extend", factor=factor, length=64) for factor in (2, 4, 8)}
    assert [(spec.near, spec.group) for spec in found.values()] == [(32, 4), (32, 8), (32, 16)]
    assert extension_spec("self-extend", factor=4, near=32) == found[4]
    assert extension_spec("self-extend", factor=4, length=64, group=5).group == 5
    with pytest.raises(LengthwiseError, match="near must be from 1 to the trained length − 1 = 63, got 64"):
        extension_spec("self-extend", factor=4, length=64, near=64)
