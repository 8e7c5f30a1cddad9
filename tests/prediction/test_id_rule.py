"""The rule for predicted ids is found, is right on new sequences, and its program gives the same ids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import stream
from lengthwise.core.vocab import Vocab
from lengthwise.crasp.interpreter import encode, next_tokens
from lengthwise.crasp.syntax import parse
from lengthwise.prediction.predict import GIVEN, predict_target
from lengthwise.prediction.predicted_ids import UNKNOWN, NextIdRule, id_rule_text, id_rules
from lengthwise.tasks import TASKS

LENGTHS = (5, 10, 20)
NAMES, IDS = ("a", "b", "c"), 3
FORMS = [
    NextIdRule(1, "this"),
    NextIdRule(1, "next"),
    NextIdRule(1, "none"),
    NextIdRule(2, "same id", 1),
    NextIdRule(2, "same id", -1),
    NextIdRule(3, "same token"),
    NextIdRule(3, "same token", 1),
    NextIdRule(3, "token", 0, token=1),
    NextIdRule(3, "token", 1, token=2),
]


@pytest.mark.parametrize(
    ("task", "local", "text"),
    [
        ("addition", True, "the current id plus one"),
        ("sparse-parity", True, "the current id"),
        ("reverse", True, "the id of the token before the first token with the current id"),
        ("copy", False, "the id of the token after the first token with the current id"),
        ("variable-assignment", False, "the id of the earlier token like the current one in slot 1"),
    ],
)
def test_rules_of_known_tasks(task: str, local: bool, text: str) -> None:
    found = id_rules(TASKS.build(task), LENGTHS)
    assert found.found
    assert found.local == local
    assert text in found.texts


def test_a_task_that_sorts_has_none() -> None:
    """The next id is that of the next larger symbol, which no form looks up."""
    found = id_rules(TASKS.build("sort"), LENGTHS)
    assert not found.found
    assert "no rule was found" in found.sentence


def test_a_look_up_reads_farther_in_longer_sequences() -> None:
    spans = id_rules(TASKS.build("variable-assignment"), (5, 20, 60)).span
    assert spans[0] < spans[1] < spans[2]


@dataclass
class Sequences:
    """Random tokens with random ids, as a batch."""

    tokens: np.ndarray
    ids: np.ndarray

    @property
    def batch(self):
        builder = SequenceBuilder(Vocab.of(NAMES), len(self.tokens))
        for column in self.tokens.T:
            builder.given(column + builder.vocab["a"])
        return builder.build(Layout(self.tokens.shape[1]))


@settings(max_examples=25)
@given(st.sampled_from(FORMS), st.integers(0, 10_000), st.integers(2, 7))
def test_the_program_gives_the_id_of_the_rule(rule: NextIdRule, seed: int, length: int) -> None:
    rng = stream(seed, "id rule program")
    drawn = Sequences(rng.integers(len(NAMES), size=(12, length)), rng.integers(IDS, size=(12, length)))
    batch = drawn.batch
    form = (
        rule
        if rule.token is None
        else NextIdRule(rule.cost, rule.kind, rule.offset, token=batch.vocab[NAMES[rule.token]])
    )
    program = parse(id_rule_text(dict.fromkeys(NAMES, rule), NAMES, IDS))
    words = [
        [f"{NAMES[t]}@{v}" for t, v in zip(*row, strict=True)] for row in zip(drawn.tokens, drawn.ids, strict=True)
    ]
    allowed = next_tokens(program, encode(program, words))[:, -1]
    outputs = [program.alphabet.index(f"@{v}") for v in range(IDS)]
    expected = form.predict(batch, drawn.ids[:, :, None], length - 1)
    for row, value in enumerate(expected):
        given_ids = np.flatnonzero(allowed[row, outputs]).tolist()
        if value == UNKNOWN:
            # No match, or matches that disagree.
            assert len(given_ids) != 1
        else:
            assert given_ids == ([value] if value < IDS else [])


def test_the_verdict_on_predicted_ids_is_conditional() -> None:
    by_system = {v.system: v for v in predict_target("variable-assignment").verdicts}
    assert "the model learns which id comes next" in by_system["predictive-coupling"].condition
    assert "slot 1" in by_system["predictive-coupling"].condition
    assert by_system["coupled+learned"].condition == GIVEN
    (argument,) = by_system["predictive-coupling"].arguments
    programs = argument.certificate["id_rule"]["programs"]
    assert len(programs) == 2
    assert all(parse(text).alphabet for text in programs.values())
    assert by_system["ape"].condition == ""
