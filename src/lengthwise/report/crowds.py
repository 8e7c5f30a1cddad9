"""Which systems of a figure of many have a colour of their own, and which share a gray line of its legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lengthwise.core.rank import REACH
from lengthwise.core.table import rounded
from lengthwise.report.looks import Gray, distinct
from lengthwise.report.summary import Panel, SystemSummary, group_of

MOST_COLOURED = 7
"""Lines of one task that are told apart beside a legend; of more, some share a gray entry of it."""
NONE = 0.005
"""Accuracies below it are 0.00 in a legend."""


def told_apart(
    panels: Sequence[Panel], systems: Sequence[SystemSummary], metric: str
) -> tuple[list[Panel], dict[int, str]]:
    """The panels with looks that can be told apart, and by the index of each system that is gray its legend entry.

    Of a task with more than `MOST_COLOURED` lines, gray are those that are at 0 in every seed from the first half of
    the lengths on. If still more are left, it is those that are right in every seed at every length, but for the first,
    and then those that rank last.
    """
    tasks, gray = dict[str, list[int]](), dict[int, tuple[Gray, str]]()
    for at in sorted({at for panel in panels for at in panel.cells}):
        tasks.setdefault(systems[at].contest, []).append(at)
    for mine in tasks.values():
        if len(mine) > MOST_COLOURED:
            gray |= _gray(panels, systems, mine, metric, group_of(systems[mine[0]]) if len(tasks) > 1 else "")
    made = []
    for panel in panels if gray else ():
        looks = distinct({systems[at].label: systems[at].look for at in panel.cells if at not in gray})
        shown = {at: gray[at][0] if at in gray else looks[systems[at].label] for at in panel.cells}
        made.append(replace(panel, looks={**panel.looks, **shown}))
    return made or list(panels), {at: says for at, (_, says) in gray.items()}


def _gray(
    panels: Sequence[Panel], systems: Sequence[SystemSummary], mine: Sequence[int], metric: str, task: str
) -> dict[int, tuple[Gray, str]]:
    cells = {at: [cell for panel in panels for cell in panel.cells.get(at, ())] for at in mine}
    seeds = {at: [(one.length, score.rate(metric) or 0.0) for one in cells[at] for score in one.scores] for at in mine}
    lengths = sorted({cell.length for at in mine for cell in cells[at] if cell.length > systems[at].max_length})
    last = {at: max((length for length, rate in seeds[at] if rate >= NONE), default=0) for at in mine}
    early = max(lengths[: (len(lengths) + 1) // 2], default=0)
    low = [at for at in mine[1:] if last[at] < early]
    low *= len(low) > 1
    left = [at for at in mine if at not in low]
    high = [at for at in left[1:] if all(rate >= REACH for _, rate in seeds[at])]
    high *= len(left) > MOST_COLOURED and len(high) > 1
    left = [at for at in left if at not in high]
    rest = left[MOST_COLOURED - 1 :] if len(left) > MOST_COLOURED else []
    end = max(cell.length for at in mine for cell in cells[at])
    medians = (found for at in rest for one in cells[at] if one.length == end and (found := one.estimate(metric)))
    ends = sorted(rounded(found.median, 2) for found in medians) or ["–"]
    start = next((length for length in lengths if all(length > last[at] for at in low)), end)
    groups = (
        (low, f"0.00 from {start} on"),
        (high, f"{REACH:g} or more at every length"),
        (rest, f"{' to '.join(dict.fromkeys((ends[0], ends[-1])))} at {end}"),
    )
    return {
        at: (Gray(kind), f"{task}{': ' * bool(task)}{len(some)} others, {says}")
        for kind, (some, says) in enumerate(groups)
        for at in some
    }
