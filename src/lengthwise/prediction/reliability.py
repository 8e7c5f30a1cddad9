"""How often verdicts of a kind held, in the studies whose verdicts were written down before training."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lengthwise.measured.cells import cells

CUT = 0.70
"""Below this median exact match at the longest test, a fitted system did not generalize, as in the blind study."""
DECIDING = (101, 150)
"""The lengths by which a cell under the frozen ladder is decided."""
STUDIES = {"reliability": "blind", "next_symbols": "blind-next", "other_positions": "variants"}
"""The studies whose verdicts were written down before training."""
OTHER_POSITIONS = ("rope", "alibi")
"""The systems of the study of other positions; its variants of learned positions have no verdict of their own."""


@lru_cache(maxsize=1)
def measured_reliability() -> Mapping[str, Any]:
    """By encoding and verdict: cells of a study, decided ones, and those that came out so.

    ``reliability`` is that of the blind study; ``next_symbols`` that of the second study, whose verdicts are on next
    symbols; ``other_positions`` that of RoPE and ALiBi on twelve more languages.
    """
    found: dict[str, dict[str, dict[str, dict[str, int]]]] = {name: {} for name in STUDIES}
    for name, study in STUDIES.items():
        for cell in cells():
            if cell.study != study or (name == "other_positions" and cell.system not in OTHER_POSITIONS):
                continue
            empty = {"cells": 0, "decided": 0, "right": 0}
            counts = found[name].setdefault(cell.system, {}).setdefault(cell.predicted, empty)
            score = cell.accuracy(*DECIDING)
            counts["cells"] += 1
            counts["decided"] += score is not None
            counts["right"] += score is not None and (score >= CUT) == (cell.predicted == "yes")
    return found


def reliability_line(measured: Mapping[str, Any], encoding: str, answer: str, next_symbols: str | None = None) -> str:
    """How often such a verdict held in the blind study, or on twelve more languages; empty where neither has one.

    ``next_symbols`` is the verdict on next symbols; how often it held comes from the second study, if that has the
    encoding.
    """
    if other := measured["other_positions"].get(encoding, {}).get(answer):
        return f"a {answer} on membership was true of {_counted(other, 'study of twelve more')}"
    first = measured["reliability"].get(encoding, {}).get(answer)
    second = measured["next_symbols"].get(encoding, {}).get(next_symbols)
    line = f"a {answer} on membership was true of {_counted(first, 'blind study')}" if first else ""
    if line and second:
        line += f"; a {next_symbols} on next symbols of {_counted(second, 'second study')}"
    return line


def _counted(counts: Mapping[str, int], study: str) -> str:
    """How often a verdict held, and on what: other languages, and another cut, than those of a forecast."""
    return f"{counts['right']} of {counts['decided']} other languages that fit (of {counts['cells']}; {study})"
