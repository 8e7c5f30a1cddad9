"""What goes to a paper: every export says how many seeds there are and how many of them its numbers are of."""

from __future__ import annotations

import copy
import io
import itertools
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import experiment, result, score
from made_up_pages import comparison_values
from matplotlib.figure import Figure
from rich.console import Console
from text_boxes import problems

import lengthwise as lw
from lengthwise.api.compare import Comparison
from lengthwise.cli.run import draw_summary
from lengthwise.core.errors import LengthwiseError, UnknownNameError, listed
from lengthwise.report.answer import Answer, answer
from lengthwise.report.figures import ALIKE
from lengthwise.report.names import whole_names
from lengthwise.report.summary import BRACKETS, SeedResult, details
from lengthwise.report.terminal import accuracy_text
from lengthwise.report.words import setting_text


@pytest.fixture
def results(tmp_path: Path) -> lw.Result:
    """One system with two of three seeds fitted, and one with none of two."""
    given = [
        *[result("mostly", seed, fitted=seed < 2, scores=[score(8, 200 - seed)]) for seed in range(3)],
        *[result("never", seed, fitted=False, scores=[score(8, 7)], config=experiment("pose")) for seed in range(2)],
    ]
    return write(given, tmp_path)


def write(given: list[dict], folder: Path) -> lw.Result:
    for index, values in enumerate(given):
        (folder / str(index)).mkdir()
        (folder / str(index) / "result.json").write_text(json.dumps(values))
    return lw.results(folder)


def test_unfitted_seeds_are_counted_in_every_export(results: lw.Result) -> None:
    assert results.to_frame().set_index("system")["fitted"].to_dict() == {"mostly": "2 of 3", "never": "0 of 2"}
    table = results.accuracy()
    assert table.to_frame().groupby("system")[["seeds", "fitted"]].first().to_numpy().tolist() == [[3, 2], [2, 0]]
    rows = [line.split(",") for line in table.to_csv().splitlines()]
    at = [rows[0].index(name) for name in ("system", "seeds", "fitted")]
    assert {tuple(row[index] for index in at) for row in rows[1:]} == {("mostly", "3", "2"), ("never", "2", "0")}
    for made in (results, table):
        assert "never" in made.to_latex()


def test_a_system_without_a_fitted_seed_has_a_row_without_numbers(results: lw.Result) -> None:
    table = results.accuracy().table()
    (row,) = [dict(zip(table.columns, row, strict=True)) for row in table.rows if row[0] == "never"]
    assert [row[name] for name in ("length", "median", "low", "high")] == [None] * 4
    assert "7" not in "".join(str(value) for value in row.values())


def test_a_system_has_one_name_alone_and_among_others(tmp_path: Path) -> None:
    other = copy.deepcopy(experiment())
    other["training"]["steps"] = 77
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    alone = write([result("mine")], tmp_path / "a")
    both = write([result("mine"), result("mine", config=other)], tmp_path / "b")
    for found in (alone, both):
        assert set(found.to_frame()["system"]) == set(found.accuracy().to_frame()["system"]) == {"mine"}
    assert list(both.to_frame()["settings"]) == ["steps 1000", "steps 77"]
    assert "settings" not in repr(alone)


def how_sure(systems: Any) -> str:
    return "; ".join(lines_of(answer(systems)))


def lines_of(found: Answer) -> list[str]:
    return [*found.rows.values(), *found.next]


def _of(made: list[dict]) -> lw.Result:
    return lw.Result([(Path(f"run-{index}"), SeedResult.of(values)) for index, values in enumerate(made)])


def _two_systems() -> lw.Result:
    made = [result("far", seed, scores=[score(8, 200), score(40, 190)]) for seed in (0, 1)]
    made += [result("near", seed, scores=[score(8, 200), score(40, 20)]) for seed in (0, 1)]
    return _of(made)


def test_a_wide_table_has_the_best_of_each_length_in_bold(tmp_path: Path) -> None:
    found = _two_systems()
    assert len(found) == 4
    wide = found.wide()
    assert wide.columns == ("system", "settings", "layout", "8", "40")
    assert [row[3:] for row in wide.rows] == [(1.0, 0.95), (1.0, 0.1)]
    assert "**0.950**" in wide.to_markdown()
    assert "**0.100**" not in wide.to_markdown()
    assert "<b>0.950</b>" in wide._repr_html_()
    assert "**" not in wide.text()
    latex = wide.to_latex(tmp_path / "table.tex")
    assert r"\textbf{0.950}" in latex
    assert (tmp_path / "table.tex").read_text(encoding="utf-8") == latex + "\n"


def test_the_spread_over_seeds_is_shown_and_a_frame_holds_numbers() -> None:
    made = [result("far", seed, scores=[score(8, 200), score(40, right)]) for seed, right in enumerate((190, 100, 30))]
    found = _of(made)
    for table in (found.wide(), found.table()):
        for text in (table.text(), table.to_latex(), table.to_markdown(), table._repr_html_()):
            plain = re.sub(r"\*|</?b>|\\textbf\{|(?<=\d)\}", "", text).replace("--", "–")
            assert "0.500 (0.150–0.950)" in plain
        frame = table.to_frame()
        assert frame.iloc[0, -3:].tolist() == [0.5, 0.15, 0.95]
        assert frame.dtypes.iloc[-1].kind == "f"
    rows = found.accuracy().to_frame().set_index("length")
    assert rows.loc[40, ["lowest seed", "median", "highest seed"]].tolist() == [0.15, 0.5, 0.95]


def test_a_wide_table_has_the_chosen_columns_names_and_facts() -> None:
    table = _two_systems().wide(lengths=[40], labels={"far": "ours"})
    assert table.columns == ("system", "settings", "layout", "40")
    assert [row[0] for row in table.rows] == ["ours", "near"]
    compiled = "\n".join(line for line in table.to_latex().splitlines() if not line.startswith("%"))
    for fact in (
        "beyond training; \\ensuremath{\\approx}: 95 \\% is within sampling error.\nHow sure: Not "
        "significant with so few seeds, but every seed of ours is above all of near at 40.",
        "Exact match on addition by length, trained on lengths up to 8: medians of 2 seeds, 200 random strings a",
    ):
        assert fact in compiled
    with pytest.raises(LengthwiseError, match=r"lengths \[41\] were not tested; choose from \[8, 40\]"):
        _two_systems().wide(lengths=[41])


