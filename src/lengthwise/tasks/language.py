"""A formal language: which symbols may come next, after every prefix of a word (after Huang et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import config
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, SPECIALS, Vocab
from lengthwise.languages.automaton import Dfa
from lengthwise.languages.construction import language as automaton_of
from lengthwise.languages.counter import COUNTER_LANGUAGES, CounterLanguage
from lengthwise.languages.counting import lengths_with_words
from lengthwise.languages.labels import allowed_next
from lengthwise.languages.named import LANGUAGES
from lengthwise.languages.sampling import sample_words
from lengthwise.tasks.base import TASKS, Task


@TASKS.register("language")
@config
class Language(Task):
    """``<bos> a b a b <eos>`` for (ab)*: after every prefix, the set of symbols and ``<eos>`` that may come next.

    Length = symbols of the word; words of one length are equally likely. ``language`` is a published name (such as
    Tomita-4), a counter language (such as Dyck-1), or else a regular expression, over ``alphabet`` or its own
    symbols. No prefix determines the next token, so there are no parents; what is right is in ``Batch.allowed``.
    """

    summary = "words of a regular or counter language; what may come next?"
    place_rule = "next"
    min_length = 0

    language: str = "(ab)*"
    alphabet: str | None = None

    def __post_init__(self) -> None:
        # A wrong expression should be reported when the task is built, not when the first batch is.
        _ = self._source

    @cached_property
    def _source(self) -> Dfa | CounterLanguage:
        if self.language in COUNTER_LANGUAGES:
            return COUNTER_LANGUAGES[self.language]
        if self.language in LANGUAGES:
            return LANGUAGES[self.language].dfa()
        return automaton_of(self.language, self.alphabet)

    @cached_property
    def vocab(self) -> Vocab:
        """The symbols of the language."""
        return Vocab.of(self._source.alphabet)

    def lengths(self, low: int, high: int) -> list[int]:
        """The lengths that have words."""
        if isinstance(self._source, CounterLanguage):
            return self._source.lengths(low, high)
        return lengths_with_words(self._source, max(low, 0), high)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) has place i + 1: a word has no other places than its order."""
        n, source = layout.length, self._source
        if isinstance(source, CounterLanguage):
            words = source.sample(n, seq.size, rng)
            right = source.allowed_next(words)
        else:
            words = sample_words(source, n, seq.size, rng)
            right = allowed_next(source, words)
        seq.bos()
        for i in range(n):
            seq.predicted(words[:, i] + len(SPECIALS), place=i + 1)
        seq.eos(place=n + 1)
        seq.allow(self._by_token(right))

    def _by_token(self, right: Bool[ndarray, "B N S"]) -> Bool[ndarray, "B T V"]:
        rows, prefixes, _ = right.shape
        # Nothing may follow <eos>.
        allowed = np.zeros((rows, prefixes + 1, len(self.vocab)), dtype=bool)
        allowed[:, :-1, len(SPECIALS) :] = right[:, :, :-1]
        allowed[:, :-1, self.vocab[EOS]] = right[:, :, -1]
        return allowed

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """The tokens that may follow the prefix ``prompt``, in the order of the vocabulary."""
        if not prompt or prompt[0] != BOS or any(self.vocab[symbol] < len(SPECIALS) for symbol in prompt[1:]):
            raise ValueError("not <bos> and symbols")
        word, source = tuple(prompt[1:]), self._source
        if not _may_begin(source, word):
            raise ValueError("no word starts so")
        right = [symbol for symbol in source.alphabet if _may_begin(source, (*word, symbol))]
        return [*([EOS] if source.accepts(word) else []), *right]


def _may_begin(source: Dfa | CounterLanguage, word: tuple[str, ...]) -> bool:
    """Whether some word of the language starts so."""
    if isinstance(source, CounterLanguage):
        state = source.start
        for symbol in word:
            state = source.step(state, symbol)
            if state is None:
                return False
        return True
    return source.live[source.run(source.encode(word))]
