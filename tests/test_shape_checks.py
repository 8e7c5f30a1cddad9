"""The checks of shapes find a wrong shape in a function's first calls, and in one call in some afterwards."""

from __future__ import annotations

from dataclasses import dataclass

import beartype
import pytest
import torch
from jaxtyping import Float, TypeCheckError
from torch import Tensor

from lengthwise.nn.base import all_levels
from shape_checks import FIRST, ONE_IN, some_calls


def test_a_function_of_the_package_is_checked() -> None:
    wrong = torch.zeros(2, 3)

    def some_calls_of_it() -> None:
        for _ in range(ONE_IN):
            all_levels(wrong)

    with pytest.raises(TypeCheckError):
        some_calls_of_it()


def test_fields_of_a_dataclass_are_checked() -> None:
    @some_calls(typechecker=beartype.beartype)
    @dataclass(frozen=True)
    class Rows:
        values: Float[Tensor, "B T"]

    @some_calls(typechecker=beartype.beartype)
    @dataclass(frozen=True)
    class Others:
        values: Float[Tensor, "B T"]

    # Classes with the same fields are counted apart.
    for made in (Rows, Others):
        for _ in range(FIRST):
            with pytest.raises(TypeCheckError):
                made(torch.zeros(3))
    assert Rows(torch.zeros(2, 3)).values.shape == (2, 3)


def test_the_first_calls_are_checked_and_then_one_in_some() -> None:
    @some_calls(typechecker=beartype.beartype)
    def largest(x: Float[Tensor, "B T"]) -> Float[Tensor, " B"]:
        return x.amax(-1)

    def found() -> bool:
        try:
            largest(torch.zeros(2, 3, 4))
        except TypeCheckError:
            return True
        return False

    assert all(found() for _ in range(FIRST))
    assert sum(found() for _ in range(10 * ONE_IN)) == 10
    assert largest(torch.zeros(2, 3)).shape == (2,)


Rows = Float[Tensor, "B T"]


def test_a_name_for_a_shape_is_a_shape_and_what_has_none_is_left_alone() -> None:
    def named(x: list[Rows]) -> None:
        """Its shapes have a name."""

    def plain(x: Tensor) -> list[int]:
        return [x.ndim]

    checked = some_calls(typechecker=beartype.beartype)
    assert checked(plain) is plain
    with pytest.raises(TypeCheckError):
        checked(named)([torch.zeros(3)])