def test_models_that_differ_are_named_below_tables() -> None:
    larger = experiment()
    larger["model"]["layers"] += 2
    found = _of([result("a"), result("b", config=larger)])
    for table in (found.table(), found.wide(), found.accuracy().table()):
        assert "models differ: layers 1 (a), 3 (b)" in table.advice
        assert " differ in layers" in "; ".join((*table.answer.values(), *table.notes))
    assert not any("differ" in note for note in _two_systems().wide().notes)


SETTINGS = [
    (section, key)
    for section in ("model", "training")
    for key in experiment()[section]
    if key not in ("steps", "max_length")
]


@given(st.sets(st.sampled_from(SETTINGS), max_size=4))
def test_every_setting_in_which_systems_differ_is_named_below_tables(keys: set[tuple[str, str]]) -> None:
    other = experiment()
    for section, key in keys:
        other[section][key] = (
            "another" if isinstance(other[section][key], str) else 77 if key != "betas" else [0.5, 0.6]
        )
    made = [result("a"), result("b") | {"experiment": other}]
    said = "; ".join(line for line in details(_of(made).systems) if "differ: " in line)
    assert [key for key in keys if f" {setting_text('.'.join(key))} " not in said] == []
    assert "_" not in said
    assert bool(said) is bool(keys)


def test_the_advice_of_tables_says_what_was_trained() -> None:
    found = _two_systems()
    config, runs = found.runs[0].experiment, found.runs
    facts = [
        "addition with base 10", f"{config['model']['layers']} layer", f"width {config['model']['width']}",
        f"{runs[0].steps:,} steps", f"learning rate {config['training']['lr']:g}", "200 random strings a length",
    ]  # fmt: skip
    for table in (found.wide(), found.table(), found.accuracy().table()):
        text = "; ".join(table.advice).lower()
        assert [fact for fact in facts if fact.lower() not in text] == []
        assert len(table.notes) <= 2


def test_the_text_of_a_figure_names_what_is_drawn_and_nothing_else() -> None:
    ids = [
        result("far", s, scores=[score(n, 100, exact_match_ids=100, oracle_ids=150) for n in (8, 40)]) for s in (0, 1)
    ]
    parity = _seeds("a", [150, 140], "parity")
    over = [one for name in "ab" for one in _seeds(name, [200, 199])]
    words = {"dotted", "chance", "gaps", "thin lines", "band"}
    for made, there in (
        (_seeds("a", [150, 140]), {"thin lines"}),
        (_seeds("a", [150]), {"band"}),
        (ids, {"dotted", "thin lines"}),
        (parity, {"chance", "thin lines"}),
        (over, {"gaps", "thin lines"}),
    ):
        alt = _of(made).plot().alt  # type: ignore[union-attr]
        assert {word for word in words if word in alt} == there
        assert alt.count(". ") <= 3, "the finding, what is drawn, and how sure it is"


def test_what_is_drawn_has_colours_of_its_own_before_what_is_not() -> None:
    lost = [result(f"lost {at}", fitted=False) for at in range(5)]
    drawn = [one for at in range(5) for one in _seeds(f"s{at}", [200 - 30 * at])]
    figure: Any = _of([*lost, *drawn]).plot(figsize=(3.3, 2.4))
    lines = [line for line in figure.axes[0].get_lines() if line.get_marker() != "None"]
    assert len({line.get_color() for line in lines}) == len(lines) == 5


def test_a_row_is_over_the_same_seeds() -> None:
    found = _of([result("far", seed, fitted=seed == 0, scores=[score(40, 190)]) for seed in (0, 1)])
    frame = found.table().to_frame()
    assert frame.loc[0, ["fitted", "in distribution", "accuracy there"]].tolist() == ["1 of 2", 1.0, 0.95]


def test_runs_are_sorted_and_chosen_by_task_and_system(tmp_path: Path) -> None:
    tasks = [("copy", "b"), ("addition", "b"), ("copy", "a")]
    made = [result(name, seed, config=experiment(task=task), recipe=task) for seed, (task, name) in enumerate(tasks)]
    found = write(made, tmp_path)
    assert [(run.recipe, run.system) for run in found.runs] == [("addition", "b"), ("copy", "a"), ("copy", "b")]
    assert [row[0] for row in found.only("copy").table().rows] == ["a", "b"]
    assert [run.recipe for run in found.only(systems=["b"]).runs] == ["addition", "copy"]
    for task, systems in (("coppy", []), (None, ["c"]), ("addition", ["a"])):
        with pytest.raises(UnknownNameError):
            found.only(task, systems)


def test_too_many_lines_are_an_error_that_names_the_choice() -> None:
    scores = [score(n, 100, axes={"chains": chains}) for n in (8, 40) for chains in (1, 4)]
    found = _of([result(f"system {index}", scores=scores) for index in range(13)])
    with pytest.raises(LengthwiseError, match=r"26 lines .* choose some with `.only"):
        found.plot(Figure().subplots())
    assert found.only(systems=[f"system {index}" for index in range(6)]).plot(Figure().subplots()) is not None
    with pytest.raises(LengthwiseError, match=r"45 inches high \(at most 40\); choose by `.only"):
        lw.results("studies/huang/results/huang").plot()


def test_a_figure_says_what_is_drawn_and_zooms_in() -> None:
    figure: Any = _two_systems().plot(ylim=(0.9, 1))
    for word in ("median", "each of these seeds", "training lengths"):
        assert word in figure.alt
    low, high = figure.axes[0].get_ylim()
    assert 0.89 < low < 0.9 < 1 < high < 1.02
    with pytest.raises(LengthwiseError, match="ylim must be a lower and a higher accuracy"):
        _two_systems().plot(ylim=(1, 0.9))


def test_a_frame_of_a_comparison_holds_numbers() -> None:
    frame = Comparison(comparison_values(), Path()).to_frame()
    assert frame["reach"].tolist()[:2] == [48, 36]
    numbers = frame.drop(columns=["system", "each seed", "theory", "setting"])
    assert not numbers.empty
    assert all(dtype.kind in "if" for dtype in numbers.dtypes), numbers.dtypes


