"""Encodings and windows by layer: patterns, what a layer gets, and what a window hides."""

from __future__ import annotations

import math

import pytest
import torch
from test_encoding_formulas import THREE_LEVELS

from lengthwise import nn
from lengthwise.core.errors import LengthwiseError
from lengthwise.positions.encodings import ENCODINGS, LayersSpec
from lengthwise.positions.schemes import Sequential
from oracle import rough_model, some_inputs

SCHEME = Sequential(max_position=40)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rope", [("rope", None, 1)]),
        ("rope*3+nope", [("rope", None, 3), ("nope", None, 1)]),
        (" rope(base=500.0, window=8) * 2 + kerple-power ", [("rope", 8, 2), ("kerple", None, 1)]),
        ("kerple(form=power)+alibi(window=1)", [("kerple", None, 1), ("alibi", 1, 1)]),
    ],
)
def test_patterns_are_read(text: str, expected: list[tuple[str, int | None, int]]):
    assert [(part.encoding.name, part.window, part.times) for part in LayersSpec(text).parts] == expected


def test_a_pattern_is_an_encoding_with_that_label():
    spec = ENCODINGS.build("rope(window=8)*3+nope")
    assert spec == LayersSpec("rope(window=8)*3+nope") == ENCODINGS.build("layers", pattern="rope(window=8)*3+nope")
    assert spec.label == "rope(window=8)*3+nope"
    assert ENCODINGS.build(ENCODINGS.describe(spec)) == spec
    assert spec.uses_ids
    assert not ENCODINGS.build("nope(window=8)").uses_ids
    assert ENCODINGS.build("learned+nope").has_table
    assert not ENCODINGS.build("rope+fire").translation_invariant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rop*3+nope", "Did you mean 'rope'"),
        ("rope*0+nope", "at least one layer"),
        ("rope(window=0)+nope", "a window must be a whole number of at least 1"),
        ("rope(window=many)+nope", "a window must be a whole number of at least 1"),
        ("rope(wide=3)+nope", "unknown field"),
        ("rope(8)+nope", "need the form name=value"),
        ("rope++nope", "is no part of a pattern"),
        ("rope*two", "is no part of a pattern"),
        ("rope+layers", "can't contain the encoding 'layers'"),
    ],
)
def test_patterns_without_meaning_are_refused_in_one_line(text: str, message: str):
    with pytest.raises(LengthwiseError, match=message) as error:
        ENCODINGS.build(text)
    assert "\n" not in str(error.value)


def test_a_pattern_longer_than_the_model_is_refused():
    with pytest.raises(LengthwiseError, match="names 4 layers, but the model has 2; raise model"):
        rough_model("copy", SCHEME, "rope*3+nope")


def test_layers_of_a_part_share_it_and_only_one_part_has_slots():
    module = ENCODINGS.build("fire*2+alibi+fire").build(THREE_LEVELS)
    one, two, three, four, five = (module.layer(index) for index in range(5))
    assert one is two is five
    assert len({one, three, four}) == 3
    assert [part.slots is not None for part in (one, three, four)] == [True, False, False]


def test_a_window_hides_what_is_before_it():
    """In two layers of window 3 a token depends on 4 tokens before it and on none earlier."""
    model = rough_model("copy", SCHEME, "rope(window=3)")
    inputs = some_inputs("copy", SCHEME, length=6)
    before = model(inputs.input_ids, inputs.position_ids).logits
    other = inputs.input_ids.clone()
    other[:, 2] = 4 + (other[:, 2] - 3) % 4
    differs = (model(other, inputs.position_ids).logits - before).abs().amax((0, 2)) > 1e-6
    assert differs.tolist() == [2 <= t <= 6 for t in range(differs.numel())]
    weights = model.attention(inputs.input_ids, inputs.position_ids, slice(None))
    ages = torch.arange(weights.shape[3])[:, None] - torch.arange(weights.shape[3])
    assert torch.equal(weights > 0, ((ages >= 0) & (ages < 3)).expand_as(weights))


def test_a_wide_window_changes_nothing():
    wide, plain = rough_model("copy", SCHEME, "rope(window=500)"), rough_model("copy", SCHEME, "rope")
    inputs = some_inputs("copy", SCHEME, length=6)
    outputs = [model(inputs.input_ids, inputs.position_ids).logits for model in (wide, plain)]
    assert torch.equal(*outputs)
    assert math.isfinite(outputs[0].sum().item())


@pytest.mark.parametrize(
    ("parts", "order", "message"),
    [([], None, "is empty"), ([nn.NoPE()], [0, 1], "must name parts by the numbers 0 to 0")],
)
def test_modules_without_meaning_are_refused(parts: list, order: list[int] | None, message: str):
    with pytest.raises(LengthwiseError, match=message):
        nn.LayerEncodings(parts, order)
