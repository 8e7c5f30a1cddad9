"""Where a model breaks: short failing strings, what they have in common, and which head looks elsewhere in them."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy import ndarray

from lengthwise.core.batch import Batch, Column
from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng, stream
from lengthwise.core.vocab import EOS, SPECIALS
from lengthwise.explanation.automaton import product
from lengthwise.explanation.features import (
    LEAST,
    SURE,
    Feature,
    Nearby,
    surprise,
    telling_feature,
    telling_nearby,
)  # fmt: skip
from lengthwise.explanation.heads import Heads, head_name, looks, pattern_mask
from lengthwise.explanation.model import RandomStrings, Subject, edited
from lengthwise.explanation.verdict import CUT, LengthShares, Share, Verdict
from lengthwise.languages.automaton import Dfa, minimize
from lengthwise.languages.hard_words import boundary_words, hard_words, pumped_words
from lengthwise.languages.sampling import count_words, sample_words
from lengthwise.models.generate import END
from lengthwise.tasks.language import Language

MOST_EDGES = 32
"""Tokens of which edge cases are made."""
SAID = 4
"""Tokens before a wrong one that are shown with it."""
OF_PARENTS = "the tokens that the wrong one follows from"
WITHIN, SHOWN = 2, 5
"""Failing strings of trained lengths, and of longer ones, that are shown at most."""
LEFT = 0.1
"""A head has left the parents if its attention on them is this much below that at training lengths."""
LOOKED_AT = 16
"""Failing strings of a kind and length whose first wrong token is looked at."""
EDGES = "all parts"
"""How the names of edge cases begin."""
SCANNED = 320
"""Edge cases of all tokens together, of each way to make them, at a length that is said to hold: 32 each of digits."""
SUSPECTS, FRESH = 6, 128
"""Kinds of hard strings that are asked again at such a length, and with so many fresh strings."""
MATCHED = 8
"""For a failing string, so many right ones of its length give a token each to compare with."""
FEW_SOURCES = 3
"""Tokens that a token of the answer follows from are named if they are no more."""
FEW_MISTAKES, ALIKE = 4, 0.9
"""Failing strings that share a mistake, at least, and their share of all up to some length."""


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
    sets: bool = False
    """Whether right is a set of tokens that may come next, and no answer."""

    @property
    def said(self) -> str:
        """What the model says there, after which tokens, and what is right."""
        end = self.position + self.sets
        before = ("… " if end > SAID else "") + " ".join(self.tokens[max(0, end - SAID) : end])
        may = " may come" if self.sets else ""
        return f"after {before} the model says {self.got}{may}, right is {self.expected}"

    @property
    def line(self) -> str:
        """The string and what is wrong."""
        return f"{' '.join(self.tokens)}; {self.said}"


@config
class Mistake:
    """The first wrong token that nearly all failing strings have in common, up to some length."""

    expected: str
    """What is due there; empty if that differs."""
    got: str
    """What the model says; empty if that differs."""
    place: str
    """Where it mostly is, in words; empty if nowhere mostly."""
    n: int
    of: int
    """Failing strings that were looked at, up to `last`."""
    last: int
    longer: tuple[int, int] = (0, 0)
    """Of longer failing strings, how many have it, and of how many."""

    @property
    def line(self) -> str:
        """It in one sentence, with its counts."""
        due = f"{self.expected} is due" if self.expected else "the answer goes on"
        what = f"stops with {EOS} where {due}" if self.got == EOS else f"says {self.got} where {due}"
        if not self.got:
            what = f"goes on where {EOS} is due"
        if self.longer[1]:
            return f"first failures (up to length {self.last}, {self.of} strings): it {what}"
        return f"{what}{f', mostly at {self.place}' * bool(self.place)}: {self.n} of {self.of} failing strings"


@config
class WeakKind:
    """Hard strings of a kind that are right less often than random ones of that length, which fresh ones confirm."""

    kind: str
    length: int
    share: Share
    """Of fresh strings, with more than `CUT` certainly not reached."""
    usual: Share
    """Of random strings."""
    since: int
    """The shortest length at which that is so."""

    @property
    def clause(self) -> str:
        """What the answer adds: the count and the kind."""
        since = f" (worse than random from length {self.since} on)" if self.since < self.length else ""
        counts = f"{self.share.right} of {self.share.n}"
        return f"but {counts} of those of length {self.length} where {self.kind}{since}"

    @property
    def line(self) -> str:
        """It in one sentence."""
        low, high = self.share.interval
        return (
            f"{self.kind}: {self.share.right} of {self.share.n} of length {self.length} right [{low:.2f}, {high:.2f}], "
            f"of random ones {self.usual.right} of {self.usual.n}"
        )


@config
class Arm:
    """The same strings under ids that are all larger by ``shift``."""

    shift: int
    right: int


@config
class Moved:
    """Trained strings under other position ids: larger than those of training, and, as a control, among these."""

    length: int
    n: int
    right: int
    known: int
    """The largest id of training."""
    inside: tuple[Arm, ...]
    """Shifts whose ids training showed, odd and even ones where there is room."""
    beyond: tuple[Arm, ...]
    """Shifts to the end of the ids of the first length that breaks, and of the longest one."""

    def breaks(self, arm: Arm) -> bool:
        """Whether strings that are right under their own ids become wrong."""
        return arm.right < CUT * self.right

    @property
    def to_blame(self) -> bool:
        """Whether the larger ids alone make right strings wrong, and ids that training showed do not."""
        return self._beyond and bool(self.inside) and not any(map(self.breaks, self.inside))

    @property
    def absolute(self) -> bool:
        """Whether ids that training showed make right strings wrong, too: the outputs depend on the ids themselves."""
        return any(map(self.breaks, self.inside))

    @property
    def _beyond(self) -> bool:
        return any(map(self.breaks, self.beyond))

    @property
    def line(self) -> str:
        """The answer with all counts."""

        def counts(arms: Sequence[Arm]) -> str:
            return ", ".join(f"by {arm.shift}: {arm.right}" for arm in arms)

        parts = [f"{self.right} under their own ids"]
        parts += [f"shifted among ids that training showed, {counts(self.inside)}"] if self.inside else []
        parts += [f"shifted to ids above {self.known}, {counts(self.beyond)}"]
        return f"of {self.n} string{'s' * (self.n > 1)} of length {self.length} are right: {'; '.join(parts)}"

    @property
    def cause(self) -> str:
        """The answer in one sentence, with the share that decides."""
        if self.absolute:
            broken = [arm.shift for arm in self.inside if self.breaks(arm)]
            kept = {arm.shift % 2 for arm in self.inside if not self.breaks(arm)}
            numbers = " or ".join(map(str, broken))
            if not kept & {shift % 2 for shift in broken}:
                numbers = f"any {('even ', 'odd ')[1 - kept.pop()] if kept else ''}number that was tried"
            least = min(arm.right for arm in self.inside)
            return (
                f"it reads the absolute position: moving the position ids by {numbers}, among those that training "
                f"showed, leaves {least} of {self.right} right strings right"
            )
        if not self._beyond:
            return "it is not the position ids alone: right strings stay right under larger ones"
        least, control = (
            min(arm.right for arm in self.beyond),
            "no id of training is left to move them to, as a control",
        )
        if self.inside:
            control = f"moved among ids that training showed, {min(arm.right for arm in self.inside)} do"
        may = "it is" if self.inside else "it may be"
        return (
            f"{may} the position ids above {self.known}, which training never showed: moved to them, {least} of "
            f"{self.right} right strings stay right; {control}"
        )


@config
class Failures:
    """Shares by length, and the smallest failing strings."""

    rows: tuple[LengthShares, ...]
    smallest: tuple[Failure, ...]
    """A few of trained lengths, and those beyond."""
    moved: Moved | None
    """None where no length beyond training breaks, and where `ids` says why not."""
    feature: Feature | None
    """What tells failing strings from right ones, if one thing does."""
    train: int
    ids: str = ""
    """What is known of the position ids where no strings were moved to others."""
    tried: bool = True
    """Whether there are strings enough to look for a feature."""
    nearby: Nearby | None = None
    """What stands at or before first wrong tokens; of tasks with answers."""
    mistake: Mistake | None = None
    """What most failing strings have in common at their first wrong token; of tasks with answers."""
    heads: str = ""
    """Which head looks elsewhere in failing strings than in right ones of the same length, the first that breaks."""
    kinds: tuple[WeakKind, ...] = ()
    """Kinds of hard strings on which it is worse than on random ones, the worst first."""

    def __repr__(self) -> str:
        return f"Failures({'; '.join([*self.where, *([self.example.line] if self.example else [])])})"

    @property
    def first_failures(self) -> str:
        """What only the shortest failing strings have in common; empty without it."""
        return self.mistake.line if self.mistake is not None and self.mistake.longer[1] else ""

    @property
    def finding(self) -> str:
        """What best says where it fails, in words for a cause that is not known; empty without it."""
        if self.nearby is not None:
            return self.nearby.line.replace(": ", " (") + ")"
        if self.kinds:
            return f"where {self.kinds[0].line.replace(': ', ' (')})"
        return ""

    @property
    def where(self) -> list[str]:
        """Where it fails, the most telling first, and last what only the shortest failing strings share."""
        shared = None if self.first_failures else self.mistake
        found = (shared, self.feature, *self.kinds[:1], self.nearby, *self.kinds[1:])
        return [*(each.line for each in found if each is not None), *filter(None, [self.first_failures])]

    @property
    def example(self) -> Failure | None:
        """The shortest failing string that was found beyond training, else within."""
        beyond = [failure for failure in self.smallest if failure.length > self.train]
        return next(iter((*beyond, *self.smallest)), None)


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
    subject: Subject, length: int, count: int, rng: Rng, learned: Dfa | None, only: str = ""
) -> Iterator[tuple[str, Batch]]:
    """Hard strings of a length with how they were made; about ``count`` of each kind, or of the one that is named.

    Of edge cases, which have many kinds, there are fewer unless one is named; `EDGES` names them all.
    """
    task = subject.task
    if isinstance(task, Language):
        yield from (each for each in _hard_words(task, length, count, rng, learned) if only in ("", each[0]))
    else:
        base = task.batch(length, count, rng)
        for kind, change in _CHANGES.items():
            if only in ("", kind) and (batch := _changed(subject, base, change, rng)) is not None:
                yield kind, batch
        prompt = base.input_ids[:, : base.prompt_length]
        pool = np.unique(prompt[:, (prompt != prompt[:1]).any(0)])[:MOST_EDGES]
        some = min(count // 8, count // max(1, len(pool))) if only in ("", EDGES) else count
        few = select(base, range(max(1, some)))
        for last, token, run in itertools.product((True, False), pool.tolist(), (False, True)):
            name = task.vocab.tokens[token]
            kind = f"{EDGES} {'end' if last else 'begin'} with {f'{name} {name}' if run else f'one {name}'}"
            if only in ("", EDGES, kind):
                batch = _changed(subject, few, _edge(token, last, run), rng, base)
                yield from [] if batch is None else [(kind, batch)]


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


def _edge(token: int, last: bool, run: bool) -> Callable[[ndarray, ndarray, ndarray, Rng], None]:
    """Every part of the prompt ends or begins with one such token, or with two or more, up to half of it."""

    def change(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
        others = pool[pool != token]
        for part in np.split(free, np.flatnonzero(np.diff(free) > 1) + 1):
            size = int(rng.integers(2, max(3, len(part) // 2 + 1))) if run else 1
            if len(part) < size or not len(others):
                raise ValueError("no room")
            part = part[::-1] if last else part
            prompt[part[:size]] = token
            if not run and len(part) > 1 and prompt[part[1]] == token:
                prompt[part[1]] = rng.choice(others)

    return change


_CHANGES: dict[str, Callable[[ndarray, ndarray, ndarray, Rng], None]] = {
    "an edit of a right string": _replace,
    "two tokens exchanged": _swap,
    "a repeated part": _repeat,
    "runs of one token": _block,
    "sorted tokens": _reversed,
}


def _changed(
    subject: Subject, base: Batch, change: Callable[..., None], rng: Rng, all_drawn: Batch | None = None
) -> Batch | None:
    """Strings whose prompts are changed and still instances of the task; None if there are none.

    Which tokens may change is seen in ``all_drawn``, if ``base`` is a part of it. Only where places don't depend on the
    tokens, and the answer has as many tokens as before. Parents are kept where they are the same for all strings.
    """
    task, end = subject.task, base.prompt_length
    prompt = base.input_ids[:, :end]
    drawn = (all_drawn or base).input_ids[:, :end]
    free = np.flatnonzero((drawn != drawn[:1]).any(0))
    contiguous = bool(base.scored[end:].all())
    if not (base.places == base.places[:1]).all() or len(free) < 2 or base.allowed is not None or not contiguous:
        return None
    pool, rows = np.unique(drawn[:, free]), []
    for row in range(base.size):
        new = prompt[row].copy()
        with suppress(ValueError, LengthwiseError):
            change(new, free, pool, rng)
            answer = task.vocab.encode(task.solve(task.vocab.decode(new.tolist())))
            if end + len(answer) == base.tokens:
                rows.append(np.concatenate([new, answer]))
    if not rows:
        return None
    fixed = all(np.ndim(p) == 0 for c in base.columns for p in (*c.parents, *c.selectors))
    columns = base.columns if fixed else tuple(Column(c.scored, c.answer, (), ()) for c in base.columns)
    places = np.repeat(base.places[:1], len(rows), 0)
    return dataclasses.replace(base, input_ids=np.stack(rows), places=places, columns=columns, extra={})


def find_failures(asked: RandomStrings, lengths: Sequence[int], heads: Heads | None, learned: Dfa | None) -> Failures:
    """The shares of right strings, and small failing strings.

    Asked are ``lengths``, the first ones beyond training, and those that narrow down where the model stops to be right
    and where it breaks, by bisection. Random strings are those of `accuracy`, so a length has one count.
    """
    subject, samples, seed = asked.subject, asked.samples, asked.seed
    groups: dict[int, tuple[list[tuple[str, Batch, ndarray]], ...]] = {}
    rows: list[LengthShares] = []

    def ask(length: int) -> None:
        rng = stream(seed, "explain", "failures", length)
        every, drawn = asked(length)
        hard = _distinct(hard_strings(subject, length, max(8, samples // 8), rng, learned))
        groups[length] = (
            [("found among random strings", *known) for known in drawn],
            [(kind, batch, np.asarray(subject.right(batch).all(axis=1))) for kind, batch in hard],
        )
        counts = (
            Share(sum(int(good.sum()) for *_, good in group), sum(batch.size for _, batch, _ in group), every)
            for group in groups[length]
        )
        rows.append(LengthShares(length, *counts))
        rows.sort(key=lambda row: row.length)

    near = (n for n in subject.task.lengths(subject.train + 1, subject.train + 40) if not subject.misfit(n))
    for length in {*itertools.islice(near, 4), *lengths}:
        ask(length)
    while between := next(filter(None, (_between(subject, *edge) for edge in Verdict(rows, subject.train).edges)), []):
        ask(between[len(between) // 2])
    smallest, usual, strings = list[Failure](), _Usual(subject, heads, samples, seed), dict[tuple[str, ...], bool]()
    trained = [row.random for row in rows if row.length in lengths and row.length <= subject.train]
    if sum(share.right for share in trained) < CUT * sum(share.n for share in trained):
        # Of a model that has not learned, longer strings say nothing.
        groups = {length: parts for length, parts in groups.items() if length <= subject.train}
    for length, parts in sorted(groups.items()):
        most = WITHIN if length <= subject.train else WITHIN + SHOWN
        for kind, batch, good in itertools.chain(*parts):
            strings.update({symbols_of(batch, row): bool(good[row]) for row in range(batch.size)})
            for row in np.flatnonzero(~good) if len(smallest) < most else ():
                found = _replayed(subject, select(batch, [int(row)]), kind, usual)
                if found is not None and all(found.tokens != known.tokens for known in smallest):
                    smallest.append(found)
                    if len(smallest) == most:
                        break
    broken = Verdict(rows, subject.train).broken(subject.train)
    moved = None if broken is None else _moved(subject, broken, rows[-1].length, samples, seed)
    parts = [(length, *part) for length, both in sorted(groups.items()) for part in itertools.chain(*both)]
    seen = [(batch, *_first_wrong(subject, batch, good)) for _, _, batch, good in parts]
    mistake, feature = _mistake(seen), telling_feature(strings, seed)
    wrong = sum(not right for right in strings.values())
    known = ("", moved) if isinstance(moved, str) else (moved, "")
    there = [] if broken is None else [(batch, good) for n, _, batch, good in parts if n == broken]
    nearby = telling_nearby(_tokens(seen, [good for *_, good in parts], seed), seed)
    return Failures(
        tuple(rows), tuple(smallest), known[0] or None, feature, subject.train, known[1],
        min(wrong, len(strings) - wrong) >= 2 * LEAST, nearby, mistake,
        usual.elsewhere(there, broken) if broken is not None else "", _weak_kinds(asked, groups, rows, learned),
    )  # fmt: skip


def _places(batch: Batch, at: int) -> tuple[str, str]:
    """A place of the answer, counted from its end and from its beginning."""
    back = batch.tokens - at
    near = {1: "last token", 2: "last token but one"}.get(back, f"token {back} from the end")
    return f"{'the ' * (back < 3)}{near} of the answer", f"token {at - batch.prompt_length + 1} of the answer"


def _facts(batch: Batch, row: int, at: int) -> frozenset[str]:
    """What holds of a token of the answer: its place, what is due, and what it and the token before follow from."""
    names, ids = batch.vocab.tokens, batch.input_ids[row]

    def sources(at: int) -> set[int]:
        return {int(p) for field in (batch.parents, batch.selectors) for p in field[row, at]
                if 0 <= p < batch.prompt_length}  # fmt: skip

    found = {f"at {place}" for place in _places(batch, at)} | {f"where {names[ids[at]]} is due"}
    if at > batch.prompt_length:
        found.add(f"after {names[ids[at - 1]]}")
    for before, place in (("", at), (" before", at - 1)):
        # What the token before follows from, too, is of an earlier column.
        own = sorted(sources(place) - sources(place - 1))
        if 1 <= len(own) <= FEW_SOURCES:
            among = {names[ids[p]] for p in own} if len(own) > 1 else set()
            signs = {name for name in (names[ids[p]] for p in range(own[0], own[-1])) if not name.isalnum()}
            if len(own) > 1 and len(signs) == 1 and len({batch.places[row, p].tobytes() for p in own}) == 1:
                sign = f" {signs.pop()} "
                column = (names[ids[p]] for p in own)
                whole = sign.join(sorted(column) if sign in (" + ", " * ") else column)
                found |= {f"where the column{before} is {whole}", *(f"where the column{before} has {a}" for a in among)}
            else:
                says = f"where the token{before} follows from "
                found |= {says + " and ".join(sorted(names[ids[p]] for p in own))}
                found |= {f"{says}{a}, among others" for a in among}
    return frozenset(found)


def _tokens(
    seen: Sequence[tuple[Batch, ndarray, ndarray, ndarray]], good: Sequence[ndarray], seed: int
) -> list[tuple[frozenset[str], bool]]:
    """What holds of the first wrong token of each failing string, and of a token of some right ones of its length."""
    rng, found = stream(seed, "explain", "tokens"), list[tuple[frozenset[str], bool]]()
    lengths: dict[int, tuple[list[tuple[Batch, int, int]], list[tuple[Batch, int]]]] = {}
    for (batch, rows, columns, _), right in zip(seen, good, strict=True):
        wrong, others = lengths.setdefault(batch.layout.length, ([], []))
        wrong += [(batch, *at) for at in zip(rows.tolist(), columns.tolist(), strict=True)]
        others += [(batch, row) for row in np.flatnonzero(right).tolist()]
    for wrong, others in lengths.values():
        found += [(_facts(*each), False) for each in wrong]
        for index in rng.permutation(len(others))[: MATCHED * len(wrong)].tolist():
            batch, row = others[index]
            found.append((_facts(batch, row, int(rng.choice(np.flatnonzero(batch.scored)))), True))
    return found


def _first_wrong(subject: Subject, batch: Batch, good: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Of a few failing rows: which rows, the column of the first wrong token, and what the model says there."""
    rows = np.flatnonzero(~good)[:LOOKED_AT]
    if batch.allowed is not None or not len(rows):
        none = np.array([], dtype=int)
        return none, none, none
    some = select(batch, rows)
    at = np.flatnonzero(some.scored)[np.asarray(subject.right(some)).argmin(axis=1)]
    got = subject.logits(some)[np.arange(len(rows)), at - 1].argmax(-1)
    differs = got != some.input_ids[np.arange(len(rows)), at]
    return rows[differs], at[differs], got[differs]