def test_what_did_not_fit_is_said_with_its_accuracy_in_distribution_and_the_way_out() -> None:
    made = [result("far", 0, scores=[score(8, 200), score(40, 190)]), result("lost", 0, fitted=False)]
    for chosen, lengths in ((made, ["8", "40"]), (made[1:], [])):
        found = _of(chosen)
        wide, within = found.wide(), found.systems[-1].in_distribution.median
        assert wide.columns == ("system", "settings", "layout", "fitted", *lengths)
        assert wide.rows[-1][3] == "0 of 1"
        assert wide.legend["n.f."].startswith("no seed fitted")
        assert f"{within:.3f}" in found.table().to_latex()
        assert "of one seed, not over seeds" in found.table().legend["brackets"]
        for table in (wide, found.table(), found.accuracy().table()):
            assert any("not fitted: less than 98 % right" in line for line in table.advice)
            (then,) = [line for line in table.advice if line.startswith("next: ")]
            assert " for 2,000 steps with 2 layers: " in then
            assert "% " + then in table.to_latex()
    fitted = lw.Result([(Path("run"), SeedResult.of(made[0]))])
    assert "not fitted" not in "".join((*fitted.table().advice, *fitted.table().legend.values()))


def test_a_picture_in_a_notebook_has_a_white_ground() -> None:
    for shown in (lw.show("copy"), lw.show("copy").plot(), lw.structure("copy").plot()):
        assert shown._repr_html_().startswith('<div style="background:#fff"><svg')


def test_a_plot_follows_the_conventions_of_matplotlib() -> None:
    found = _two_systems()
    axes = Figure().subplots()
    assert found.plot(axes, labels={"far": "ours"}) is axes
    drawn = {str(line.get_label()): line for line in axes.get_lines()}
    assert [label for label in drawn if not label.startswith("_")] == ["ours", "near"]
    assert np.asarray(drawn["ours"].get_ydata()).tolist() == [1.0, 0.95]
    figure: Any = found.plot(figsize=(5, 3))
    assert list(figure.get_size_inches()) == [5, 3]
    with pytest.raises(UnknownNameError, match="Did you mean 'far'"):
        found.plot(labels={"fa": "ours"})
    with pytest.raises(LengthwiseError, match="give either `ax` or `figsize`"):
        found.plot(axes, figsize=(5, 3))


@pytest.mark.parametrize("metric", ["exact_match", "answer"])
def test_axes_of_ones_own_show_all_that_a_figure_of_its_own_shows(metric: str) -> None:
    """Medians, intervals and seeds, the training lengths and the chance line, of the metric that was asked for."""
    scores = [score(8, 200), score(40, 190), score(80, 30)]
    made = [result("far", seed, scores=copy.deepcopy(scores)) for seed in (0, 1)] + [result("lost", 0, fitted=False)]
    for values in made[:2]:
        for at, one in enumerate(values["scores"]):
            one["correct"]["answer"] = 100 - 10 * at
    found = _of(made)
    figure: Any = found.accuracy(metric).plot()
    (own,), given = figure.axes, Figure().subplots()
    found.accuracy(metric).plot(given)

    def drawn(axes: Any) -> list[tuple[float, ...]]:
        lines = ((tuple(line.get_xdata()), tuple(line.get_ydata())) for line in axes.get_lines())
        return sorted(xs + ys for xs, ys in lines if len(xs) > 2)

    assert len(drawn(own)) == 3
    assert drawn(own) == drawn(given)
    for axes in (own, given):
        assert len(axes.patches) == 1
        assert axes.get_xscale() == "log"
        assert any("trained up to" in text.get_text() for text in axes.texts)
    legend: Any = given.get_legend()
    named = ["far", "lost (did not fit, not drawn)"]
    assert [text.get_text() for text in legend.get_texts()] == given.get_legend_handles_labels()[1] == named


@pytest.mark.parametrize("width", [2.2, 3.3, 5, 10])
@pytest.mark.parametrize("on_axes", [False, True])
def test_labels_of_lengths_never_touch_however_small_the_figure(width: float, on_axes: bool) -> None:
    lengths = (8, 9, 10, 11, 12, 16, 20, 100, 101, 110, 400, 1000)
    made = [result("far", seed, scores=[score(n, 200) for n in lengths]) for seed in (0, 1)]
    found = _of(made)
    figure: Any = Figure(figsize=(width, 2.2), layout="constrained") if on_axes else found.plot(figsize=(width, 2.2))
    axes: Any = found.plot(figure.subplots()) if on_axes else figure.axes[0]
    figure.draw_without_rendering()
    shown = [label for label in axes.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in shown]
    assert {"8", "1000"} <= {label.get_text() for label in shown}
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
    assert width < 5 or len(boxes) > 4


def test_a_model_is_that_of_the_best_fitted_seed_and_of_one_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def loaded(folder: Path) -> None:
        asked.append(folder)
        raise LengthwiseError("no checkpoint")

    monkeypatch.setattr("lengthwise.api.model.load_trained", loaded)
    found = _two_systems()
    with pytest.raises(LengthwiseError, match="these runs are of 2 systems; give one as `system`: far, near"):
        lw.load(found)
    made = [result("far", 0, fitted=False)]
    made += [result("far", seed, scores=[score(40, right)]) for seed, right in ((1, 3), (2, 9))]
    three = _of(made)
    with pytest.raises(LengthwiseError, match="no checkpoint"):
        lw.load(three)
    assert asked == [Path("run-2")]


def test_results_of_several_tasks_are_told_apart(tmp_path: Path) -> None:
    """Copy and reverse under one system are two rows and two lines, never one."""
    for task in ("copy", "reverse"):
        run = tmp_path / task
        run.mkdir()
        values = result(recipe=task)
        (run / "result.json").write_text(json.dumps(values), encoding="utf-8")
    found = lw.results(tmp_path)
    names = [str(row[0]) for row in found.wide().rows]
    assert [name.partition(":")[0] for name in names] == ["copy", "reverse"]
    for table in (found.accuracy().table(), found.table()):
        assert {str(row[0]) for row in table.rows} == set(names)


