"""The page of a comparison: the answer and the curve first, then the table, and what a reader must know about it."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from made_up import result, score
from made_up_pages import comparison_systems, comparison_values

from lengthwise.cli.console import again
from lengthwise.core.rank import reach
from lengthwise.report.answer import SURE
from lengthwise.report.pages import (
    comparison_answer,
    comparison_finding,
    comparison_page,
    comparison_table,
    details_of,
    next_rung,
    notes_of,
    what_next,
)
from lengthwise.report.summary import SeedResult, ranked, summarize
from lengthwise.report.terminal import ranking_text
from lengthwise.tasks import TASKS


def notes(**changes: Any) -> str:
    values = {**comparison_values(), **changes}
    return " | ".join((*notes_of(values), *details_of(values)))


def test_the_finding_and_the_curve_stand_before_the_table() -> None:
    html = comparison_page(comparison_values(), comparison_systems())
    assert "band: lowest and highest" in html.replace("Band", "band")
    assert "Wilson" not in html
    order = ["is right in tests up to 48, the longest", "<svg", ">beyond<", 'class="note"']
    assert [html.index(text) for text in order] == sorted(html.index(text) for text in order)


@pytest.mark.parametrize(
    ("fitted", "finished", "left"), [(3, 3, ""), (0, 3, "Not fitted yet, so unknown"), (0, 0, "Not finished")]
)
def test_the_finding_names_the_systems_of_which_nothing_is_known(fitted: int, finished: int, left: str) -> None:
    values = comparison_values()
    for row in values["systems"]:
        row |= {"fitted": 3, "seeds": values["systems"][0]["seeds"]}
    last = values["systems"][-1]
    last |= {"fitted": fitted, "seeds": last["seeds"][:finished]}
    said = comparison_finding(values)
    assert ("Not f" in said) is bool(left)
    assert not left or f" {left}: {last['system']}." in said


@pytest.mark.parametrize("count", [2, 4, 9])
@pytest.mark.parametrize("tests", [(6, 12), (6, 9, 12, 18, 24, 36, 48), tuple(range(1000, 3000, 100))])
@pytest.mark.parametrize("rate", [0.0, 0.9499, 0.95, 1.0])
def test_the_lines_of_a_terminal_agree_with_each_other(count: int, tests: tuple[int, ...], rate: float) -> None:
    """A line for each system, within 80 columns; the median is at least 95 right up to the median reach."""
    values = comparison_values(count, tests)
    for row in values["systems"]:
        for seed in row["seeds"][:1]:
            seed["exact_match"] |= dict.fromkeys(map(str, tests[1:]), rate)
        for seed in row["seeds"]:
            seed["reach"] = reach({int(n): of for n, of in seed["exact_match"].items()})
    text = ranking_text(values)
    head, *lines = text.splitlines()
    assert max(map(len, text.splitlines())) <= 80
    kept = head.split()[3:-2]
    for row in values["systems"]:
        assert row["system"] in text
        if row["fitted"]:
            line = next(line for line in lines if line.startswith(row["system"]))
            numbers, beyond, *far = line.split()[3 : 3 + len(kept)], *line.split()[3 + len(kept) :]
            assert int(beyond) == int(100 * row["mean_beyond"] + 1e-9)
            right = {int(n): int(number) >= 95 for n, number in zip(kept, numbers, strict=True)}
            assert {int(n) for n in far} == {seed["reach"] for seed in row["seeds"] if seed["fitted"]}
            middle = statistics.median_low(seed["reach"] for seed in row["seeds"] if seed["fitted"])
            assert all(is_right for n, is_right in right.items() if n <= middle)


def test_the_finding_gives_every_reach_with_its_seeds() -> None:
    values = comparison_values()
    first, second = values["systems"][:2]
    for row, reached in ((first, [48, 48, 48]), (second, [6, 12, 24])):
        row |= {
            "fitted": 3,
            "reach": sorted(reached)[1],
            "seeds": [dict(row["seeds"][0], reach=one, fitted=True) for one in reached],
        }
    said = comparison_finding(values)
    assert f"{first['system']} is right in tests up to 48, the longest, in all 3 seeds" in said
    assert f"{second['system']} up to 12 (median of 3 seeds, 6–24)" in said
    second["seeds"][0]["fitted"] = False
    assert f"{second['system']} up to 12 (median of 3 seeds, 0–24, 1 not fitted)" in comparison_finding(values)
    for seed in second["seeds"]:
        seed["reach"] = 0  # as where no trained length is tested
    assert f"; {second['system']} and randomized+learned not beyond 6. " in comparison_finding(values)


@pytest.mark.parametrize("missing", [0, 2])
def test_systems_that_are_all_right_to_the_end_are_all_named_and_get_longer_tests(missing: int) -> None:
    names, values = ("nope", "t5", "rope"), comparison_values(5, (6, 12, 40))
    runs = [(name, seed) for name in names for seed in range(3 - missing * (name == "rope"))]
    all_right = [score(8, 200), score(16, 198), score(40, 198)]
    systems = summarize(SeedResult.of(result(name, seed, scores=all_right)) for name, seed in runs)
    values |= {"task": TASKS.describe(TASKS.build("addition")), "seeds_wanted": 3}
    values["systems"] = [
        row | {"system": name, "seeds": [seed | {"reach": 40} for seed in row["seeds"]], "missing": 0}
        for name, row in zip(names, values["systems"], strict=False)
    ]
    last = values["systems"][-1]
    last |= {"seeds": last["seeds"][missing:], "missing": missing, "fitted": 3 - missing}
    said = comparison_finding(values)
    every = "every seed" if missing else "all 3 seeds"
    assert f"nope, t5 and rope are all right in tests up to 40, the longest, in {every}" in said
    assert comparison_answer(values, systems)[SURE].startswith("No difference at these lengths.")
    why, options = what_next(values, systems)
    if missing:
        assert "the budget did not reach 2 seeds of rope" in why
    else:
        assert "longer tests" in why
        assert options is not None
        assert "--test-lengths 6,40,80,160" in again({"test-lengths": options["test_lengths"]})


def test_the_step_asks_for_as_many_seeds_as_can_be_significant() -> None:
    values = comparison_values(2, (6, 16, 40))
    values |= {"task": TASKS.describe(TASKS.build("addition")), "seeds_wanted": 4, "seeds": 3}
    for name, row in zip(("nope", "rope"), values["systems"], strict=True):
        row |= {"system": name, "fitted": 3, "missing": 0, "seeds": values["systems"][0]["seeds"]}
    rates = {"nope": (200, 200), "rope": (90, 0)}
    systems = summarize(
        SeedResult.of(result(name, seed, scores=[score(8, 200), score(16, near - seed), score(40, far)]))
        for name, (near, far) in rates.items()
        for seed in range(3)
    )
    assert comparison_answer(values, systems)[SURE].startswith("Not significant")
    assert what_next(values, systems) == ("up to 5 seeds of each system, since few may be luck", {"seeds": 5})


@pytest.mark.parametrize(
    ("one", "other", "sure"),
    [
        ((100, 101, 102, 103, 104), (180, 181, 182, 183, 184), "rope is significantly above nope at 40"),
        ((100, 140, 150), (160, 170, 180), "Not significant"),
        ((100, 101, 102, 183, 184), (90, 181, 182, 183, 184), "rope is not significantly above nope at any length"),
        ((150, 140, 150), (150, 150, 145), "rope is not significantly above nope at any length"),
    ],
)
def test_of_equal_reach_the_mean_beyond_decides_and_seeds_say_whether_it_is_noise(
    one: tuple[int, ...], other: tuple[int, ...], sure: str
) -> None:
    """Both are right up to 16 in every seed; of 200 strings at 40, so many are right."""
    systems = summarize(
        SeedResult.of(result(name, seed, scores=[score(8, 200), score(16, 200), score(40, right)]))
        for name, rights in (("nope", one), ("rope", other))
        for seed, right in enumerate(rights)
    )
    first, second = ranked(systems)
    assert first.label == "rope"
    assert sum(other) > sum(one)
    assert ranked(systems[::-1]) == [first, second]
    assert comparison_answer(comparison_values(2), systems)[SURE].startswith(sure)


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (
            (0.9, 0.8, 0.85, 0.7, 0.95),
            (0.1, 0.2, 0.3, 0.4, 0.5),
            "(0.84, 0.30), which is no noise (rank test, p 0.008)",
        ),
        ((0.9, 0.1, 0.5), (0.4, 0.6, 0.3), "(0.50, 0.43), which may be noise (rank test, p 1)"),
        ((0.5, 0.5), (0.5, 0.5), ""),
        ((0.9,), (0.2,), ""),
    ],
)
def test_a_tie_is_broken_by_the_mean_beyond_and_noise_is_judged_on_it(
    first: tuple[float, ...], second: tuple[float, ...], says: str
) -> None:
    values = comparison_values()
    one, other = values["systems"][:2]
    for row, means in ((one, first), (other, second)):
        seeds = [dict(one["seeds"][0], fitted=True, reach=12, mean_beyond=mean) for mean in means]
        row |= {"fitted": len(seeds), "reach": 12, "mean_beyond": statistics.fmean(means), "seeds": seeds}
    said = comparison_answer(values, []).get(SURE, "")
    assert said.endswith(f"by the mean beyond training alone {says}." if says else "") or not says
    assert ("mean beyond" in said) is bool(says)
    assert f"  {int(100 * one['mean_beyond'])} " in ranking_text(values), "the terminal has it, too"
    other["reach"] = 6
    assert "mean beyond" not in comparison_answer(values, []).get(SURE, "")


def test_the_line_says_in_what_the_models_differ() -> None:
    assert "all systems: 400 steps of the same strings, width 64, learning rate 0.003" in notes()
    assert "They differ in layers (1 for coupled+learned, predictive-coupling+learned" in notes()
    same = comparison_values()
    for row in same["systems"]:
        row["copy"] = row["copy"] and {**row["copy"], "model": {**row["copy"]["model"], "layers": 1}}
    assert "They differ" not in notes(systems=same["systems"])
    assert "log-length scaling of attention none" in notes(systems=same["systems"])
    trained = [row for row in same["systems"] if row["copy"]]
    for row, length in zip(trained[:3], (24, 24, 48), strict=True):
        row["copy"]["model"]["log_length"] = length
    first, second, third, *others = [row["system"] for row in trained]
    said = f"1 at length 24 for {first}, {second}; 1 at length 48 for {third}; none for {', '.join(others)}"
    assert f"They differ in log-length scaling of attention ({said})" in notes(systems=same["systems"])


def test_what_did_not_fit_says_by_which_share_and_what_to_do() -> None:
    values = comparison_values(2, (6, 12))
    values["systems"][1] |= {"fitted": 0}
    said = " | ".join(notes_of(values))
    assert "×: not fitted, so right on less than 98 % of strings of training lengths" in said
    assert "coupled+learned" in said


@pytest.mark.parametrize(
    ("rates", "budget", "steps", "rung"),
    [
        ((0.975, 1.0), 120, 900, (300, 2_000)),
        ((0.25,), 90, 12_000, (180, 20_000)),
        ((0.25,), 600, 20_000, ()),
        ((0.02,), 180, 200, (1_800, 2_000)),
        ((0.02,), 600, 2_000, (1_200, 4_000)),
        ((1.0,), 120, 900, ()),
    ],
)
def test_what_did_not_fit_says_the_next_rung_and_promises_nothing(
    rates: tuple[float, ...], budget: float, steps: int, rung: tuple[int, ...]
) -> None:
    values = comparison_values(2, (6, 12)) | {"budget_seconds": budget, "steps": steps, "most_steps": 20_000}
    values["default_steps"] = 2_000
    values["systems"] = values["systems"][:1]
    values["systems"][0]["seeds"] = [
        {
            "seed": seed,
            "fitted": rate >= 0.98,
            "in_distribution": rate,
            "exact_match": {},
            "mean_beyond": 0.0,
            "reach": 6,
        }
        for seed, rate in enumerate(rates)
    ]
    values["systems"][0]["fitted"] = sum(rate >= 0.98 for rate in rates)
    assert ("too few to learn the task at all" in comparison_finding(values)) == (rates == (0.02,) and steps < 2_000)
    assert (*(next_rung(values) or {}).values(),) == rung


def test_the_caption_and_the_legend_are_of_what_the_table_shows() -> None:
    assert "mean exact match at longer tests" in comparison_table(comparison_values()).notes[0]
    values = comparison_values(2, (6, 12))
    assert not any(row["fitted"] for row in values["systems"])
    table = comparison_table(values)
    shown = " ".join(cell for row in table.cells for cell in row)
    assert "× × ×" in shown
    assert "unfitted" not in shown
    assert "no seed fitted" in table.caption
    for promised in ("mean exact match", "lowest and highest"):
        assert promised not in " ".join((table.caption, *table.notes)), promised


def test_tests_that_end_early_are_said_with_the_finding_and_the_table() -> None:
    for wanted, said in ((64, True), (48, False)):
        values = comparison_values() | {"tests_to": wanted}
        for text in (comparison_finding(values), comparison_table(values).caption):
            assert ("Tests end at 48, not 64, since the task has no longer strings." in text) is said


def test_the_cut_is_named_where_it_decides() -> None:
    assert "the first system is the same at cuts of 90 %, 95 %, 99 %" in notes()
    values = comparison_values(2, (6, 12))
    for row, rate in zip(values["systems"], (0.96, 1.0), strict=True):
        row |= {"fitted": 3, "mean_beyond": rate}
        row["seeds"] = [{"seed": 0, "fitted": True, "in_distribution": 1.0, "exact_match": {"6": 1.0, "12": rate}}]
    values["systems"][1]["mean_beyond"] = 0.5
    for systems in (values["systems"], values["systems"][::-1]):  # equal at a cut: the mean beyond decides
        said = " | ".join(details_of(values | {"systems": systems}))
        assert "which system is first depends on the cut: coupled+learned at 90 %, coupled+learned at 95 %" in said


@pytest.mark.parametrize(
    ("verdict", "rate", "says"),
    [
        ("yes", 0.0, "coupled+learned: theory has yes, yet the models are right on 0.000 of the strings of length 12"),
        ("no guarantee", 1.0, "theory has no guarantee, yet the models are right on 1.000 of the strings of length"),
        ("yes", 1.0, ""),
        ("no guarantee", 0.0, ""),
        (None, 0.0, ""),
    ],
)
def test_theory_and_measurement_are_set_against_each_other(verdict: str | None, rate: float, says: str) -> None:
    values = comparison_values(2, (6, 12))
    values["systems"] = values["systems"][:1]
    values["systems"][0] |= {
        "verdict": verdict, "fitted": 1, "mean_beyond": rate, "reach": 6,
        "seeds": [{"seed": 0, "fitted": True, "in_distribution": 1.0, "exact_match": {"6": 1.0, "12": rate}}],
        "copy": {"model": {"layers": 1, "width": 8}, "training": {"lr": 0.1}},
    }  # fmt: skip
    said = " | ".join(details_of(values))
    assert says in said
    assert ("yet the models" in said) is bool(says)
