"""Searches a coupling for a task that states no places, so that a verdict for coupled positions is possible."""

from __future__ import annotations

import time
from collections.abc import Callable

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng, stream
from lengthwise.prediction.coupling.task_coupling import FOUND_FROM, SHORTEST, search
from lengthwise.prediction.verdict import Argument
from lengthwise.sparsity.coupling.coupling_check import check_coupling
from lengthwise.sparsity.coupling.dependence import Dependencies, estimate_dependencies
from lengthwise.tasks import Task

SECONDS = 6.0
"""No further length is looked at after this time."""
CHECKED = 4
"""How much longer than the first the sequences are at which the rule is checked."""


class _OutOfTimeError(LengthwiseError):
    """The search took too long."""


def search_places(task: Task, note: Callable[[str], None]) -> tuple[list[Argument], str]:
    """Arguments for coupled positions if a coupling is found, and one line on the extent of the search.

    The coupling is found at the three shortest lengths from 4 on and checked at one longer length, with fewer queries
    than ``lengthwise couple`` takes; so the basis is ``evidence``.
    """
    lengths = task.lengths(SHORTEST, SHORTEST + 60)
    if len(lengths) <= FOUND_FROM:
        return [], "no coupling was searched: the task has fewer than four lengths in 4..64"
    note(f"searching for a coupling at lengths {', '.join(map(str, lengths[:FOUND_FROM]))} (a few seconds)")
    ends = time.monotonic() + SECONDS

    def estimate(n: int) -> Dependencies:
        if time.monotonic() > ends:
            raise _OutOfTimeError(f"stopped after {SECONDS:.0f} s; `lengthwise couple {task.name}` takes its time")
        return _dependencies(task, n)

    try:
        known, rule, reason = search(lengths, estimate)
        if rule is None:
            return [], f"searched: a coupling: {reason}"
        longer = lengths[min(len(lengths) - 1, FOUND_FROM - 1 + CHECKED)]
        known[longer] = estimate(longer)
    except LengthwiseError as error:
        return [], f"searched: a coupling: {error}"
    except Exception as error:
        return [], f"no coupling was searched: the task fails on a prompt ({type(error).__name__}: {error})"
    check = check_coupling(rule, known, sorted(known))
    if not check.holds:
        return [], f"searched: a coupling: {check.problems[0]}"
    at = ", ".join(map(str, sorted(known)))
    k = known[longer].sparsity
    why = f"a coupling found by search keeps all {k} parents within one place at lengths {at} (`lengthwise couple`)"
    facts = {"kind": "coupling", "lines": rule.describe().splitlines(), "lengths": sorted(known)}
    return [Argument("yes", "evidence", why, facts)], f"searched: a coupling: found, checked at lengths {at}"


def _dependencies(task: Task, length: int) -> Dependencies:
    layout = task.layout(length, stream(0, "predict", "coupling", length))

    def sample(n: int, rng: Rng) -> list[str]:
        batch = task.batch(n, 1, rng, layout)
        return batch.text(0)[: batch.prompt_length]

    rng = stream(0, "predict", "queries", length)
    return estimate_dependencies(task.solve, sample, length, rng, bases=60, groups=30, resamples=8)
