"""The commands ``lengthwise compare`` and ``verify``: systems ranked on a task, and verdicts held against training."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.console import draw_answer, emit_json, err, out
from lengthwise.cli.options import Api, AsJson, CpusPerJob, GpusPerJob, Jobs, Ray, Threads, from_api, number_of_jobs
from lengthwise.core.table import Table
from lengthwise.training.threads import use_threads

if TYPE_CHECKING:
    from rich.console import Console

    from lengthwise.api.compare import Comparison

MORE_SEEDS = 3
"""Seeds of the comparison that is next after one of a single seed."""


@from_api("compare.compare")
def compare(
    rank: Api,
    task: Annotated[str, typer.Argument(help="A task (`lengthwise list tasks`), an expression, or FILE.py:Class.")],
    systems: Annotated[
        str, typer.Option("--systems", metavar="all|NAME,…", help="e.g. rope,coupled,pose+rope; default: about eight.")
    ] = "",
    threads: Threads = None,
    jobs: Jobs = "1",
    ray: Ray = None,
    cpus_per_job: CpusPerJob = 1,
    gpus_per_job: GpusPerJob = 0.0,
    as_json: AsJson = False,
) -> None:
    """Train one task with every sensible kind of positions, and rank them by how far they go.

    All systems get the same number of training steps, which the budget decides, and the same small grid of settings,
    of which the fit on training lengths chooses. The same command goes on where the budget ended.
    """
    use_threads(threads)
    from lengthwise.api.cluster import Cluster
    from lengthwise.api.progress import ComparisonProgress

    done = rank(
        task,
        [name.strip() for name in systems.split(",") if name.strip()],
        jobs=number_of_jobs(jobs),
        on=Cluster(ray, None, cpus_per_job, gpus_per_job),
        progress=ComparisonProgress(err()),
    )
    if as_json:
        emit_json(done.values)
    else:
        draw(out(), done, task, jobs)


def draw(console: Console, comparison: Comparison, task: str, jobs: str = "1") -> None:
    """The answer and how sure it is, a curve and numbers for each system, what to do next."""
    from rich.text import Text

    from lengthwise.report.pages import comparison_finding

    values, systems = comparison.values, comparison.accuracy.systems
    states = {
        row["system"]: "diverged" if row["diverged"] else "not finished" for row in comparison.rows if not row["seeds"]
    }
    draw_answer(console, comparison_finding(values), systems, states)
    console.print(Text.assemble(("next: ", "bold"), _next(comparison, task, jobs)), soft_wrap=True)
    console.print(Text(f"page, with settings, notes and tests: {comparison.page}", style="dim"), soft_wrap=True)


def _next(comparison: Comparison, task: str, jobs: str) -> str:
    """What to do next: finish, more seeds than one, longer for what did not fit, or the figure and table of a paper."""
    from lengthwise.experiments.compare import free
    from lengthwise.report.pages import hardly_any, next_rung, too_few_steps
    from lengthwise.tasks import TASKS

    values = comparison.values
    rung = next_rung(values)
    missing = [f"{row['system']} ({row['missing']})" for row in comparison.rows if row["missing"]]
    # Where nothing fits, more seeds of the same steps tell nothing.
    fits = any(row["fitted"] for row in comparison.rows)
    if missing and (rung is None or fits):
        return f"the same command goes on with the seeds that the budget did not reach: {', '.join(missing)}"
    few, seeds, longest, seconds = (
        too_few_steps(values),
        values["seeds"],
        values["trained_to"],
        values["budget_seconds"],
    )
    if fits and seeds == 1:
        seeds, seconds, name = MORE_SEEDS, MORE_SEEDS * seconds, f"{MORE_SEEDS}-seeds"
        why = "more seeds, since one may be luck"
    elif hardly_any(values) and not few and TASKS.build(values["task"]).lengths(1, longest // 2):
        longest //= 2
        name = f"to-{longest}"
        why = "hardly any string is right, so shorter ones first; or fewer symbols, or another encoding"
    elif rung is not None:
        seconds, name = rung["budget"], f"{rung['steps']}-steps"
        why = "twice the steps, for what did not fit"
        if few:
            why = f"about {rung['steps']:,} steps, since {values['steps']:,} may be too few to learn anything"
            why += ", or one system alone, in less time" * (len(values["systems"]) > 1)
            why += "; shorter strings only after that"
    else:
        folder = str(comparison.folder)
        return f"for a paper, in Python: lw.results({folder!r}), then .plot() and .wide().to_latex('table.tex')"
    again = {"systems": ",".join(row["system"] for row in values["systems"]), "seeds": seeds,
             "max-length": longest, "budget": f"{math.ceil(seconds / 60)}m", "jobs": jobs,
             "out": str(free(comparison.folder, name))}  # fmt: skip
    if not values.get("usual_tests", True):
        again["test-lengths"] = ",".join(map(str, values["tests"]))
    words = [word for name, value in again.items() for word in (f"--{name}", str(value))]
    plain = TASKS.describe(TASKS.build(task))
    changed = {name: value for name, value in values["task"].items() if value != plain.get(name)}
    words += [word for name, one in changed.items() for word in ("--set", f"task.{name}={json.dumps(one)}")]
    line = shlex.join(["lengthwise", "compare", task, *words, *["--models"] * bool(values.get("equal"))])
    return f"{why}:\n{line}"


def _rows(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table of which nothing is cut, also where it is wider than the terminal."""
    text = Table(tuple(columns), tuple(map(tuple, rows)), digits=2).text()
    out().print("\n".join(line.rstrip() for line in text.splitlines()), soft_wrap=True)


