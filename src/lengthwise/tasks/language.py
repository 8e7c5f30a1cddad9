"""Tasks on formal languages: membership, next symbols or states of an automaton."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from lengthwise.core.batch import Batch, Layout, SequenceBuilder
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, SPECIALS, Vocab
from lengthwise.languages.automaton import Dfa
from lengthwise.languages.automaton import language as automaton_of
from lengthwise.languages.counter import COUNTER_LANGUAGES, CounterLanguage
from lengthwise.languages.hard_words import Words, hard_words
from lengthwise.languages.named import LANGUAGES
from lengthwise.languages.sampling import all_words, allowed_next, count_words, lengths_with_words, sample_words
from lengthwise.tasks.base import ROWS, TASKS, StringSet, Task, chunks, shares


@TASKS.register("language")
class Language(Task):
    """``<bos> a b a b <eos>`` for (ab)*: after every prefix, the set of symbols and ``<eos>`` that may come next.

    Length = symbols of the word; words of one length are equally likely. ``language`` is a published name (such as
    Tomita-4), a counter language (such as Dyck-1), or else a regular expression, over ``alphabet`` or its own
    symbols. No prefix determines the next token, so there are no parents; ``Batch.allowed`` holds the right tokens.

    With ``ask="member"`` the model says after every prefix whether it is a word: ``<eos>`` is allowed, or nothing.
    Half of the strings are then words and half are not, where a length has both. Non-words are drawn from the live
    prefixes where these exist, so that no dead end gives them away.
    """

    summary = "words of a regular or counter language; what may come next?"
    place_rule = "next"
    min_length = 0

    language: str = "(ab)*"
    alphabet: str | None = None
    ask: Literal["next", "member"] = "next"

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
        return Vocab.of(self._source.alphabet)

    def lengths(self, low: int, high: int) -> list[int]:
        """The lengths that have words (all lengths with ``ask="member"``)."""
        if self.ask == "member":
            return list(range(max(low, 0), high + 1))
        if isinstance(self._source, CounterLanguage):
            return self._source.lengths(low, high)
        return lengths_with_words(self._source, max(low, 0), high)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) has place i + 1: a word has no other places than its order."""
        sample = self._members if self.ask == "next" else self._mixed
        self._write(seq, sample(layout.length, seq.size, rng))

    def _write(self, seq: SequenceBuilder, words: Words) -> None:
        seq.bos()
        for i, symbols in enumerate(np.ascontiguousarray(words.T) + len(SPECIALS)):
            seq.predicted(symbols, place=i + 1)
        seq.eos(place=words.shape[1] + 1)
        source = self._source
        right = source.allowed_next(words) if isinstance(source, CounterLanguage) else allowed_next(source, words)
        if self.ask == "member":
            right[:, :, :-1] = False
        seq.allow(self._by_token(right))

    def _members(self, length: int, size: int, rng: Rng) -> Words:
        source = self._source
        if isinstance(source, CounterLanguage):
            return source.sample(length, size, rng)
        return sample_words(source, length, size, rng)

    def _mixed(self, length: int, size: int, rng: Rng) -> Words:
        """Words and non-words in random order, half of each where both exist."""
        regular = self._regular(length)
        outside = regular.live_nonmembers()
        if isinstance(self._source, CounterLanguage) or not count_words(outside, length):
            outside = regular.complement()
        kinds = [dfa for dfa in (regular, outside) if count_words(dfa, length)]
        chosen = rng.integers(len(kinds), size=size)
        words = np.empty((size, length), dtype=np.int64)
        for kind, dfa in enumerate(kinds):
            rows = np.flatnonzero(chosen == kind)
            words[rows] = sample_words(dfa, length, len(rows), rng)
        return words

    def _regular(self, length: int) -> Dfa:
        """An automaton that is right about the words of one length."""
        source = self._source
        return source.up_to(length) if isinstance(source, CounterLanguage) else source

    def test_strings(self, low: int, high: int, count: int, rng: Rng, *, adversarial: bool = False) -> StringSet:
        """As `Task.test_strings`; each word once if there are at most ``count``; `hard_words` if adversarial.

        Raises `LengthwiseError` if the lengths have no words, or adversarial ones of a counter language are wanted.
        """
        if self.ask == "member":
            return super().test_strings(low, high, count, rng, adversarial=adversarial)
        lengths = self.lengths(low, high)
        if adversarial and lengths:
            source = self._source
            if isinstance(source, CounterLanguage):
                raise LengthwiseError(f"adversarial strings need a regular language, and {source.name} is not regular")
            hard = (hard_words(source, length, number, rng) for length, number in shares(lengths, count))
            return StringSet("adversarial", self.batches_of(hard))
        if 0 < sum(self._count(length) for length in lengths) <= count:
            every = (self._every(length, rng) for length in lengths)
            return StringSet("enumerated", self.batches_of(every))
        return super().test_strings(low, high, count, rng)

    def automaton(self) -> Dfa | None:
        """The minimal automaton; None for a counter language."""
        return self._source if isinstance(self._source, Dfa) else None

    def batches_of(self, parts: Iterable[Words]) -> Iterator[Batch]:
        """Batches of given words of the language: arrays ``[words, length]`` of symbol numbers, one length each."""
        for words in parts:
            start = 0
            for rows in chunks(len(words), ROWS):
                seq = SequenceBuilder(self.vocab, rows, levels=len(self.levels))
                self._write(seq, words[start : start + rows])
                yield seq.build(Layout(words.shape[1]))
                start += rows

    def _count(self, length: int) -> int:
        source = self._source
        return source.count(length) if isinstance(source, CounterLanguage) else count_words(source, length)

    def _every(self, length: int, rng: Rng) -> Words:
        """All words of one length; of a single word a sample is all, which spares an automaton of its prefixes."""
        return self._members(length, 1, rng) if self._count(length) == 1 else all_words(self._regular(length), length)

    def _by_token(self, right: Bool[ndarray, "B N S"]) -> Bool[ndarray, "B T V"]:
        rows, prefixes, _ = right.shape
        # Nothing may follow <eos>.
        allowed = np.zeros((rows, prefixes + 1, len(self.vocab)), dtype=bool)
        allowed[:, :-1, len(SPECIALS) :] = right[:, :, :-1]
        allowed[:, :-1, self.vocab[EOS]] = right[:, :, -1]
        return allowed

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """The tokens that may follow the prefix ``prompt``, in the order of the vocabulary (or `<eos>`, or nothing)."""
        if not prompt or prompt[0] != BOS or any(self.vocab[symbol] < len(SPECIALS) for symbol in prompt[1:]):
            raise ValueError("not <bos> and symbols")
        word, source = tuple(prompt[1:]), self._source
        if self.ask == "next" and not _may_begin(source, word):
            raise ValueError("no word starts so")
        if self.ask == "member":
            return [EOS] if source.accepts(word) else []
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


HUANG: dict[str, dict[str, Any]] = {
    "bin_majority": {"name": "majority", "letters": 2},
    "majority": {"name": "majority"},
    "bin_majority_interleave": {"name": "bin-majority-interleave"},
    "sort": {"name": "sort"},
    "unique_copy": {"name": "copy", "symbols": "distinct"},
    "repeat_copy": {"name": "copy", "symbols": "repeats"},
    "parity": {"name": "parity", "ones": "uniform"},
    "addition": {"name": "binary-addition"},
}
"""Key of the published results to configuration; as names, ``parity`` and ``addition`` are our own formats."""

for _key in ("bin_majority", "bin_majority_interleave", "unique_copy", "repeat_copy"):
    TASKS.alias(_key, HUANG[_key])
