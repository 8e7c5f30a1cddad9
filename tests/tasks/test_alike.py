"""A task that is a built-in one with other names of tokens is found, and no other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import pytest

import lengthwise as lw
from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import SPECIALS
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.alike import renamed

SYMBOLS = [*"αβγδεζηθικλμνξοπρστυφχψω"]


def under_other_names(inner: Task) -> Task:
    """A task of a user that asks another one, whose tokens have other names."""
    own = dict(zip(inner.vocab.tokens[len(SPECIALS) :], SYMBOLS, strict=False))
    back = {new: old for old, new in own.items()}

    @lw.config
    class Other(Task):
        summary = "another task with other names"

        @cached_property
        def vocab(self) -> lw.Vocab:
            return lw.Vocab.of(own.values())

        def lengths(self, low: int, high: int) -> list[int]:
            return inner.lengths(low, high)

        def layout(self, length: int, rng: Rng) -> Layout:
            return inner.layout(length, rng)

        def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
            inner.write(seq, layout, rng)

        def answer(self, prompt: Sequence[str]) -> list[str]:
            return [own.get(token, token) for token in inner.answer([back.get(token, token) for token in prompt])]

    Other.__module__ = "mine"
    return Other()


@pytest.mark.parametrize("spec", [
    {"name": "bucket-sort", "letters": 3}, {"name": "bucket-sort"}, "parity",
    {"name": "copy", "letters": 5, "symbols": "repeats"}, {"name": "odds-first", "letters": 5}, "group-words",
])  # fmt: skip
def test_it_is_found_under_other_names(spec: object) -> None:
    inner = TASKS.build(spec)
    if len(inner.vocab) - len(SPECIALS) > len(SYMBOLS):
        pytest.skip("more symbols than names")
    found = renamed(under_other_names(inner))
    assert found is not None
    batch = inner.batch(4, 8, lw.stream(7))
    for row in range(batch.size):
        prompt = batch.text(row)[: batch.prompt_length]
        index = dict(zip(inner.vocab.tokens, found.vocab.tokens, strict=True))
        said = found.solve([index[token] for token in prompt])
        assert said == [index[token] for token in inner.solve(prompt)]


def test_a_built_in_task_is_none_and_one_of_other_answers_is_none() -> None:
    assert renamed(lw.task("addition")) is None
    assert renamed(lw.task("examples/my_task.py:EverySecond")) is None


def test_predict_names_it_with_its_command() -> None:
    found = lw.predict(under_other_names(TASKS.build({"name": "bucket-sort", "letters": 3})), train=8, test=16)
    assert found.same == (
        "bucket-sort (letters 3)", "lengthwise predict bucket-sort --set task.letters=3 --train 8 --test 16"
    )  # fmt: skip
    text = " ".join(found.text().split())
    first = text.index("next See what is known of bucket-sort (letters 3), which has the same answers")
    assert first < text.replace(" \\ ", " ").index(found.same[1])
    assert text.count(" next ") == 1
    assert lw.predict("addition", train=8, test=16).same == ("", "")
