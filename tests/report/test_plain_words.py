"""Captions, notes and texts of figures are words: no setting of anything registered is there by its name in code."""

from __future__ import annotations

import copy
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from made_up import experiment, result, score
from matplotlib.figure import Figure

import lengthwise as lw
from lengthwise.core.errors import LengthwiseError
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES
from lengthwise.report.looks import MARKERS
from lengthwise.report.summary import SeedResult, flattened
from lengthwise.report.terminal import accuracy_text
from lengthwise.report.words import setting_text, value_text
from lengthwise.tasks import TASKS

PARTS: dict[str, Any] = {"task": TASKS, "scheme": SCHEMES, "encoding": ENCODINGS}
REGISTERED = [(section, name) for section, registry in PARTS.items() for name in registry]


def of(*made: dict[str, Any]) -> lw.Result:
    return lw.Result([(Path(f"run-{at}"), SeedResult.of(values)) for at, values in enumerate(made)])


def texts(found: lw.Result) -> list[str]:
    table, figure = found.wide(), found.plot()
    every = [(one.caption, *one.answer.values(), *one.legend.values(), *one.notes) for one in (table, found.table())]
    return [*chain(*every), *(line for line in table.advice if "training." not in line), figure.alt]  # type: ignore[union-attr]


@pytest.mark.parametrize(("section", "name"), REGISTERED)
def test_no_text_of_anything_registered_has_a_name_of_code(section: str, name: str) -> None:
    registry = PARTS[section]
    config = copy.deepcopy(experiment())
    config[section] = registry.describe(registry.build(name))
    other = copy.deepcopy(config)
    for key, value in config[section].items():
        if isinstance(value, bool | int | float) and key != "name":
            other[section][key] = value + 1 if not isinstance(value, bool) else not value
    made = [result("a", config=config), result("a", 1, config=other), result("lost", config=config, fitted=False)]
    assert [text for text in texts(of(*made)) if "_" in text] == []


def test_no_setting_of_models_and_training_is_named_as_in_code_and_no_two_share_a_name() -> None:
    for section in ("model", "training", *PARTS):
        keys = [key for key in flattened(experiment()) if key.startswith(f"{section}.")]
        named = [setting_text(key) for key in keys]
        assert len({*named}) == len(keys)
        assert "_" not in "".join(named)
    assert value_text("lsd_first") == "least significant digit first"
    assert value_text("my_task.py:Every_Second") == "my_task.py:Every_Second", "a file keeps its name"


def test_a_finding_has_numbers_of_the_table_and_its_caption_in_latex_one_sentence() -> None:
    found = of(*(result("a", seed, scores=[score(16, 190), score(40, 181 + seed)]) for seed in (0, 1)), result("b"))
    for table in (found.wide(), found.wide(lengths=[16])):
        first = " ".join(table.answer["finding"].split())
        numbers = re.findall(r"\d\.\d{3}(?= at)", first)
        assert {*numbers} <= {cell.partition(" ")[0].strip("*†") for row in found.wide().cells for cell in row}
        (caption,) = re.findall(r"\\caption\{(.*)\}", table.to_latex())
        assert caption == table.printed
        assert f"% {first}" in table.to_latex()
    assert found.plot().alt.startswith(found.wide().answer["finding"].partition(";")[0])  # type: ignore[union-attr]


def test_two_tasks_in_one_figure_have_markers_of_their_own() -> None:
    names = ("coupled+learned", "sequential+rope", "own")
    made = [
        result(f"{task}, {name}", config=experiment(task=task), recipe="matrix", scores=[score(40, 150)])
        for task in ("copy", "reverse")
        for name in names
    ]
    assert len(made) <= len(MARKERS)
    axes: Any = of(*made).plot(Figure().subplots())
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    assert len({line.get_marker() for line in lines}) == len(made)


def test_a_bar_at_a_training_length_is_explained_in_every_figure() -> None:
    longer = copy.deepcopy(experiment())
    longer["training"]["max_length"] = 16
    found = of(result("a"), result("b", config=longer))
    for figure in (found.plot(), found.plot(figsize=(3.3, 2.6)), found.plot(Figure().subplots())):
        own: Any = getattr(figure, "figure", figure)
        legends = [*own.legends, *(ax.get_legend() for ax in own.axes if ax.get_legend())]
        said = [*(ax.get_xlabel() for ax in own.axes), *(text.get_text() for each in legends for text in each.texts)]
        assert any("bar: trained to" in text for text in said)


def test_bars_of_one_length_are_apart_and_none_is_where_the_shade_ends() -> None:
    longer = copy.deepcopy(experiment())
    longer["training"]["max_length"] = 16
    found = of(result("a"), result("b", config=longer), result("c", config=longer))
    for size in ((3.3, 2.4), (10.0, 4.0), (2.2, 1.6)):
        figure: Any = found.plot(figsize=size)
        figure.draw_without_rendering()
        (plot,) = figure.axes
        bars = [line for line in plot.get_lines() if line.get_marker() == "|" and list(line.get_xdata()) == [16]]
        (_, low), (_, high) = (line.get_transform().transform(line.get_xydata())[0] for line in bars)
        size_of_one = bars[0].get_markersize() * figure.dpi / 72
        assert high - low > size_of_one
        assert any("all trained to" in text.get_text() for text in plot.texts)
        assert "bars on the length axis" in figure.alt
    alone: Any = of(result("a"), result("c")).plot()
    assert "bars on" not in alone.alt
    assert any("◂ trained up to 8" in text.get_text() for text in alone.axes[0].texts)


def test_bold_is_the_best_median_that_is_shown_where_most_seeds_fitted() -> None:
    made = [result("a", seed, scores=[score(16, 199)]) for seed in range(3)]
    for lost, bold in ((1, {0, 1}), (2, {0})):
        other = [result("b", seed, scores=[score(16, 199)], fitted=seed >= lost) for seed in range(3)]
        table = of(*made, *other).wide()
        assert {row for row, _ in table.bold} == bold


def test_an_argument_of_another_method_is_said_to_be_there() -> None:
    found = of(result("a"))
    calls = ((lambda: found.wide(caption="x"), "to_latex"), (lambda: found.wide(figsize=(3, 2)), "plot"))  # type: ignore[call-arg]
    for call, owner in calls:
        with pytest.raises(LengthwiseError, match=rf"\.{owner}\("):
            call()
    with pytest.raises(LengthwiseError, match=r"in inches .*from 0\.5 to 40"):
        found.plot(figsize=(84, 60))


def test_a_value_that_many_systems_share_is_that_of_all_others() -> None:
    many = [result(name) for name in "abcd"]
    alt: str = of(*many, result("lost", fitted=False)).plot().alt  # type: ignore[union-attr]
    assert "0 of 1 (lost), 1 of 1 (all others)" in accuracy_text(of(*many, result("lost", fitted=False)).systems)
    assert not [text for text in chain(texts(of(*many)), [alt]) if re.search(r"\d systems\)", text)]
