"""The command ``lengthwise run`` trains and measures the systems of a recipe, or computes a study."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lengthwise.cli.cluster import ClusterSettings, CpusPerJob, GpusPerJob, Ray, Slurm
from lengthwise.cli.console import emit_json, err, out
from lengthwise.cli.options import options_of
from lengthwise.cli.threads import Jobs, Threads, number_of_jobs
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.training.threads import use_threads

if TYPE_CHECKING:
    from lengthwise.experiments.recipe import Recipe
    from lengthwise.experiments.sweep import Sweep


@dataclass(frozen=True)
class RunSettings:
    """The options of ``lengthwise run``."""

    recipe: Annotated[str, typer.Argument(help="A recipe (`lengthwise list recipes`), a task, or FILE.py:Class.")]
    preset: Annotated[str, typer.Option("--preset", help="quick, standard or full.")] = "quick"
    seeds: Annotated[int | None, typer.Option("--seeds", help="Seeds 0…N−1 instead of each system's own.")] = None
    edits: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="e.g. training.steps=100, for all systems.")
    ] = None
    folder: Annotated[Path, typer.Option("--out", help="Where run directories go.")] = Path("runs")
    resume: Annotated[bool, typer.Option("--resume", help="Insist that there is something to resume.")] = False
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="SYSTEM|TASK", help="Only this system, or this task's.")
    ] = None
    encoding: Annotated[
        list[str] | None, typer.Option("--encoding", help="Only systems with these positions; may be given again.")
    ] = None
    print_config: Annotated[bool, typer.Option("--print-config", help="Print the resolved systems, run none.")] = False
    threads: Threads = None
    jobs: Jobs = "1"
    ray: Ray = None
    slurm: Slurm = None
    cpus_per_job: CpusPerJob = 1
    gpus_per_job: GpusPerJob = 0.0
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@options_of(RunSettings)
def run(given: RunSettings) -> None:
    """Train and measure every system and seed of a recipe, or compute its study.

    Finished seeds are reused and an interrupted one goes on from its last checkpoint, so the same command can always
    be given again.
    """
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.experiments.defaults import recipe_for
    from lengthwise.experiments.sweep import sweep

    # Systems are chosen first, so that an edit need only make sense for these.
    selected = recipe_for(given.recipe, given.preset).selected(given.only or [], given.encoding or [])
    recipe = selected.edited(given.edits or [], given.seeds)
    if given.print_config:
        emit_json({"recipe": recipe.name, "systems": [job.to_json() for job in recipe.jobs]})
        return
    place = given.folder / recipe.name
    if given.resume and not place.is_dir():
        raise LengthwiseError(f"nothing to resume: there is no folder {place}; leave out --resume to start")
    use_threads(given.threads)
    jobs = number_of_jobs(given.jobs)

    cluster = ClusterSettings(given.ray, given.slurm, given.cpus_per_job, given.gpus_per_job)
    runner = cluster.sweeps(place / "slurm")

    from lengthwise.cli.run_view import SweepProgress
    from lengthwise.experiments.followers import follow, follows, leading

    if follows():
        require(jobs == 1 and runner is None, "under torchrun give neither --jobs nor --ray or --slurm")
        follow()
        return
    with SweepProgress(err(), recipe) as progress, leading():
        done = sweep(recipe, given.folder, jobs=jobs, runner=runner, observe=progress)
    _show(recipe, done, place, as_json=given.as_json)


def _show(recipe: Recipe, done: Sweep, place: Path, *, as_json: bool) -> None:
    from lengthwise.cli.run_view import draw_summary
    from lengthwise.cli.study_view import show_studies

    if recipe.trains:
        if as_json:
            emit_json(done.to_json())
        else:
            draw_summary(out(), done)
    else:
        show_studies(done.studies(), place.parent, as_json=as_json)
    if not as_json:
        err().print(f"results in {place}; `lengthwise report {place}` makes a page of them", soft_wrap=True)
