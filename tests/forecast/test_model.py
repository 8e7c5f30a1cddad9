"""The shipped coefficients: evaluated without torch, of the signs that were promised, and those of the page."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest

from lengthwise.forecast.features import ADVERSE
from lengthwise.forecast.model import CUTS, FILE, Logistic, forecaster, kinds

STUDY = Path(__file__).parents[2] / "studies" / "forecast"


def test_logistic_is_the_formula():
    model = Logistic(("a", "b"), np.array([2.0, -1.0, 0.5]), np.array([[0.0, 0.0, 0.0], [2.0, -1.0, 0.5]]))
    values = {"a": 1.5, "b": 3.0, "c": 9.0}
    expected = 1 / (1 + math.exp(-(2 * 1.5 - 3.0 + 0.5)))
    assert model.probability(values) == pytest.approx(expected)
    assert model.drawn(values) == pytest.approx([0.5, expected])


@pytest.mark.parametrize("kind", kinds())
def test_weights_have_one_sign(kind: str):
    found = forecaster(kind)
    assert set(found.holds) == set(CUTS)
    for model in (found.fits, *found.holds.values()):
        for weights in (model.weights, *model.draws):
            for name, weight in zip(model.features, weights[:-1], strict=True):
                assert weight <= 0 if name in ADVERSE else weight >= 0, name


def test_a_higher_cut_is_not_likelier_by_much():
    """The two cuts are fitted apart; a forecast for 0.95 above that for 0.7 would be a contradiction."""
    from lengthwise.forecast.predict import predict

    for target in ("(ab)*", "(aa)*", "D-2", "D-12", "(a|b)*abb", "(aa|b)*"):
        strict, loose = predict(target, cut=0.95), predict(target, cut=0.7)
        for one in strict:
            if one.probability is not None:
                assert one.probability <= (loose[one.system].probability or 0) + 0.03


def test_the_page_is_what_the_study_writes():
    spec = importlib.util.spec_from_file_location("forecast_page", STUDY / "page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    report = json.loads((STUDY / "development.json").read_text(encoding="utf-8"))
    assert (STUDY / "README.md").read_text(encoding="utf-8") == module.page(report)
    shipped = json.loads(FILE.read_text(encoding="utf-8"))
    for kind in kinds():
        assert shipped[kind]["fits"]["weights"] == report["models"][kind]["fits"]["weights"]
        assert shipped[kind]["cells"] == report[kind]["cells"]
