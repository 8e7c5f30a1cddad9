"""The first wrong token of failing strings: what the model does there, and what stands at or before it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.config import config
from lengthwise.core.rng import stream
from lengthwise.core.vocab import EOS
from lengthwise.explanation.model import Subject
from lengthwise.tasks import Task
from lengthwise.tasks.kinds import select
from lengthwise.tasks.values import column_of

MATCHED, MOST_MATCHED = 8, 4096
"""For a failing string, so many right ones of its length give a token each to compare with; and of all together."""
LONGEST, ENDS = 272, 12
"""Where a string has more letters than this up to its wrong token, it is shown as so many tokens at its ends."""
COLUMNS = 66
"""Most letters of a line of `Failure.rows`."""
BEGIN = 2
"""First columns of a longer one that are shown."""
HARD = "\u00a0"
"""A blank at which no line ends."""
FEW_SOURCES = 3
"""Tokens that a token of the answer follows from are named if they are no more."""
PLACE = " at "
"""What stands before the place of a mistake."""
STOPS = "stops early"
"""What an answer does that ends before its end."""
ALIKE = 0.9
"""Of failing strings share a mistake, at least."""


class Wrong(NamedTuple):
    """The first wrong token of a failing string of a task with answers."""

    batch: Batch
    row: int
    at: int
    got: int
    """The token that the model says there, after the right ones before it."""

    @property
    def ways(self) -> list[str]:
        """What the model does there, the most specific words first and the most general last."""
        names, ids = self.batch.vocab.tokens, self.batch.input_ids[self.row].tolist()
        due, got, unit = names[ids[self.at]], names[self.got], self.batch.unit
        if got == EOS:
            left = sum(names[token] != EOS for token in ids[self.at :])
            early = f"stops {'one' if left == 1 else left} {unit}{'s' * (left > 1)} early"
            return [f"{early}, where {due} is due", early, f"{STOPS}, where {due} is due", STOPS]
        if due == EOS:
            return [f"writes {got} where the answer ends", "goes on where the answer ends"]
        digits = sum(name.isdigit() for name in names)
        either = "a digit one too large or one too small"
        near = {1: ["a digit one too large", either], digits - 1: ["a digit one too small", either]}
        numbers = unit == "digit" and digits > 3 and got.isdigit() and due.isdigit()
        off = near.get((int(got) - int(due)) % digits, []) if numbers else []
        says = (f"{got} instead of {due}", *off, f"a wrong {unit}")
        end, start = places_of(self.batch, self.row, self.at)
        ordered = (end, start) if end.startswith("the ") else (start, end)
        if sum(names[token] != EOS for token in ids[self.batch.prompt_length :]) == 1:
            ordered = ()  # The answer has one place.
        places = [*(f"{PLACE}{place} of the answer" for place in ordered), ""]
        return [f"writes {what}{place}" for what in says for place in places]

    @property
    def manner(self) -> str:
        """Of these words those that tell a digit one too large from one too small, and else the most general."""
        plain = [way for way in self.ways if PLACE not in way]
        return plain[1] if plain[-1].startswith("writes") and len(plain) > 2 else plain[-1]


def first_wrong(subject: Subject, batch: Batch, good: ndarray) -> list[Wrong]:
    """The first wrong tokens of failing rows; none of a task of sets."""
    rows = np.flatnonzero(~good)
    if batch.allowed is not None or not len(rows):
        return []
    some = select(batch, rows)
    logits = subject.logits(some)
    at = np.flatnonzero(some.scored)[subject.right_and_finite(some, logits)[0].argmin(axis=1)]
    got = logits[np.arange(len(rows)), at - 1].argmax(-1)
    found = zip(rows.tolist(), at.tolist(), got.tolist(), strict=True)
    return [Wrong(batch, *each) for each in found if each[2] != batch.input_ids[each[0], each[1]]]


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
    sets: bool = False
    """Whether right is a set of tokens that may come next, and no answer."""
    places: tuple[int, ...] = ()
    """The place of each token, where it has one of one level."""

    @property
    def marked(self) -> str:
        """The wrong token with the right one."""
        return f"[says {self.got}; right: {self.expected}]"

    @property
    def before(self) -> tuple[str, ...]:
        """The tokens before the wrong one."""
        return self.tokens[: self.position + self.sets]

    @property
    def whole(self) -> str:
        """The string up to the wrong token, which is marked."""
        return " ".join([*self.before, self.marked])

    @property
    def shown(self) -> str:
        """The string up to the wrong token, or the ends of a very long one, and the mark, which breaks nowhere."""
        whole = len(" ".join(self.before)) <= LONGEST
        before = self.before if whole else (*self.before[:ENDS], "…", *self.before[-ENDS:])
        return " ".join([*before, self.marked.replace(" ", HARD)])

    @property
    def rows(self) -> list[str]:
        """The same with tokens that share a place below one another, in lines of hard blanks; or `shown` alone.

        Each part of the string has its tokens at the same places, one on from the other, behind one of no such place.
        Of a long string the first columns and those around the wrong token are shown.
        """
        at, ids = self.position, self.places
        starts = [0, *(n for n in range(1, at) if ids and ids[n] < ids[n - 1])]
        runs = [range(*each) for each in itertools.pairwise([*starts, at])]
        offsets = {ids[n] - n + run[0] for run in runs for n in run[1:]}
        own = {ids[at] - at + starts[-1]} if ids and ids[at] else set[int]()
        if len(runs) < 2 or len(offsets | own) != 1 or any(len(run) == 1 for run in runs[:-1]) or self.sets:
            return [self.shown]
        parts = [(self.tokens[run[0]], self.tokens[run[0] + 1 : run.stop]) for run in runs]
        head = max(len(name) for name, _ in parts)
        wide = max((len(each) for _, rest in parts for each in rest), default=1)
        room, left = ((COLUMNS - head - 4 - letters) // (wide + 1) for letters in (0, len(self.marked)))
        here = len(parts[-1][1])
        first = max(0, here - left)
        begin = BEGIN * (first > 0)
        first += begin
        room -= begin
        lines = list[str]()
        for number, (name, rest) in enumerate(parts, 1):
            cells = [f"{each:>{wide}}" for each in rest[first : first + room]]
            end = self.marked if number == len(parts) else "…" * (first + room < len(rest))
            cells = [*(f"{each:>{wide}}" for each in rest[:begin]), *["…"] * (first > 0), *cells]
            lines.append(" ".join([f"{name:>{head}}", *cells, *filter(None, [end])]))
        return [each.replace(" ", HARD) for each in lines] + [f"(token {here + 1} of the answer)"] * (first > 0)


@config
class Mistake:
    """What the model does at the first wrong token of failing strings."""

    what: str
    """In words, as "stops one digit early"."""
    n: int
    of: int
    """Failing strings that were looked at."""


def most_common_mistake(found: Sequence[Wrong], share: float = ALIKE, free: Sequence[Wrong] = ()) -> Mistake | None:
    """The most specific words that hold of a share, or else of that share of the most common mistake.

    None where these are no more than that a token is wrong. A place that holds of a smaller share of ``free``, the same
    mistakes in strings that were drawn otherwise, is left out.
    """
    if not found:
        return None
    seen = Counter(way for each in free for way in each.ways)

    def elsewhere(way: str) -> bool:
        return seen[way] < share * seen[way.partition(PLACE)[0]]

    ways = [[way for way in each.ways if not elsewhere(way)] for each in found]
    counts = Counter(way for each in ways for way in each)
    n, of = len(found), len(found)
    if not any(count >= share * of for count in counts.values()):
        n, general = max((counts[way], way) for way in {each[-1] for each in ways})
        ways = [each for each in ways if each[-1] == general]
    depth = {way: level for each in ways for level, way in enumerate(each)}
    what = min((depth[way], -counts[way], way) for way in depth if counts[way] >= share * n)[2]
    # That something is wrong says nothing of a wrong string.
    return None if what == f"writes a wrong {found[0].batch.unit}" else Mistake(what, counts[what], of)


def facts(
    task: Task, found: Sequence[Wrong], batches: Sequence[tuple[Batch, ndarray]], seed: int
) -> list[tuple[frozenset[str], bool]]:
    """What holds of first wrong tokens, and of right ones at the same place of strings of their length.

    Right are the tokens of right strings, and those of failing ones before their first error.
    """
    rng, told = stream(seed, "explain", "tokens"), list[tuple[frozenset[str], bool]]()
    matched = max(1, min(MATCHED, MOST_MATCHED // max(1, len(found))))
    lengths: dict[int, tuple[list[Wrong], list[tuple[Batch, int]]]] = {}
    for each in found:
        lengths.setdefault(each.batch.layout.length, ([], []))[0].append(each)
    for batch, good in batches:
        if batch.layout.length in lengths:
            lengths[batch.layout.length][1].extend((batch, row) for row in np.flatnonzero(good).tolist())
    for _, (wrong, good) in sorted(lengths.items()):
        for at in sorted({each.at for each in wrong}):
            here = [each for each in wrong if each.at == at]
            others = [each for each in good if at < each[0].tokens and each[0].scored[at]]
            others += [(each.batch, each.row) for each in wrong if each.at > at]
            told += [(facts_of(task, each.batch, each.row, at), False) for each in here]
            for index in rng.permutation(len(others))[: matched * len(here)].tolist():
                batch, row = others[index]
                told.append((facts_of(task, batch, row, at), True))
    return told


def places_of(batch: Batch, row: int, at: int) -> tuple[str, str]:
    """A place of the answer, counted from its end and from its beginning, the end mark left out."""
    unit, ids = batch.unit, batch.input_ids[row]
    back = int((ids[at:] != batch.vocab.ids.get(EOS, -1)).sum())
    last = {0: "the end", 1: f"the {unit} written last", 2: f"the {unit} written before the last"}
    near = last.get(back, f"{unit} {back} from the end")
    number = at - batch.prompt_length + 1
    return near, {1: f"the first {unit}", 2: f"the second {unit}"}.get(number, f"{unit} {number}")


def facts_of(task: Task, batch: Batch, row: int, at: int) -> frozenset[str]:
    """What holds of a token of the answer."""
    text, end = batch.text(row), batch.prompt_length
    plain = _plain_facts(text, end, at, _follows(batch, row, text))
    return frozenset(plain | {*task.details_of(text[:end], text[end:at])})


def _plain_facts(text: Sequence[str], end: int, at: int, follows: Callable[[int], list[tuple[str, str]]]) -> set[str]:
    """What is due at a token of the answer, and what it and the one before follow from."""
    found = {f"where {text[at]} is due"}
    if at > end:
        found |= {
            f"after the answer's {text[at - 1]}",
            *(["where the token before is due again"] if text[at] == text[at - 1] else ()),
        }
    for before, place in (("", at), (" before", at - 1)):
        found.update([f"where the {what}{before} {does}" for what, does in follows(place)])
    return found


def _follows(batch: Batch, row: int, text: Sequence[str]) -> Callable[[int], list[tuple[str, str]]]:
    """What holds of the tokens of the prompt that a token of the answer follows from: of what, and what of it."""
    end, fields = batch.prompt_length, (batch.parents[row], batch.selectors[row])

    @cache
    def sources(at: int) -> set[int]:
        return {p for field in fields for p in field[at].tolist() if 0 <= p < end}

    @cache
    def follows(at: int) -> list[tuple[str, str]]:
        # What the token before follows from, too, is of an earlier column.
        own = sorted(sources(at) - sources(at - 1))
        if not 1 <= len(own) <= FEW_SOURCES:
            return []
        tokens = [text[p] for p in own]
        alike = len({*tokens}) == 1 < len(own)
        whole = column_of(text, own, tokens)
        if whole and len({batch.places[row, p].tobytes() for p in own}) == 1:
            has = [
                f"is {whole}",
                *(f"has a {batch.unit} {name}" for name in tokens),
                *[f"has two equal {batch.unit}s"] * alike,
            ]
            return [("column", fact) for fact in has]
        named = [f"follows from {' and '.join(sorted(tokens))}", *["follows from equal ones"] * alike]
        others = [f"follows from {name}, among others" for name in tokens] if len(own) > 1 else []
        return [("token", each) for each in named + others]

    return follows
