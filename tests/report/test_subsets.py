"""What is shown of some systems is what is shown of them among all: names, looks, tests, labels; tasks stay apart."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import experiment, result, score
from matplotlib.figure import Figure

import lengthwise as lw
from lengthwise.api.result import MOST_LENGTHS, main_lengths
from lengthwise.core.errors import LengthwiseError
from lengthwise.report.summary import SeedResult, differing_settings, percent
from lengthwise.report.words import setting_text

NAMES = ("RoPE", "coupled, up to 30", "local bias, up to 10", "local bias, up to 30", "coupled")


def config(task: str = "addition", trained: int = 8) -> dict[str, Any]:
    made = copy.deepcopy(experiment(task=task))
    made["training"]["max_length"] = trained
    return made


def runs(name: str, rights: list[int], made: dict[str, Any] | None = None, **more: Any) -> list[dict[str, Any]]:
    lengths = (40, 80)
    return [
        result(name, seed, scores=[score(n, right) for n in lengths], config=made or config(), **more)
        for seed, right in enumerate(rights)
    ]


def of(*made: list[dict[str, Any]]) -> lw.Result:
    values = [one for some in made for one in some]
    return lw.Result([(Path(f"run-{at}"), SeedResult.of(one)) for at, one in enumerate(values)])


def of_one_task() -> lw.Result:
    return of(*(runs(name, [200 - 30 * at, 190 - 30 * at, 180 - 30 * at]) for at, name in enumerate(NAMES)))


def of_two_tasks() -> lw.Result:
    made = [
        runs(f"{task}, {name}", [150 - 40 * at, 140 - 40 * at], config(task), recipe="matrix")
        for task in ("copy", "reverse")
        for at, name in enumerate(("coupled+learned", "sequential+rope", "own"))
    ]
    return of(*made)


def of_two_recipes() -> lw.Result:
    return of(*(runs(name, [150, 140], config(task), recipe=task) for task in ("copy", "sort") for name in NAMES[:3]))


@settings(max_examples=12, deadline=None)
@given(st.sampled_from([of_one_task, of_two_tasks, of_two_recipes]), st.data())
def test_a_system_keeps_its_name_colour_and_tests_in_every_subset(make: Any, data: st.DataObject) -> None:
    """A task's name before it goes only where the whole is of several tasks and the subset is of one."""
    whole = make()
    names = data.draw(st.lists(st.sampled_from(whole.systems.names), min_size=1, unique=True))
    part = whole.only(systems=names)
    tasks = {one.contest for one in part.systems}
    several = len({one.contest for one in whole.systems}) > 1
    expected = {
        re.split(": |, ", name, maxsplit=1)[1] if several and len(tasks) == 1 else name
        for name in whole.systems.names if name in names
    }  # fmt: skip
    assert {*part.systems.names} == expected
    assert {row[0] for row in part.wide().rows} == {row[0] for row in part.table().rows} == expected
    if len(expected) <= 3:
        assert all(name.lower() in part.plot().alt.lower() for name in expected)  # type: ignore[union-attr]
    looks = {id(one.results[0]): one.look for one in whole.systems}
    assert all(one.look == looks[id(one.results[0])] for one in part.systems)

    def corrected(found: lw.Result) -> dict[Any, float]:
        table = found.differences()
        raw = {one.label: (one.recipe, one.results[0].system) for one in found.systems}
        return {(raw[row[0]], raw[row[1]], *row[2:4]): row[-1] for row in table.rows}

    assert corrected(part).items() <= corrected(whole).items(), "p is corrected for all that they were chosen from"
    table = part.wide()
    notes = " ".join(line for line in table.advice if line.startswith("tests: "))
    left_out = sum(one.contest in tasks for one in whole.systems) > len(part.systems)
    assert ("also of systems not shown" in notes) is (left_out and bool(notes))
    labels = {name: f"label {at}" for at, name in enumerate(whole.systems.names)}
    assert {row[0] for row in part.wide(labels=labels).rows} == {labels[name] for name in names}
    assert part.plot(labels=labels)
    again = part.only(systems=names[:1])
    assert len(again.systems) == 1, "by the names of the whole, too"


def test_the_same_system_has_one_colour_on_every_task() -> None:
    axes: Any = of_two_tasks().plot(Figure().subplots())
    drawn: dict[str, list[Any]] = {}
    for line in axes.get_lines():
        task, _, name = str(line.get_label()).partition(", ")
        if task in ("copy", "reverse"):
            drawn.setdefault(name, []).append((line.get_color(), line.get_marker()))
    assert [len({colour for colour, _ in looks}) for looks in drawn.values()] == [1, 1, 1]
    assert [len({marker for _, marker in looks}) for looks in drawn.values()] == [2, 2, 2]


