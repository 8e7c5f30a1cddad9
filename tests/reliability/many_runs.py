"""Many finished runs, made without training: result files as a sweep of small models would leave them.

``python many_runs.py FOLDER COUNT`` writes so many: recipes of 50 systems (ten names with five widths each) and ten
seeds. ``python many_runs.py COMMAND …`` measures a command, `results` or `evidence`: prints CPU time, peak memory and
opened files. ``compare`` trains models of width 8 for a few steps.
"""

from __future__ import annotations

import copy
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1]))
SEEDS, WIDTHS, NAMES = 10, (16, 32, 64, 96, 128), 10
LENGTHS = (5, 10, 15, 20, 30, 40)


def result(recipe: str, name: int, width: int, seed: int) -> dict[str, Any]:
    """The contents of one result file; the accuracy falls with the length, and one seed in five does not fit."""
    from lengthwise.core.result_file import sealed

    fitted = seed % 5 != 4

    def score(length: int) -> dict[str, Any]:
        right = max(0, 100 - (length - 5) * (name + 1) // 4 - seed - int(recipe[5:]) % 7 - width // 16)
        places = [3 + (7 * i) % length for i in range(100 - right)]
        return {
            "length": length, "axes": {}, "n": 100, "exact_match": right / 100,
            "correct": {"exact_match": right, "oracle_ids": right, "answer": right}, "tokens": 90, "tokens_total": 100,
            "first_error": {"token": 100 - right} if right < 100 else {}, "first_error_at": places,
        }  # fmt: skip

    experiment = {
        "task": {"name": "copy", "symbols": "repeats", "letters": 3},
        "scheme": {"name": "sequential", "max_position": 64 + name, "random_start": False},
        "encoding": {"name": "learned"},
        "model": {"layers": 1, "heads": 2, "width": width},
        "training": {"max_length": 5, "steps": 1000, "batch_size": 64, "lr": 1e-3},
        "evaluation": {"lengths": list(LENGTHS), "samples": 100},
    }
    return sealed({
        "format": 1, "recipe": recipe, "system": f"system {name}", "experiment": experiment, "seed": seed,
        "fitted": fitted, "in_distribution": score(5), "scores": [score(n) for n in LENGTHS] if fitted else [score(5)],
        "steps": 1000, "seconds": 12.5, "probes": [{"step": 100 * i, "loss": 1 / i, "in_distribution": 0.5, "fitted":
                                                    False} for i in range(1, 11)],
        "parameters": 5000, "commit": "unknown", "machine": {"cpu": "some"}, "time": "2026-01-01T00:00:00",
    })  # fmt: skip


def make(folder: Path, count: int) -> None:
    """Write ``count`` run directories below ``folder``."""
    each = SEEDS * len(WIDTHS) * NAMES
    for number in range(count):
        recipe, rest = divmod(number, each)
        name, rest = divmod(rest, SEEDS * len(WIDTHS))
        width, seed = divmod(rest, SEEDS)
        run = folder / f"sweep{recipe}" / f"{number:012x}"
        run.mkdir(parents=True)
        values = result(f"sweep{recipe}", name, WIDTHS[width], seed)
        (run / "result.json").write_text(json.dumps(values, indent=1))
        config = {"format": 1, "experiment": copy.deepcopy(values["experiment"]), "seed": seed}
        (run / "config.json").write_text(json.dumps(config))
        (run / "log.jsonl").write_text("".join(json.dumps(probe) + "\n" for probe in values["probes"]))


def measured(words: list[str]) -> dict[str, Any]:
    """CPU seconds, peak memory in MiB and the numbers of files by name that a command or function of ours opens."""
    opened: dict[str, int] = {}

    def count(event: str, values: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(values[0], str | os.PathLike) and str(values[0]).endswith((".json", "jsonl")):
            name = os.path.basename(values[0])
            opened[name] = opened.get(name, 0) + 1

    sys.addaudithook(count)
    if words[0] in ("results", "evidence"):
        import lengthwise as lw

        found = lw.results(words[1]).table() if words[0] == "results" else lw.evidence()
        code = 0 if str(found) else 1
    else:
        from lengthwise.cli.main import main

        if words[0] == "compare":
            from lengthwise.experiments.compare import ModelSetting
            from tiny_comparison import make_comparisons_tiny

            make_comparisons_tiny(pytest.MonkeyPatch(), (ModelSetting(1, 1e-2, 0.0),))
        code = main(words)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "code": code, "cpu_seconds": round(used.ru_utime + used.ru_stime, 1), "peak_mib": used.ru_maxrss // 1024,
        "opened": {name: n for name, n in opened.items() if name in ("result.json", "config.json", "log.jsonl")},
    }  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1].isidentifier():
        print(json.dumps(measured(sys.argv[1:])), file=sys.stderr)
    else:
        make(Path(sys.argv[1]), int(sys.argv[2]))