def _mistake(seen: Sequence[tuple[Batch, ndarray, ndarray, ndarray]]) -> Mistake | None:
    """What failing strings have in common at their first wrong token, up to the largest length."""
    found: list[tuple[int, str, str, tuple[str, str]]] = []
    for batch, rows, columns, got in seen:
        names, length = batch.vocab.tokens, batch.layout.length
        for row, at, said in zip(rows.tolist(), columns.tolist(), got.tolist(), strict=True):
            found.append((length, names[batch.input_ids[row, at]], names[said], _places(batch, at)))
    for last in sorted({length for length, *_ in found}, reverse=True):
        some = [each for each in found if each[0] <= last]
        pair = Counter((due, said) for _, due, said, _ in some).most_common(1)[0][0]
        for expected, got in (pair, ("", EOS), (EOS, "")):
            same = [each for each in found if expected in ("", each[1]) and got in ("", each[2])]
            short = [each for each in same if each[0] <= last]
            if len(short) >= max(FEW_MISTAKES, ALIKE * len(some)):
                place, placed = Counter(place for *_, places in short for place in places).most_common(1)[0]
                longer = len(same) - len(short), len(found) - len(some)
                return Mistake(expected, got, place * (2 * placed >= len(short)), len(short), len(some), last, longer)
    return None


