"""What goes to a paper: every export says how many seeds there are and how many of them its numbers are of."""

from __future__ import annotations

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up import experiment, result, score
from made_up_pages import comparison_values
from matplotlib.figure import Figure

import lengthwise as lw
from lengthwise.api.compare import Comparison
from lengthwise.core.errors import LengthwiseError, UnknownNameError
from lengthwise.report.summary import SeedResult


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
    for table in (results, results.accuracy()):
        frame = table.to_frame()
        assert frame.groupby("system")[["seeds", "fitted"]].first().to_numpy().tolist() == [[3, 2], [2, 0]]
        rows = [line.split(",") for line in table.to_csv().splitlines()]
        at = [rows[0].index(name) for name in ("system", "seeds", "fitted")]
        assert {tuple(row[index] for index in at) for row in rows[1:]} == {("mostly", "3", "2"), ("never", "2", "0")}
        latex = table.to_latex()
        assert "never" in latex
        assert " seeds " in latex


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
    assert list(both.to_frame()["settings"]) == ["steps=1000", "steps=77"]
    assert "settings" not in repr(alone)


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
            assert "0.500 (0.150–0.950)" in text.replace("**", "").replace("<b>", "")
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
    for fact in ("in brackets the lowest and the highest", "trained on lengths up to 8", "seeds that fitted: 2 of 2"):
        assert fact in compiled
    with pytest.raises(LengthwiseError, match=r"lengths \[41\] were not tested; choose from \[8, 40\]"):
        _two_systems().wide(lengths=[41])


def test_models_that_differ_are_named_below_tables() -> None:
    larger = experiment()
    larger["model"]["layers"] += 2
    found = _of([result("a"), result("b", config=larger)])
    for table in (found.table(), found.wide(), found.accuracy().table()):
        assert "models differ: layers 1 (a), 3 (b)" in table.notes
    assert not any("models differ" in note for note in _two_systems().wide().notes)


def test_a_row_is_over_the_same_seeds() -> None:
    found = _of([result("far", seed, fitted=seed == 0, scores=[score(40, 190)]) for seed in (0, 1)])
    frame = found.table().to_frame()
    assert frame.loc[0, ["fitted", "in distribution", "accuracy there"]].tolist() == [1, 1.0, 0.95]


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
    found = _of([result(f"system {index}") for index in range(13)])
    for ax in (None, Figure().subplots()):
        with pytest.raises(LengthwiseError, match=r"13 lines .* choose some with `.only"):
            found.plot(ax)
    assert found.only(systems=[f"system {index}" for index in range(12)]).plot() is not None


def test_a_figure_says_what_is_drawn_and_zooms_in() -> None:
    figure: Any = _two_systems().plot(ylim=(0.9, 1))
    for word in ("median", "each of these seeds", "95 % interval", "training lengths"):
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


def test_what_did_not_fit_has_its_accuracy_in_distribution_and_the_way_out() -> None:
    made = [result("far", 0, scores=[score(8, 200), score(40, 190)]), result("lost", 0, fitted=False)]
    for chosen, lengths in ((made, ["8", "40"]), (made[1:], [])):
        found = _of(chosen)
        wide, within = found.wide(), found.systems[-1].in_distribution.median
        assert wide.columns == ("system", "settings", "layout", "fitted", "in distribution", *lengths)
        assert wide.rows[-1][3:5] == (0, within)
        assert f"{within:.3f}" in wide.to_latex()
        for table in (wide, found.table(), found.accuracy().table()):
            (said,) = [note for note in table.notes if note.startswith("not fitted")]
            assert "98 %" in said
            assert "evaluation.fit_threshold" in said
            assert "training.steps" in said
    fitted = lw.Result([(Path("run"), SeedResult.of(made[0]))])
    assert not any("not fitted" in note for note in fitted.table().notes)


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
        assert len(axes.collections) == 1
        assert len(axes.patches) == 1
        assert axes.get_xscale() == "log"
        assert any("trained up to" in text.get_text() for text in axes.texts)
    assert "lost: not fitted, so not drawn" in given.get_legend_handles_labels()[1]


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
