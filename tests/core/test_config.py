"""Strict configuration that round-trips through JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.config import apply_edits, canonical_json, config, digest, fields_of, from_fields, parse_value
from lengthwise.core.errors import LengthwiseError


@config
class Inner:
    width: int = 4


@config
class Outer:
    rate: float = 0.5
    sizes: tuple[int, ...] = (1, 2)
    inner: Inner = Inner()
    label: str | None = None


@given(st.floats(allow_nan=False, allow_infinity=False), st.lists(st.integers()), st.integers(), st.none() | st.text())
def test_json_round_trip(rate: float, sizes: list[int], width: int, label: str | None) -> None:
    one = Outer(rate=rate, sizes=tuple(sizes), inner=Inner(width=width), label=label)
    text = canonical_json(fields_of(one))
    assert from_fields(Outer, json.loads(text), where="it") == one
    assert digest(json.loads(text)) == digest(fields_of(one))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rat": 1.0}, "unknown field of it 'rat'. Did you mean 'rate'?"),
        ({"rate": "1.0"}, "it: rate must be a number, got '1.0'"),
        ({"inner": {"width": 1.5}}, "it: inner.width must be a whole number"),
        ({"inner": {"depth": 1}}, "it: inner.depth: unexpected keyword argument, got 1"),
        ({"sizes": [True]}, "it: sizes.0 must be a whole number, got True"),
    ],
)
def test_mistakes_are_one_line_that_says_where(values: dict, message: str) -> None:
    with pytest.raises(LengthwiseError) as caught:
        from_fields(Outer, values, where="it")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_edits_change_what_exists_and_nothing_else() -> None:
    values = fields_of(Outer())
    edited = apply_edits(values, ["inner.width=7", "label=long run", "sizes=[3]"])
    assert edited == {"rate": 0.5, "sizes": [3], "inner": {"width": 7}, "label": "long run"}
    assert values == fields_of(Outer())
    for edit, message in [
        ("inner.widht=7", "unknown setting 'inner.widht'. Did you mean 'inner.width'?"),
        ("iner.width=7", "unknown setting 'iner'. Did you mean 'inner'?"),
        ("rate.x=1", "unknown setting 'rate.x'. None is known."),
        ("rate", "changes needs key=value, got 'rate'; write e.g. training.steps=100"),
    ]:
        with pytest.raises(LengthwiseError) as caught:
            apply_edits(values, [edit])
        assert str(caught.value) == message


def test_a_field_of_the_task_is_named_with_task_or_without() -> None:
    inside = {"task": {"name": "addition", "base": 10}, "scheme": {"name": "coupled"}}
    assert apply_edits(inside, ["base=2"]) == apply_edits(inside, ["task.base=2"]) != inside
    assert apply_edits(inside["task"], ["base=2"]) == apply_edits(inside["task"], ["task.base=2"]) != inside["task"]
    # What is there as it was written goes first.
    nested = {"task": {"task": {"task": 1}}}
    assert apply_edits(nested, ["task.task.task=2"]) == {"task": {"task": {"task": 2}}}
    with pytest.raises(LengthwiseError, match=r"'bas'.*task\.base"):
        apply_edits(inside, ["bas=2"])


def test_values_are_json_or_text() -> None:
    assert [parse_value(text) for text in ("3", "3.5", "true", "null", "[1]", "rope", "'x'")] == [
        3, 3.5, True, None, [1], "rope", "'x'",
    ]  # fmt: skip
