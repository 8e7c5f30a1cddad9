"""What a model does at first mistakes, and where: in one way and one place, or in two of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.config import config
from lengthwise.explanation.features import CLEAR, LEAST, SURE, surprise
from lengthwise.explanation.mistakes import Wrong, facts, facts_of, most_common_mistake
from lengthwise.tasks import Task

MOST, RARE = 2, 0.1
"""Manners that are told, and the least share of the mistakes of each."""
AFTER, OWN = "where the column before is ", "where the column is "
"""Where a column of a value is, beside the wrong token."""


@config
class Manner:
    """What a model does at first mistakes, and where."""

    what: str
    """Empty where that is not one thing."""
    fact: str
    """What holds of nearly all of these tokens and surely of fewer right ones; empty where nothing is known."""
    n: int
    """Of how many mistakes both hold."""

    @property
    def after(self) -> bool:
        """Whether that is a column of the value right before."""
        return self.fact.startswith(AFTER)

    def where(self, what: str) -> str:
        """The same in words, behind such a value, which is what a ``what`` has."""
        place = "right after" * self.after or "in" * self.fact.startswith(OWN)
        return f"{place} such a {what}" if place else self.fact


def manners(
    task: Task,
    wrong: Sequence[Wrong],
    batches: Sequence[tuple[Batch, ndarray]],
    column: str,
    seed: int,
    *,
    inside: bool,
) -> tuple[Manner, ...]:
    """What the model does at first mistakes in strings with a value, and where; or in two parts of these.

    Arguments:
        task: what tells what holds of a token.
        wrong: the first mistakes.
        batches: the strings, and which are right.
        column: the value, if it is that of a column.
        seed: of the draw of right tokens to compare with.
        inside: whether it stands in many places; else in all strings in the same one, where right tokens have it, too.
    """
    near = [f"{AFTER}{column}", f"{OWN}{column}"] if column else []

    def manner(some: Sequence[Wrong], tried: Sequence[str]) -> Manner | None:
        found = most_common_mistake(some)
        does = found.what if found is not None and 2 * found.n >= len(some) else ""
        tokens = facts(task, some, batches, seed) if len(some) >= LEAST else []

        def clear(fact: str) -> bool:
            n, m = ([fact in each for each, right in tokens if right == kind] for kind in (False, True))
            known = not inside and fact in near
            fewer = surprise(sum(n), len(n), sum(m), len(m)) * len(tried) < SURE
            return sum(n) >= CLEAR * len(n) and (known or fewer)

        fact = next(filter(clear, tried), "") if tokens else ""
        both = [
            does in ("", *each.ways) and (not fact or fact in facts_of(task, each.batch, each.row, each.at))
            for each in some
        ]
        return Manner(does, fact, sum(both)) if does or fact else None

    every = [*near, *task.details]
    whole = manner(wrong, near)
    if whole is not None and whole.fact:
        return (whole,)
    common = [what for what, n in Counter(each.manner for each in wrong).most_common(MOST) if n >= RARE * len(wrong)]
    parts = [*filter(None, (manner([each for each in wrong if each.manner == what], every) for what in common))]
    apart = len(parts) > 1 and all(each.what for each in parts)
    if apart and any(each.fact in near for each in parts):
        return tuple(parts)
    whole = manner(wrong, every)
    clear = whole is not None and (whole.fact or whole.n >= CLEAR * len(wrong))
    return tuple(parts if apart and not clear else filter(None, [whole]))
