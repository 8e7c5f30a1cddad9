"""Twelve small trained models explained: automaton or program, fidelity, and the shortest failing string.

python studies/explain/twelve_models.py OUT [SECONDS]

Trains one model after the other in OUT (what is finished there is reused), explains each, and writes
``explained.json`` beside this file, with the models that it came to. SECONDS bounds all of it.
``python studies/tables.py studies/explain/README.md`` prints the tables of the page.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import lengthwise as lw

FILE = Path(__file__).with_name("explained.json")
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
    """What the tables need of one explanation."""
    inside, beyond = found.accuracy.rate(inside=True), found.accuracy.rate(inside=False)
    reasons = [line for fault in found.faults for line in (*fault.fails, *fault.why)]
    row = {
        "model": name,
        "answer": found.answer,
        "why": " ".join(reasons),
        "learned": found.learned,
        "inside": inside,
        "beyond": beyond,
    }
    if found.automaton is not None:
        first = found.automaton.first_contradiction
        row["automaton"] = {
            "states": len(found.automaton.delta), "the task's": found.automaton.equal,
            "exact": found.automaton.complete, "fidelity": found.automaton.fidelity, "words": found.automaton.fresh,
            "contradicted from": None if first is None else first.length,
        }  # fmt: skip
    if found.program is not None:
        shares = [found.program.total(inside=inside) for inside in (True, False)]
        row["program"] = {
            "size": found.program.size, "found": found.program.found,
            **{
                where: None if share is None else {
                    "agree": share.agree, "words": share.n, "constant": share.constant,
                    "interval": share.interval, "both": share.both, "accepted": share.accepted,
                }
                for where, share in zip(("inside", "beyond"), shares, strict=True)
            },
        }  # fmt: skip
    if found.heads is not None:
        row["named heads"] = [sum(head.named for head in found.heads.heads), len(found.heads.heads)]
    smallest = [failure for failure in found.failures.smallest if failure.length > found.accuracy.train]
    row["failing"] = {"length": smallest[0].length, "string": " ".join(smallest[0].tokens)} if smallest else None
    row["notes"] = list(found.notes)
    return row


def tables() -> dict[str, str]:
    """The tables of the page as Markdown."""
    from table_parts import markdown

    rows, programs, words = lw.core.files.read_json(FILE, what="explanations")["models"], [], []
    for row in rows:
        own, program = row.get("automaton"), row.get("program")
        if program is not None:
            cells = []
            for where in ("inside", "beyond"):
                share = program[where]
                low, high = share["interval"]
                cells += [
                    f"{share['agree'] / share['words']:.3f} [{low:.3f}, {high:.3f}]",
                    f"{share['agree']} of {share['words']}", f"{share['constant'] / share['words']:.3f}",
                    f"{share['both']} of {share['accepted']}",
                ]  # fmt: skip
            programs.append([row["model"], str(program["size"]), *cells])
        same = {True: "yes", False: "no", None: "–"}
        failing = row["failing"]
        words.append([
            row["model"], f"{row['inside']:.3f}", f"{row['beyond']:.3f}",
            *(["–"] * 4 if own is None else [
                str(own["states"]), same[own["the task's"]], f"{own['fidelity']:.3f} of {own['words']}",
                str(own["contradicted from"] or "–"),
            ]),
            "–" if row.get("named heads") is None else "{} of {}".format(*row["named heads"]),
            "–" if failing is None else str(failing["length"]),
        ])  # fmt: skip
    titles = [
        "model", "right inside", "right beyond", "states", "the task's", "fidelity inside, words", "contradicted from",
        "named heads", "first failing length",
    ]  # fmt: skip
    more = [
        name for where in ("inside", "beyond") for name in (f"fidelity {where}", "words", "best constant", "accepted")
    ]
    return {
        # What a model that did not learn may lack is the same advice for all.
        "answers": markdown(
            ["model", "answer", "why"],
            [[r["model"], re.split("; (?:if its|a length counts)", r["answer"])[0], r["why"] or "–"] for r in rows],
        ),
        "automata": markdown(titles, words),
        "programs": markdown(["model", "size", *more], programs),
    }


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
        found = lw.explain(folder, out=out / folder.name, samples=128, seconds=240)
        found.save(out / folder.name)
        rows.append(row_of(name, found))
        print(name, *found.lines, sep="\n  ", flush=True)
    lw.core.files.write_json(FILE, {"models": rows, **lw.experiments.provenance.provenance("cpu")})


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    main(target, float(sys.argv[2]) if len(sys.argv) > 2 else 3600)
