"""Writes the evidence table, ``src/lengthwise/measured/cells.json``, from all committed result files.

``python studies/forecast/evidence.py`` writes it in a few seconds. Training runs (``result.json``) of one recipe,
system and configuration are one cell, with one accuracy a seed. Of a study under the frozen ladder (a folder with
``preregistration.json``), a cell is a language under an encoding, measured at the first rung that fits or at the last.
Of studies with files of their own (`OTHERS`) those that train as these do (`PLAIN`) are cells, too; the rest is a list
of its own, ``others``, which no base rate counts. A test holds that each file of results is read or named in
`LEFT_OUT`, so a study that adds files adds a line here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import lengthwise as lw

ROOT = Path(__file__).parents[2]
FILE = ROOT / "src" / "lengthwise" / "measured" / "cells.json"
LADDER = {system.known_as: system for system in lw.positions.system.SYSTEMS}
MODULO = lw.PositionSystem("modulo", "learned")
WITHDRAWN = "withdrawn"
"""The folder of a preregistration that was never trained."""
FIT = 0.95
"""A seed is fitted from this accuracy on at the trained lengths, where its file does not say whether it is."""
PLAIN = ("architectures", "training-length", "one-model", "smallest-claims")
"""Studies with files of their own that train registered systems on tasks and languages to their full length."""
LEFT_OUT = {
    "**/superseded/**/*": "replaced by later results",
    "*/results/*/controls/**/*": "single runs under switched settings, to explain a result",
    "*/results/**/withdrawn/*": "never trained",
    "**/files.json": "digests of result files",
    "**/table.json": "made from the result files",
    "blind/results/blind/published-table.json": "made from the result files",
    "*/results/*/*/config.json": "what a run was given; its result has it, too",
    "*/results/*/*/log.jsonl": "a log",
    "blind/results/blind/attempts.jsonl": "a log",
    "golowich/queue-done.jsonl": "a log",
    "**/design.json": "what is to be measured",
    "golowich/queue.json": "what is to be measured",
    "forecast/cells.json": "a list of cells of the blind studies, measured there",
    "forecast/results/forecast/languages.json": "what is to be measured",
    "forecast/results/forecast/coefficients.json": "the forecaster that was tested",
    "forecast/results/forecast/third/forecasts/*": "forecasts",
    "forecast/development.json": "scores of the forecast",
    "training_length/models.json": "features of the models of one-model, with the same accuracies",
    "training_length/bounds.json": "what theory says",
    "traces/expected.json": "what theory says",
    "arithmetic/results/huggingface-addition/gpt-2-errors.json": "models changed after training, to find a cause",
    "explain/explained.json": "one share for all lengths beyond training, which are not named",
    "explain/half_of_the_rows.json": "ten more such models as of rows_of_a_kind.json",
    "explain/second_round.json": "the first of these models trained on, once and twice",
    "explain/longer_strings.json": "the first of these models trained on with longer strings",
    "explain/rows_of_a_kind.json": "models of one task, trained on with other rows, and counts of one kind of strings",
    "explain/rows_with_values.json": "the same models, and counts of strings with some values",
    "attach/near.json": "ten more such models as of rows_of_a_kind.json, in the tables of near.md",
    "attach/results.json": "untrained models",
    "methods/results/context-extension/*": "losses of language models: no string is right or wrong",
    "influence/results/**/*": "losses of language models: no string is right or wrong",
    "theory/results/*/*/study.json": "exact learners of theory, no trained model",
    "huang/results/idealized-learner/*/*": "a learner of theory, no trained model",
    "huang/results/regularizer-growth/*/*": "a regularizer of fixed programs, no trained model",
    "huang/results/positional-*/*/*": "products of positions alone, no task",
    "huang/huang_g2.json": "published by others",
    "huang/huang_published.json": "published by others",
}
"""Files that have no measured cell, by pattern, and why."""


Rows = Iterator[dict[str, Any]]


def table(studies: Path) -> dict[str, Any]:
    """The content of the file: ``settings`` and ``task``, each once; ``cells`` and ``others`` name them by number.

    ``theory`` has, for each task of ``cells`` that has answers, what theory says under each position system.
    """
    cells = [*ladder_rows(studies), *third_rows(studies, "cells"), *recipe_rows(studies)]
    others = [*third_rows(studies, "probes")]
    for pattern, rows_of in OTHERS.items():
        others += [row for path in sorted(studies.glob(pattern)) for row in rows_of(path)]
    cells += filter(is_plain, others)
    others = [row for row in others if not is_plain(row)]
    cells = [row | kind for row, kind in zip(cells, forecasters(cells), strict=True)]
    once: dict[str, dict[str, int]] = {"settings": {}, "task": {}}
    for rows in (cells, others):
        rows.sort(key=lambda row: (row["study"], row["target"], row["system"], json.dumps(row, sort_keys=True)))
        for row in rows:
            for field, numbers in once.items():
                value = json.dumps(row[field], sort_keys=field == "settings")
                row[field] = numbers.setdefault(value, len(numbers))
    recurring = {field: [json.loads(value) for value in numbers] for field, numbers in once.items()}
    asked = {row["task"] for row in cells if row["format"] == "answer"}
    theory = [theory_of(task) if number in asked else {} for number, task in enumerate(recurring["task"])]
    return {**recurring, "theory": theory, "cells": cells, "others": others}


def is_plain(row: Mapping[str, Any]) -> bool:
    """Whether a row of a study with files of its own is a training of a registered model on a registered task."""
    mixer = row["settings"].get("model", {}).get("mixer", "attention")
    known = row["task"]["name"] in lw.tasks.TASKS and row["encoding"] in lw.encodings.ENCODINGS
    return row["study"] in PLAIN and mixer == "attention" and known


def theory_of(task: Mapping[str, Any]) -> dict[str, str]:
    """Theory's answers on a task, as `Verdict.short` says them, from what is known of it without a search."""
    return {v.system: v.short for v in lw.prediction.predict.predict_task(lw.task(dict(task))).verdicts}


