"""What captions and notes of every committed result say is what its numbers are: one order, one length, wide ranges."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path
from statistics import fmean, median, median_low
from typing import Any

import numpy as np
import pytest
from made_up import experiment, result, score
from matplotlib.figure import Figure

import lengthwise as lw
from lengthwise.api.experiment import read_recipe, recipe
from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.core.rank import REACH
from lengthwise.core.result_file import CONFIG, RESULT
from lengthwise.core.table import MOST_BELOW, STUDY, Spread, command_lines
from lengthwise.experiments.defaults import chosen_systems
from lengthwise.measured import SHORTEST_TRAINED
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.prediction.example import to_store
from lengthwise.report.answer import SURE, WHY, answer
from lengthwise.report.differences import differences
from lengthwise.report.finding import FEW, LINES_OF_FEW, MOST_TASKS, headline, in_groups, leader, lines_of, told_lengths
from lengthwise.report.summary import LOW, SeedResult, SystemSummary, in_order, of_equal_steps, ranked
from lengthwise.report.why import distances_text, needed_back, never_trained
from lengthwise.report.words import MEDIAN, reaches_text
from lengthwise.tasks import TASKS

FOLDERS = sorted({path.parent.parent for path in Path("studies").glob("*/results/*/*/result.json")})
GUESSED = (
    " A weak guess at how: at 40 a token needs one up to 82 tokens back (18 in training), under coupled ids at most 1."
)
"""Of coupled ids and their control on addition, trained to 8."""


committed = cache(lw.results)
wide = cache(lw.Result.wide)


@cache
def contests(folder: Path) -> tuple[lw.Result, ...]:
    """The results of a folder, those that are compared with each other together; none of other kinds."""
    found = committed(folder)
    if not len(found):
        return ()
    groups = dict[Any, list[str]]()
    for system in found.systems:
        groups.setdefault((system.recipe, system.contest), []).append(system.label)
    return tuple(found.only(systems=names) for names in groups.values())


def of(*made: dict[str, Any]) -> lw.Result:
    return lw.Result([(Path(f"run-{at}"), SeedResult.of(values)) for at, values in enumerate(made)])


def seeds(name: str, *rates: dict[int, int], fitted: bool = True) -> list[dict[str, Any]]:
    return [
        result(name, at, scores=[score(n, right) for n, right in each.items()], fitted=fitted)
        for at, each in enumerate(rates)
    ]


def rates(system: SystemSummary) -> list[dict[int, float]]:
    """The exact match of each seed by length, of the hardest layout; of one that did not fit nothing."""
    found = []
    for run in system.results:
        mine = dict[int, float]()
        for one in run.scores if run.fitted else ():
            mine[one.length] = min(mine.get(one.length, 1.0), one.rate())
        found.append(mine)
    return found


def by_reach(system: SystemSummary) -> tuple[float, float]:
    """The rule of `lengthwise compare`, written once more: median reach of all seeds, then the mean beyond training."""
    reaches, means = [], []
    for mine in rates(system):
        reaches.append(by_reach_of(mine))
        beyond = [rate for n, rate in mine.items() if n > system.max_length]
        means.append(fmean(beyond) if beyond else 0.0)
    return median_low(reaches), fmean(means)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_first_of_a_finding_is_the_first_of_a_comparison(folder: Path) -> None:
    for found in contests(folder):
        fitted = [one for one in ranked(found.systems) if one.cells]
        tested = {frozenset(cell.length for cell in one.cells) for one in fitted}
        if not fitted or len(tested) > 1 or len({one.max_length for one in fitted}) > 1:
            continue
        assert by_reach(fitted[0]) == max(map(by_reach, found.systems))
        said = headline(found.systems)
        first = re.escape(leader(fitted).label)
        counted = re.match(r"(Trained to \d+, )?(none|\d+ of \d+ systems [^:]*\.)", said)  # without room for a name
        assert counted or re.match(rf"(Trained to \d+, )?(\d+ of [^:]*: )?“?({first})[” ;,.]", said)
        if len(found.systems) <= 3 and in_groups(fitted).far:
            assert all(one.label in said for one in fitted)


def medians(system: SystemSummary) -> dict[int, float]:
    """The median of the fitted seeds by length, of the layout where it is lowest."""
    found = dict[int, float]()
    for cell in system.cells:
        found[cell.length] = min(found.get(cell.length, 1.0), median(one.rate() for one in cell.scores))
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_answer_has_few_lines(folder: Path) -> None:
    """The finding four, of up to five systems six, why five, others three, commands aside; below the table five."""
    for found in contests(folder):
        table = wide(found)
        assert [*table.answer] == [name for name in ("finding", SURE, WHY) if name in table.answer]
        rows = {**table.answer, "next": next(iter(steps_of(table)), "")}
        most = {"finding": LINES_OF_FEW if len(found.systems) <= FEW else 4, WHY: 5}
        assert {name for name, says in rows.items() if lines_of(says) > most.get(name, 3)} == set()
        assert all("  " not in says and ".." not in says for says in rows.values())
        below = repr(table).rpartition("`.advice`\n")[2]
        assert "`.advice`\n" not in repr(table) or below.count("\n") < 4


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_finding_counts_every_system_once(folder: Path) -> None:
    """As right to the longest test in all seeds, as beyond training in some, as not, and as not fitted."""
    for found in contests(folder):
        said, systems = (
            headline(found.systems).replace("“", "").replace("”", ""),
            in_order(of_equal_steps(found.systems)),
        )
        tested = [one for one in systems if one.cells]
        end = max((cell.length for one in tested for cell in one.cells), default=0)
        whole = [one for one in tested if len(one.fitted) == len(one.results) and min(reaches(one)) == end]
        whole = [one for one in whole if end > one.max_length]
        far = [one for one in tested if max(reaches(one)) > one.max_length and one not in whole]
        groups = in_groups(systems)
        assert [[*map(id, some)] for some in (groups.best, groups.some)] == [[*map(id, some)] for some in (whole, far)]
        assert all(max(reaches(one)) <= one.max_length for one in (*groups.near, *groups.low))
        wrong = [
            one for one in tested if any(right < REACH for n, right in medians(one).items() if n <= one.max_length)
        ]
        assert not any(one in wrong for one in groups.near)
        assert all(one in wrong for one in groups.low)
        if not any(cell.length > one.max_length for one in tested for cell in one.cells):
            continue
        best = re.search(r"(\d+) of (\d+) systems (?:is|are) ≥ 95 % right in tests up to (\d+), the longest", said)
        assert best is None or [*map(int, best.groups())] == [len(whole), len(systems), end]
        assert bool(whole) is (", the longest" in said)
        some = re.search(r"(\d+) of (\d+) systems (?:is|are) ≥ 95 % right beyond training, none", said)
        assert some is None or [*map(int, some.groups())] == [len(far), len(systems)]
        assert bool(re.search("none of|(is|are) not ≥", said)) is (not whole and not far)
        if len(systems) > 3:
            more = re.search(r"(\d+) more go(?:es)? beyond training", said)
            name = r"(?:^|[;:,] ){}(?: \(trained to \d+\))? (?:in|up|is ≥)"
            named = [one for one in far if re.search(name.format(re.escape(one.label)), said)]
            assert (more is None and some is not None and not named) or int(more[1] if more else 0) == len(far) - len(
                named
            )
        for how, group in (("not right", groups.near), ("below 95 %", groups.low)):
            counted = re.search(rf"(?:the )?(\d*) ?others? (?:is|are) {how}", said, flags=re.IGNORECASE)
            assert counted is None or int(counted[1] or 1) == len(group)
            assert not group or not (whole or far) or counted or all(one.label in said for one in group)
        lost = [one for one in systems if not one.fitted]
        counted = re.search(r"(\d+) did not fit", said)
        assert int(counted[1]) == len(lost) if counted else all(one.label in said for one in lost)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_finding_is_true_of_each_system_that_it_names(folder: Path) -> None:
    for found in contests(folder):
        said = headline(found.systems).replace("“", "").replace("”", "")
        for one in found.systems:
            each, seeds, end = reaches(one), len(one.results), max((cell.length for cell in one.cells), default=0)
            name = rf"(?:^|[;:,] ){re.escape(one.label)}(?: \(trained to \d+\))?"
            if up := re.search(rf"{name} (?:is ≥ 95 % right in tests )?up to (.*?)(?:; |: |\. |\.$)", said):
                known = {reaches_text(each, seeds), reaches_text(each, seeds, end)}
                assert up[1] in known | {MEDIAN.sub("", to) for to in known}
        if at := re.search(r"not right at the next test \(at best (.*?) with (\d\.\d+) at (\d+)", said):
            near, length = in_groups(found.systems).near, int(at[3])
            assert length == min(n for one in near for n in medians(one) if n > one.max_length)
            there = {one.label: medians(one).get(length, 0.0) for one in near}
            assert there[at[1]] == max(there.values()) == pytest.approx(float(at[2]), abs=6e-4)


def reaches(system: SystemSummary) -> list[int]:
    """How far each fitted seed goes."""
    return [by_reach_of(mine) for mine, run in zip(rates(system), system.results, strict=True) if run.fitted]


def by_reach_of(mine: dict[int, float]) -> int:
    passed = [n for n in sorted(mine) if all(mine[m] >= REACH for m in mine if m <= n)]
    return passed[-1] if passed else 0


def test_where_there_is_no_result_the_folders_that_have_some_are_named(tmp_path: Path) -> None:
    for at in ("mine/results/copy/a", "runs/b"):
        (tmp_path / at).mkdir(parents=True)
        (tmp_path / at / "result.json").touch()
    (tmp_path / "mine" / "page").mkdir()
    for wrong in ("mine/page", "mine/pgae", "mine/results/sort"):
        with pytest.raises(LengthwiseError, match=f"results are in {tmp_path.as_posix()}/mine/results$"):
            lw.results(tmp_path / wrong)
    with pytest.raises(LengthwiseError, match=r"/runs, .*/mine/results$|/mine/results, .*/runs$"):
        lw.results(tmp_path / "x")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_mistyped_folder_of_results_names_the_one_that_is_meant(folder: Path) -> None:
    parts = list(folder.parts)
    for at in range(parts.index("studies") + 1, len(parts)):
        wrong = Path(*parts[:at], parts[at][:2] + parts[at][3:], *parts[at + 1 :])
        with pytest.raises(LengthwiseError, match=rf"did you mean {re.escape(folder.as_posix())}\?"):
            lw.results(wrong)


def test_a_system_that_is_wrong_at_trained_lengths_does_not_fall_beyond() -> None:
    found = of(*seeds("a", {8: 200, 16: 200, 40: 200}), *seeds("b", {8: 176, 16: 177, 40: 170}))
    assert headline(found.systems).endswith("; b is below 95 % at a trained length already.")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_system_has_a_dagger_where_another_is_above_it_in_every_seed(folder: Path) -> None:
    """As notes say: *is above it in every seed at 16*."""
    for found in contests(folder):
        table = wide(found) if len(found.systems) > 20 else found.wide(lengths="all")
        owners = {(one.name, one.settings): one for one in found.systems}
        for at, column in table.alike:
            name, settings, layout, *_ = table.rows[at]
            mine, length = owners[name, settings], int(table.columns[column])
            for (_, _, where), other in ((row[:3], owners[row[:2]]) for row in table.rows):
                if where == layout == "":
                    rates, high = (
                        [cell.scores for cell in one.cells if cell.length == length] for one in (other, mine)
                    )
                    low = min((score.rate() for some in rates for score in some), default=0)
                    top = max(score.rate() for some in high for score in some)
                    assert low <= top or len(other.fitted) == len(mine.fitted) == 1


def test_a_dagger_is_of_the_first_of_those_that_are_best() -> None:
    sure, low = seeds("sure", *[{8: 200, 16: 200}] * 3), seeds("low", *[{8: 200, 16: 0}] * 3)
    risky = seeds("risky", {8: 200, 16: 200}, {8: 200, 16: 200}, {8: 200, 16: 0})
    table = of(*sure, *risky, *low).wide()
    assert [row[0] for row in table.rows] == ["sure", "risky", "low"]
    assert {at for at, _ in table.bold} == {0}, "a seed of the other fails"
    assert {at for at, _ in table.alike} == {1}


def test_a_harder_test_costs_no_rank() -> None:
    """Of systems that are equal where all were tested, the first is that with the farther test."""
    near = seeds("near", *[{8: 200, 16: 200, 32: 200}] * 2)
    far = seeds("far", *[{8: 200, 16: 200, 32: 198, 64: 100}] * 2)
    low = seeds("low", *[{8: 200, 16: 20}] * 2)
    assert [one.label for one in ranked(of(*low, *near, *far).systems)] == ["far", "near", "low"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_page_of_a_study_is_named_with_its_results(folder: Path) -> None:
    """The one with the name of the recipe, or else the README of the study."""
    own, readme = folder.parent.parent / f"{folder.name}.md", folder.parent.parent / "README.md"
    pages = [page for page in (own, readme) if page.exists()][:1]
    for found in contests(folder)[:1]:
        said = [line.rpartition(" ")[2] for line in wide(found).advice if line.startswith(STUDY)]
        assert said == [page.as_posix() for page in pages]
    assert not of(*seeds("a", {40: 1})).pages


LARGE = ("method-matrix", "golowich-sparse-parity", "sparse-parity")
"""Recipes whose tables take seconds."""
EVERY = [pytest.param(each, marks=[pytest.mark.slow] * (each.name in LARGE)) for each in FOLDERS]


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_no_table_hides_a_seed_far_below_the_median(folder: Path) -> None:
    """Below half of a median of at least one half: its brackets hold it, or a line says whose, and how low."""
    for found in contests(folder):
        plain, far = found.table(), in_groups(found.systems).far
        for table in (found.wide(brackets="none"), wide(found), plain):
            said = table.legend.get(LOW, "")
            shown = {int(name) for name in table.columns if name.isdigit()}
            kept = len(table.rows) <= MOST_BELOW
            ends = {cell.low for row in table.rows for cell in row if isinstance(cell, Spread)} if kept else set()
            for one in found.systems:
                last = {max((cell.length for cell in one.cells), default=0)}
                lowest = []
                for cell in one.cells:
                    each = [score.rate() for score in cell.scores]
                    low = median(each) >= 0.5 and min(each) < median(each) / 2 and min(each) not in ends
                    lowest += [min(each)] * (low and cell.length in (shown or last))
                lowest *= table is plain or one in far
                assert (f" of {one.label} (" in said) >= bool(lowest)
                assert not lowest or f"{min(lowest):.3f} at " in said.partition(f" of {one.label} (")[2].split(";")[0]
            assert said in " ".join(repr(table).split()) or not said


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_notes_speak_of_what_a_table_shows(folder: Path) -> None:
    for found in contests(folder):
        table = wide(found)
        assert len(table.notes) <= 1
        spreads = [cell for row in table.rows for cell in row if isinstance(cell, Spread)]
        shown = any(f"{cell.low:.3f}" != f"{cell.high:.3f}" for cell in spreads)
        assert ("brackets" in table.legend) is shown
        shown = {int(name) for name in table.columns if name.isdigit()}
        tested = {cell.length for one in found.systems for cell in one.cells}
        assert any("tested and not shown" in line for line in table.advice) is (shown < tested)
        layouts = {row[2] for row in table.rows} - {""}
        assert ("layout" in table.legend["bold"]) is (len(layouts) > 1)
        traced = [one for one in found.systems if "scratchpad" in one.experiment["task"]["name"]]
        if len(traced) == len(found.systems):
            assert "chance for the answer" not in table.legend, (
                "the exact match of an answer with its trace is not that of a guess"
            )


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_a_table_of_any_results_is_latex_with_one_next_step_and_no_mark_in_training(folder: Path) -> None:
    found = committed(folder)
    if not len(found):
        return
    table = found.wide(lengths="all")
    for made in (table, found.table()):
        printed = [line for line in made.to_latex().splitlines() if not line.startswith("%")]
        begin, end = (next(at for at, line in enumerate(printed) if f"{part}{{tabular}}" in line)
                      for part in ("begin", "end"))  # fmt: skip
        columns = len(printed[begin].rpartition("{")[2].rstrip("}"))
        for at, line in enumerate(printed):
            bare = re.sub(r"\\[&%_#${}]", "", line)
            assert not re.search("[%#_]", bare)
            assert bare.count("{") == bare.count("}")
            more = sum(int(count) - 1 for count in re.findall(r"multicolumn{(\d+)}", bare))
            ends = [columns - 1] if begin < at < end and line.endswith(r"\\") else [0]
            assert [bare.count("&") + more] == ends
    steps = [[line for line in of.advice if line.startswith("next: ")] for of in (table, found.table())]
    assert steps[0] == steps[1]
    owners = {(one.name, one.settings): one for one in found.systems}
    for row, column in table.bold | table.alike:
        assert int(table.columns[column]) > owners[table.rows[row][:2]].max_length
    contests = {one.contest for one in found.systems}
    lines = [line for line in headline(found.systems).splitlines() if "more tasks are in" not in line]
    lines = [line for line in lines if not line.startswith("Tests end")]
    assert len(lines) == (len(contests) if len(contests) <= MOST_TASKS else MOST_TASKS - 1)


def test_chance_is_said_of_the_task_that_has_it_beside_one_whose_is_not_known() -> None:
    found = lw.results("studies/golowich/results/golowich-parity")
    assert found.wide().legend["chance for the answer of parity"] == "0.50 at every length"
    figure: Any = found.plot(figsize=(3.3, 2.8))
    assert "chance 0.50 (parity)" in [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("guess", [0.0, 0.5])
def test_chance_of_a_task_of_ones_own_is_what_it_says(guess: float) -> None:
    config = {**experiment(), "task": {"name": "mine.py:Mine"}}
    task = {**to_store(TASKS.build("parity"), (8, 16, 40)).to_json(), "guess": guess}
    made = {**result("a", 0, scores=[score(16, 105), score(40, 99)], config=config), "task": task}
    found = of(made)
    figure: Any = found.plot()
    said = (found.wide().answer["finding"], found.wide().legend.get("chance for the answer", ""), figure.alt)
    assert all(("0.50" in text) is bool(guess) for text in said)


@pytest.mark.parametrize("scheme", ["sequential", "coupled"])
def test_distances_of_a_task_of_ones_own_are_those_of_its_file(scheme: str) -> None:
    """Of plain ids, which training draws as tests do: the last symbol of a reversed string needs the first one."""
    config = {**experiment(scheme, "rope"), "task": {"name": "mine.py:Mine"}}
    task = to_store(TASKS.build("reverse"), (8, 16, 40)).to_json()
    scores = [score(8, 200), score(16, 20), score(40, 0)]
    found = of(*({**result("a", seed, scores=scores, config=config), "task": task} for seed in range(2)))
    said = distances_text(found.systems)
    assert ("31 back at length 16 (training had up to 15)" in said) is (scheme == "sequential")


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_a_part_of_the_systems_has_the_order_and_the_looks_of_all(folder: Path) -> None:
    for found in contests(folder):
        whole = [one.label for one in in_order(found.systems)]
        some = found.only(systems=whole[::2])
        assert [one.label for one in in_order(some.systems)] == whole[::2]
        looks = {one.label: one.look for one in found.systems}
        assert all(one.look == looks[one.label] for one in some.systems)


def test_of_equal_reaches_the_first_is_the_longest_in_its_own_tests() -> None:
    far = [result("far", seed, scores=[score(16, 190), score(40, 199)]) for seed in range(3)]
    near = [result("near", seed, scores=[score(16, 195), score(40, 100)]) for seed in range(3)]
    short = [result("short", seed, scores=[score(16, 100)]) for seed in range(3)]
    found = of(*near, *far, *short)
    assert [one.label for one in ranked(found.systems)] == ["far", "near", "short"]


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_rows_and_legend_have_the_one_order_and_the_finding_begins_with_its_first(folder: Path) -> None:
    """By task as the results have them, then the best first by the rule of a comparison."""
    found = committed(folder)
    if not len(found):
        return
    systems, rows = {(one.name, one.settings): one for one in found.systems}, wide(found).rows
    shown = [systems[key] for key in dict.fromkeys(row[:2] for row in rows)]
    tasks = [one.contest for one in shown]
    assert list(dict.fromkeys(tasks)) == list(dict.fromkeys(one.contest for one in found.systems))
    assert tasks == sorted(tasks, key=list(dict.fromkeys(tasks)).index)
    for task in {*tasks}:
        mine = [one for one in shown if one.contest == task]
        if len({(one.max_length, frozenset(cell.length for cell in one.cells)) for one in mine if one.fitted}) < 2:
            assert list(map(by_reach, mine)) == sorted(map(by_reach, mine), reverse=True)
    drawn = [one.label for one in shown if one.fitted]
    if drawn and len(shown) <= 6:
        axes: Any = found.plot(Figure().subplots())
        legend = [label.partition(" (")[0] for label in axes.get_legend_handles_labels()[1]]
        assert [label for label in legend if label in drawn] == [label for label in drawn if label in legend]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_terminal_shows_the_lengths_that_an_answer_names(folder: Path) -> None:
    for found in contests(folder):
        table, labels = wide(found), {one.label for one in found.systems}
        lines = repr(table).splitlines()
        rule = next((at for at, line in enumerate(lines) if re.fullmatch("-+(  +-+)+", line)), 0)
        tested = {cell.length for one in found.systems for cell in one.cells}
        named = {*told_lengths(table.answer.values(), labels)} & tested
        named = {n for n in named if n > min(one.max_length for one in found.systems)}
        assert {*map(str, named)} <= {*lines[rule - 1].split()}


def test_lengths_that_an_answer_names_are_not_those_of_names_or_training() -> None:
    rows = [
        "Trained to 5, copy, up to 10 up to 40 in 2 of 3 seeds, to 20 in 1 (median 0.715 at 100);",
        "coupled (trained to 30) has 0.911 at length 60, 1.000 at 70; above at 12–16, 24 and 48–64; p = 0.05.",
    ]
    assert told_lengths(rows, ["copy, up to 10"]) == [40, 20, 100, 60, 70, 12, 16, 24, 48, 64]


def steps_of(table: Any) -> list[str]:
    """What a table says to do, in order."""
    return [line.partition(": ")[2] for line in table.advice if line.startswith(("next: ", "then: "))]


def test_few_seeds_are_said_in_plain_words() -> None:
    made = [one for name, right in zip("abc", (200, 100, 0), strict=True)
            for one in seeds(name, *[{16: right, 40: right}] * 3)]  # fmt: skip
    said = of(*made).wide().answer[SURE]
    assert said == "Not significant with so few seeds, but every seed of a is above all of b and c at 16–40."
    made = [*seeds("a", *[{40: 190}] * 4), *seeds("b", *[{40: 10}] * 4), *seeds("c", *[{40: 10}] * 3)]
    made += [*seeds("d", *[{40: 10}] * 3)]
    assert "so few seeds" in of(*made).wide().answer[SURE]
    assert "so few seeds" not in of(*made[:8]).wide().answer[SURE]


def test_next_says_what_to_write_and_names_the_control_beside_a_third_system() -> None:
    """The pair that differs least is weighed; the control that differs in ids alone is missing whoever is second."""
    makes = {}
    for scheme, encoding in (("coupled", "learned"), ("coupled", "local-bias"), ("sequential", "rope")):
        made = lw.Experiment("addition", scheme, encoding, max_length=8, model={"layers": 2}).configuration.to_json()
        made["training"] |= {"stop_when_fitted": False, "lr": 2e-3}
        makes[f"{scheme}+{encoding}"] = made
    runs = [
        one | {"experiment": makes[name]}
        for name, right in zip(makes, (200, 100, 0), strict=True)
        for one in seeds(name, *[{16: right, 40: right}] * 3)
    ]
    length = makes["coupled+learned"]["model"]["log_length"]
    two = of(*(one for one in runs if one["system"] != "sequential+rope")).wide()
    alike = f'train coupled+local-bias with model={{"log_length": {length}}}: then models and training are equal'
    assert steps_of(two)[0].startswith(alike)
    assert WHY not in two.answer, "both have the same ids"
    table = of(*runs).wide()
    control = "train the control random-start+learned, else as coupled+learned, "
    assert steps_of(table)[0].startswith(control)
    assert any(note.startswith("systems also differ in ") for note in table.notes)
    same = [one | {"experiment": {**makes[one["system"]], "model": makes["coupled+learned"]["model"]}} for one in runs]
    same = [one for one in same if one["system"] != "coupled+local-bias"]
    assert steps_of(of(*same).wide())[0].startswith(control)


def test_where_one_system_alone_fitted_the_finding_says_where_it_falls_and_that_others_did_not_fit() -> None:
    found = of(*seeds("a", *[{8: 200, 16: 4, 40: 0}] * 3), *seeds("b", {}, {}, fitted=False))
    said = headline(found.systems)
    assert said.endswith("a is not ≥ 95 % right at the next test (0.020 at 16); b did not fit.")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_text_of_a_figure_has_the_finding_of_the_table(folder: Path) -> None:
    """Where more systems are drawn than the finding names, it goes on with these."""
    for found in contests(folder):
        if len(found.systems) <= 8 and any(one.cells for one in found.systems):
            table = wide(found)
            finding = " ".join(table.answer["finding"].split())
            assert found.plot().alt.startswith(finding)  # type: ignore[union-attr]


def test_a_label_is_all_of_a_name_where_one_such_system_is_shown() -> None:
    wide = experiment()
    wide["model"]["width"] = 256
    made = [
        *seeds("a", {40: 200}),
        *(one | {"experiment": wide} for one in seeds("a", {40: 190})),
        *seeds("b", {40: 1}),
    ]
    found = of(*made)
    assert {"ours (width 128)", "ours (width 256)"} <= {
        f"{row[0]} ({row[1]})" for row in found.wide(labels={"a": "ours"}).rows
    }
    part = found.only(systems=["a (width 256)", "b"]).wide(labels={"a": "ours"})
    assert [row[:2] for row in part.rows] == [("ours", ""), ("b", "")]


def test_more_runs_are_asked_of_those_that_have_too_few() -> None:
    many = seeds("many", *[{40: 200}] * 8)
    said = steps_of(of(*many, *seeds("few", {40: 190})).wide())
    assert any(step.startswith("train few to ") for step in said)
    # A run that did not fit stays, so that one more has to be asked for.
    other = seeds("b", *[{40: 0}] * 3)
    asked = []
    for lost in ([], seeds("a", {}, fitted=False)):
        notes = of(*seeds("a", *[{40: 200}] * 3), *lost, *other).wide().advice
        asked += [int(re.findall(r"to (\d+) seeds", " ".join(notes))[0])]
    assert asked[1] > asked[0]


def test_a_pilot_in_which_some_did_not_fit_and_none_goes_far_asks_for_more_steps() -> None:
    """Before other positions, which are likelier only where these had enough."""
    pilot = [*seeds("a", {16: 34, 40: 8}), *seeds("b", {16: 0, 40: 0})]
    lost = [*seeds("c", {}, fitted=False), *seeds("d", {}, fitted=False)]
    assert steps_of(of(*pilot, *lost).wide())[0].startswith("train all 4 for 2,000 steps")
    assert steps_of(of(*pilot).wide())[0].startswith("see which positions other than a are likelier to be right")


def test_where_all_are_right_to_the_end_longer_tests_are_next_and_no_more_seeds() -> None:
    right = [*seeds("a", *[{16: 200, 40: 200}] * 3), *seeds("b", *[{16: 200, 40: 198}] * 2, {16: 200, 40: 200})]
    assert steps_of(of(*right).wide())[0].startswith("to test longer than 40")
    assert steps_of(of(*right[:3], *seeds("b", *[{16: 200, 40: 198}] * 3)).wide())[0].startswith("train a and b to ")


def test_all_are_trained_longer_where_most_seeds_did_not_fit() -> None:
    """All, as settings would be equal no more; where few did not, more seeds are enough."""
    for lost in (1, 2):
        rival = [*seeds("b", *[{40: 0}] * (3 - lost)), *seeds("b", *[{}] * 3, fitted=False)[3 - lost :]]
        table = of(*seeds("a", *[{40: 200}] * 3), *rival).wide()
        fitted = f"b ({3 - lost} of 3 seeds fitted) is not right at the next test (0.000 at 40)"
        assert fitted in table.answer["finding"]
        longer, fewer = (
            "train both for 2,000 steps: half or more of the seeds of b did not fit",
            "train a and b to 6 seeds",
        )
        assert steps_of(table)[0].startswith(longer if lost == 2 else fewer)


@pytest.mark.parametrize("others", [(), ("random-start",)])
def test_what_fits_in_a_part_of_its_seeds_is_trained_longer_first(others: tuple[str, ...]) -> None:
    """Before longer tests, which are for what is right up to the end."""
    in_part = [one | {"fitted": one["seed"] == 0} for one in seeds("coupled", *[{16: 200, 40: 198}] * 3)]
    found = of(*in_part, *(run for name in others for run in seeds(name, *[{16: 100, 40: 10}] * 3)))
    (step,) = steps_of(found.wide())
    assert "for 2,000 steps: half or more of the seeds of coupled did not fit" in step


def test_what_an_answer_has_no_room_for_is_advice() -> None:
    """With names so long that rows are cut: what is not tested stays, and what goes is said in full."""
    long = {name: f"{name}, {'which is what we call it here ' * 4}".strip() for name in "abcd"}
    runs = [run for name in "abc" for run in seeds(name, *[{16: 200 - 60 * "abc".index(name), 40: 30}] * 2)]
    found, at = of(*runs, *seeds("d", {}, {}, fitted=False)), "finding, in full: "
    table, short = found.wide(labels=long), found.wide()
    advised = next(line for line in table.advice if line.startswith(at))
    for part in re.findall(r"0\.\d+ at \d+|did not fit", short.answer["finding"]):
        assert part in advised
    assert not any(line.startswith(at) for line in short.advice)
    rows = {SURE: short.answer[SURE], WHY: short.answer.get(WHY, "")}
    for name, says in rows.items():
        for label in filter(lambda label: label in says.split(), "abcd"):
            assert long[label] in " ".join([table.answer[name], *(x for x in table.advice if x.startswith(name))])


def test_what_may_help_a_system_that_did_not_fit_is_said_where_the_step_is_another() -> None:
    one, other = (seeds(name, *[{40: right}] * 3) for name, right in (("a", 200), ("b", 0)))
    lost = seeds("c", {}, {}, fitted=False)
    for runs, said in (([*one, *other, *lost], True), ([*one, *other], False), ([*one, *lost], False)):
        assert ("did not fit may with more steps" in steps_of(of(*runs).wide())[0]) is said


@pytest.mark.parametrize("name", ["paper", "paper-2000-steps"])
def test_more_steps_get_a_folder_of_their_own_with_all_systems(tmp_path: Path, name: str) -> None:
    """A table of both would compare unequal steps; seeds alone join the folder."""
    lost = [*seeds("b", {40: 0}), *seeds("b", *[{}] * 3, fitted=False)[1:]]
    alibi, rope = ({"experiment": experiment("sequential", encoding)} for encoding in ("alibi", "rope"))
    for at, (rival, out) in enumerate(((lost, "paper-2000-steps"), (seeds("b", *[{40: 0}] * 3), name))):
        made = [*(one | alibi for one in seeds("a", *[{40: 200}] * 3)), *(one | rope for one in rival)]
        root = tmp_path / str(at) / name
        for run, values in enumerate(made):
            folder = root / "addition" / str(run)
            folder.mkdir(parents=True)
            (folder / "result.json").write_text(json.dumps(values), encoding="utf-8")
            (folder / "config.json").touch()
        lines = steps_of(lw.results(root).wide())[0].splitlines()[1:]
        assert [shlex.split(line, comments=True)[-1] for line in lines] == [str(root.parent / out)] * 2
        assert [line.partition(" # ")[2] for line in lines] == ["a", "b"], "a command says which system it trains"


def test_a_command_says_what_the_user_calls_its_system_and_is_one_a_shell_takes(tmp_path: Path) -> None:
    made = seeds("coupled+learned", *[{40: 200}] * 2) + seeds("b", *[{40: 0}] * 2)
    for run, values in enumerate(made):
        folder = tmp_path / "runs" / "addition" / str(run)
        folder.mkdir(parents=True)
        ids = "sequential" if run > 1 else "coupled"
        values = values | {"experiment": experiment(ids, "learned" if run < 2 else "rope")}
        (folder / "result.json").write_text(json.dumps(values), encoding="utf-8")
        (folder / "config.json").touch()
    named = {"coupled+learned": "ours (new)"}
    _, *commands = lw.results(tmp_path).wide(labels=named).advice[0].split("\n")
    assert [line.partition(" # ")[2] for line in commands] == ["random-start+learned", "'ours (new)'"]
    for line in commands:
        printed = "\n".join(command_lines(line))
        words = subprocess.run(["bash", "-c", f"lengthwise() {{ printf '%s\\n' \"$@\"; }}\n{printed}"],
                               capture_output=True, text=True, check=True).stdout.split()  # fmt: skip
        assert words == shlex.split(line, comments=True)[1:]


def test_few_others_are_named_where_their_numbers_have_no_room() -> None:
    long = "a name as long as these "
    made = [*seeds(f"{long}a", *[{40: 200}] * 3), *seeds(f"{long}b", *[{40: 20}] * 3)]
    made += [*seeds(f"{long}c", *[{8: 100, 40: 20}] * 3), *seeds(f"{long}d", {}, fitted=False)]
    said = headline(of(*made).systems)
    assert all(f"{long}{name}" in said for name in "abcd")
    assert "other" not in said


def test_an_answer_has_one_of_the_runs_that_differ_in_steps_alone() -> None:
    """With the steps with which most systems fitted; the table has them all."""

    def longer(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
        own = made[0]["experiment"]
        training = own["training"] | {"steps": 2 * own["training"]["steps"]}
        return [one | {"experiment": own | {"training": training}} for one in made]

    lost = [*seeds("b", {40: 0}), *seeds("b", *[{}] * 3, fitted=False)[1:]]
    for a, b, said in ((190, 0, 2000), (10, 0, 2000)):
        made = [*seeds("a", *[{40: 200}] * 3), *longer(seeds("a", *[{40: a}] * 3)), *lost]
        found = of(*made, *longer(seeds("b", *[{40: b}] * 3)))
        assert {one.label for one in of_equal_steps(found.systems)} == {f"a (steps {said})", f"b (steps {said})"}
        assert len(found.wide().rows) == 4
        assert "steps 1000" not in " ".join(found.wide().answer.values())
    alone = of(*seeds("a", *[{40: 200}] * 3), *longer(lost))
    assert [one.label for one in of_equal_steps(alone.systems)] == ["a", "b"]


def test_no_more_seeds_are_asked_for_where_the_difference_is_significant() -> None:
    """A fitted one in place of those that did not; a difference of three tests needs five seeds."""
    for count, asks in ((3, True), (5, False)):
        made = [*seeds("a", *[{16: 200, 24: 200, 40: 200}] * count), *seeds("b", *[{16: 0, 24: 0, 40: 0}] * count)]
        steps = steps_of(of(*made, *seeds("c", {}, fitted=False)).wide())
        asked = "train a and b to 5 seeds: with fewer none can be significant"
        assert any(step.startswith(asked) for step in steps) is (asks)


def test_what_did_not_fit_with_settings_is_not_told_to_be_trained_with_them() -> None:
    """A system that fitted with others is told by these; and there are runs for all tests that there will be."""
    makes = {
        (scheme, encoding, steps): lw.Experiment(
            "addition", scheme, encoding, max_length=8, steps=steps,
            model={"layers": 2, "log_length": None}, training={"lr": 1e-3, "stop_when_fitted": False},
        ).configuration.to_json()
        for scheme, encoding, steps in (
            ("coupled", "learned", 2500), ("sequential", "rope", 2500), ("random-start", "learned", 2500),
            ("random-start", "learned", 6000),
        )
    }  # fmt: skip
    runs = [
        one | {"experiment": config, "steps": key[2]}
        for (key, config), right in zip(makes.items(), (200, 0, 0, 0), strict=True)
        for one in seeds(
            "+".join(key[:2]), *[{16: right, 40: right}] * 3, fitted=key != ("random-start", "learned", 2500)
        )
    ]
    table = of(*runs).wide()
    assert (
        table.answer[WHY]
        == "Not tested: the control random-start+learned (steps 6000) differs from coupled+learned in steps, too; "
        "train both alike."
    )
    assert steps_of(table)[0].startswith(
        "train coupled+learned with the settings of random-start+learned (steps 6000): "
    )


def test_the_control_is_trained_before_more_seeds() -> None:
    same: dict[str, Any] = {
        "model": {"layers": 2, "log_length": None},
        "training": {"lr": 1e-3, "stop_when_fitted": False},
    }

    def made(**right: int) -> lw.Result:
        names = {"coupled": "learned", "sequential": "rope", "pose": "rope", "random-start": "learned"}
        return of(*(
            one | {"experiment": lw.Experiment("addition", scheme, names[scheme], max_length=8, **same)
                   .configuration.to_json()}
            for scheme, count in ((name.replace("_", "-"), count) for name, count in right.items())
            for one in seeds(f"{scheme}+{names[scheme]}", *[{16: count, 20: count, 24: count, 40: count}] * 3)
        ))  # fmt: skip

    before = steps_of(made(coupled=200, sequential=100, pose=50).wide())
    assert [step.partition(",")[0] for step in before[:1]] == ["train the control random-start+learned"]
    assert "one seed of the control is a hint" in before[0]
    whole = made(coupled=200, sequential=100, random_start=10)
    few = lw.Result([*whole.files[:6], *whole.files[-1:]])
    assert "(3 and 1 seeds: a hint)" in few.wide().answer[WHY], "what one seed of it tells"
    pilot = steps_of(lw.Result(made(coupled=200, sequential=0).files[::3]).wide())
    assert "one seed of the control shows whether it fits" in pilot[0], "beside one seed it is no hint"
    after = made(coupled=200, sequential=100, pose=50, random_start=10).wide()
    two = "coupled+learned and random-start+learned"
    assert [step.partition(":")[0] for step in steps_of(after)] == [f"train {two} to 7 seeds"]
    assert after.answer[WHY] == (
        "Probably the ids: at 40 coupled+learned has 1.000, random-start+learned 0.050, all else equal "
        f"(3 seeds each: a hint).{GUESSED}"
    )


def test_a_control_that_is_significantly_below_shows_that_the_ids_are_the_cause() -> None:
    same: dict[str, Any] = {
        "model": {"layers": 2, "log_length": None},
        "training": {"lr": 1e-3, "stop_when_fitted": False},
    }
    runs = [
        one | {"experiment": lw.Experiment("addition", scheme, "learned", max_length=8, **same).configuration.to_json()}
        for scheme, right in (("coupled", 200), ("random-start", 20))
        for one in seeds(f"{scheme}+learned", *[{40: right}] * 5)
    ]
    said = of(*runs).wide().answer[WHY]
    has = "at 40 coupled+learned has 1.000, random-start+learned 0.100, all else equal"
    assert said == f"The ids make the difference: {has}.{GUESSED}"
    larger = [one | {"parameters": one["parameters"] + 1} if "random" in one["system"] else one for one in runs]
    assert "0.100, all else but the number of ids equal." in of(*larger).wide().answer[WHY]


def test_a_control_is_quoted_at_the_longest_length_whose_gap_is_nearly_the_largest() -> None:
    same: dict[str, Any] = {
        "model": {"layers": 2, "log_length": None},
        "training": {"lr": 1e-3, "stop_when_fitted": False},
    }
    for far, quoted in ((184, 40), (176, 16)):
        runs = [
            one | {"experiment": lw.Experiment("addition", scheme, "learned", max_length=8, **same)
                   .configuration.to_json()}
            for scheme, rights in (("coupled", {16: 200, 40: far}), ("random-start", {16: 0, 40: 0}))
            for one in seeds(f"{scheme}+learned", *[rights] * 5)
        ]  # fmt: skip
        assert f": at {quoted} coupled+learned has" in of(*runs).wide().answer[WHY]


def test_fewer_seeds_are_said_to_be_too_few_only_where_they_are() -> None:
    """Of one test four seeds each are the least; six are asked for where those of two systems overlap."""
    for high, said in (
        (100, "4 seeds: with fewer none can be significant"),
        (199, "6 seeds: then the difference can be"),
    ):
        made = [*seeds("a", *[{40: 200}] * 2, {40: 195}), *seeds("b", *[{40: 100}] * 2, {40: high})]
        assert any(f"train a and b to {said}" in step for step in steps_of(of(*made).wide()))


def test_an_author_is_told_where_five_systems_fall_and_how_many_others_do() -> None:
    for count, rest in ((5, 0), (6, "and 1 other is"), (8, "and 3 others are")):
        runs = [one for name in "abcdefgh"[:count] for one in seeds(name, {16: 20, 40: 0})]
        for one in runs:
            one["scores"][0] |= {"tokens": 10, "tokens_total": 2000}
            one["scores"][1] |= {"tokens": 10, "tokens_total": 2000}
        lines = of(*runs).wide().advice
        assert sum(" is below 95 % at length 16: " in line for line in lines) == 5
        assert [line for line in lines if line.startswith("and ")] == [f"{rest} below 95 % at some length"] * bool(rest)


def test_what_a_system_is_part_of_is_named() -> None:
    found = of(*seeds("one scratchpad + PPC", {40: 1}), *seeds("two scratchpads + PPC", {40: 1}), *seeds("z", {40: 1}))
    for call in (lambda: found.only(systems=["ppc"]), lambda: found.wide(labels={"PPC": "ours"})):
        with pytest.raises(UnknownNameError, match=r"It is part of: one scratchpad \+ PPC, two scratchpads \+ PPC\.$"):
            call()


def test_what_fitted_means_and_of_how_many_strings_numbers_are_is_printed() -> None:
    found = of(*seeds("a", {40: 190}, {40: 180}), *seeds("lost", {}, {}, fitted=False)).wide()
    for text in (repr(found), found.to_latex().partition("\\end{table}")[0], found._repr_html_()):
        plain = " ".join(text.replace("\\", "").split())
        assert "fitted: ≥ 98 % right over lengths 1–8" in plain.replace("--", "–").replace("ensuremath{geq}", "≥")
        assert "200 random strings a length and seed" in plain
    assert "in distribution, without a fitted seed: lost 0.300" in found.advice


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_every_table_of_committed_results_fits_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = committed(folder)
    for table in (found.table(), wide(found), found.differences()) if len(found) else ():
        assert max(map(len, repr(table).splitlines())) <= 80


def test_where_the_best_falls_its_tokens_and_the_command_that_explains_it_are_named(tmp_path: Path) -> None:
    """A folder without weights can't be explained."""
    runs = seeds("a", {12: 200, 16: 160, 40: 150})
    runs[0]["scores"][1] |= {"tokens": 1900, "tokens_total": 2000, "first_error": {"eos": 39, "token": 1}}
    runs[0]["scores"][2] |= {"first_error": {"eos": 50}}
    found = placed(tmp_path, runs)
    falls = "a is below 95 % at length 16: right on 0.800 of the strings and 95 % of their tokens"
    assert f"{falls}; 89 of 90 wrong strings stop too early or too late (at 16–40)" in found.wide().advice
    for there in (False, True):
        for table in (found.table(), found.wide(), found.accuracy().table()):
            see = f"see where a falls, and what it gets wrong\nlengthwise explain {tmp_path}"
            assert any(see in line for line in table.advice) is (there and "16" in table.columns)
        (tmp_path / "checkpoint.safetensors").touch()
    assert not any("falls" in line for line in of(*seeds("a", {16: 200})).wide().advice)


