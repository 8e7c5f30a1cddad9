"""How often verdicts held on languages decided before training (docs/results/blind.md and fixed-beforehand.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from lengthwise.core.files import read_json
from lengthwise.prediction.verdict import Verdict

FILE = Path(str(files("lengthwise.prediction"))) / "reliability.json"


@lru_cache(maxsize=1)
def measured_reliability() -> Mapping[str, Any]:
    """By encoding and verdict: cells of a study, decided ones, and those that came out so.

    ``reliability`` is that of the blind study; ``next_symbols`` that of the second study, whose verdicts are on next
    symbols; ``other_positions`` that of RoPE and ALiBi on twelve more languages.
    """
    return read_json(FILE, what="measured reliability")


def reliability_line(measured: Mapping[str, Any], encoding: str, answer: str, next_symbols: str | None = None) -> str:
    """How often such a verdict held in the blind study, or on twelve more languages; empty where neither has one.

    ``next_symbols`` is the verdict on next symbols; how often it held comes from the second study, if that has the
    encoding.
    """
    if other := measured["other_positions"].get(encoding, {}).get(answer):
        return f"{answer} held in {_counted(other)} of twelve more languages"
    first = measured["reliability"].get(encoding, {}).get(answer)
    second = measured["next_symbols"].get(encoding, {}).get(next_symbols)
    line = f"{answer} held in {_counted(first)} of the blind study" if first else ""
    if line and second:
        line += f"; {next_symbols} for next symbols in {_counted(second)} of the second study"
    return line


def reliability_lines(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """A line for each verdict whose kind was measured; where there is none, one line on the whole blind study."""
    measured = measured_reliability()
    lines = {v.system: reliability_line(measured, v.system, v.answer, v.next_symbols) for v in verdicts}
    return tuple(f"{system}: {line}" for system, line in lines.items() if line) or (_over_all(measured["reliability"]),)


def _over_all(measured: Mapping[str, Mapping[str, Mapping[str, int]]]) -> str:
    counts = [counts for by_answer in measured.values() for counts in by_answer.values()]
    total = {name: sum(count[name] for count in counts) for name in ("cells", "decided", "right", "not run")}
    held = f"held in {_counted(total)} of the blind study"
    return f"no such verdict was measured; those with learned positions or none {held}"


def _counted(counts: Mapping[str, int]) -> str:
    missing = f" and {counts['not run']} not run" if counts["not run"] else ""
    return f"{counts['right']} of {counts['decided']} decided cells ({counts['cells']} in all{missing})"
