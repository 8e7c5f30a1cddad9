"""The command ``lengthwise plan`` says what a recipe costs on given machines, before anything starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from lengthwise.cli.console import emit_json, err, out, plain_table
from lengthwise.cli.options import AsJson, options_of
from lengthwise.cli.threads import Threads
from lengthwise.training.threads import use_threads

if TYPE_CHECKING:
    from lengthwise.experiments.cost import SweepPlan


@dataclass(frozen=True)
class PlanSettings:
    """The options of ``lengthwise plan``."""

    recipe: Annotated[str, typer.Argument(help="A recipe (`lengthwise list recipes`), a task, or FILE.py:Class.")]
    machines: Annotated[str, typer.Option("--machines", metavar="COUNTxCORES", help="e.g. 4x16.")] = "1x1"
    preset: Annotated[str, typer.Option("--preset", help="quick, standard or full.")] = "quick"
    seeds: Annotated[int | None, typer.Option("--seeds", help="Seeds 0…N−1 instead of each system's own.")] = None
    edits: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="As of `run`.")] = None
    only: Annotated[list[str] | None, typer.Option("--only", metavar="SYSTEM|TASK", help="As of `run`.")] = None
    cpus_per_job: Annotated[int, typer.Option("--cpus-per-job", min=1, help="Cores of each job.")] = 1
    threads: Threads = None
    as_json: AsJson = False


@options_of(PlanSettings)
def plan(given: PlanSettings) -> None:
    """Measure a few steps and test strings of every system, and print jobs, core-hours, hours and memory.

    The numbers are those of this machine under its present load.
    """
    use_threads(given.cpus_per_job if given.threads is None else given.threads)
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.experiments.cost import Machines
    from lengthwise.experiments.cost import plan as estimate
    from lengthwise.experiments.defaults import recipe_for

    chosen = (
        recipe_for(given.recipe, given.preset).selected(given.only or [], []).edited(given.edits or [], given.seeds)
    )
    machines, notes = Machines.of(given.machines), err()
    found = estimate(chosen, machines, given.cpus_per_job, lambda line: notes.print(line, style="dim"))
    if given.as_json:
        emit_json(found.to_json())
        return
    _draw(found, given.machines)


def _draw(found: SweepPlan, machines: str) -> None:
    numbers = ("jobs", "seeds", "ms a step", "tests, s a seed", "s a job")
    table = plain_table("system", *numbers, right=numbers)
    for job in found.jobs:
        table.add_row(
            job.name, str(job.tasks), str(job.seeds), f"{1000 * job.step_seconds:.1f}", f"{job.test_seconds:.1f}",
            f"{job.task_seconds:.0f}",
        )  # fmt: skip
    console = out()
    console.print(table)
    count = sum(job.tasks for job in found.jobs)
    console.print(
        f"{count} jobs, {found.core_hours:.2g} core-hours, {found.hours:.2g} hours on {machines} machines; "
        f"about {found.memory / 2**20:,.0f} MiB each"
    )
