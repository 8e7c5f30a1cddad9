"""The study of training lengths: its draw, its search, and the coefficients that `explain` reads."""

from __future__ import annotations

import numpy as np
import training_length

import lengthwise as lw

CONTENT = training_length.design()


def test_the_draw_gives_the_languages_of_the_design() -> None:
    names = {f"draw-{number:02d}": entry for number, entry in enumerate(training_length.draw(), start=1)}
    for entry in CONTENT["tasks"]:
        if entry["name"] in names:
            drawn = names.pop(entry["name"])
            assert entry["task"] == {"name": "language", "language": drawn["language"], "alphabet": drawn["alphabet"]}
            assert entry["kind"] == drawn["kind"]
    assert not names
    assert {entry["half"] for entry in CONTENT["tasks"]} == {"fit", "test"}


def test_bounds_of_a_language() -> None:
    """(aa)*: two states; a word tells them apart after at most a step; the monoid has the residues modulo 2."""
    found = training_length.bounds(lw.task({"name": "language", "language": "(aa)*"}))
    assert (found["2 n - 2"], found["characteristic"], found["monoid"]) == (2, 2, 2)
    assert training_length.bounds(lw.task("majority")) == {}


def test_a_length_holds_where_all_seeds_do() -> None:
    def row(trained: int, *beyond: float) -> dict:
        return {"trained": trained, "seeds": [{"beyond": value} for value in beyond]}

    values = {"lengths": [row(6, 1, 0.94), row(10, 0.95, 1)]}
    assert training_length.shortest(CONTENT, values) == 10
    assert training_length.finished(CONTENT, values)
    assert training_length.shortest(CONTENT, {"lengths": values["lengths"][:1]}) is None
    assert not training_length.finished(CONTENT, {"lengths": values["lengths"][:1]})


def test_the_coefficients_of_explain_are_those_of_the_study() -> None:
    rows = lw.core.files.read_json(training_length.FOR_ONE_MODEL)["models"]
    shipped = lw.core.files.read_json(training_length.COEFFICIENTS)
    train = [row for row in rows if row["half"] == "fit"]
    assert not {row["task"] for row in train} & {row["task"] for row in rows if row["half"] == "test"}
    assert np.allclose(shipped["weights"], training_length.fitted(train), atol=1e-4)
    assert shipped["features"] == list(train[0]["features"])
    assert {cell["key"]: cell["half"] for cell in training_length.cells(CONTENT)}.items() >= {
        (row["cell"], row["half"]) for row in rows
    }
