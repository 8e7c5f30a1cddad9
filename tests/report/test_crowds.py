"""Figures of many systems: what is gray, that the legend is right of all that it counts, and that a seed is seen."""

from __future__ import annotations

import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from made_up import result, score
from matplotlib.figure import Figure

import lengthwise as lw
from lengthwise.report.crowds import MOST_COLOURED, told_apart
from lengthwise.report.looks import Gray
from lengthwise.report.summary import MOST_DRAWN, SeedResult, SystemSummary, in_order, panels

FOLDERS = sorted({path.parent.parent for path in Path("studies").glob("*/results/*/*/result.json")})


@cache
def crowds() -> list[list[SystemSummary]]:
    """The systems of each task of all committed results of which so many fitted that some are gray."""
    found = list[list[SystemSummary]]()
    for folder in FOLDERS:
        systems = lw.results(folder).systems
        for contest in dict.fromkeys(one.contest for one in systems):
            mine = in_order([one for one in systems if one.contest == contest])
            found += [mine] * (sum(bool(one.cells) for one in mine) > MOST_COLOURED)
    return found


def test_a_legend_is_true_of_every_gray_system_and_the_best_are_in_colour() -> None:
    assert len(crowds()) > 5
    for systems in crowds():
        drawn, shared = told_apart(panels(systems), systems, "exact_match")
        coloured = {at for panel in drawn for at in panel.cells} - shared.keys()
        assert shared
        assert len(coloured) <= MOST_COLOURED
        assert min(coloured) == min(at for at, one in enumerate(systems) if one.cells)
        for panel in drawn:
            looks = {at: panel.looks[at] for at in panel.cells}
            assert {at for at, look in looks.items() if isinstance(look, Gray)} == shared.keys() & looks.keys()
            own = [look.colour for at, look in looks.items() if at in coloured]
            assert len({*own}) == len(own), "every system in colour has one of its own"
        for at, says in shared.items():
            assert int(says.partition(" ")[0]) == [*shared.values()].count(says) > 1
            rates = [(cell.length, score.rate()) for cell in systems[at].cells for score in cell.scores]
            end = {cell.estimate().median for cell in systems[at].cells if cell.length == max(rates)[0]}  # type: ignore[union-attr]
            if start := re.search(r"0\.00 from (\d+) on", says):
                assert all(rate < 0.005 for length, rate in rates if length >= int(start[1]))
            elif "every length" in says:
                assert all(rate >= 0.95 for _, rate in rates)
            else:
                low, *high = map(float, re.findall(r"\d\.\d\d", says))
                assert low - 0.006 <= min(end) <= max(end) <= (high or [low])[0] + 0.006


@pytest.mark.parametrize("size", [(3.3, 2.4), None])
def test_all_systems_are_named_in_the_legend_or_the_text(size: tuple[float, float] | None) -> None:
    found = lw.results("studies/methods/results/method-matrix").only("reverse")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures: list[Any] = [found.plot(figsize=size), found.plot(Figure().subplots())]
    for figure in figures:
        axes: Any = figure.axes[0] if hasattr(figure, "savefig") else figure
        legend = [text.get_text() for of in (axes.get_legend(), *axes.figure.legends) if of for text in of.get_texts()]
        ends = " ".join(text.get_text() for text in axes.texts)
        for one in in_order(found.systems):
            assert one.label in figure.alt + " ".join(legend) + ends
        others = [text for text in legend if "others" in text]
        assert others == (["11 others, 0.00 from 24 on"] if legend else [])
        assert figure.alt.count("gray: ") == 1


def _seeds(name: str, ends: list[int]) -> list[dict[str, Any]]:
    return [result(name, seed, scores=[score(8, 200), score(16, n), score(40, n)]) for seed, n in enumerate(ends)]


@pytest.mark.parametrize("on_axes", [False, True])
def test_a_seed_that_falls_is_over_all_medians_but_the_best_and_marked_beside_others(on_axes: bool) -> None:
    """Also where the lines of ten other systems, and the falling seed of another, are where it is."""
    made = [*_seeds("a", [200, 200, 0]), *_seeds("b", [199, 199, 0])]
    made += [one for at in range(MOST_DRAWN - 2) for one in _seeds(f"low {at}", [0, 0, 0])]
    found = lw.Result([(Path(str(at)), SeedResult.of(one)) for at, one in enumerate(made)])
    figure: Any = Figure(figsize=(3.3, 2.4)) if on_axes else found.plot(figsize=(3.3, 2.4))
    axes: Any = found.plot(figure.subplots()) if on_axes else figure.axes[0]
    figure.draw_without_rendering()
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) == 3]
    seeds = [line for line in lines if line.get_marker() == "None" and list(line.get_ydata()) == [1, 0, 0]]
    falls = sorted(seeds, key=lambda line: line.get_zorder())[-2:]
    over = [line for line in lines if line.get_zorder() >= falls[0].get_zorder() and line not in falls]
    assert {line.get_color() for line in over} == {line.get_color() for line in falls}, "the best, and gaps over it"
    assert len({line.get_color() for line in falls}) == 2
    marks = [line for line in axes.get_lines() if list(line.get_xdata()) == [40] and line.get_marker() != "|"]
    assert [line.get_color() for line in marks] == [line.get_color() for line in falls]
    (_, low), (_, high) = (line.get_transform().transform(line.get_xydata())[0] for line in marks)
    assert high - low > marks[0].get_markersize() * figure.dpi / 72
    assert min(line.get_zorder() for line in marks) > falls[0].get_zorder()


def test_two_panels_of_a_low_figure_stand_side_by_side() -> None:
    figure: Any = lw.results("studies/golowich/results/golowich-ablations").plot(figsize=(3.3, 2.4))
    figure.draw_without_rendering()
    left, right = (axes.get_window_extent() for axes in figure.axes)
    assert left.x1 < right.x0
    assert min(left.height, right.height) > figure.bbox.height / 3


def test_gray_names_have_no_line_to_their_ends() -> None:
    figure = lw.results("studies/methods/results/method-matrix").only("copy of distinct").plot()
    assert isinstance(figure, Figure)
    (plot,) = figure.axes
    lines = [text for text in plot.texts if getattr(text, "arrow_patch", None)]
    assert 0 < len(lines) <= MOST_COLOURED < len(plot.texts) - len(lines)
