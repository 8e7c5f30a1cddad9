"""Where a model breaks: short failing strings beyond the training lengths, and which head left the parents."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import numpy as np
from numpy import ndarray

from lengthwise.core.batch import Batch, Column
from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng, stream
from lengthwise.core.vocab import EOS, SPECIALS
from lengthwise.explanation.automaton import product
from lengthwise.explanation.heads import Heads, head_name, looks, pattern_mask
from lengthwise.explanation.model import CUT, Subject, edited
from lengthwise.languages.automaton import Dfa, minimize
from lengthwise.languages.hard_words import boundary_words, hard_words, pumped_words
from lengthwise.languages.sampling import count_words, sample_words
from lengthwise.models.generate import END
from lengthwise.tasks.language import Language

SHOWN = 5
LEFT = 0.1
"""A head has left the parents if its attention on them is this much below that at training lengths."""


@config
class Failure:
    """A short string on which the model is wrong."""

    length: int
    kind: str
    """How it was found: among random strings, as an edit, as a word that the model's automaton refuses, …"""
    tokens: tuple[str, ...]
    position: int
    """The first token that is wrong, given the right ones before it (for sets: after which the set is wrong)."""
    expected: str
    got: str
    parents: tuple[int, ...]
    head: str
    """The head whose attention left the parents (without parents: its pattern) the most; empty if none did."""
    attention: tuple[tuple[int, float], ...]
    """The tokens that this head looks at instead, and how much."""
    why: str


@config
class LengthFailures:
    """How many strings of a length were right, of those drawn as in training and of the hard ones."""

    length: int
    random: int
    random_right: int
    hard: int
    hard_right: int


@config
class Moved:
    """Trained strings under the position ids of the first length that breaks: is it the ids, or the length?"""

    length: int
    n: int
    right: int
    moved_right: int
    """How many of them are right under the ids that the longer strings end with."""
    known: int
    """The largest id of training."""
    largest: int

    @property
    def to_blame(self) -> bool:
        """Whether the ids alone make right strings wrong."""
        return self.moved_right < CUT * self.right

    @property
    def line(self) -> str:
        """The answer in one sentence."""
        counts = (
            f"{self.n} strings of length {self.length}: {self.right} right under their own ids, {self.moved_right} "
            f"under ids up to {self.largest}"
        )
        if not self.to_blame:
            return f"it is not the position ids alone ({counts})"
        return f"it is the position ids above {self.known}, which training never showed ({counts})"


@config
class Failures:
    """Shares by length, and the smallest failing strings."""

    rows: tuple[LengthFailures, ...]
    smallest: tuple[Failure, ...]
    moved: Moved | None
    """None where no length breaks, where all its ids were seen, and where the model makes its ids itself."""

    @property
    def line(self) -> str:
        """The first failing length in one sentence."""
        searched = f"lengths {self.rows[0].length} to {self.rows[-1].length}" if self.rows else "no length"
        if not self.smallest:
            return f"no failing string was found beyond training ({searched})"
        first = self.smallest[0]
        return (
            f"beyond training, the shortest failing string found has length {first.length} ({first.kind}): "
            f"{' '.join(first.tokens)}"
        )


def select(batch: Batch, rows: Sequence[int] | ndarray) -> Batch:
    """Some strings of a batch."""
    index = np.asarray(rows)

    def of(positions: Sequence[int | ndarray]) -> tuple[int | ndarray, ...]:
        return tuple(p[index] if isinstance(p, np.ndarray) and p.ndim else p for p in positions)

    columns = tuple(Column(c.scored, c.answer, of(c.parents), of(c.selectors)) for c in batch.columns)
    return dataclasses.replace(
        batch, input_ids=batch.input_ids[index], places=batch.places[index], columns=columns,
        allowed=None if batch.allowed is None else batch.allowed[index], extra={},
    )  # fmt: skip


def hard_strings(
    subject: Subject, length: int, count: int, rng: Rng, learned: Dfa | None
) -> Iterator[tuple[str, Batch]]:
    """Hard strings of a length with how they were made; about ``count`` of each kind."""
    task = subject.task
    if isinstance(task, Language):
        yield from _hard_words(task, length, count, rng, learned)
    else:
        base = task.batch(length, count, rng)
        for kind, change in _CHANGES.items():
            if (batch := _changed(subject, base, change, rng)) is not None:
                yield kind, batch


