"""``lengthwise run``: train and measure the systems of a recipe."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from lengthwise.cli.console import emit_json, err, out
from lengthwise.core.errors import LengthwiseError, require


def run(
    recipe: Annotated[str, typer.Argument(help="A recipe; `lengthwise list recipes` names them.")],
    preset: Annotated[str, typer.Option("--preset", help="quick, standard or full.")] = "quick",
    seeds: Annotated[int | None, typer.Option("--seeds", help="Seeds 0…N−1 instead of each system's own.")] = None,
    edits: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="e.g. training.steps=100, for all systems.")
    ] = None,
    folder: Annotated[Path, typer.Option("--out", help="Where run directories go.")] = Path("runs"),
    resume: Annotated[bool, typer.Option("--resume", help="Insist that there is something to resume.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="SYSTEM|TASK", help="Only this system, or this task's.")
    ] = None,
    encoding: Annotated[
        list[str] | None, typer.Option("--encoding", help="Only systems with these positions; may be given again.")
    ] = None,
    print_config: Annotated[bool, typer.Option("--print-config", help="Print the resolved systems, run none.")] = False,
    threads: Annotated[int | None, typer.Option("--threads", help="Processor threads for training.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", help="Seeds at the same time, a process each.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train and measure every system and seed of a recipe.

    Finished seeds are reused and an interrupted one goes on from its last checkpoint, so the same command can always
    be given again.
    """
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.experiments.recipe import RECIPES
    from lengthwise.experiments.study import STUDIES
    from lengthwise.experiments.sweep import selected, sweep

    if recipe in STUDIES:
        from lengthwise.cli.run_study import run_studies

        refused = {
            "--set": edits,
            "--only": only,
            "--encoding": encoding,
            "--print-config": print_config,
            "--resume": resume,
            "--jobs": jobs != 1,
        }
        run_studies(
            recipe,
            preset,
            1 if seeds is None else seeds,
            folder,
            threads,
            as_json,
            [key for key, given in refused.items() if given],
        )
        return
    # Systems are chosen first, so that an edit need only make sense for these.
    chosen = selected(RECIPES.make(recipe, preset), only or [], encoding or []).edited(edits or [], seeds)
    if print_config:
        emit_json(
            {
                "recipe": chosen.name,
                "systems": [
                    {
                        "name": system.name,
                        "seeds": list(system.seeds),
                        "experiment": system.experiment.to_json(),
                        "fallbacks": [experiment.to_json() for experiment in system.fallbacks],
                        "needed": system.needed,
                    }
                    for system in chosen.systems
                ],
            }
        )
        return
    if resume and not (folder / recipe).is_dir():
        raise LengthwiseError(f"nothing to resume: there is no folder {folder / recipe}; leave out --resume to start")
    require(jobs >= 1, f"--jobs must be at least 1, got {jobs}")
    if threads is None and jobs > 1:
        # Processes with as many threads as the machine has cores each would spin against one another.
        threads = max(1, (os.cpu_count() or 1) // jobs)
    if threads is not None:
        require(threads >= 1, f"--threads must be at least 1, got {threads}")
        # Read by torch when it is loaded, which is later and only if something has to be trained.
        os.environ["OMP_NUM_THREADS"] = str(threads)

    from lengthwise.cli.run_view import SweepProgress, draw_summary

    with SweepProgress(err(), chosen) as progress:
        done = sweep(chosen, folder, jobs=jobs, observe=progress)
    if as_json:
        emit_json(done.to_json())
    else:
        draw_summary(out(), done)
        err().print(f"results in {folder / recipe}; `lengthwise report {folder / recipe}` makes a page of them")