@from_api("compare.verify")
def verify(
    hold: Api,
    target: Annotated[str, typer.Argument(help="A task, FILE.py:Class, a published language or regex:EXPRESSION.")],
    jobs: Annotated[
        str | None, typer.Option("--jobs", metavar="N|auto", help="1: one encoding after the other. Default: as cores.")
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Say what theory says of a target, train under settings that were fixed beforehand, and compare the two.

    The settings are the frozen ladder of the blind study, tried in order until enough seeds fit.
    Where the budget ends within a rung whose models fit already, they are tested as they are; that is provisional.
    """
    use_threads(threads)
    from lengthwise.report.pages import BINS

    notes = err()
    done = hold(target, jobs=None if jobs is None else number_of_jobs(jobs), progress=notes.print)
    if as_json:
        emit_json({"target": target, "agrees": done.agrees, "rows": list(done.rows), "report": str(done.page)})
        return
    said = {True: "agree", False: "disagree", None: "are not compared yet: the same command goes on"}
    out().print(f"theory and training {said[done.agrees]}\n")
    heads = ("language", "ids", "predicted", "rung", "fitted", *BINS, "prediction")
    _rows(heads, [_cell(row) for row in done.rows])
    out().print("a bin: lowest to highest of the seeds; each seed is in --json and in the report", markup=False)
    notes.print(f"report: {done.page}")


def _cell(row: dict[str, Any]) -> tuple[Any, ...]:
    """A cell, with the lowest and the highest of its fitted seeds in each bin, or of all where it is not decided."""
    from lengthwise.report.pages import BINS, outcome_of

    numbers = []
    for name in BINS:
        seeds = [seed for seed in row["seeds"] if seed["fitted"] or row["status"] != "decided"]
        rates = [min(w["rate"] for w in sets.values()) for seed in seeds if (sets := seed["sets"].get(name))]
        ends = dict.fromkeys(f"{rate:.2f}" for rate in (min(rates), max(rates))) if rates else ["–"]
        numbers.append("–".join(ends))
    fitted = f"{row['fitted']} of {len(row['seeds'])}" if row["seeds"] else "not run"
    rung = f"{row['rung']} (step {row['step']:,} of {row['steps']:,})" if "step" in row else row["rung"]
    return row["language"], row["encoding"], row["predicted"], rung, fitted, *numbers, outcome_of(row)