def _weak_kinds(
    asked: RandomStrings, groups: Mapping[int, tuple[list[tuple[str, Batch, ndarray]], ...]],
    rows: Sequence[LengthShares], learned: Dfa | None,
) -> tuple[WeakKind, ...]:  # fmt: skip
    """Kinds of hard strings that fail more often than random ones: few strings raise the suspicion, fresh ones decide.

    They are asked at the longest trained length and at those to which it is said to hold, by the interval and by the
    share; without such a one, at the first beyond training. The test is corrected for all kinds and lengths. A kind is
    told by the trained length at which it fails, or else by the length at which it is worst.
    """
    subject, train, verdict = asked.subject, asked.subject.train, Verdict(rows, asked.subject.train)
    beyond = sorted(n for n in groups if n > train)
    claimed = sorted({n for n in (verdict.held, verdict.about) if n in beyond}) or beyond[:1]
    lengths = [*sorted(n for n in groups if n <= train)[-1:], *claimed]
    doubts: dict[int, dict[str, list[ndarray]]] = {n: {} for n in lengths}
    known = {n: {ids.tobytes() for _, batch, _ in itertools.chain(*groups[n]) for ids in batch.input_ids}
             for n in lengths}  # fmt: skip
    for length, seen in doubts.items():
        for kind, _, good in itertools.chain(*(hard for n, (_, hard) in groups.items() if n <= length)):
            seen.setdefault(kind, []).append(good)
        rng = stream(asked.seed, "explain", "edges", length)
        for kind, batch in _distinct(hard_strings(subject, length, SCANNED, rng, learned, EDGES), known[length]):
            seen.setdefault(kind, []).append(np.asarray(subject.right(batch).all(axis=1)))
    told: list[WeakKind] = []
    for length, seen in doubts.items():
        found: dict[str, WeakKind] = {}
        random = np.concatenate([good for *_, good in groups[length][0]])
        doubt = {kind: (wrong + 1) / (sum(map(len, good)) + 2) for kind, good in seen.items()
                 if (wrong := sum(int((~g).sum()) for g in good))}  # fmt: skip
        for kind in sorted(doubt, key=lambda kind: (-doubt[kind], kind))[:SUSPECTS]:
            rng = stream(asked.seed, "explain", "fresh", kind, length)
            fresh = _distinct(hard_strings(subject, length, FRESH, rng, learned, kind), known[length])
            good = np.concatenate([np.zeros(0, bool), *(subject.right(batch).all(axis=1) for _, batch in fresh)])
            shares = [Share(int(g.sum()), len(g)) for g in (good[:FRESH], random)]
            p = surprise(*(count for share in shares for count in (share.n - share.right, share.n)))
            if p * sum(map(len, doubts.values())) < SURE and shares[0].breaks:
                found[kind] = WeakKind(kind, length, *shares, since=length)
        for kind, one in list(found.items()):
            if (run := found.get(RUN.sub(r"\1 \1", kind), one)) is not one:
                both = Share(one.share.right + run.share.right, one.share.n + run.share.n)
                del found[run.kind]
                found[kind] = dataclasses.replace(one, kind=RUN.sub(r"\1", kind), share=both)
        told += found.values()
    told.sort(key=lambda each: (each.length > train, each.share.value))
    first = {each.kind: each for each in reversed(told)}
    since = {kind: min(each.length for each in told if each.kind == kind) for kind in first}
    return tuple(dataclasses.replace(each, since=since[each.kind]) for each in told if each is first[each.kind])