def _hard_words(task: Language, length: int, count: int, rng: Rng, learned: Dfa | None) -> Iterator[tuple[str, Batch]]:
    own = task.automaton()
    members = [tuple(w) for w in (task.batch(length, count, rng).input_ids[:, 1 : length + 1] - len(SPECIALS)).tolist()]
    near = [w for w in (edited(w, len(task.vocab) - len(SPECIALS), rng) for w in members * 4) if len(w) == length]
    if task.ask == "next":
        # Of an edit only words of the language are strings of the task.
        names = task.vocab.tokens[len(SPECIALS) :]
        good = [w for w in near if EOS in _answer(task, ["<bos>", *(names[s] for s in w)])]
    else:
        good = [w for w in near if own is None or own.live[own.run(w)]]
    found: dict[str, Callable[[], ndarray]] = {"an edit of a right string": lambda: np.array(good)} if good else {}
    if own is not None:
        found["tokens that matter far away"] = lambda: hard_words(own, length, count, rng)
        found["a repeated part"] = lambda: pumped_words(own, length, count, rng)
        found["far from its end"] = lambda: boundary_words(own, length, count, rng)
    if own is not None and learned is not None and learned != own:
        differs = minimize(product(own, learned, lambda right, says: right and not says))
        if count_words(differs, length):
            found["a word that the model's automaton refuses"] = lambda: sample_words(differs, length, count, rng)
    for kind, make in found.items():
        with suppress(LengthwiseError):
            for batch in task.batches_of([make()]):
                yield kind, batch


def _answer(task: Language, prompt: list[str]) -> list[str]:
    try:
        return task.answer(prompt)
    except ValueError:
        return []


