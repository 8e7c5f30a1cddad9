"""The page of settings fixed beforehand: its sentences, computed from the result files."""

from __future__ import annotations

import json
from statistics import median
from typing import NamedTuple

import fixed_tables
import pytest
from ladder_tables import LISTS, cells, of_list
from table_parts import RESULTS

from lengthwise.experiments.run_directory import finished, run_directory
from page_text import ROOT, assert_on


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


def _seeds(rates: str) -> list[float]:
    return [float(word) for word in rates.split() if word != "–"]


def _range(rates: list[float]) -> str:
    return f"{min(rates):.2f}" if min(rates) == max(rates) else f"{min(rates):.2f} to {max(rates):.2f}"


def test_predictive_position_coupling_with_new_seeds() -> None:
    parity = {system: rates for system, _, _, *rates in fixed_tables.figure_2()}
    for rates in (parity["scratchpad + PPC"], parity["scratchpad + given ids"]):
        assert {rate for cell in rates[1:-1] for rate in _seeds(cell)} == {1.0}
    assert _seeds(parity["scratchpad + given ids"][-1]) == [1.0] * 5
    without = [parity[f"{scheme}, no scratchpad"] for scheme in ("RoPE + PoSE", "NoPE")]
    assert max(rate for cells in without for cell in cells[3:] for rate in _seeds(cell)) < 0.54
    at_30 = [rate for cells in without for rate in _seeds(cells[1])]
    assert len(at_30) == 10
    assert_on("fixed-beforehand", f"fit to 20 bits in every seed, are at {_range(at_30)} at 30 bits")
    for system in ("scratchpad + RoPE", "scratchpad + RoPE + PoSE"):
        assert {rate for cell in parity[system][1:] for rate in _seeds(cell)} == {0.0}
    last = sorted(_seeds(parity["scratchpad + PPC"][-1]))
    assert last[1:] == [1.0] * 4
    four, one = (
        _seeds(next(row for row in fixed_tables.figure_3(chains) if row[0] == "scratchpad + PPC")[-2])
        for chains in (4, 1)
    )
    assert len(four) == len(one) == 5
    (stops,) = [row[-2] for row in fixed_tables.stops() if row[0] == "scratchpad + PPC"]
    assert stops.startswith("0 of ")
    assert_on(
        "fixed-beforehand",
        f"at 200 bits one seed of PPC is at {last[0]:.2f}",
        f"At 400 lines, 50 times the training length, four chains are at {_range(four)} and one chain at {_range(one)}",
        f"parity with a scratchpad to 200 bits ({_range(last)}), variable assignment to 400 lines "
        f"(four chains {_range(four)}, one chain {_range(one)})",
        f"None of the {stops.removeprefix('0 of ')} wrong strings of that length",
    )
    assert_on("variable-assignment", f"are lower**: {_range(four)} with 4 chains, {_range(one)} with one chain")
    assert_on(
        "index",
        f"five new seeds, under the same settings: {min(*four, *one):.2f} or above",
        f"five new seeds of PPC: {last[0]:.2f} or above",
    )
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"reach {_range(four)} at 400 lines in four chains, and {_range(one)} in a single chain" in readme


def test_fitted_replacements_on_parity() -> None:
    runs = {system.head[0]: system for system in fixed_tables.speaking("golowich-parity")}
    shift = runs["scratchpad + absolute shift"]
    assert (shift.head[1], shift.head[2]) == ("2", "3 of 5")
    right, strings = 0, 0
    for name in ("RoPE", "RoPE + PoSE", "absolute shift"):
        for run in runs[f"scratchpad + {name}"].runs:
            beyond = [score for score in run.scores if score.length >= 30 and run.fitted]
            right += sum(score.correct["exact_match"] for score in beyond)
            strings += sum(score.n for score in beyond if score.length == 30)
    assert_on("fixed-beforehand", f"they and RoPE are right on {right} of {strings:,} traces of 30 bits")
    job = shift.job
    first = [
        finished(run_directory(RESULTS, "golowich-parity", job.experiment, n), job.experiment, n) for n in job.seeds
    ]
    found = [run.in_distribution.rate() for run in first if run is not None]
    assert len(found) == 5
    assert_on("fixed-beforehand", f"no seed in its first configuration ({_range(found)} in distribution)")


def test_a_thousand_lines() -> None:
    name = "scratchpad + PPC, 1,000 lines"
    four, one = (
        [_range(_seeds(cell)) for cell in next(row for row in fixed_tables.figure_3(chains) if row[0] == name)[-2:]]
        for chains in (4, 1)
    )
    (stops,) = [row[-1] for row in fixed_tables.stops() if row[0] == name]
    assert stops.startswith("0 of ")
    wrong = int(stops.removeprefix("0 of "))
    assert_on(
        "fixed-beforehand",
        f"four chains are at {four[1]} on 1,000 lines and one chain at {one[1]}; "
        f"at 400 lines at {four[0]} and {one[0]}.",
        f"None of its {wrong:,} wrong strings of 1,000 lines is a failure to stop.",
        f"four chains {four[1]}, one chain {one[1]}.",
    )
    assert_on("variable-assignment", f"there four chains are at {four[1]} and one chain at {one[1]}.")
    assert_on("index", f"1,000 lines: {four[1]}, in one chain {one[1]}")
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"at 1,000 lines {four[1]} and {one[1]}" in readme


