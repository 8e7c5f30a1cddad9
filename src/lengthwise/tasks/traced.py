"""Traces: before the answer of a task, what a machine that reads its prompt does at each symbol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Literal

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import AtLeast1
from lengthwise.core.errors import reject, require
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, SEP, SPECIALS, Vocab
from lengthwise.languages.machine import Unrolled
from lengthwise.tasks.base import TASKS, AnyTask, Task, body, distinct
from lengthwise.tasks.language import Language
from lengthwise.tasks.parity import Parity
from lengthwise.tasks.recoupled import Around

SAME = "same"
"""What a trace of changes says where the state stays."""


@TASKS.register("traced")
class Traced(Around):
    """``<bos> 1 0 1 1 <sep> o o e o <eos>``: the answer of ``task`` after the states of a machine that reads it.

    The machine is `Task.machine`. A state is named by the answer to a word that ends there if these all differ, else
    ``<q0>``, ``<q1>``, … in the order in which words reach them. Of a language the state is asked for if it has
    ``ask="state"``, else ``yes`` or ``no``. ``trace`` says what is written:

    * ``states``: the state after each symbol but the last, whose place the answer takes;
    * ``signposts``: the same, and every symbol has a token of its own before it, drawn out of ``most``, which the trace
      writes again before the state; so a symbol is found by content (Kraus et al. 2026, arXiv 2604.25800);
    * ``changes``: the old and the new state where it changes, such as ``e>o``, else ``same``; counts tell the state, as
      the one that was entered once more than left (after the same work);
    * ``wrong``: the state after each symbol as if it were the first, which tells nothing of those before;
    * ``none``: the answer alone.

    Symbol i and the state *before* it share a place, as in `parity-scratchpad`. A machine may have at most ``most``
    states, which bounds the length if it counts.
    """

    summary = "a task that writes out the states of a machine that reads its prompt before it answers"
    place_rule = "next"

    task: AnyTask = Parity()
    trace: Literal["states", "signposts", "changes", "wrong", "none"] = "states"
    most: AtLeast1 = 200

    def __post_init__(self) -> None:
        lacks = f"task {self.task.name!r} has no machine that reads its prompt symbol by symbol"
        require(self.task.machine() is not None, f"{lacks}; trace a language, or a task that defines `machine`")
        require(
            self.unrolled.longest != 0, f"most must be at least the number of states after one symbol, got {self.most}"
        )

    @cached_property
    def _language(self) -> Language | None:
        """The task, if it is a language, asked for states or membership."""
        if not isinstance(self.task, Language):
            return None
        return self.task if self.task.ask == "state" else replace(self.task, ask="member")

    @cached_property
    def unrolled(self) -> Unrolled:
        """The machine, state by state."""
        machine = self.task.machine()
        assert machine is not None
        return Unrolled(machine, self.most)

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The tokens of the states, by number."""
        answers, outputs = self.unrolled.answers.tolist(), self.unrolled.outputs
        own = sum(answer >= 0 for answer in answers) == len(outputs)
        return tuple(outputs[a] if own and a >= 0 else f"<q{q}>" for q, a in enumerate(answers))

    def change(self, p: int, q: int) -> str:
        """The token of a change between states that are given by number."""
        return SAME if p == q else f"{self.states[p].strip('<>')}>{self.states[q].strip('<>')}"

    @cached_property
    def vocab(self) -> Vocab:
        """The vocabulary of the task, and behind it what is new in answers, trace and signposts."""
        added = list(self.unrolled.outputs)
        if self.trace == "changes":
            steps = enumerate(self.unrolled.delta.tolist())
            added += [SAME, *(self.change(p, q) for p, row in steps for q in row if q >= 0)]
        elif self.trace != "none":
            added += self.states
        return Vocab(tuple(dict.fromkeys([*self.task.vocab.tokens, *added, *self._signposts])))

    @property
    def _signposts(self) -> list[str]:
        return [f"@{number}" for number in range(self.most)] if self.trace == "signposts" else []

    def max_length(self) -> int | None:
        """Signposts run out, and so do the names of states where a machine counts."""
        limits = [most for most in (self.unrolled.longest, len(self._signposts) or None) if most is not None]
        if not limits:
            return self.task.max_length()
        symbols = self.unrolled.machine.symbols
        return max((n for n in self._lengths(1, min(limits)) if symbols(n) <= min(limits)), default=0)

    def _lengths(self, low: int, high: int) -> list[int]:
        return (self._language or self.task).lengths(low, high)

    def lengths(self, low: int, high: int) -> list[int]:
        top = self.max_length()
        return self._lengths(max(low, 1), high if top is None else min(high, top))

    def chance(self, layout: Layout) -> float:
        """That of the task; of a language, one of the answers."""
        return 1 / len(self.unrolled.outputs) if self._language else self.task.chance(layout)

    @cached_property
    def _entries(self) -> tuple[np.ndarray, np.ndarray]:
        """Token ids of an entry of the trace and of the answer, by state before the symbol and symbol ``[S, A]``."""
        delta, ids = self.unrolled.delta, self.vocab.ids
        answers = np.array([ids[output] for output in self.unrolled.outputs])[self.unrolled.answers[delta]]
        if self.trace == "changes":
            rows = [[ids[self.change(p, q)] if q >= 0 else -1 for q in row] for p, row in enumerate(delta.tolist())]
            return np.array(rows), answers
        if self.trace == "none":
            return answers, answers
        names = np.array([ids[state] for state in self.states])
        return names[self._alone[None].repeat(len(delta), 0) if self.trace == "wrong" else delta], answers

    @cached_property
    def _alone(self) -> np.ndarray:
        """By symbol, the state after it as the first one; after the first state in which it may come."""
        return np.array([column[column >= 0][0] for column in self.unrolled.delta.T])

    @cached_property
    def _known(self) -> dict[int, list[tuple[list[int], bool]]]:
        return {}

    def _parents(self, n: int) -> list[tuple[list[int], bool]]:
        """For each symbol of a prompt of n, on which symbols its entry depends, and whether on the state before."""
        if n not in self._known:
            entry, answer = self._entries
            both = [self.unrolled.depends(entry if i < n - 1 else answer, i) for i in range(n)]
            self._known[n] = [([i] * by_symbol, by_state) for i, (by_symbol, by_state) in enumerate(both)]
            if self.trace in ("wrong", "none"):
                self._known[n][-1] = self.unrolled.deciding(n), False
        return self._known[n]

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Symbol i (from 1) and its signpost have place i, the end mark 1, entry i of the trace i + 1."""
        prompt, unrolled = self._prompts(layout, seq.size, rng), self.unrolled
        n, entries = len(prompt) - 2, self._entries
        number = np.zeros(len(self.vocab), dtype=np.int64)
        number[self.vocab.encode(unrolled.machine.alphabet)] = np.arange(len(unrolled.machine.alphabet))
        read = number[prompt[1:-1]]
        states = unrolled.along(read)
        seq.bos()
        posts, marks = np.empty(0), list[int]()
        if self.trace == "signposts":
            posts = distinct(rng, self.most, n, seq.size).T + self.vocab["@0"]
            both = [(seq.given(posts[i], i + 1), seq.given(prompt[i + 1], i + 1)) for i in range(n)]
            marks, given = [mark for mark, _ in both], [symbol for _, symbol in both]
        else:
            given = seq.givens(prompt[1:-1], place=np.arange(n) + 1)
        seq.given(prompt[-1], place=1)
        place, before = 1, list[np.ndarray | int]()
        for i in range(n - 1 if self.trace == "none" else 0, n):
            if marks:
                seq.predicted(posts[i], place, parents=[marks[i]], answer=False)
            by_symbols, by_state = self._parents(n)[i]
            last, place = i == n - 1, place + 1
            parents = [*(given[at] for at in by_symbols), *before * by_state]
            # A change is looked up among all entries, a state is the one before.
            chosen = range(len(seq) - i, len(seq)) if self.trace == "changes" and by_state else ()
            at = seq.predicted(entries[last][states[i], read[i]], place, parents, chosen, answer=last)
            stays = (states[i] == states[i + 1]) & (self.trace == "changes")
            before = [np.where(stays, before[0] if before else -1, at) if stays.any() else at]
        seq.eos(place=place + 1)

    def _prompts(self, layout: Layout, size: int, rng: Rng) -> np.ndarray:
        """Prompts of the task ``[P, B]``; to the words of a language, an end mark is added."""
        if self._language is None:
            batch = self.task.batch(layout.length, size, rng, layout)
            return np.ascontiguousarray(batch.input_ids[:, : batch.prompt_length].T)
        words = self._language.strings(layout.length, size, rng).T + len(SPECIALS)
        return np.pad(words, ((1, 1), (0, 0)), constant_values=self.vocab[SEP])

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Run the machine symbol by symbol; the answer is that of the task itself."""
        posts = list(prompt[1:-1:2]) if self.trace == "signposts" else []
        wrong = not {*posts} <= {*self._signposts} or len({*posts}) < len(posts) or len(prompt) % 2 == 1
        reject(len(posts) > 0 and wrong, "not a prompt with a signpost before each symbol")
        plain = [*prompt[:1], *prompt[2:-1:2], *prompt[-1:]] if posts else prompt
        answer, machine, passed = self._answer(plain), self.unrolled.machine, [self.unrolled.machine.start]
        for symbol in (word := plain[1:-1]):
            passed.append(machine.step(passed[-1], symbol))
        numbers = [self.unrolled.number.get(state, -1) for state in passed]
        reject(not word or -1 in numbers, "not a prompt that has a trace")
        trace = {
            "changes": [self.change(*pair) for pair in pairwise(numbers)],
            "wrong": [self.states[self._alone[machine.alphabet.index(symbol)]] for symbol in word],
            "none": [],
        }.get(self.trace, [self.states[number] for number in numbers[1:]])
        entries = [*trace[:-1], answer]
        return [*(chain(*zip(posts, entries, strict=True)) if posts else entries), EOS]

    def _answer(self, prompt: Sequence[str]) -> str:
        """The answer of the task itself, which knows nothing of the machine."""
        reject(not set(prompt[1:-1]) <= set(self.unrolled.machine.alphabet), "not a prompt of the task")
        if self._language is None or self._language.ask == "state":
            return self.task.answer(prompt)[0]
        body(prompt, SEP, "a word followed by <sep>")
        return "yes" if self._language.answer(prompt[:-1]) else "no"


