"""Kerple, dynamic and coupled bias, learned and hard ALiBi, partial RoPE against their formulas, number by number."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from test_encoding_formulas import ONE_LEVEL, THREE_LEVELS, build, numbers, rope_by_complex_numbers, some_ids

from lengthwise import nn
from lengthwise.core.errors import LengthwiseError
from lengthwise.nn.bias import alibi_slopes
from lengthwise.positions.encodings import ENCODINGS, EncodingShape

shapes = pytest.mark.parametrize("shape", [ONE_LEVEL, THREE_LEVELS], ids=["one", "three"])


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


def assert_bias(module, shape: EncodingShape, expected) -> None:
    """``expected(head, distance, which of the coupled levels)``, summed over the levels."""
    queries, keys = some_ids(shape, tokens=5), some_ids(shape)
    bias = module.bias(queries, keys)
    assert bias.shape == (2, shape.heads, 5, 7)
    for b, h, i, j in np.ndindex(*bias.shape):
        total = 0.0
        for index, level in enumerate(shape.position_levels):
            total += expected(h, int(queries[b, i, level] - keys[b, j, level]), index)
        assert bias[b, h, i, j].item() == pytest.approx(total, rel=1e-4, abs=1e-5)


@shapes
@pytest.mark.parametrize("name", ["kerple", "kerple-power"])
def test_kerple_equals_the_formula(shape: EncodingShape, name: str):
    module = build(name, shape)
    factors, forms = numbers(module, "factor"), numbers(module, "shape")

    def penalty(h: int, distance: int, _: int) -> float:
        r, x = softplus(factors[h]), abs(distance)
        if name == "kerple":
            return -r * math.log(1 + softplus(forms[h]) * x)
        return -r * x ** (2 / (1 + math.exp(-forms[h])))

    assert_bias(module, shape, penalty)


@pytest.mark.parametrize("form", ["log", "power"])
def test_kerple_starts_in_the_published_ranges_and_trains_at_distance_0(form: str):
    torch.manual_seed(0)
    module = nn.Kerple(200, form=form)
    r = torch.nn.functional.softplus(module.factor.weight)
    s = torch.nn.functional.softplus(module.shape.weight) if form == "log" else 2 * module.shape.weight.sigmoid()
    assert 0 < r.min() < 0.1
    assert 0.9 * (2 if form == "log" else 1) < r.max() < (2 if form == "log" else 1)
    assert 0 < s.min() < 0.1
    assert 0.9 < s.max() < 1
    ids = torch.zeros(1, 2, dtype=torch.long)
    module(ids).sum().backward()
    gradients = [parameter.grad for parameter in module.parameters()]
    assert all(gradient is not None and torch.isfinite(gradient).all() for gradient in gradients)


@shapes
@pytest.mark.parametrize(("depth", "log"), [(1, True), (2, True), (3, False)])
def test_dynamic_bias_equals_the_formula(shape: EncodingShape, depth: int, log: bool):
    module = build("dynamic-bias", shape, width=5, depth=depth, log=log)
    layers = [(layer.weight.tolist(), layer.bias.tolist()) for layer in module.hidden]
    out, out_bias = module.out.weight.tolist(), module.out.bias.tolist()

    def mlp(h: int, distance: int, _: int) -> float:
        x = [math.copysign(math.log(abs(distance) + 1), distance) if log else float(distance)]
        for weight, bias in layers:
            before = [sum(w * v for w, v in zip(row, x, strict=True)) + c for row, c in zip(weight, bias, strict=True)]
            x = [v / (1 + math.exp(-v)) for v in before]
        return sum(w * v for w, v in zip(out[h], x, strict=True)) + out_bias[h]

    assert len(layers) == depth
    assert_bias(module, shape, mlp)


@shapes
@pytest.mark.parametrize("local_heads", [None, 1, 2])
def test_hard_alibi_is_a_window_for_each_local_head(shape: EncodingShape, local_heads: int | None):
    module = ENCODINGS.build("hard-alibi", local_heads=local_heads).build(shape)
    local = (shape.heads + 1) // 2 if local_heads is None else local_heads

    def hidden(h: int, distance: int, _: int) -> float:
        return -math.inf if h < local and abs(distance) > h else 0.0

    assert_bias(module, shape, hidden)
    with pytest.raises(LengthwiseError, match=f"local_heads must be 1 to {shape.heads}, the number of heads, got 99"):
        nn.HardALiBi(shape.heads, local_heads=99)


@shapes
def test_learned_alibi_equals_the_formula_and_starts_as_alibi(shape: EncodingShape):
    module = build("alibi-learned", shape)
    ids = some_ids(shape)
    assert torch.allclose(module.bias(ids, ids), build("alibi", shape).bias(ids, ids), rtol=1e-4)
    with torch.no_grad():
        module.slope.weight.add_(1.0)
    slopes = numbers(module, "slope")
    assert slopes[0] == pytest.approx(1 + math.log(math.expm1(alibi_slopes(shape.heads)[0])), rel=1e-4)
    assert_bias(module, shape, lambda h, distance, _: -softplus(slopes[h]) * abs(distance))


@shapes
@pytest.mark.parametrize("buckets", [2, 10, 2000])
def test_coupled_bias_is_looked_up_by_level_with_its_sign(shape: EncodingShape, buckets: int):
    module = build("coupled-bias", shape, buckets=buckets)
    tables = [table.weight.tolist() for table in module.tables]

    def entry(h: int, distance: int, index: int) -> float:
        return tables[index][min(max(distance, -buckets // 2), buckets // 2 - 1) + buckets // 2][h]

    assert_bias(module, shape, entry)


@shapes
@pytest.mark.parametrize(("window", "scale"), [(0, 1.0), (4, 12.0), (500, 2.0)])
def test_local_bias_is_a_scaled_table_within_the_window_and_nothing_beyond(
    shape: EncodingShape, window: int, scale: float
):
    module = build("local-bias", shape, window=window, scale=scale)
    tables = [table.weight.tolist() for table in module.tables]

    def entry(h: int, distance: int, index: int) -> float:
        return scale * tables[index][distance + window][h] if abs(distance) <= window else -math.inf

    assert_bias(module, shape, entry)


def test_a_sink_is_seen_from_everywhere_with_a_bias_of_its_own():
    module = build("local-bias-sink", ONE_LEVEL, window=2, scale=3.0)
    without = build("local-bias", ONE_LEVEL, window=2, scale=3.0)
    table = module.tables[0].weight
    without.tables[0].load_state_dict({"weight": table[:-1]})
    ids = torch.tensor([[0, 1, 2, 3, 9, 1]])
    bias = module.bias(ids, ids)
    assert torch.equal(bias[:, :, :, 1:], without.bias(ids, ids)[:, :, :, 1:])
    assert torch.equal(bias[:, :, :, 0], (3.0 * table[-1])[None, :, None].expand(1, -1, 6))


def test_attention_counts_equal_tokens_with_a_sink_alone():
    """One token and two equal ones give the same average; the sink's share is 1/2, then 1/3."""
    for sink in (False, True):
        module = nn.LocalBias(1, window=0, sink=sink)
        torch.nn.init.zeros_(module.tables[0].weight)
        shares = []
        for ids in ([0, 8, 5], [0, 5, 5]):
            weights = module(torch.tensor([ids]))[0, 0, -1].softmax(-1)
            shares.append(weights[1:].sum().item())
        assert shares == pytest.approx([1 / 2, 2 / 3] if sink else [1.0, 1.0])


