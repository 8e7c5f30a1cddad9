"""What tells failing strings from right ones, and wrong tokens from right ones: found on some, checked on others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import exp, lgamma
from typing import TypeVar

import numpy as np
from numpy import ndarray

from lengthwise.core.config import config
from lengthwise.core.rng import stream

WANTED = 0.95
"""A feature is told if its balanced accuracy on held-out strings is at least this."""
LEAST = 8
"""Strings of either kind that are held out, at least."""
CLOSE = 0.01
"""A simpler feature is taken if it is at most this much worse than the best."""
SURE = 0.05
"""A finding is told if its p is below this among all that were tried (Bonferroni), and once more on other strings."""
CERTAIN = SURE / 5
"""The same for one that is not tested on other strings."""
MOST_NEAR, OFTEN = 3, 4
"""Findings of wrong tokens that are told; and how many times as often as of right ones those after the first hold."""
NARROW, CLEAR, MOST = 0.9, 0.8, 2 / 3
"""Narrower words are told alone if they hold of so large a share of what wider ones do; what is no minority; and of how
many wrong tokens it is told, with its count, where they are."""
MOST_SYMBOLS = 12
"""With more symbols than this, only features of whole strings are tried."""
Symbols = tuple[str, ...]
T = TypeVar("T")


@config
class Feature:
    """What holds of failing strings and not of right ones; counts are of held-out strings."""

    name: str
    """It begins with "where", "if" or "unless"."""
    failing: int
    failing_told: int
    right: int
    right_told: int

    @property
    def balanced(self) -> float:
        """The mean of the shares of failing and of right strings that it tells."""
        return (self.failing_told / self.failing + self.right_told / self.right) / 2

    @property
    def counts(self) -> str:
        """Of how many strings what is named holds."""
        failing, right = self.failing_told, self.right - self.right_told
        if self.name.startswith("unless "):
            failing, right = self.failing - failing, self.right_told
        return f"{failing} of {self.failing} failing strings, {right} of {self.right} right ones"

    @property
    def line(self) -> str:
        """The feature in one sentence."""
        return f"{self.name[0].upper()}{self.name[1:]}: {self.counts}."


def percent(some: int, of: int) -> str:
    """A share in words; "none" of nothing alone."""
    return f"{100 * some / of:.0f}\u00a0%" if 200 * some >= of else "under 1\u00a0%" if some else "none"


@config
class Nearby:
    """What holds of first wrong tokens more often than of right ones at the same places of strings as long."""

    name: str
    wrong: int
    wrong_n: int
    right: int
    right_n: int
    also: tuple[Nearby, ...] = ()
    """What, of the tokens of which this holds, tells wrong from right ones once more; its counts are of these alone."""

    @property
    def most(self) -> bool:
        """Whether it holds of at least half of the wrong tokens."""
        return 2 * self.wrong >= self.wrong_n

    @property
    def named(self) -> str:
        """It and what is told with it, in one clause."""
        joined = " and " if self.name.startswith(WHERE) else " "
        return self.name + "".join(joined + each.name.removeprefix(WHERE * (joined == " and ")) for each in self.also)

    @property
    def narrow(self) -> tuple[int, str]:
        """Of how many wrong tokens it holds, and its words, with the share of right ones of which they hold.

        And those of most of these, or of nearly all alone.
        """
        last = self.also[-1] if self.also else self

        def usual(some: int, of: int) -> str:
            share = percent(some, of)
            never = "never where it is right"
            return f"({never if share == 'none' else f'{share} of right tokens are there, too'})"

        if last.wrong >= NARROW * self.wrong:
            return last.wrong, f"{self.named} {usual(last.right, self.right_n)}"
        first = f"{self.name} {usual(self.right, self.right_n)}"
        return self.wrong, f"{first}, {last.wrong} of these {last.name} {usual(last.right, last.right_n)}"

    def holds(self, facts: Collection[str]) -> bool:
        """Whether it, and what is told with it, are among the facts of a token."""
        return all(holds(each.name, facts) for each in (self, *self.also))

    @property
    def details(self) -> list[str]:
        """It and what holds of these, with the counts of right tokens."""
        right = f"of right tokens at the same places, {self.right} of {self.right_n} are"
        more = (f"Of these, {each.wrong} are {each.name}; {each.right} of those {each.right_n} right ones are."
                for each in self.also)  # fmt: skip
        return [f"{self.wrong} of {self.wrong_n} first mistakes are {self.name}; {right}.", *more]


@config
class Compared:
    """First wrong tokens of a pool of failing strings, beside right tokens at the same places of strings as long."""

    random: int
    """Failing strings of the pool that were drawn at random."""
    edited: int
    lengths: tuple[int, ...]
    found: tuple[Nearby, ...]
    """What holds of wrong ones more often, the clearest first."""
    enough: bool
    """Whether they are enough to find something."""
    does: str = ""
    """What the model does in most of them, if that is one thing."""
    alike: int = 0
    """In how many."""
    place: tuple[str, int] = ("", 0)
    """Where in the answer most of them are, if that is a small part, and how many."""
    rule: Nearby | None = None
    """What holds of all of these in which the model does that, and of no right token there."""

    @property
    def n(self) -> int:
        """First mistakes of the pool."""
        return self.random + self.edited

    @property
    def _where(self) -> str:
        first, last = self.lengths[0], self.lengths[-1]
        return f"length {first}" if first == last else f"lengths {first} to {last}"

    @property
    def _of(self) -> str:
        both = " to random and edited strings" * bool(self.random and self.edited)
        return f"Of {self.n} wrong answers{both} at {self._where}"

    @property
    def where(self) -> list[str]:
        """Where most of them are, in a sentence, if that is known, and most right tokens are not."""
        clear = (each.narrow for each in self.found if each.wrong >= MOST * self.n and 2 * each.right < each.right_n)
        near = next(clear, None)
        return [] if near is None else [f"{self._of}, {self._of_all(near[0])} first go wrong {near[1]}."]

    @property
    def exact(self) -> list[str]:
        """What holds of all in which it does the same, and of no right token there, in a sentence, if anything does."""
        if (of := self.rule) is None:
            return []
        return [f"It does so exactly {of.name}: in all {of.wrong}, and in none of {of.right_n} right ones."]

    @property
    def where_of_these(self) -> list[str]:
        """The same behind a sentence on the same wrong answers."""
        return [says[:1].upper() + says[1:] for line in self.where for says in [line.removeprefix(f"{self._of}, ")]]

    @property
    def _placed(self) -> list[str]:
        """In which small part of the answer most of them are, in a sentence, if they are."""
        place, count = self.place
        return [f"{self._of}, {self._of_all(count)} first go wrong at {place}."] if place else []

    @property
    def lines(self) -> list[str]:
        """What the model does in nearly all, and the same, a sentence each; without either, their place."""
        if self.alike < CLEAR * self.n:
            return self.where or self._placed
        return [f"{self._of}, in {self._of_all(self.alike)} it {self.does}.", *self.where_of_these]

    def _of_all(self, count: int) -> str:
        return "all" if count == self.n else str(count)

    @property
    def details(self) -> tuple[str, ...]:
        """All findings with their counts, or that there is none."""
        counts = ((self.random, "random"), (self.edited, "edited"))
        pool = f"At {self._where}, {' and '.join(f'{n} {kind}' for n, kind in counts if n)} strings fail."
        none = self._placed or ["Nothing tells their first mistakes from right tokens."]
        does = [f"In {self.alike} of {self.n} it {self.does}."] if self.does else []
        return pool, *([line for near in self.found for line in near.details] or none), *does


def surprise(one: int, n: int, other: int, m: int) -> float:
    """Fisher's exact p, one-sided: of ``one`` or more of ``n``, where ``other`` of ``m`` are, by chance alone."""

    def chosen(total: int, some: int) -> float:
        return lgamma(total + 1) - lgamma(some + 1) - lgamma(total - some + 1)

    both = one + other
    most = range(one, min(n, both) + 1)
    return sum(exp(chosen(n, k) + chosen(m, both - k) - chosen(n + m, both)) for k in most if both - k <= m)