def test_the_run_to_explain_is_the_lowest_of_the_length_that_is_named_and_has_the_numbers_and_the_label(
    tmp_path: Path,
) -> None:
    runs = seeds("a", {12: 200, 16: 200}, {12: 200, 16: 20}, {12: 200, 16: 120})
    made = list[tuple[Path, SeedResult]]()
    for seed, values in enumerate(runs):
        values["scores"][1] |= {"tokens": 1000 + seed, "tokens_total": 2000, "first_error": {}}
        folder = tmp_path / f"seed{seed}"
        folder.mkdir()
        (folder / "checkpoint.safetensors").touch()
        made.append((folder, SeedResult.of(values).model_copy(update={"folder": folder})))
    table = lw.Result(made).wide(labels={"a": "ours"})
    assert (
        "ours is below 95 % at length 16: seed 1, the lowest, is right on 0.100 of the strings and 50 % of their tokens"
        in (table.advice)
    )
    see = "see what seed 1 of ours gets wrong, its lowest (0.100 at 16, its best 1.000)"
    see = f"{see}\nlengthwise explain {tmp_path}/seed1"
    assert any(line.endswith(see) for line in table.advice)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_nothing_is_told_to_be_trained_for_steps_with_which_it_did_not_fit(folder: Path) -> None:
    for found in contests(folder):
        step = answer(found.systems).step
        fits = {one.results[0].system for one in found.systems if 2 * len(one.fitted) > len(one.results)}
        lost = [one for one in found.systems if 2 * len(one.fitted) <= len(one.results)]
        planned = [one.experiment["training"]["steps"] for one in lost if one.results[0].system not in fits]
        if planned and " did not fit with fewer steps" in step:
            assert int(re.findall(r"steps=(\d+)", step)[0]) > max(planned)
        assert not step.startswith("train") or "\nlengthwise run " in step


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_missing_control_does_not_hang_on_which_systems_are_shown(folder: Path) -> None:
    for found in contests(folder):
        systems = [one for one in in_order(found.systems) if one.cells]
        said = set[str]()
        for other in systems[1:6]:
            then = answer([systems[0], other], whole=found.systems).step
            said |= {*re.findall(r"train the control ([^,]+)", then)}
        assert len(said) <= 1


