"""Extensions of RoPE against their formulas, number by number, and against transformers' own functions."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_content_formulas import assert_scores, make_context, queries
from test_encoding_formulas import ONE_LEVEL, THREE_LEVELS, build, some_ids
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from lengthwise import nn
from lengthwise.core.errors import LengthwiseError
from lengthwise.nn import ScoreContext
from lengthwise.positions.encodings import ENCODINGS, EncodingShape

shapes = pytest.mark.parametrize("shape", [ONE_LEVEL, THREE_LEVELS], ids=["one", "three"])
factors = st.floats(1, 64)
bases = st.floats(100, 1e6)
lengths = st.integers(8, 20_000)
D = 16


def expected_frequencies(name: str, factor: float, length: int, base: float, d: int = D) -> list[float]:
    """The formulas of the papers, one frequency at a time."""
    found = []
    for c in range(d // 2):
        theta = base ** (-2 * c / d)
        rotations = length * theta / (2 * math.pi)
        if name == "pi":
            theta = theta / factor
        elif name == "ntk":
            theta = (base * factor ** (d / (d - 2))) ** (-2 * c / d)
        elif name == "yarn":
            gamma = min(1.0, max(0.0, (rotations - 1) / (32 - 1)))
            theta = (1 - gamma) * theta / factor + gamma * theta
        elif name == "llama3":
            wavelength = 2 * math.pi / theta
            if wavelength > length / 1.0:
                theta = theta / factor
            elif wavelength >= length / 4.0:
                g = (length / wavelength - 1) / (4 - 1)
                theta = (1 - g) * theta / factor + g * theta
        found.append(theta)
    return found


def frequencies(name: str, **fields: Any) -> list[float]:
    shape = EncodingShape(width=D, heads=1, head_width=D, kinds=("position",), max_position=9)
    return build(name, shape, **fields).frequencies.tolist()


@settings(max_examples=40)
@given(factor=factors, base=bases, length=lengths)
@pytest.mark.parametrize("name", ["pi", "ntk", "yarn", "llama3"])
def test_frequencies_are_those_of_the_formula(name: str, factor: float, base: float, length: int):
    known = {"factor": factor, "base": base}
    if name in ("yarn", "llama3"):
        known["length"] = length
    assert frequencies(name, **known) == pytest.approx(expected_frequencies(name, factor, length, base), rel=1e-4)


def by_transformers(
    kind: str, length: int, base: float, tokens: int | None = None, **fields: Any
) -> tuple[list, float]:
    parameters = {"rope_type": kind, "rope_theta": base, **fields}
    if kind in ("yarn", "llama3", "longrope"):
        parameters["original_max_position_embeddings"] = length
    config = LlamaConfig(
        hidden_size=D, num_attention_heads=1, max_position_embeddings=length, rope_parameters=parameters
    )
    found, attention = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=tokens)
    return found.tolist(), attention


@settings(max_examples=30, deadline=None)
@given(factor=factors, base=bases, length=lengths)
def test_transformers_computes_the_same(factor: float, base: float, length: int):
    known = {"factor": factor, "base": base}
    found, _ = by_transformers("linear", length, base, factor=factor)
    assert frequencies("pi", **known) == pytest.approx(found, rel=1e-4)
    found, _ = by_transformers("llama3", length, base, factor=factor, low_freq_factor=1.0, high_freq_factor=4.0)
    assert frequencies("llama3", **known, length=length) == pytest.approx(found, rel=1e-4)
    found, sharpening = by_transformers("yarn", length, base, factor=factor)
    assert frequencies("yarn", **known, length=length, by_index=True) == pytest.approx(found, rel=1e-4)
    assert nn.YaRN(D, factor=factor).sharpening == pytest.approx(sharpening)
    _, sharpening = by_transformers("yarn", length, base, factor=factor, attention_factor=0.7)
    assert sharpening == build("yarn", ONE_LEVEL, **known, attention_factor=0.7).sharpening
    searched = [1 + c / 3 for c in range(D // 2)]
    found, sharpening = by_transformers(
        "longrope", length, base, tokens=length + 1, factor=factor, long_factor=searched, short_factor=searched
    )
    rotary = nn.LongRoPE(D, factors=searched, factor=factor, length=length, base=base)
    assert (rotary.frequencies / rotary.factors).tolist() == pytest.approx(found, rel=1e-4)
    assert rotary.sharpening == pytest.approx(sharpening)


def test_yarn_lengthens_queries_and_keys():
    ids, x = some_ids(ONE_LEVEL), torch.randn(2, 4, 7, 4)
    module = nn.YaRN(4, factor=8.0, length=16)
    norms = module(x, ids).norm(dim=-1) / x.norm(dim=-1)
    assert torch.allclose(norms, torch.tensor(0.1 * math.log(8) + 1), atol=1e-4)


def test_longrope_starts_as_ntk_and_keeps_the_first_ids():
    ids, x = some_ids(ONE_LEVEL), torch.randn(2, 4, 7, 4)
    module = build("longrope", ONE_LEVEL, factor=4.0, length=64, unscaled=200)
    plain, ntk = nn.Rotary(4)(x, ids), build("ntk", ONE_LEVEL, factor=4.0).rotate(x, ids)
    expected = torch.where((ids < 200)[:, None], plain, ntk) * math.sqrt(1 + math.log(4) / math.log(64))
    assert torch.allclose(module.rotate(x, ids), expected, atol=2e-4)


def rotated_product(
    context: ScoreContext, b: int, h: int, i: int, j: int, angle_of: dict[int, Any], shape: EncodingShape, base: float
) -> float:
    """q_i · k_j / √d where pair c of the query is rotated by ``angle_of[level](c)`` against that of the key."""
    half, total = shape.head_width // 2, 0.0
    q, k = context.q[b, h, i].tolist(), context.k[b, h, j].tolist()
    for c in range(half):
        level = shape.position_levels[c * len(shape.position_levels) // half]
        query, key = complex(q[c], q[c + half]), complex(k[c], k[c + half])
        total += (query * cmath.exp(1j * angle_of[level](c)) * key.conjugate()).real
    return total / math.sqrt(shape.head_width)


@shapes
@queries
@pytest.mark.parametrize("hidden", [(), (1, 4)], ids=str)
@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("self-extend", {"near": 20, "group": 7}),
        ("rerope", {"near": 50}),
        ("rerope", {"near": 50, "leak": 0.3}),
        ("dynamic-ntk", {"length": 150}),
        ("dynamic-ntk", {"length": 150, "factor": 3.0}),
    ],
    ids=str,
)
def test_logits_equal_the_formula(shape: EncodingShape, index, hidden: tuple[int, ...], name: str, fields: dict):
    base, d = 300.0, shape.head_width
    module, context = build(name, shape, base=base, **fields), make_context(shape, index, hidden)
    # Ids that rise, as they do without coupling.
    context = ScoreContext(
        context.q, context.k, context.x, context.ids.sort(dim=1).values, context.index, context.visible
    )

    def angle(b: int, i: int, j: int, level: int, c: int) -> float:
        p, other = int(context.ids[b, i, level]), int(context.ids[b, j, level])
        distance, theta = float(p - other), base ** (-2 * c / d)
        if name == "self-extend" and distance >= fields["near"]:
            near, group = fields["near"], fields["group"]
            distance = p // group - other // group + near - near // group
        elif name == "rerope" and distance >= fields["near"]:
            distance = fields["near"] + fields.get("leak", 0.0) * (distance - fields["near"])
        elif name == "dynamic-ntk":
            n, length, factor = p + 1, fields["length"], fields.get("factor", 1.0)
            if n > length:
                theta = (base * (factor * n / length - (factor - 1)) ** (d / (d - 2))) ** (-2 * c / d)
        return distance * theta

    def expected(b: int, h: int, i: int, j: int) -> float:
        angles = {level: (lambda c, level=level: angle(b, i, j, level, c)) for level in shape.position_levels}
        return rotated_product(context, b, h, i, j, angles, shape, base)

    assert_scores(module, context, expected)


@pytest.mark.parametrize("name", [name for name in ENCODINGS if ENCODINGS.get(name).extends_rope])
def test_within_the_trained_context_nothing_changes_without_a_factor(name: str):
    known = {"factor": 1.0, "length": 500, "near": 500}
    fields = {key: value for key, value in known.items() if hasattr(ENCODINGS.get(name), key)}
    context, module = make_context(ONE_LEVEL, range(7)), build(name, ONE_LEVEL, **fields)
    rope, ids = nn.Rotary(4), context.ids
    expected = rope(context.q, ids) @ rope(context.k, ids).mT / 2
    if module.has_scores:
        found = module.scores(expected, context)
    else:
        found = module.rotate(context.q, ids) @ module.rotate_keys(context.k, ids).mT / 2
    assert np.allclose(found, expected, atol=1e-3)


def test_dynamic_ntk_works_in_pieces(monkeypatch: pytest.MonkeyPatch):
    module, context = build("dynamic-ntk", ONE_LEVEL, length=20), make_context(ONE_LEVEL, range(7))
    plain = context.q @ context.k.mT
    whole = module.scores(plain, context)
    monkeypatch.setattr("lengthwise.nn.context_extension.CHUNK", 1)
    assert torch.allclose(module.scores(plain, context), whole, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("pi", {"factor": 0.5}, "factor must be at least 1, got 0.5"),
        ("ntk", {"base": 0.0}, "base must be above 0, got 0.0"),
        ("yarn", {"alpha": 40.0}, "yarn needs 0 < alpha < beta, got 40.0 and 32.0"),
        ("llama3", {"length": 0}, "length must be at least 1, got 0"),
        ("longrope", {"length": 1}, "length must be at least 2, got 1"),
        ("dynamic-ntk", {"factor": math.inf}, "factor must be finite"),
        ("self-extend", {"group": 0}, "group must be at least 1, got 0"),
        ("rerope", {"leak": 2.0}, "leak must be at most 1, got 2.0"),
    ],
)
def test_settings_without_meaning_are_refused(name: str, fields: dict, message: str):
    with pytest.raises(LengthwiseError, match=message):
        ENCODINGS.build(name, **fields)


def test_longrope_needs_a_factor_for_each_pair():
    with pytest.raises(LengthwiseError, match="longrope needs 8 positive factors for a head width of 16, got"):
        nn.LongRoPE(16, factors=[1.0, 2.0])
