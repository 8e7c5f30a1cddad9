"""Why systems fall beyond training: ids that were never trained, then the distance in ids to what is needed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

import numpy as np

from lengthwise.core.config import canonical_json
from lengthwise.core.errors import LengthwiseError, listed
from lengthwise.core.rng import stream
from lengthwise.core.table import rounded
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES, PositionScheme, scheme_with_ids
from lengthwise.positions.structure import spans
from lengthwise.report.summary import (
    MOST_NAMED,
    RIGHT,
    WIDE_RANGE,
    WRONG,
    SystemSummary,
    at_ends,
    chance,
    fallen_seeds,
    leads,
    median_rates,
    rate_of,
    trained_low,
)
from lengthwise.report.words import setting_text, value_text
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.values import spoken

PLACED = 0.8
"""Share of first mistakes from which on it is said where in the answer they are."""
REMEMBERED = 4096
"""Tasks and schemes whose ids and structure are remembered."""
TRAINED = 2048
"""Strings of the longest training length whose ids stand for those of training."""
Needs = tuple[tuple[int, int], ...]
"""Of each generated token the least and the most ids to the farthest token that it needs, over strings."""
MANY = 1 << 16
"""Ids for a scheme that has too few for the lengths that are asked for."""


@dataclass(frozen=True)
class Distance:
    """How far back, in ids, a system needs a token where its median falls, or else at its longest test."""

    system: SystemSummary
    length: int
    """The shortest length beyond training at which fewer than half of the strings are right, or else the longest."""
    needed: int
    trained: int
    """The farthest in training, under the ids that training draws."""
    there: tuple[int, ...]
    """Of each fitted seed the first mistakes of that length at tokens that need one farther back than `trained`."""
    mistakes: tuple[int, ...]
    """All of them that were recorded."""
    share: float
    """Of the tokens of the answer that need one, how many are such."""
    jumps: bool
    """Whether `trained` is a distance over a jump that training draws."""

    @property
    def trained_text(self) -> str:
        """The farthest in training."""
        return f"{self.trained}{' with jumps' * self.jumps}"

    @property
    def tested(self) -> bool:
        """Whether first mistakes can tell: some were recorded, and not all tokens are such."""
        return self.share < 1 and bool(sum(self.mistakes))

    @property
    def far(self) -> bool:
        """Whether it is farther than in training."""
        return self.needed > self.trained

    @property
    def near(self) -> bool:
        """Whether in every seed most first mistakes are at other tokens."""
        pairs = [(there, every) for there, every in zip(self.there, self.mistakes, strict=True) if every]
        return bool(pairs) and all(2 * there < every for there, every in pairs)

    @property
    def place(self) -> tuple[str, int, int]:
        """Where in the answer four of five first mistakes are, or more, or nothing; how many, and of how many."""
        scores = [score for cell in self.system.cells if cell.length == self.length for score in cell.scores]
        tokens = [(score.first_error_at, score.tokens_total / score.n) for score in scores if score.tokens_total]
        found = [4 * at / many for first, many in tokens for at in first]
        places = {
            "stop too early or too late": sum(score.first_error.get("eos", 0) for score in scores),
            "are in the first quarter of the answer": sum(part < 1 for part in found),
            "are in the last quarter of the answer": sum(part >= 3 for part in found),
        }
        every = sum(sum(score.first_error.values()) for score in scores)
        return next(((place, n, every) for place, n in places.items() if n >= max(1, PLACED * every)), ("", 0, every))

    @property
    def predicted(self) -> bool:
        """Whether that predicts a fall, and first mistakes agree in every seed: more are there than tokens are.

        Where all tokens are such, most.
        """
        least = self.share if self.share < 1 else 0.5
        pairs = zip(self.there, self.mistakes, strict=True)
        return self.far and all(there > least * every for there, every in pairs if every)


def why(
    order: Sequence[SystemSummary], told: Sequence[SystemSummary] = (), without: Sequence[SystemSummary] = ()
) -> list[tuple[list[SystemSummary], str]]:
    """Why systems fall that are compared with each other and in order: those of each reason, or of each evidence.

    Each is in one, but in none where what it is ``told`` of is all that is known. ``without`` are those of which theory
    has no program.
    """
    falls = [one for one in order if _falls(one)]
    slight = [one for one in falls if _lowest(one) >= RIGHT - WIDE_RANGE]
    left = _but(falls, slight)
    new = {id(one): says for one in left if (says := _never_trained(one))}
    known = {id(one.system): one for one in distances(order)} if falls else {}
    far = [its for one in left if id(one) not in new and (its := known.get(id(one))) and its.predicted
           and len(fallen_seeds(one)) == len(one.fitted)]  # fmt: skip
    left = [one for one in _but(left, [its.system for its in far]) if id(one) not in new]
    alone = {id(one): found for one in left if (found := one_setting(one, order))}
    left = [one for one in left if id(one) not in alone]
    theory = [one for one in left if any(one is other for other in without)]
    left = _but(left, theory)
    evidence = {id(one): _evidence(one, known.get(id(one))) for one in falls}

    def beside(one: SystemSummary) -> str:
        return evidence[id(one)] * (not evidence[id(one)].startswith(NONE_FAR))

    told_before = {"", AT_ENDS, AT_NEAR}
    too = [
        its.system for its in known.values() if its.far and not any(its.system is one for one in _but(falls, slight))
    ]
    groups = [
        *(([one for one in falls if new.get(id(one)) == says], says) for says in dict.fromkeys(new.values())),
        *(([its.system for its in some], _too_far(some, too)) for some in (
            [its for its in far if its.tested], [its for its in far if not its.tested]
        ) if some),
        *((some := [one for one in falls if (alone.get(id(one), ("",))[0], beside(one)) == each],
           _setting_of([alone[id(one)] for one in some]) + "; " * bool(each[1]) + _shared(each[1], some, known))
          for each in dict.fromkeys((alone[id(one)][0], beside(one)) for one in falls if id(one) in alone)),
        (theory, "perhaps since no program for such a model does it at every length (theory)"),
        *((some, _shared(each, some, known)) for each in (AT_ENDS, AT_NEAR, *sorted({*evidence.values()} - told_before))
          if (some := [one for one in left if evidence[id(one)] == each])),
        (slight, f"too small a fall to explain (no seed below {rounded(min(map(_lowest, slight), default=1.0))})"),
        (_but([one for one in left if not evidence[id(one)]], told), "not known"),
    ]  # fmt: skip
    return [group for group in groups if group[0]]


def _but(systems: Sequence[SystemSummary], others: Sequence[SystemSummary]) -> list[SystemSummary]:
    return [one for one in systems if not any(one is other for other in others)]


def named(systems: Sequence[SystemSummary], most: int = MOST_NAMED) -> str:
    """Their names, of more than ``most`` the first, with how many seeds fall where not all do."""
    names = list[str]()
    for one in systems if len(systems) <= most else systems[: most - 1]:
        fallen = len(fallen_seeds(one))
        names.append(one.label + f" ({fallen} of {len(one.results)} seeds)" * (fallen < len(one.fitted)))
    return spoken([*names, *[f"{len(systems) - len(names)} more"] * (len(names) < len(systems))])


def _too_far(found: Sequence[Distance], too: Sequence[SystemSummary]) -> str:
    """That it may be distance, with an example, the first mistakes that say so, and who needs that ``too``."""
    first, there, mistakes = found[0], sum(sum(one.there) for one in found), sum(sum(one.mistakes) for one in found)
    ids = f"{first.needed} ids back at length {first.length}, at most {first.trained_text} in training"
    same = all((one.needed, one.length, one.trained) == (first.needed, first.length, first.trained) for one in found)
    told = f"{there:,} of {mistakes:,} first mistakes of all seeds are at such tokens" if first.tested else "not tested"
    who = too[0].label if len(too) == 1 else f"{len(too)} others"
    told += f"; {who} need{'s' * (len(too) == 1)} one, too, and hardly fall{'s' * (len(too) == 1)}" * bool(too)
    token = f"a token {ids if same else 'farther back than in training'} ("
    return f"perhaps since {'it needs' if len(found) == 1 else 'they need'} {token}{told})"


def _setting_of(alone: Sequence[tuple[str, str, str, str]]) -> str:
    """That it may be the one setting in which these differ from another, which does not fall."""
    other, setting, value, its = alone[0]
    settings = spoken(list(dict.fromkeys(each[1] for each in alone)))
    if len(alone) > 1:
        return f"perhaps for the one setting in which each differs from {other}, which does not fall ({settings})"
    return f"perhaps since {setting} is {value}: with {its} it is {other}, which does not fall"


AT_ENDS, AT_NEAR, NONE_FAR = "ends", "near", "none"
"""Evidence of a fall: ends are wrong, first mistakes are near, no token is farther back than in training."""


def _evidence(system: SystemSummary, its: Distance | None) -> str:
    if at_ends(system):
        return AT_ENDS
    return "" if its is None else AT_NEAR * its.near if its.far else NONE_FAR + its.place[0]


def _shared(evidence: str, systems: Sequence[SystemSummary], known: Mapping[int, Distance]) -> str:
    """What is known of all of these, which have the same evidence, in words."""
    if not evidence or evidence == AT_ENDS:
        return at_ends(*systems) * bool(evidence)
    found, single = [known[id(one)] for one in systems], len(systems) == 1
    at = f"first mistakes at {spoken([*map(str, sorted({one.length for one in found}))])}"
    if evidence.startswith(NONE_FAR):
        there, every = sum(one.place[1] for one in found), sum(one.place[2] for one in found)
        where = f"; {there:,} of {every:,} {at} {found[0].place[0]}" * bool(there)
        return f"{'it needs' if single else 'they need'} no token farther back than in training{where}"
    every, there = sum(sum(one.mistakes) for one in found), sum(sum(one.there) for one in found)
    need, err = ("it needs", "it errs") if single else ("they need", "they err")
    return f"what {need} where {err} first was as near in training ({every - there:,} of {every:,} {at}, of all seeds)"


def one_setting(system: SystemSummary, order: Sequence[SystemSummary]) -> tuple[str, str, str, str] | None:
    """One that does not fall and differs from the system in one setting alone, which, and both values; or None."""
    for one in order:
        if one.cells and not fallen_seeds(one) and same_task(one, system) and leads(one, system):
            keys = {key for key in {*one.flat, *system.flat} if one.flat.get(key) != system.flat.get(key)}
            keys = {key for key in keys if not key.startswith("evaluation.")}
            if len(keys) == 1 and not keys <= {"scheme.name", "encoding.name"}:  # positions, which are what is compared
                (key,) = keys
                mine, other = (value_text(of.flat.get(key), key) for of in (system, one))
                return one.label, setting_text(key), mine, other
    return None


def distances(order: Sequence[SystemSummary]) -> list[Distance]:
    """Those of these systems, where they are known."""
    found = list[Distance]()
    for one in order:
        beyond = {n: right for n, right in median_rates(one).items() if n > one.max_length}
        if not beyond:
            continue
        wrong = [n for n, right in beyond.items() if right < _mostly(one, n)]
        length = min(wrong, default=max(beyond))
        tokens, most = _tokens(one, length), needed_back(one, one.max_length, training=True)
        if tokens is not None and most is not None:
            cells = [cell.scores for cell in one.cells if cell.length == length]
            first = [[at for score in scores for at in score.first_error_at] for scores in zip(*cells, strict=True)]
            some = [(low > most, high > most) for low, high in tokens if high >= 0]
            if any(low is not high for low, high in some):  # it hangs on the string, of which no more is recorded
                first = []
            there = (sum(at < len(tokens) and tokens[at][0] > most for at in seed) for seed in first)
            share = sum(low for low, _ in some) / max(len(some), 1)
            needed = max(high for _, high in tokens)
            scheme, mistakes = one.experiment["scheme"], (*map(len, first),)
            jumps = "pose" in (scheme["name"], scheme.get("draw")) and most > (needed_back(one, one.max_length) or 0)
            found.append(Distance(one, length, needed, most, (*there,), mistakes, share, jumps))
    return found


def _mostly(system: SystemSummary, length: int) -> float:
    """The accuracy from which most strings of a length are right, and not by chance."""
    guess = max((chance(system, length, cell.axes) or 0.0 for cell in system.cells if cell.length == length), default=0)
    return max(WRONG, guess + WIDE_RANGE * bool(guess))


def distances_text(order: Sequence[SystemSummary]) -> str:
    """For the author: how far back each system needs a token; empty where it is unknown of all."""
    same = dict[str, list[str]]()
    for one in distances(order):
        says = f"{one.needed} at {one.length}, in training up to {one.trained_text}"
        same.setdefault(says, []).append(one.system.label)
    said = [f"{says} ({listed(names)})" for says, names in same.items()]
    return f"ids back to the farthest token needed: {'; '.join(said)}" * bool(said)


def _falls(system: SystemSummary) -> bool:
    """Whether a seed is not right to its longest test beyond training, and the system lower than at trained lengths."""
    beyond = {n: right for n, right in median_rates(system).items() if n > system.max_length}
    low = trained_low(system)
    lower = low is None or (bool(beyond) and beyond[min(beyond)] < rate_of(low) - WIDE_RANGE)
    return bool(beyond) and lower and bool(fallen_seeds(system))


def _lowest(system: SystemSummary) -> float:
    """The least that a seed has right beyond training."""
    return min(score.rate() for cell in system.cells if cell.length > system.max_length for score in cell.scores)


def _never_trained(system: SystemSummary) -> str:
    """From where a table falls, and from where its ids are new; empty where it does not fall there."""
    rates, end = median_rates(system), system.max_length
    if system.known_task is None:
        return ""
    parts = (canonical_json(system.experiment[part]) for part in ("task", "scheme", "encoding"))
    known, first = _untrained(*parts, end, tuple(sorted(n for n in rates if n > end)))
    if not first or rates[first] >= WRONG:
        return ""
    start = min(n for n in rates if n > end and rates[n] < RIGHT)
    late = f"not known before length {first}; from there on " * (start < first)
    return f"{late}perhaps since ids above {known}{f', from length {first} on,' * (not late)} were never trained"


@lru_cache(maxsize=REMEMBERED)
def _untrained(task: str, scheme: str, encoding: str, trained: int, lengths: tuple[int, ...]) -> tuple[int, int]:
    """The largest id that training reads from a learned table, and the first of these lengths that has a larger one."""
    specs, none = (json.loads(scheme), json.loads(encoding)), (0, 0)
    if not (SCHEMES.is_built_in(specs[0]["name"]) and ENCODINGS.is_built_in(specs[1]["name"])):
        return none
    with suppress(LengthwiseError):
        built, ids, rows = TASKS.build(json.loads(task)), SCHEMES.build(specs[0]), 8
        if not ENCODINGS.build(specs[1]).has_table:
            return none

        def largest(length: int, training: bool) -> int:
            rng, most = stream(0, "why", "ids", length), 0
            draws = [None] * rows if training else [None, *built.test_layouts(length)]
            for layout in draws:
                batch = built.batch(length, TRAINED // rows if training else rows, rng, layout)
                given = (ids if training else ids.for_evaluation()).assign(batch.places, built.levels, rng)
                levels = [at for at, kind in enumerate(ids.kinds(built.levels)) if kind == "position"]
                most = max(most, int(given[:, : int(np.flatnonzero(batch.scored)[-1]), levels].max(initial=0)))
            return most

        known = largest(trained, training=True)
        return known, next((length for length in lengths if largest(length, training=False) > known), 0)
    return none


def same_task(one: SystemSummary, other: SystemSummary) -> bool:
    """Whether two systems learn one task with the same settings."""
    return canonical_json(one.experiment["task"]) == canonical_json(other.experiment["task"])


def needed_back(system: SystemSummary, length: int, *, training: bool = False, scheme: str = "") -> int | None:
    """How many ids back the farthest token needed is at a length, under the system's ids or those of a scheme.

    In training these are ids that training draws. None where it is unknown, and of a task without parents.
    """
    tokens = _tokens(system, length, training=training, scheme=scheme)
    return None if tokens is None else max(most for _, most in tokens)


def _tokens(system: SystemSummary, length: int, *, training: bool = False, scheme: str = "") -> Needs | None:
    """As `needed_back`, for each generated token the least and the most of all strings."""
    if not _uses_ids(system):
        return None
    if system.known_task is None:
        return _stored(system, length) if not scheme and system.experiment["scheme"]["name"] == "sequential" else None
    spec = canonical_json({"name": scheme} if scheme else system.experiment["scheme"])
    return _needed(canonical_json(system.experiment["task"]), spec, length, training)


def _stored(system: SystemSummary, length: int) -> Needs | None:
    """As `_tokens` of plain ids, of a user's own task; its file has the farthest of all tokens, so the least is 0."""
    found = None if system.task is None else system.task.structure
    if found is None or length not in found.lengths:
        return None
    span = next(row.spans for row in found.rows if "sequential" in row.schemes)[found.lengths.index(length)]
    return None if span is None else ((0, span),)


