"""Twelve small trained models explained: automaton or program, fidelity, and the shortest failing string.

python studies/explain/study.py OUT [SECONDS]

Trains one model after the other in OUT (what is finished there is reused), explains each, and writes OUT/table.md and
OUT/explained.json. SECONDS bounds all of it; models for which no time is left are missing from the table.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import lengthwise as lw

LANGUAGE = {"name": "language"}
MODEL = {"layers": 2, "width": 64, "heads": 2}
RUNS = {
    "(aa)*, learned": ({**LANGUAGE, "language": "(aa)*"}, "learned", 20, 300),
    "(ab)*, NoPE": ({**LANGUAGE, "language": "(ab)*"}, "nope", 20, 300),
    "Tomita-2, learned": ({**LANGUAGE, "language": "Tomita-2"}, "learned", 20, 300),
    "Tomita-4, NoPE": ({**LANGUAGE, "language": "Tomita-4"}, "nope", 20, 600),
    "Tomita-4, learned": ({**LANGUAGE, "language": "Tomita-4"}, "learned", 20, 600),
    "Tomita-7, NoPE": ({**LANGUAGE, "language": "Tomita-7"}, "nope", 20, 600),
    "D-2, NoPE": ({**LANGUAGE, "language": "D-2"}, "nope", 20, 600),
    "D-2, learned": ({**LANGUAGE, "language": "D-2"}, "learned", 20, 600),
    "majority, NoPE": ({"name": "majority", "letters": 2}, "nope", 15, 400),
    "parity, learned": ({"name": "parity"}, "learned", 10, 1000),
    "induction, RoPE": ({"name": "induction"}, "rope", 10, 800),
    "copy, learned": ({"name": "copy", "symbols": "distinct", "letters": 40}, "learned", 10, 600),
}
"""Task, encoding, longest training length and steps of every model."""


def row_of(name: str, found) -> dict:
    """One line of the table."""
    inside, beyond = found.accuracy.rate(inside=True), found.accuracy.rate(inside=False)
    row = {"model": name, "right inside": inside, "right beyond": beyond}
    if found.automaton is not None:
        first = found.automaton.first_contradiction
        row |= {
            "states": len(found.automaton.delta), "the task's": found.automaton.equal,
            "automaton, fidelity inside": found.automaton.fidelity, "exact": found.automaton.complete,
            "contradicted from": None if first is None else first.length,
        }  # fmt: skip
    if found.program is not None:
        row |= {
            "program": found.program.size, "found": found.program.found,
            "program, fidelity inside": found.program.rate(inside=True),
            "program, fidelity beyond": found.program.rate(inside=False),
        }  # fmt: skip
    if found.heads is not None:
        row["named heads"] = f"{sum(head.named for head in found.heads.heads)} of {len(found.heads.heads)}"
    smallest = found.failures.smallest
    row["first failing length"] = smallest[0].length if smallest else None
    row["shortest failing string"] = " ".join(smallest[0].tokens) if smallest else None
    row["notes"] = "; ".join(found.notes)
    return row


def main(out: Path, seconds: float) -> None:
    """Train, explain and write."""
    ends, rows = time.monotonic() + seconds, []
    for name, (task, encoding, longest, steps) in RUNS.items():
        if time.monotonic() > ends:
            break
        experiment = lw.Experiment(
            task, "sequential", encoding, max_length=longest, test_lengths=[2 * longest, 4 * longest], steps=steps,
            model=MODEL, training={"batch_size": 32}, evaluation={"samples": 64},
        )  # fmt: skip
        result = experiment.run(1, out=out / "runs", progress=False)
        folder = result.files[0][0]
        found = lw.explain(folder, out=out / folder.name, samples=128, seconds=90, lengths=None)
        found.save(out / folder.name)
        rows.append(row_of(name, found))
        print(name, *found.lines, sep="\n  ", flush=True)
        columns = tuple(dict.fromkeys(key for row in rows for key in row))
        (out / "explained.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
        text = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
        for row in rows:
            cells = [row.get(column) for column in columns]
            shown = ["–" if c in (None, "") else f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells]
            text.append("| " + " | ".join(shown) + " |")
        (out / "table.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    main(target, float(sys.argv[2]) if len(sys.argv) > 2 else 3600)