def _between(subject: Subject, low: int, high: int) -> list[int]:
    """The lengths between two that the task has and the model takes."""
    return [n for n in subject.task.lengths(low + 1, high - 1) if not subject.misfit(n)] if high - low > 1 else []


def symbols_of(batch: Batch, row: int) -> tuple[str, ...]:
    """What a string is about: its word, or its prompt, without special tokens."""
    tokens = batch.text(row) if batch.allowed is not None else batch.text(row)[: batch.prompt_length]
    return tuple(token for token in tokens if token not in SPECIALS)


RUN = re.compile(r"(?<=with )one (.+)$")
"""In the name of a kind with one such token, what is twice the token in that with several."""


def _distinct(found: Iterator[tuple[str, Batch]], known: set[bytes] | None = None) -> Iterator[tuple[str, Batch]]:
    """Every string once, and none that is known."""
    known = set() if known is None else known
    for kind, batch in found:
        rows = [
            row for row, ids in enumerate(batch.input_ids) if not (ids.tobytes() in known or known.add(ids.tobytes()))
        ]
        if rows:
            yield kind, select(batch, rows)


def _moved(subject: Subject, broken: int, longest: int, samples: int, seed: int) -> Moved | str:
    """Trained strings, short ones if these are right, under other ids, large ones and those of training; or why not."""
    if subject.scheme is not None and subject.scheme.predicted:
        return "position ids were not tested, since the model makes them itself"
    inside = subject.inside
    known = int(subject.ids_of(inside[-1], 256, training=True).max())
    ends = dict.fromkeys(int(subject.ids_of(length).max()) for length in (broken, longest))
    if next(iter(ends)) <= known:
        return f"not new position ids (training showed all of length {broken})"
    if subject.network.rule is not None:
        return f"position ids were not tested, since a rule gives them; those above {known} were not seen in training"
    for length in dict.fromkeys((inside[len(inside) // 2], inside[-1])):
        rng = stream(seed, "explain", "moved", length)
        strings = list(subject.task.test_strings(length, length, samples, rng).batches)
        most = max(int(subject.inputs(batch, rng)[1].max()) for batch in strings)
        n, room = sum(batch.size for batch in strings), known - most

        def right(shift: int, strings: Sequence[Batch] = strings) -> int:
            moved = dataclasses.replace(subject, shift=shift)
            return sum(int(moved.right(batch).all(axis=1).sum()) for batch in strings)

        if (own := right(0)) >= CUT * n:
            shifts = sorted({shift for shift in (1, 2, 3, room - 1, room) if 1 <= shift <= room})
            larger = sorted({end - most - back for end in ends for back in (1, 0) if end - back > known})
            arms = (tuple(Arm(shift, right(shift)) for shift in some) for some in (shifts, larger))
            return Moved(length, n, own, known, *arms)
    return "position ids were not tested, since strings of trained lengths are not right under their own"


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
        one.layout.length, kind, tuple(one.text(0)), position, expected, got, parents, head, attention, why,
        one.allowed is not None,
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
        what = OF_PARENTS if parents else "its pattern"
        usual, here = self.mass[layer, head], now[layer, head]
        return name, tuple(top), f"{name} has {here:.2f} of its attention on {what}; at training lengths {usual:.2f}"

    def elsewhere(self, strings: Sequence[tuple[Batch, ndarray]], length: int) -> str:
        """The head that, in failing strings, looks less where a token follows from than in right ones of this length.

        Empty where no head does so by `LEFT`, or no string has parents. Where no string of the length is right, those
        of the longest training length stand for them.
        """
        if not self.subject.network.heads:
            return ""
        seen = [(batch, good, *_first_wrong(self.subject, batch, good)[:2]) for batch, good in strings]
        columns = Counter(at for *_, found in seen for at in found.tolist())
        if not columns:
            return ""
        at = columns.most_common(1)[0][0]
        sums: list[dict[tuple[int, int], float]] = [{}, {}]
        counts = [0, 0]
        for batch, good, rows, found in seen:
            if not any(field.shape[2] and (field[:, at] >= 0).any() for field in (batch.parents, batch.selectors)):
                continue
            for number, some in enumerate((rows[found == at], np.flatnonzero(good)[:LOOKED_AT])):
                if len(some):
                    counts[number] += len(some)
                    for head, mass in self._on(select(batch, some), at - 1).items():
                        sums[number][head] = sums[number].get(head, 0) + mass * len(some)
        if not counts[0]:
            return ""
        wrong = {head: total / counts[0] for head, total in sums[0].items()}
        right = {head: total / counts[1] for head, total in sums[1].items()} or self.mass
        drop, head = max(((right[head] - wrong[head], head) for head in right if head in wrong), default=(0, (0, 0)))
        if drop < LEFT:
            return ""
        name = head_name(*head, self.subject.network.heads[head[0]][head[1]])
        return (
            f"{name} looks less at {OF_PARENTS} ({wrong[head]:.2f} of its attention in {counts[0]} failing strings of "
            f"length {length}, {right[head]:.2f} "
            + (f"in {counts[1]} right ones" if counts[1] else "at training lengths, since none of that length is right")
            + ")"
        )
