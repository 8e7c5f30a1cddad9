"""Figures of studies draw every row, the same bytes for the same result."""

import pytest

from lengthwise.core.errors import UnknownNameError
from lengthwise.report.figures.study_figure import study_figure


def choice(n, program="accept := Q_a"):
    return {"n": n, "regularizer": 4.0 * n, "errors": n % 2, "program": program}


LEARNER = {
    "study": "idealized-learner",
    "rows": [
        {"target": "majority", "settled_from": 4, "choices": [choice(2), choice(3)]},
        {"target": "parity", "settled_from": None, "choices": [choice(2), choice(3, None)]},
    ],
}
GROWTH = {
    "study": "regularizer-growth",
    "rows": [{"network": "D-2", "one_program": True, "R": {"16": 3.0, "32": 3.0}}],
}
PRODUCTS = {
    "study": "positional-products",
    "rows": [
        {"relation": "j = i-1", "kind": "local", "width": width, "errors": {"50": 0.0, "150": 0.0},
         "published": {"50": 1e-9, "150": 3.0}}
        for width in (32, 256)
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("result", "texts"),
    [
        (LEARNER, ["majority (settled from n = 4)", "parity (never settles)"]),
        (GROWTH, ["D-2", "context N"]),
        (PRODUCTS, ["j = i-1 (local)", "d = 32", "d = 256", "published"]),
    ],
)
def test_every_row_is_drawn(result, texts):
    svg = study_figure(result)
    assert svg.startswith("<svg ")
    assert all(text in svg for text in texts)
    assert study_figure(result) == svg


def test_a_study_without_figure_is_an_error():
    with pytest.raises(UnknownNameError, match="unknown figure 'other'"):
        study_figure({"study": "other", "rows": []})
