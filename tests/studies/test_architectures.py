"""The study of architectures: its cells can be built, and what is expected is what `predict` says."""

from __future__ import annotations

import architectures
import pytest

import lengthwise as lw

CONTENT = architectures.design()


@pytest.mark.parametrize("task", ["parity", "copy"])
def test_expected_is_what_theory_says(task: str) -> None:
    found = lw.prediction.predict.predict_task(lw.task(CONTENT["tasks"][task]))
    verdicts = {verdict.system: f"({verdict.answer})" for verdict in (*found.verdicts, *found.models)}
    verdicts["learned"] = verdicts["ape"]
    for model, expected in CONTENT["expected"][task].items():
        if model in verdicts:
            assert verdicts[model] == expected, model


def test_every_cell_is_built_with_the_same_strings_and_no_result_is_needed_to_read_the_table() -> None:
    assert len(list(architectures.cells(CONTENT))) == 170
    made = [
        architectures.experiment(CONTENT, CONTENT["tasks"]["copy"], model, 1e-3).configuration
        for model in ("coupled", "lstm", "mamba+attention@rope")
    ]
    assert len({str(one.training) for one in made}) == 1
    assert all(one.model.layers == 2 and one.evaluation.lengths == (16, 32, 64) for one in made)


def test_the_table_shows_every_seed_of_every_file() -> None:
    found = architectures.results(CONTENT)
    assert len(found) == len(list(architectures.RESULTS.glob("*.json"))) >= 94
    table = architectures.tables()["All seeds"]
    assert table.count("\n") == 1 + len(CONTENT["tasks"])
    shown = sum(cell.split(" (")[0].split() != ["–"] and len(cell.split(" (")[0].split())
                for line in table.splitlines()[2:] for cell in line.strip("|").split("|")[1:])  # fmt: skip
    assert shown == 3 * len(found)


def test_a_seed_holds_up_to_the_first_length_that_fails() -> None:
    for fit, rates, held in ((1.0, (1, 0.96, 0.9), "2"), (1.0, (0.9, 1, 1), "0"), (0.5, (1, 1, 1), "×")):
        seed = {"fit": fit, "rates": dict(zip(("16", "32", "64"), rates, strict=True))}
        assert architectures.reach(CONTENT, seed) == held