def test_tasks_do_not_compete() -> None:
    found = of_two_tasks()
    for row in found.differences().rows:
        assert row[0].partition(", ")[0] == row[1].partition(", ")[0]
    wide = found.wide()
    for _, column in wide.bold:
        assert {wide.rows[at][0].partition(", ")[0] for at, other in wide.bold if other == column} == {
            "copy",
            "reverse",
        }
    for one, other, *_ in found.differences().rows:
        assert one.partition(", ")[0] == other.partition(", ")[0]
    alone = found.only(systems=["copy, own", "reverse, sequential+rope"])
    assert not alone.wide().bold
    assert not alone.wide().alike
    assert not of(runs("a", [200, 190])).wide().bold, "one system has no rival"
    lost = [result("b", fitted=False, config=config())]
    assert not of(runs("a", [200, 190]), lost).wide().bold


def test_each_system_has_its_own_training_length_wherever_they_differ() -> None:
    trained = {"a": 8, "b": 16, "c": 30}
    made = [runs(name, [200 - at, 190 - at], config(trained=n)) for at, (name, n) in enumerate(trained.items())]
    found = of(*made)
    wide = found.wide()
    at = wide.columns.index("trained to")
    assert {row[0]: row[at] for row in wide.rows} == trained
    assert "trained on" not in wide.caption
    assert "trained to" not in of(*made[:1]).wide().columns
    for metric in ("exact_match", "answer"):
        figure: Any = found.accuracy(metric).plot()
        for name, length in trained.items():
            own = rf"\b{name} \(trained to {length}\)|Trained on lengths up to {length}, {name} "
            said = (own, rf"up to .*{length} \({name}\)")
            assert re.search(said[metric == "answer"], figure.alt, flags=re.IGNORECASE)
        (plot,) = figure.axes
        (shaded,) = plot.patches
        assert shaded.get_x() + shaded.get_width() == pytest.approx(min(trained.values()))
        marks = {
            line.get_color(): line.get_xdata()[0]
            for line in plot.get_lines()
            if line.get_marker() == "|" and len(line.get_xdata())
        }
        farther = [one for one in found.systems if one.max_length > min(trained.values())]
        assert marks == {one.look.colour: one.max_length for one in farther}
    assert "longest length that each" not in of(*made[:1]).plot().alt  # type: ignore[union-attr]


def test_what_differs_is_said_training_length_first_and_all_of_it() -> None:
    other = config(trained=16)
    keys = ("lr", "batch_size", "weight_decay", "final_lr")
    other["training"] |= dict.fromkeys(keys, 0.5)
    found = of(runs("a", [200, 199]), runs("b", [20, 19], other))
    (every,) = [line for line in found.wide().advice if line.startswith("trainings differ: ")]
    assert all(f"{setting_text(f'training.{key}')} " in every for key in keys)


@given(st.data())
def test_a_file_that_is_silent_of_a_setting_has_its_default(data: st.DataObject) -> None:
    whole, part = config(), config()
    for section in ("model", "training", "task", "scheme", "encoding"):
        optional = sorted({*part[section]} - {"name", "max_length"})
        for key in data.draw(st.sets(st.sampled_from(optional))) if optional else ():
            known = section in ("model", "training") and key not in ("layers", "width", "heads", "lr", "steps")
            default = lw.RunConfig(lw.task("addition"), lw.scheme("coupled"), lw.encoding("learned"))
            if known and dataclasses.asdict(getattr(default, section))[key] == whole[section][key]:
                del part[section][key]
    found = of(runs("a", [200, 190], whole), runs("b", [20, 10], part))
    assert differing_settings(found.systems) == []
    together = of([result("a", 0, config=whole)], [result("a", 1, config=part)])
    assert len(together.systems) == 1


def test_what_is_not_fitted_is_no_dash() -> None:
    short = [result("short", seed, scores=[score(40, 90)], config=config()) for seed in (0, 1)]
    found = of(runs("a", [200, 190]), short, [result("lost", fitted=False, config=config())])
    cells = {row[0]: row[2:] for row in found.wide().cells}
    assert cells["lost"] == ["n.f.", "n.f."]
    assert cells["short"][-1] == "–"
    assert found.wide().to_frame().set_index("system").loc["lost", ["40", "80"]].isna().all()
    assert found.wide().legend["n.f."] == "no seed fitted"
    assert found.wide().legend["–"] == "not tested"
    plain = of(runs("a", [200, 190]))
    assert "n.f." not in repr(plain.wide())
    assert "not tested" not in repr(plain.wide())


@given(st.dictionaries(st.integers(0, 600), st.integers(1, 5), min_size=1), st.integers(1, 100))
def test_a_table_has_the_last_length_and_six_at_most(tested: dict[int, int], trained: int) -> None:
    kept = main_lengths(tested, trained)
    assert kept == sorted({*kept} & {*tested})
    assert max(tested) in kept
    assert len(kept) == len(tested) if len(tested) <= MOST_LENGTHS else len(kept) <= MOST_LENGTHS


