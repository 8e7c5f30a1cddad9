"""The automaton that a model runs, by active learning with AALpy, and where longer words contradict it.

The model is asked; hypotheses are refuted by words within the training lengths: all short ones, words of the language
and their edits, hard ones, and those of the W-method, which visit every state of the hypothesis and tell it from all
others.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError, OutOfTimeError
from lengthwise.core.rng import stream
from lengthwise.explanation.model import Subject, WordOracle, edited
from lengthwise.languages.automaton import Dfa, Word, access_words, distinguishing_word, minimize
from lengthwise.languages.hard_words import hard_words
from lengthwise.languages.sampling import all_words, count_words, lengths_with_words, sample_words

MOST_STATES = 60
"""A larger hypothesis is given up: what the model computes is then no small automaton."""
SHORT = 400
"""All words up to a length are asked, while they are at most this many."""
PER_LENGTH = 12
WANTED = 100
"""Words of a length on which an automaton or a program is compared with the model; all, where there are few."""
SHOWN = 5
TOLERANCE = 0.02
MOST_WALKED = 12
"""Hard words are made of automata with at most this many states."""
CHUNK = 400
"""Words that are asked at the same time."""


@config
class Contradiction:
    """Of ``n`` words of a length, how many the model answers otherwise than its own automaton."""

    length: int
    n: int
    wrong: int
    constant: int
    """On how many the best constant answer, to accept or to refuse all, is the model's: what agreement is worth."""
    word: str = ""
    """One on which it answers otherwise."""


@config
class Automaton:
    """What a model accepts, as a minimal automaton, beside the automaton of the task."""

    meaning: str
    alphabet: tuple[str, ...]
    delta: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]
    complete: bool
    """Whether no tested word within training refutes it, and it is the same when shorter words only are asked."""
    learned: tuple[tuple[int, int], ...]
    """The states that were learned from words up to each length; where they grow, no finite automaton is in sight."""
    equal: bool | None
    """Whether it is that of the task; None where the task has none that is known."""
    differing: tuple[tuple[str, bool], ...]
    """The shortest words on which it differs from the task's, and whether the model accepts them."""
    exceptions: tuple[str, ...]
    """The shortest tested words within training on which the model contradicts it."""
    asked: int
    fresh: int
    """Words within training that were not asked before it was learned; where there are none, all that were asked."""
    fidelity: float
    """The share of the fresh words on which automaton and model agree."""
    constant: float
    """The share of them on which the best constant answer is the model's."""
    beyond: tuple[Contradiction, ...]
    train: int

    @property
    def dfa(self) -> Dfa:
        """The automaton."""
        return Dfa(self.alphabet, self.delta, self.accepting)

    @property
    def first_contradiction(self) -> Contradiction | None:
        """The first length beyond training at which the model contradicts its own automaton."""
        return next((row for row in self.beyond if row.wrong), None)

    def __repr__(self) -> str:
        return f"Automaton({self.line})"

    @property
    def line(self) -> str:
        """The automaton in one sentence."""
        states = f"an automaton of {len(self.delta)} state{'s' if len(self.delta) != 1 else ''}"
        if self.equal is not None:
            states += ", the same as the task's" if self.equal else ", not the task's"
        shown = ", ".join(f"{word} ({'accepted' if yes else 'refused'})" for word, yes in self.differing[:3])
        states += f": it differs on {shown}" if shown else ""
        if self.complete and not self.exceptions:
            return states
        grows = ", ".join(f"{count} up to length {length}" for length, count in self.learned)
        but = (
            f"but not exactly (fidelity {self.fidelity:.3f} on {self.fresh} words, of the best constant answer "
            f"{self.constant:.3f}; states that fit the words: {grows})"
        )
        return f"{states}; {but}" + (f"; it is wrong about {self.exceptions[0]}" if self.exceptions else "")


