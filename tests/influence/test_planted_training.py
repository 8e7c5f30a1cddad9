"""The planted check with trained transformers; the whole study is slow."""

from __future__ import annotations

import numpy as np
import pytest

from lengthwise.core.rng import stream
from lengthwise.experiments.recipes import influence_planted as recipe
from lengthwise.influence.measure.planted_check import PlantedTraining, train_planted
from lengthwise.influence.measure.scorer import Scorer
from lengthwise.influence.text.planted_text import PlantedText


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


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, str], dict]:
    result = recipe.influence_planted("quick", 0, lambda what, done, total: None)
    return {(row["label"], row["reader"]): row for row in result["rows"]}


@pytest.mark.slow
def test_greedy_finds_the_tokens_of_a_sum(rows):
    for reader in ("exact", "trained"):
        row = rows["sum", reader]
        assert row["found"]["greedy"] >= 0.95
        assert row["R"]["3"] >= 0.95
        assert abs(row["null"]["3"]) <= 0.05
        assert row["found"]["random"] <= 0.05


@pytest.mark.slow
def test_greedy_fails_on_parity_and_does_not_need_all_of_a_majority(rows):
    assert rows["parity", "exact"]["found"]["greedy"] <= 0.2
    assert rows["parity", "exact"]["R"]["2"] <= 0.2
    assert rows["parity", "trained"]["found"]["greedy"] < 0.95
    assert rows["parity", "trained"]["R"]["1"] <= 0.2
    for reader in ("exact", "trained"):
        assert rows["majority", reader]["R"]["2"] >= 0.95
        assert rows["majority", reader]["found"]["greedy"] < 0.95
    assert rows["majority", "exact"]["found"]["greedy"] <= 0.2


@pytest.mark.slow
def test_every_row_is_as_expected(rows):
    assert {key: row["as_expected"] for key, row in rows.items()} == dict.fromkeys(rows, True)


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