@pytest.mark.parametrize("name", ["absolute shift", "RoPE + PoSE"])
def test_fitted_replacements_on_more_lines(name: str) -> None:
    system = f"scratchpad + {name}"
    four, one = (next(row for row in fixed_tables.figure_3(chains) if row[0] == system) for chains in (4, 1))
    assert four[1:3] == one[1:3] == ["1", "4 of 5"]
    twice, fourfold = ([_seeds(row[at]) for row in (four, one)] for at in (4, 5))
    later = {rate for row in (four, one) for cell in row[6:-1] for rate in _seeds(cell)}
    assert later == {0.0} == set(fourfold[1])
    (stops,) = [row[1:-1] for row in fixed_tables.stops() if row[0] == system]
    failed, wrong = (sum(int(cell.split(" of ")[part]) for cell in stops) for part in (0, 1))
    assert_on(
        "fixed-beforehand",
        f"four chains are at {_range(twice[0])} and one chain at {_range(twice[1])}; on 32 lines at "
        f"{_range(fourfold[0])} and 0.00; from 80 lines on no string is right.",
        f"{failed} of its {wrong:,} wrong strings have their first error at the end.",
    )
    above = [rate for rate in twice[1] if rate > 0]
    assert above == ([0.61] if name == "absolute shift" else [])


def test_without_slots() -> None:
    name = "scratchpad + PPC, no slots"
    four, one = (next(row for row in fixed_tables.figure_3(chains) if row[0] == name) for chains in (4, 1))
    assert four[1:3] == one[1:3] == ["1", "4 of 5"]
    at = {lines: [_seeds(row[column]) for row in (four, one)] for lines, column in ((16, 4), (80, 6), (400, 8))}
    assert {rate for rates in at[400] for rate in rates} == {0.0}
    assert_on(
        "fixed-beforehand",
        f"On 16 lines four chains are at {_range(at[16][0])} and one chain at {_range(at[16][1])}; on 80 lines at "
        f"{_range(at[80][0])} and {_range(at[80][1])}, on 400 lines at 0.00.",
    )


def test_without_a_scratchpad_assignment_does_not_fit() -> None:
    (row,) = [row for row in fixed_tables.figure_3(4) if row[0] == "RoPE + PoSE, no scratchpad"]
    assert row[2] == "0 of 5"
    inside, beyond = _seeds(row[3]), [rate for cell in row[4:9] for rate in _seeds(cell)]
    assert len(beyond) == 25
    assert_on(
        "fixed-beforehand",
        f"fits in no seed ({min(inside):.3f} to {max(inside):.3f} in distribution). "
        f"From 16 lines on four chains are at {_range(beyond)}",
    )


def test_induction_to_25_symbols() -> None:
    (row, *others) = fixed_tables.look_back("standard")
    assert (row[0], row[2], others) == ("learned, t = 1", "5 of 5", [])
    at_50, at_75 = _range(_seeds(row[-2])), _range(_seeds(row[-1]))
    assert_on("fixed-beforehand", f"its seeds are at {at_50} on 50 symbols and at {at_75} on 75.")


def test_induction_at_a_distance_falls_with_learned_positions_and_ends_without() -> None:
    found = {system: rates for system, *_, rates in [(row[0], row[3:]) for row in fixed_tables.look_back("quick")]}
    learned, without = (
        [[_seeds(found[f"{scheme}, t = {t}"][1 + more]) for t in (1, 2, 3)] for more in (1, 2)]
        for scheme in ("learned", "NoPE")
    )
    assert {rate for seeds in (*without[0], *without[1]) for rate in seeds} == {0.0}
    twice, thrice = ([rate for seeds in of_length for rate in seeds] for of_length in learned)
    assert len(twice) == len(thrice) == 15
    assert_on(
        "fixed-beforehand",
        f"with learned positions seeds are at {_range(twice)} on 20 symbols and at {_range(thrice)} on 30",
        f"each seed falls, to {min(thrice):.2f}–{max(thrice):.2f} at three times",
    )


def test_unions() -> None:
    rows = fixed_tables.unions()
    held = {(relation, width): extrapolates for relation, width, *_, extrapolates in rows}
    assert held.pop(("j = i-12 or i-j mod 5 = 0", "32")) == "2 of 5"
    assert set(held.values()) == {"0 of 5"}
    assert len(held) == 7
    (errors,) = [row[2] for row in rows if row[:2] == ["j = i-12 or i-j mod 5 = 0", "32"]]
    assert_on("fixed-beforehand", f"two of five seeds are below the limit of 4.0 (median {errors.split()[0]})")


def outcomes(encoding: str, verdict: str) -> dict[str, bool | None]:
    """For the languages that theory gives this verdict: whether the cell behaves so; None where it is undecided."""
    found = [row for row in cells("variants") if row["encoding"] == encoding and row["predicted"] == verdict]
    return {row["language"]: row["right"] for row in found}


