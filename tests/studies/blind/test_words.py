"""The test words: a function of their key, spread over the bin, and pairs that a window cannot tell apart."""

from __future__ import annotations

import numpy as np

from lengthwise.core.rng import stream
from lengthwise.experiments.blind.ladder import adversarial_batches, pair_lengths, spread, uniform_batches
from lengthwise.languages.hard_words import window_pairs
from lengthwise.languages.sampling import allowed_next
from lengthwise.tasks import TASKS
from lengthwise.tasks.language import Language


def test_uniform_words_are_spread_and_repeat() -> None:
    task = Language(language="(a|b)*")
    batches = list(uniform_batches(task, "key", 51, 100, 40))
    assert sum(len(batch.input_ids) for batch in batches) == 40
    lengths = {batch.layout.length for batch in batches}
    assert len(lengths) == 10
    assert {min(lengths), max(lengths)} == {51, 100}
    again = list(uniform_batches(task, "key", 51, 100, 40))
    assert all((one.input_ids == two.input_ids).all() for one, two in zip(batches, again, strict=True))
    other = list(uniform_batches(task, "other", 51, 100, 40))
    assert not all((one.input_ids == two.input_ids).all() for one, two in zip(batches, other, strict=True))
    every = {batch.layout.length for batch in uniform_batches(task, "key", 1, 50, 100, every=True)}
    assert every == set(range(1, 51))


def test_adversarial_words_are_words_in_confusable_pairs() -> None:
    task = Language(language="{0,1,2}*02*")
    dfa = task.automaton()
    assert dfa is not None
    for batch in adversarial_batches(task, "key", 51, 60, 20):
        words = batch.input_ids[:, 1:-1] - batch.input_ids[:, 1:-1].min()
        half = words.shape[1] // 2
        labels = allowed_next(dfa, words)
        for left, right, mine, other in zip(words[::2], words[1::2], labels[::2], labels[1::2], strict=True):
            places = [place for place in range(half, len(left) + 1) if (mine[place] != other[place]).any()]
            assert any((left[place - half : place] == right[place - half : place]).all() for place in places)


def test_where_there_are_no_pairs_there_are_no_words() -> None:
    assert list(adversarial_batches(Language(language="(ab)*"), "key", 51, 60, 20)) == []
    assert list(adversarial_batches(TASKS.build("majority"), "key", 51, 60, 20)) == []
    dfa = Language(language="a*b*").automaton()
    assert dfa is not None
    assert pair_lengths(dfa, [51, 52]) == []


def test_windows_of_pairs_agree_however_they_are_found() -> None:
    """The states that can still reach a word are found backwards; counting words forwards is the oracle."""
    from lengthwise.languages.hard_words import between
    from lengthwise.languages.sampling import count_words

    dfa = Language(language="(a(a|b)b*)*").automaton()
    assert dfa is not None
    pairs = window_pairs(dfa, 4, 9, 50, stream(0, "test"))
    for words in (pairs.left, pairs.right):
        assert dfa.accepts_batch(words).all()
        states = dfa.states_along(words)
        for row, place in zip(states, pairs.positions, strict=True):
            finals = {state for state, flag in enumerate(dfa.accepting) if flag}
            assert count_words(between(dfa, int(row[place]), finals), 9 - int(place)) > 0
    assert np.array_equal(spread([51, 52, 53, 54, 55], 3), [51, 53, 55])
