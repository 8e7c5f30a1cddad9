"""Each encoding against its published formula, written a second time without tensors."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise import nn
from lengthwise.core.errors import LengthwiseError
from lengthwise.nn.bias import alibi_slopes, log_bucket
from lengthwise.positions.encodings import ENCODINGS, EncodingShape, RoPESpec

ONE_LEVEL = EncodingShape(width=16, heads=4, head_width=4, kinds=("position",), max_position=500)
THREE_LEVELS = EncodingShape(width=24, heads=3, head_width=8, kinds=("position", "label", "position"), max_position=500)


def build(name: str, shape: EncodingShape, **fields: Any) -> Any:
    torch.manual_seed(0)
    return ENCODINGS.build(name, **fields).build(shape)


def some_ids(shape: EncodingShape, rows: int = 2, tokens: int = 7) -> torch.Tensor:
    ids = torch.from_numpy(np.random.default_rng(0).integers(0, 400, size=(rows, tokens, len(shape.kinds))))
    for level in shape.label_levels:
        ids[..., level] %= 5
    return ids


def numbers(module, name: str) -> list[float]:
    """A learned number or vector, whether it is a parameter or a module that holds one."""
    value = getattr(module, name)
    value = value if isinstance(value, torch.Tensor) else value.weight
    return value.detach().flatten().tolist()


# Additive biases


@pytest.mark.parametrize(
    ("heads", "slopes"),
    [
        (1, [1 / 256]),
        (2, [1 / 16, 1 / 256]),
        (8, [2**-h for h in range(1, 9)]),
        # 4 heads' slopes, then the 1st and 3rd of 8 heads'.
        (6, [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]),
        (12, [2**-h for h in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]),
    ],
)
def test_alibi_slopes_also_where_heads_are_no_power_of_two(heads: int, slopes: list[float]):
    assert alibi_slopes(heads) == pytest.approx(slopes)


@settings(max_examples=40)
@given(st.integers(1, 40))
def test_alibi_slopes_are_distinct_and_in_the_published_range(heads: int):
    slopes = alibi_slopes(heads)
    assert len(set(slopes)) == len(slopes) == heads
    assert all(2**-8 <= slope < 1 for slope in slopes)


@pytest.mark.parametrize("shape", [ONE_LEVEL, THREE_LEVELS])
def test_alibi_bias_is_minus_slope_times_distance(shape: EncodingShape):
    queries, keys = some_ids(shape, tokens=5), some_ids(shape)
    bias = build("alibi", shape).bias(queries, keys)
    assert bias.shape == (2, shape.heads, 5, 7)
    slopes = alibi_slopes(shape.heads)
    for b, h, i, j in np.ndindex(*bias.shape):
        distance = sum(abs(int(queries[b, i, level] - keys[b, j, level])) for level in shape.position_levels)
        assert bias[b, h, i, j].item() == pytest.approx(-slopes[h] * distance, rel=1e-5)


def t5_bucket(x: int, buckets: int, max_distance: int) -> int:
    """The published bucket in whole numbers, so that no rounding decides: e = buckets/2 exact ones, then the largest b
    with (max_distance/e)^b ≤ (x/e)^(buckets − e)."""
    e = buckets // 2
    if x < e:
        return x
    above, b = buckets - e, 0
    while e + b < buckets - 1 and max_distance ** (b + 1) * e ** (above - b - 1) <= x**above:
        b += 1
    return e + b


@pytest.mark.parametrize(
    ("buckets", "max_distance"), [(32, 128), (8, 64), (16, 256), (2, 5), (3, 7), (6, 243), (64, 4096), (7, 343)]
)
def test_t5_buckets_equal_whole_number_arithmetic(buckets: int, max_distance: int):
    distances = torch.arange(3 * max_distance)
    expected = [t5_bucket(x, buckets, max_distance) for x in distances.tolist()]
    assert log_bucket(distances, buckets, max_distance).tolist() == expected


@pytest.mark.parametrize("shape", [ONE_LEVEL, THREE_LEVELS])
def test_t5_bias_is_looked_up_with_its_direction(shape: EncodingShape):
    module = build("t5", shape, buckets=8, max_distance=100)
    queries, keys = some_ids(shape, tokens=5), some_ids(shape)
    bias = module.bias(queries, keys)
    table = module.table.weight
    for b, h, i, j in np.ndindex(*bias.shape):
        total = 0.0
        for level in shape.position_levels:
            distance = int(queries[b, i, level] - keys[b, j, level])
            row = t5_bucket(abs(distance), 8, 100) + (8 if distance < 0 else 0)
            total += table[row, h].item()
        assert bias[b, h, i, j].item() == pytest.approx(total, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("shape", [ONE_LEVEL, THREE_LEVELS])
def test_fire_equals_the_formula(shape: EncodingShape):
    module = build("fire", shape, threshold=50.0, width=5)
    queries, keys = some_ids(shape, tokens=5), some_ids(shape)
    bias = module.bias(queries, keys)
    (threshold,), (log_scale,) = numbers(module, "threshold"), numbers(module, "log_scale")
    inner, inner_bias = module.hidden.weight.flatten().tolist(), module.hidden.bias.tolist()
    outer, outer_bias = module.out.weight.tolist(), module.out.bias.tolist()

    def psi(x: float) -> float:
        return math.log(math.exp(log_scale) * x + 1)

    for b, h, i, j in np.ndindex(*bias.shape):
        total = 0.0
        for level in shape.position_levels:
            p_i, p_j = int(queries[b, i, level]), int(keys[b, j, level])
            x = psi(abs(p_i - p_j)) / (psi(max(threshold, p_i, p_j)) + 1e-6)
            hidden = [max(0.0, w * x + c) for w, c in zip(inner, inner_bias, strict=True)]
            total += sum(w * value for w, value in zip(outer[h], hidden, strict=True)) + outer_bias[h]
        assert bias[b, h, i, j].item() == pytest.approx(total, rel=1e-4, abs=1e-5)


fire_settings = st.tuples(st.floats(1, 200), st.floats(1e-3, 10))


@settings(max_examples=40)
@given(fire_settings, st.lists(st.integers(0, 400), min_size=2, max_size=20))
def test_fire_argument_stays_in_its_trained_range(setting: tuple[float, float], ids: list[int]):
    """The required test: the normalizer is the maximum, so the argument is in [0, 1] and 1 (up to ε) at key id 0."""
    threshold, scale = setting
    module = nn.FIRE(4, threshold=threshold, scale=scale)
    rising = torch.tensor(sorted([0, *ids]))[None]
    argument = module.argument(rising, rising)[0]
    visible = argument.tril()
    assert visible.min() >= 0
    assert visible.max() <= 1 + 1e-6
    for i, position in enumerate(rising[0].tolist()):
        if position >= threshold:
            # ε = 1e-6 in the denominator costs ε / ψ(p).
            assert argument[i, 0].item() == pytest.approx(1, abs=1e-5 + 2e-6 / math.log1p(scale * position))
    falling = rising.flip(1)
    assert module.argument(falling, falling).max() <= 1 + 1e-6
    shuffled = torch.tensor(ids)[None]
    assert module.argument(shuffled, shuffled).max() <= 1 + 1e-6


def test_fire_normalizes_far_queries_by_their_own_position():
    """With the minimum (a bug that is in circulation) the argument would pass 1 and grow without bound."""
    module = nn.FIRE(4, threshold=8.0)
    for position in (8, 80, 400):
        query, key = torch.tensor([[position]]), torch.tensor([[0]])
        assert module.argument(query, key).item() == pytest.approx(1, abs=1e-4)


def test_fire_without_gradients_works_in_pieces(monkeypatch):
    """Its hidden layer would need gigabytes at once; the pieces give the same bias."""
    module = build("fire", ONE_LEVEL)
    queries, keys = some_ids(ONE_LEVEL), some_ids(ONE_LEVEL)
    whole = module.bias(queries, keys)
    monkeypatch.setattr("lengthwise.nn.bias.PAIRS", 40)
    with torch.no_grad():
        pieces = module.bias(queries, keys)
    assert torch.allclose(whole, pieces, atol=1e-6)


@pytest.mark.parametrize("name", ["alibi", "t5"])
def test_biases_depend_on_differences_only(name: str):
    ids = some_ids(ONE_LEVEL)
    module = build(name, ONE_LEVEL)
    assert torch.equal(module.bias(ids, ids), module.bias(ids + 77, ids + 77))


# Rotary


def rope_by_complex_numbers(x: np.ndarray, ids: np.ndarray, levels: list[int], base: float) -> np.ndarray:
    """Coordinates (t, t + d/2) are one complex number, multiplied by e^(i · id · base^(−2t/d))."""
    half = x.shape[-1] // 2
    result = np.empty_like(x)
    for index in np.ndindex(*x.shape[:-1]):
        b, _, token = index
        for t in range(half):
            # Levels own contiguous blocks of frequencies, as equal as they can be.
            level = levels[t * len(levels) // half]
            rotated = complex(x[(*index, t)], x[(*index, t + half)]) * cmath.exp(
                1j * float(ids[b, token, level]) * base ** (-2 * t / (2 * half))
            )
            result[(*index, t)], result[(*index, t + half)] = rotated.real, rotated.imag
    return result


@pytest.mark.parametrize("shape", [ONE_LEVEL, THREE_LEVELS])
def test_rope_equals_complex_multiplication(shape: EncodingShape):
    module = build("rope", shape, base=1000.0)
    x = torch.randn(2, shape.heads, 7, shape.head_width, generator=torch.Generator().manual_seed(1))
    ids = some_ids(shape)
    expected = rope_by_complex_numbers(x.double().numpy(), ids.numpy(), list(shape.position_levels), 1000.0)
    assert np.allclose(module.rotate(x, ids).numpy(), expected, atol=2e-4)


@settings(max_examples=40)
@given(shift=st.integers(0, 100))
def test_rope_scores_depend_on_differences_only(shift: int):
    module = build("rope", ONE_LEVEL)
    generator = torch.Generator().manual_seed(2)
    q, k = torch.randn(2, 2, 4, 7, 4, generator=generator)
    ids = some_ids(ONE_LEVEL)
    before = module.rotate(q, ids) @ module.rotate(k, ids).mT
    after = module.rotate(q, ids + shift) @ module.rotate(k, ids + shift).mT
    assert torch.allclose(before, after, atol=1e-3)


def test_rotations_keep_lengths():
    x = torch.randn(2, 4, 7, 4, generator=torch.Generator().manual_seed(3))
    rotated = build("rope", ONE_LEVEL).rotate(x, some_ids(ONE_LEVEL))
    assert torch.allclose(rotated.norm(dim=-1), x.norm(dim=-1), atol=1e-5)


@pytest.mark.parametrize(
    "shape",
    [
        EncodingShape(width=9, heads=3, head_width=3, kinds=("position",), max_position=10),
        EncodingShape(width=4, heads=2, head_width=2, kinds=("position", "position"), max_position=10),
    ],
)
def test_rope_refuses_heads_that_it_cannot_rotate(shape: EncodingShape):
    with pytest.raises(
        LengthwiseError, match=r"rope needs an even head width of at least \d+, got \d+; change the width"
    ):
        RoPESpec().build(shape)


def test_an_unknown_kind_of_level_is_refused():
    with pytest.raises(LengthwiseError, match="a level of places or ids is one of"):
        EncodingShape(width=8, heads=1, head_width=8, kinds=("fixed",), max_position=9)  # type: ignore[arg-type]


# Added to the token embedding


def test_sinusoidal_equals_the_formula():
    module = build("sinusoidal", THREE_LEVELS, base=100.0, scale=0.5)
    slots = module.slots[0].weight
    ids = some_ids(THREE_LEVELS)
    vectors = module.embed(ids)
    for b, t in np.ndindex(2, 7):
        expected = slots[int(ids[b, t, 1])].tolist()
        for level in (0, 2):
            for c in range(24):
                angle = int(ids[b, t, level]) / 100.0 ** (2 * (c // 2) / 24)
                expected[c] += 0.5 * (math.cos(angle) if c % 2 else math.sin(angle))
        assert vectors[b, t].tolist() == pytest.approx(expected, abs=1e-4)


def test_sinusoidal_fills_an_odd_width():
    shape = EncodingShape(width=5, heads=1, head_width=5, kinds=("position",), max_position=10)
    assert build("sinusoidal", shape).embed(torch.zeros(1, 2, 1, dtype=torch.long)).shape == (1, 2, 5)


def test_learned_is_the_sum_of_one_row_per_level():
    module = build("learned", THREE_LEVELS)
    ids = some_ids(THREE_LEVELS)
    first, second = (table.weight for table in module.tables)
    expected = first[ids[..., 0]] + module.slots[0].weight[ids[..., 1]] + second[ids[..., 2]]
    assert torch.allclose(module.embed(ids), expected)
    assert [len(table.weight) for table in module.tables] == [501, 501]


def test_learned_rows_have_the_configured_size():
    module = build("learned", ONE_LEVEL, init_std=0.3)
    assert module.tables[0].weight.std().item() == pytest.approx(0.3, rel=0.05)


def test_slow_learned_is_scale_times_its_parameters():
    module, ids = build("learned-slow", ONE_LEVEL, init_std=0.3, scale=0.01), some_ids(ONE_LEVEL)
    assert torch.allclose(module.embed(ids), 0.01 * module.tables[0].weight[ids[..., 0]])
    assert torch.allclose(module.table(), 0.01 * module.tables[0].weight)
    assert module.table().std().item() == pytest.approx(0.3, rel=0.05)


def test_nope_has_no_effect():
    module = build("nope", ONE_LEVEL)
    ids, x = some_ids(ONE_LEVEL), torch.randn(2, 4, 7, 4)
    assert module.embed(ids) is None
    assert module.bias(ids, ids) is None
    assert torch.equal(module.rotate(x, ids), x)
    assert not list(module.parameters())


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("fire", {"threshold": 0.0}, "threshold must be above 0, got 0.0"),
        ("fire", {"scale": -1.0}, "scale must be above 0, got -1.0"),
        ("fire", {"width": 0}, "width must be at least 1, got 0"),
        ("rope", {"base": 0.0}, "base must be above 0, got 0.0"),
        ("sinusoidal", {"base": -3.0}, "base must be above 0, got -3.0"),
        ("learned", {"init_std": -0.1}, "init_std must be at least 0, got -0.1"),
        ("t5", {"buckets": 1}, "t5 needs buckets >= 2"),
        ("t5", {"buckets": 32, "max_distance": 16}, "max_distance > buckets / 2, got 32 and 16"),
    ],
)
def test_settings_without_meaning_are_refused(name: str, fields: dict, message: str):
    with pytest.raises(LengthwiseError, match=message):
        ENCODINGS.build(name, **fields)


def test_whole_numbers_may_stand_for_real_ones():
    module = ENCODINGS.build("fire", threshold=8).build(ONE_LEVEL)
    assert isinstance(module, nn.FIRE)
    found = module.argument(torch.tensor([[4]]), torch.tensor([[0]])).item()
    assert found == pytest.approx(math.log1p(0.4) / math.log1p(0.8), abs=1e-5)