def medians(encoding: str, verdict: str, *, right: bool) -> list[float]:
    """The medians on 101–150 symbols of the decided cells of this verdict that behave so, or do not."""
    found = [row for row in cells("variants") if row["encoding"] == encoding and row["predicted"] == verdict]
    return [row["score"] for row in found if row["right"] is right]


PLAIN, REGULARIZED = "ape-no-qk-norm", "ape+reg"


def test_the_regularizer_changes_no_outcome() -> None:
    assert len(cells("variants")) == 48
    both = []
    for verdict in ("yes", "no"):
        plain, regularized = outcomes(PLAIN, verdict), outcomes(REGULARIZED, verdict)
        both += [(plain[name], regularized[name]) for name in plain if None not in {plain[name], regularized[name]}]
    assert all(first == second for first, second in both)
    assert_on(
        "fixed-beforehand", f"In the {len(both)} languages that are decided both with it and without, the outcome"
    )
    failed = []
    for encoding in (PLAIN, REGULARIZED):
        assert len(outcomes(encoding, "yes")) == 6
        assert list(outcomes(encoding, "yes").values()).count(True) == 2
        assert False not in outcomes(encoding, "no").values()
        failed += medians(encoding, "yes", right=False)
    assert_on("fixed-beforehand", f"their medians are at {max(failed):.2f} or less on 101–150 symbols.")


def test_rope_holds_in_no_language_that_needs_a_period() -> None:
    hoped = outcomes("rope", "yes")
    assert list(hoped.values()) == [False] * 3
    assert None not in outcomes("rope", "no").values()
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "it holds in none of its three *yes*, ALiBi in all three of its own" in readme
    failed, surprising = medians("rope", "yes", right=False), medians("rope", "no", right=False)
    assert_on("fixed-beforehand", f"the medians of these are at {max(failed):.2f} or less.")
    assert_on("fixed-beforehand", f"One of its nine *no* holds ({surprising[0]:.2f}).")
    assert (len(surprising), len(outcomes("rope", "no"))) == (1, 9)
    for encoding in (PLAIN, REGULARIZED):
        assert [outcomes(encoding, "yes")[name] for name in hoped].count(True) == 1


def test_alibi_holds_in_every_language_that_needs_a_window() -> None:
    hoped = outcomes("alibi", "yes")
    assert list(hoped.values()) == [True] * 3
    assert not set(hoped) & set(outcomes("rope", "yes"))
    decided = [right for verdict in ("yes", "no") for right in outcomes("alibi", verdict).values() if right is not None]
    assert all(decided)
    assert_on("fixed-beforehand", f"**ALiBi behaves as theory says in all {len(decided)} decided cells.**")
    for encoding in (PLAIN, REGULARIZED):
        assert [outcomes(encoding, "yes")[name] for name in hoped].count(True) == 1


def test_the_page_of_verdicts_has_these_counts() -> None:
    held = {name: list(outcomes(name, "yes").values()) for name in ("alibi", "rope")}
    words = " ".join((ROOT / "docs/verdicts.md").read_text(encoding="utf-8").split())
    counts = {name: f"{right.count(True)} of {len(right)}" for name, right in held.items()}
    assert f"each *yes* for `alibi` held ({counts['alibi']}) and none for `rope` ({counts['rope']})" in words
    hoped = [row for row in cells("variants") if row["encoding"] in held and row["predicted"] == "yes"]
    assert {row["fitted"] for row in hoped} == {5}


def test_ten_expressions() -> None:
    found = cells("ten-expressions")
    decided = [row for row in found if row["right"] is not None]
    assert (len(decided), len(found)) == (17, 20)
    assert all(row["right"] and row["predicted"] == "yes" for row in decided)
    assert {row["expression"]: row["encoding"] for row in found if row["predicted"] == "no"} == {
        "(aa|b)*": "nope",
        "((a|b)(a|b))*": "nope",
    }
    assert_on("fixed-beforehand", "17 of the 20 cells are decided, and all 17 behave as theory says.")


def test_rivals_on_other_positions() -> None:
    made = of_list("variants")
    ours = made["ours"]
    assert_on(
        "fixed-beforehand", f"{ours['cells']} cells are decided, and {ours['right']} of them behave as theory says"
    )
    assert_on(
        "fixed-beforehand", f"a balanced accuracy of {ours['balanced_accuracy']:.3f}. The best of the nine rivals"
    )
    assert len(made["rivals"]) == 9
    assert_on("fixed-beforehand", f"rivals has {max(made['rivals'].values()):.3f}.")
    never = ours["not_generalizing"]["cells"]
    assert max(rival["right"] for rival in made["rival_details"].values()) == never
    assert_on("fixed-beforehand", f"says *no* to all of them is right in {never}.")


@pytest.mark.parametrize("folder", LISTS)
def test_committed_tables_are_made_from_the_files(folder: str) -> None:
    committed = json.loads((RESULTS / folder / "study" / "table.json").read_text(encoding="utf-8"))
    assert committed == json.loads(json.dumps(of_list(folder)))
    assert committed["complete"]