def test_systems_go_by_the_names_that_a_comparison_takes() -> None:
    task = TASKS.build("addition")
    names = ("random-start", "learned", "ape", "rope", "pose", "coupled", "nope", "alibi", "coupled+local-bias")
    for name in names:
        (system,) = chosen_systems(task, [name])
        scheme = "random-start" if system.random_start else system.scheme
        made = lw.Experiment("addition", scheme, system.encoding, max_length=8).configuration.to_json()
        found = of(*(one | {"experiment": made} for one in seeds(system.name, {16: 1})))
        assert len(found.only(systems=[name])) == 1


def test_of_too_many_systems_the_first_are_drawn_and_the_others_named() -> None:
    found = of(*[one for at in range(26) for one in seeds(f"s{at:02}", {8: 200, 16: 100 - at})])
    for ax in (None, Figure().subplots()):
        with pytest.warns(UserWarning, match="2 of 26 systems are not drawn"):
            drawn: Any = found.plot(ax)
        assert "2 not drawn, as they rank last: s24 and s25" in drawn.alt
        assert " ".join(found.wide().answer["finding"].split()) in drawn.alt


def placed(folder: Path, runs: list[dict[str, Any]]) -> lw.Result:
    """Results that lie in this folder."""
    return lw.Result([(folder, SeedResult.of(values).model_copy(update={"folder": folder})) for values in runs])


