"""Limit Transformers: attention against the full matrix, checked properties, refusal of bad models."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.core.errors import LengthwiseError
from lengthwise.models.limit import LimitHead, LimitLayer, LimitMlp, LimitTransformer, attend, attend_reference

DTYPE = torch.float64


def naive_attention(keys, queries, phi, values):
    """Loops and plain floats."""
    out = torch.zeros_like(values)
    for row in range(values.shape[0]):
        for i in range(values.shape[1]):
            weights = []
            for j in range(i + 1):
                near = float(phi[i - j]) if i - j < len(phi) else 0.0
                weights.append(math.exp(math.log(i + 1) * (float(keys[row, j] @ queries[row, i]) + near)))
            for j, weight in enumerate(weights):
                out[row, i] += weight / sum(weights) * values[row, j]
    return out


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    length=st.integers(1, 12),
    window=st.integers(0, 15),
    kind=st.sampled_from(["uniform", "local", "few scores", "any"]),
)
def test_every_path_is_the_formula(seed, length, window, kind):
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(2, length, 3, dtype=DTYPE, generator=generator)
    phi = torch.randint(-2, 5, (window,), generator=generator).to(DTYPE)
    keys = torch.randint(0, 3, (2, length, 1), generator=generator).to(DTYPE)
    queries = torch.full((2, length, 1), 1.5, dtype=DTYPE)
    if kind == "uniform":
        phi, keys = phi * 0, keys * 0
    if kind == "local":
        keys = keys * 0
    if kind == "any":
        queries = torch.randn(2, length, 1, dtype=DTYPE, generator=generator)
    expected = naive_attention(keys, queries, phi, values)
    torch.testing.assert_close(attend(keys, queries, phi, values), expected, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(attend_reference(keys, queries, phi, values), expected, rtol=1e-9, atol=1e-12)


def test_rounding_rounds_logits_and_weights_and_not_the_output():
    keys = torch.tensor([[[0.3], [0.9]]], dtype=DTYPE)
    queries, values = torch.ones(1, 2, 1, dtype=DTYPE), torch.tensor([[[0.0], [1.0]]], dtype=DTYPE)
    logits = [round(math.log(2) * key * 8) / 8 for key in (0.3, 0.9)]
    weights = [round(math.exp(logit) * 8) / 8 for logit in logits]
    got = attend(keys, queries, torch.zeros(0, dtype=DTYPE), values, precision=3)[0, 1, 0]
    assert got == pytest.approx(weights[1] / sum(weights), abs=1e-15)
    assert got * 8 != round(float(got) * 8)


def test_logits_too_large_to_round_are_an_error_not_a_nan():
    keys = torch.full((1, 9, 1), 900.0, dtype=DTYPE)
    with pytest.raises(LengthwiseError, match="cannot be exponentiated"):
        attend(keys, torch.ones(1, 9, 1, dtype=DTYPE), torch.zeros(0, dtype=DTYPE), keys, precision=4)


def zeros(*shape):
    return torch.zeros(*shape, dtype=DTYPE)


def parts(width=3):
    step = torch.ones(2, dtype=torch.bool)
    head = {"key": zeros(0, width), "query": zeros(0, width), "value_in": zeros(1, width), "value_out": zeros(width, 1)}
    mlp = {"weight_in": zeros(2, width), "bias": zeros(2), "step": step, "weight_out": zeros(width, 2)}
    model = {"embeddings": zeros(2, width), "positions": zeros(1, width), "readout": zeros(1, width)}
    return head, mlp, model


def build(head, mlp, model):
    layer = LimitLayer([LimitHead("count", **head)], LimitMlp(**mlp))
    return LimitTransformer("ab", ["accept"], layers=[layer], **model)


def test_sound_parts_are_accepted():
    model = build(*parts())
    assert model.width == 3
    assert model(torch.tensor([[0, 1, 1]])).logits.shape == (1, 3, 1)


@pytest.mark.parametrize(
    ("part", "field", "change", "message"),
    [
        (0, "value_in", lambda t: t * math.nan, r"layer 1, head 'count': V holds nan at \(0, 0\)"),
        (0, "key", lambda t: t.new_zeros(2, 3), r"layer 1, head 'count': Q has shape \[0, 3\], expected \[2, 3\]"),
        (1, "weight_in", lambda t: t[:, :2], r"layer 1, MLP: A has shape \[2, 2\], expected \[2, 3\]"),
        (1, "bias", lambda t: t + math.inf, r"layer 1, MLP: b holds inf at \(0,\)"),
        (2, "positions", lambda t: t.float(), r"positions: p is torch.float32, but exact counting needs float64"),
        (2, "readout", lambda t: t[:, :1], r"readout: U has shape \[1, 1\], expected \[1, 3\]"),
        (2, "positions", lambda t: t[:0], r"positions: the table needs at least one row"),
    ],
)
def test_bad_models_are_refused_with_what_and_where(part, field, change, message):
    pieces = parts()
    pieces[part][field] = change(pieces[part][field])
    with pytest.raises(LengthwiseError, match=message):
        build(*pieces)


def test_inputs_are_checked():
    model = build(*parts())
    with pytest.raises(LengthwiseError, match="token ids run from 0 to 1, got 0 to 2"):
        model(torch.tensor([[0, 2]]))
    with pytest.raises(LengthwiseError, match="consecutive position ids"):
        model(torch.tensor([[0, 1]]), torch.tensor([[1, 3]]))
