"""What breaks, fault by fault: which strings fail, what their first mistakes share, why, and one of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lengthwise.explanation.common_cause import DUE, UNKNOWN, CommonCause
from lengthwise.explanation.failures import Failures, first_break
from lengthwise.explanation.kinds import TOLD, WeakKind, lengths_of, right_again
from lengthwise.explanation.mistakes import Failure
from lengthwise.explanation.verdict import Share, Verdict
from lengthwise.tasks.values import spoken, with_values

RANDOM, EDITED = "random strings", "edited strings"
MOST_OTHERS = 1
"""Further kinds that are named, of each cause."""
ROOM = 68
"""Columns of a line: the kinds after these are named, too, where they fit into one."""
NUMBER = {
    "stops one digit early, where 0 is due": " Only a leading zero is missing then: the number is right.",
    "writes 0 where the answer ends": " If it ends then, the number is right: it has one more leading zero.",
}
"""What mistakes at the end of a number, written ones first, leave of it."""
LETTERS = "ABCDEFGH"
"""Of the faults: numbers would be taken for digits."""


@dataclass(frozen=True)
class Fault:
    """One way in which a model fails, with all that is known of it, in sentences."""

    strings: str
    """Which strings fail, as "both numbers have leading zeros" or "random strings"."""
    kind: str
    """The same as `lengthwise.hf.dataset` draws them; empty for random and edited strings."""
    wrong: str
    """How many, of how many, at which lengths."""
    by_length: tuple[tuple[int, Share], ...]
    """Right ones at all lengths that were asked."""
    found: tuple[str, ...]
    """Which of them fail, or how that was found."""
    mistakes: tuple[str, ...]
    """What the first wrong tokens share."""
    why: tuple[str, ...]
    """The cause as far as it was tested, or that it is not known."""
    tested: tuple[str, ...]
    """What else was tested of them."""
    example: Failure | None
    """One of the strings."""
    brief: str = ""
    """The same in fewer words; of random strings, where it first goes wrong."""
    by_values: bool = False
    """Whether it is since they have values that make any strings fail, at least in part."""
    counted: str = ""
    """Which of several values the counts are of, as ``strings``; empty where they are of all."""

    @property
    def first(self) -> int | None:
        """The first length that breaks; None without, and of random and edited strings, which the answer has anyway."""
        return None if self.strings in (RANDOM, EDITED) else lengths_of(self.by_length)[1]

    @property
    def fails(self) -> str:
        """Which strings fail, and at which length first."""
        return f"fails where {self.counted or self.strings}, first at length {self.first}"

    @property
    def heading(self) -> str:
        """Which strings fail, as a heading."""
        return self.strings[:1].upper() + self.strings[1:]

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """What a table says of it: which strings, how many are wrong, to which length they are right, and the break."""
        held, broken = lengths_of(self.by_length)
        asked = min((n for n, share in self.by_length if share.n), default=0)
        right = f"{held}" if held is not None else f"under {asked}" if asked > 1 else "none"
        breaks = "none" if broken is None else f"{broken}"
        return self.strings, self.wrong, right, breaks


def faults_of(failures: Failures, train: int) -> list[Fault]:
    """The worst kinds that fail, values that make strings fail, and random strings or else edited ones.

    A model that is right wherever it was asked has one that says what its few wrong strings share, if anything.
    """
    verdict, common, kinds = Verdict(failures.rows, train), failures.common, _told(failures)
    letter = LETTERS[_first_by_values(failures)]
    found = [_of_kind(each, failures, letter) for each in kinds]
    if found and failures.feature is not None:
        found[0] = replace(found[0], found=(failures.feature.line,))
    if common is not None:
        values = Fault(
            common.strings, common.strings, common.wrong, common.by_length, (), (),
            (common.does,),
            (*filter(None, [right_again(common.by_length)]), *[common.control] * (common.control != common.does),
             *common.found), common.example,
            counted=with_values(common.what, [common.worst.name], common.worst.where),
        )  # fmt: skip
        found.insert(LETTERS.index(letter), values)
    broken = verdict.broken()
    if broken is not None or not verdict.learned:
        return [*found, _of_random(failures, verdict, letter)]
    if not found and failures.within is not None and failures.within.lines:
        found = [replace(at_random(failures), mistakes=tuple(failures.within.lines), example=failures.example)]
    return found


def left_of(does: str) -> str:
    """What is right still of a number, written ones first, of which it is said what a model does; empty for others."""
    return next((says for what, says in NUMBER.items() if does.endswith(f"t {what}.")), "")


def _told(failures: Failures) -> list[WeakKind]:
    """Kinds that are told in full: of the worst ones, those that are not due to the values, or fail within training."""
    common, worst = failures.common, failures.kinds[:TOLD]
    if common is None:
        return [*worst]
    due = {kind.kind for kind in worst if common.alike(kind.mistake) and {*common.hows(kind.kind)} == {DUE}}
    return [kind for kind in worst if kind.kind not in due or kind.length <= failures.train]


def _first_by_values(failures: Failures) -> int:
    """Before how many kinds values are told that are a cause: those that fail within training, not by the values."""
    common, kinds = failures.common, _told(failures)
    if common is None or not any(each.caused for each in common.tests):
        return len(kinds)
    after = (common.causes(each.kind) or each.length > failures.train for each in kinds)
    return next((number for number, later in enumerate(after) if later), len(kinds))


def _of_kind(kind: WeakKind, failures: Failures, letter: str) -> Fault:
    """A kind that fails; ``letter`` is that of the values, which may be why."""
    (earlier, parts), common = _parts(failures, kind.kind), failures.common
    said = _said(common, kind.kind, letter)
    caused = common is not None and common.causes(kind.kind) and common.alike(kind.mistake)
    others = list[str]()
    if common is not None and common.causes(kind.kind) and not caused:  # it is another manner of mistake
        said = [f"Others of them fail {line[0].lower()}{line[1:]}" for line in said]
        at = next(each.length for each in common.of(kind.kind) if each.caused)
        others = [f"At length {at}, some are {next(one.how for one in common.of(kind.kind) if one.caused)} {letter}."]
    why = said if caused else kind.exact or earlier or [UNKNOWN]
    near = kind.where_of_these * (why == [UNKNOWN])
    brief = " ".join([*others, *(kind.does if others else [kind.brief]), *near]).strip()
    return Fault(
        kind.kind, kind.kind, kind.wrong, kind.by_length, (),
        (*others, *kind.does, *near), tuple(why),
        (*filter(None, [right_again(kind.by_length)]),
         *(line for line in (*kind.where * (not near), *earlier, *parts, *said) if line not in why)), kind.example,
        brief, caused,
    )  # fmt: skip


def _parts(failures: Failures, kind: str) -> tuple[list[str], list[str]]:
    """On which part of the prompt it depends whether strings of a kind, or random ones, fail: an earlier one, or else.

    That it depends on the wrong token's own part, too, goes without saying.
    """
    found = [each for each in failures.redrawn if each.kind == kind]
    earlier, others = ([each.cause for each in found if each.earlier is of] for of in (True, False))
    return earlier, others


def _said(common: CommonCause | None, kind: str, letter: str) -> list[str]:
    """Whether values are why strings of a kind, or random ones, fail, in a sentence, if that was tested."""
    line = common.said(kind, letter) if common is not None else ""
    return [line[:1].upper() + line[1:]] * bool(line)


def at_random(failures: Failures, at: Sequence[int] = ()) -> Fault:
    """Random strings, how many are wrong at some lengths, or at the longest; nothing more."""
    shares = dict(failures.by_length) | {row.length: row.random for row in failures.rows if row.random.n}
    wrong = ", ".join(f"{shares[n].wrong} at {n}" for n in at or [max(shares)])
    return Fault(RANDOM, "", wrong, tuple(sorted(shares.items())), (), (), (), (), None)


def _of_random(failures: Failures, verdict: Verdict, letter: str) -> Fault:
    """Random strings, or edited ones where these break and random ones do not."""
    (at, how), train = first_break(verdict), verdict.train
    if not verdict.learned:
        trained = [(row.length, row.random) for row in verdict.rows if row.length <= train and row.random.n]
        lines = failures.within.lines if failures.within is not None else []
        parts = [*itertools.chain(*_parts(failures, ""))] if failures.apart is not None else []
        where = failures.where[0] if failures.where and not failures.kinds else ()
        wrong = f"{verdict.trained.wrong} at {trained[0][0]}–{trained[-1][0]}"
        return Fault(
            RANDOM, "", wrong, tuple(trained), where, tuple(lines), (UNKNOWN,), tuple(parts),
            failures.example,
        )  # fmt: skip
    assert at is not None
    pool = failures.within if at <= train else failures.border
    lines = pool.lines if pool is not None else []
    rule = [failures.feature.line] if failures.feature else [failures.edited] if failures.edited else []
    hard = [(row.length, row.hard) for row in verdict.rows if row.hard.n]
    some = [(row.length, row.random) for row in verdict.rows if row.random.n] if how else hard
    beyond = [each for each in some if each[0] > train and each[1].breaks]
    worst = min(beyond or some, key=lambda each: (each[1].value, -each[0]))[0]
    told = {at, *(n for n, _ in beyond[:1]), worst}
    found = at_random(failures, sorted(told))
    if not how:
        wrong = ", ".join(f"{share.wrong} at {n}" for n, share in hard if n in told)
        found = replace(found, strings=EDITED, wrong=wrong, by_length=tuple(hard))
    moved, common = failures.moved, failures.common
    by_ids = moved is not None and (moved.to_blame or moved.absolute)
    said = [] if by_ids else _said(common, "", letter)
    by_values = bool(said) and common is not None and common.causes("")
    ids, (earlier, parts) = list(moved.cause) if moved is not None else [], _parts(failures, "")
    why = ids if by_ids else said if by_values else earlier or [UNKNOWN]
    tested = [*(line for line in (*earlier, *parts, *ids, *said) if line not in why), *_cliff(verdict)]
    return replace(
        found, found=tuple(rule[: not failures.kinds]), mistakes=tuple(lines), why=tuple(why), tested=tuple(tested),
        example=failures.example, by_values=by_values, brief=next(iter(pool.where if pool is not None else ()), ""),
    )  # fmt: skip


def _cliff(verdict: Verdict) -> list[str]:
    """Where it collapses after it broke, in a sentence."""
    if (found := verdict.cliff) is None:
        return []
    low, high = (row for row in verdict.rows if row.length in found)
    return [
        f"It collapses from {low.length} to {high.length}: {low.random.counts} random strings are right, then "
        f"{high.random.counts}."
    ]


def letters(faults: Sequence[Fault], kinds: Sequence[str]) -> tuple[str, str]:
    """Which of several faults are of these kinds, and which of others; nothing of a single one."""
    every = [
        (letter, each.kind) for letter, each in zip(LETTERS, faults, strict=False) if each.kind and len(faults) > 1
    ]
    of, others = ([letter for letter, kind in every if (kind in kinds) == same] for same in (True, False))
    return spoken(of), spoken(others)


def run_of(some: Sequence[str]) -> str:
    """Letters in few signs: "A, C", "A–C" or "A,B,D"."""
    run = "".join(some)
    return ", ".join(run) if len(run) < 3 else f"{run[0]}–{run[-1]}" if run in LETTERS else ",".join(run)


def others_named(failures: Failures, *, whole: bool) -> list[str]:
    """The kinds that fail besides, in a sentence for those that values cause, and for others.

    On the ``whole`` all by name, with the tests of those that are no fault of their own since values cause them.
    """
    told, common = {each.kind for each in _told(failures)}, failures.common
    some = [each for each in failures.kinds if each.kind not in told]
    same = [each.kind for each in common.tests if each.caused] if common is not None else []
    letter, found = LETTERS[_first_by_values(failures)], list[str]()
    for how, of in ((f"Due to {letter}, it", True), ("It", False)):
        kinds = [each for each in some if (each.kind in same) is of]
        some_of = kinds if whole else kinds[:MOST_OTHERS]
        names = [f"where {each.kind} ({each.share.wrong} wrong at {each.length})" for each in some_of]
        if more := kinds[len(some_of) :]:
            rest = [f"where {each.kind}" for each in more]
            short = len(spoken(rest)) <= ROOM
            names += rest if short else [f"in {len(more)} kind{'s' * (len(more) > 1)} more"]
        found += [f"{how} fails, too, {spoken(names)}."] * bool(names)
    due = [each.kind for each in failures.kinds[:TOLD] if whole and each.kind not in told]
    return [*found, *(f"Where {kind}: {line}" for kind in due for line in _said(common, kind, letter))]


def shared_cause(failures: Failures, faults: Sequence[Fault]) -> tuple[str, list[str]]:
    """Which faults have values as their cause, and that in a sentence for each; empty where none has."""
    named, common = [*zip(LETTERS, faults, strict=False)], failures.common
    of = {letter: each for letter, each in named if each.by_values}
    own = [letter for letter, each in named if common is not None and each.strings == common.strings]
    if common is None or not of:
        return "", []
    due: dict[str, list[str]] = {}
    for letter, each in of.items():
        due.setdefault(common.due(each.kind, own[0]), []).append(letter)
    names = ("" if len(of) == 1 else f"{spoken(some)} {'are' if len(some) > 1 else 'is'} " for some in due.values())
    said = ("; " if any("," in how for how in due) else ", ").join(map("".join, zip(names, due, strict=True)))
    return run_of([*of]), [f"{said[:1].upper()}{said[1:]}."]
