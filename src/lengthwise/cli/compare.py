"""The commands ``lengthwise compare`` and ``verify``: systems ranked on a task, and verdicts held against training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.console import emit_json, err, out
from lengthwise.cli.options import AsJson, CpusPerJob, GpusPerJob, Jobs, Ray, Threads, number_of_jobs, options_of
from lengthwise.training.threads import use_threads

if TYPE_CHECKING:
    from rich.console import Console

    from lengthwise.api.compare import Comparison


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
    from lengthwise.api.cluster import Cluster
    from lengthwise.api.compare import compare as rank
    from lengthwise.api.progress import ComparisonProgress

    use_threads(given.threads)
    done = rank(
        given.task,
        [name.strip() for name in (given.systems or "").split(",") if name.strip()],
        budget=given.budget,
        seeds=given.seeds,
        jobs=number_of_jobs(given.jobs),
        max_length=given.max_length,
        out=given.folder,
        on=Cluster(given.ray, None, given.cpus_per_job, given.gpus_per_job),
        progress=ComparisonProgress(err()),
    )
    if given.as_json:
        emit_json(done.values)
        return
    draw(out(), done)


def draw(console: Console, comparison: Comparison) -> None:
    """The table of `comparison_table`, notes below it, and where the picture is."""
    from rich.text import Text

    from lengthwise.report.pages import command_of, comparison_table, notes_of

    values = comparison.values
    table = comparison_table(values)
    console.print(Text(table.caption, style="bold"), soft_wrap=True)
    console.print()
    # k, span and settings of all systems are on the page.
    shown = [i for i, column in enumerate(table.columns) if column not in ("in distr.", "k", "span", "setting")]
    _rows(console, tuple(table.columns[i] for i in shown), [tuple(row[i] for i in shown) for row in table.rows])
    console.print()
    for note in notes_of(values):
        console.print(Text(note, style="dim"), soft_wrap=True)
    best = next((row for row in values["systems"] if row["fitted"]), None)
    if best is not None:
        console.print(Text.assemble(("setting to copy: ", "bold"), command_of(best["copy"])), soft_wrap=True)
    console.print(Text(f"page: {comparison.page}; all numbers are beside it", style="dim"), soft_wrap=True)


def _rows(console: Console, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, column in enumerate(columns):
        shown.add_column(column, no_wrap=index > 0, overflow="fold")
    for row in rows:
        shown.add_row(*[Text("–" if cell is None else str(cell), style="bold" if not i else "") for i, cell in
                        enumerate(row)])  # fmt: skip
    console.print(shown)


def verify(
    target: Annotated[str, typer.Argument(help="A task, FILE.py:Class, a published language or regex:EXPRESSION.")],
    encoding: Annotated[
        list[str] | None, typer.Option("--encoding", help="nope or ape; may be given again. Default: both.")
    ] = None,
    budget: Annotated[
        str, typer.Option("--budget", help="Time for training, e.g. 90s, 10m, 1h. Tests come on top.")
    ] = "30m",
    folder: Annotated[Path | None, typer.Option("--out", help="Where results go.")] = None,
    jobs: Annotated[
        str | None, typer.Option("--jobs", metavar="N|auto", help="1: one encoding after the other. Default: as cores.")
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Decide what theory says, train with the frozen ladder of the blind study, and compare the two."""
    from lengthwise.api.compare import verify as hold
    from lengthwise.report.pages import BINS

    use_threads(threads)
    notes = err()
    done = hold(
        target,
        encoding or ("nope", "ape"),
        budget=budget,
        jobs=None if jobs is None else number_of_jobs(jobs),
        out=folder,
        progress=lambda line: notes.print(line),
    )
    if as_json:
        emit_json({"target": target, "agrees": done.agrees, "rows": list(done.rows), "report": str(done.page)})
        return
    heads = ("language", "ids", "predicted", "rung", "fitted", *BINS, "prediction")
    _rows(out(), heads, tuple(_cell(row) for row in done.rows))
    out().print("a bin: lowest to highest of the seeds; each seed is in --json and in the report", markup=False)
    notes.print(f"report: {done.page}")


def _cell(row: dict[str, Any]) -> tuple[Any, ...]:
    """A cell, with the lowest and the highest of its fitted seeds in each bin, or of all where it is not decided."""
    from lengthwise.report.pages import BINS

    numbers = []
    for name in BINS:
        seeds = [seed for seed in row["seeds"] if seed["fitted"] or row["status"] != "decided"]
        rates = [min(w["rate"] for w in sets.values()) for seed in seeds if (sets := seed["sets"].get(name))]
        ends = dict.fromkeys(f"{rate:.2f}" for rate in (min(rates), max(rates))) if rates else ["–"]
        numbers.append("–".join(ends))
    fitted = f"{row['fitted']} of {len(row['seeds'])}" if row["seeds"] else "not run"
    outcome = {True: "right", False: "wrong", None: "undecided"}[row["right"]]
    return row["language"], row["encoding"], row["predicted"], row["rung"], fitted, *numbers, outcome
