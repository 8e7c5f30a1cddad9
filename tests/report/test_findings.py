"""What captions and notes of every committed result say is what its numbers are: one order, one length, wide ranges."""

from __future__ import annotations

import re
from functools import cache
from math import comb
from pathlib import Path
from statistics import fmean, median, median_low
from typing import Any

import numpy as np
import pytest
from made_up import experiment, result, score
from matplotlib.figure import Figure

import lengthwise as lw
from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.core.rank import REACH
from lengthwise.core.table import STUDY, Spread, answered
from lengthwise.experiments.defaults import chosen_systems
from lengthwise.positions.schemes import SCHEMES
from lengthwise.prediction.example import to_store
from lengthwise.report.answer import SURE, WHY, answer
from lengthwise.report.control import in_what
from lengthwise.report.differences import differences
from lengthwise.report.finding import MOST_TASKS, headline, in_groups, leader, told_lengths
from lengthwise.report.next_steps import MANY_STEPS
from lengthwise.report.summary import (
    LOW,
    WIDE_RANGE,
    SeedResult,
    SystemSummary,
    chance,
    in_order,
    in_quotes,
    other_settings,
    ranked,
)
from lengthwise.report.why import distances, named, needed_back, why
from lengthwise.report.words import reaches_text
from lengthwise.tasks import TASKS

FOLDERS = sorted({path.parent.parent for path in Path("studies").glob("*/results/*/*/result.json")})


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
        first = re.escape(leader(fitted).label) + "|" + re.escape(leader(fitted).name)
        begins = (
            rf"(^(Trained on lengths up to \d+, )?(\d+ of .* in all seeds: )?|; )“?({first})”?"
            r"( is| has|, of| alone| \(trained to \d+\) alone| [(0]|,|;|\.| and )"
        )
        assert re.search(begins, said)
        if len(fitted) <= 3:
            assert all(is_named(one, said) for one in fitted)


def is_named(one: SystemSummary, said: str) -> bool:
    """By its label, or with other settings of it."""
    return one.label in said or re.search(rf"{re.escape(one.name)}.*\({re.escape(one.settings)}[;)]", said) is not None


def medians(system: SystemSummary) -> dict[int, float]:
    """The median of the fitted seeds by length, of the layout where it is lowest."""
    found = dict[int, float]()
    for cell in system.cells:
        found[cell.length] = min(found.get(cell.length, 1.0), median(one.rate() for one in cell.scores))
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_finding_speaks_of_every_tested_length_of_the_systems_that_it_names(folder: Path) -> None:
    """Up to the reach all is right, whatever is beyond; the lowest beyond is said, and what a median hides."""
    for found in contests(folder):
        said = headline(found.systems)
        assert len(said) < 1200
        clauses = split_at_top(said.partition(". ")[0].rstrip("."))
        systems = [one for one in ranked(found.systems) if one.cells]
        for one in systems:
            right, each = medians(one), reaches(one)
            to, far = max(each), [n for n in right if right[n] < REACH]
            begin = rf"(Trained on lengths up to \d+, )?“?{re.escape(one.label)}”?" + r"( \(trained to \d+\))?"
            goes = " is right on at| up to| not beyond| below"
            told = [clause for clause in clauses if re.match(rf"{begin}({goes}) ?", clause)]
            assert len(told) <= 1 or any(other.label in one.label for other in systems if other is not one)
            for clause in told[:1]:
                assert all(right[n] >= REACH for n in right if n <= min(each))
                assert (to > one.max_length) is not bool(re.match(rf"{begin} (not beyond|below)", clause))
                low = min((rate for n, rate in right.items() if n <= one.max_length), default=1.0)
                within = re.search(r"below 95 % at trained lengths already \(.*?(\d\.\d+) at", clause)
                assert to > one.max_length or (within is not None) is (low < REACH)
                assert within is None or within[1] == f"{low:.3f}"
                assert to <= one.max_length or f" up to {to}" in clause
                assert (", the longest" in clause) is (max(one.max_length, to) == max(right))
                if beyond := [n for n in far if n > one.max_length]:
                    first = to <= one.max_length
                    lowest = min(beyond) if first else min(far, key=lambda n: (right[n], n))
                    assert f"{right[lowest]:.3f} at {lowest}" in clause
                if to > one.max_length:
                    assert reaches_text(each, len(one.results), ", the longest" * (to == max(right)))[:-1] in clause
        shown = [one for one in in_order(found.systems) if one.cells]
        for one in shown[1:]:
            longer = [two for two in found.systems if two is not one and one.label in two.label]
            if one.max_length != shown[0].max_length and f"; {one.label} " in said and not longer:
                assert f"; {one.label} (trained to {one.max_length})" in said
        labels = {one.label for one in found.systems}
        for label in labels:
            if "," in re.sub(r"\(.*?\)", "", label) and not any(label in other for other in labels - {label}):
                rows = [said, *answer(found.systems).rows.values()]
                assert all(row.count(label) == row.count(f"{label}”") for row in rows)
        if "of any longer tested length" in said:
            lowest = min(medians(systems[0]).values())
            shown = float(re.findall(r" has (\d\.\d+) at", said)[0])
            assert f"{lowest:.3f} at " in said or shown - lowest < 0.1
            assert all(right < REACH for one in systems[:1] for n, right in medians(one).items() if n > one.max_length)