def test_a_digest_is_shown_only_where_nothing_else_tells_tasks_apart() -> None:
    def of(*tasks: tuple[str, dict[str, Any]]) -> list[str]:
        made = [result(recipe=recipe, config=experiment() | {"task": task}) for recipe, task in tasks]
        return [name.partition(": ")[0] for name in _of(made).systems.names]

    own = "mine.py:Mine"
    first, second = ("Mine_a_1-0123ab", {"name": own, "a": 1}), ("Mine_a_2-4567cd", {"name": own, "a": 2})
    assert of(first, ("addition", experiment()["task"])) == ["Mine", "addition"]
    assert of(first, second) == ["Mine (a 1)", "Mine (a 2)"]
    assert of(first, ("Mine_a_1-89abef", first[1])) == ["Mine_a_1-0123ab", "Mine_a_1-89abef"]
    assert of(first, ("language_aa-012345", {"name": "language", "language": "(aa)*"})) == ["Mine", "(aa)*"]
    alone = _of([result(recipe=first[0], config=experiment() | {"task": first[1]})])
    for text in (alone.wide().to_latex(), repr(alone), alone.plot().alt):  # type: ignore[union-attr]
        assert "0123ab" not in text
        assert "on Mine" in text


def test_tests_that_end_early_are_said() -> None:
    short = experiment(task="copy")
    short["training"]["max_length"] = 100
    for last, said in ((150, True), (120, False)):
        found = _of([result("a", config=short, scores=[score(100, 200), score(last, 9)])])
        clause = "ests end at 150, since copy has no strings of 151 to 400"
        assert any(clause in line for line in found.wide().advice) is said


def test_names_with_commas_are_told_apart_by_semicolons() -> None:
    names = ["lstm, layers 2", "coupled", "rope, pose"]
    assert listed(names) == "lstm, layers 2; coupled; rope, pose"
    assert listed(names[1:2] * 2) == "coupled, coupled"
    with pytest.raises(UnknownNameError, match="Known: coupled; lstm, layers 2; rope, pose"):
        raise UnknownNameError("system", "?", names)
    made = _of([one for at, name in enumerate(names) for one in _seeds(f"x, {name}", [200 - at, 100 - at])])
    assert "is not significantly above “x, coupled” and “x, rope, pose” at any length" in made.wide().answer["how sure"]


def _seeds(name: str, rights: list[int], task: str = "addition", scheme: str = "coupled") -> list[dict]:
    config = experiment(scheme, task=task)
    return [
        result(name, i, scores=[score(16, right), score(40, right)], config=config) for i, right in enumerate(rights)
    ]


@pytest.mark.parametrize("brackets", BRACKETS)
@pytest.mark.parametrize("seeds", [1, 3, 5, 9])
def test_brackets_of_a_table_are_the_band_of_the_figure_and_both_say_what_they_are(brackets: str, seeds: int) -> None:
    found = _of(_seeds("a", [200 - 9 * i for i in range(seeds)]))
    table: Any = found.wide(brackets=brackets)
    figure: Any = found.plot(band=brackets)
    bands = figure.axes[0].collections
    cell = table.rows[0][-1]
    if brackets == "none":
        assert not bands
        assert "(" not in table.cells[0][-1]
        return
    if brackets == "interval" and 1 < seeds < 6:  # thin lines are these seeds
        assert not bands
        assert "band: " not in figure.alt
        assert f"range of {seeds} seeds" in table.legend["brackets"]
        return
    heights = {round(y, 6) for x, y in bands[0].get_paths()[0].vertices if x == 40}
    assert heights == {round(cell.low, 6), round(cell.high, 6)}
    if seeds == 1 and brackets == "range":
        assert "brackets" not in table.legend
        return
    said = table.legend["brackets"].removesuffix(", none where both ends are equal")
    assert f"band: {said}" in figure.alt
    if brackets == "interval":
        assert {1: "of one seed, not over seeds", 9: "95 % interval of the median of 9 seeds"}[seeds] in said
    else:
        assert (cell.low, cell.high) == ((200 - 9 * (seeds - 1)) / 200, 1.0)


def test_an_unknown_kind_of_brackets_names_the_kinds() -> None:
    for call in (lambda: _two_systems().wide(brackets="all"), lambda: _two_systems().plot(band="all")):
        with pytest.raises(UnknownNameError, match="interval, none, range"):
            call()


def test_bold_is_the_number_alone_ties_have_a_dagger_and_failures_nothing() -> None:
    made = [*_seeds("best", [190, 180, 170]), *_seeds("near", [185, 175, 165]), *_seeds("far", [90, 80, 70])]
    table = _of(made).wide()
    row = dict(
        zip(
            [str(each[0]) for each in table.rows], table.to_latex().split("\\midrule")[1].splitlines()[1:], strict=False
        )
    )
    assert r"\textbf{0.900} (0.850--0.950)" in row["best"]
    assert r"0.875$^\dagger$ (0.825--0.925)" in row["near"]
    assert "dagger" not in row["far"]
    assert "0.900* (0.850" in table.text()
    assert "*: best beyond training" in " ".join(repr(table).split())
    assert "bold" not in repr(table)
    assert "bold: best beyond training" in table.to_latex()
    assert "<b>0.900</b> (" in table._repr_html_()
    failed = _of([*_seeds("a", [5, 6, 7]), *_seeds("b", [0, 1, 2])]).wide()
    assert not failed.bold
    assert "best beyond training" not in repr(failed) + failed.to_latex()


def test_differences_are_tested_exactly_and_corrected_for_all_of_them() -> None:
    found = _of([*_seeds("a", [200, 199, 198, 197, 196]), *_seeds("b", [10, 20, 30, 40, 50], scheme="sequential")])
    frame = found.differences().to_frame()
    assert frame[["system", "against", "length", "ranges disjoint"]].to_numpy().tolist() == [
        ["a", "b", n, "yes"] for n in (40, 16)
    ], "the longest length that the finding names comes first"
    assert frame["p"].tolist() == pytest.approx([2 / 252] * 2)
    assert frame["Holm p"].tolist() == pytest.approx([4 / 252] * 2)
    assert found.differences(against="b").to_frame()["against"].tolist() == ["b", "b"]
    with pytest.raises(UnknownNameError, match="unknown system of these results"):
        found.differences("c")
    lost = _of([*_seeds("a", [200]), result("lost", fitted=False)])
    with pytest.raises(LengthwiseError, match="no seed of 'lost' fitted"):
        lost.differences("lost")
    wide = found.wide()
    said = "a is significantly above b at 16–40 (rank test, Holm p ≤ 0.016)."
    assert wide.answer["how sure"] == said
    assert wide.answer["why"].endswith("b: length 16 is the first with ids above 27, which were never trained.")
    (then,) = [line for line in found.wide().advice if line.startswith("next: ")]
    assert then.startswith("next: train the control random-start+learned")
    assert "One seed each cannot tell." in how_sure(_of([*_seeds("a", [200]), *_seeds("b", [10])]).systems)


