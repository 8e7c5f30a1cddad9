"""How often verdicts held on languages that were decided before any model was trained (docs/results/blind.md)."""

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
    symbols.
    """
    return read_json(FILE, what="measured reliability")


def reliability_line(measured: Mapping[str, Any], encoding: str, answer: str, easier: str | None = None) -> str:
    """How often such a verdict held in the blind study, in words; says so where that is not yet measured.

    ``easier`` is the verdict on next symbols, whose reliability comes from the second study, if it has the encoding.
    """
    text = _counted(measured["reliability"], encoding, answer, "the blind study", "the verdict")
    if easier is not None and encoding in measured.get("next_symbols", {}):
        second = _counted(measured["next_symbols"], encoding, easier, "the second study", "the next-symbol verdict")
        text += f"; {second}"
    return text


def reliability_lines(verdicts: Iterable[Verdict], easier: Mapping[str, str | None]) -> tuple[str, ...]:
    """A line for each verdict whose kind was measured; ``easier`` has verdicts on next symbols by position system.

    Where there is none, one line has the whole blind study.
    """
    measured = measured_reliability()
    lines = []
    for verdict in verdicts:
        first = measured["reliability"].get(verdict.system, {}).get(verdict.answer)
        if first is None:
            continue
        line = f"{verdict.system}, {verdict.answer}: {_short(first)}"
        second = measured["next_symbols"].get(verdict.system, {}).get(easier.get(verdict.system))
        lines.append(line + (f"; {easier[verdict.system]} for next symbols: {_short(second)}" if second else ""))
    return tuple(lines) or (_over_all(measured["reliability"]),)


def _short(counts: Mapping[str, int]) -> str:
    text = f"{counts['right']} of {counts['decided']} decided, of {counts['cells']}"
    return text + (f" ({counts['not run']} not run)" if counts["not run"] else "")


def _over_all(measured: Mapping[str, Mapping[str, Mapping[str, int]]]) -> str:
    counts = [counts for by_answer in measured.values() for counts in by_answer.values()]
    cells, decided, right = (sum(count[name] for count in counts) for name in ("cells", "decided", "right"))
    held = f"{right} of {decided} decided, of {cells}"
    return f"no such verdict was measured; of those with learned positions or none {held}"


def _counted(measured: Mapping[str, Any], encoding: str, answer: str, study: str, verdict: str) -> str:
    counts = measured.get(encoding, {}).get(answer)
    if not counts:
        return f"{study} has no cell with {verdict} {answer} under {encoding}"
    text = (
        f"of {counts['cells']} languages of {study} with {verdict} {answer} under {encoding}, "
        f"{counts['decided']} were decided and {counts['right']} behaved so"
    )
    if counts["not run"]:
        return f"reliability not yet measured: {counts['not run']} of them are not run ({text} so far)"
    return text