def longest_run(string: Symbols, only: str | None = None) -> int:
    """The length of the longest run of one symbol."""
    runs = (len(list(group)) for symbol, group in itertools.groupby(string) if only in (None, symbol))
    return max(runs, default=0)


def smallest_period(string: Symbols) -> int:
    """The smallest p with each symbol equal to the one p before it."""
    return next((p for p in range(1, len(string)) if string[p:] == string[:-p]), len(string))


def features_of(symbols: Sequence[str]) -> Iterator[tuple[str, Callable[[Symbols], int]]]:
    """The features that are tried, simplest first."""
    if few := len(symbols) <= MOST_SYMBOLS:
        for s in symbols:
            yield f"the number of {s}", lambda string, s=s: string.count(s)
    yield "the longest run of one symbol", longest_run
    for s in symbols if few else ():
        yield f"the longest run of {s}", lambda string, s=s: longest_run(string, s)
        yield (
            f"the position of the last {s}",
            lambda string, s=s: len(string) - string[::-1].index(s) if s in string else 0,
        )
    for s, first in itertools.permutations(symbols, 2) if few else ():
        yield (
            f"the number of {s} after the first {first}",
            lambda string, s=s, first=first: string[string.index(first) :].count(s) if first in string else 0,
        )
    yield "the smallest period", smallest_period


