"""Couplings of tasks whose answer has about a half or a third of the symbols, and of other affine layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from lengthwise.core.config import fields_of
from lengthwise.core.rng import Rng, stream
from lengthwise.prediction.couple import search
from lengthwise.sparsity.coupling import (
    ColumnRange,
    NoCouplingError,
    PlaceFormula,
    check_coupling,
    find_segments,
    propose_coupling,
)
from lengthwise.sparsity.dependence import Dependencies, estimate_dependencies
from lengthwise.tasks.recoupled import COPY_RULE


def letters(n: int, rng: Rng) -> list[str]:
    return [*rng.choice(list("abcd"), size=n).tolist(), "="]


def pairs(n: int, rng: Rng) -> list[str]:
    return [*letters(n, rng)[:-1], "|", *letters(n, rng)]


ORACLES: dict[str, tuple[Callable[[Sequence[str]], list[str]], Callable[[int, Rng], list[str]]]] = {
    "every second": (lambda p: [*p[:-1][::2], "."], letters),
    "every third": (lambda p: [*p[:-1][::3], "."], letters),
    "first half": (lambda p: [*p[: len(p[:-1]) // 2], "."], letters),
    "last half": (lambda p: [*p[(len(p) - 1) // 2 : -1], "."], letters),
    "first half reversed": (lambda p: [*p[: len(p[:-1]) // 2][::-1], "."], letters),
    "interleaved": (lambda p: [x for k in range(len(p) // 2 - 1) for x in (p[k], p[len(p) // 2 + k])] + ["."], pairs),
    "twice each": (lambda p: [x for x in p[:-1] for _ in range(2)] + ["."], letters),
}


def known(name: str, lengths: Sequence[int]) -> dict[int, Dependencies]:
    oracle, sampler = ORACLES[name]
    return {
        n: estimate_dependencies(oracle, sampler, n, stream(0, name, n), bases=60, groups=30, resamples=8)
        for n in lengths
    }


@pytest.mark.parametrize("name", ORACLES)
def test_a_coupling_is_found_and_holds_at_new_lengths(name: str) -> None:
    oracle, sampler = ORACLES[name]
    estimated, rule, reason = search(range(4, 30), lambda n: known(name, [n])[n])
    assert rule is not None, reason
    assert len(estimated) in (3, 6)
    later = known(name, (12, 19))
    check = check_coupling(rule, {**estimated, **later}, (*estimated, 12, 19))
    assert check.holds, (rule.describe(), check.problems)
    for n in (12, 19, 23):
        prompt = sampler(n, stream(1, n))
        assert len(rule.places(n)) == len(prompt) + len(oracle(prompt))


def test_three_lengths_are_not_enough_for_a_divisor() -> None:
    """Sizes 2, 3, 3 at lengths 4, 5, 6 fit several rules; six lengths tell them apart."""
    found = known("every second", range(4, 10))
    assert find_segments([found[n] for n in (4, 5, 6)]) is None
    segments = find_segments([found[n] for n in range(4, 10)])
    assert segments is not None
    assert segments[2] == ColumnRange(1, 1, in_prompt=False, varies=True, divisor=2)


def test_the_size_formula_is_the_ceiling_and_is_shown_as_one() -> None:
    half = ColumnRange(1, 1, in_prompt=False, varies=True, divisor=2)
    assert [half.size(n) for n in range(1, 9)] == [-(-n // 2) for n in range(1, 9)]
    assert half.describe() == "answer, floor((n + 1) / 2) symbols"
    end = PlaceFormula(2, 1, 0, offset=1, divisor=2)
    assert end.describe() == "place floor((n + 1) / 2) + 2"
    assert end(np.arange(1), 5).tolist() == [5]


def test_fields_that_came_later_do_not_change_the_json_of_older_rules() -> None:
    """Run directories are named by this JSON."""
    for part in ("segments", "formulas"):
        for value in fields_of(COPY_RULE)[part]:
            assert value is None or not {"divisor", "offset"} & set(value)
    halved = replace(COPY_RULE, segments=(ColumnRange(1, 1, in_prompt=True, varies=True, divisor=2),))
    assert fields_of(halved)["segments"][0]["divisor"] == 2


def test_a_layout_that_changes_within_a_length_says_what_to_change() -> None:
    """Prompts of 4, 6 and 7 symbols at lengths 4, 5 and 6, as drawn operands give them."""
    sizes = {4: 4, 5: 6, 6: 7}
    uneven = [
        Dependencies(
            n, size + 1, tuple((j,) for j in range(size)), tuple(map(frozenset, ["ab"] * size + ["="] + ["ab"] * size))
        )
        for n, size in sizes.items()
    ]
    message = "not affine in the length: 9, 13, 15 tokens at lengths 4, 5, 6; write operands of one length each, padded"
    with pytest.raises(NoCouplingError, match=message):
        propose_coupling(uneven)


def test_tokens_that_vary_at_some_lengths_alone_are_not_called_a_layout() -> None:
    """There are 2n + 1 tokens, as a rule needs; the last one of the answer is always the same at length 5."""
    uneven = [
        Dependencies(
            n, n + 1, tuple((j,) for j in range(n)),
            tuple(map(frozenset, ["ab"] * n + ["="] + ["ab"] * (n - 1) + ["a" if n == 5 else "ab"])),
        )
        for n in (4, 5, 6)
    ]  # fmt: skip
    with pytest.raises(NoCouplingError, match="the same in all strings changes from length to length"):
        propose_coupling(uneven)