@pytest.mark.parametrize(("right", "last", "comes_first"), [(4, 0, True), (200, 74, False), (200, 150, None)])
def test_a_difference_is_settled_before_what_is_likelier_to_be_right(
    tmp_path: Path, right: int, last: int, comes_first: bool | None
) -> None:
    (tmp_path / "checkpoint.safetensors").touch()
    runs = [*seeds("a", *[{16: right, 40: last}] * 2), *seeds("b", *[{16: 0, 40: 0}] * 2)]
    explain, predict = f"lengthwise explain {tmp_path}", "lengthwise predict addition --train"
    table = placed(tmp_path, runs).wide()
    (step,) = steps_of(table)
    assert (predict in step) is bool(comes_first)
    assert ("to 5 seeds" in step) is not comes_first
    see = "see what seed 0 of a gets wrong, its lowest ("
    assert sum(line.partition(see)[2].endswith(explain) for line in table.advice) == 1


def test_a_failing_seed_does_not_win_and_is_said() -> None:
    flat = {8: 200, 16: 200, 40: 200}
    sure = seeds("sure", *[{8: 199, 16: 199, 40: 197}] * 3)
    risky = seeds("risky", flat, {8: 200, 16: 0, 40: 0}, flat)
    low = seeds("low", *[{8: 200, 16: 0, 40: 0}] * 3)
    found = of(*risky, *low, *sure)
    assert [one.label for one in ranked(found.systems)] == ["sure", "risky", "low"]
    said = " ".join(found.wide().answer["finding"].split())
    goes = "is ≥ 95 % right in tests up to 40, the longest, in all 3 seeds; risky up to 40 (median of 3 seeds, 8–40)"
    assert f"{goes}; low is not right" in said
    assert found.plot().alt.startswith(said)  # type: ignore[union-attr]