@pytest.mark.parametrize("folder", ["studies/methods/results", "studies/huang/results"])
def test_a_terminal_has_p_of_each_pair_at_each_length(folder: str) -> None:
    """In 80 columns, of as many tests as two screens hold."""
    every = lw.results(folder)
    for group in {(one.recipe, one.contest) for one in every.systems}:
        names = [one.label for one in every.systems if (one.recipe, one.contest) == group][:4]
        table = every.only(systems=names).differences()
        text = " ".join(repr(table).split())
        left_out = re.search(r"not shown: (.*?) \(all", text)
        assert left_out is None or not re.search(r"\b(rows?|p|median|length)\b", left_out[1])
        assert left_out is None or "ranges disjoint: " not in text or "ranges disjoint" not in left_out[1]
        assert max(map(len, repr(table).splitlines())) <= 80


def test_what_overlaps_is_not_told_apart_and_asks_for_seeds() -> None:
    said = how_sure(_of([*_seeds("a", [200, 100, 150]), *_seeds("b", [190, 110, 140])]).systems)
    assert "a is not significantly above b at any length (rank test, lowest Holm p " in said
    assert "next: train a and b to 6 seeds: then the difference can be significant" in said
    for scores in ([], [score(8, 150)]):  # nothing beyond training was tested
        within = _of([result("a", scores=scores)])
        assert "to test longer" not in " ".join([*within.wide().advice, *within.table().advice])
    assert (
        how_sure(_of(_seeds("a", [200])).systems)
        == "next: to test longer than 40, train all anew with `test_lengths` up to 80 and an `out` of their own: "
        "there are as many ids as the longest test needs"
    )
    three = _of([*_seeds("a", [200] * 5), *_seeds("b", [200] * 5), *_seeds("c", [9, 8, 7, 6, 5], scheme="sequential")])
    said = how_sure(three.systems)
    assert said.startswith("a is significantly above c at 16–40 ("), "not against what is as good"
    few = how_sure(_of([*_seeds("a", [200, 199, 198]), *_seeds("c", [9, 8, 7], scheme="sequential")]).systems)
    assert few.startswith("Not significant with so few seeds, but every seed of a is above all of c at 16–40.")
    frame = _of([*_seeds("c", [1, 2]), *_seeds("a", [200, 199])]).differences().to_frame()
    assert set(frame["ranges disjoint"]) == {"yes"}
    alone = _of([*_seeds("c", [1]), *_seeds("a", [200, 199])]).differences(labels={"a": "ours"})
    at = alone.columns.index("ranges disjoint")
    assert {row[at] for row in alone.rows} == {None}, "one seed has no range"
    assert {row[0] for row in alone.rows} == {"ours"}, "the best comes first"


def test_the_one_system_that_each_is_held_against_goes_by_all_its_names() -> None:
    """Also by short ones; a typo of any of them is mended, and what begins like one."""
    made = [result("other"), result("coupled+learned")]
    made.append(result("sequential+rope", config=experiment("sequential", "rope")))
    for values in made:
        values["scores"] = [score(40, 100)]
    found = _of(made)
    assert [row[:2] for row in found.differences(against="rope").rows] == [
        ("other", "sequential+rope"), ("coupled+learned", "sequential+rope"),
    ]  # fmt: skip
    every = {(frozenset(row[:2]), row[2]): row[-1] for row in found.differences().rows}
    assert all(every[frozenset(row[:2]), row[2]] == row[-1] for row in found.differences(against="rope").rows)
    assert found.wide(labels={"fire": "x", "pose+rope": "y", "coupled+Mine (width 9)": "z"}) == found.wide(), (
        "those of other results"
    )
    for call in (found.wide, found.plot, found.differences):
        with pytest.raises(UnknownNameError, match="Known: coupled\\+learned, other, sequential\\+rope"):
            call(labels={"unheard of": "z"})
    for typo, meant in (("couple", "coupled"), ("rop", "rope"), ("othr", "other")):
        for call in (lambda typo=typo: found.wide(labels={typo: "ours"}), lambda typo=typo: found.differences(typo)):
            with pytest.raises(UnknownNameError, match=f"'{meant}"):
                call()


def test_nothing_is_bold_that_may_be_chance_and_chance_is_said_wherever_numbers_go() -> None:
    """In the table, its LaTeX, the text of the figure and the terminal; of a task that cannot be guessed nowhere."""
    for right, sure in (([104, 103], True), ([104, 95], False)):
        found = _of([*_seeds("a", right, "parity"), *_seeds("b", [90, 80], "parity")])
        wide = found.wide()
        assert bool(wide.bold) is sure
        assert sure or not wide.alike
        for text in (wide.to_latex(), repr(wide), found.plot().alt, accuracy_text(found.systems)):  # type: ignore[union-attr]
            assert "hance for the answer: 0.50 at every length" in " ".join(text.split())
    plain = _of(_seeds("a", [200, 199]))
    for text in (plain.wide().to_latex(), plain.plot().alt, accuracy_text(plain.systems)):  # type: ignore[union-attr]
        assert "hance" not in text


@pytest.mark.parametrize("brackets", ["none", "range", "interval"])
def test_a_dagger_is_explained_by_what_is_shown_or_said(brackets: Any) -> None:
    said = _of([*_seeds("a", [190, 180, 170]), *_seeds("b", [185, 175, 165])]).wide(brackets=brackets).legend["†"]
    assert ("range of 3 seeds" in said) is (brackets != "interval")


def test_the_text_of_a_figure_has_seeds_training_lengths_and_the_finding() -> None:
    lost = [result("lost", seed, fitted=False) for seed in (0, 1)]
    found = _of([*_seeds("a", [200, 190]), *_seeds("b", [20, 10]), *lost])
    alt, length = found.plot().alt, found.systems[0].max_length  # type: ignore[union-attr]
    assert f"Trained to {length}, a is ≥ 95 % right in tests up to 40, the longest, in both seeds" in alt
    assert "lost did not fit" in alt


