"""xPos against its formula, number by number, and the settings of the encodings that need more than three hooks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_encoding_formulas import ONE_LEVEL, THREE_LEVELS, build, rope_by_complex_numbers, some_ids

from lengthwise.core.errors import LengthwiseError
from lengthwise.positions.encodings import ENCODINGS, EncodingShape

shapes = pytest.mark.parametrize("shape", [ONE_LEVEL, THREE_LEVELS], ids=["one", "three"])


@shapes
def test_xpos_equals_complex_multiplication_times_powers(shape: EncodingShape):
    module = build("xpos", shape, base=1000.0, scale=200.0)
    x = torch.randn(2, shape.heads, 7, shape.head_width, generator=torch.Generator().manual_seed(1))
    ids, half, levels = some_ids(shape), shape.head_width // 2, shape.position_levels
    rotated = rope_by_complex_numbers(x.double().numpy(), ids.numpy(), list(levels), 1000.0)
    for found, sign in ((module.rotate(x, ids), 1), (module.rotate_keys(x, ids), -1)):
        for b, h, t, c in np.ndindex(*x.shape):
            pair = c % half
            zeta = (2 * pair / shape.head_width + 0.4) / 1.4
            power = zeta ** (sign * int(ids[b, t, levels[pair * len(levels) // half]]) / 200.0)
            assert found[b, h, t, c].item() == pytest.approx(rotated[b, h, t, c] * power, rel=1e-3, abs=2e-4)


@settings(max_examples=40)
@given(shift=st.integers(0, 300))
def test_xpos_scores_depend_on_differences_only(shift: int):
    module = build("xpos", ONE_LEVEL)
    q, k = torch.randn(2, 2, 4, 7, 4, generator=torch.Generator().manual_seed(2))
    ids = some_ids(ONE_LEVEL)
    before = module.rotate(q, ids) @ module.rotate_keys(k, ids).mT
    after = module.rotate(q, ids + shift) @ module.rotate_keys(k, ids + shift).mT
    assert torch.allclose(before, after, atol=2e-3)


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("xpos", {"scale": 0.0}, "scale must be above 0, got 0.0"),
        ("shaw", {"clip": 0}, "clip must be at least 1, got 0"),
        ("cope", {"positions": 1}, "positions must be at least 2, got 1"),
        ("scalable-softmax", {"length": 1}, "length must be at least 2, got 1"),
    ],
)
def test_settings_without_meaning_are_refused(name: str, fields: dict, message: str):
    with pytest.raises(LengthwiseError, match=message):
        ENCODINGS.build(name, **fields)
