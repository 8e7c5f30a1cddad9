"""Figures of studies draw every number of every row; their texts fit; the same result gives the same bytes."""

import json

import numpy as np
import pytest
from huang_figures import growth_figure, learner_figure, products_figure
from table_parts import results
from text_boxes import problems
from theory_figure import draw_theory


def choice(n, program="accept := Q_a"):
    return {"n": n, "regularizer": 4.0 * n, "errors": n % 2, "program": program}


LEARNER = {
    "study": "idealized-learner",
    "rows": [
        {"target": "majority", "settled_from": 4, "choices": [choice(2), choice(3)]},
        {"target": "parity", "settled_from": None, "choices": [choice(2), choice(4, None)]},
    ],
}
GROWTH = {
    "study": "regularizer-growth",
    "rows": [
        {"network": "D-2", "one_program": True, "R": {"16": 3.0, "32": 3.0}},
        {"network": "parity", "one_program": False, "R": {"16": 3.0, "32": 6.0, "64": 12.0}},
    ],
}
PRODUCTS = {
    "study": "positional-products",
    "rows": [
        {"relation": f"j = i-{step}", "kind": "local", "width": width, "errors": {"50": 9.0, "150": 2.0 * (1 - step)},
         "published": {"50": 1e-9, "150": 3.0 + step}}
        for width in (32, 256) for step in (0, 1)
    ],
}  # fmt: skip
THEORY = {
    "study": "planted-theory",
    "rows": [
        {"figure": "length", "learner": "local", "error": {"10": 0.0, "40": 0.25}, "spread": [[0.0, 0.1], [0.2, 0.3]]},
        {"figure": "k", "k": 2, "trained_on": 100, "error": {"40": 0.5}, "spread": [[0.4, 0.6]]},
        {"figure": "k", "k": 2, "trained_on": 10, "error": {"40": 0.75}, "spread": [[0.7, 0.8]]},
        {"figure": "growth", "k": 3, "error": {"10": 0.01, "40": 0.04}, "heuristic": [0.01, 0.05], "bound": [0.1, 1.0]},
    ],
}


FIGURES = {
    "idealized-learner": learner_figure,
    "regularizer-growth": growth_figure,
    "positional-products": products_figure,
    "planted-theory": draw_theory,
}


def drawn(result):
    return FIGURES[result["study"]](result["rows"])


def curves(plot):
    """The points of every line with a marker or a label, in the order drawn."""
    found = []
    for line in plot.get_lines():
        x, y = (np.asarray(values, dtype=float) for values in (line.get_xdata(), line.get_ydata()))
        if len(x) and (line.get_marker() != "None" or not str(line.get_label()).startswith("_")):
            found.append(list(zip(x.tolist(), y.tolist(), strict=True)))
    return found


def test_the_learner_draws_r_over_n_and_fills_what_makes_no_error():
    (plot,) = drawn(LEARNER).axes
    assert curves(plot) == [[(2, 8), (3, 12)], [(2, 8)], [(3, 12)], [(2, 8), (4, 16)], [(2, 8)], [(4, 16)]]
    filled = [
        line.get_markerfacecolor() == line.get_color() for line in plot.get_lines() if line.get_marker() != "None"
    ]
    assert filled == [True, False, True, False]
    assert [text.get_text() for text in plot.get_legend().get_texts()] == [
        "majority (settled from n = 4)", "parity (never settles)",
    ]  # fmt: skip


def test_growth_draws_r_over_the_context_and_dashes_what_is_no_program():
    (plot,) = drawn(GROWTH).axes
    assert curves(plot) == [[(16, 3), (32, 3)], [(16, 3), (32, 6), (64, 12)]]
    assert [line.get_linestyle() for line in plot.get_lines()] == ["-", "--"]


def test_products_draw_ours_and_the_published_error_of_the_longest_window():
    left, right = drawn(PRODUCTS).axes
    assert [plot.get_title(loc="left") for plot in (left, right)] == ["d = 32", "d = 256"]
    for plot in (left, right):
        # The first relation stands on top; an error of 0 is drawn at the left end.
        assert [curve for curve in curves(plot) if curve[0][0] != curve[-1][0] or len(curve) == 1] == [
            [(1e-6, 0)], [(4, 0)], [(2, 1)], [(3, 1)],
        ]  # fmt: skip
    assert [text.get_text() for text in left.get_yticklabels()] == ["j = i-1 (local)", "j = i-0 (local)"]


def test_theory_draws_each_panel():
    length, k, growth = drawn(THEORY).axes
    assert curves(length) == [[(10, 0), (40, 0.25)]]
    assert curves(k) == [[(10, 0.75), (100, 0.5)]]
    assert curves(growth)[:1] == [[(10, 0.01), (40, 0.04)]]
    assert [list(np.asarray(line.get_ydata())) for line in growth.get_lines()[1:3]] == [[0.01, 0.05], [0.1, 1.0]]


@pytest.mark.parametrize("result", [LEARNER, GROWTH, PRODUCTS, THEORY], ids=lambda result: result["study"])
def test_the_same_result_gives_the_same_bytes_and_texts_fit(result):
    svg = drawn(result).svg()
    assert drawn(result).svg() == svg
    assert problems(svg, 7) == []
    assert "mathdefault" not in svg


@pytest.mark.parametrize("name", ["idealized-learner", "regularizer-growth", "planted-theory", "positional-products"])
def test_the_committed_results_fit(name):
    (path,) = sorted(results(name).glob("*/study.json"))
    assert problems(drawn(json.loads(path.read_text(encoding="utf-8"))).svg(), 7) == []