def target_of(task: Mapping[str, Any]) -> str:
    """The name of a cell's target: the language's, or the task's, also where it is written with a trace."""
    if task["name"] == "traced":
        return task["task"] if isinstance(task["task"], str) else target_of(task["task"])
    return str(task["language"]) if task["name"] == "language" else str(task["name"])


def format_of(task: Mapping[str, Any]) -> str:
    """What a model is asked on a task."""
    return str(task.get("ask", "next")) if task["name"] == "language" else "answer"


def as_test(
    low: int, high: int, accuracy: Sequence[float | None], axes: dict[str, int] | None = None, words: str = "uniform"
) -> list[Any]:
    """The fields of a `Test` in their order, without defaults at the end."""
    rates = [None if rate is None else round(rate, 4) for rate in accuracy]
    return [low, high, rates, *([axes or {}, words] if words != "uniform" else [axes] if axes else [])]


def row_of(
    study: str,
    task: Mapping[str, Any],
    name: str,
    system: lw.PositionSystem,
    train: int,
    fitted: Mapping[int, bool],
    tests: list[list[Any]],
    settings: dict[str, Any],
    commit: str,
) -> dict[str, Any]:
    """One cell: the fields that all have; ``name`` is the system's in its study, ``fitted`` has its seeds."""
    return {
        "study": study,
        "target": target_of(task),
        "task": task,
        "format": format_of(task),
        "system": name,
        "scheme": system.registered_scheme,
        "random_start": system.random_start,
        "encoding": system.encoding,
        "train": train,
        "seeds": list(fitted),
        "fitted": list(fitted.values()),
        "enough": len(fitted) // 2 + 1,
        "tests": tests,
        "settings": settings,
        "commit": commit,
    }


def ladder_rows(studies: Path) -> Rows:
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
        return None if found is None else found["right"] / found["n"]

    fitted = {seed["seed"]: seed["fitted"] for seed in cell["seeds"]}
    tests = [
        as_test(int(key[0]), int(key[1]), [accuracy(seed, key) for seed in cell["seeds"]], words=key[2]) for key in sets
    ]
    return row_of(study, task, name, system, train, fitted, tests, cell["settings"], cell["commit"]) | {
        "name": entry["name"],
        "enough": 4,
        "rung": cell["rung"],
        "predicted": entry["predicted"].get(name, ""),
        "early": [seed["fit_by_step"][half] for seed in first["seeds"] if half in seed.get("fit_by_step", {})],
    }