def test_dynamic_bias_without_gradients_works_in_pieces(monkeypatch):
    module, ids = build("dynamic-bias", ONE_LEVEL), some_ids(ONE_LEVEL)
    whole = module.bias(ids, ids)
    monkeypatch.setattr("lengthwise.nn.bias.PAIRS", 40)
    with torch.no_grad():
        assert torch.allclose(whole, module.bias(ids, ids), atol=1e-6)


# Rotary


@pytest.mark.parametrize(("share", "rotated"), [(0.25, 2), (0.5, 4), (0.7, 6), (1.0, 8)])
def test_partial_rope_rotates_the_first_coordinates_alone(share: float, rotated: int):
    shape = EncodingShape(width=16, heads=2, head_width=8, kinds=("position",), max_position=500)
    module = build("rope-partial", shape, share=share, base=100.0)
    x = torch.randn(2, 2, 7, 8, generator=torch.Generator().manual_seed(1))
    ids = some_ids(shape)
    expected = x.double().numpy().copy()
    expected[..., :rotated] = rope_by_complex_numbers(expected[..., :rotated].copy(), ids.numpy(), [0], 100.0)
    assert np.allclose(module.rotate(x, ids).numpy(), expected, atol=2e-4)
    assert np.allclose(module.rotate_keys(x, ids).numpy(), expected, atol=2e-4)


@pytest.mark.parametrize(("width", "share", "levels"), [(8, 0.1, 1), (8, 0.25, 2), (7, 1.0, 1)])
def test_partial_rope_refuses_what_it_cannot_rotate(width: int, share: float, levels: int):
    with pytest.raises(LengthwiseError, match="raise the share or the width, or use fewer heads"):
        nn.PartialRotary(width, levels, share=share)


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("kerple", {"form": "cube"}, "form"),
        ("dynamic-bias", {"depth": 0}, "depth must be at least 1, got 0"),
        ("coupled-bias", {"buckets": 7}, "coupled-bias needs an even number of buckets >= 2, got 7"),
        ("rope-partial", {"share": 1.5}, "share must be at most 1, got 1.5"),
    ],
)
def test_settings_without_meaning_are_refused(name: str, fields: dict, message: str):
    with pytest.raises(LengthwiseError, match=message):
        ENCODINGS.build(name, **fields)
