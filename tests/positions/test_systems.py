"""Position systems: names, fragments, inclusion."""

from __future__ import annotations

import itertools

import pytest

from lengthwise.core.errors import UnknownNameError
from lengthwise.crasp.program import FRAGMENTS
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.system import SYSTEMS, contains, position_systems


def test_names_are_unique_and_schemes_exist() -> None:
    assert len({system.known_as for system in SYSTEMS}) == len(SYSTEMS)
    assert {system.registered_scheme for system in SYSTEMS} <= set(SCHEMES)
    assert all(system.theorem for system in SYSTEMS)


def test_inclusion_is_a_partial_order_with_ends() -> None:
    for a, b, c in itertools.product(FRAGMENTS, repeat=3):
        assert contains(a, a)
        assert not (contains(a, b) and contains(b, c)) or contains(a, c)
        assert a == b or not (contains(a, b) and contains(b, a))
    assert all(contains("ape", fragment) and contains(fragment, "none") for fragment in FRAGMENTS)
    assert not contains("local", "periodic")
    assert not contains("periodic", "local")


def test_choosing() -> None:
    assert position_systems([]) == SYSTEMS
    assert [system.known_as for system in position_systems(["ppc", "learned"])] == ["ape", "predictive-coupling"]
    with pytest.raises(UnknownNameError, match=r"unknown position system 'rop'\. Did you mean 'rope'"):
        position_systems(["rop"])
