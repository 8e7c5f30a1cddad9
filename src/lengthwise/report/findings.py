"""States in words which systems fitted, and how many strings each gets right at its longest test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lengthwise.report.panels import panels
from lengthwise.report.summary import SystemSummary, axes_text

LEVELS = (
    (0.99, "at least 99 % of strings right"),
    (0.9, "90 to 99 % right"),
    (0.5, "50 to 90 % right"),
    (0.1, "10 to 50 % right"),
    (0.0, "less than 10 % right"),
)
UNFITTED = "not fitted in any seed, so not tested at longer lengths"
CONTROL = "not fitted in any seed, and tested all the same as a control (unfitted_too)"


@dataclass(frozen=True)
class Group:
    """Systems with similar results."""

    words: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """The systems by their accuracy at the longest test."""

    heading: str
    groups: tuple[Group, ...]


def fitted_text(systems: Sequence[SystemSummary]) -> str:
    """How many systems and seeds fitted in distribution."""
    fitted, seeds = sum(bool(s.fitted) for s in systems), sum(len(s.fitted) for s in systems)
    runs = sum(len(s.results) for s in systems)
    return (
        f"{fitted} of {len(systems)} systems fitted their training lengths in at least one seed "
        f"({seeds} of {runs} runs). Only fitted runs are tested at longer lengths."
    )


def findings(systems: Sequence[SystemSummary]) -> list[Finding]:
    """One finding per value of the axes that make panels; systems without a fitted seed stand in the first."""
    merged: dict[str, dict[int, tuple[int, float]]] = {}
    for panel in panels(systems):
        text = axes_text(panel.axes)
        for index, cells in panel.cells.items():
            found = cells[-1].estimate()
            if found is not None:
                merged.setdefault(text, {})[index] = (cells[-1].length, found.median)
    result = []
    unfitted = [
        Group(words, names)
        for words, tested in ((UNFITTED, False), (CONTROL, True))
        if (names := tuple(s.label for s in systems if not s.fitted and bool(s.unfitted_cells) == tested))
    ]
    for text, by_system in merged.items() or [("", {})]:
        groups = []
        above = float("inf")
        for least, words in LEVELS:
            names = tuple(systems[i].label for i, (_, median) in by_system.items() if least <= median < above)
            groups += [Group(words, names)] if names else []
            above = least
        if unfitted and not result:
            groups += unfitted
        result.append(Finding(_heading(text, by_system, systems), tuple(groups)))
    return result


def _heading(text: str, by_system: dict[int, tuple[int, float]], systems: Sequence[SystemSummary]) -> str:
    lengths = {length for length, _ in by_system.values()}
    factors = {f"{length / systems[i].max_length:.3g}" for i, (length, _) in by_system.items() if systems[i].max_length}
    where = "At the longest test of each system"
    if len(lengths) == 1:
        where = f"At length {min(lengths)}"
    if len(factors) == 1:
        where += f", {min(factors)} × the longest training length"
    return f"{where}{f', with {text}' if text else ''}:" if by_system else "No system has a test at longer lengths:"