def test_systems_with_other_tests_are_compared_where_both_were_tested() -> None:
    far = seeds("far", *[{8: 200, 16: 200, 160: 200}] * 2)
    near = seeds("near", *[{8: 200, 16: 20}] * 2)
    said = headline(of(*near, *far).systems)
    assert (
        "far is ≥ 95 % right in tests up to 160, the longest, in both seeds; near is not right at the next test ("
        in said
    )
    said = headline(
        of(*seeds("near", *[{8: 200, 16: 200}] * 2), *seeds("far", *[{8: 200, 16: 20, 160: 0}] * 2)).systems
    )
    assert "is ≥ 95 % right in tests up to 16 in both seeds; far is not right at the next test (0.100 at 16)" in said


def test_latex_says_what_its_own_brackets_are() -> None:
    """Those of a row that it leaves out are not described."""
    wide = [{8: 200, 16: 150, 24: 120, 40: 90, 56: 60}, {8: 200, 16: 20, 24: 10, 40: 5, 56: 1}]
    found = of(*seeds("a" * 30, *wide), *seeds("b" * 30, {8: 200, 16: 3, 24: 2, 40: 1, 56: 0})).wide()
    said = found.to_latex()
    assert "one seed, not over" in found.legend["brackets"]
    assert "range of 2 seeds, where" in said
    assert "one seed, not over" not in said