@TASKS.register("state-scratchpad")
class StateScratchpad(Task):
    """``<bos> a b a <sep> <q1> <q0> <q1> <eos>``: after ``<sep>`` the state of the minimal automaton after each symbol.

    Length = symbols of the word. It is `Traced` for a language that is asked for states: what the next state depends on
    is always at the current place and the one before, and the place goes up by one per token, so with coupled ids every
    regular language is local. ``<q0>`` is the state of the empty word. Half of the strings are drawn from all of a
    length, half from those that begin a word, where there are any.
    """

    summary = "the states of an automaton after each symbol of a word, one state per step"
    place_rule = "next"

    language: str = "(aa|b)*"
    alphabet: str | None = None

    def __post_init__(self) -> None:
        # The automaton is built now, so that a wrong expression is reported when the task is.
        self.traced  # noqa: B018

    @cached_property
    def traced(self) -> Traced:
        """The same strings as a traced task; `LengthwiseError` for a language without a finite automaton."""
        states = Language(language=self.language, alphabet=self.alphabet, ask="state")
        dfa = states.automaton()
        return Traced(states, most=max(Traced.most, dfa.size if dfa else 0))

    @cached_property
    def vocab(self) -> Vocab:
        return self.traced.vocab

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        self.traced.write(seq, layout, rng)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        return self.traced.answer(prompt)