def _replace(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
    prompt[rng.choice(free)] = rng.choice(pool)


def _swap(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
    one, other = rng.choice(free, 2)
    prompt[one], prompt[other] = prompt[other], prompt[one]


def _repeat(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
    period = int(rng.integers(1, max(2, len(free) // 2)))
    prompt[free] = np.resize(prompt[free[:period]], len(free))


def _block(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
    """Two runs of one token each."""
    cut = int(rng.integers(len(free) + 1))
    prompt[free[:cut]], prompt[free[cut:]] = rng.choice(pool), rng.choice(pool)


def _reversed(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
    prompt[free] = np.sort(prompt[free])[:: int(rng.choice([1, -1]))]


_CHANGES: dict[str, Callable[[ndarray, ndarray, ndarray, Rng], None]] = {
    "an edit of a right string": _replace,
    "two tokens exchanged": _swap,
    "a repeated part": _repeat,
    "runs of one token": _block,
    "sorted tokens": _reversed,
}


def _changed(subject: Subject, base: Batch, change: Callable[..., None], rng: Rng) -> Batch | None:
    """Strings whose prompts are changed and still instances of the task; None if there are none.

    Only where places don't depend on the tokens, and the answer has as many tokens as before. Parents are kept where
    they are the same for all strings.
    """
    task, end = subject.task, base.prompt_length
    prompt = base.input_ids[:, :end]
    free = np.flatnonzero((prompt != prompt[:1]).any(0))
    contiguous = bool(base.scored[end:].all())
    if not (base.places == base.places[:1]).all() or len(free) < 2 or base.allowed is not None or not contiguous:
        return None
    pool, rows = np.unique(prompt[:, free]), []
    for row in range(base.size):
        new = prompt[row].copy()
        change(new, free, pool, rng)
        with suppress(ValueError, LengthwiseError):
            answer = task.vocab.encode(task.solve(task.vocab.decode(new.tolist())))
            if end + len(answer) == base.tokens:
                rows.append(np.concatenate([new, answer]))
    if not rows:
        return None
    fixed = all(np.ndim(p) == 0 for c in base.columns for p in (*c.parents, *c.selectors))
    columns = base.columns if fixed else tuple(Column(c.scored, c.answer, (), ()) for c in base.columns)
    places = np.repeat(base.places[:1], len(rows), 0)
    return dataclasses.replace(base, input_ids=np.stack(rows), places=places, columns=columns, extra={})


def find_failures(
    subject: Subject, lengths: Sequence[int], heads: Heads | None, learned: Dfa | None, samples: int, seed: int
) -> Failures:
    """The shares of right strings at ``lengths`` and at the first ones beyond training, and small failing strings."""
    near = (n for n in subject.task.lengths(subject.train + 1, subject.train + 40) if not subject.misfit(n))
    searched = sorted({*itertools.islice(near, 4), *(length for length in lengths if length > subject.train)})
    rows, smallest, usual = [], list[Failure](), _Usual(subject, heads, samples, seed)
    for length in searched:
        rng = stream(seed, "explain", "failures", length)
        random = [("found among random strings", subject.task.batch(length, 8, rng)) for _ in range(-(-samples // 8))]
        hard = list(hard_strings(subject, length, max(8, samples // 4), rng, learned))
        counts = []
        for group in (random, hard):
            n = right = 0
            for kind, batch in group:
                good = subject.right(batch).all(axis=1)
                n, right = n + batch.size, right + int(good.sum())
                for row in np.flatnonzero(~good) if len(smallest) < SHOWN else ():
                    found = _replayed(subject, select(batch, [int(row)]), kind, usual)
                    if found is not None and all(found.tokens != known.tokens for known in smallest):
                        smallest.append(found)
            counts += [n, right]
        rows.append(LengthFailures(length, *counts))
    broken = next((row.length for row in rows if row.random_right < CUT * row.random), None)
    moved = None if broken is None else _moved(subject, broken, samples, seed)
    return Failures(tuple(rows), tuple(smallest[:SHOWN]), moved)


def _moved(subject: Subject, broken: int, samples: int, seed: int) -> Moved | None:
    """Trained strings, short ones if these are right, under the ids at the end of strings of length ``broken``."""
    if subject.network.rule is not None or (subject.scheme is not None and subject.scheme.predicted):
        return None
    inside = subject.inside
    known, largest = int(subject.ids_of(inside[-1], 256, training=True).max()), int(subject.ids_of(broken).max())
    for length in dict.fromkeys((inside[len(inside) // 2], inside[-1])) if largest > known else ():
        rng = stream(seed, "explain", "moved", length)
        strings = list(subject.task.test_strings(length, length, samples, rng).batches)
        most = max(int(subject.inputs(batch, rng)[1].max()) for batch in strings)
        both = subject, dataclasses.replace(subject, shift=largest - most)
        right, there = (sum(int(each.right(batch).all(axis=1).sum()) for batch in strings) for each in both)
        n = sum(batch.size for batch in strings)
        if right >= CUT * n:
            return Moved(length, n, right, there, known, largest)
    return None


def _replayed(subject: Subject, one: Batch, kind: str, usual: _Usual) -> Failure | None:
    """The failure of a single string, run again alone; None if it is right then."""
    right = subject.right(one)[0]
    if right.all():
        return None
    at = int(np.flatnonzero(one.scored)[int(right.argmin())])
    logits, names = subject.logits(one)[0, at - 1], one.vocab.tokens
    if one.allowed is None:
        position, expected, got = at, names[one.input_ids[0, at]], names[int(logits.argmax())]
    else:
        position = at - 1

        def words(held: ndarray) -> str:
            return ", ".join(names[n] for n in np.flatnonzero(held) if n >= END) or "nothing"

        expected, got = words(one.allowed[0, position]), words(logits > 0)
    parents = tuple(sorted({int(p) for field in (one.parents, one.selectors) for p in field[0, at] if p >= 0}))
    head, attention, why = usual.blame(one, at - 1, parents)
    return Failure(
        one.layout.length, kind, tuple(one.text(0)), position, expected, got, parents, head, attention, why
    )  # fmt: skip


class _Usual:
    """How much attention every head pays to the parents of a token, or to its pattern, at training lengths."""

    def __init__(self, subject: Subject, heads: Heads | None, samples: int, seed: int) -> None:
        self.subject = subject
        self.patterns = {(h.layer, h.head): h.mask for h in (heads.heads if heads else ()) if h.named}
        if not subject.network.heads:
            return
        batch = subject.task.batch(subject.inside[-1], min(samples, 16), stream(seed, "explain", "usual"))
        self.mass = self._on(batch)

    def _on(self, batch: Batch, query: int | None = None, parents: Sequence[int] = ()) -> dict[tuple[int, int], float]:
        """Attention by head on the parents, or without parents on the tokens of its pattern."""
        look = looks(self.subject, batch)
        size, found = look.tokens.shape[1], {}
        wanted = np.zeros((batch.size, batch.tokens + 1, batch.tokens + 1), dtype=bool)
        for field in (batch.parents, batch.selectors):
            if field.shape[2]:
                # The token at t is predicted at t − 1; parent −1 pads and is the last column.
                np.put_along_axis(wanted[:, : batch.tokens], field, True, axis=2)
        mask = wanted[:, 1 : size + 1, :size]
        for layer, weights in enumerate(look.weights):
            for head in range(weights.shape[1]):
                own = mask
                if not mask.any():
                    if (layer, head) not in self.patterns:
                        continue
                    own = pattern_mask(*self.patterns[layer, head], look.tokens)
                chosen = own[:, look.queries]
                if query is not None:
                    chosen = chosen & (look.queries == query)[:, None]
                some = chosen.any(-1)
                if some.any():
                    found[layer, head] = float((weights[:, head] * chosen).sum(-1)[some].mean())
        return found

    def blame(self, one: Batch, query: int, parents: Sequence[int]) -> tuple[str, tuple[tuple[int, float], ...], str]:
        """The head that looks least where it usually looks, what it looks at, and both in words."""
        if not self.subject.network.heads:
            return "", (), ""
        now = self._on(one, query)
        drops = {key: self.mass[key] - value for key, value in now.items() if key in self.mass}
        if not drops or max(drops.values()) < LEFT:
            return "", (), ""
        layer, head = max(drops, key=lambda key: drops[key])
        look = looks(self.subject, one)
        weights = look.weights[layer][0, head, int(np.flatnonzero(look.queries == query)[0])]
        top = [(int(k), round(float(weights[k]), 4)) for k in np.argsort(-weights)[:5] if weights[k] >= 0.05]
        name = head_name(layer, head, self.subject.network.heads[layer][head])
        what = "the parents" if parents else "its pattern"
        usual, here = self.mass[layer, head], now[layer, head]
        return name, tuple(top), f"{name} has {here:.2f} of its attention on {what}; at training lengths {usual:.2f}"