def test_an_unknown_format_of_a_figure_is_one_line(tmp_path: Path) -> None:
    figure: Any = _two_systems().plot()
    for path in (tmp_path / "x.pdff", str(tmp_path / "x.pdff")):
        with pytest.raises(UnknownNameError, match=r"unknown format of a figure 'pdff'.* 'pdf'"):
            figure.savefig(path)
    with pytest.raises(UnknownNameError, match=r"Known: .*pdf.*svg"):
        figure.savefig(io.BytesIO(), format="what")
    figure.savefig(tmp_path / "x.PDF")
    assert (tmp_path / "x.PDF").stat().st_size


@given(st.lists(st.sampled_from(["above", "overlap", "below"]), min_size=2, max_size=7), st.data())
def test_lengths_named_below_a_table_are_those_where_every_seed_is_above(kinds: list[str], data: st.DataObject) -> None:
    """A range stands for tested lengths alone, whichever the table shows."""
    rights = {"above": ([190, 180], [20, 10]), "overlap": ([190, 10], [180, 20]), "below": ([40, 30], [60, 50])}
    tested = [8 * (at + 2) for at in range(len(kinds))]
    made = [
        result(name, seed, scores=[score(n, rights[kind][of][seed]) for n, kind in zip(tested, kinds, strict=True)])
        for of, name in enumerate(("a", "b"))
        for seed in (0, 1)
    ]
    shown = sorted(data.draw(st.sets(st.sampled_from(tested), min_size=1)))
    apart = [n for n, kind in zip(tested, kinds, strict=True) if kind == "above"]
    told = _of(made).wide(lengths=shown).answer["how sure"]
    said = told * ("every seed of a is above" in told)
    assert bool(apart) is bool(said)
    where = re.search(r"all of b at ([\d–, and]+)\.", said)
    named = set()
    for run in re.findall(r"\d+(?:–\d+)?", where[1]) if where else ():
        low, _, high = run.partition("–")
        named |= {n for n in tested if int(low) <= n <= int(high or low)}
    assert sorted(named) == apart
    made = any(f", {len(tested)} in all; p by Holm" in line for line in _of(made).wide(lengths=shown).advice)
    assert made or len(tested) == 1, "of all lengths, chosen or not"


@pytest.mark.parametrize("window", [4, 32])
def test_a_control_has_the_settings_of_the_encoding_in_its_name_and_can_learn_the_task(window: int) -> None:
    made = []
    for name, scheme, encoding, right in (
        ("coupled+local-bias-sink", "coupled", {"name": "local-bias", "sink": True, "window": window}, 200),
        ("sequential+rope", "sequential", {"name": "rope"}, 20),
    ):
        config = experiment(scheme, "local-bias" if scheme == "coupled" else "rope")
        made += [
            result(name, seed, scores=[score(40, right)], config={**config, "encoding": encoding}) for seed in (0, 1)
        ]
    said = how_sure(_of(made).systems)
    name = "coupled+local-bias-sink"
    assert (f"train the control sequential+local-bias-sink, else as {name}, 5 seeds" in said) is (window > 16)
    far = "Under plain ids it has to look 18 ids back in training, and its 1 layer reaches 4."
    assert (far in said) is (window == 4)


def test_a_control_is_asked_for_where_there_is_none() -> None:
    made = [*_seeds("best", [200] * 3), *_seeds("ids", [100] * 3, scheme="sequential")]
    other = experiment("sequential", "rope")
    rope = [result("rope", seed, scores=[score(16, 150), score(40, 150)], config=other) for seed in range(3)]
    said = lines_of(answer(_of([*made, *rope]).systems))
    assert any("the control random-start+learned, else as best" in clause for clause in said), (
        "the table of a plain one met no id beyond training"
    )
    started = {**experiment("sequential", "learned"), "scheme": {"name": "sequential", "random_start": True}}
    control = [result("control", seed, scores=[score(16, 90), score(40, 90)], config=started) for seed in range(3)]
    assert "Not tested" not in how_sure(_of([*made, *rope, *control]).systems)
    untested = lines_of(answer(_of([*made[:3], *rope]).systems))
    begins = "Not tested: none differs from best in its ids alone. Known: at 40 a token needs one up to "
    assert any(clause.startswith(begins) for clause in untested)
    alone = _of([*made[:3], *rope]).wide()
    assert alone.advice[0].startswith("next: ")
    assert "train the control random-start+learned" in alone.advice[0]
    untested = "Not tested: none differs from best in its ids alone"
    printed = alone.to_latex().partition("\\end{table}")
    assert untested in " ".join(repr(alone).split())
    assert untested in printed[2], "a comment for the author"
    assert untested not in printed[0]


def test_results_without_a_run_say_so() -> None:
    found = lw.results("studies/influence/results")
    assert "no training runs in these results" in found.table().caption
    for call in (found.wide, found.plot, found.differences):
        with pytest.raises(LengthwiseError, match="no training runs in these results"):
            call()


def test_a_label_that_two_systems_would_share_is_refused() -> None:
    made = _of([*_seeds("a", [200] * 3), *_seeds("b", [100] * 3, scheme="sequential")])
    for labels in ({"a": "x", "b": "x"}, {"a": "b"}):
        for draw in (made.wide, made.plot, made.differences):
            with pytest.raises(LengthwiseError, match="would be the name of 2"):
                draw(labels=labels)
    assert made.wide(labels={"a": "b", "b": "a"}), "names may be swapped"


def markers(axes: Any) -> dict[int, list[tuple[float, float, Any]]]:
    """By length, of the marker of each median: the accuracy, its size, and its colour."""
    found = dict[int, list[tuple[float, float, Any]]]()
    for line in axes.get_lines():
        for at in (line.get_marker() != "None" and line.get_markevery()) or ():
            size = line.get_markersize()
            found.setdefault(line.get_xdata()[at], []).append((line.get_ydata()[at], size, line.get_color()))
    return found


