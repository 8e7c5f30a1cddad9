"""Which architecture carries which task? Twelve models with equally many parameters on fifteen tasks, three seeds.

``python studies/architectures/architectures.py cell TASK MODEL --work DIR`` trains one cell and prints its seeds;
``--steps N`` tries it with fewer steps, and nothing is written. ``tune --work DIR --minutes M`` trains the tasks that
choose the learning rates, and ``train --work DIR --minutes M`` all cells that are missing; both go on where they ended,
and several processes with one ``--work`` share the cells. ``table`` prints the page's tables.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import re
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

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
    began = time.perf_counter()
    rows = []
    for _, run in made.run(seeds, out=work, progress=False).files:
        rates: dict[str, float] = {}
        for score in run.scores:
            rates[str(score.length)] = min(score.rate(), rates.get(str(score.length), 1.0))
        rows.append({"seed": run.seed, "fit": run.in_distribution.rate(), "rates": rates})
    return {"system": made.name, "seeds": rows, "seconds": round(time.perf_counter() - began, 1)}


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


@dataclasses.dataclass(frozen=True)
class Share:
    """What one process trains: models whose names match, on a device, until a time."""

    work: Path
    ends: float
    device: str = "cpu"
    models: str = ""

    def write(self, file: Path, task: str, model: str, rate: float, made: lw.Experiment, seeds: int) -> None:
        """Train a cell and write its file, unless it is there, another process has it, or the time is over."""
        if file.exists() or time.monotonic() > self.ends or not re.search(self.models, model):
            return
        self.work.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(Timeout), FileLock(self.work / f"{file.stem}.lock", timeout=0):
            if not file.exists():
                values = {"task": task, "model": model, "rate": rate, **trained(made, seeds, self.work / file.stem)}
                values |= lw.experiments.provenance.provenance(self.device)
                file.parent.mkdir(parents=True, exist_ok=True)
                lw.core.files.write_json(file, values)
                print(f"{task}, {model}: {shown(design(), values)}; {values['seconds']} s", flush=True)


def tune(content: dict[str, Any], share: Share, folder: Path = TUNING) -> None:
    """Train every model on the tuning tasks with one seed at each learning rate; one file each."""
    for name, task in content["tuning_tasks"].items():
        for model in content["models"]:
            for rate in content["rates"]:
                made = experiment(content, task, model, rate, content["tuning_steps"])
                share.write(folder / f"{file_name(name, model)}-{rate:g}.json", name, model, rate, made, 1)


def train(content: dict[str, Any], share: Share, folder: Path = RESULTS) -> None:
    """Train the cells that are missing, with the learning rates of the tuning; one file each."""
    rates = rates_of_learning(content, TUNING)
    for name, model in cells(content):
        made = experiment(content, content["tasks"][name], model, rates[model])
        share.write(folder / f"{file_name(name, model)}.json", name, model, rates[model], made, content["seeds"])


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


def results(content: dict[str, Any], folder: Path = RESULTS) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The seeds of every cell that was trained, by task and model."""
    files = {(task, model): folder / f"{file_name(task, model)}.json" for task, model in cells(content)}
    return {cell: lw.core.files.read_json(file)["seeds"] for cell, file in files.items() if file.exists()}


def tables() -> dict[str, str]:
    """The tables of the page as Markdown."""
    from table_parts import markdown

    content = design()
    found, farthest = results(content), str(content["multiples"][-1])
    reached = {cell: [reach(content, seed) for seed in seeds] for cell, seeds in found.items()}
    rows = []
    for task in content["tasks"]:
        shown = [" ".join(reached.get((task, model), "–")) for model in content["models"]]
        expected = [content["expected"].get(task, {}).get(model, "") for model in content["models"]]
        rows.append([task, *(f"{seen} {said}".rstrip() for seen, said in zip(shown, expected, strict=True))])
    summary = []
    for model in content["models"]:
        mine = {task: held for (task, name), held in reached.items() if name == model}
        fitted = [task for task, held in mine.items() if held.count("×") * 2 < len(held)]
        said = {task: content["expected"].get(task, {}).get(model, "") for task in mine}
        outcomes = {}
        for answer in ("(yes)", "(no)"):
            asked = [task for task in fitted if said[task] == answer]
            outcomes[answer] = (
                f"{sum(mine[task].count(farthest) * 2 > len(mine[task]) for task in asked)} of {len(asked)}"
            )
        every = [held for task in mine for held in mine[task]]
        summary.append(
            [
                model, f"{len(mine)}", f"{len(fitted)}", f"{every.count(farthest)} of {len(every)}",
                ", ".join(task for task in mine if mine[task].count(farthest) * 2 > len(mine[task])) or "–",
                *outcomes.values(),
            ]
        )  # fmt: skip
    rates = rates_of_learning(content, TUNING)
    return {
        "Each model": markdown(
            ["model", "tasks trained", "fitted", "seeds that hold to 4×", "tasks that most seeds hold to 4×",
             "of a fitted yes", "of a fitted no"],
            summary,
        ),
        "All seeds": markdown(["task", *content["models"]], rows),
        "Learning rates": markdown(["model", "rate"], [[model, f"{rate:g}"] for model, rate in rates.items()]),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cell", "tune", "train", "table"])
    parser.add_argument("names", nargs="*", help="of cell: task and model")
    parser.add_argument("--work", type=Path, default=Path("work"))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--models", default="", help="a regular expression that the model's name must match")
    given, content = parser.parse_args(), design()
    os.environ["LENGTHWISE_DEVICE"] = given.device
    if given.what == "table":
        sys.path.append(str(HERE.parent))
        for title, table in tables().items():
            print(f"## {title}\n\n{table}\n")
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
        share = Share(given.work, time.monotonic() + 60 * given.minutes, given.device, given.models)
        (tune if given.what == "tune" else train)(content, share)


if __name__ == "__main__":
    main()