def test_each_row_has_its_brackets() -> None:
    found = of(*seeds("a", *[{40: 190}, {40: 180}]), *seeds("b", {40: 20}), *seeds("lost", {}, {}, {}, fitted=False))
    said = found.wide().legend["brackets"]
    assert "range of 2 seeds" in said
    assert "the strings of one seed, not over seeds" in said
    assert [row[3] for row in found.wide().rows] == ["2 of 2", "1 of 1", "0 of 3"]


def test_a_table_has_one_kind_of_brackets_over_seeds() -> None:
    """The range, where some rows have too few seeds for an interval; else the interval."""
    many, few = [{40: 190 - 3 * at} for at in range(9)], [{40: 50 - 3 * at} for at in range(3)]
    alone, both = of(*seeds("a", *many)).wide(), of(*seeds("a", *many), *seeds("b", *few)).wide()
    assert "range" not in alone.legend["brackets"]
    assert both.legend["brackets"] == "range of 3 or 9 seeds"
    first = alone.rows[0][-1], both.rows[0][-1]
    assert [(one.low, one.high) for one in first] == [(0.845, 0.935), (0.83, 0.95)]
    assert "range of 3 or 9 seeds" in repr(of(*seeds("a", *many), *seeds("b", *few)).table())


def test_steps_are_those_that_were_run_in_every_note() -> None:
    short, long = experiment(), experiment()
    long["training"]["steps"] = 12_000
    made = [*(one | {"experiment": long, "steps": 2_000} for one in seeds("a", *[{40: 200}] * 2))]
    made += [one | {"experiment": short} for one in seeds("b", *[{40: 20}] * 2)]
    said = "; ".join(of(*made).wide().advice)
    assert said.count("12,000") == said.count("2,000 of at most 12,000") == 1
    assert "12000" not in said


def test_one_layout_is_kept_and_p_is_corrected_for_all() -> None:
    def runs(name: str, right: int) -> list[dict[str, Any]]:
        scores = [score(n, right - chains, axes={"chains": chains}) for n in (8, 40) for chains in (1, 4)]
        return [result(name, at, scores=scores) for at in range(3)]

    found = of(*runs("a", 190), *runs("b", 20))
    part = found.only(layout="chains 4")
    assert {row[2] for row in found.wide().rows} == {"chains 1", "chains 4"}
    assert {row[2] for row in part.wide().rows} == {""}
    assert "on addition, chains 4 by length" in part.wide().caption
    assert "layout" not in part.wide().legend["bold"]
    whole = {tuple(row[:4]): row[-1] for row in found.differences().rows}
    assert {tuple(row[:4]): row[-1] for row in part.differences().rows}.items() <= whole.items()
    with pytest.raises(UnknownNameError, match="chains 4"):
        found.only(layout="chains 5")


def test_what_next_says_to_write_leaves_nothing_that_differs_besides_positions() -> None:
    systems = (("coupled", "learned"), ("coupled", "local-bias"), ("sequential", "rope"))

    def trained(whom: str = "", **more: Any) -> lw.Result:
        runs = list[dict[str, Any]]()
        for (scheme, encoding), right in zip(systems, (200, 100, 0), strict=True):
            name = f"{scheme}+{encoding}"
            own = more if name in whom else {}
            training = {"stop_when_fitted": False, **own.get("training", {})}
            made = lw.Experiment("addition", scheme, encoding, max_length=8, model=own.get("model"), training=training)
            runs += [
                one | {"experiment": made.configuration.to_json()} for one in seeds(name, {16: right}, {16: right})
            ]
        return of(*runs)

    found = trained().only(systems=["coupled+local-bias", "rope"])
    (said,) = (step for step in steps_of(found.wide()) if "then models and training are equal" in step)
    whom, _, said = said.partition("train ")[2].partition(" with ")
    table = trained(whom=whom, **eval(f"dict({said.rpartition(': ')[0]})")).wide()
    assert steps_of(table)[0].startswith("train the control random-start+learned")


def test_a_control_that_is_not_shown_is_shown_before_anything_is_trained() -> None:
    same: dict[str, Any] = {
        "model": {"layers": 2, "log_length": None},
        "training": {"lr": 1e-3, "stop_when_fitted": False},
    }
    makes = {
        f"{scheme}+{encoding}": lw.Experiment("addition", scheme, encoding, max_length=8, **same)
        for scheme, encoding in (("coupled", "learned"), ("random-start", "learned"), ("sequential", "rope"))
    }
    best, control, rival = makes

    def made(**lost: bool) -> lw.Result:
        return of(*(
            one | {"experiment": makes[name].configuration.to_json()}
            for name, right in zip(makes, (200, 0, 100), strict=True)
            for one in seeds(name, *[{16: right}] * 3, fitted=not lost.get("control", False) or name != control)
        ))  # fmt: skip

    table = made().only(systems=[best, rival]).wide()
    assert table.answer[WHY] == "Not tested by the systems shown."
    assert steps_of(table)[0].startswith("show the control: `.only(systems=[")
    assert any("3 in all, also of systems not shown; p by Holm" in line for line in table.advice)
    assert f"`.only(systems={[best, control]})`" in steps_of(table)[0]
    line = "show the control"  # for the author, not for readers
    assert line in "; ".join(table.advice)
    assert line not in table.to_latex().partition(r"\end{table}")[0]
    assert line not in "; ".join(made().wide().advice)
    for found in (made(control=True), made(control=True).only(systems=[best, rival])):
        assert found.wide().answer[WHY].startswith(f"Not tested: the control {control} of {best} did not fit. Known: ")
        shown = "all 3" if {rival, control} <= {*found.systems.names} else f"{best} and {control}"
        first = f"train {shown} for 4,000 steps, "
        assert steps_of(found.wide())[0].startswith(first)


@pytest.mark.parametrize(
    ("train", "right", "asks"), [(5, 20, True), (5, 200, False), (SHORTEST_TRAINED, 20, False)], ids=str
)
def test_longer_strings_are_trained_first_where_they_were_too_short_and_the_best_fails(
    train: int, right: int, asks: bool, tmp_path: Path
) -> None:
    """With a command that makes a system trained to the first test that is long enough, under the same ids."""
    for scheme, far in (("coupled", right), ("random-start", 0)):
        one = lw.Experiment("reverse", scheme, "learned", max_length=train, test_lengths=[5, 8, 20])
        for values in seeds(one.name, *[{8: far, 20: far}] * 2):
            folder = tmp_path / "runs" / "reverse" / f"{scheme}-{values['seed']}"
            folder.mkdir(parents=True)
            values |= {"experiment": one.configuration.to_json()}
            (folder / RESULT).write_text(json.dumps(values))
            (folder / CONFIG).write_text(json.dumps({"experiment": values["experiment"], "seed": values["seed"]}))
    step, *commands = lw.results(tmp_path / "runs").wide().advice[0].split("\n")
    assert step.startswith("next: train both on strings to 8") is asks
    for command in commands if asks else ():
        words = shlex.split(command, comments=True)
        changes = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
        made = recipe(read_recipe(Path(words[words.index("--config") + 1])), changes=changes).jobs[0].experiment
        assert (made.training.max_length, made.evaluation.lengths) == (8, (8, 20))
        assert words[-1] == str(tmp_path / "runs-to-8")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_hint_is_settled_before_longer_tests(folder: Path) -> None:
    for found in contests(folder):
        if wide(found).answer.get(WHY, "").startswith("Probably"):
            assert not any(step.startswith("to test longer") for step in steps_of(wide(found)))


@pytest.mark.parametrize("second", [200, 150])
def test_where_the_best_can_have_no_control_that_of_another_is_told(second: int) -> None:
    """Attention to near ids does not learn the task under plain ids; a table does, whether it goes far or not."""
    makes = {
        f"{scheme}+{encoding}": lw.Experiment(
            "addition", {"name": scheme, "draw": "pose"} if scheme == "coupled" else scheme, encoding, max_length=8,
            model={"layers": 1, "log_length": None}, training={"lr": 1e-3, "stop_when_fitted": False}, steps=1000,
        ).configuration.to_json()
        for scheme, encoding in (
            ("coupled", "local-bias-sink"), ("coupled", "learned"), ("random-start", "learned"), ("sequential", "rope"),
        )
    }  # fmt: skip
    for many in (3, 7):
        made = of(*(
            one | {"experiment": makes[name]}
            for name, right in zip(makes, (200, second, 0, 0), strict=True)
            for one in seeds(name, *[{16: right, 40: right if right == 200 else 0}] * (many if right < 200 else 7))
        ))  # fmt: skip
        table = made.wide()
        sure = "Probably the ids: " if many == 3 else "The ids make the difference: "
        assert re.search(rf"{sure}at \d+ coupled\+learned has [\d.]+, random-start\+learned ", table.answer[WHY])
        again = (
            "train coupled+learned and random-start+learned to " if second < 200 else "train random-start+learned to "
        )
        assert steps_of(table)[0].startswith(again) is (many == 3)