def _halves(strings: Sequence[tuple[T, bool]], seed: int, name: str) -> tuple[list[tuple[T, bool]], ...]:
    """Two halves with equally many of both kinds."""
    rng, halves = stream(seed, "explain", name), ([], [])
    for kind in (True, False):
        group = [each for each in strings if each[1] == kind]
        for number, index in enumerate(rng.permutation(len(group)).tolist()):
            halves[number % 2].append(group[index])
    return halves


def telling_feature(strings: Mapping[Symbols, bool], seed: int) -> Feature | None:
    """The simplest feature with a threshold that tells failing from right strings; None if none does well enough.

    It is chosen on one half of the strings and scored on the other. ``strings`` says which are right. One that tells
    no more than that longer strings fail is none: it has to tell failing from right ones of the same length, too.
    """
    halves = _halves(list(strings.items()), seed, "features")
    known, held = ([(string, not right) for string, right in half] for half in halves)
    failing = sum(fails for _, fails in held)
    if min(failing, len(held) - failing) < LEAST:
        return None
    fails, found = np.array([fails for _, fails in known]), []
    sizes = np.array([len(string) for string, _ in known])
    mixed = [here for n in np.unique(sizes) if 0 < fails[here := sizes == n].mean() < 1]
    if not mixed:
        return None
    for name, value in features_of(sorted({symbol for string in strings for symbol in string})):
        values = np.array([int(value(string)) for string, _ in known])
        for threshold in np.unique(values)[:-1].tolist():
            over = values > threshold
            share = _balanced(over, fails)
            above, score = share >= 0.5, max(share, 1 - share)
            if score >= WANTED and np.mean([_balanced(over[here] == above, fails[here]) for here in mixed]) >= CLEAR:
                found.append((score, name, value, above, threshold))
    if not found:
        return None
    most = max(score for score, *_ in found)
    name = next(name for score, name, *_ in found if score >= most - CLOSE)
    _, name, value, above, threshold = max((each for each in found if each[1] == name), key=lambda each: each[0])
    told = [((value(string) > threshold) == above) == fails for string, fails in held]
    both = [sum(ok for ok, (_, fails) in zip(told, held, strict=True) if fails == kind) for kind in (True, False)]
    side = f"where {name} is {'above' if above else 'at most'} {threshold}"
    feature = Feature(side, failing, both[0], len(held) - failing, both[1])
    return feature if feature.balanced >= WANTED else None


def _balanced(says: ndarray, fails: ndarray) -> float:
    """The mean of the shares of failing strings that are said to fail, and of right ones that are not."""
    return float((says[fails].mean() + (~says[~fails]).mean()) / 2)


Tokens = list[tuple[frozenset[str], bool]]
"""What holds of each token, and whether it is right."""
WHERE, OR, DUE = "where ", " or ", " is due"
ONE_OF = (("where the column is ", ""), ("where the column before is ", ""), (WHERE, DUE))
"""How facts begin and end of which one of two may tell more than each."""


@cache
def _values(name: str) -> tuple[str, list[str], str]:
    """The beginning of such a fact, what varies in it, one or two, and its end; nothing varies in others."""
    for start, end in ONE_OF:
        if name.startswith(start) and name.endswith(end):
            return start, name.removeprefix(start).removesuffix(end).split(OR), end
    return name, [], ""


def either(one: str, other: str) -> str:
    """That one of two facts holds; empty where they differ in more than in what varies, or are more than two."""
    (start, first, end), (begins, second, ends) = _values(one), _values(other)
    alike = (start, end, 1, 1) == (begins, ends, len(first), len(second))
    return f"{start}{OR.join(sorted(first + second))}{end}" if alike else ""


def holds(name: str, facts: Collection[str]) -> bool:
    """Whether a fact, or one of two, is among those of a token."""
    return not _any_of(name).isdisjoint(facts)


@cache
def _any_of(name: str) -> frozenset[str]:
    """A fact, and each of two."""
    start, values, end = _values(name)
    return frozenset([name, *(f"{start}{value}{end}" for value in values)])


def _one_of_two(tokens: Tokens) -> Tokens:
    """The tokens, of which one of two facts may hold, too: of such as occur in wrong ones."""
    wrong = sorted({fact for facts, right in tokens if not right for fact in facts})
    pairs = [pair for two in itertools.combinations(wrong, 2) if (pair := either(*two))]
    return [(facts | {pair for pair in pairs if holds(pair, facts)}, right) for facts, right in tokens]


