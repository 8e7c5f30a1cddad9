"""Test strings by bins: their number, each word once where there are few, hard words, and membership."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.core.vocab import EOS
from lengthwise.languages.hard_words import hard_words
from lengthwise.languages.named import LANGUAGES
from lengthwise.tasks import TASKS
from lengthwise.tasks.base import shares
from lengthwise.tasks.language import HUANG, Language


@given(st.lists(st.integers(0, 300), min_size=1, max_size=60, unique=True), st.integers(0, 500))
def test_shares_differ_by_one_at_most_and_add_up(lengths: list[int], count: int) -> None:
    found = dict(shares(lengths, count))
    assert sum(found.values()) == count
    assert set(found) <= set(lengths)
    numbers = [found.get(length, 0) for length in lengths]
    assert max(numbers) - min(numbers) <= 1


@pytest.mark.parametrize("name", [*HUANG, "Tomita-4", "Dyck-1"])
def test_a_bin_holds_as_many_strings_as_asked_for_and_all_of_its_lengths(name: str) -> None:
    task = TASKS.build(HUANG[name]) if name in HUANG else Language(language=name)
    strings = task.test_strings(51, 60, 83, stream(0, "bin"))
    batches = list(strings.batches)
    assert strings.name == "uniform"
    assert sum(batch.size for batch in batches) == 83
    assert {batch.layout.length for batch in batches} == set(task.lengths(51, 60))


@pytest.mark.parametrize(("name", "low", "high"), [("(aa)*", 101, 150), ("a^nb^n", 51, 100), ("D-2", 4, 12)])
def test_few_words_are_all_there_once(name: str, low: int, high: int) -> None:
    task = Language(language=name)
    strings = task.test_strings(low, high, 2000, stream(0, "few"))
    words = ["".join(batch.text(row)[1:-1]) for batch in strings.batches for row in range(batch.size)]
    assert strings.name == "enumerated"
    assert len(words) == len(set(words))
    if name == "D-2":
        dfa = LANGUAGES[name].dfa()
        every = {"".join(w) for n in range(low, high + 1) for w in product("ab", repeat=n) if dfa.accepts("".join(w))}
        assert set(words) == every
    else:
        assert len(words) == 25


def test_no_strings_at_all_is_an_error() -> None:
    with pytest.raises(LengthwiseError, match="no instances of lengths 5 to 5"):
        Language(language="(aa)*").test_strings(5, 5, 10, stream(0))
    with pytest.raises(LengthwiseError, match="no adversarial strings"):
        TASKS.build("parity").test_strings(5, 9, 10, stream(0), adversarial=True)
    with pytest.raises(LengthwiseError, match="need a regular language"):
        Language(language="Dyck-1").test_strings(4, 8, 10, stream(0), adversarial=True)


@pytest.mark.parametrize("name", ["{0,1,2}*02*", "Tomita-3", "Tomita-5"])
def test_half_of_the_word_does_not_tell_the_answer(name: str) -> None:
    dfa, length = LANGUAGES[name].dfa(), 30
    words = hard_words(dfa, length, 20, stream(0, "hard"))
    assert dfa.accepts_batch(words).all()
    states = dfa.states_along(words)
    labels = [(*(dfa.live[t] for t in dfa.delta[q]), dfa.accepting[q]) for q in range(dfa.size)]
    for left, right in zip(range(0, 20, 2), range(1, 20, 2), strict=True):
        # Some place where both have seen the same last 15 symbols and need different answers.
        assert any(
            (words[left, t - 15 : t] == words[right, t - 15 : t]).all()
            and labels[states[left, t]] != labels[states[right, t]]
            for t in range(15, length + 1)
        )


@pytest.mark.parametrize("name", ["D-4", "(aa)*", "Tomita-4", "a*b"])
def test_hard_words_are_words_where_no_pair_exists(name: str) -> None:
    dfa = Language(language=name)._source
    words = hard_words(dfa, 20, 9, stream(0, "hard"))  # type: ignore[arg-type]
    assert words.shape == (9, 20)
    assert dfa.accepts_batch(words).all()  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["Tomita-5", "(ab)*", "a*"])
def test_states_are_named_after_every_prefix_and_at_the_end_mark(name: str) -> None:
    task = Language(language=name, ask="state")
    dfa = task.automaton()
    assert dfa is not None
    seen = set()
    for length in (0, 6):
        batch = task.batch(length, 64, stream(0, "state", length))
        assert batch.allowed is not None
        for row in range(batch.size):
            text = batch.text(row)
            assert text[-2:] == ["<sep>", EOS]
            for t in range(length + 2):
                (right,) = batch.vocab.decode(np.flatnonzero(batch.allowed[row, t]))
                assert task.answer(text[: t + 1]) == [right]
                assert right == f"<q{dfa.run(dfa.encode(text[1 : 1 + min(t, length)]))}>"
                seen.add(right)
            assert not batch.allowed[row, -1].any()
    assert len(seen) == dfa.size, "dead ends are met, too"
    with pytest.raises(ValueError, match="not <bos> and symbols"):
        task.answer(["a"])
    with pytest.raises(LengthwiseError, match="has no finite automaton"):
        Language(language="Dyck-1", ask="state")


@pytest.mark.parametrize("name", ["Tomita-5", "(ab)*", "Dyck-1", "a*"])
def test_membership_is_asked_after_every_prefix_of_words_and_others(name: str) -> None:
    task = Language(language=name, ask="member")
    source, end = task._source, task.vocab[EOS]
    outcomes = []
    for length in (0, 6):
        batch = task.batch(length, 64, stream(0, "member", length))
        assert batch.allowed is not None
        for row in range(batch.size):
            text = batch.text(row)
            for t in range(length + 1):
                inside = source.accepts(tuple(text[1 : t + 1]))
                assert batch.allowed[row, t].sum() == inside
                assert batch.allowed[row, t, end] == inside
                assert task.answer(text[: t + 1]) == ([EOS] if inside else [])
            outcomes.append(bool(batch.allowed[row, length, end]))
    # Half and half where both exist: 6 symbols of the first three, never of a*.
    longer = np.mean(outcomes[64:])
    assert longer == 1.0 if name == "a*" else 0.2 < longer < 0.8
