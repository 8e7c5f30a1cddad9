"""Planted text and its exact reader, against words counted by hand; what the selection rules find with it."""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from influence_planted import NOISE, ExactReader, PlantedText, check_planted, strangers

from lengthwise.core.config import from_fields
from lengthwise.core.errors import LengthwiseError
from lengthwise.influence.models import LanguageModel

LOSSES_ONLY = ("greedy", "one-shot", "surrogate", "random", "last-k")
SMALL = {"context": 20, "recent": 6}


@pytest.mark.parametrize("label", ["sum", "majority", "parity"])
@given(seed=st.integers(0, 1000), k=st.integers(1, 3))
@settings(max_examples=20)
def test_samples_are_what_they_say(label: str, seed: int, k: int):
    """Everything is read off the tokens alone: topics by token range, the label from S* in plain Python."""
    text = PlantedText(label=label, k=k, **SMALL)  # type: ignore[arg-type]
    sample = text.sample(20, np.random.default_rng(seed))
    marks = 2 * (k if label == "sum" else 1)
    for row, relevant, (asked, decoy) in zip(
        sample.tokens.tolist(), sample.relevant.tolist(), sample.topics, strict=True
    ):
        context, target = row[:-1], row[-1]
        assert context[-1] == NOISE + 4 * marks + asked
        assert asked != decoy
        topic_of = [(token - NOISE) // marks if token >= NOISE else None for token in context[:-1]]
        assert [i for i, topic in enumerate(topic_of) if topic == asked] == sorted(relevant)
        assert sum(topic == decoy for topic in topic_of) == k
        assert sum(topic is None for topic in topic_of) == len(context) - 1 - 2 * k
        assert max(relevant) < 20 - 6
        values = [(context[i] - NOISE) % marks for i in relevant]
        if label == "sum":
            assert sorted(v // 2 for v in values) == list(range(k))
            answer = sum((v % 2) << (v // 2) for v in values)
        elif label == "majority":
            answer = int(2 * sum(values) > k)
        else:
            answer = sum(values) % 2
        assert target == NOISE + 4 * marks + 4 + answer
        assert target < text.vocab_size


def test_the_label_uses_every_place_and_topic():
    text = PlantedText(**SMALL)
    sample = text.sample(4000, np.random.default_rng(0))
    assert np.unique(sample.relevant).tolist() == list(range(text.block))
    labels, counts = np.unique(sample.tokens[:, -1], return_counts=True)
    assert len(labels) == 8
    assert counts.min() > 400
    assert len(np.unique(sample.topics, axis=0)) == 12


def test_strangers_have_nothing_on_the_topic():
    topics = PlantedText(**SMALL).sample(200, np.random.default_rng(0)).topics
    others = strangers(topics, np.random.default_rng(1))
    for (asked, _), other in zip(topics, others, strict=True):
        assert asked not in topics[other]


@pytest.mark.parametrize(("label", "k"), [("sum", 2), ("sum", 3), ("majority", 3), ("majority", 2), ("parity", 3)])
def test_the_exact_reader_counts_words(label: str, k: int):
    """For every subset of a word's tokens: of all words (in every order) that show just these, the label's share."""
    text = PlantedText(label=label, k=k, **SMALL)  # type: ignore[arg-type]
    reader = ExactReader(text)
    assert isinstance(reader, LanguageModel)

    def label_of(word: tuple[int, ...]) -> int:
        if label == "sum":
            return sum((v % 2) << (v // 2) for v in word)
        return int(2 * sum(word) > k) if label == "majority" else sum(word) % 2

    if label == "sum":
        words = [tuple(2 * i + b for i, b in zip(o, bits, strict=True))
                 for o in permutations(range(k)) for bits in product((0, 1), repeat=k)]  # fmt: skip
    else:
        words = list(product((0, 1), repeat=k))
    topic = 2
    for word in words:
        for size in range(k + 1):
            for shown in combinations(range(k), size):
                visible = [word[i] for i in shown]
                same = [w for w in words for places in combinations(range(k), size)
                        if [w[i] for i in places] == visible]  # fmt: skip
                share = sum(label_of(w) == label_of(word) for w in same) / len(same)
                # One more token of noise and one of another topic, which say nothing.
                tokens = [1, *(NOISE + topic * text.marks + v for v in visible), NOISE, text.queries + topic]
                target = text.queries + text.topics + label_of(word)
                found = reader.target_losses(np.array([tokens]), np.arange(len(tokens))[None], np.array([target]))
                assert found[0] == pytest.approx(-log(share))


def test_impossible_labels_stay_finite():
    text = PlantedText(label="parity", k=1, **SMALL)
    tokens = np.array([[NOISE + 1, text.queries]])
    target = np.array([text.queries + text.topics])
    assert ExactReader(text).target_losses(tokens, np.array([[0, 19]]), target)[0] == pytest.approx(-log(1e-9))


def test_greedy_finds_a_sum_exactly():
    text = PlantedText(**SMALL)
    found = check_planted(text, ExactReader(text), targets=40, seed=0, rules=LOSSES_ONLY)
    assert found["long"] == 0
    assert found["short"] == pytest.approx(3 * log(2))
    assert {name: found["found"][name] for name in ("greedy", "one-shot", "surrogate")} == {
        "greedy": 1.0, "one-shot": 1.0, "surrogate": 1.0,
    }  # fmt: skip
    assert found["found"]["random"] < 0.2
    shares = [row["recovered"] for row in found["recovered"]["greedy"].values()]
    assert shares == pytest.approx([1 / 3, 2 / 3, 1, 1])
    assert [row["recovered"] for row in found["null"].values()] == pytest.approx([0] * 4)
    assert found["recovered"]["random"]["3"]["recovered"] < 0.5


def test_a_majority_is_settled_by_two_of_three():
    text = PlantedText(label="majority", **SMALL)
    found = check_planted(text, ExactReader(text), targets=40, seed=0, rules=LOSSES_ONLY)
    assert found["recovered"]["greedy"]["2"]["recovered"] == pytest.approx(1)
    assert found["recovered"]["greedy"]["1"]["recovered"] == pytest.approx(1 + log(0.75) / log(2))
    assert found["found"]["greedy"] < 0.5


@pytest.mark.parametrize("k", [2, 3])
def test_greedy_is_blind_to_a_parity_and_random_masks_are_less_so(k: int):
    text = PlantedText(label="parity", k=k, **SMALL)
    found = check_planted(text, ExactReader(text), targets=40, seed=0, rules=LOSSES_ONLY)
    assert found["short"] == pytest.approx(log(2))
    assert found["recovered"]["greedy"]["1"]["recovered"] == pytest.approx(0)
    assert found["recovered"]["greedy"][str(k)]["recovered"] < 0.5
    assert found["found"]["greedy"] < 0.5
    assert found["found"]["surrogate"] > found["found"]["greedy"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"topics": 2}, "topics must be at least 3"),
        ({"recent": 27}, "block of 2k = 6"),
        ({"recent": 0}, "recent"),
    ],
    ids=str,
)
def test_texts_without_room(fields: dict, message: str):
    with pytest.raises(LengthwiseError, match=message):
        from_fields(PlantedText, fields, where="planted text")


def test_rules_that_need_weights_say_so():
    text = PlantedText(**SMALL)
    for name in ("attention", "gradient-input"):
        with pytest.raises(LengthwiseError, match=f"leave out rule {name}"):
            check_planted(text, ExactReader(text), targets=2, seed=0, rules=("greedy", name))