def telling_nearby(tokens: Tokens, seed: int, own: Collection[str] = ()) -> tuple[Nearby, ...]:
    """What holds more often of wrong tokens than of right ones, the least likely by chance first; at most `MOST_NEAR`.

    Each is chosen on one half, corrected for all that were tried, and tested again on the other; its counts are of all
    tokens. Where none is found so, one is chosen on all tokens, by a stricter test. What tells most among the tokens of
    which it holds is told with it, in the task's ``own`` words if these tell anything, else by what the token follows
    from, else also by what is due, one of two each; in its place, where it holds of nearly all of these wrong ones and
    of no other token. The next one is looked for among the others; the first two are told as one where they differ only
    in a column or token.
    """
    known, held = _halves(tokens, seed, "nearby")
    found: list[Nearby] = []

    def nearby(name: str, some: Tokens) -> Nearby:
        sides = [[holds(name, facts) for facts, right in some if right == kind] for kind in (False, True)]
        return Nearby(name, sum(sides[0]), len(sides[0]), sum(sides[1]), len(sides[1]))

    def p_of(each: Nearby) -> float:
        return surprise(each.wrong, each.wrong_n, each.right, each.right_n)

    def clearest(known: Tokens, held: Tokens, only: Collection[str] | None = None) -> str:
        """The name of what tells them, if anything does."""
        tried = {fact for facts, right in known if not right for fact in facts if only is None or fact in only}
        counted = [nearby(fact, known) for fact in sorted(tried)]
        if not counted or counted[0].wrong_n < LEAST or not counted[0].right_n:
            return ""
        by_chance = [
            (p_of(each), each.right / each.right_n - each.wrong / each.wrong_n, each.name not in own, each.name)
            for each in counted
        ]
        p, *_, best = min(by_chance)
        return best if p * len(counted) < SURE and p_of(nearby(best, held)) < SURE else ""

    def strongest() -> str:
        """The name of what all tokens together tell, if it is clearly no chance."""
        tried = sorted({fact for facts, right in tokens if not right for fact in facts})
        by_chance = [(p_of(each), each.name not in own, each.name) for each in (nearby(fact, tokens) for fact in tried)]
        p, _, best = min(by_chance, default=(1.0, True, ""))
        return best if p * len(tried) < CERTAIN else ""

    def among(some: Tokens, name: str, *, has: bool = True) -> Tokens:
        return [each for each in some if holds(name, each[0]) == has]

    def narrowed(near: Nearby) -> Nearby:
        """With what tells most of its tokens, or that alone."""
        some, other = among(known, near.name), among(held, near.name)
        pairs = _one_of_two(some)
        seen = {fact for facts, _ in pairs for fact in facts}
        ways = ((some, own), (pairs, {fact for fact in seen if not fact.endswith(DUE)}), (pairs, seen))
        names = filter(None, (clearest(one, other, only) for one, only in ways))
        also = next((each for name in names if (each := nearby(name, among(tokens, near.name))).most), None)
        if also is None:
            return near
        alone = nearby(also.name, tokens)
        implied = (alone.wrong, alone.right) == (also.wrong, also.right)
        return alone if implied and also.wrong >= NARROW * near.wrong else replace(near, also=(also,))

    def in_own_words(near: Nearby) -> Nearby:
        """What tells as much in the task's own words, if these do."""
        name = clearest(known, held, own)
        other = narrowed(nearby(name, tokens)) if name else near
        (wrong, right), (wrong_own, right_own) = (
            [sum(each.holds(facts) for facts, ok in tokens if ok == kind) for kind in (False, True)]
            for each in (near, other)
        )
        whole = {each.name for each in (other, *other.also)} <= {*own}
        return other if whole and wrong_own >= wrong and right_own <= right else near

    for number in range(MOST_NEAR):
        # Without one that both halves show, one that all tokens show clearly.
        best = clearest(known, held) or (strongest() if not number else "")
        if not best:
            break
        near = nearby(best, tokens)
        if not found or near.wrong * near.right_n >= OFTEN * near.right * near.wrong_n:
            found.append(in_own_words(narrowed(near)))
        known, held = (among(half, best, has=False) for half in (known, held))
    if len(found) > 1 and not found[0].also and not found[1].also and (name := either(found[0].name, found[1].name)):
        found[:2] = [nearby(name, tokens)]
    return tuple(found)


def telling_exactly(tokens: Tokens, own: Collection[str]) -> Nearby | None:
    """What holds of all wrong tokens and of no right one, clearly not by chance: first in the task's ``own`` words."""
    wrong, right = ([facts for facts, ok in tokens if ok == kind] for kind in (False, True))
    if len(wrong) < LEAST or not right:
        return None
    tried = {fact for facts in wrong for fact in facts}
    only = frozenset.intersection(*wrong).difference(*right)
    if surprise(len(wrong), len(wrong), 0, len(right)) * len(tried) >= CERTAIN:
        return None
    name = next((fact for fact in own if fact in only), min(only, default=""))
    return Nearby(name, len(wrong), len(wrong), 0, len(right)) if name else None
