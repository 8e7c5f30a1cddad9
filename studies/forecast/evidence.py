"""Writes the evidence table, ``src/lengthwise/measured/cells.json``, from all committed result files.

``python studies/forecast/evidence.py`` writes it in a few seconds. Training runs (``result.json``) of one recipe,
system and configuration are one cell, with one accuracy a seed. Of a study under the frozen ladder (a folder with
``preregistration.json``), a cell is a language under an encoding, measured at the first rung that fits or at the last.
Results that later ones replaced, controls, and studies that measure no system on a task (tables of theory, of language
models) are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lengthwise as lw

ROOT = Path(__file__).parents[2]
FILE = ROOT / "src" / "lengthwise" / "measured" / "cells.json"
LADDER = {system.known_as: system for system in lw.positions.system.SYSTEMS}
MODULO = lw.PositionSystem("modulo", "learned")
WITHDRAWN = "withdrawn"
"""The folder of a preregistration that was never trained."""


def table(studies: Path) -> dict[str, Any]:
    """The content of the file: ``settings``, each once, and ``cells``, which name them by number."""
    rows = [*ladder_rows(studies), *third_rows(studies), *recipe_rows(studies)]
    rows.sort(key=lambda row: (row["study"], row["target"], row["system"], json.dumps(row, sort_keys=True)))
    settings: dict[str, int] = {}
    for row in rows:
        row["settings"] = settings.setdefault(json.dumps(row["settings"], sort_keys=True), len(settings))
    return {"settings": [json.loads(text) for text in settings], "cells": rows}


def target_of(task: dict[str, Any]) -> str:
    """The name of a cell's target: the language's, or the task's."""
    return str(task["language"]) if task["name"] == "language" else str(task["name"])


def format_of(task: dict[str, Any]) -> str:
    """What a model is asked on a task."""
    return str(task.get("ask", "next")) if task["name"] == "language" else "answer"


def ladder_rows(studies: Path) -> Iterator[dict[str, Any]]:
    """The cells of all studies under the frozen ladder."""
    for frozen in sorted(studies.glob("*/results/**/preregistration.json")):
        if {lw.core.result_file.SUPERSEDED, WITHDRAWN} & set(frozen.parts):
            continue
        content = lw.core.files.read_json(frozen)["content"]
        study = frozen.relative_to(studies).parts[2]
        for folder, entries in (("cells", content["languages"]), ("published", content["published"])):
            known = {entry["name"]: entry for entry in entries}
            groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
            for path in sorted((frozen.parent / folder).glob("*-rung*.json")):
                values = lw.core.files.read_json(path)
                groups.setdefault((values["name"], values["encoding"]), []).append(values)
            for (name, _), rungs in groups.items():
                measured = [values for values in rungs if values["measured"]]
                if measured:
                    first, (cell,) = min(rungs, key=lambda values: values["rung"]), measured
                    label = study if folder == "cells" else f"{study}-published"
                    yield ladder_row(label, known[name], int(content["trained"][1]), cell, first)


