"""The smallest C-RASP program that agrees with a model, never without its fidelity."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.core.statistics import wilson
from lengthwise.crasp.decide import decide
from lengthwise.crasp.extraction import program_of
from lengthwise.crasp.interpreter import run
from lengthwise.crasp.margin import margin
from lengthwise.crasp.program import Program
from lengthwise.crasp.syntax import to_text
from lengthwise.crasp.synthesis import synthesize
from lengthwise.explanation.automaton import _words, most_common, words_of_length
from lengthwise.explanation.model import Subject, WordOracle
from lengthwise.languages.automaton import Dfa, Word

LARGEST, MOST = 6, 1_000_000
SPACES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (((), ()), ((), (1, 2)), ((2, 3, 4), (1,)))
"""Periods and distances that programs may use: none first."""
ROUNDS = 12
"""Counterexamples are added this many times."""
MOST_COMPARED = 20_000
"""Words on which a program is compared with the model's automaton."""


@config
class Fidelity:
    """On how many of ``n`` words of a length program and model agree."""

    length: int
    n: int
    agree: int
    accepted: int
    """Words that one of the two accepts; where these are few, the others make agreement easy."""
    both: int
    """Words that both accept."""
    constant: int
    """Words on which the best constant answer, to accept or to refuse all, is the model's."""
    every: bool
    """Whether there are no other words of this length."""

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share, as of independent words; the share itself, where these are all."""
        share = self.agree / self.n
        return (share, share) if self.every else wilson(self.agree, self.n)


@config
class ModelProgram:
    """A program that answers as the model does, on the share of words that is given."""

    meaning: str
    text: str
    size: int
    fragment: str
    found: str
    """How it was found: by search, or extracted from the model's automaton."""
    margin: str
    fidelity: tuple[Fidelity, ...]
    train: int

    def total(self, *, inside: bool) -> Fidelity | None:
        """The counts of all training lengths, or of all beyond; None without such lengths."""
        rows = [row for row in self.fidelity if (row.length <= self.train) == inside]
        if not rows:
            return None
        counts = (sum(getattr(row, name) for row in rows) for name in ("n", "agree", "accepted", "both", "constant"))
        return Fidelity(rows[-1].length, *counts, every=all(row.every for row in rows))

    def rate(self, *, inside: bool) -> float | None:
        """The share of held-out words on which it agrees with the model at training lengths, or beyond."""
        total = self.total(inside=inside)
        return None if total is None else total.agree / total.n

    def __repr__(self) -> str:
        return f"ModelProgram({self.line})"

    @property
    def line(self) -> str:
        """The program in one sentence."""
        said = [
            f"{row.agree / row.n:.3f} [{row.interval[0]:.3f}, {row.interval[1]:.3f}] {where} "
            f"({row.agree} of {'all ' if row.every else ''}{row.n} words, {row.both} of {row.accepted} accepted; the "
            f"best constant answer has {row.constant / row.n:.3f})"
            for row, where in ((self.total(inside=True), "inside training"), (self.total(inside=False), "beyond"))
            if row is not None
        ]
        return f"a program of size {self.size} ({self.found}), fidelity {', '.join(said)}"


def learn_program(
    subject: Subject, oracle: WordOracle, learned: Dfa | None, lengths: Sequence[int], *, seed: int, seconds: float
) -> ModelProgram | None:
    """The smallest program that agrees with the model on words within training; None if none was found.

    Where the search finds none that agrees on all words, the program of the model's automaton is taken, if it has one.
    """
    words = [w for w in _words(subject, oracle, learned, subject.train, stream(seed, "explain", "program")) if w]
    short, ends = [w for w in words if len(w) <= 8], time.process_time() + seconds
    best: tuple[float, Program, str] | None = None
    for periods, distances in SPACES:
        known = list(short)
        for _ in range(ROUNDS):
            if time.process_time() > ends:
                break
            labels: dict[Sequence[str], bool] = {
                tuple(oracle.alphabet[s] for s in word): bool(yes)
                for word, yes in zip(known, oracle.accepts(known), strict=True)
            }
            program = synthesize(
                labels, oracle.alphabet, max_size=LARGEST, periods=periods, distances=distances, most=MOST
            ).program
            if program is None:
                break
            if not (wrong := _wrong(program, oracle, words)) and learned is not None:
                # Where program and automaton differ, the model decides.
                words += (suspects := _differing(program, learned))
                wrong = _wrong(program, oracle, suspects)
            share = 1 - len(wrong) / len(words)
            if best is None or share > best[0]:
                best = (share, program, "the smallest found by search")
            if not wrong:
                break
            known += wrong[:20]
        if best is not None and best[0] == 1:
            break
    if (best is None or best[0] < 1) and learned is not None:
        with suppress(LengthwiseError):
            extracted = program_of(decide(learned), "ape", "eos")
            share = 1 - len(_wrong(extracted, oracle, words)) / len(words)
            if best is None or share > best[0]:
                best = (share, extracted, "extracted from the model's automaton")
    if best is None:
        return None
    _, program, found = best
    rows, strings = [], dict[int, list[Word]]()
    for length in lengths:
        drawn = words_of_length(oracle, learned, length, seed)
        every, used = len(drawn) == len(oracle.alphabet) ** length, set(words)
        drawn = drawn if every else [word for word in drawn if word not in used] or drawn
        wrong = set(_wrong(program, oracle, drawn))
        answers = oracle.accepts(drawn)
        says = set(itertools.compress(drawn, answers))
        agree, either, both = len(drawn) - len(wrong), len(says | wrong), len(says - wrong)
        rows.append(Fidelity(length, len(drawn), agree, either, both, most_common(answers), every))
        for word in drawn:  # of tasks whose lengths are not those of words, some are longer
            strings.setdefault(len(word), []).append(word)
    named = {length: np.array(some) for length, some in strings.items()}
    return ModelProgram(
        oracle.meaning, to_text(program), program.size, program.fragment, found, margin(program, named).line,
        tuple(rows), subject.train,
    )  # fmt: skip


def _differing(program: Program, learned: Dfa) -> list[Word]:
    """The first words on which program and automaton differ, among all short ones."""
    symbols, length, total = len(learned.alphabet), 1, 0
    while total + symbols**length <= MOST_COMPARED:
        words = np.array(list(itertools.product(range(symbols), repeat=length)))
        differ = np.flatnonzero(run(program, words) != learned.accepts_batch(words))
        if len(differ):
            return [tuple(word) for word in words[differ[:20]].tolist()]
        total, length = total + len(words), length + 1
        if symbols == 1 and length > 64:
            break
    return []


def _wrong(program: Program, oracle: WordOracle, words: Sequence[Word]) -> list[Word]:
    """The words on which program and model differ, shortest first."""
    by_length: dict[int, list[Word]] = {}
    for word in words:
        by_length.setdefault(len(word), []).append(word)
    wrong: list[Word] = []
    for length, group in sorted(by_length.items()):
        accepted = run(program, np.array(group, dtype=np.int64).reshape(len(group), length))
        wrong += [word for word, differs in zip(group, accepted != oracle.accepts(group), strict=True) if differs]
    return wrong
