"""Exact answers at 1 to 8 times the trained length under each way to extend the context of a RoPE model.

    python benchmarks/context_extension.py [--task induction] [--trained 16] [--seeds 2] [--json FILE]

A small RoPE model is trained on the task (runs go to ``runs``, where a finished one is reused) and read as it is, with
an attention window, and through `lengthwise.extend` with the factor of each length. Nothing is trained again.
"""

from __future__ import annotations

import argparse
import copy
import json
from pathlib import Path

import lengthwise as lw
from lengthwise.core.rng import stream
from lengthwise.evaluation.accuracy import EvaluatedModel, score_layout
from lengthwise.models.extension import extension_methods
from lengthwise.positions.schemes import Sequential

MULTIPLES = (1, 2, 4, 8)
STRINGS = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="induction")
    parser.add_argument("--trained", type=int, default=16, help="the longest training length")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--json", type=Path, help="also write all scores to this file")
    given = parser.parse_args()
    scheme = Sequential(max_position=16 * given.trained + 16)
    experiment = lw.Experiment(
        given.task,
        scheme,
        "rope",
        max_length=given.trained,
        test_lengths=[given.trained],
        steps=given.steps,
        model={"layers": 2, "heads": 4, "width": 64, "log_length": None},
        training={"batch_size": 64, "lr": 2e-3, "stop_when_fitted": True},
    )
    result = experiment.run(seeds=given.seeds)
    rows = [row for seed in range(given.seeds) for row in measure(lw.load(result, seed), scheme, seed, given.trained)]
    for method in dict.fromkeys(row["method"] for row in rows):
        cells = [f"{row['exact']:.2f}" for row in rows if row["method"] == method]
        print(f"{method:14}", *cells, flush=True)
    if given.json:
        settings = {key: str(value) for key, value in vars(given).items() if key != "json"}
        given.json.write_text(json.dumps({"settings": settings, "strings": STRINGS, "rows": rows}, indent=1))


def measure(model, scheme: Sequential, seed: int, trained: int) -> list[dict]:
    """Exact answers by method and multiple of the trained length."""
    task, rows = model.experiment.task, []
    tokens = task.batch(trained, 1, stream(0, "size")).tokens
    for method in ("none", "window", *extension_methods()):
        for multiple in MULTIPLES:
            if method == "none":
                read = model
            elif method == "window":
                read = copy.deepcopy(model)
                read.encoding.window = tokens
            else:
                read = lw.extend(model, method, factor=multiple, length=tokens)
            rng = stream(0, "context extension", multiple)
            score = score_layout(EvaluatedModel(read, task, scheme), multiple * trained, None, STRINGS, rng)
            exact = score.correct["exact_match"] / score.n
            rows.append({"method": method, "seed": seed, "length": multiple * trained, "exact": exact})
    return rows


if __name__ == "__main__":
    main()