def ladder_row(
    study: str, entry: dict[str, Any], train: int, cell: dict[str, Any], first: dict[str, Any]
) -> dict[str, Any]:
    """One cell under the ladder; ``entry`` is its language in the preregistration, ``first`` its first rung."""
    name, task = str(cell["encoding"]), entry["task"]
    known = re.split(r"[-+]", name)[0]
    system = MODULO if known == "modulo" else LADDER[known]
    half = str(first["settings"]["steps"] // 2)
    sets = {
        (low, high, words): None
        for seed in cell["seeds"]
        for bounds, kinds in seed.get("sets", {}).items()
        for low, _, high in [bounds.partition("-")]
        for words in kinds
    }

    def accuracy(seed: dict[str, Any], key: tuple[str, str, str]) -> float | None:
        found = seed.get("sets", {}).get(f"{key[0]}-{key[1]}", {}).get(key[2])
        return None if found is None else round(found["right"] / found["n"], 4)

    return {
        "study": study,
        "target": target_of(task),
        "name": entry["name"],
        "task": task,
        "format": format_of(task),
        "system": name,
        "scheme": system.registered_scheme,
        "random_start": system.random_start,
        "encoding": system.encoding,
        "train": train,
        "seeds": [seed["seed"] for seed in cell["seeds"]],
        "fitted": [seed["fitted"] for seed in cell["seeds"]],
        "enough": 4,
        "rung": cell["rung"],
        "predicted": entry["predicted"].get(name, ""),
        "early": [seed["fit_by_step"][half] for seed in first["seeds"] if half in seed.get("fit_by_step", {})],
        "tests": [
            {"low": int(key[0]), "high": int(key[1]), "accuracy": [accuracy(seed, key) for seed in cell["seeds"]]}
            | ({} if key[2] == "uniform" else {"words": key[2]})
            for key in sets
        ],
        "settings": cell["settings"],
        "commit": cell["commit"],
    }


def third_rows(studies: Path) -> Iterator[dict[str, Any]]:
    """The cells of the third study, under the same ladder; its files are keyed by language, format and system."""
    folder = studies / "forecast" / "results" / "forecast"
    content = lw.core.files.read_json(folder / "preregistration.json")["content"]
    for cell in content["cells"]:
        rungs = [
            lw.core.files.read_json(path) for path in sorted((folder / "third/cells").glob(f"{cell['key']}-rung*"))
        ]
        measured = [values for values in rungs if values["measured"]]
        if measured:
            (last,) = measured
            task = {
                "name": "language",
                "language": cell["language"],
                "alphabet": cell["alphabet"],
                "ask": cell["format"],
            }
            entry = {"name": cell["name"], "task": task, "predicted": {}}
            row = ladder_row("third", entry, int(content["trained"][1]), last | {"encoding": cell["system"]}, {
                "settings": rungs[0]["settings"],
                "seeds": [
                    {"seed": seed["seed"], "fit_by_step": {str(rungs[0]["settings"]["steps"] // 2): seed["early"]}}
                    for seed in rungs[0]["seeds"] if seed.get("early") is not None
                ],
            })  # fmt: skip
            if cell["modulo"]:
                row["settings"] = row["settings"] | {"scheme": {"name": "modulo", "m": cell["modulo"]}}
            yield row | {"predicted": "yes" if cell["rivals"]["verdict of the encoding, for the format"][1] else "no"}


def recipe_rows(studies: Path) -> Iterator[dict[str, Any]]:
    """The cells of all recipes."""
    for system in lw.report.summary.summarize(lw.report.summary.load(sorted(studies.glob("*/results")))):
        yield recipe_row(system)


def recipe_row(system: lw.report.summary.SystemSummary) -> dict[str, Any]:
    """One system of a recipe; bins have ``low`` and ``high``, other tests one length."""
    experiment, runs = system.experiment, system.results
    tests: dict[tuple[int, int, str, str], dict[int, float]] = {}
    for number, run in enumerate(runs):
        for score in run.scores:
            axes = dict(score.axes)
            low, high = axes.pop("low", score.length), axes.pop("high", score.length)
            key = low, high, score.test_set or "uniform", json.dumps(axes)
            tests.setdefault(key, {})[number] = round(score.rate(), 4)
    task = experiment["task"]
    kept = {name: experiment[name] for name in ("model", "training") if name in experiment}
    own = {name: value for name, value in experiment["scheme"].items() if name not in ("name", "random_start")}
    encoding = {name: value for name, value in experiment["encoding"].items() if name != "name"}
    return {
        "study": system.recipe,
        "target": target_of(task),
        "task": task,
        "format": format_of(task),
        "system": runs[0].system,
        "variant": system.settings,
        "scheme": experiment["scheme"]["name"],
        "random_start": bool(experiment["scheme"].get("random_start", False)),
        "encoding": experiment["encoding"]["name"],
        "train": system.max_length,
        "seeds": [run.seed for run in runs],
        "fitted": [run.fitted for run in runs],
        "enough": len(runs) // 2 + 1,
        "tests": [
            {"low": low, "high": high, "accuracy": [found.get(number) for number in range(len(runs))]}
            | ({} if words == "uniform" else {"words": words})
            | ({} if axes == "{}" else {"axes": json.loads(axes)})
            for (low, high, words, axes), found in tests.items()
        ],
        "settings": {**kept, "scheme": own, "encoding": encoding},
        "commit": runs[0].commit,
    }


def text(content: dict[str, Any]) -> str:
    """The file: one line for each of the settings and each cell, so that a change shows what changed."""
    parts = [
        f'"{name}": [\n' + ",\n".join(json.dumps(each, separators=(",", ":")) for each in content[name]) + "\n]"
        for name in ("settings", "cells")
    ]
    return "{" + ",\n".join(parts) + "}\n"


if __name__ == "__main__":
    lw.core.files.write_text(FILE, text(table(ROOT / "studies")))
