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
from lengthwise.core.rank import seed_far
from lengthwise.core.rng import stream
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES, PositionScheme, scheme_with_ids
from lengthwise.positions.structure import spans
from lengthwise.report.summary import (
    MOST_COMPARED,
    RIGHT,
    WIDE_RANGE,
    WRONG,
    SystemSummary,
    above,
    at_ends,
    chance,
    falling,
    layouts_of,
    median_rates,
    some_of,
)
from lengthwise.report.words import setting_text, value_text
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.values import spoken

UNKNOWN = "Not known why"
"""The beginning of the clause of systems of which neither ids nor distances say why they fall."""
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
    holds: bool
    """Whether there is no such length."""
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
    def far(self) -> bool:
        """Whether it is farther than in training."""
        return self.needed > self.trained

    @property
    def near(self) -> bool:
        """Whether in every seed most first mistakes are at other tokens."""
        pairs = [(there, every) for there, every in zip(self.there, self.mistakes, strict=True) if every]
        return bool(pairs) and all(2 * there < every for there, every in pairs)

    @property
    def predicted(self) -> bool:
        """Whether that predicts a fall, and first mistakes agree in every seed: more are there than tokens are.

        Where all tokens are such, most.
        """
        least = self.share if self.share < 1 else 0.5
        pairs = zip(self.there, self.mistakes, strict=True)
        return self.far and all(there > least * every for there, every in pairs if every)


def why(order: Sequence[SystemSummary], told: Sequence[SystemSummary] = (), *, short: bool = False) -> list[str]:
    """Why systems fall that are compared with each other and in order, as clauses; none where none falls.

    Of those of which it is ``told`` already it is not *not known*.

    First come ids that were never trained, then `distances` in ids, then one setting that alone tells a system from one
    that does not fall, then of whom none of these says why they fall. In ``short`` it is one clause with the counts of
    all, also of those that fall only slightly.
    """
    falls = [one for one in order if _falls(one)]
    untrained = {id(one): says for one in falls if (says := _never_trained(one))}
    rest = [one for one in falls if id(one) not in untrained]
    known = {id(one.system): one for one in distances(order)} if rest else {}
    predicted = [one for one in rest if id(one) in known and known[id(one)].predicted]
    left = [one for one in rest if not any(one is other for other in predicted)]
    alone = {id(one): found for one in left if (found := _one_setting(one, order))}
    unknown = [one for one in left if id(one) not in alone and not any(one is other for other in told)]
    slight = [one for one in order if falls and _slightly(one)]
    if short:
        by_ids = [one for one in left if any(one is other for other in told) and id(one) not in alone]
        late = any(UNKNOWN.lower() in says for says in untrained.values())
        new_ids = "at first for no known reason, then " * late + "since ids were never trained"
        settings = {f"its {setting} is {values.partition(' and ')[0]}" for _, setting, values in alone.values()}
        ways = (
            ([one for one in falls if id(one) in untrained], *[new_ids] * 2),
            (predicted, *["perhaps as a token is too far"] * 2),
            (by_ids, "for its ids, as said above", "for their ids, as said above"),
            ([one for one in left if id(one) in alone], f"perhaps as {' or '.join(sorted(settings))}",
             "perhaps for one setting"),
            (unknown, *["for no known reason"] * 2),
            (slight, *["only slightly"] * 2),
        )  # fmt: skip
        count, of = len(falls) + len(slight), sum(bool(one.cells) for one in order)
        named = of <= MOST_COMPARED
        said = [(falling(*some) if len(some) == 1 else str(len(some)), how if len(some) == 1 else of_all)
                for some, how, of_all in ways if some]  # fmt: skip
        how = f": {'; '.join(map(' '.join, said))}" if len(said) > 1 else "".join(f" {how}" for _, how in said)
        who = f"{count} of {of}" if count < of else "Both" if of == 2 else f"All {of}"
        if named and count == 1:
            who, how = falling(*falls), f"s,{how}"
        return [f"{who} fall{how}"] * bool(falls)
    return [
        *_grouped(falls, untrained), *_as_predicted([known[id(one)] for one in predicted]),
        *_right([one for one in known.values() if one.holds and one.system not in falls], slight, bool(predicted)),
        *_in_one_setting(left, alone), *_not_known(unknown, known),
    ]  # fmt: skip


