"""Traces: does writing out the states of a task's machine carry it to longer strings, and does a wrong trace not?

``python studies/traces/traces.py train --work DIR --minutes M`` trains what is missing, cell by cell, with checkpoints
in DIR; the same command goes on where it stopped. ``expected`` computes what theory says of each cell. `tables` are
those of the page.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lengthwise as lw

HERE = Path(__file__).parent
SIZES = (8, 32)
"""Where structure is computed."""
DESIGN = HERE / "design.json"
"""Fixed before the first training."""
EXPECTED = HERE / "expected.json"
RESULTS = HERE / "results" / "traces"


def design() -> dict[str, Any]:
    """Tasks, cells, settings, and what counts as holding."""
    return lw.core.files.read_json(DESIGN, what="design of the study")


def cells(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The cells in the order in which they are trained: each kind of trace on all tasks, then the next one."""
    for trace, system in content["cells"]:
        for entry in content["tasks"]:
            yield {"name": entry["name"], "trace": trace, "system": system, "task": traced(content, entry, trace),
                   "key": lw.core.files.slug(f"{entry['name']} {trace} {system}")}  # fmt: skip


def traced(content: dict[str, Any], entry: dict[str, Any], trace: str) -> dict[str, Any]:
    """A task with a trace, with signposts and names of states for its longest test strings."""
    machine = lw.task(entry["task"]).machine()
    assert machine is not None
    symbols = machine.symbols(content["tested"][-1])
    return {"name": "traced", "task": entry["task"], "trace": trace, "most": symbols + 2}


def experiment(content: dict[str, Any], cell: dict[str, Any]) -> lw.Experiment:
    """What a cell trains; of cells with the same positions, only the task with its trace differs."""
    task, own = lw.task(cell["task"]), content["systems"][cell["system"]]
    tokens = task.batch(content["tested"][-1], 1, lw.stream(0, "traces", "longest")).tokens
    return lw.Experiment.of(
        lw.RunConfig(
            task=task,
            scheme=lw.scheme(own["scheme"], max_position=tokens + 8),
            encoding=lw.encoding(own["encoding"]),
            model=lw.ModelConfig(**own["model"]),
            training=lw.TrainingConfig(**own["training"]),
            evaluation=lw.EvaluationConfig(
                lengths=tuple(content["tested"]), samples=content["strings"], fit_threshold=content["fit"],
                unfitted_too=True,
            ),
        )
    )  # fmt: skip


def train(out: Path, work: Path, minutes: float) -> None:
    """Train the cells without a file in order, as long as there is time; one file a cell."""
    content, ends = design(), time.monotonic() + 60 * minutes
    for cell in cells(content):
        path = out / f"{cell['key']}.json"
        if path.exists() or time.monotonic() > ends:
            continue
        began = time.process_time()
        result = experiment(content, cell).run(content["seeds"], out=work, progress=False)
        seeds = [
            {
                "seed": run.seed,
                "fit": run.in_distribution.rate(),
                **{kind: {str(s.length): s.correct[count] / s.n for s in run.scores} for kind, count in COUNTS.items()},
            }
            for _, run in result.files
        ]
        values = {"cell": cell, "seeds": seeds, "cpu_seconds": round(time.process_time() - began, 1)}
        path.parent.mkdir(parents=True, exist_ok=True)
        lw.core.files.write_json(path, {**values, **lw.experiments.provenance.provenance("cpu")}, dense=True)
        shown = ", ".join(f"{seed['fit']:.2f} {far(content, seed):.2f}" for seed in seeds)
        print(f"{cell['key']}: {shown}; {values['cpu_seconds']} s", flush=True)


COUNTS = {"answer": "answer", "whole": "exact_match"}
"""What is counted of each string, written freely: the answer, and all of trace and answer."""


def far(content: dict[str, Any], seed: dict[str, Any], kind: str = "answer") -> float:
    """The share that is right at four times the trained length: the worse of the last two lengths, odd and even."""
    return min(seed[kind][str(length)] for length in content["tested"][-2:])


def expected(chosen: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What theory says of cells, by key, from the structure of their strings and what is known of the task."""
    found = {}
    for cell in chosen:
        task = lw.task(cell["task"])
        verdicts = {v.system: v.answer for v in lw.prediction.predict.predict_task(task).verdicts}
        scheme = lw.scheme("coupled" if cell["system"] == "predictive-coupling" else "sequential")
        both = [lw.positions.structure.structure_at(task, scheme, n).both for n in SIZES]
        found[cell["key"]] = {"verdict": verdicts.get(cell["system"], "no theorem"), "k": [each.count for each in both],
                              "span": [each.span for each in both]}  # fmt: skip
    return found


def tables() -> dict[str, str]:
    """The tables of the page as Markdown: what is expected and seen of each task under each trace."""
    from table_parts import markdown

    content, theory = design(), lw.core.files.read_json(EXPECTED)
    counts = {(trace, system): [0, 0, 0] for trace, system in content["cells"]}
    rows = []
    for cell in cells(content):
        own, path = theory[cell["key"]], RESULTS / f"{cell['key']}.json"
        reach = [f"{k}, {span}" for k, span in zip(own["k"], own["span"], strict=True)]
        seeds = lw.core.files.read_json(path)["seeds"] if path.exists() else []
        columns = [
            [seed["fit"] for seed in seeds],
            [far(content, seed) for seed in seeds],
            [far(content, seed, "whole") for seed in seeds],
        ]
        shown = [" ".join(f"{each:.2f}" for each in column) or "–" for column in columns]
        rows.append([cell["name"], cell["trace"], cell["system"], *reach, own["verdict"], *shown])
        if seeds:
            held = [each >= content["holds"] for each in columns[1]]
            tasks, holding, whole = counts[cell["trace"], cell["system"]]
            counts[cell["trace"], cell["system"]] = [tasks + 1, holding + sum(held), whole + all(held)]
    summary = [
        [
            *kind,
            f"{tasks} of {len(content['tasks'])}",
            f"{held} of {tasks * len(content['seeds'])}",
            f"{whole} of {tasks}",
        ]
        for kind, (tasks, held, whole) in counts.items()
    ]
    heads = ["task", "trace", "positions", *(f"k, span at {n}" for n in SIZES), "theory"]
    return {
        "each kind of trace": markdown(
            ["trace", "positions", "tasks trained", "seeds that hold", "tasks of which all seeds hold"], summary
        ),
        "all seeds": markdown([*heads, "at trained lengths", "answer at 4 N", "all tokens at 4 N"], rows),
    }


def main() -> None:
    """Train, or write what is expected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("train", "expected"))
    parser.add_argument("--work", type=Path, help="the folder of checkpoints")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.step == "expected":
        lw.core.files.write_json(EXPECTED, expected(list(cells(design()))))
    elif given.work is None:
        parser.error("--work is needed to train")
    else:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        train(given.out, given.work, given.minutes)


if __name__ == "__main__":
    main()
