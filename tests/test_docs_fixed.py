"""The page of settings fixed beforehand: its sentences on depth, computed from the result files."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

import fixed_tables

from page_text import assert_on


class Row(NamedTuple):
    """One system: its configuration, how many seeds fit, and each seed's rate in and beyond the training lengths."""

    configuration: int
    fitted: str
    rates: tuple[list[float], ...]

    @property
    def middle(self) -> list[float]:
        """On 101–150 symbols."""
        return self.rates[2]

    @property
    def longest(self) -> list[float]:
        """On 201–300 symbols."""
        return self.rates[4]


def rows() -> dict[tuple[int, int], Row]:
    """By d and k."""
    found = {}
    for system, configuration, fitted, *rates in fixed_tables.depth():
        d, k = (int(part.split(" = ")[1]) for part in system.split(", "))
        found[d, k] = Row(int(configuration), fitted, tuple([float(word) for word in rate.split()] for rate in rates))
    return found


def test_depth_carries_two_blocks_more_and_not_three() -> None:
    by_depth = rows()
    assert list(by_depth) == [(d, d + more) for d in (1, 2, 3, 4) for more in (2, 3)]
    fewer, more = ([by_depth[d, d + extra] for d in (1, 2, 3, 4)] for extra in (2, 3))
    assert {(row.configuration, row.fitted) for row in fewer} == {(1, "5 of 5")}
    held = [rate == 1.0 for row in fewer for rate in row.longest]
    lost = sorted(rate for row in fewer for rate in row.longest if rate < 1)
    assert sum(held) + len(lost) == len(held) == 20
    assert [sum(rate == 1.0 for rate in row.longest) for row in fewer] == [5, 5, 4, 3]
    highest = max(rate for row in more for rate in row.longest)
    assert_on(
        "fixed-beforehand",
        f"On 201–300 symbols {sum(held)} of 20 seeds with k = d + 2 are at 1.00 and the other three at "
        f"{lost[0]:.2f} to {lost[-1]:.2f}; of 20 seeds with k = d + 3 none is above {highest:.2f}.",
        "At d = 1 and d = 2 all ten seeds are at 1.00. "
        f"At d = 3 one of five is not ({min(fewer[2].longest):.2f}), at d = 4 two are not "
        "({:.2f} and {:.2f}).".format(*sorted(fewer[3].longest)[:2]),
        f"and no seed is above {highest:.2f} on 201–300",
    )
    assert_on("index", f"d + 2 blocks hold to 300 symbols in {sum(held)} of 20 seeds, d + 3 in none")


def test_three_blocks_more_fit_from_depth_2_on_and_look_well_at_three_times_the_length() -> None:
    first, second, third, fourth = (rows()[d, d + 3] for d in (1, 2, 3, 4))
    assert first.fitted == "0 of 5"
    assert [row.fitted for row in (second, third, fourth)] == ["5 of 5"] * 3
    assert (second.configuration, third.configuration, fourth.configuration) == (3, 1, 2)
    assert median(second.middle) < 0.7
    assert_on(
        "fixed-beforehand",
        f"are above its cut of 0.7 in the median ({median(third.middle):.2f} and {median(fourth.middle):.2f})",
    )