def split_at_top(text: str) -> list[str]:
    """The parts between semicolons that are in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        parts = [*parts, ""] if letter == ";" and not depth else [*parts[:-1], parts[-1] + letter]
    return [part.strip() for part in parts]


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


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_distances_say_of_a_system_is_what_they_are(folder: Path) -> None:
    """Each is judged where its median falls below one half, or at its end."""
    for found in contests(folder):
        systems = [one for one in in_order(found.systems) if one.cells]
        known = {one.system.label: one for one in distances(systems)}
        for one in known.values():
            right = {n: rate for n, rate in medians(one.system).items() if n > one.system.max_length}
            guess = {cell.length: chance(one.system, cell.length, cell.axes) for cell in one.system.cells}
            low = [n for n, rate in right.items() if rate < max(0.5, (guess[n] or 0) + WIDE_RANGE * bool(guess[n]))]
            assert one.length == min(low, default=max(right))
            assert one.needed == needed_back(one.system, one.length)
        for one in known.values():
            scores = [score for cell in one.system.cells if cell.length == one.length for score in cell.scores]
            assert sum(one.mistakes) in (0, sum(len(score.first_error_at) for score in scores))
            assert sum(one.there) == 0 if not one.far else sum(one.there) <= sum(one.mistakes)
        for some, says in why(systems):
            for one in (one for one in known.values() if any(one.system is of for of in some)):
                if says.startswith("perhaps since") and "a token" in says:
                    assert one.far
                    pairs = zip(one.there, one.mistakes, strict=True)
                    assert all(there >= min(0.5, one.share) * every for there, every in pairs)
                elif says.endswith("no token farther back than in training"):
                    assert not one.far
                elif "whose distance was trained" in says:
                    assert one.far
                    assert not one.predicted


def test_a_dip_before_the_longest_length_is_said() -> None:
    dips = seeds("dips", *[{8: 200, 16: 9, 32: 200}] * 3)
    said = headline(of(*dips, *seeds("low", *[{8: 200, 16: 0, 32: 0}] * 3)).systems)
    assert "at longer lengths; dips has 0.045 at 16, 1.000 at 32; low has 0.000" in said
    late = seeds("late", *[{8: 200, 16: 200, 32: 9, 64: 200}] * 3)
    assert "every tested length up to 16 in all 3 seeds (0.045 at 32, 1.000 at 64)" in headline(of(*late).systems)
    odd = seeds("odd", *[{8: 200, 16: 200, 32: 200}] * 2, {8: 200, 16: 0, 32: 200})
    assert "up to 32, the longest, in 2 of 3 seeds, to 8 in 1" in headline(of(*odd).systems)


def test_a_finding_names_the_nearest_of_other_positions_and_says_how_far_all_others_go() -> None:
    made = [
        seeds(name, *[{8: 200, 16: right, 32: 0}] * 3) for name, right in zip("abcde", (200, 198, 0, 0, 0), strict=True)
    ]
    said = headline(of(*[one for each in made for one in each], *seeds("lost", {}, fitted=False)).systems)
    assert said.endswith(
        "; b up to 16 in all 3 seeds (0.000 at 32); the 3 others not beyond training (0.000 at 16); lost did not fit."
    )
    low = [seeds(name, *[{8: 200, 16: right}] * 3) for name, right in zip("abcde", (100, 80, 60, 50, 0), strict=True)]
    said = headline(of(*[one for each in low for one in each]).systems)
    assert said.endswith(
        "of any longer tested length; a has 0.500 at length 16; the 4 others have at best 0.400 at 16."
    )


def test_others_that_go_beyond_training_are_named_or_counted_apart_from_those_that_do_not() -> None:
    def said(*right: int) -> str:
        made = [seeds(f"s{at}", *[{8: 200, 16: many, 32: 0}] * 3) for at, many in enumerate(right)]
        return headline(of(*[one for each in made for one in each]).systems)

    assert said(200, 199, 198, 0, 0).endswith(
        "; s1 up to 16 in all 3 seeds (0.000 at 32); s2 up to 16 in all 3 seeds (0.000 at 32); the 2 others not beyond "
        "training (0.000 at 16)."
    )
    assert said(200, 199, 198, 197, 196, 195, 0).endswith(
        "; s2 up to 16 in all 3 seeds (0.000 at 32); 3 others go beyond training, not as far or not in all seeds; "
        "s6 not beyond training (0.000 at 16)."
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_finding_names_or_counts_every_system_once(folder: Path) -> None:
    """Of more than three: as right to the longest test in all seeds, else as beyond training in some, or as not."""
    for found in contests(folder):
        said, systems = headline(found.systems), in_order(found.systems)
        tested, lost = [one for one in systems if one.cells], [one for one in systems if not one.fitted]
        end = max((cell.length for one in tested for cell in one.cells), default=0)
        whole = [one for one in tested if len(one.fitted) == len(one.results) and min(reaches(one)) == end]
        whole = [one for one in whole if end > one.max_length]
        near = [one for one in tested if max(reaches(one)) <= one.max_length]
        far = [one for one in tested if not any(one is other for other in (*whole, *near))]
        groups = in_groups(systems)
        assert [[*map(id, some)] for some in (groups.best, groups.some, groups.near)] == [
            [*map(id, some)] for some in (whole, far, near)
        ]
        trained = [any(rate < REACH for n, rate in medians(one).items() if n <= one.max_length) for one in near]
        if len(tested) <= 3:
            assert all(is_named(one, said) for one in tested)
        elif len(near) == len(tested):
            assert f"none of {len(tested)} systems " in said
            assert f"; the {len(tested) - 1} others have " in said
        else:
            counted = re.search(r"(?:, |^)(\d+) of (\d+) systems(?: that fitted)? are right", said)
            assert (counted is not None) is (len(whole) > 1)
            assert counted is None or [*map(int, counted.groups())] == [len(whole), len(tested)]
            assert bool(re.search(f"( alone)?, of {len(tested)} systems", said)) is (len(whole) == 1)
            named = 3 - bool(whole)
            assert all(is_named(one, said) for one in far[:named])
            more = re.search(r"; (\d+) others? go(?:es)? beyond training", said)
            assert int(more[1] if more else 0) == len(far[named:])
            less = re.search(r"; the (\d+) others not beyond training(?:, (\d+) of them below 95 % at trained)?", said)
            assert int(less[1] if less else 0) == (len(near) if len(near) > 1 else 0)
            assert less is None or int(less[2] or 0) == sum(trained)
        if tested and lost:
            some = re.search(r"; (\d+) systems did not fit", said)
            assert int(some[1]) == len(lost) if some else all(one.label in said for one in lost)


def no_lower(one: SystemSummary) -> bool:
    """Whether it is wrong at a trained length, and at the next longer one no lower."""
    right = medians(one)
    low = min((rate for n, rate in right.items() if n <= one.max_length), default=1.0)
    return low < REACH and right[min(n for n in right if n > one.max_length)] >= low - WIDE_RANGE


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_one_line_says_why_each_system_falls(folder: Path) -> None:
    """With how many of its seeds fall, as the finding has them, and one hedge for one reason; eight lines at most."""
    for found in contests(folder):
        systems, table = in_order(found.systems), wide(found)
        sure, rows = answer(systems), table.answer.get(WHY, "").split("\n")
        reasons = why(systems, sure.controls)
        every = [*sure.cause, *(f"{named(some, len(some))}: {says}" for some, says in reasons), sure.limit]
        every = [in_quotes(line, systems) for line in every if line]
        assert all(f"{line}." in rows or line in table.advice for line in every)
        assert len("\n".join(answered({WHY: table.answer.get(WHY, "")})).split("\n")) <= 8
        ends = [(one, max((cell.length for cell in one.cells), default=0)) for one in systems]
        fallen = {one.label: sum(far < end for far in reaches(one)) for one, end in ends
                  if end > one.max_length and not no_lower(one)}  # fmt: skip
        left, unnamed = {label: count for label, count in fallen.items() if count}, 0
        for some, says in why(systems):
            names = named(some)
            begins = (
                r"perhaps |not known|(it|they) needs? no token|what (it|they) needs? where|too small a fall|"
                r"[\d,]+ of [\d,]+ wrong strings"
            )
            assert re.match(begins, says)
            assert not re.search("above|said before|for its ids", says.partition("ids above")[0])
            more = re.search(r" and (\d+) more$", names)
            for name in sorted(left, key=len, reverse=True):
                here = re.search(rf"(^|, | and ){re.escape(name)}( \((\d+) of (\d+) seeds\))?(?=, | and |$)", names)
                if here:
                    one = next(one for one in systems if one.label == name)
                    assert (int(here[3]) if here[3] else len(one.fitted)) == left.pop(name)
                    names = names.replace(here[0], "", 1)
            unnamed += int(more[1]) if more else 0
        assert len(left) == unnamed
        for line in sure.cause[:1]:
            ids = re.search("ids (?:likely |may )?(?:not )?make", line)
            assert leader([one for one in systems if one.cells]).label in line or ids, "first of the finding"
        for step in sure.steps[:1]:
            assert "significant" not in step or leader([one for one in systems if one.cells]).label in step
        for one in distances(systems):
            scheme = one.system.experiment["scheme"]
            assert one.trained <= 1 or one.jumps is ("pose" in (scheme["name"], scheme.get("draw")))


EVIDENCE = {
    "not known": "",
    "wrong strings": "too early or too late",
    "as near in training": "as near in training",
    "they need no|it needs no": "farthest token needed",
}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_known_of_a_system_beside_the_best_is_said_beside_all(folder: Path) -> None:
    """In the line that names it, or in advice."""
    for found in contests(folder):
        systems, table = in_order(found.systems), wide(found)
        tested = [one for one in systems if one.cells]
        lines = [*table.answer.get(WHY, "").split("\n"), *table.advice]
        for one in tested[: 0 if len(tested) < 3 else None]:
            for some, says in why(in_order([leader(tested), one])) if one is not leader(tested) else ():
                told = next((here for sign, here in EVIDENCE.items() if re.search(sign, says)), "")
                if told and any(one is of for of in some):
                    mine = [line for line in lines if one.label in line.replace("“", "").replace("”", "")]
                    assert any(told in line for line in mine), (one.label, says)


def test_settings_of_one_system_that_are_not_told_apart_are_said_together() -> None:
    """The one with a control that fitted is weighed, and more seeds are of this pair."""

    def made(scheme: str, encoding: str, steps: int) -> dict[str, Any]:
        same: dict[str, Any] = {"model": {"layers": 2, "log_length": None}, "training": {"lr": 1e-3}}
        same["training"]["stop_when_fitted"] = False
        return lw.Experiment("addition", scheme, encoding, max_length=8, steps=steps, **same).configuration.to_json()

    runs = [
        one | {"experiment": made(scheme, encoding, steps), "steps": steps}
        for scheme, encoding, steps, rights in (
            ("coupled", "learned", 600, [200] * 2), ("coupled", "learned", 1200, [200] * 4 + [185]),
            ("random-start", "learned", 1200, [10] * 5), ("sequential", "rope", 600, [0] * 2),
        )
        for one in seeds(f"{scheme}+{encoding}", *[{8: 200, 16: right, 40: right} for right in rights])
    ]  # fmt: skip
    for some in (runs, [one for one in runs if one["system"] != "sequential+rope"]):
        table = of(*some).wide()
        both = "up to 40, the longest: in both seeds (steps 600), in 4 of 5 seeds, to 8 in 1 (steps 1200);"
        assert both in " ".join(table.answer["finding"].split())
        assert "alone" not in table.answer["finding"]
        assert ": coupled+learned (steps 1200) has 1.000 at 40, its control " in table.answer[WHY]
        assert "coupled+learned (steps 1200)" in table.answer[SURE].partition(" above ")[0]
    assert steps_of(of(*runs).wide())[0].startswith("train coupled+learned (steps 1200) and random-start+learned to 6")


def test_where_one_has_many_seeds_the_fewest_others_are_asked_for() -> None:
    """With eight of one, four of the other can be significant in twelve tests."""
    lengths = range(10, 34, 2)
    many, few = (dict.fromkeys(lengths, right) for right in (200, 0))
    table = of(*seeds("a", *[many] * 8), *seeds("b", few)).wide()
    assert table.answer[SURE].endswith(
        "8 seeds against 1 are too few for 12 tests (all pairs, all lengths): 4 of b would do."
    )
    assert any(step.startswith("train b to 4 seeds: 8 and 4 that fit can be significant") for step in steps_of(table))


def test_a_system_that_is_wrong_at_trained_lengths_does_not_fall_beyond() -> None:
    found = of(*seeds("a", {8: 200, 16: 200, 40: 200}), *seeds("b", {8: 176, 16: 177, 40: 170}))
    assert "b below 95 % at trained lengths already (0.880 at 8, 0.885 at 16)" in headline(found.systems)
    assert not why(in_order(found.systems))


def test_ids_that_were_never_trained_come_first() -> None:
    found = committed(Path("studies/arithmetic/results/addition-methods"))
    said = wide(found).answer[WHY]
    for name, first in (("up to 20 digits, offsets up to 10", 31), ("offsets up to 20", 32)):
        late = f"not known before length {first}; from there on perhaps since ids above 32 were never trained."
        assert f"“Abacus, {name}”: {late}" in said


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_step_of_a_plan_trains_a_pair_that_differs_in_more_than_positions_unless_it_says_so(folder: Path) -> None:
    """Nor one in settings that an earlier step left."""
    for found in contests(folder):
        systems, anew = in_order(found.systems), set[str]()
        for step in answer(systems).steps:
            line = step.partition("\n")[0]
            who, _, rest = re.sub("[“”]", "", line).partition(" seeds: ")
            named = {one.label for one in systems if one.label in who}
            named = {one for one in named if not any(one != other and one in other for other in named)}
            if re.match(r"(next|then): train .* to \d+", who) and rest:
                pair = [one for one in systems if one.label in named or "each system" in who]
                assert "differ in" in rest or not (len(pair) > 1 and other_settings(pair))
                assert not anew & {one.label for one in pair}
            elif line.startswith(("next: train all", "then: train all")):
                anew |= {one.label for one in systems}
            elif " with steps=" in line or " with model=" in line or " with training=" in line:
                anew |= {one.label for one in systems if one.label in line.partition(" with ")[0]}
            elif "and its control" in line:
                anew |= {one.label for one in systems if one.label in line.partition(" for ")[0]}


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
    """Below half of a median of at least one half: whatever brackets show, a line says whose, and how low."""
    for found in contests(folder):
        for table in (found.wide(brackets="none"), found.wide(), found.table()):
            said = table.legend.get(LOW, "")
            shown = {int(name) for name in table.columns if name.isdigit()}
            for one in found.systems:
                last = {max((cell.length for cell in one.cells), default=0)}
                lowest = []
                for cell in one.cells:
                    each = [score.rate() for score in cell.scores]
                    if cell.length in (shown or last) and median(each) >= 0.5 and min(each) < median(each) / 2:
                        lowest.append(min(each))
                assert (f" of {one.label} (" in said) is bool(lowest)
                assert not lowest or f"{min(lowest):.3f} at " in said.partition(f" of {one.label} (")[2].split(";")[0]
            assert said in " ".join(repr(table).split()) or not said


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_notes_speak_of_what_a_table_shows(folder: Path) -> None:
    for found in contests(folder):
        table = wide(found)
        assert len(table.notes) <= 1
        spreads = [cell for row in table.rows for cell in row if isinstance(cell, Spread)]
        closed = [f"{cell.low:.3f}" == f"{cell.high:.3f}" for cell in spreads]
        assert ("none where both ends are equal" in table.legend.get("brackets", "")) is (
            any(closed) and not all(closed)
        )
        assert ("brackets" in table.legend) is (not all(closed))
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
    plain = found.only(systems=["NoPE, no scratchpad", "RoPE + PoSE, no scratchpad"])
    assert re.search(
        r"no scratchpad” 0\.\d+ at \d+ \(chance is 0\.50", " ".join(plain.wide().answer["finding"].split())
    )


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
    known = distances(found.systems)
    assert bool(known) is (scheme == "sequential")
    for one in known:
        assert (one.trained, one.needed, one.length) == (15, 31, 16), "the answer and its sign lie between"
        assert "(not tested)" in found.wide().answer[WHY]


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
        "Trained on lengths up to 5, copy, up to 10 up to 40 in 2 of 3 seeds, to 20 in 1 (median 0.715 at 100);",
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
    assert said == (
        "Clear in these seeds, not significant: at 16–40 every seed of a is above every seed of b and c, but 3 seeds "
        "each are too few for 6 tests (all pairs, all lengths): it takes 5 of each."
    )
    assert "p = " not in said


@pytest.mark.parametrize("folder", EVERY, ids=lambda folder: folder.name)
def test_what_differs_besides_positions_is_made_equal_before_there_are_more_seeds(folder: Path) -> None:
    for found in [committed(folder), *contests(folder)]:
        table = wide(found) if len(found) else None
        if table is None or "in more than positions" not in table.answer.get(WHY, ""):
            continue
        steps = steps_of(table)
        alike, more = (
            next((at for at, step in enumerate(steps) if says in step), -1)
            for says in ("so that models and training are equal", " seeds: ")
        )
        control = steps[0].startswith("train the control")  # of other settings than another was trained with
        assert alike >= 0 or control or "differ in" in steps[more] or len({one.contest for one in found.systems}) > 1
        assert alike < more or more < 0
        assert "positions" not in table.answer[WHY].partition("in more than positions: ")[2].partition(".")[0]


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
    alike = f'so that models and training are equal, train coupled+local-bias with model={{"log_length": {length}}}'
    assert steps_of(two)[0].startswith(alike)
    assert "the ids" not in two.answer[WHY], "both have the same"
    table = of(*runs).wide()
    control = "train the control random-start+learned, else as coupled+learned, with "
    assert steps_of(table)[0].startswith(control)
    assert not any("train coupled+learned " in step for step in steps_of(table)[1:]), "the first has the seeds of both"
    assert "in more than positions" not in table.answer[WHY]
    assert any(note.startswith("besides positions, systems differ in ") for note in table.notes)
    same = [one | {"experiment": {**makes[one["system"]], "model": makes["coupled+learned"]["model"]}} for one in runs]
    same = [one for one in same if one["system"] != "coupled+local-bias"]
    assert steps_of(of(*same).wide())[0].startswith(control)


def test_where_one_system_alone_fitted_the_finding_says_where_it_falls_and_that_others_did_not_fit() -> None:
    found = of(*seeds("a", *[{8: 200, 16: 4, 40: 0}] * 3), *seeds("b", {}, {}, fitted=False))
    said = headline(found.systems)
    assert said.endswith(
        "a is not right on 95 % of random strings of any longer tested length; it has 0.020 at length 16; b did not "
        "fit."
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_text_of_a_figure_has_the_finding_of_the_table(folder: Path) -> None:
    """Where more systems are drawn than the finding names, it goes on with these."""
    for found in contests(folder):
        if len(found.systems) <= 8 and any(one.cells for one in found.systems):
            table = wide(found)
            finding = " ".join(table.answer["finding"].split())
            assert found.plot().alt.startswith(finding.partition(". Tests end")[0])  # type: ignore[union-attr]


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


def test_all_are_trained_longer_where_most_seeds_did_not_fit() -> None:
    """All, as settings would be equal no more; where few did not, more seeds are enough."""
    for lost in (1, 2):
        rival = [*seeds("b", *[{40: 0}] * (3 - lost)), *seeds("b", *[{}] * 3, fitted=False)[3 - lost :]]
        table = of(*seeds("a", *[{40: 200}] * 3), *rival).wide()
        assert f"b not beyond training ({3 - lost} of 3 seeds fitted; 0.000 at 40)" in table.answer["finding"]
        longer, fewer = (
            "train all with steps=2000: half or more of the seeds of b did not fit",
            "train each system to 6 seeds",
        )
        assert steps_of(table)[0].startswith(longer if lost == 2 else fewer)


def test_no_more_seeds_are_asked_for_where_the_difference_is_significant() -> None:
    """A fitted one in place of those that did not; a difference of three tests needs five seeds."""
    for count, asks in ((3, True), (5, False)):
        made = [*seeds("a", *[{16: 200, 24: 200, 40: 200}] * count), *seeds("b", *[{16: 0, 24: 0, 40: 0}] * count)]
        steps = steps_of(of(*made, *seeds("c", {}, fitted=False)).wide())
        assert any(
            step.startswith("train a and b to 5 seeds: 5 that fit can be significant in 3 tests") for step in steps
        ) is (asks)


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
    untested = (
        "Whether the ids make the difference is not tested: the control random-start+learned (steps 6000) has other"
    )
    assert untested in table.answer[WHY]
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
    assert [step.partition(":")[0] for step in before[1:]] == ["train sequential+rope to 6 seeds"]
    after = made(coupled=200, sequential=100, pose=50, random_start=10).wide()
    two = "coupled+learned and random-start+learned"
    assert [step.partition(":")[0] for step in steps_of(after)] == [f"train {two} to 7 seeds"]
    assert (
        "A hint that the ids make the difference: coupled+learned has 1.000 at 40, its control random-start+learned "
        "0.050; 3 seeds each, all above at 16–40 (4 of 4 tested)" in after.answer[WHY]
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
    assert "The ids make the difference: coupled+learned has 1.000 at 40, its control random-start+l" in said
    ids = "Ids of coupled+learned and random-start+learned differ in which tokens share one and how training draws them"
    assert f"{ids}; which counts is not tested." in said


def test_the_text_of_a_figure_has_the_comparison_below_the_table() -> None:
    found = of(*seeds("a", *[{16: 200, 40: 190}] * 3), *seeds("b", *[{16: 20, 40: 10}] * 3))
    note = found.wide().answer[SURE]
    assert note.startswith("Clear in these seeds, not significant: at 16–40 every seed of a is above every seed of b")
    for drawn in (found.plot(), found.plot(Figure().subplots())):
        assert drawn.alt.endswith(note)  # type: ignore[union-attr]


def test_what_differs_is_told_by_weight() -> None:
    """Steps and sizes come before settings that hardly change a training."""
    other = experiment()
    other["model"] |= {"init_std": 0.5, "layers": other["model"]["layers"] + 1}
    other["training"] |= {"batch_size": 7, "warmup": 3, "steps": other["training"]["steps"] + 1}
    made = [*seeds("a", *[{40: 200}] * 3), *(one | {"experiment": other} for one in seeds("b", *[{40: 0}] * 3))]
    assert of(*made).wide().answer[WHY].startswith("a differs from b in steps, batch size, layers and ")


def test_what_a_system_is_part_of_is_named() -> None:
    found = of(*seeds("one scratchpad + PPC", {40: 1}), *seeds("two scratchpads + PPC", {40: 1}), *seeds("z", {40: 1}))
    for call in (lambda: found.only(systems=["ppc"]), lambda: found.wide(labels={"PPC": "ours"})):
        with pytest.raises(UnknownNameError, match=r"It is part of: one scratchpad \+ PPC, two scratchpads \+ PPC\.$"):
            call()


def test_what_fitted_means_and_of_how_many_strings_numbers_are_is_printed() -> None:
    found = of(*seeds("a", {40: 190}, {40: 180}), *seeds("lost", {}, {}, fitted=False)).wide()
    for text in (repr(found), found.to_latex().partition("\\end{table}")[0], found._repr_html_()):
        plain = " ".join(text.replace("\\", "").split())
        assert "fitted: right on at least 98 % of strings of lengths 1–8 together" in plain.replace("--", "–")
        assert "200 strings a length and seed" in plain
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
            assert (f"see why a falls: lengthwise explain {tmp_path}" in steps_of(table)) is there
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
    assert steps_of(table)[1] == f"see why ours falls: lengthwise explain {tmp_path}/seed1"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_nothing_is_told_to_be_trained_for_steps_with_which_it_did_not_fit(folder: Path) -> None:
    for found in contests(folder):
        steps = answer(found.systems).steps
        then = " ".join(step for step in steps if " did not fit with fewer steps" in step)
        fits = {one.results[0].system for one in found.systems if 2 * len(one.fitted) > len(one.results)}
        lost = [one for one in found.systems if 2 * len(one.fitted) <= len(one.results)]
        planned = [one.experiment["training"]["steps"] for one in lost if one.results[0].system not in fits]
        if planned and max(planned) < MANY_STEPS:
            assert int(re.findall(r"steps=(\d+)", then)[0]) > max(planned)
        told = [step for step in steps if re.match(r"(next|then|if what did not fit matters): train", step)]
        assert all("\nlengthwise run " in step for step in told)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_missing_control_does_not_hang_on_which_systems_are_shown(folder: Path) -> None:
    for found in contests(folder):
        systems = [one for one in in_order(found.systems) if one.cells]
        said = set[str]()
        for other in systems[1:6]:
            then = answer([systems[0], other], whole=found.systems).steps
            said |= {*re.findall(r"train the control ([^,]+)", " ".join(then))}
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
def test_where_the_best_falls_why_comes_before_more_seeds(
    tmp_path: Path, right: int, last: int, comes_first: bool | None
) -> None:
    (tmp_path / "checkpoint.safetensors").touch()
    runs = [*seeds("a", *[{16: right, 40: last}] * 2), *seeds("b", *[{16: 0, 40: 0}] * 2)]
    explain, predict = f"lengthwise explain {tmp_path}", "lengthwise predict addition --train"
    table = placed(tmp_path, runs).wide()
    steps = steps_of(table)
    assert (predict in steps[0]) is (comes_first is not None)
    assert f"see why a falls: {explain}" == steps[comes_first is not None]
    assert "to 5 seeds" in steps[-1]
    assert sum(explain in line for line in table.advice) == 1


def test_a_failing_seed_does_not_win_and_is_said() -> None:
    flat = {8: 200, 16: 200, 40: 200}
    sure = seeds("sure", *[{8: 199, 16: 199, 40: 197}] * 3)
    risky = seeds("risky", flat, {8: 200, 16: 0, 40: 0}, flat)
    low = seeds("low", *[{8: 200, 16: 0, 40: 0}] * 3)
    found = of(*risky, *low, *sure)
    assert [one.label for one in ranked(found.systems)] == ["sure", "risky", "low"]
    said = " ".join(found.wide().answer["finding"].split())
    assert "sure is right on at least 95 % of random strings of every tested length up to 40, the longest" in said
    assert "risky up to 40, the longest, in 2 of 3 seeds, to 8 in 1" in said
    assert found.plot().alt.startswith(said)  # type: ignore[union-attr]


def test_systems_with_other_tests_are_compared_where_both_were_tested() -> None:
    far = seeds("far", *[{8: 200, 16: 200, 160: 200}] * 2)
    near = seeds("near", *[{8: 200, 16: 20}] * 2)
    said = headline(of(*near, *far).systems)
    assert "far is right on at least 95 % of random strings of every tested length up to 160" in said
    assert "near not beyond training (0.100 at 16)" in said
    said = headline(
        of(*seeds("near", *[{8: 200, 16: 200}] * 2), *seeds("far", *[{8: 200, 16: 20, 160: 0}] * 2)).systems
    )
    assert "near is right on at least 95 % of random strings of every tested length up to 16, the longest" in said
    assert "far not beyond training (0.100 at 16)" in said


def test_each_row_has_its_brackets() -> None:
    found = of(*seeds("a", *[{40: 190}, {40: 180}]), *seeds("b", {40: 20}), *seeds("lost", {}, {}, {}, fitted=False))
    said = found.wide().legend["brackets"]
    assert "range of 2 seeds" in said
    assert "the strings of one seed, not over seeds" in said
    assert [row[3] for row in found.wide().rows] == ["2 of 2", "1 of 1", "0 of 3"]


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

    (said,) = (step for step in steps_of(trained().wide()) if "so that models and training are equal" in step)
    whom, _, said = said.partition("train ")[2].partition(" with ")
    same = trained(whom=whom, **eval(f"dict({said.partition(';')[0]})"))
    table = same.wide()
    assert "in more than positions: draw of coupled." in table.answer[WHY]
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
    assert "Whether the ids make the difference is not tested by the systems shown." in table.answer[WHY]
    assert steps_of(table)[0].startswith("show the control: `.only(systems=[")
    assert "3 tests with systems not shown" in table.answer[SURE]
    assert f"`.only(systems={[best, control]})`" in steps_of(table)[0]
    line = "show the control"  # for the author, not for readers
    assert line in "; ".join(table.advice)
    assert line not in table.to_latex().partition(r"\end{table}")[0]
    assert line not in "; ".join(made().wide().advice)
    for found in (made(control=True), made(control=True).only(systems=[best, rival])):
        untested = f"Whether the ids make the difference is not tested: the control {control} did not fit."
        assert untested in found.wide().answer[WHY]
        first = f"train {best} and its control {control} for 4,000 steps: the control has 0.300 at training lengths "
        assert steps_of(found.wide())[0].startswith(first)


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
        *seeds("coupled", *[{16: 200, 40: 200}] * 3),
        *(one | {"experiment": longer, "steps": 1600} for one in seeds("rope", *[{16: 100, 40: 9}] * 3)),
        *(one | {"experiment": other} for one in seeds("rope", *[{16: 90, 40: 0}] * 3)),
    ]
    table = of(*made).wide()
    assert "in more than positions" not in table.answer[WHY]
    assert any("train rope (steps 1000) to 5 seeds" in step for step in steps_of(table))


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
def test_how_sure_names_the_lengths_at_which_the_best_is_above_others_and_these_have_no_mark(folder: Path) -> None:
    for found in contests(folder):
        said, table = answer(found.systems).sure, found.wide(lengths="all")
        clauses = re.findall(r"It is above (?:the )?(.*? in every seed) (?:at ([^a-z]*\d)|\(each at some of)", said)
        assert len(clauses) == len(re.findall("It is above .* in every seed", said))
        for whom, lengths in clauses:
            ends = [[int(end) for end in part.split("–")] for part in re.split(", | and ", lengths) if part]
            at = [column for column, name in enumerate(table.columns) if name.isdigit()
                  and any(low <= int(name) <= high for low, *_, high in ((*end, end[-1]) for end in ends))]  # fmt: skip
            many = int(whom.split()[0]) if whom[0].isdigit() else 1
            plain = [[(row, column) not in table.bold | table.alike for row in range(len(table.rows))] for column in at]
            assert all(sum(of) >= many for of in plain)


LENGTHS = r"\d[\d–]*(?:(?:, | and )\d[\d–]*)*"


def grades(found: lw.Result) -> tuple[set[tuple[str, str, int]], set[tuple[str, str, int]]]:
    """Whom the first is significantly above or below, and where: as it is said, and as `differences` have it."""
    systems, said = in_order(found.systems), wide(found).answer.get(SURE, "").replace("“", "").replace("”", "")
    tests, told = differences(systems), re.search(r"Significant: (.*?) \(exact rank test", said)
    text, tested = told[1] if told else "", sorted({test.length for test in tests})
    names = [one.label for one in systems]
    spoken_of = (one for one in names if re.search(rf"(Significant:|of) {re.escape(one)} is ", said))
    first = max(spoken_of, key=len, default="")
    every, mine = set[tuple[str, str, int]](), dict[tuple[str, str, int], bool]()
    for how, whom, lengths in re.findall(rf"(above|below) ((?:(?! above | below ).)+?) at ({LENGTHS})", text):
        ends = [[int(end) for end in part.split("–")] for part in re.split(", | and ", lengths)]
        some = [one for one in names if re.search(rf"(^|, | and ){re.escape(one)}(?=, | and |$)", whom)]
        assert some
        within = {n for n in tested for low, *_, high in ((*end, end[-1]) for end in ends) if low <= n <= high}
        every |= {(how, name, n) for name in some for n in within}
    for test in [*tests, *(test.turned for test in tests)]:
        if test.one.label == first and test.one.max_length == test.other.max_length:
            up = fmean(test.rates) > fmean(test.other_rates)
            key = ("above" if up else "below", test.other.label, test.length)
            mine[key] = mine.get(key, True) and test.holm <= 0.05
            mine["below" if up else "above", test.other.label, test.length] = False  # in every layout the same
    return every, {key for key, sure in mine.items() if sure}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_pair_is_significant_where_differences_say_so(folder: Path) -> None:
    for found in contests(folder):
        said, true = grades(found)
        assert said == true


@pytest.mark.parametrize("seed", range(12))
def test_each_pair_is_graded_by_its_own_p(seed: int) -> None:
    """Of made-up seeds, of which many are significant, at some lengths or at all."""
    rng = np.random.default_rng(seed)
    runs = list[dict[str, Any]]()
    for name in "abcd"[: 2 + seed % 3]:
        level = {n: rng.choice([0, 90, 150, 200]) for n in (16, 24, 40)}
        runs += seeds(name, *[{8: 200} | {n: int(np.clip(right + rng.integers(-30, 30), 0, 200)) for n, right in
                                          level.items()} for _ in range(rng.integers(4, 9))])  # fmt: skip
    said, true = grades(of(*runs))
    assert said == true


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_ids_are_likely_the_cause_where_chance_is_small_and_why_not_is_said(folder: Path) -> None:
    for found in contests(folder):
        systems = in_order(found.systems)
        told, tested = answer(systems), [one for one in systems if one.cells]
        for line in told.cause:
            made = re.search(r"(\d+) seeds? (?:each|against (\d+)), .*above at .* \((\d+) of (\d+) tested\)", line)
            assert made or not re.search(r"ids (likely )?make .* at \d+, its control ", line)
            if made:
                chance = int(made[4]) / comb(int(made[1]) + int(made[2] or made[1]), int(made[1]))
                assert chance <= 0.1 or "The ids likely" not in line
        for name in re.findall(r"why not ([^;]*?): see \*why\*", " ".join(told.steps)):
            assert name in told.why
        others = [one for one in systems if tested and one is not leader(tested)]
        if others and told.cause and any("its control" in line for line in answer(others, whole=systems).cause):
            assert any("its control" in line for line in told.cause)


@pytest.mark.parametrize(
    ("mine", "control", "right", "said"),
    [
        (2, 2, [20, 200], "A hint that the ids make the difference: coupled+learned has 1.000 at 16, its control "
         "random-start+learned 0.100; 2 seeds each, all above at 16 (1 of 2 tested)."),
        (5, 3, [20, 20], "The ids likely make the difference: coupled+learned has 1.000 at 40, its control "
         "random-start+learned 0.100; 5 seeds against 3, all above at 16–40 (2 of 2 tested)."),
        (5, 5, [200, 200], "Not shown that the ids make the difference: seeds of coupled+learned and its control "
         "random-start+learned overlap at every length (medians at 40: 1.000 and 1.000; 5 seeds each)."),
        (1, 1, [20, 20], "Whether the ids make the difference is not known from one seed each of "),
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
        then = " ".join(answer(in_order(found.systems)).steps)
        assert "lw.scheme(" not in then
        assert "lw.encoding(" not in then


def test_brackets_of_three_lengths_stay_however_long_names_are() -> None:
    """As the comment says that leaves out those of more."""
    found = of(*seeds(f"{'long ' * 8}name", *[{8: 200, 16: 190, 24: 180, 40: 0}] * 2, {8: 200, 16: 9, 24: 3, 40: 1}))
    assert "shown from" in found.wide().to_latex()
    for made in (found.wide(lengths=[16, 24, 40]), found.wide(lengths=[16, 24, 40], brackets="range")):
        text = made.to_latex()
        assert text.count("--") > 2
        assert "brackets are left out" not in text


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_answer_is_rows_of_few_sentences(folder: Path) -> None:
    for found in contests(folder):
        rows = wide(found).answer
        assert [*rows] == [name for name in ("finding", SURE, WHY) if name in rows]
        begins = (
            "Significant",
            "Clear in these seeds, not significant",
            "One seed each",
            "Not sure: ",
            "No other system",
        )
        assert rows.get(SURE, "Not sure: ").startswith(begins)
        assert rows.get(SURE, "").count(". ") <= 2
        assert rows.get(WHY, "").count("\n") <= 6
        assert all(len(says) < 1500 and "  " not in says and ".." not in says for says in rows.values())


@pytest.mark.parametrize(
    ("far", "seeds", "said"),
    [
        ([64], 1, "64 (one seed)"),
        ([8, 8], 2, "8 in both seeds"),
        ([8, 16, 64], 4, "64 in 1 of 4 seeds, to 16 in 1, to 8 in 1, and 1 not fitted"),
        ([100, 40, 50, 60, 100, 100, 40, 50], 8, "100 in 3 of 8 seeds, to 40 in the lowest"),
        ([100, 0, 0], 3, "100 in 1 of 3 seeds, not beyond training in 2"),
    ],
)
def test_how_far_seeds_go_is_said_with_counts(far: list[int], seeds: int, said: str) -> None:
    assert reaches_text(far, seeds) == said


@pytest.mark.parametrize("one", [name for name in SCHEMES if name != "own-rule"])
@pytest.mark.parametrize("other", ["sequential", "coupled", "pose", "random-start"])
def test_ids_are_no_narrower_a_cause_than_what_differs(one: str, other: str) -> None:
    """How training draws ids is named with them wherever that differs, too."""

    def system(name: str, draw: str = "pose") -> SystemSummary:
        scheme: dict[str, Any] = {"name": "sequential" if name == "random-start" else name}
        scheme |= {"random_start": True} if name == "random-start" else {"draw": draw} if name == "coupled" else {}
        return of(result(name, config={**experiment(), "scheme": scheme})).systems[0]

    said = in_what(system(one), system(other))
    assert ("how training draws them" in said) is ("share" in said)
    assert not said or one != other
    block = in_what(system("coupled", "contiguous"), system("random-start"))
    assert not block, "both draw a block with any start"


def test_a_table_of_one_fitted_system_that_falls_says_why_and_what_is_next() -> None:
    one, lost = seeds("a", *[{8: 200, 16: 190, 40: 150}] * 2), seeds("b", {}, fitted=False)
    for made in (one, [*one, *lost]):
        assert of(*made).wide().answer[WHY].startswith("a: it needs no token")
        assert any("lengthwise predict addition" in step for step in steps_of(of(*made).wide()))


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
    assert "is not tested: the control random-start+learned (steps 1600) has other settings" in table.answer[WHY]
    assert steps_of(table)[0].startswith("train coupled+learned with the settings of random-start+learned (steps 1600)")
    both = of(*runs, *(one | {"experiment": made("coupled", 1600)} for one in seeds("coupled+learned", {40: 200})))
    assert "make the difference" in both.wide().answer[WHY]
    assert "steps 1600" in both.wide().answer[WHY]


def test_an_abandoned_setting_with_fewer_seeds_is_not_what_is_weighed() -> None:
    wide = experiment()
    wide["model"]["layers"] += 1
    few = seeds("coupled", {16: 200, 40: 190}, {16: 200, 40: 150})
    more = [one | {"experiment": wide} for one in seeds("coupled", *[{16: 200, 40: 170}] * 5)]
    low = [one | {"experiment": experiment("sequential", "rope")} for one in seeds("rope", *[{16: 0, 40: 0}] * 5)]
    table = of(*few, *more, *low).wide()
    name = next(one.label for one in of(*few, *more, *low).systems if len(one.fitted) == 5 and "coupled" in one.label)
    assert f": {name} is above rope" in table.answer[SURE]
    assert table.answer[SURE].startswith("Significant")


@pytest.mark.parametrize("many", [1, 4])
def test_without_a_test_beyond_training_nothing_is_said_of_longer_lengths(many: int) -> None:
    made = [each for name in ("coupled", "rope", "nope", "fire")[:many] for each in seeds(name, {8: 200})]
    assert re.fullmatch(r"Trained on lengths up to 8, .* was tested at a longer length\.", headline(of(*made).systems))