def _grouped(systems: Sequence[SystemSummary], says: Mapping[int, str]) -> list[str]:
    same = dict[str, list[str]]()
    for one in systems:
        if id(one) in says:
            same.setdefault(says[id(one)], []).append(one.label)
    return [f"{some_of(names)} {each}" for each, names in same.items()]


def _right(holding: Sequence[Distance], slight: Sequence[SystemSummary], some_fall: bool) -> list[str]:
    """Who is mostly right, though distances predict a fall; or, where they predict that of others, as they say."""
    far = [one.system for one in holding if one.far]
    whole = [one.label for one in far if one not in slight]
    near = [one.system.label for one in holding if not one.far and one.system not in slight]
    said = [f"{some_of(whole)} need{'s' * (len(whole) == 1)} one farther back, too, without a fall"] * bool(whole)
    said += [f"{some_of(near)} need{'s' * (len(near) == 1)} none farther back"] * bool(near and some_fall)
    return said + [
        f"{some_of([one.label for one in some])} fall{'s' * (len(some) == 1)} only slightly{though}"
        for some, though in (
            ([one for one in slight if one in far], ", though one is needed farther back"),
            ([one for one in slight if one not in far], ""),
        ) if some
    ]  # fmt: skip


def _in_one_setting(left: Sequence[SystemSummary], alone: Mapping[int, tuple[str, str, str]]) -> list[str]:
    """Whom one setting alone tells from one that does not fall, those of the same other in one clause."""
    said = list[str]()
    for other in dict.fromkeys(other for other, _, _ in alone.values()):
        mine = [(falling(one), *alone[id(one)][1:]) for one in left if id(one) in alone and alone[id(one)][0] == other]
        each = some_of([f"{name} ({setting})" for name, setting, _ in mine])
        (name, setting, values), many = mine[0], len(mine) > 1
        one = f"{name} falls and {other} does not: they differ in {setting} alone ({values})"
        said.append(f"{each} fall and {other} does not: each differs from it in one setting alone" if many else one)
    return said


def _not_known(unknown: Sequence[SystemSummary], known: Mapping[int, Distance]) -> list[str]:
    """Of whom it is not known why they fall, with what is: that ends are wrong, or where first mistakes are."""
    ends = {id(one): found for one in unknown if (found := at_ends(one))}
    said = [f"{_unknown([one], '', '', '')}: {ends[id(one)]}" for one in unknown if id(one) in ends]
    kinds = dict[bool | None, list[SystemSummary]]()
    for one in (one for one in unknown if id(one) not in ends):
        its = known.get(id(one))
        kinds.setdefault(None if its is None or (its.far and not its.near) else its.far, []).append(one)
    trained = _already([known[id(one)] for one in kinds.get(True, [])])
    near = "no token farther back than in training"
    says = {True: ("errs", "err", trained), False: ("needs", "need", near), None: ("", "", "")}
    return [*said, *(_unknown(kinds[kind], *says[kind]) for kind in says if kind in kinds)]


def _already(found: Sequence[Distance]) -> str:
    """Where these err that need a token farther back than in training."""
    there, every = _counts(found)
    at = spoken([*map(str, sorted({one.length for one in found}))])
    mistakes = f"{every - there:,} of {every:,} first mistakes at {at}, of all seeds"
    return f"already at tokens whose distance was trained ({mistakes})"


def _as_predicted(predicted: Sequence[Distance]) -> list[str]:
    """Who falls as distances predict, with an example and the first mistakes that say so, where these can."""
    if not predicted:
        return []
    names, first, one = some_of([falling(one.system) for one in predicted]), predicted[0], len(predicted) == 1
    there, mistakes = _counts([one for one in predicted if one.share < 1])
    told = f"{there:,} of {mistakes:,} first mistakes of all seeds are at such tokens" if mistakes else "not tested"
    ids = f"{first.needed} ids back at length {first.length}, at most {first.trained_text} in training"
    many = f"they need a token farther back than in training ({first.system.label}: {ids})"
    how = f"it needs a token {ids}" if one else many
    return [f"{names} fall{'s' * one}, perhaps since {how} ({told})"]


