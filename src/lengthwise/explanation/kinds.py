"""Hard strings of many kinds, and the kinds on which a model is worse than on random strings."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng, stream
from lengthwise.core.vocab import EOS, SPECIALS
from lengthwise.explanation.automaton import product
from lengthwise.explanation.features import CLEAR, SURE, Compared, surprise
from lengthwise.explanation.mistakes import Failure, Mistake, Wrong, first_wrong, most_common_mistake
from lengthwise.explanation.model import RandomStrings, Subject, edited
from lengthwise.explanation.verdict import CUT, LengthShares, Share, Verdict
from lengthwise.languages.automaton import Dfa, minimize
from lengthwise.languages.hard_words import boundary_words, hard_words, pumped_words
from lengthwise.languages.sampling import count_words, sample_words
from lengthwise.tasks import Task
from lengthwise.tasks.kinds import AS_WRITTEN, Change, changed, edge_case, edge_name, edits, into_kind, select
from lengthwise.tasks.language import Language
from lengthwise.tasks.values import spoken

MOST_EDGES = 32
"""Tokens of which edge cases are made."""
EDGES = "edge cases"
"""What asks for all of them."""
SCANNED = 320
"""Edge cases of all tokens together, of each way to make them, at a length that is said to hold: 32 each of digits."""
FEW = 8
"""Strings of each kind that the task names, among the hard ones of a length."""
FAILS, CLOSE, UNLEARNED = "fails", "not surely below 95 %", "not told, as the model has not learned"
SUSPECTS, FRESH, FEWEST = 6, 128, 32
"""Kinds of hard strings that are asked again at such a length, with so many fresh strings, and with no fewer."""
NONE = 0.1
"""Next to no strings of a kind are right if no larger share is."""
NAMED, TOLD = 3, 2
"""So many of the worst kinds are asked at all lengths of random strings; so many at further ones, and told in full."""
Asked = tuple[Batch, ndarray, list[Wrong]]
"""Strings, which of them are right, and the first wrong tokens of the others."""
TRIES = 4
"""Random prompts for each string of a kind that nothing makes."""


@config
class KindShare:
    """How many fresh strings of a kind and a length are right."""

    length: int
    share: Share
    weak: bool
    """Whether it is surely worse than random, and surely below `CUT`."""


@config
class WeakKind:
    """Strings of a kind that are right less often than random ones of that length, which fresh ones confirm."""

    kind: str
    """What holds of them: it completes "where …"."""
    rows: tuple[KindShare, ...]
    """Each length at which strings of this kind were asked."""
    mistake: Mistake | None
    """What the model does in the failing strings of `length`; of tasks with answers."""
    example: Failure | None
    """One of them."""
    compared: Compared | None = None
    """Their first wrong tokens beside right ones of strings of the kind."""
    by_length: tuple[tuple[int, Share], ...] = ()
    """Right strings at these and at further lengths."""
    train: int = 0
    """The longest trained length."""

    @property
    def _told(self) -> KindShare:
        return told_row(self.rows, self.train)

    @property
    def length(self) -> int:
        """The trained length at which most fail; else the shortest longer one that breaks."""
        return self._told.length

    @property
    def share(self) -> Share:
        """Of fresh strings of `length`."""
        return self._told.share

    @property
    def line(self) -> str:
        """That it fails."""
        return f"fails where {self.kind}"

    @property
    def at(self) -> str:
        """At which length it breaks first; a comma before."""
        return f", first at length {lengths_of(self.by_length)[1]}"

    @property
    def worst(self) -> KindShare:
        """Of the length at which most fail."""
        return min((row for row in self.rows if row.weak), key=lambda row: row.share.value, default=self._told)

    @property
    def wrong(self) -> str:
        """How many of its strings are wrong, where it first breaks, at the told length, and at the worst longer one.

        That one is told if more are wrong there, or if a length between them is right.

        Where no trained length breaks but all together do, these together.
        """
        trained = {length: share for length, share in self.by_length if length <= self.train}
        together = _total([*trained.values()])
        if together.breaks and not any(share.breaks for share in trained.values()):
            return f"{together.wrong} at {min(trained)}–{max(trained)}"
        shares = {n: share for n, share in self.by_length if n == lengths_of(self.by_length)[1]}
        shares |= {self.length: self.share}
        beyond = [(n, share) for n, share in self.by_length if n > self.train and share.breaks]
        worst = min(beyond, key=lambda each: each[1].value, default=(self.length, self.share))
        shares |= dict([worst] * (worst[1].value < self.share.value or bool(right_again(self.by_length))))
        return ", ".join(f"{share.wrong} at {n}" for n, share in sorted(shares.items()))

    @property
    def does(self) -> list[str]:
        """What the model does in them, in a sentence, as far as that is one thing."""
        if (does := self.mistake) is None or not self.brief:
            return []
        count = f"all {does.of}" if does.n == does.of else f"{does.n} of {does.of}"
        return [f"At length {self.length}, in {count} wrong answers it {does.what}."]

    @property
    def brief(self) -> str:
        """The same without counts."""
        does = self.mistake
        return "" if does is None or does.n < CLEAR * does.of else f"It {does.what}."

    @property
    def exact(self) -> list[str]:
        """What holds where they first go wrong, in all, and nowhere in right strings of the kind, in a sentence."""
        return self.compared.exact if self.compared is not None else []

    @property
    def where(self) -> list[str]:
        """Where they first go wrong, beside right tokens of strings of the kind, in a sentence."""
        return self.compared.where if self.compared is not None else []

    @property
    def where_of_these(self) -> list[str]:
        """The same behind `does`; the whole sentence without that."""
        return self.compared.where_of_these if self.compared is not None and self.does else self.where


def told_row(rows: Sequence[KindShare], train: int) -> KindShare:
    """The one that is told: of the trained length at which most fail; without one, of the shortest that breaks."""
    trained = [row for row in rows if row.weak and row.length <= train]
    if trained:
        return min(trained, key=lambda row: (row.share.value, -row.length))
    return next(row for row in rows if row.share.breaks and row.length > train)


@config
class Way:
    """Edited strings that were made in one way."""

    how: str
    """It completes "where …"."""
    rows: tuple[tuple[int, Share], ...]
    """Which of them are right, by length."""
    found: str = ""
    """Of a kind that was asked, whether it fails, and if not, why it is not said to."""

    def at(self, length: int) -> Share:
        """Of one length."""
        return dict(self.rows).get(length, Share(0, 0))


def weakest_way(ways: Sequence[Way], random: LengthShares) -> Way | None:
    """The way of which surely more strings of a length fail than of all others, and of random ones; None without."""
    length, usual = random.length, random.random
    every, found = _total([way.at(length) for way in ways]), list[tuple[float, str, Way]]()
    for way in ways:
        own = way.at(length)
        others = Share(every.right - own.right, every.n - own.n)
        p = max(surprise(own.n - own.right, own.n, than.n - than.right, than.n) for than in (others, usual))
        found.append((p, way.how, way))
    p, _, way = min(found, key=lambda each: each[:2], default=(1, "", None))
    return None if p * len(ways) >= SURE else way


def hard_strings(
    subject: Subject, length: int, count: int, rng: Rng, learned: Dfa | None, only: str = ""
) -> Iterator[tuple[str, Batch]]:
    """Hard strings of a length with how they were made; about ``count`` of each kind, or of the one that is named.

    Of edge cases, which have many kinds, there are fewer unless one is named; `EDGES` names them all. Kinds that
    `is_apart` holds of are told by themselves, and are no part of the hard strings that are counted.
    """
    task = subject.task
    if isinstance(task, Language):
        yield from (each for each in _hard_words(task, length, count, rng, learned) if only in ("", each[0]))
    else:
        base = task.batch(length, count, rng)
        for kind, change in edits(base.unit).items():
            if only in ("", kind):
                yield from ((kind, batch) for batch in _changed(task, base, change, rng))
        for kind in task.kinds:
            if only in ("", kind):
                yield from ((kind, batch) for batch in _of_kind(subject, kind, length, count if only else FEW, rng))
        prompt = base.input_ids[:, : base.prompt_length]
        free = np.flatnonzero((prompt != prompt[:1]).any(0))
        pool = np.unique(prompt[:, free])[:MOST_EDGES]
        part = "every part of the prompt" if (np.diff(free) > 1).any() else "the prompt"
        some = min(count // 8, count // max(1, len(pool))) if only in ("", EDGES) else count
        few = select(base, range(max(1, some)))
        for last, token, run in itertools.product((True, False), pool.tolist(), (False, True)):
            kind = edge_name(part, task.vocab.tokens[token], last, run)
            if only in ("", EDGES, kind):
                yield from ((kind, batch) for batch in _changed(task, few, edge_case(token, last, run), rng, base))


def is_apart(task: Task, kind: str) -> bool:
    """Whether it is a kind that the task names, or an edge case."""
    return kind in task.kinds or AS_WRITTEN in kind


def of_kinds(task: Task, kinds: Sequence[str], batch: Batch, row: int) -> bool:
    """Whether a string is of one of these kinds that the task names."""
    prompt = batch.text(row)[: batch.prompt_length]
    return any(kind in task.kinds and task.of_kind(kind, prompt) for kind in kinds)


def lengths_of(by_length: Sequence[tuple[int, Share]]) -> tuple[int | None, int | None]:
    """Up to which length strings are right, at all shorter ones, too, and the first one that breaks.

    Where fewer than `FEWEST` strings were asked, all but a break counts as right.
    """

    def right_at(each: tuple[int, Share]) -> bool:
        return each[1].holds or (each[1].n < FEWEST and not each[1].breaks)

    right = [length for length, _ in itertools.takewhile(right_at, by_length)]
    return right[-1] if right else None, next((length for length, share in by_length if share.breaks), None)


def right_again(by_length: Sequence[tuple[int, Share]]) -> str:
    """At which lengths behind the first that breaks strings are surely right, neighbours together; empty if nowhere."""
    beyond = itertools.dropwhile(lambda each: not each[1].breaks, by_length)
    found = list[str]()
    for holds, some in itertools.groupby(beyond, lambda each: each[1].holds):
        run = [*some]
        whole = Share(sum(share.right for _, share in run), sum(share.n for _, share in run))
        if holds and whole.interval[0] >= CUT:
            found.append("–".join(str(n) for n in dict.fromkeys((run[0][0], run[-1][0]))))
    return f"Right again at {spoken(found)}: it hangs on the length, too." if found else ""


def _of_kind(subject: Subject, kind: str, length: int, count: int, rng: Rng) -> Iterator[Batch]:
    """About ``count`` strings of a kind that the task names."""
    task, made = subject.task, isinstance(subject.task.kinds[kind], tuple)
    base = task.batch(length, count if made else TRIES * count, rng)

    for batch in _changed(task, base, into_kind(task, kind), rng):
        yield select(batch, range(min(batch.size, count)))


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
    found: dict[str, Callable[[], ndarray]] = (
        {"one symbol of a random word was changed": lambda: np.array(good)} if good else {}
    )
    if own is not None:
        found["the symbol that decides is far back"] = lambda: hard_words(own, length, count, rng)
        found["one part is repeated over and over"] = lambda: pumped_words(own, length, count, rng)
        found["the word passes the state farthest from an accepting one"] = lambda: boundary_words(
            own, length, count, rng
        )
    if own is not None and learned is not None and learned != own:
        differs = minimize(product(own, learned, lambda right, says: right and not says))
        if count_words(differs, length):
            found["the model's automaton refuses a right word"] = lambda: sample_words(differs, length, count, rng)
    for kind, make in found.items():
        with suppress(LengthwiseError):
            for batch in task.batches_of([make()]):
                yield kind, batch


def _answer(task: Language, prompt: list[str]) -> list[str]:
    try:
        return task.answer(prompt)
    except ValueError:
        return []


def _changed(task: Task, base: Batch, change: Change, rng: Rng, drawn: Batch | None = None) -> Iterator[Batch]:
    """The strings that can be changed so, if any."""
    with suppress(LengthwiseError):
        yield changed(task, base, change, rng, drawn)[0]


def weak_kinds(
    asked: RandomStrings, groups: Mapping[int, tuple[list[tuple[str, Batch, ndarray]], ...]],
    free: Sequence[Wrong], rows: Sequence[LengthShares], learned: Dfa | None,
    replayed: Callable[[Batch, str], Failure | None], suspects: Mapping[int, Sequence[str]],
) -> tuple[tuple[WeakKind, ...], tuple[Way, ...], dict[str, list[Asked]]]:  # fmt: skip
    """Kinds of strings that fail more often than random ones, which fresh strings decide; the worst first.

    They are asked at the longest trained length, at the first one beyond, at the last one that is clearly right, at the
    last before the first break, and where they are ``suspects``; those that fail at all other trained lengths, and the
    worst at all lengths. Kinds that the task names are all asked. Where it names none, or none of them fails, the
    suspects are those of the other kinds of which most strings were seen to fail. The test is corrected for all kinds
    and lengths.
    What only strings of a worse kind do is not told of another one. ``free`` are the mistakes in strings that were made
    of no kind. Given back, too, are all kinds that were asked, and strings of each that fails.
    """
    subject, train, verdict = asked.subject, asked.subject.train, Verdict(rows, asked.subject.train)
    inside, beyond = (
        max((n for n in groups if n <= train), default=None),
        min((n for n in groups if n > train), default=None),
    )
    # In place of a costly length the longest one before it that is none.
    cheap = [n for n in groups if not subject.clock.costly(n)]
    claims = (
        max((m for m in cheap if m <= n), default=None) for n in (inside, beyond, verdict.held, verdict.last) if n
    )
    lengths = sorted({n for n in claims if n is not None}) or sorted(groups)[:1]
    known = {
        n: {ids.tobytes() for _, batch, _ in itertools.chain(*groups[n]) for ids in batch.input_ids} for n in groups
    }
    ask = _Kinds(asked, groups, known, learned, replayed, free)
    own = list(subject.task.kinds)
    named = {**{n: kinds for n, kinds in suspects.items() if n in groups}, **dict.fromkeys(lengths, own)}
    if told := ask.told(named, sum(map(len, named.values()))):
        return told, ask.ways, ask.strings(told)
    others, tried = dict[int, list[str]](), len(own) * len(lengths)
    for length in lengths:
        seen: dict[str, list[ndarray]] = {}
        for kind, _, good in itertools.chain(*(hard for n, (_, hard) in groups.items() if n <= length)):
            seen.setdefault(kind, []).append(good)
        if not subject.clock.has(length, SCANNED):
            break
        rng = stream(asked.seed, "explain", "edges", length)
        edges = [*distinct(hard_strings(subject, length, SCANNED, rng, learned, EDGES), known[length])]
        for (kind, _), good in zip(edges, subject.all_right([batch for _, batch in edges]), strict=True):
            seen.setdefault(kind, []).append(good)
        doubt = {kind: (wrong + 1) / (sum(map(len, good)) + 2) for kind, good in seen.items()
                 if kind not in own and (wrong := sum(int((~g).sum()) for g in good))}  # fmt: skip
        others[length] = sorted(doubt, key=lambda kind, doubt=doubt: (-doubt[kind], kind))[:SUSPECTS]
        tried += len(seen)
    told = ask.told(others, tried)
    if not verdict.learned:  # Most of what it fails on has no kind.
        ask.found.update((each.kind, UNLEARNED) for each in told if each.share.value > NONE)
        told = tuple(each for each in told if each.share.value <= NONE)
    return told, ask.ways, ask.strings(told)


class _Kinds:
    """Asks fresh strings of kinds."""

    def __init__(self, asked: RandomStrings, groups: Mapping[int, tuple[list[tuple[str, Batch, ndarray]], ...]],
                 known: dict[int, set[bytes]], learned: Dfa | None,
                 replayed: Callable[[Batch, str], Failure | None], free: Sequence[Wrong]) -> None:  # fmt: skip
        self.subject, self.seed, self.learned, self.known = asked.subject, asked.seed, learned, known
        self.free = free
        self.random = {n: np.concatenate([good for *_, good in groups[n][0]]) for n in known}
        self.replayed = replayed
        self.fresh: dict[tuple[str, int], list[tuple[Batch, ndarray]]] = {}
        self.rows: dict[str, dict[int, KindShare]] = {}
        """Of a kind, each length that was asked; strings of a worse kind are left out."""
        self.found: dict[str, str] = {}
        """Of a kind, whether it fails, or why it is not said to."""

    def told(self, kinds: Mapping[int, Sequence[str]], tried: int) -> tuple[WeakKind, ...]:
        """Those that fail, the worst first."""

        def ask(length: int, names: Sequence[str]) -> None:
            shares = {kind: share for kind in names if (share := self._share(kind, length)).n >= FEWEST}
            worse: list[str] = []
            for kind in self._worst_first(shares, length):
                alone, usual = self._share(kind, length, worse), _share([self.random[length]])
                p = surprise(*(count for share in (alone, usual) for count in (share.n - share.right, share.n)))
                weak = p * tried < SURE and alone.breaks and shares[kind].breaks
                told = alone if alone.n >= FEWEST else shares[kind]
                self.rows.setdefault(kind, {}).setdefault(length, KindShare(length, told, weak))
                if weak or self.found.get(kind, CLOSE) == CLOSE:
                    other = "not surely worse than random" if alone == shares[kind] else "only with a worse kind"
                    self.found[kind] = FAILS if weak else other if shares[kind].breaks else CLOSE
                worse += [kind] * weak

        def weak_ones() -> list[str]:
            return [kind for kind, rows in self.rows.items() if any(row.weak for row in rows.values())]

        for length, names in kinds.items():
            ask(length, names)
        some = weak_ones()
        for length in [n for n in self.random if n <= self.subject.train and n not in kinds]:
            ask(length, some)

        def worst_first(kind: str) -> tuple[bool, int, float, str]:
            row = told_row(self._by_length(kind), self.subject.train)
            later = row.length > self.subject.train
            return later, row.length * later, row.share.value, kind

        worst = sorted(weak_ones(), key=worst_first)
        for length in self.random:
            ask(length, worst[:NAMED])
        worst = self._without_worse(worst)
        return tuple(self._weak_kind(kind, worst[:number]) for number, kind in enumerate(worst))

    def _without_worse(self, worst: Sequence[str]) -> list[str]:
        """Those that fail without strings of worse kinds, at each length; their rows are then without these."""
        kept = list[str]()
        for kind in worst:
            alone = {n: self._share(kind, n, kept) for n in self.rows[kind]}
            rows = {
                n: KindShare(n, alone[n], row.weak and alone[n].breaks) if alone[n].n >= FEWEST else
                KindShare(n, row.share, False)
                for n, row in self.rows[kind].items()
            }  # fmt: skip
            if any(row.weak for row in rows.values()):
                self.rows[kind] = rows
                kept.append(kind)
            else:
                self.found[kind] = "only with a worse kind"
        return kept

    def _by_length(self, kind: str) -> tuple[KindShare, ...]:
        return tuple(row for _, row in sorted(self.rows[kind].items()))

    def _worst_first(self, shares: Mapping[str, Share], length: int) -> list[str]:
        """Kinds by their shares; one that holds of all strings of another one, and is not surely better, before it."""

        def covers(wide: str, kind: str) -> bool:
            own, other = shares[kind], shares[wide]
            alike = surprise(own.n - own.right, own.n, other.n - other.right, other.n) >= SURE
            return wide != kind and alike and not self._share(kind, length, [wide]).n

        broken = [kind for kind, share in shares.items() if share.breaks]

        def key(kind: str) -> tuple[float, int, str]:
            covered = [each for each in broken if kind in broken and covers(kind, each)]
            return min(shares[each].value for each in (kind, *covered)), -len(covered), kind

        return sorted(shares, key=key)

    @property
    def ways(self) -> tuple[Way, ...]:
        """All kinds that were asked; of one that fails, the shares that are told."""
        found = dict[str, list[tuple[int, Share]]]()
        for kind, n in sorted(self.fresh, key=lambda each: each[1]):
            row = self.rows.get(kind, {}).get(n) if self.found.get(kind) == FAILS else None
            found.setdefault(kind, []).append((n, row.share if row else self._share(kind, n)))
        return tuple(Way(kind, tuple(shares), self.found.get(kind, "")) for kind, shares in found.items())

    def _weak_kind(self, kind: str, worse: Sequence[str]) -> WeakKind:
        rows, train = self._by_length(kind), self.subject.train
        told = told_row(rows, train)
        wrong = [each for *_, found in self._asked(kind, told.length, worse) for each in found]
        mistake = most_common_mistake(wrong, free=self.free)

        def failing(batch: Batch, good: ndarray) -> Sequence[int]:
            if mistake is None:
                return np.flatnonzero(~good).tolist()
            return [each.row for each in first_wrong(self.subject, batch, good) if mistake.what in each.ways]

        # One of the length that is told; without one, of another at which it fails.
        first = sorted((row for row in rows if row.weak or row is told), key=lambda row: row is not told)
        every = [part for row in first for part in self.fresh[kind, row.length]]
        kept = ((batch, good, self._kept(batch, worse)) for batch, good in every)
        ones = (select(batch, [row]) for batch, good, own in kept for row in failing(batch, good) if own[row])
        example = next(filter(None, (self.replayed(one, kind) for one in ones)), None)
        return WeakKind(kind, rows, mistake, example, train=train)

    def strings(self, told: Sequence[WeakKind]) -> dict[str, list[Asked]]:
        """Those of each kind, of the length that is told."""
        kinds = [each.kind for each in told]
        return {each.kind: self._asked(each.kind, each.length, kinds[:n]) for n, each in enumerate(told)}

    def _asked(self, kind: str, length: int, worse: Sequence[str]) -> list[Asked]:
        """Strings of a kind, but for those of worse ones."""
        parts = [(batch, good, self._kept(batch, worse)) for batch, good in self.fresh[kind, length]]
        some = [(select(batch, np.flatnonzero(kept).tolist()), good[kept]) for batch, good, kept in parts if kept.any()]
        return [(batch, good, first_wrong(self.subject, batch, good)) for batch, good in some]

    def _kept(self, batch: Batch, worse: Sequence[str]) -> ndarray:
        return np.array([not of_kinds(self.subject.task, worse, batch, row) for row in range(batch.size)], bool)

    def _ask(self, kind: str, length: int) -> list[tuple[Batch, ndarray]]:
        """Fresh strings of a kind, and which are right; no more than needed of a costly length, none without time."""
        count = FEWEST if self.subject.clock.costly(length) else FRESH
        if not self.subject.clock.has(length, count):
            return []
        rng, some = stream(self.seed, "explain", "fresh", kind, length), list[Batch]()
        made = hard_strings(self.subject, length, FRESH, rng, self.learned, kind)
        for _, batch in distinct(made, self.known.setdefault(length, set())):
            batch = select(batch, range(min(batch.size, count - sum(one.size for one in some))))
            if batch.size:
                some.append(batch)
        return list(zip(some, self.subject.all_right(some), strict=True))

    def _share(self, kind: str, length: int, without: Sequence[str] = ()) -> Share:
        """Of fresh strings of a kind, those left out that are of kinds ``without`` which the task names, too."""
        if (kind, length) not in self.fresh:
            self.fresh[kind, length] = self._ask(kind, length)
        return _share([good[self._kept(batch, without)] for batch, good in self.fresh[kind, length]])


def _share(good: Sequence[ndarray]) -> Share:
    return _total([Share(int(each.sum()), len(each)) for each in good])


def _total(shares: Sequence[Share]) -> Share:
    return Share(sum(each.right for each in shares), sum(each.n for each in shares))


def distinct(found: Iterator[tuple[str, Batch]], known: set[bytes] | None = None) -> Iterator[tuple[str, Batch]]:
    """Every string once, and none that is known."""
    known = set() if known is None else known
    for kind, batch in found:
        rows = [
            row for row, ids in enumerate(batch.input_ids) if not (ids.tobytes() in known or known.add(ids.tobytes()))
        ]
        if rows:
            yield kind, select(batch, rows)