def test_lines_that_lie_over_each_other_are_seen_both(tmp_path: Path) -> None:
    """Three equal ones and a lower one, in a figure and on axes: gaps where a line is above, and markers around."""
    found = _of([one for name in "abc" for one in _seeds(name, [200, 199])] + _seeds("low", [50, 60]))
    given: Any = Figure().subplots()
    found.plot(given)
    figure: Any = found.plot()
    for axes in (given, figure.axes[0]):
        looks = [str(line._unscaled_dash_pattern) for line in axes.get_lines() if line.get_markevery() is not None]
        assert len({*looks}) == 3
        for row in markers(axes).values():
            *high, low = sorted(row, reverse=True)
            assert len({colour for *_, colour in row}) == 4
            assert len({size for _, size, _ in high}) == 3
            assert low[1] == min(size for _, size, _ in high)


@pytest.mark.parametrize(
    "folder", ["methods/results/method-matrix", "golowich/results/look-back", "huang/results/huang"]
)
def test_no_marker_of_a_median_hides_another(folder: str) -> None:
    whole = lw.results(f"studies/{folder}")
    for contest in dict.fromkeys(one.contest for one in whole.systems):
        found = whole.only(systems=[one.label for one in whole.systems if one.contest == contest])
        if any(one.fitted for one in found.systems):
            figure: Any = found.plot(figsize=(3.3, 2.4))
            for axes in figure.axes:
                for row in markers(axes).values():
                    for (high, size, _), (other, less, _) in itertools.combinations(row, 2):
                        assert abs(high - other) > ALIKE or abs(size - less) > 0.5


def test_a_share_that_may_be_on_either_side_of_the_bar_is_marked() -> None:
    """At lengths beyond training, where 95 % lies in Wilson's interval over the strings of a seed."""
    found = _of(_seeds("a", [200]) + _seeds("b", [193]) + _seeds("c", [180]))
    table = found.wide()
    assert table.near == {(row, column) for row, one in enumerate(table.rows) if one[0] == "b" for column in (3, 4)}
    assert "≈: 95 % is within sampling error" in " ".join(repr(table).split())
    assert (
        r"0.965$^\dagger$\ensuremath{\approx}" in table.to_latex() or r"0.965\ensuremath{\approx}" in table.to_latex()
    )


def test_what_names_leave_out_is_said_of_the_systems_that_are_shown() -> None:
    """In the legend of a figure, as far as there is room; in tables, and in the text of a figure, all of it."""
    found = lw.results("studies/golowich/results/look-back")
    table, figure = found.wide(), found.plot(figsize=(3.3, 2.4))
    for text in (" ".join(repr(table).split()), " ".join(table.to_latex().split()), figure.alt):  # type: ignore[union-attr]
        assert ("letters 30" in text) is not text.startswith("finding")
        assert "heads" not in text.partition("…: ")[2].partition("differ")[0], "it is the same for those of a name"
    legend = [text.get_text() for text in figure.legends[0].get_texts()]  # type: ignore[union-attr]
    assert "learned, t = 3 (width 128, steps 8000, largest id 158, …)" in legend
    two = found.only(systems=["learned, t = 3"])
    assert "letters" in two.wide().to_latex()
    assert "…:" not in repr(two.only(systems=[two.systems.names[0]]).wide())


def test_steps_that_differ_are_said_below_tables() -> None:
    early = experiment()
    early["training"]["stop_when_fitted"] = True
    made = [*(result("a", seed) | {"steps": 250 * (seed + 1)} for seed in (0, 1)), result("b")]
    for config, because in ((experiment(), ""), (early, ", where some runs end once they fit")):
        found = _of([one | {"experiment": config} for one in made])
        who = ["250 to 500 of at most 1,000 (a)", "1,000 (b)"]
        said = [f"trained for different numbers of steps{because}: {', '.join(some)}" for some in (who, who[::-1])]
        for table in (found.wide(), found.table(), found.accuracy().table()):
            assert any(line in said for line in table.advice)
            assert " differ in steps" in "; ".join((*table.answer.values(), *table.notes))
            assert any("stop_when_fitted" in line for line in table.advice) is bool(because)
    assert not any("different numbers" in line for line in _of(made[:1]).wide().advice)


def test_names_with_settings_choose_and_label() -> None:
    wide = copy.deepcopy(experiment())
    wide["model"]["width"] = 32
    made = [result("a"), result("a", config=wide), result("b", recipe="other")]
    found = _of(made)
    assert len(set(found.systems.names)) == 3
    for name in found.systems.names:
        (alone,) = found.only(systems=[name]).runs
        assert found.systems[found.systems.names.index(name)].results == (alone,)
        labelled = found.wide(labels={name: "ours"})
        assert [row[0] for row in labelled.rows].count("ours") == 1
        axes: Any = found.plot(Figure().subplots(), labels={name: "ours"})
        assert axes.get_legend_handles_labels()[1].count("ours") == 1
    assert len(found.only(systems=["a"])) == 2
    assert [row[:2] for row in found.wide(labels={"a": "ours"}).rows][:2] == [
        ("addition: ours", "width 128"),
        ("addition: ours", "width 32"),
    ]
    assert "b" in found.systems
    with pytest.raises(UnknownNameError, match="system of these results"):
        found.only(systems=["c"])


def test_systems_of_several_tasks_go_by_every_name_that_tables_print() -> None:
    groups = [("copy of distinct", "copy"), ("copy of repeats", "copy"), ("reverse", "reverse")]
    configs = [experiment(task=task) for _, task in groups]
    configs[1]["task"]["letters"] = 5
    made = [
        result(f"{group}, {name}", config=config, recipe="matrix")
        for (group, _), config in zip(groups, configs, strict=True)
        for name in ("coupled+learned", "rope")
    ]
    found = _of(made)
    assert [row[0] for row in found.table().rows] == [
        f"{group}, {n}" for group, _ in groups for n in ("coupled+learned", "rope")
    ]
    for task, systems, runs in (
        ("copy", ["rope"], 2), ("copy of distinct", ["rope"], 1), (None, ["reverse, rope"], 1), ("matrix", (), 6)
    ):  # fmt: skip
        assert len(found.only(task, systems)) == runs
    alone = found.only("copy of distinct")
    assert alone.systems.names == ("coupled+learned", "rope"), "a task that all share is said once, below"
    assert len(alone.only(systems=["copy of distinct, rope"])) == 1
    for name in ("rope", "copy of distinct, rope"):
        assert [row[0] for row in alone.wide(labels={name: "ours"}).rows] == ["coupled+learned", "ours"]
    labelled = [row[0] for row in found.wide(labels={"rope": "ours"}).rows]
    assert labelled[1::2] == [f"{group}, ours" for group, _ in groups]
    with pytest.raises(UnknownNameError) as raised:
        found.only("copi")
    assert "matrix" not in str(raised.value)
    assert {"copy", "copy of distinct", "copy of repeats", "reverse"} <= set(raised.value.known)