def learn_automaton(
    subject: Subject, oracle: WordOracle, *, seed: int, seconds: float, lengths: Sequence[int]
) -> Automaton:
    """The automaton of what the model accepts, within ``seconds`` of processor time; see `Automaton`.

    Where none is exact, it is the smallest of all hypotheses, and of the task's own, whose fidelity is within
    `TOLERANCE` of the best.
    """
    model = _learn(subject, oracle, oracle.accepts, seed, seconds)
    own = oracle.dfa
    if own is None:
        truth = _learn(subject, oracle, oracle.right, seed, seconds / 4)
        own = truth.hypotheses[-1] if truth.exact else None
    found, complete = model.hypotheses[-1], model.exact
    fresh = _words(subject, oracle, found, subject.train, stream(seed, "explain", "fidelity"))
    says = oracle.accepts(fresh)
    if not complete:
        tried: list[Dfa] = list(dict.fromkeys((*([own] if own else []), *model.hypotheses)))
        shares = {dfa: float((learned_accepts(dfa, fresh) == says).mean()) for dfa in tried}
        close = [dfa for dfa in tried if shares[dfa] >= max(shares.values()) - TOLERANCE]
        found = min(close, key=lambda dfa: (dfa.size, -shares[dfa]))
    agree = learned_accepts(found, fresh) == says
    new = np.array([word not in model.asked for word in fresh], dtype=bool)
    new = new if new.any() else ~new
    beyond = []
    for length in lengths:
        words = words_of_length(oracle, found, length, seed)
        answers = oracle.accepts(words)
        wrong = np.flatnonzero(learned_accepts(found, words) != answers)
        word = oracle.text(words[wrong[0]]) if len(wrong) else ""
        beyond.append(Contradiction(length, len(words), len(wrong), most_common(answers), word))
    exceptions = sorted((fresh[i] for i in np.flatnonzero(~agree)), key=lambda word: (len(word), word))[:SHOWN]
    return Automaton(
        meaning=oracle.meaning, alphabet=found.alphabet, delta=found.delta, accepting=found.accepting,
        complete=complete, learned=model.sizes, equal=None if own is None else own == found,
        differing=() if own is None else tuple((oracle.text(w), yes) for w, yes in differing_words(found, own)),
        exceptions=tuple(map(oracle.text, exceptions)), asked=len(model.asked), fresh=int(new.sum()),
        fidelity=float(agree[new].mean()), constant=most_common(says[new]) / int(new.sum()),
        beyond=tuple(beyond), train=subject.train,
    )  # fmt: skip


def most_common(answers: np.ndarray) -> int:
    """How many words have the more common of the answers yes and no."""
    return max(int(answers.sum()), int((~answers).sum()))


def learned_accepts(dfa: Dfa, words: Sequence[Word]) -> np.ndarray:
    """Whether the automaton accepts each word."""
    return np.array([dfa.accepting[dfa.run(word)] for word in words], dtype=bool)


def product(one: Dfa, other: Dfa, accepts: Callable[[bool, bool], bool]) -> Dfa:
    """The words for which a condition on the answers of two automata holds (not minimal)."""
    size = other.size
    pairs = [(p, q) for p in range(one.size) for q in range(size)]
    rows = tuple(tuple(a * size + b for a, b in zip(one.delta[p], other.delta[q], strict=True)) for p, q in pairs)
    return Dfa(one.alphabet, rows, tuple(accepts(one.accepting[p], other.accepting[q]) for p, q in pairs))


def differing_words(learned: Dfa, own: Dfa) -> list[tuple[Word, bool]]:
    """The shortest words on which two automata differ, with the answer of the first."""
    difference = minimize(product(learned, own, lambda one, other: one != other))
    found: list[tuple[Word, bool]] = []
    for length in range(difference.size + 4):
        if len(found) < SHOWN and 0 < count_words(difference, length) <= 10_000:
            words = [tuple(row) for row in all_words(difference, length).tolist()]
            found += [(word, learned.accepting[learned.run(word)]) for word in words]
    return found[:SHOWN]