def test_all_lengths_are_columns_where_they_are_asked_for() -> None:
    lengths = tuple(range(8, 104, 8))
    found = of([result("a", seed, scores=[score(n, 200) for n in lengths], config=config()) for seed in (0, 1)])
    assert [*map(int, found.wide().columns[3:])] == [8, 16, 32, 64, 96]
    assert [*map(int, found.wide(lengths="all").columns[3:])] == [*lengths]
    assert [*map(int, found.wide(brackets="none").columns[3:])] == [*lengths]


def test_shares_are_rounded_half_up() -> None:
    for thousandths in range(1001):
        assert percent(thousandths / 1000) == f"{(thousandths + 5) // 10} %"
    assert percent(0.015, 1) == "1.5 %"


def test_the_text_of_a_cut_figure_says_what_lies_outside() -> None:
    found = of(runs("high", [200, 198]), runs("low", [100, 199]))
    for drawn in (found.plot(ylim=(0.9, 1)), found.plot(Figure().subplots(), ylim=(0.9, 1))):
        assert "the axis is cut to 0.9 to 1; outside lie seeds of low at 40, 80" in drawn.alt  # type: ignore[union-attr]
    assert "axis is cut" not in found.plot().alt  # type: ignore[union-attr]


@pytest.mark.parametrize("size", [(10, 4), (5, 3), (3.3, 2.4)])
def test_a_title_and_a_legend_of_ones_own_lose_nothing(size: tuple[float, float]) -> None:
    lost = [result("lost", fitted=False, config=config("parity"))]
    figure: Any = Figure(figsize=size, layout="constrained")
    axes: Any = figure.subplots()
    of(*(runs(f"name {at}", [199 - 20 * at], config("parity")) for at in range(5)), lost).plot(axes)
    title = axes.set_title("A title")
    figure.draw_without_rendering()
    legend, box = axes.get_legend().get_window_extent(), axes.xaxis.label.get_window_extent()
    assert not legend.overlaps(title.get_window_extent())
    assert not legend.overlaps(box)
    axes.legend()
    assert {"lost (did not fit, not drawn)", "chance 0.50"} <= {
        text.get_text() for text in axes.get_legend().get_texts()
    }


def test_the_name_of_chance_covers_no_data() -> None:
    for right in (105, 60):
        figure: Any = of(
            runs("a", [right, right - 2], config("parity")), runs("b", [199, 198], config("parity"))
        ).plot()
        figure.draw_without_rendering()
        (plot,) = figure.axes
        (text,) = [text for text in plot.texts if text.get_text().startswith("chance")]
        assert text.get_bbox_patch() is None
        box = text.get_window_extent()
        for line in plot.get_lines():
            if line.get_marker() != "None" and len(line.get_xdata()) > 1:
                (x0, y0), (x1, y1) = plot.transData.transform(line.get_xydata())
                at = np.linspace(box.x0, box.x1, 50)
                assert not (
                    (np.interp(at, (x0, x1), (y0, y1)) - box.y0) * (box.y1 - np.interp(at, (x0, x1), (y0, y1))) > 0
                )[(at > x0) & (at < x1)].any()


def test_options_are_in_the_signature_and_items_print_in_a_line() -> None:
    for kind in (lw.Result, lw.Accuracy, lw.Comparison):
        assert {"figsize", "labels", "ylim", "band"} <= inspect.signature(kind.plot).parameters.keys()
        assert {"lengths", "labels", "brackets"} <= inspect.signature(kind.wide).parameters.keys()
    found = of_one_task()
    for one in (*found.systems, *found.runs):
        assert len(repr(one)) < 100
        assert str(one) == repr(one)


def test_no_writer_of_a_named_file_makes_its_folder(tmp_path: Path) -> None:
    found, file = of_one_task(), tmp_path / "new" / "a.pdf"
    figure: Any = found.plot()
    writers = (
        figure.savefig, found.wide().to_latex, found.wide().to_csv, found.accuracy().to_latex, found.accuracy().to_csv,
        partial(lw.write_report, ["studies/methods/results/method-matrix"]),
    )  # fmt: skip
    for write in writers:
        with pytest.raises(LengthwiseError, match=rf"there is no folder {tmp_path / 'new'}; make it"):
            write(file)
    assert not file.parent.exists()


def test_nothing_to_compare_is_one_line() -> None:
    for alone in (of(runs("a", [200, 190])), of([result("a", fitted=False)], [result("b", fitted=False)])):
        assert "\n" not in repr(alone.differences())
        assert "nothing to compare" in repr(alone.differences())


def test_signs_of_systems_are_no_cross() -> None:
    from lengthwise.report.looks import MARKERS, SIGNS

    assert not {"x", "X"} & {*MARKERS}
    assert not {"×", "✖", "✕"} & {*SIGNS}
    assert all(one != other for one, other in combinations(SIGNS, 2))