def test_a_table_without_a_fitted_seed_says_how_far_they_are_from_it() -> None:
    lost = [*seeds("a", {}, fitted=False), *seeds("b", {}, fitted=False)]
    assert "a 0.300, b 0.300" in of(*lost).wide().legend["n.f."]
    assert "none of 2 systems fitted after 1,000 steps: " in of(*lost).wide().answer["finding"]
    with pytest.raises(LengthwiseError, match="after 1,000 steps"):
        of(*lost).plot()
    assert "0.300" not in of(*lost, *seeds("c", {40: 1})).wide().legend["n.f."]


def test_of_several_configurations_the_one_that_differs_least_is_compared() -> None:
    """Also where another goes farther."""
    other = experiment("sequential", "rope")
    longer = experiment("sequential", "rope") | {"training": other["training"] | {"steps": 1600}}
    made = [
        *(one | {"experiment": experiment("sequential", "alibi")} for one in seeds("best", *[{16: 200, 40: 200}] * 3)),
        *(one | {"experiment": longer, "steps": 1600} for one in seeds("rope", *[{16: 100, 40: 9}] * 3)),
        *(one | {"experiment": other} for one in seeds("rope", *[{16: 90, 40: 0}] * 3)),
    ]
    table = of(*made).wide()
    assert any("train best and rope (steps 1000) to 5 seeds" in step for step in steps_of(table))


