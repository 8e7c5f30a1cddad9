"""The study of traces: its cells, what theory expects of them, and when a seed holds."""

from __future__ import annotations

import traces

import lengthwise as lw

CONTENT = traces.design()


def test_every_cell_can_be_trained_and_has_its_expectation() -> None:
    """Its longest test string has as many ids, names and signposts as it needs; the theory is computed for some."""
    found, expected = list(traces.cells(CONTENT)), lw.core.files.read_json(traces.EXPECTED)
    assert [cell["key"] for cell in found] == list(expected)
    for cell in found:
        config = traces.experiment(CONTENT, cell).configuration
        batch = config.task.batch(CONTENT["tested"][-1], 2, lw.stream(0, "test"))
        assert (
            config.scheme.for_evaluation().assign(batch.places, config.task.levels, lw.stream(0, "ids")).shape[2] == 1
        )
    assert expected[found[6]["key"]]["verdict"] == "yes"
    assert expected == {**expected, **traces.expected(found[:1] + found[-1:])}


def test_a_seed_holds_by_odd_and_even_lengths() -> None:
    assert traces.far(CONTENT, {"answer": {"31": 1.0, "32": 0.5}}) == 0.5
