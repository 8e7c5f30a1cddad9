"""Tasks on formal languages: membership, next symbols or states of an automaton."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from lengthwise.core.batch import Batch, Layout, SequenceBuilder
from lengthwise.core.errors import LengthwiseError, reject
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, SEP, SPECIALS
from lengthwise.languages.automaton import Dfa
from lengthwise.languages.automaton import language as automaton_of
from lengthwise.languages.counter import COUNTER_LANGUAGES, CounterLanguage
from lengthwise.languages.hard_words import Words, half_pairs, hard_words
from lengthwise.languages.machine import Machine
from lengthwise.languages.named import LANGUAGES
from lengthwise.languages.sampling import all_words, allowed_next, count_words, lengths_with_words, sample_words
from lengthwise.tasks.base import ROWS, TASKS, StringSet, Task, chunks, shares

DEAD = "dead"
"""The state of a counter after symbols with which no word begins."""


@TASKS.register("language")
class Language(Task):
    """``<bos> a b a b <eos>`` for (ab)*: after every prefix, the set of symbols and ``<eos>`` that may come next.

    Length = symbols of the word; words of one length are equally likely. ``language`` is a published name (such as
    Tomita-4), a counter language (such as Dyck-1), or else a regular expression, over ``alphabet`` or its own
    symbols. No prefix determines the next token, so there are no parents; ``Batch.allowed`` holds the right tokens.

    With ``ask="member"`` the model says after every prefix whether it is a word: ``<eos>`` is allowed, or nothing.
    Half of the strings are then words and half are not, where a length has both. Non-words are drawn from the live
    prefixes where these exist, so that no dead end gives them away.

    With ``ask="state"`` it names the state of the minimal automaton after every prefix (``<q0>`` is that of the empty
    word) and once more at an end mark: ``<bos> a b a <sep> <eos>``, where ``<eos>`` only ends the sequence. Half of the
    strings are drawn from all of a length, half from those that begin a word, where there are any.
    """

    summary = "words of a regular or counter language; what may come next?"
    place_rule = "next"
    min_length = 0
    tokens = (lambda task: task._source.alphabet, lambda task: task._state_names)

    language: str = "(ab)*"
    alphabet: str | None = None
    ask: Literal["next", "member", "state"] = "next"

    def __post_init__(self) -> None:
        # A wrong expression should be reported when the task is built, not when the first batch is.
        if isinstance(self._source, CounterLanguage) and self.ask == "state":
            raise LengthwiseError(f"{self.language} is not regular and has no finite automaton; ask for next or member")

    @property
    def labels_prefixes(self) -> bool:
        return self.ask != "next"

    @cached_property
    def _source(self) -> Dfa | CounterLanguage:
        if self.language in COUNTER_LANGUAGES:
            return COUNTER_LANGUAGES[self.language]
        if self.language in LANGUAGES:
            return LANGUAGES[self.language].dfa()
        return automaton_of(self.language, self.alphabet)

    @cached_property
    def _state_names(self) -> tuple[str, ...]:
        """The tokens for the states of the automaton; none unless states are asked for."""
        states = self._source.size if isinstance(self._source, Dfa) and self.ask == "state" else 0
        return tuple(f"<q{state}>" for state in range(states))

    def lengths(self, low: int, high: int) -> list[int]:
        """The lengths that have words (all lengths unless next symbols are asked for)."""
        if self.ask != "next":
            return list(range(max(low, 0), high + 1))
        if isinstance(self._source, CounterLanguage):
            return self._source.lengths(low, high)
        return lengths_with_words(self._source, max(low, 0), high)

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 0) has place i + 1: a word has no other places than its order."""
        sample = self._members if self.ask == "next" else self.strings
        self._write(seq, sample(layout.length, seq.size, rng))

    def _write(self, seq: SequenceBuilder, words: Words) -> None:
        seq.bos()
        for i, symbols in enumerate(np.ascontiguousarray(words.T) + len(SPECIALS)):
            seq.predicted(symbols, place=i + 1)
        end = words.shape[1] + 1
        if self.ask == "state":
            seq.predicted(self.vocab[SEP], place=end, answer=False)
            end += 1
        seq.eos(place=end)
        source = self._source
        if self.ask == "state" and isinstance(source, Dfa):
            seq.allow(self._by_state(source.states_along(words)))
            return
        right = source.allowed_next(words) if isinstance(source, CounterLanguage) else allowed_next(source, words)
        if self.ask == "member":
            right[:, :, :-1] = False
        seq.allow(self._by_token(right))

    def _members(self, length: int, size: int, rng: Rng) -> Words:
        source = self._source
        if isinstance(source, CounterLanguage):
            return source.sample(length, size, rng)
        return sample_words(source, length, size, rng)

    def strings(self, length: int, size: int, rng: Rng) -> Words:
        """Words and non-words in random order, half of each where both exist."""
        regular = self._regular(length)
        if self.ask == "state":
            return self._of_kinds(
                [replace(regular, accepting=(True,) * regular.size), replace(regular, accepting=regular.live)],
                length, size, rng,
            )  # fmt: skip
        outside = regular.live_nonmembers()
        if isinstance(self._source, CounterLanguage) or not count_words(outside, length):
            outside = regular.complement()
        return self._of_kinds([regular, outside], length, size, rng)

    def _of_kinds(self, automata: list[Dfa], length: int, size: int, rng: Rng) -> Words:
        """Strings in random order, an equal share from each automaton that accepts any."""
        kinds = [dfa for dfa in automata if count_words(dfa, length)]
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
        if self.ask != "next":
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

    def hard_pairs(self, length: int, size: int, rng: Rng) -> Iterator[Batch] | None:
        """Batches of the `half_pairs` of a length; None where there are none, as of a counter language."""
        words = half_pairs(self._source, length, size, rng) if isinstance(self._source, Dfa) else None
        return None if words is None else self.batches_of([words])

    def automaton(self) -> Dfa | None:
        """The minimal automaton; None for a counter language."""
        return self._source if isinstance(self._source, Dfa) else None

    def machine(self) -> Machine:
        """The automaton or counter, which answers with its state if that is asked for, else with ``yes`` or ``no``."""
        source = self._source
        if isinstance(source, Dfa):
            number = {symbol: index for index, symbol in enumerate(source.alphabet)}
            said = self._state_names or ["yes" if accepts else "no" for accepts in source.accepting]
            return Machine(source.alphabet, 0, lambda state, x: source.delta[state][number[x]], said.__getitem__)

        def step(state: Any, symbol: str) -> Hashable:
            after = None if state == DEAD else source.step(state, symbol)
            return DEAD if after is None else after

        def accepts(state: Any) -> str:
            return "yes" if state != DEAD and source.distance(state) == 0 else "no"

        return Machine(source.alphabet, source.start, step, accepts)

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

    def _by_state(self, states: Int[ndarray, "B N"]) -> Bool[ndarray, "B T V"]:
        """The state after each prefix, and once more at the end mark; nothing may come after ``<eos>``."""
        allowed = np.zeros((len(states), states.shape[1] + 2, len(self.vocab)), dtype=bool)
        named = np.concatenate([states, states[:, -1:]], axis=1) + len(self.vocab) - len(self._state_names)
        np.put_along_axis(allowed[:, :-1], named[:, :, None], True, axis=2)
        return allowed

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """The tokens that are right after ``prompt``, in the order of the vocabulary.

        These are the symbols and ``<eos>`` that may follow, or ``<eos>`` or nothing, or the state, as is asked.
        """
        if self.ask == "state":
            return [self._state_after(prompt)]
        word, source = tuple(prompt[1:]), self._source
        begun = len(prompt) > 0 and prompt[0] == BOS and all(self.vocab[symbol] >= len(SPECIALS) for symbol in word)
        reject(not begun, "not <bos> and symbols")
        reject(self.ask == "next" and not _may_begin(source, word), "no word starts so")
        if self.ask == "member":
            return [EOS] if source.accepts(word) else []
        right = [symbol for symbol in source.alphabet if _may_begin(source, (*word, symbol))]
        return [*([EOS] if source.accepts(word) else []), *right]

    def _state_after(self, prompt: Sequence[str]) -> str:
        """The name of the state after a prefix, with or without the end mark behind it."""
        symbols = list(prompt[1:-1] if len(prompt) > 1 and prompt[-1] == SEP else prompt[1:])
        source = self._source
        if not isinstance(source, Dfa) or not prompt or prompt[0] != BOS or not set(symbols) <= set(source.alphabet):
            raise ValueError("not <bos> and symbols, and perhaps <sep>")
        return self._state_names[source.run(source.encode(symbols))]


def _may_begin(source: Dfa | CounterLanguage, word: tuple[str, ...]) -> bool:
    """Whether some word of the language starts so."""
    if isinstance(source, CounterLanguage):
        return source.run(word) is not None
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


def called(task: Task) -> str:
    """What a task is called: a language by its expression."""
    return task.language if isinstance(task, Language) else task.name