def test_of_seeds_with_as_many_right_strings_tokens_decide_which_is_the_lowest() -> None:
    runs = seeds("a", *[{8: 200, 16: 0}] * 3)
    for values, tokens in zip(runs, (640, 230, 500), strict=True):
        values["scores"][1] |= {"tokens": tokens, "tokens_total": 1000}
    said = "; ".join(of(*runs).wide().advice)
    assert (
        "a is below 95 % at length 16: seed 1, the lowest, is right on 0.000 of the strings and 23 % of their tokens"
        in said
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_how_sure_is_what_differences_say(folder: Path) -> None:
    for found in contests(folder):
        holds(found)


@pytest.mark.parametrize("seed", range(12))
def test_how_sure_is_what_differences_say_of_made_up_seeds(seed: int) -> None:
    """Of which many are significant, at some lengths or at all."""
    rng = np.random.default_rng(seed)
    runs = list[dict[str, Any]]()
    for name in "abcd"[: 2 + seed % 3]:
        level = {n: rng.choice([0, 90, 150, 200]) for n in (16, 24, 40)}
        runs += seeds(name, *[{8: 200} | {n: int(np.clip(right + rng.integers(-30, 30), 0, 200)) for n, right in
                                          level.items()} for _ in range(rng.integers(4, 9))])  # fmt: skip
    holds(of(*runs))


def holds(found: lw.Result) -> None:
    """That a pair is significant, or each seed of one above each of the other, where it is said, of all of them."""
    systems, said = in_order(found.systems), wide(found).answer.get(SURE, "")
    for name in sorted((one.label for one in systems), key=len, reverse=True):
        said = re.sub(rf"(^|of |: |above |and |, )“?{re.escape(name)}”?(?=,| and | is | at )", rf"\1<{name}>", said)
    tests = differences(systems)
    tests = [*tests, *(test.turned for test in tests)]
    begins, ends = (
        r"(?:^(?!Not )|every seed of )([^:.]*?) is (significantly )?above (?:all of )?(.*?)",
        r"(?:\.| \(rank test)",
    )
    made = re.search(rf"{begins}(?:, each at some longer length| at (\d.*?)){ends}", said)
    if made is None and (none := re.match(r"<(.*?)> is not significantly above (.*?) at any length", said)):
        pairs = (test for test in tests if test.one.label == none[1] and f"<{test.other.label}>" in none[2])
        assert not any(test.sure and not test.axes for test in pairs)
        return
    if made is None:
        begins = ("One seed each", "No difference", "No other system", "Not known")
        assert not said or said.startswith(begins)
        return
    first = next(one for one in systems if f"<{one.label}>" == made[1])
    clauses, sure = f"{made[3]} at {made[4] or ''}", bool(made[2])
    whom = [one for one in systems if f"<{one.label}>" in clauses]
    good = dict[tuple[str, int], bool]()
    for test in tests:
        if test.one is first:
            key = test.other.label, test.length
            true = test.holm <= 0.05 and fmean(test.rates) > fmean(test.other_rates) if sure else test.apart
            good[key] = good.get(key, True) and true
    tested, somewhere = sorted({n for _, n in good}), {name for (name, _), right in good.items() if right}
    for clause in re.split(r"(?<=\d)(?:,| and) (?=<)", clauses):
        who, _, where = clause.rpartition(" at ")
        lengths = set[int]()
        for part in filter(None, re.split(", | and ", where)):
            low, _, high = part.partition("–")
            lengths |= {n for n in tested if int(low) <= n <= int(high or low)}
        true = {one.label for one in systems if all(good.get((one.label, n), False) for n in lengths)} & somewhere
        named, count = {one.label for one in whom if f"<{one.label}>" in who}, re.match(r"(?:the )?(\d+) ", who)
        assert named <= true
        assert named or len(true) >= int(count[1])  # type: ignore[index]
    if said.startswith("Not significant"):
        assert not any(test.sure for test in tests if test.one is first and test.other in whom)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_system_whose_ids_are_said_to_be_the_cause_is_weighed_against_the_best(folder: Path) -> None:
    for found in contests(folder):
        said = wide(found).answer
        for name in re.findall(r"[Tt]he ids(?: make the difference)?: at \d+ (.*?) has", said.get(WHY, "")):
            assert name in said[SURE]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_ids_are_the_cause_only_where_tests_say_so(folder: Path) -> None:
    for found in contests(folder):
        said = wide(found).answer.get(WHY, "").replace("“", "").replace("”", "")
        assert not re.search("perhaps|not known", said)
        tests = differences(in_order(found.systems))
        tests = [*tests, *(test.turned for test in tests)]
        claims = re.findall(
            r"(The|Probably the) (ids|encoding)(?: makes? the difference)?: at (\d+) (.*?) has (\d\.\d+), (.*?) "
            r"(\d\.\d+), all else(?: but (the number of ids|parameters of the encodings))? equal", said,
        )  # fmt: skip
        assert len(claims) == len(re.findall("The ids make|The encoding makes|Probably", said))
        for begins, what, at, first, rate, other, less, but in claims:
            mine = [test for test in tests if (test.one.label, test.other.label) == (first, other)]
            there = [test for test in mine if test.length == int(at)]
            assert there
            assert all(test.sure or test.apart for test in there)
            assert (begins == "The") is any(test.sure for test in mine)
            assert f"{min(median(test.rates) for test in there):.3f}" == rate
            two = there[0].one, there[0].other
            assert two[0].positions.scheme == two[1].positions.scheme or what == "ids"
            assert bool(but) is (len({run.parameters for one in two for run in one.results}) > 1)
            assert sum(len(one.fitted) for one in two) > 2, "one seed each cannot tell"
            if what == "ids":  # nowhere is the control surely ahead, and the first is mostly right
                assert float(rate) >= 0.5 > float(less) - float(rate)
                ahead = (median(test.other_rates) - median(test.rates) for test in mine if not test.axes)
                assert max(ahead, default=0) < 0.05


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_two_encodings_do_is_what_the_registry_says_of_those_that_are_compared(folder: Path) -> None:
    for found in contests(folder):
        said = wide(found).answer.get(WHY, "").replace("“", "").replace("”", "")
        known = re.search(r"Known: ([\w-]+) \((.+?)\) against ([\w-]+) \((.+?)\)\.", said)
        assert " against " not in said or known
        if known:
            pair = re.search(r"encoding(?: makes the difference)?: at \d+ (.*?) has [\d.]+, (.*?) [\d.]+, all", said)
            assert pair
            for label, name, does in zip(pair.groups(), known.groups()[::2], known.groups()[1::2], strict=True):
                (system,) = (one for one in found.systems if one.label == label)
                encoding = ENCODINGS.build(system.experiment["encoding"])
                assert encoding.label == name
                assert encoding.summary.startswith(does)


def test_systems_that_differ_in_their_encoding_alone_have_what_these_do_as_why() -> None:
    made = [
        one | {"experiment": experiment("coupled", encoding)}
        for encoding, right in (("local-bias", 200), ("rope", 0))
        for one in seeds(f"coupled+{encoding}", *[{8: 200, 16: right, 40: right}] * 3)
    ]
    says = "(local-bias: attention to near ids alone; rope: queries and keys rotated by their ids)."
    assert says in of(*made).wide().answer[WHY]


@pytest.mark.parametrize(("right", "near"), [(391, True), (370, False)])
def test_what_did_not_fit_by_less_than_sampling_error_is_told(right: int, near: bool) -> None:
    """Required are 98 % of 400 strings."""
    lost = result("lost", 0, fitted=False) | {"in_distribution": score(8, right, 400)}
    assert ("within sampling error of 98 %" in of(lost).wide().answer["finding"]) is near
    beside = of(lost, *seeds("a", {8: 200, 16: 200, 40: 200})).wide().answer["finding"]
    assert ("lost (within sampling error) did not fit" in beside) is near
    fits = of(lost, result("lost", 1), *seeds("a", {8: 200, 16: 200, 40: 200})).wide().answer["finding"]
    assert "sampling error" not in fits


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_ids_do_is_what_the_structure_of_the_task_has(folder: Path) -> None:
    """What is needed is farther back at a test than in training under plain ids, and not under these."""
    begins = r"at (\d+) a token needs one up to (\d+) tokens back \((\d+) in training\), "
    for found in contests(folder):
        said = re.search(rf"{begins}under ([\w-]+) ids at most (\d+)", wide(found).answer.get(WHY, ""))
        assert ("a token needs one" in wide(found).answer.get(WHY, "")) is (said is not None)
        if said:
            at, far, had, near = (int(said[at]) for at in (1, 2, 3, 5))
            assert far > had
            mine = [one for one in found.systems if one.positions.scheme == said[4]]
            assert near in {needed_back(one, at) for one in mine}
            assert {far, had} <= {
                needed_back(one, n, scheme="sequential") for one in mine for n in (at, one.max_length)
            }


def test_ids_that_were_never_trained_are_why_one_falls() -> None:
    runs = [
        one | {"experiment": experiment(scheme, "learned")}
        for scheme, right in (("coupled", 200), ("sequential", 4))
        for one in seeds(scheme, *[{8: 200, 16: right, 40: right}] * 5)
    ]
    said = never_trained(of(*runs).systems)
    assert said == "sequential: length 16 is the first with ids above 27, which were never trained."
    assert of(*runs).wide().answer[WHY].endswith(said)
    early = [one | {"experiment": experiment("sequential", "learned")} for one in seeds("x", {8: 200, 9: 4, 40: 4})]
    assert not never_trained(of(*early).systems) or "length 9" in never_trained(of(*early).systems)


@pytest.mark.parametrize(
    ("mine", "control", "right", "said"),
    [
        (2, 2, [20, 200], "Probably the ids: at 16 coupled+learned has 1.000, random-start+learned 0.100, all else "
         "equal (2 seeds each: a hint)."),
        (5, 3, [20, 20], "Probably the ids: at 40 coupled+learned has 1.000, random-start+learned 0.100, all else "
         "equal (5 and 3 seeds: a hint)."),
        (5, 5, [200, 200], "Not shown that the ids of coupled+learned help: at no length is it above its control "
         "random-start+learned in every seed."),
        (1, 1, [20, 20], "Not known from one seed each of "),
    ],
)  # fmt: skip
def test_what_a_control_shows_is_said_with_its_seeds_and_lengths(
    mine: int, control: int, right: list[int], said: str
) -> None:
    same: dict[str, Any] = {"model": {"layers": 2, "log_length": None}, "training": {"lr": 1e-3}}
    same["training"]["stop_when_fitted"] = False
    runs = [
        one | {"experiment": lw.Experiment("addition", scheme, "learned", max_length=8, **same).configuration.to_json()}
        for scheme, many, rights in (("coupled", mine, [200, 200]), ("random-start", control, right))
        for one in seeds(f"{scheme}+learned", *[{8: 200, 16: rights[0], 40: rights[1]}] * many)
    ] + [*seeds("other", *[{8: 200, 16: 0, 40: 0}] * 4)]
    assert said in of(*runs).wide().answer[WHY]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_next_sets_nothing_of_positions(folder: Path) -> None:
    for found in [committed(folder), *contests(folder)]:
        then = answer(in_order(found.systems)).step
        assert "lw.scheme(" not in then
        assert "lw.encoding(" not in then


def test_brackets_of_three_lengths_stay_however_long_names_are() -> None:
    """As the comment says that leaves out those of more."""
    found = of(*seeds(f"{'long ' * 8}name", *[{8: 200, 16: 190, 24: 180, 40: 0}] * 2, {8: 200, 16: 9, 24: 3, 40: 1}))
    assert "wide or more" in found.wide().to_latex()
    for made in (found.wide(lengths=[16, 24, 40]), found.wide(lengths=[16, 24, 40], brackets="range")):
        text = made.to_latex()
        assert text.count("--") > 2
        assert "brackets are left out" not in text


@pytest.mark.parametrize(
    ("far", "seeds", "said"),
    [
        ([64], 1, "64 (one seed)"),
        ([8, 8], 2, "8 in both seeds"),
        ([8, 16, 64], 4, "8 (median of 4 seeds, 0–64, 1 not fitted)"),
        ([100, 40, 50, 60, 100, 100, 40, 50], 8, "50 (median of 8 seeds, 40–100)"),
        ([100, 0, 0], 3, "100 in 1 of 3 seeds"),
        ([100], 3, "100 in 1 of 3 seeds, 2 not fitted"),
    ],
)
def test_how_far_seeds_go_is_their_median_and_range(far: list[int], seeds: int, said: str) -> None:
    assert reaches_text(far, seeds) == said


def test_a_table_of_one_fitted_system_that_falls_says_why_and_what_is_next() -> None:
    one, lost = seeds("a", *[{8: 200, 16: 190, 40: 150}] * 2), seeds("b", {}, fitted=False)
    assert "lengthwise predict addition" in steps_of(of(*one).wide())[0]
    assert steps_of(of(*one, *lost).wide())[0].startswith("train both for 2,000 steps with 2 layers: ")


@pytest.mark.parametrize(("layers", "asks"), [(2, "coupled+learned with the settings of"), (1, "the control")])
def test_with_the_layers_that_a_control_needed_its_partner_is_trained(layers: int, asks: str) -> None:
    """`compare` gives a system more layers only where it does not fit with fewer, so the first with its are no use."""
    makes = {
        scheme: lw.Experiment(
            "addition", scheme, "learned", max_length=8, steps=800, model={"layers": of},
            training={"lr": 1e-3 * of, "stop_when_fitted": False},
        ).configuration.to_json()
        for scheme, of in (("coupled", 3 - layers), ("random-start", layers))
    }  # fmt: skip
    runs = [
        one | {"experiment": made}
        for (scheme, made), right in zip(makes.items(), (200, 0), strict=True)
        for one in seeds(f"{scheme}+learned", *[{40: right}] * 3)
    ]
    table = of(*runs).wide()
    assert "differs from coupled+learned in layers and learning rate, too" in table.answer[WHY]
    assert steps_of(table)[0].startswith(f"train {asks} random-start+learned")
    if layers == 2:
        same = makes["random-start"] | {"scheme": makes["coupled"]["scheme"]}
        for fitted, says in (
            (True, "Not shown that the ids of coupled+learned"),
            (False, "Not known: with the settings of its"),
        ):
            more = [one | {"experiment": same} for one in seeds("coupled+learned", *[{40: 0}] * 3, fitted=fitted)]
            done = of(*runs, *more).wide()
            assert says in done.answer[WHY]
            assert not any("with the settings of" in step for step in steps_of(done))
            assert not fitted or not any("models and training are equal" in step for step in steps_of(done))


def test_a_control_that_fits_with_more_steps_asks_for_its_partner_not_for_more_that_do_not_fit() -> None:
    def made(scheme: str, steps: int) -> dict[str, Any]:
        same: dict[str, Any] = {"model": {"layers": 2}, "training": {"lr": 1e-3, "stop_when_fitted": False}}
        one = lw.Experiment("addition", scheme, "learned", max_length=8, steps=steps, **same)
        return one.configuration.to_json()

    runs = [one | {"experiment": made("coupled", 800)} for one in seeds("coupled+learned", *[{40: 200}] * 3)]
    short = [*seeds("random-start+learned", {40: 0}), *seeds("random-start+learned", *[{}] * 3, fitted=False)[1:]]
    runs += [one | {"experiment": made("random-start", 800)} for one in short]
    longer = seeds("random-start+learned", *[{40: 0}] * 3)
    runs += [one | {"experiment": made("random-start", 1600)} for one in longer]
    table = of(*runs).wide()
    assert (
        table.answer[WHY]
        == "Not tested: the control random-start+learned (steps 1600) differs from coupled+learned in steps, too; "
        "train both alike."
    )
    assert steps_of(table)[0].startswith("train coupled+learned with the settings of random-start+learned (steps 1600)")
    both = of(*runs, *(one | {"experiment": made("coupled", 1600)} for one in seeds("coupled+learned", {40: 200})))
    assert both.wide().answer[WHY].startswith("Probably the ids: at 40 coupled+learned (steps 1600) has 1.000, random-")


def test_a_control_that_did_not_fit_with_more_steps_either_is_trained_for_twice_these() -> None:
    def made(scheme: str, encoding: str, steps: int) -> dict[str, Any]:
        same: dict[str, Any] = {"model": {"layers": 2}, "training": {"lr": 1e-3, "stop_when_fitted": False}}
        one = lw.Experiment("addition", scheme, encoding, max_length=8, steps=steps, **same)
        return one.configuration.to_json()

    def trained(name: str, right: int, steps: int, count: int, *, fitted: bool = True) -> list[dict[str, Any]]:
        config = made(*name.split("+"), steps)
        return [one | {"experiment": config} for one in seeds(name, *[{40: right}] * count, fitted=fitted)]

    runs = [*trained("coupled+learned", 200, 500, 3), *trained("sequential+rope", 0, 500, 3)]
    runs += trained("random-start+learned", 0, 500, 3, fitted=False)
    assert steps_of(of(*runs).wide())[0].startswith("train all 3 for 1,000 steps, ")
    runs += trained("random-start+learned", 0, 1000, 1, fitted=False)
    assert steps_of(of(*runs).wide())[0].startswith("train all 3 for 2,000 steps, ")


def test_an_abandoned_setting_with_fewer_seeds_is_not_what_is_weighed() -> None:
    wide = experiment()
    wide["model"]["layers"] += 1
    few = seeds("coupled", {16: 200, 40: 190}, {16: 200, 40: 150})
    more = [one | {"experiment": wide} for one in seeds("coupled", *[{16: 200, 40: 170}] * 5)]
    low = [one | {"experiment": experiment("sequential", "rope")} for one in seeds("rope", *[{16: 0, 40: 0}] * 5)]
    table = of(*few, *more, *low).wide()
    name = next(one.label for one in of(*few, *more, *low).systems if len(one.fitted) == 5 and "coupled" in one.label)
    assert table.answer[SURE].startswith(f"{name} is significantly above rope")


@pytest.mark.parametrize("many", [1, 4])
def test_without_a_test_beyond_training_nothing_is_said_of_longer_lengths(many: int) -> None:
    made = [each for name in ("coupled", "rope", "nope", "fire")[:many] for each in seeds(name, {8: 200})]
    assert re.fullmatch(r"Trained to 8, .* was tested at a longer length\.", headline(of(*made).systems))