def test_a_long_legend_takes_a_third_of_a_small_figure_at_most() -> None:
    made = [one for at in range(7) for one in _seeds(f"a rather long name of system {at}", [200 - 20 * at])]
    figure: Any = _of(made).plot(figsize=(3.3, 2.4))
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert legend.get_window_extent().height <= figure.bbox.height / 3


def test_a_list_of_folders_is_an_error_that_shows_the_call() -> None:
    with pytest.raises(LengthwiseError, match=r"lw.results\('one', 'two'\)"):
        lw.results(["a", "b"])  # type: ignore[arg-type]


def test_a_misspelt_task_is_one_of_the_folder_s() -> None:
    with pytest.raises(LengthwiseError, match="Known: addition"):
        _of([result("a")]).only("coppy")
    with pytest.raises(LengthwiseError, match="Did you mean 'addition'"):
        _of([result("a")]).only("additon")


def test_systems_are_found_by_name() -> None:
    found = _two_systems()
    assert "far" in found.systems
    assert found.systems[0] in found.accuracy().systems
    assert "fur" not in found.systems
    assert found.systems.names == found.accuracy().systems.names == ("far", "near")


@pytest.mark.parametrize("names", [("scratchpad + given ids",), ("a" * 30, "b"), ("a", "b" * 60, "c", "lost")])
def test_a_terminal_has_the_answer_the_curve_and_the_numbers(names: tuple[str, ...]) -> None:
    """Each system has one row, with a curve over all lengths and the longest test; what does not fit in 80 columns is
    whole lengths from the middle, never a number."""
    tested = (4, 8, 20, 40, 80, 160)
    scores = [score(n, 200 - n // 10) for n in tested]
    made = [
        result(name, seed, fitted=name != "lost", scores=scores if seed == 0 else scores[:-1])
        for name in names
        for seed in (0, 1)
    ]
    sweep: Any = SimpleNamespace(results=[[SimpleNamespace(to_json=lambda v=v: v) for v in made]])
    printed = io.StringIO()
    draw_summary(Console(file=printed, width=80), sweep)
    lines = printed.getvalue().splitlines()
    assert lines[0].startswith("finding   Trained to 8, ")
    (head,) = [line for line in lines if "4…160" in line]
    shown = head.split()[2:]
    assert shown == [str(n) for n in tested if str(n) in shown]
    assert {"4", "160"} <= {*shown} or shown == ["160"]
    for name in names:
        (row,) = [line for line in lines[lines.index(head) :] if line.startswith(f"{name} ")]
        cells = row.removeprefix(name).split()
        if name == "lost":
            assert "not fitted" in row
            continue
        assert cells[0] == "█████▇"
        assert cells[-1] == "0.92"
        assert len(row) <= 80 or shown == ["160"]
    assert len(lines) <= 24


def test_a_number_in_a_terminal_is_the_median_with_lowest_and_highest() -> None:
    made = [result("a", seed, scores=[score(8, 200), score(40, right)]) for seed, right in enumerate((190, 100, 30))]
    text = accuracy_text(_of(made).systems)
    assert "a       █▅    1.00  0.50 (0.15–0.95)" in text
    assert "Seeds that fitted: 3 of 3." in " ".join(text.split())


@pytest.mark.parametrize("size", [(3.3, 2.4), (5, 3)])
@pytest.mark.parametrize("on_axes", [False, True])
@pytest.mark.parametrize(
    "names", [("ours", "RoPE"), ("coupled+local-bias-sink", "randomized+learned", "pose+rope", "fire")]
)
def test_a_small_figure_is_ready_for_print(size: tuple[float, float], on_axes: bool, names: tuple[str, ...]) -> None:
    """No text leaves the figure or meets another, and the axes have most of the width, at the author's font size."""
    made = [one for i, name in enumerate(names) for one in _seeds(name, [200 - 40 * i, 190 - 40 * i], "parity")]
    found = _of([*made, *(result(f"lost {i}", fitted=False, config=experiment(task="parity")) for i in range(2))])
    with matplotlib.rc_context({"svg.fonttype": "none", "font.size": 8, "font.family": "monospace"}):
        figure: Any = Figure(figsize=size, layout="constrained") if on_axes else found.plot(figsize=size)
        axes: Any = found.plot(figure.subplots()) if on_axes else figure.axes[0]
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg")
    svg = buffer.getvalue()
    # Widths are estimated in another font; monospace is wider.
    texts = [axes.xaxis.label, axes.yaxis.label, *axes.texts]
    assert {tuple(text.get_fontfamily()) for text in texts} == {("monospace",)}
    assert {text.get_fontsize() for text in texts} == {8}
    assert problems(svg[svg.index("<svg") :], 6) == []
    figure.draw_without_rendering()
    assert axes.get_position().width > 0.7
    assert axes.get_position().height > 0.33
    legends = [*figure.legends, *([axes.get_legend()] if axes.get_legend() else [])]
    assert [text.get_text() for legend in legends for text in legend.get_texts()] == [
        *names, "lost 0 (did not fit, not drawn)", "lost 1 (did not fit, not drawn)", "chance 0.50"
    ]  # fmt: skip


@pytest.mark.parametrize("folder", ["golowich/results/look-back", "methods/results/method-matrix"])
def test_a_system_goes_by_the_name_that_a_figure_prints(folder: str) -> None:
    whole = lw.results(f"studies/{folder}")
    every = list(whole.systems)
    for one, named in zip(every, whole_names(every), strict=True):
        chosen = whole.only(systems=[named.label])
        assert {id(run) for run in one.results} <= {id(run) for each in chosen.systems for run in each.results}
        assert len(chosen) < len(whole)
    labels = {named.label: f"system {at}" for at, named in enumerate(whole_names(every))}
    assert {*whole.wide(labels=labels).to_frame()["system"]} == {*labels.values()}
