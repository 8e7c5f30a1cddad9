"""Every figure, without a browser: texts large enough, within the figure and apart, and lines that are the data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from made_up import experiment, result, score
from made_up_influence import influence_result
from matplotlib.colors import to_rgba
from table_parts import results
from test_page import mixed_values
from text_boxes import problems

from lengthwise.positions.schemes import SCHEMES
from lengthwise.prediction.example import example
from lengthwise.report import page as task_section
from lengthwise.report.figures import (
    COLOURS,
    NARROW,
    WIDE,
    Drawing,
    Picture,
    draw_accuracy,
    draw_dependencies,
    new_figure,
    write_pictures,
)
from lengthwise.report.influence import InfluenceResult, draw_masks, draw_recovered, draw_scatter, draw_spans
from lengthwise.report.page import ResultsPage, read_report, render
from lengthwise.report.summary import SeedResult, panels, summarize
from lengthwise.tasks import TASKS

ACCENT = to_rgba(COLOURS[1])
LEAST = {WIDE: 7.7, NARROW: 6.7}
"""Points that are at least 9 CSS pixels where the page shows this version: at 844 and at 350 pixels of width."""


def mixed_results() -> list[SeedResult]:
    return [SeedResult.of(value) for value in mixed_values()]


def crowd(count: int, name: str = "system {} with a name that needs more than one line") -> list[SeedResult]:
    """Many systems with the same curve, on two panels."""
    scores = [score(n, 100, axes={"chains": c, "depth": n // c}) for n in (8, 16, 400) for c in (1, 4)]
    return [SeedResult.of(result(name.format(i), scores=scores, recipe="variable-assignment")) for i in range(count)]


HOSTILE = [r"$\foo$", "a\x0b\x00b\n\nc", "x" * 400, "</title><b>&amp;", "名前", "{", "", "\u202eabc"]


def accuracy(results: list[SeedResult], width: float) -> Drawing:
    drawn = draw_accuracy(summarize(results), width)
    assert drawn is not None
    return drawn


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("count", [0, 1, 14])
def test_accuracy_names_every_system_at_its_line(width: float, count: int) -> None:
    results = crowd(count) if count else mixed_results()
    figure = accuracy(results, width)
    svg = figure.svg()
    assert problems(svg, LEAST[width]) == []
    for plot in figure.axes:
        written = "\n".join(text.get_text() for text in plot.texts).replace("\n", " ")
        names = {one.system for one in results if one.fitted}
        assert all(name in written for name in names)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_many_panels_are_small_and_share_a_legend(width: float) -> None:
    scores = [score(n, 100, axes={"k": k, "min_ones": k % 2 * 11}) for n in (10, 500) for k in range(9)]
    results = [SeedResult.of(result(f"system {i} of many", scores=scores, recipe="many")) for i in range(8)]
    figure = accuracy(results, width)
    assert problems(figure.svg(), LEAST[width]) == []
    assert len(figure.axes) >= 9
    assert figure.get_figheight() < 10 * width
    written = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert written == [f"system {i} of many" for i in range(8)]


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("panels", [1, 8])
def test_a_figure_says_which_seeds_it_does_not_draw(width: float, panels: int) -> None:
    scores = [score(n, 100, axes={"k": k} if panels > 1 else None) for n in (8, 16) for k in range(panels)]
    given = (("one of three", 0, True), ("one of three", 1, False), ("one of three", 2, False), ("whole", 0, True))
    results = [result(name, seed, fitted=fitted, scores=scores) for name, seed, fitted in given]
    lost = [result(f"system {i} that never fitted at all", fitted=False, scores=scores[:1]) for i in range(5)]
    svg = accuracy([SeedResult.of(values) for values in (*results, *lost)], width).svg()
    assert problems(svg, LEAST[width]) == []
    written = " ".join("".join(ElementTree.fromstring(svg).itertext()).split())
    assert "fitted: 1 of 3" in written
    assert "fitted: 1 of 1" not in written
    assert all(f"system {i} that never" in written for i in range(5))
    assert ("so not drawn" in written) is (panels == 1)
    assert ("fitted: 0 of 1" in written) is (panels == 8)


def test_low_panels_leave_their_texts_to_one_legend_that_takes_little_room() -> None:
    figure: Any = draw_accuracy(summarize(crowd(8, "system {}")), 6.3, height=3.4)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert legend.get_window_extent().height < figure.bbox.height / 4
    assert "trained to 8" in [text.get_text() for text in legend.get_texts()]
    assert [plot.get_xlabel() for plot in figure.axes] == ["", "length"]
    assert not any(plot.texts for plot in figure.axes)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_accuracy_lines_are_the_medians(width: float) -> None:
    (plot,) = accuracy(mixed_results(), width).axes
    lines = [line for line in plot.get_lines() if line.get_linewidth() == 2 and line.get_linestyle() != "None"]
    assert {tuple(np.asarray(line.get_xdata())) for line in lines} == {(8, 16, 40)}
    drawn = sorted(tuple(np.asarray(line.get_ydata())) for line in lines)
    assert drawn == [(1.0, 0.45, 0.0), (1.0, 0.95, 0.75)]
    # 40 is less than 6 × 8, and 400 is more.
    assert plot.get_xlabel() == "length"
    assert accuracy(crowd(1), width).axes[0].get_xlabel() == "length, logarithmic axis"


def test_a_crowded_panel_is_split_by_the_tasks_that_names_begin_with() -> None:
    names = [f"task {i % 3}, system {i}" for i in range(9)]
    tasks = [experiment(task=("addition", "copy", "sort")[i % 3]) for i in range(9)]
    made = [SeedResult.of(result(name, config=config)) for name, config in zip(names, tasks, strict=True)]
    found = panels(summarize(made))
    assert [panel.title for panel in found] == ["task 0", "task 1", "task 2"]
    assert [len(panel.cells) for panel in found] == [3, 3, 3]
    assert len(panels(summarize(made[:8]))) == 1
    one_task = [SeedResult.of(result(name)) for name in names]
    assert len(panels(summarize(one_task))) == 1, "what stands before a comma is no task by itself"


def test_hostile_names_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with new_figure(1, 1) as blank:
        blank.text(0.5, 0.5, "x")
    # What it draws and counts of the task of the results has none of the names.
    monkeypatch.setattr(task_section, "draw_dependencies", lambda shown: blank)
    monkeypatch.setattr(task_section, "tested_structure", lambda task, lengths: None)
    page = ResultsPage.of([SeedResult.of(result(name, recipe="names")) for name in HOSTILE])
    html = page.html()
    assert "</title><b>" not in html
    drawn = re.findall(r'<div class="(wide|narrow)">(<svg.*?</svg>)', html, flags=re.DOTALL)
    assert [part for part, _ in drawn] == ["wide", "narrow"]
    for _, svg in drawn:
        ElementTree.fromstring(svg)
    assert problems(drawn[0][1], LEAST[WIDE]) == []
    paths = write_pictures([page.pictures[0], *(Picture(name, blank) for name in HOSTILE)], tmp_path)
    assert len({path.name for path in paths}) == 3 * (1 + len(HOSTILE))
    assert {path.parent for path in paths} == {tmp_path}
    ElementTree.parse(paths[0])
    # Names of recipes are in titles, headings and addresses, and not in the curve.
    monkeypatch.setattr(task_section, "draw_accuracy", lambda systems, width=WIDE: blank)
    assert "</title><b>" not in render([SeedResult.of(result("a", recipe=name)) for name in HOSTILE])


@pytest.mark.parametrize("length", [0, 1])
def test_a_test_at_length_0_is_drawn(length: int) -> None:
    results = [SeedResult.of(result(scores=[score(length, 10), score(100, 10)])),
               SeedResult.of(result("alone", scores=[score(length, 10)], config=experiment("sequential")))]  # fmt: skip
    assert problems(accuracy(results, WIDE).svg(), LEAST[WIDE]) == []
    assert problems(accuracy(results[1:], WIDE).svg(), LEAST[WIDE]) == []
    assert f"length {length}</th>" in render(results)


@pytest.mark.parametrize("task", ["addition", "variable-assignment", "parity", "sort", "copy"])
def test_dependencies_fit(task: str) -> None:
    shown = example(TASKS.build(task), SCHEMES.build("coupled"), 5, 0)
    figure = draw_dependencies(shown)
    assert problems(figure.svg(), LEAST[WIDE]) == []
    written = [text.get_text() for text in figure.axes[0].texts]
    assert written == [token.text.strip("<>") for token in shown.tokens]
    arcs = sum(len(token.parents) for token in shown.scored)
    boxes = len(shown.tokens)
    assert sum(len(plot.patches) for plot in figure.axes) == arcs * len(figure.axes), (arcs, boxes)
    for plot in figure.axes:
        (dashed,) = [text for text in plot.texts if (box := text.get_bbox_patch()) and box.get_linestyle() != "-"]
        (focus,) = [text for text in plot.texts if (box := text.get_bbox_patch()) and box.get_facecolor() == ACCENT]
        assert plot.texts.index(focus) == plot.texts.index(dashed) + 1, "the token before it predicts it"
        away = int(re.findall(r"farthest parent: (\d+) ids? from the predicting token", plot.get_title(loc="left"))[0])
        start = dashed.get_position()[0]
        parents = shown.tokens[plot.texts.index(focus)].parents
        assert away == max(abs(start - plot.texts[parent].get_position()[0]) for parent in parents)
        most = max(shown.reach(token, places=plot is not figure.axes[0]) for token in shown.scored)
        assert away == most or f", {most} of another token" in plot.get_title(loc="left")


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("values", [{}, {"controls": False, "ks": (1, 2, 3, 4)}, {"ks": (4,)}])
def test_influence_figures_fit(width: float, values: dict[str, Any]) -> None:
    read = InfluenceResult.of(influence_result(**values))
    for draw in (draw_scatter, draw_recovered, draw_spans):
        assert problems(draw(read, width).svg(), LEAST[width]) == [], draw


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_masks_fit(width: float) -> None:
    assert problems(draw_masks(width).svg(), LEAST[width]) == []


def test_too_small_cut_and_overlapping_texts_are_found() -> None:
    with new_figure(3, 2) as figure:
        for x, y, size, text in ((0.5, 0.5, 9, "one"), (0.51, 0.5, 9, "two"), (0.9, 0.9, 9, "cut off"), (0, 0, 4, "s")):
            figure.text(x, y, text, fontsize=size)
    assert problems(figure.svg(), 7) == ["'s' has 4.0 points", "'cut off' leaves the figure", "'one' and 'two' overlap"]


def test_files_hold_the_figure_and_repeat(tmp_path: Path) -> None:
    figure = accuracy(mixed_results(), WIDE)
    first = {path.name: path.read_bytes() for path in write_pictures([Picture("a b/c", figure)], tmp_path)}
    assert list(first) == ["a-b-c.svg", "a-b-c.pdf", "a-b-c.png"]
    assert b"var(--" not in first["a-b-c.svg"]
    assert first["a-b-c.pdf"].startswith(b"%PDF")
    assert first["a-b-c.png"].startswith(b"\x89PNG")
    again = write_pictures([Picture("a b/c", accuracy(mixed_results(), WIDE))], tmp_path)
    assert {path.name: path.read_bytes() for path in again} == first


@pytest.mark.parametrize("name", ["variable-assignment", "parity-scratchpad", "influence"])
def test_the_figures_of_committed_results_fit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_section, "tested_structure", lambda task, lengths: None)  # a table, in no figure
    for picture in read_report([results(name)]).pictures:
        assert problems(picture.wide.svg(), LEAST[WIDE]) == [], picture.name
        if picture.narrow is not None:
            assert problems(picture.narrow.svg(), LEAST[NARROW]) == [], picture.name