def words_of_length(oracle: WordOracle, learned: Dfa | None, length: int, seed: int) -> list[Word]:
    """All words of a length, or about `WANTED` of them, fresh ones for ``seed``.

    Those are instances of the task, words of the automata, hard ones, and their edits.
    """
    symbols, rng = len(oracle.alphabet), stream(seed, "explain", "words of a length", length)
    if symbols**length <= SHORT:
        return list(itertools.product(range(symbols), repeat=length))
    found = oracle.members(length, 2 * PER_LENGTH, rng)
    for dfa in (learned, oracle.dfa):
        if dfa is not None and count_words(dfa, length):
            found += map(tuple, sample_words(dfa, length, PER_LENGTH, rng).tolist())
            found += _hard(dfa, length, PER_LENGTH, rng)
    if learned is None and oracle.dfa is None:
        found += map(tuple, rng.integers(symbols, size=(2 * PER_LENGTH, length)).tolist())
    start = list(dict.fromkeys(found)) or [tuple(rng.integers(symbols, size=length).tolist())]
    words = dict.fromkeys(start)
    for number in range(20 * WANTED):
        if len(words) >= WANTED:
            break
        word = start[number % len(start)]
        for _ in range(1 + number // len(start) % 3):
            word = edited(word, symbols, rng)
        if len(word) == length:
            words[word] = None
    return list(words)


@dataclass(frozen=True)
class _Learned:
    hypotheses: tuple[Dfa, ...]
    """All of them, minimized; the last one is the largest."""
    exact: bool
    sizes: tuple[tuple[int, int], ...]
    asked: set[Word]


def _learn(
    subject: Subject, oracle: WordOracle, ask: Callable[[Sequence[Word]], np.ndarray], seed: int, seconds: float
) -> _Learned:
    """Learn from words up to two thirds of the training lengths, and from all; exact is what is the same."""
    asked, hypotheses, sizes, stands = set[Word](), list[Dfa](), list[tuple[int, int]](), []
    most = dict.fromkeys((max(1, round(subject.train * 2 / 3)), subject.train))
    for length in most:
        found, stood = _learn_up_to(subject, oracle, ask, length, seed, seconds / 2, asked)
        hypotheses += found
        sizes.append((length, found[-1].size))
        stands.append(found[-1] if stood else None)
    exact = stands[-1] is not None and (stands[0] == stands[-1] or stands[-1] == oracle.dfa)
    return _Learned(tuple(hypotheses), exact, tuple(sizes), asked)


def _learn_up_to(
    subject: Subject, oracle: WordOracle, ask: Callable[[Sequence[Word]], np.ndarray], most: int, seed: int,
    seconds: float, asked: set[Word],
) -> tuple[list[Dfa], bool]:  # fmt: skip
    """All hypotheses from words of at most ``most`` symbols, and whether the last one stands."""
    # It takes a fifth of a second to load.
    from aalpy.base import SUL, Oracle
    from aalpy.learning_algs import run_KV

    ends, found, letters = time.process_time() + seconds, list[Dfa](), list(range(len(oracle.alphabet)))
    fixed = _words(subject, oracle, None, most, stream(seed, "explain", "equivalence", most))

    def in_time() -> None:
        if found and time.process_time() > ends:
            raise OutOfTimeError

    class Model(SUL):
        def pre(self) -> None: ...

        def post(self) -> None: ...

        def step(self, letter: Any) -> Any: ...

        def query(self, word: tuple) -> list:
            in_time()
            asked.add(tuple(word))
            return [bool(ask([tuple(word)])[0])]

    class Equivalence(Oracle):
        def find_cex(self, hypothesis: Any) -> Word | None:
            dfa = _dfa(hypothesis, oracle.alphabet)
            found.append(minimize(dfa))
            if dfa.size > MOST_STATES:
                raise OutOfTimeError
            words = [*fixed, *_method_words(dfa, most, stream(seed, "explain", "W", dfa.size))]
            words.sort(key=lambda word: (len(word), word))
            for start in range(0, len(words), CHUNK):
                in_time()
                part = words[start : start + CHUNK]
                asked.update(part)
                wrong = np.flatnonzero(ask(part) != learned_accepts(dfa, part))
                if len(wrong):
                    return part[wrong[0]]
            return None

    model = Model()
    try:
        run_KV(letters, model, Equivalence(letters, model), "dfa", cache_and_non_det_check=False, print_level=0)
    except OutOfTimeError:
        if not found:
            raise
        return found, False
    return found, True


def _dfa(hypothesis: Any, alphabet: Sequence[str]) -> Dfa:
    order = [hypothesis.initial_state, *(s for s in hypothesis.states if s is not hypothesis.initial_state)]
    number = {id(node): index for index, node in enumerate(order)}
    rows = tuple(tuple(number[id(node.transitions[s])] for s in range(len(alphabet))) for node in order)
    return Dfa(tuple(alphabet), rows, tuple(bool(node.is_accepting) for node in order))


def _hard(dfa: Dfa, length: int, count: int, rng: Any) -> list[Word]:
    with suppress(LengthwiseError):
        if dfa.size <= MOST_WALKED:
            return [tuple(row) for row in hard_words(dfa, length, count, rng).tolist()]
    return []


def _words(subject: Subject, oracle: WordOracle, dfa: Dfa | None, most: int, rng: Any) -> list[Word]:
    """Words within training: all short ones, instances of the task with edits, and hard ones."""
    symbols, found, length, total = len(oracle.alphabet), list[Word](), 0, 0
    while length <= most and total + symbols**length <= SHORT:
        found += itertools.product(range(symbols), repeat=length)
        total += symbols**length
        length += 1
    spread = dict.fromkeys(np.linspace(min(length, most), most, 10).round().astype(int).tolist())
    drawn: list[Word] = []
    for n in spread:
        drawn += oracle.members(n, PER_LENGTH, rng)
        for given in (oracle.dfa, dfa):
            if given is not None and lengths_with_words(given, n, n):
                drawn += map(tuple, sample_words(given, n, PER_LENGTH // 2, rng).tolist())
                drawn += _hard(given, n, PER_LENGTH // 2, rng)
    found += drawn
    found += [edited(word, symbols, rng) for word in drawn for _ in range(2)]
    return [word for word in dict.fromkeys(found) if len(word) <= most]


def _method_words(dfa: Dfa, most: int, rng: Any) -> list[Word]:
    """The W-method with at most one further state, and the same after a random walk."""
    access = access_words(dfa)
    tests = {()} | {
        word for p in access for q in access if p < q and (word := distinguishing_word(dfa, p, q)) is not None
    }
    symbols = range(len(dfa.alphabet))
    middles: list[Word] = [(), *((s,) for s in symbols), *itertools.product(symbols, repeat=2)]
    found = [(*start, *middle, *test) for start in access.values() for middle in middles for test in tests]
    if len(found) > 3000:
        found = [found[i] for i in rng.choice(len(found), 3000, replace=False)]
    for start in access.values():
        for test in tests:
            room = most - len(start) - len(test)
            if room > 0:
                walk = tuple(rng.integers(len(dfa.alphabet), size=int(rng.integers(1, room + 1))).tolist())
                found.append((*walk, *start, *test))
    return [word for word in dict.fromkeys(found) if len(word) <= most]
