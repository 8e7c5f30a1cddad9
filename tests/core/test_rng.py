"""Streams with names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.rng import stream

NAMES = st.lists(st.integers() | st.text(), max_size=4)


def _draw(seed: int, names: list[int | str]) -> list[int]:
    return stream(seed, *names).integers(2**63, size=4).tolist()


@given(st.integers(), NAMES)
def test_the_same_names_give_the_same_stream(seed: int, names: list[int | str]) -> None:
    assert _draw(seed, names) == _draw(seed, names)


@given(st.integers(), NAMES, st.integers(), NAMES)
def test_other_names_give_another_stream(
    seed: int, names: list[int | str], other_seed: int, others: list[int | str]
) -> None:
    assert (_draw(seed, names) == _draw(other_seed, others)) == ((seed, names) == (other_seed, others))


def test_near_misses_are_told_apart() -> None:
    draws = [
        _draw(0, names) for names in ([], ["1"], [1], ["a", "bc"], ["ab", "c"], ["a\x1fb"], ["a", "b"], ["a'", "b"])
    ]
    assert len({tuple(draw) for draw in draws}) == len(draws)


def test_numbers_of_numpy_are_the_numbers_that_they_are() -> None:
    assert _draw(np.int64(3), ["train", np.int32(5)]) == _draw(3, ["train", 5])  # type: ignore[arg-type, list-item]


@pytest.mark.parametrize("name", [1.5, None, True, ("a",), np.random.default_rng(0)])
def test_names_whose_text_may_differ_are_refused(name: object) -> None:
    with pytest.raises(TypeError, match="seeds and names of streams are whole numbers and strings"):
        stream(0, name)  # type: ignore[arg-type]
