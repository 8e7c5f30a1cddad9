"""What breaks, fault by fault: which strings fail, what their first mistakes share, why, and one of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lengthwise.explanation.failures import AT_RANDOM, Failures, first_break
from lengthwise.explanation.kinds import TOLD, WeakKind, coverage
from lengthwise.explanation.mistakes import Failure
from lengthwise.explanation.verdict import Verdict
from lengthwise.tasks.values import spoken

UNKNOWN = "Not known."


@dataclass(frozen=True)
class Fault:
    """One way in which a model fails, with all that is known of it, in sentences."""

    strings: str
    """Which strings fail, as "where both numbers have leading zeros" or "random strings"."""
    kind: str
    """The same as `lengthwise.hf.dataset` draws them; empty for random and edited strings."""
    fails: tuple[str, ...]
    """How many, at which lengths."""
    mistakes: tuple[str, ...]
    """What the first wrong tokens share."""
    why: tuple[str, ...]
    """The cause as far as it was tested, or that it is not known."""
    example: Failure | None
    """One of the strings."""

    @property
    def heading(self) -> str:
        """Which strings fail, as a heading."""
        return self.strings[:1].upper() + self.strings[1:]

    def rows(self, *, alone: bool, whole: bool) -> dict[str, list[str]]:
        """What is said of it, by name; ``alone`` which strings fail, too, and of the example the ``whole`` string."""
        fails = [f"{self.heading}: " * (alone and bool(self.kind)) + " ".join(self.fails)] if self.fails else []
        example = [self.example.whole if whole else self.example.shown] if self.example else []
        rows = {"fails": fails, "mistakes": [*self.mistakes], "why": [*self.why], "example": example}
        return {name: said for name, said in rows.items() if said}


def faults_of(failures: Failures, train: int) -> list[Fault]:
    """The worst kinds that fail, values that make strings fail, and random strings or else edited ones.

    A model that is right wherever it was asked has one that says what its few wrong strings share, if anything.
    """
    verdict, common = Verdict(failures.rows, train), failures.common
    kinds = failures.kinds[:TOLD]
    number = len(kinds) + 1
    found = [_of_kind(each, failures, number) for each in kinds]
    if found and failures.feature is not None:
        found[0] = replace(found[0], mistakes=(*found[0].mistakes, failures.feature.line))
    if common is not None:
        found.append(Fault(f"where {common.strings}", common.kind, common.fails, common.mistakes, (), None))
    broken = verdict.broken()
    if broken is not None or not verdict.learned:
        return [*found, _of_random(failures, verdict, number, alone=not found)]
    if not found and failures.within is not None and failures.within.lines:
        found = [Fault("some strings", "", (), tuple(failures.within.lines), (), failures.example)]
    return found


def _of_kind(kind: WeakKind, failures: Failures, number: int) -> Fault:
    """A kind that fails; ``number`` is that of the values, which may be why."""
    why = list[str]()
    if failures.common is not None:
        why += failures.common.of_kind(kind.kind, number)
    if not why:
        why = [each.cause for each in failures.redrawn if each.kind == kind.kind]
    why, told = tuple(why or [UNKNOWN]), (kind.counts, kind.coverage)
    return Fault(f"where {kind.kind}", kind.kind, told, tuple(kind.does), why, kind.example)


def _of_random(failures: Failures, verdict: Verdict, number: int, *, alone: bool) -> Fault:
    """Random strings, or edited ones where these break and random ones do not."""
    (at, how), train = first_break(verdict), verdict.train
    example = failures.example
    if not verdict.learned:
        lines = failures.within.lines if failures.within is not None else []
        why = [each.cause for each in failures.redrawn if not each.kind] if failures.apart is not None else []
        where = failures.where[0] if failures.where and not failures.kinds else ()
        return Fault("strings of trained lengths", "", where, tuple(lines), tuple(why or [UNKNOWN]), example)
    assert at is not None
    pools = (failures.within, failures.border)[:: 1 if at <= train else -1]
    lines = next((pool.lines for pool in pools if pool is not None and pool.lines), [])
    told = [failures.feature.line] if failures.feature else [failures.edited] if failures.edited else []
    if not alone:
        shares = {row.length: row.random if how else row.hard for row in verdict.rows}
        longest = max(n for n, share in shares.items() if share.n)
        more = f", {shares[longest].wrong} at {longest}" * (longest > at)
        again = how and any(length > at and share.holds for length, share in failures.by_length)
        where = [coverage(failures.by_length)] if again else []
        told = [f"{shares[at].wrong} wrong at length {at}{more}.", *where, *told[: not failures.kinds]]
    why = _why_random(failures, verdict, number)
    strings = "random strings" if how == AT_RANDOM else "edited strings"
    return Fault(strings, "", tuple(told), tuple(lines), tuple(why), example)


def _why_random(failures: Failures, verdict: Verdict, number: int) -> list[str]:
    """Why random strings of a model that has learned break: ids, values, a part of the prompt; or not known."""
    moved, common, cliff = failures.moved, failures.common, _cliff(verdict)
    if moved is not None and (moved.to_blame or moved.absolute):
        return [*moved.cause, *cliff]
    told = common.of_random(verdict.first("random", verdict.train), number) if common is not None else []
    told = told or [each.cause for each in failures.redrawn if not each.kind]
    return [*(told or [UNKNOWN, *(moved.cause if moved is not None else [])]), *cliff]


def _cliff(verdict: Verdict) -> list[str]:
    """Where it collapses after it broke, in a sentence."""
    if (found := verdict.cliff) is None:
        return []
    low, high = (row for row in verdict.rows if row.length in found)
    return [
        f"It collapses from {low.length} to {high.length}: {low.random.counts} random strings are right, then "
        f"{high.random.counts}."
    ]


def numbers(faults: Sequence[Fault], kinds: Sequence[str]) -> tuple[str, str]:
    """Which of several faults are of these kinds, and which of others, counted from 1; nothing of a single one."""
    every = [(str(number), each.kind) for number, each in enumerate(faults, 1) if each.kind and len(faults) > 1]
    return spoken([one for one, kind in every if kind in kinds]), spoken(
        [one for one, kind in every if kind not in kinds]
    )


def others_named(kinds: Sequence[WeakKind]) -> str:
    """The kinds that fail besides, in a sentence; empty without."""
    rest = [f"where {each.kind}" for each in itertools.islice(kinds, TOLD, None)]
    return f"It fails, too, {spoken(rest)}." if rest else ""
