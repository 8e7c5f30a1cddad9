"""The command ``lengthwise run`` trains and measures the systems of a recipe, or computes a study."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lengthwise.cli.cluster import ClusterSettings, CpusPerJob, GpusPerJob, Ray, Slurm
from lengthwise.cli.console import emit_json, err, out
from lengthwise.cli.options import AsJson, options_of
from lengthwise.cli.threads import Jobs, Threads, number_of_jobs
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.training.threads import use_all_cores, use_threads

if TYPE_CHECKING:
    from lengthwise.experiments.engine import Sweep
    from lengthwise.experiments.events import Event
    from lengthwise.experiments.recipe import Recipe


@dataclass(frozen=True)
class RunSettings:
    """The options of ``lengthwise run``."""

    recipe: Annotated[
        str | None, typer.Argument(help="A recipe (`lengthwise list recipes`), a task, or FILE.py:Class.")
    ] = None
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Systems in JSON or TOML, as --print-config writes.")
    ] = None
    preset: Annotated[str, typer.Option("--preset", help="quick, standard or full.")] = "quick"
    seeds: Annotated[int | None, typer.Option("--seeds", help="Seeds 0…N−1 instead of each system's own.")] = None
    seed: Annotated[int | None, typer.Option("--seed", help="This seed alone.")] = None
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
    device: Annotated[str | None, typer.Option("--device", help="Where torch computes, e.g. cuda. Default: cpu.")] = (
        None
    )
    log_to: Annotated[
        str | None, typer.Option("--log-to", metavar="wandb|tensorboard", help="Also send progress there (extras).")
    ] = None
    print_config: Annotated[bool, typer.Option("--print-config", help="Print the resolved systems, run none.")] = False
    threads: Threads = None
    jobs: Jobs = "1"
    ray: Ray = None
    slurm: Slurm = None
    shard: Annotated[
        bool, typer.Option("--shard", help="Under torchrun: weights spread over the ranks, for one large model.")
    ] = False
    cpus_per_job: CpusPerJob = 1
    gpus_per_job: GpusPerJob = 0.0
    as_json: AsJson = False


@options_of(RunSettings)
def run(given: RunSettings) -> None:
    """Train and measure every system and seed of a recipe, or compute its study.

    Finished seeds are reused and an interrupted one goes on from its last checkpoint, so the same command can always
    be given again.
    """
    from lengthwise.cli.trackers import tracker
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.experiments.engine import sweep
    from lengthwise.experiments.execute import Processes

    recipe = _recipe(given)
    if given.print_config:
        emit_json({"recipe": recipe.name, "systems": [job.to_json() for job in recipe.jobs]})
        return
    results = given.folder / recipe.name
    if given.resume and not results.is_dir():
        raise LengthwiseError(f"nothing to resume: there is no folder {results}; leave out --resume to start")
    use_threads(given.threads)
    if given.shard:
        alone = int(os.environ.get("WORLD_SIZE", "1")) == 1
        require(not alone, "--shard needs several ranks; start with `torchrun --nproc-per-node N -m lengthwise run …`")
    jobs = number_of_jobs(given.jobs)

    cluster = ClusterSettings(given.ray, given.slurm, given.cpus_per_job, given.gpus_per_job)
    on = cluster.executor(results / "slurm")
    if jobs == 1 and on is None:
        use_all_cores()

    from lengthwise.cli.run_view import SweepProgress
    from lengthwise.experiments.run import Place, is_worker, run_worker, with_workers

    place = Place(given.device, given.shard)
    if is_worker():
        require(jobs == 1 and on is None, "under torchrun give neither --jobs nor --ray or --slurm")
        run_worker(place)
        return
    with SweepProgress(err(), recipe) as progress, with_workers(place), tracker(given.log_to, recipe, results) as log:

        def watch(event: Event) -> None:
            progress(event)
            log(event)

        done = sweep(
            recipe, given.folder, on=on or (Processes(jobs) if jobs > 1 else None), place=place, progress=watch
        )
    _show(recipe, done, results, as_json=given.as_json)


def _recipe(given: RunSettings) -> Recipe:
    """The systems and seeds to run: those of a recipe, a task or a file, then ``--only``, ``--set`` and ``--seeds``."""
    from lengthwise.cli.config_file import read_recipe
    from lengthwise.experiments.defaults import recipe_for

    require((given.recipe is None) != (given.config is None), "give a recipe, a task or --config FILE, and only one")
    require(given.seed is None or given.seeds is None, "give --seed N for one seed or --seeds N for 0…N−1, not both")
    require(given.seed is None or given.seed >= 0, f"--seed must be at least 0, got {given.seed}")
    whole = read_recipe(given.config) if given.config is not None else recipe_for(given.recipe or "", given.preset)
    # Systems are chosen first, so that an edit need only make sense for these.
    recipe = whole.selected(given.only or [], given.encoding or []).edited(given.edits or [], given.seeds)
    if given.seed is None:
        return recipe
    jobs = tuple(dataclasses.replace(job, seeds=(given.seed,)) for job in recipe.jobs)
    return dataclasses.replace(recipe, jobs=jobs)


def _show(recipe: Recipe, done: Sweep, results: Path, *, as_json: bool) -> None:
    from lengthwise.cli.run_view import draw_summary
    from lengthwise.cli.study_view import show_studies

    if recipe.trains:
        if as_json:
            emit_json(done.to_json())
        else:
            draw_summary(out(), done)
    else:
        show_studies(done.studies(), results.parent, as_json=as_json)
    if not as_json:
        err().print(f"results in {results}; `lengthwise report {results}` makes a page of them", soft_wrap=True)
