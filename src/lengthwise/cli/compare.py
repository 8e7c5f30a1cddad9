"""The command ``lengthwise compare`` trains every sensible position system on one task and ranks them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lengthwise.cli.cluster import ClusterSettings, CpusPerJob, GpusPerJob, Ray
from lengthwise.cli.console import emit_json, err, out
from lengthwise.cli.options import AsJson, options_of
from lengthwise.cli.threads import Jobs, Threads, number_of_jobs
from lengthwise.cli.verify import read_budget
from lengthwise.training.threads import use_threads


@dataclass(frozen=True)
class CompareSettings:
    """The options of ``lengthwise compare``."""

    task: Annotated[str, typer.Argument(help="A task (`lengthwise list tasks`) or FILE.py:Class.")]
    systems: Annotated[
        str | None,
        typer.Option("--systems", metavar="all|NAME,…", help="e.g. rope,coupled,pose+rope; default: about eight."),
    ] = None
    budget: Annotated[str, typer.Option("--budget", help="Time for everything, e.g. 90s, 10m, 1h.")] = "10m"
    seeds: Annotated[int, typer.Option("--seeds", help="Seeds of every system.")] = 3
    max_length: Annotated[int, typer.Option("--max-length", help="The longest training length.")] = 6
    threads: Threads = None
    jobs: Jobs = "1"
    ray: Ray = None
    cpus_per_job: CpusPerJob = 1
    gpus_per_job: GpusPerJob = 0.0
    folder: Annotated[Path | None, typer.Option("--out", help="Default: runs/compare/TASK.")] = None
    as_json: AsJson = False


@options_of(CompareSettings)
def compare(given: CompareSettings) -> None:
    """Train every sensible position system on one task and rank them by how far they go.

    All systems get the same number of training steps, which the budget decides, and the same small grid of settings,
    of which the fit on training lengths chooses. The same command goes on where the budget ended.
    """
    from lengthwise.cli.compare_view import ComparisonProgress, draw
    from lengthwise.experiments.compare import Budget
    from lengthwise.experiments.defaults import folder_name
    from lengthwise.tasks import TASKS
    from lengthwise.workflows.compare import compare as run

    use_threads(given.threads)
    budget = Budget(read_budget(given.budget), number_of_jobs(given.jobs), given.seeds)
    task = TASKS.build(given.task)
    folder = given.folder or Path("runs") / "compare" / folder_name(task)
    names = [name.strip() for name in (given.systems or "").split(",") if name.strip()]
    progress = ComparisonProgress(err())
    on = ClusterSettings(given.ray, None, given.cpus_per_job, given.gpus_per_job).executor(folder)
    done = run(
        task, folder, systems=names, budget=budget, max_length=given.max_length, on=on, progress=progress
    )  # fmt: skip
    if given.as_json:
        emit_json(done.values)
        return
    draw(out(), done)
