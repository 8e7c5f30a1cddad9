"""``may_follow``: what a model of a language says after every prefix of a word, held against what is right."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

import lengthwise as lw
from lengthwise.api.model import Reading, TrainedTransformer
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.vocab import EOS, SEP
from lengthwise.positions.schemes import SCHEMES
from lengthwise.tasks.language import Language

CASES = [("(ab)*", "next"), ("a(a|b)*b", "next"), ("(aa)*b*", "member"), ("(a|b)*aa", "state"), ("Dyck-1", "next")]


class Perfect:
    """In place of a model: it says what `Language.answer` says, but after ``wrong_at`` symbols the opposite."""

    def __init__(self, task: Language, wrong_at: int | None = None) -> None:
        self.experiment, self.wrong_at = (
            SimpleNamespace(task=task, scheme=SCHEMES.build("sequential", max_position=100)),
            wrong_at,
        )

    def parameters(self) -> Any:
        return iter([torch.zeros(1)])

    def __call__(self, tokens: Tensor, ids: Tensor, *, at: Any) -> Any:
        task: Any = self.experiment.task
        text = task.vocab.decode(tokens[0].tolist())
        logits = torch.full((1, len(text), len(task.vocab)), -1.0)
        for end in range(len(text)):
            if text[end] != EOS:
                for token in right(task, text[1 : end + 1]):
                    logits[0, end, task.vocab[token]] = 1.0
            if end == self.wrong_at:
                logits[0, end] *= -1
        return SimpleNamespace(logits=logits[:, at])


def right(task: Language, word: Sequence[str]) -> list[str]:
    """The answer of the task, and nothing where it has none."""
    try:
        return task.answer(["<bos>", *word])
    except ValueError:
        return []


def reading(task: Language, word: str | list[str], wrong_at: int | None = None) -> Reading:
    return TrainedTransformer.may_follow(Perfect(task, wrong_at), word)  # type: ignore[arg-type]


@pytest.mark.parametrize(("language", "ask"), CASES)
def test_a_perfect_model_accepts_the_words_and_no_others(language: str, ask: Any) -> None:
    task = Language(language, ask=ask)
    member = Language(language, ask="member")
    for word in ("".join(letters) for count in range(6) for letters in product("ab", repeat=count)):
        found, is_word = reading(task, word), EOS in member.answer(["<bos>", *word])
        assert found.differs is None
        assert (found.accepts, found.is_word) == ((None, None) if ask == "state" else (is_word, is_word))
        asked = [right(task, word[:end]) for end in range(len(word) + 1)]
        until = asked.index([]) if ask == "next" and [] in asked else len(asked)
        assert [set(now) for now in found.right] == [set(now) for now in asked[:until]]


def test_one_wrong_answer_is_found_where_it_is() -> None:
    task = Language("a(a|b)*b")
    for at in range(5):
        found = reading(task, "aabb", at)
        assert found.differs == at
        assert found.is_word
        assert found.accepts is False
        assert f"after {at} of 4 symbols" in found.finding() or at == 0
        (row,) = [row for row in found.table().rows if row[-1]]
        assert row[0] == at
    assert reading(task, "a" * 60 + "b", 30).table().rows[0][0] == 30


def test_a_word_is_symbols_with_or_without_blanks() -> None:
    task = Language("(ab)*")
    words = ["abab", "a b a b", "ab ab", "<bos> a b a b", ["a", "b", "a", "b"]]
    assert {reading(task, word).word for word in words} == {("a", "b", "a", "b")}
    assert reading(task, "").accepts


def test_what_it_is_not_asked_is_one_clear_line() -> None:
    with pytest.raises(LengthwiseError, match=r"no symbol 'c'; its symbols are a b$"):
        reading(Language("(ab)*"), "a c")
    with pytest.raises(LengthwiseError, match="max_position"):
        reading(Language("(ab)*"), "ab" * 400)
    with pytest.raises(LengthwiseError, match=r"task 'copy' is no language; ask \.generate\(prompt\)"):
        reading(lw.task("copy"), f"a {SEP}")  # type: ignore[arg-type]
    with pytest.raises(LengthwiseError, match=r"a language has no prompts with an answer; ask \.may_follow\(word\)"):
        TrainedTransformer.generate(Perfect(Language("(ab)*")), "a b")  # type: ignore[arg-type]
