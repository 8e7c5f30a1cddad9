"""Which architecture carries which task? Twelve models with equally many parameters on fifteen tasks, three seeds.

``python studies/architectures/architectures.py cell TASK MODEL --work DIR`` trains one cell and prints its seeds;
``--steps N`` tries it with fewer steps, and nothing is written. ``tune --work DIR --minutes M`` trains the tasks that
choose the learning rates, and ``train --work DIR --minutes M`` all cells that are missing; both go on where they ended.
``table`` prints the page's table.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lengthwise as lw

HERE = Path(__file__).parent
DESIGN = HERE / "design.json"
"""Fixed before the first training: tasks, models, grid, lengths, the cut, and what is expected."""
TUNING, RESULTS = HERE / "results" / "tuning", HERE / "results" / "architectures"


def design() -> dict[str, Any]:
    return lw.core.files.read_json(DESIGN, what="design of the study")


def experiment(content: dict[str, Any], task: Any, model: str, rate: float, steps: int | None = None) -> lw.Experiment:
    """A model on a task, with as many parameters as attention of the design's width without positions."""
    built = lw.task(task)
    (system,) = lw.experiments.defaults.chosen_systems(built, [model])
    setting = lw.experiments.compare.ModelSetting(content["layers"], rate, content["weight_decay"])
    plan = lw.experiments.compare.Plan(
        task=lw.tasks.TASKS.describe(built), systems=(system,), max_length=content["trained_to"],
        tests=tests(content, built), seeds=content["seeds"], steps=steps or content["steps"], grid=(setting,),
        width=content["width"], heads=content["heads"], batch_size=content["batch_size"],
        samples=content["strings"], fit_samples=content["fit_strings"], equal=True,
    )  # fmt: skip
    made = plan.experiment(system, setting)
    evaluation = dataclasses.replace(made.evaluation, unfitted_too=True)
    return lw.Experiment.of(dataclasses.replace(made, evaluation=evaluation), system.name)


def tests(content: dict[str, Any], task: lw.Task) -> tuple[int, ...]:
    """Multiples of the training length, each moved down to the nearest length with instances."""
    longest = content["trained_to"]
    return tuple(task.lengths(1, multiple * longest)[-1] for multiple in content["multiples"])


def trained(made: lw.Experiment, seeds: int, work: Path) -> dict[str, Any]:
    """Every seed of a cell: its fit, and its accuracy by length."""
    began = time.process_time()
    rows = []
    for _, run in made.run(seeds, out=work, progress=False).files:
        rates: dict[str, float] = {}
        for score in run.scores:
            rates[str(score.length)] = min(score.rate(), rates.get(str(score.length), 1.0))
        rows.append({"seed": run.seed, "fit": run.in_distribution.rate(), "rates": rates})
    return {"system": made.name, "seeds": rows, "cpu_seconds": round(time.process_time() - began, 1)}


def rates_of_learning(content: dict[str, Any], folder: Path) -> dict[str, float]:
    """For each model, the learning rate with the best mean fit on the tuning tasks; long lengths play no part."""
    chosen = {}
    for model in content["models"]:
        means = {}
        for rate in content["rates"]:
            files = [folder / f"{file_name(task, model)}-{rate:g}.json" for task in content["tuning_tasks"]]
            missing = [file.name for file in files if not file.exists()]
            if missing:
                raise SystemExit(f"the tuning is not done: {missing[0]} is missing; run tune first")
            rows = [lw.core.files.read_json(file)["seeds"] for file in files]
            means[rate] = statistics.fmean(row["fit"] for seeds in rows for row in seeds)
        chosen[model] = max(content["rates"], key=lambda rate: means[rate])
    return chosen


def cells(content: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Tasks and models, all models of a task one after the other; ids that follow places on tasks with places alone."""
    for task in content["tasks"]:
        for model in content["models"]:
            if model != "coupled" or task in content["with_places"]:
                yield task, model


def file_name(task: str, model: str) -> str:
    return f"{lw.core.files.slug(task)}-{lw.core.files.slug(model)}"


def tune(content: dict[str, Any], work: Path, minutes: float, folder: Path = TUNING) -> None:
    """Train every model on the tuning tasks with one seed at each learning rate; one file each."""
    ends = time.monotonic() + 60 * minutes
    for name, task in content["tuning_tasks"].items():
        for model in content["models"]:
            for rate in content["rates"]:
                file = folder / f"{file_name(name, model)}-{rate:g}.json"
                if file.exists() or time.monotonic() > ends:
                    continue
                write(file, name, model, rate, trained(experiment(content, task, model, rate), 1, work))


def train(content: dict[str, Any], work: Path, minutes: float, folder: Path = RESULTS) -> None:
    """Train the cells that are missing, with the learning rates of the tuning; one file each."""
    ends, rates = time.monotonic() + 60 * minutes, rates_of_learning(content, TUNING)
    for name, model in cells(content):
        file = folder / f"{file_name(name, model)}.json"
        if not file.exists() and time.monotonic() < ends:
            made = experiment(content, content["tasks"][name], model, rates[model])
            write(file, name, model, rates[model], trained(made, content["seeds"], work))


def write(file: Path, task: str, model: str, rate: float, values: dict[str, Any]) -> None:
    made = lw.experiments.provenance.provenance("cpu")
    file.parent.mkdir(parents=True, exist_ok=True)
    lw.core.files.write_json(file, {"task": task, "model": model, "rate": rate, **values, **made})
    print(f"{task}, {model}: {shown(design(), values)}; {values['cpu_seconds']} s", flush=True)


def reach(content: dict[str, Any], seed: dict[str, Any]) -> str:
    """The multiple of the training length up to which a seed holds; × where it does not fit."""
    if seed["fit"] < content["fit"]:
        return "×"
    held = 0
    for multiple, rate in zip(content["multiples"], seed["rates"].values(), strict=True):
        if rate < content["holds"]:
            break
        held = multiple
    return str(held)


def shown(content: dict[str, Any], values: dict[str, Any]) -> str:
    return " ".join(reach(content, seed) for seed in values["seeds"])


def table(content: dict[str, Any], folder: Path = RESULTS) -> str:
    """A row for each task: how far each seed of each model holds, and whether that was expected."""
    lines = ["| task | " + " | ".join(content["models"]) + " |", "|---" * (1 + len(content["models"])) + "|"]
    for task in content["tasks"]:
        row = [task]
        for model in content["models"]:
            file = folder / f"{file_name(task, model)}.json"
            expected = content["expected"].get(task, {}).get(model, "")
            row.append(
                (shown(content, lw.core.files.read_json(file)) if file.exists() else "–") + f" {expected}".rstrip()
            )
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cell", "tune", "train", "table"])
    parser.add_argument("names", nargs="*", help="of cell: task and model")
    parser.add_argument("--work", type=Path, default=Path("work"))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--rate", type=float)
    given, content = parser.parse_args(), design()
    if given.what == "table":
        print(table(content))
    elif given.what == "cell":
        if len(given.names) != 2 or given.names[0] not in content["tasks"]:
            sys.exit(f"cell needs one of {', '.join(content['tasks'])} and one of {', '.join(content['models'])}")
        task, model = given.names
        rate = given.rate or content["rates"][0]
        made = experiment(content, content["tasks"][task], model, rate, given.steps)
        values = trained(made, content["seeds"], given.work)
        for seed in values["seeds"]:
            print(f"seed {seed['seed']}: fit {seed['fit']:.3f}, {seed['rates']}, holds to {reach(content, seed)}")
    else:
        (tune if given.what == "tune" else train)(content, given.work, given.minutes)


if __name__ == "__main__":
    main()