def _uses_ids(system: SystemSummary) -> bool:
    name = system.experiment["encoding"]["name"]
    return name not in ENCODINGS or ENCODINGS.get(name).uses_ids


@lru_cache(maxsize=REMEMBERED)
def _needed(task: str, scheme: str, length: int, training: bool) -> Needs | None:
    with suppress(LengthwiseError):
        built, ids = TASKS.build(json.loads(task)), SCHEMES.build(json.loads(scheme))
        try:
            return _farthest(built, ids if training else ids.for_evaluation(), length, training)
        except LengthwiseError:
            return _farthest(built, scheme_with_ids(ids.name, MANY).for_evaluation(), length, training)
    return None


def _farthest(task: Task, ids: PositionScheme, length: int, training: bool) -> Needs | None:
    """Of each generated token how far back it needs one, the least and the most of all strings and layouts.

    It is -1 for a token without parents. None of a task without any.
    """
    low, high, rng = list[int](), list[int](), stream(0, "why", "needed", length)
    levels = [at for at, kind in enumerate(task.levels) if kind == "position"] if ids.uses_places else [0]
    for layout in (None, *(() if training else task.test_layouts(length))):
        batch = task.batch(length, TRAINED // 4 if training else 64, rng, layout)
        if not (batch.parents >= 0).any():
            return None
        # Ids that are drawn anew at test, too, stretch all distances alike.
        same = ids.equals_places and ids.for_evaluation() == ids
        given = (batch.places if same else ids.assign(batch.places, task.levels, rng))[:, :, levels]
        far = np.full((batch.size, batch.tokens), -1)
        far[:, np.flatnonzero(batch.scored)] = spans(batch, batch.parents, given)
        far = np.where((batch.parents >= 0).any(axis=2), far, -1)[:, batch.prompt_length :]
        low = [min(two) for two in zip_longest(low, far.min(axis=0).tolist(), fillvalue=length**2)]
        high = [max(two) for two in zip_longest(high, far.max(axis=0).tolist(), fillvalue=-1)]
    return tuple(zip(low, high, strict=True))