def third_rows(studies: Path, part: str) -> Rows:
    """The ``cells`` or ``probes`` of the third study, under the same ladder, by language, format and system."""
    folder = studies / "forecast" / "results" / "forecast"
    content = lw.core.files.read_json(folder / "preregistration.json")["content"]
    for cell in content["cells"]:
        rungs = [
            lw.core.files.read_json(path) for path in sorted((folder / "third" / part).glob(f"{cell['key']}-rung*"))
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
            if part == "probes":
                yield row | {"study": "third-probes", "train": row["train"] // 2, "enough": 2, "rung": None}
            else:
                said = cell["rivals"]["verdict of the encoding, for the format"][1]
                yield row | {"predicted": "yes" if said else "no"}


def recipe_rows(studies: Path) -> Rows:
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
            tests.setdefault(key, {})[number] = score.rate()
    kept = {name: experiment[name] for name in ("model", "training") if name in experiment}
    scheme, encoding = {**experiment["scheme"]}, {**experiment["encoding"]}
    ids, vectors = scheme.pop("name"), encoding.pop("name")
    found = row_of(
        system.recipe,
        experiment["task"],
        runs[0].system,
        lw.PositionSystem("random-start" if scheme.pop("random_start", False) else ids, vectors),
        system.max_length,
        {run.seed: run.fitted for run in runs},
        [
            as_test(low, high, [rates.get(number) for number in range(len(runs))], json.loads(axes), words)
            for (low, high, words, axes), rates in tests.items()
        ],
        {**kept, "scheme": scheme, "encoding": encoding},
        runs[0].commit,
    )
    return found | {"variant": system.settings}


FORECAST = ("nope", "ape", "rope", "alibi")
"""Systems under the frozen ladder that are forecast; its variants with a regularizer or without norms are not."""
ABLATIONS = ("ppc-ablations", "golowich-ablations", "huang", "looped-parity", "addition-jumps")
"""Studies that take parts away, search settings with results in view, or train other models."""
FARTHEST = 8.0
"""Tests of tasks beyond this multiple of N are left out of the fit: few studies have them."""


def forecasters(cells: Sequence[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """The forecaster that is fitted on each cell, ``language`` or ``task``, as a field; none for the others.

    By the record of the fit, which has its studies and their commits. A new fit looks at all cells: without a record.
    """
    of_fit = lw.core.files.read_json(lw.forecast.model.FILE)
    fit = [sum(row["fitted"]) >= row["enough"] for row in cells]
    plain = [[t for t in row["tests"] if len(t) < 4 or not t[3]] for row in cells]
    # Where the settings of a test differ by more than the length, M / N is not what decides.
    other = {row["target"] for row, fits, tests in zip(cells, fit, plain, strict=True) if fits and not tests}
    for row, fits, tests in zip(cells, fit, plain, strict=True):
        far = not fits or any(1 < (low + high) / 2 / row["train"] <= FARTHEST for low, high, *_ in tests)
        language = row.get("rung") is not None and row["system"] in FORECAST
        kind = ""
        if language and lw.forecast.features.language_of(row["task"]) is not None:
            kind = "language"
        elif row["format"] == "answer" and row["study"] not in ABLATIONS and row["target"] not in other and far:
            kind = "task" * (row["target"] in lw.tasks.TASKS)
        fitted_on = of_fit.get(kind, {}).get("studies")
        seen = fitted_on is None or row["commit"] in fitted_on.get(row["study"], ())
        yield {"forecaster": kind} if kind and seen else {}


def seed_of(rates: Mapping[Any, float], train: int, fitted: bool | None = None) -> tuple[bool, dict[Any, float]]:
    """Whether a seed is fitted, by `FIT` where that is not given, and its accuracies by length or bin (``51-100``)."""
    tests = {}
    for length, rate in rates.items():
        low, _, high = str(length).partition("-")
        tests[int(low), int(high or low)] = rate
    inside = [rate for (_, high), rate in tests.items() if high <= train]
    return min(inside) >= FIT if fitted is None else fitted, tests


def other_row(
    study: str,
    task: Any,
    name: str,
    system: lw.PositionSystem,
    train: int,
    seeds: Mapping[int, tuple[bool, Mapping[Any, float]]],
    settings: dict[str, Any],
    commit: str = "",
) -> dict[str, Any]:
    """A cell of a study with files of its own, with what `seed_of` gives for each seed."""
    lengths = dict.fromkeys(bounds for _, rates in seeds.values() for bounds in rates)
    tests = [as_test(low, high, [rates.get((low, high)) for _, rates in seeds.values()]) for low, high in lengths]
    fitted = {seed: fits for seed, (fits, _) in seeds.items()}
    task = lw.tasks.TASKS.describe(lw.task(task))
    return row_of(study, task, name, system, train, fitted, tests, settings, commit)


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A result file two folders below its study, and the study's design."""
    return lw.core.files.read_json(path), lw.core.files.read_json(path.parents[2] / "design.json")


def architectures(path: Path) -> Rows:
    """A model on a task, or a trial of its learning rate."""
    values, design = read(path)
    tuning, train = path.parent.name == "tuning", design["trained_to"]
    task = design["tuning_tasks" if tuning else "tasks"][values["task"]]
    (system,) = lw.experiments.defaults.chosen_systems(lw.task(task), [values["model"]])
    seeds = {own["seed"]: seed_of(own["rates"], train, own["fit"] >= design["fit"]) for own in values["seeds"]}
    training = {"lr": values["rate"], "steps": design["tuning_steps" if tuning else "steps"]}
    settings = {"model": {"layers": design["layers"], "mixer": system.mixer}, "training": training}
    study = "architectures-tuning" if tuning else "architectures"
    yield other_row(study, task, values["model"], system, train, seeds, settings, values["commit"])


def traces(path: Path) -> Rows:
    """A task with a trace under a system; strings that are right in all tokens, those of the trace, too."""
    values, design = read(path)
    name, task = values["cell"]["system"], values["cell"]["task"]
    own = design["systems"][name]
    train, system = own["training"]["max_length"], lw.PositionSystem(own["scheme"]["name"], own["encoding"]["name"])
    seeds = {own["seed"]: seed_of(own["whole"], train, own["fit"] >= design["fit"]) for own in values["seeds"]}
    settings = {"model": own["model"], "training": own["training"]}
    yield other_row("traces", task, name, system, train, seeds, settings, values["commit"])


def smallest_claims(path: Path) -> Rows:
    """Sorting or indexing under one of two methods; the task of indexing and NAPE are classes of the study's file."""
    values = lw.core.files.read_json(path)
    what, *positions = values["cell"].split(", ")
    task = {"name": "bucket-sort", "letters": 8} if what == "sort" else {"name": "indirect-indexing"}
    encoding = "-".join(positions).lower().replace("no positions", "nope").removesuffix("-softmax")
    system = lw.PositionSystem("sequential", encoding)
    rates = [own["rates"] for own in values["seeds"]]
    train = min(int(length) for length in rates[0])
    seeds = {own["seed"]: seed_of(own["rates"], train, own["fit"] >= 0.98) for own in values["seeds"]}
    fitted = {seed: fits for seed, (fits, _) in seeds.items()}
    tests = [as_test(*bounds, [own[bounds] for _, own in seeds.values()]) for bounds in next(iter(seeds.values()))[1]]
    name = ", ".join(positions)
    yield row_of("smallest-claims", task, name, system, train, fitted, tests, {}, values["commit"])


def training_lengths(path: Path) -> Rows:
    """A language under a system, trained to one length after the other."""
    values, design = read(path)
    study, name = path.parent.name, values["system"]
    (task,) = (entry["task"] for entry in design["tasks"] if entry["name"] == values["name"])
    settings = {"training": {"steps": (design["one model"] if study == "one-model" else design)["steps"]}}
    for row in values["lengths"]:
        n, seeds = row["trained"], {}
        for own in row["seeds"]:
            rates = {f"{n + 1}-{2 * n}": own["near"], f"{2 * n + 1}-{4 * n}": own["far"]}
            seeds[own["seed"]] = seed_of(rates, n, own["fit"] >= design["fit"])
        yield other_row(study, task, name, LADDER[name], n, seeds, settings, values["commit"])


def probes(path: Path) -> Rows:
    """A probe: a short training to half the length of the cell that it asks about, and its tests up to that length."""
    content = lw.core.files.read_json(path)
    values = content.get("probe", content)
    scheme, encoding = ({**values["cell"][part]} for part in ("scheme", "encoding"))
    system = lw.PositionSystem(
        "random-start" if scheme.pop("random_start", False) else scheme["name"], encoding["name"]
    )
    del scheme["name"], encoding["name"]
    train, settings = values["trained"][1], {"encoding": encoding, "scheme": scheme, "rung": len(values["rungs"])}
    seeds = {own["seed"]: seed_of(own["accuracy"], train, own["fitted"]) for own in values["seeds"]}
    if seeds:
        task, commit = values["cell"]["task"], content.get("commit", "")
        yield other_row(path.parent.name, task, system.known_as, system, train, seeds, settings, commit)


def self_improvement(path: Path) -> Rows:
    """Models that label longer strings themselves, after each round, and a control without labels."""
    content = lw.core.files.read_json(path)
    groups: dict[tuple[str, int], dict[int, Any]] = {}
    for row in content["rows"]:
        for voter, rates in enumerate(row["exact"]):
            seeds = groups.setdefault((row["system"], row["longest"]), {})
            seeds[content["voters"] * row["seed"] + voter] = seed_of(rates, row["longest"])
    task, system = {"name": "copy", "symbols": "repeats", "letters": 10}, lw.PositionSystem("sequential", "alibi")
    for (name, longest), seeds in groups.items():
        yield other_row("self-improvement", task, name, system, longest, seeds, {}, content["commit"])


def audit(path: Path) -> Rows:
    """A small Llama, and its extensions: the same models, so they are fitted where it is."""
    rates: dict[str, dict[int, dict[int, float]]] = {}
    for row in lw.core.files.read_json(path)["rows"]:
        for name, right in (("plain", row["plain"]), (row["method"], row["extended"])):
            rates.setdefault(name, {}).setdefault(row["seed"], {})[row["level"]] = right / row["asked"]
    fitted = {seed: seed_of(own, 16)[0] for seed, own in rates["plain"].items()}
    for name, seeds in rates.items():
        found = {seed: seed_of(own, 16, fitted[seed]) for seed, own in seeds.items()}
        yield other_row("audit", "retrieval", f"Llama, {name}", lw.PositionSystem("sequential", "rope"), 16, found, {})


def hugging_face(path: Path) -> Rows:
    """A small Llama or GPT-2, from columns (model, ids, seed, digits, right, of, times) or from objects."""
    lines, groups = path.read_text(encoding="utf-8").splitlines(), {}
    for line in lines:
        if path.suffix == ".tsv":
            model, ids, seed, digits, right, of, *times = line.split("\t")
            rates, about = {digits: int(right) / int(of)}, {"attention times": float(*times)} if times else {}
            if times == ["1.0"]:  # The models of another file, on other sums.
                continue
        else:
            values = {"task": "addition", "ids": "plain", "problems": 100} | json.loads(line)
            model, ids, seed = "Llama", values["ids"], values["seed"]
            counts = values.get("right_by_length") or values["right_by_digits"]
            rates = {length: right / values["problems"] for length, right in counts.items()}
            about = {name: values[name] for name in TRAINED_WITH if name in values}
        groups.setdefault(json.dumps([model, ids, about]), {}).setdefault(int(seed), {}).update(rates)
    for group, seeds in groups.items():
        model, ids, about = json.loads(group)
        system = lw.PositionSystem(
            "coupled" if ids == "coupled" else "sequential", "rope" if model == "Llama" else "learned"
        )
        found, task = {seed: seed_of(rates, 8) for seed, rates in seeds.items()}, about.pop("task", "addition")
        yield other_row("huggingface-addition", task, f"{model}, {ids} ids", system, 8, found, about)


TRAINED_WITH = ("task", "layers", "base", "no_bias", "steps", "rows", "lr")
"""Settings of `hugging_face`."""
OTHERS: dict[str, Callable[[Path], Rows]] = {
    "architectures/results/*/*.json": architectures,
    "traces/results/traces/*.json": traces,
    "methods/results/smallest-claims/*.json": smallest_claims,
    "training_length/results/*/*.json": training_lengths,
    "forecast/results/forecast/probes/*.json": probes,
    "forecast/results/forecast/probe-matrix/*.json": probes,
    "arithmetic/results/self-improvement/*/study.json": self_improvement,
    "audit/results.json": audit,
    "arithmetic/results/huggingface-addition/*.tsv": hugging_face,
    "arithmetic/results/huggingface-addition/llama-controls.jsonl": hugging_face,
    "arithmetic/results/huggingface-addition/llama-plain-2-layers.json": hugging_face,
}
"""What reads the files of studies with files of their own, by pattern."""


def text(content: dict[str, Any]) -> str:
    """The file: one line for each of the settings, tasks and cells, so that a change shows what changed."""
    parts = [
        f'"{name}": [\n' + ",\n".join(json.dumps(each, separators=(",", ":")) for each in content[name]) + "\n]"
        for name in content
    ]
    return "{" + ",\n".join(parts) + "}\n"


if __name__ == "__main__":
    lw.core.files.write_text(FILE, text(table(ROOT / "studies")))
