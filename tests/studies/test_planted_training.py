"""The planted check with trained transformers; the whole study is slow."""

from __future__ import annotations

from typing import Literal

import influence_planted as recipe
import numpy as np
import pytest
from influence_planted import PlantedText, PlantedTraining, train_planted

from lengthwise.core.rng import stream
from lengthwise.experiments.events import silent
from lengthwise.influence.measure import Scorer


def losses(text: PlantedText, training: PlantedTraining) -> tuple[float, float]:
    """Mean loss with everything visible and with the recent tokens only."""
    sample = text.sample(200, stream(1, "test"))
    scorer = Scorer(train_planted(text, training, 0), sample.tokens[:, :-1], sample.tokens[:, -1], text.recent)
    return float(scorer.long.mean()), float(scorer.short.mean())


def test_training_learns_the_topic_and_the_masks():
    """One bit of one token: with it the loss falls towards 0, without it the best is ln 2."""
    text = PlantedText(k=1, topics=3, context=10, recent=3)
    training = PlantedTraining(heads=2, width=32, steps=150, batch=32, lr=1e-2)
    long, short = losses(text, training)
    assert long < 0.05
    assert short == pytest.approx(np.log(2), abs=0.05)
    assert losses(text, training) == (long, short)


STEPS = {"sum": 4000, "majority": 1500, "parity": 2000}
"""Training steps, fewer than the recipe's where they suffice: about 8 ms of one core each."""


def by_reader(label: Literal["sum", "majority", "parity"]) -> dict[str, dict]:
    """The rows of one g*, which has to come out as the recipe expects."""
    found = recipe.rows_of(label, STEPS[label], 200, 0, silent)
    assert [row["as_expected"] for row in found] == [True, True]
    return {row["reader"]: row for row in found}


@pytest.mark.slow
def test_greedy_finds_the_tokens_of_a_sum() -> None:
    for row in by_reader("sum").values():
        assert row["found"]["greedy"] >= 0.95
        assert row["R"]["3"] >= 0.95
        assert abs(row["null"]["3"]) <= 0.05
        assert row["found"]["random"] <= 0.05


@pytest.mark.slow
def test_greedy_does_not_need_all_of_a_majority() -> None:
    rows = by_reader("majority")
    for row in rows.values():
        assert row["R"]["2"] >= 0.95
        assert row["found"]["greedy"] < 0.95
    assert rows["exact"]["found"]["greedy"] <= 0.2


@pytest.mark.slow
def test_greedy_fails_on_parity() -> None:
    rows = by_reader("parity")
    assert rows["exact"]["found"]["greedy"] <= 0.2
    assert rows["exact"]["R"]["2"] <= 0.2
    assert rows["trained"]["found"]["greedy"] < 0.95
    assert rows["trained"]["R"]["1"] <= 0.2


@pytest.mark.parametrize(
    ("label", "found", "share", "null", "expected"),
    [
        ("sum", 0.95, 0.95, -0.05, True),
        ("sum", 0.94, 1.0, 0.0, False),
        ("sum", 1.0, 0.94, 0.0, False),
        ("sum", 1.0, 1.0, 0.051, False),
        ("sum", 1.0, None, 0.0, False),
        ("majority", 0.3, 1.0, 0.0, True),
        ("majority", 1.0, 1.0, 0.0, False),
        ("parity", 0.3, 0.2, 0.0, True),
        ("parity", 1.0, 1.0, 0.0, False),
    ],
)
def test_what_counts_as_expected(label, found, share, null, expected):
    assert recipe.as_expected(label, found, share, null) is expected