def _counts(found: Sequence[Distance]) -> tuple[int, int]:
    """How many first mistakes are at tokens that need one farther back than in training, and of how many."""
    return sum(sum(one.there) for one in found), sum(sum(one.mistakes) for one in found)


def _unknown(systems: Sequence[SystemSummary], verb: str, plural: str, what: str) -> str:
    """That it is not known why these fall, and what they do; those of which single seeds do come last."""
    names = sorted(map(falling, systems), key=lambda name: name not in {one.label for one in systems})
    one = len(names) == 1 and (names[0] == systems[0].label or names[0].startswith("1 of "))
    who = f"it {verb}" if one else f"they {plural}"
    return f"{UNKNOWN} {some_of(names)} fall{'s' * one}" + f": {who} {what}" * bool(what)


def _one_setting(system: SystemSummary, order: Sequence[SystemSummary]) -> tuple[str, str, str] | None:
    """One that does not fall and differs from the system in one setting alone, which, and both values; or None."""
    for one in order:
        if one.cells and not _falls(one) and not _slightly(one) and same_task(one, system) and _leads(one, system):
            keys = {key for key in {*one.flat, *system.flat} if one.flat.get(key) != system.flat.get(key)}
            keys = {key for key in keys if not key.startswith("evaluation.")}
            if len(keys) == 1 and not keys <= {"scheme.name", "encoding.name"}:  # positions, which are what is compared
                (key,) = keys
                mine, other = (value_text(of.flat.get(key), key) for of in (system, one))
                return one.label, setting_text(key), f"{mine} and {other}"
    return None


def _leads(one: SystemSummary, other: SystemSummary) -> bool:
    mine, theirs = ({cell.length: [score.rate() for score in cell.scores] for cell in of.cells} for of in (one, other))
    return any(above(mine[n], theirs[n]) for n in mine.keys() & theirs.keys() if n > other.max_length)


def distances(order: Sequence[SystemSummary]) -> list[Distance]:
    """Those of the systems of the first one's task, where they are known."""
    found, tested = list[Distance](), [one for one in order if one.cells]
    for one in tested:
        beyond = {n: right for n, right in median_rates(one).items() if n > one.max_length}
        if not beyond or one.experiment["task"]["name"] != tested[0].experiment["task"]["name"]:
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
            found.append(Distance(one, length, not wrong, needed, most, (*there,), mistakes, share, jumps))
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
    """Whether it falls beyond training, and clearly below the cut: in its median, or in a seed below one half."""
    beyond = [cell for cell in system.cells if cell.length > system.max_length]
    medians = [right for n, right in median_rates(system).items() if n > system.max_length]
    seeds = (score.rate() for cell in beyond for score in cell.scores)
    return min(medians, default=1.0) < RIGHT - WIDE_RANGE or min(seeds, default=1.0) < WRONG


def _slightly(system: SystemSummary) -> bool:
    """Whether a seed is not right to its longest test, though it does not fall."""
    end = max((cell.length for cell in system.cells), default=0)
    return not _falls(system) and any(seed_far(one, 0, layouts=layouts_of(system))[0] < end for one in system.fitted)


def _never_trained(system: SystemSummary) -> str:
    """From where a table falls, and from where its ids are new; empty where it does not fall there."""
    rates, end = median_rates(system), system.max_length
    if system.known_task is None:
        return ""
    parts = (canonical_json(system.experiment[part]) for part in ("task", "scheme", "encoding"))
    known, first = _untrained(*parts, end, tuple(sorted(n for n in rates if n > end)))
    if not first or rates[first] >= WRONG:
        return ""
    ids = f"where ids above {known} begin, which were never trained"
    start = min(n for n in rates if n > end and rates[n] < RIGHT)
    return f"falls from {first}, {ids}" if start == first else f"falls from {start}, not known why; from {first}, {ids}"


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
