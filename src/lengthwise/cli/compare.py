"""The commands ``lengthwise compare`` and ``verify``: systems ranked on a task, and verdicts held against training."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.console import again, draw_answer, emit_json, err, out, say_other_names
from lengthwise.cli.options import Api, AsJson, CpusPerJob, GpusPerJob, Jobs, Ray, Threads, from_api, number_of_jobs
from lengthwise.cli.run import forecasts_line
from lengthwise.core.table import WIDTH, Table, rounded
from lengthwise.training.threads import use_threads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lengthwise.api.compare import Comparison


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
    from lengthwise.api.compare import InterruptedComparison
    from lengthwise.api.progress import ComparisonProgress

    names = [name.strip() for name in systems.split(",") if name.strip()]
    say_other_names(names)
    try:
        done = rank(
            task,
            names,
            jobs=number_of_jobs(jobs),
            on=Cluster(ray, None, cpus_per_job, gpus_per_job),
            progress=ComparisonProgress(err(), again),
        )
    except InterruptedComparison as stopped:
        draw(stopped.comparison, as_json)
        raise
    draw(done, as_json)


def draw(comparison: Comparison, as_json: bool) -> None:
    """The answer and how sure it is, a curve and numbers for each system, what to do next; or everything as JSON."""
    from rich.text import Text

    from lengthwise.report.pages import DIFFER, comparison_answer, comparison_finding, what_differs
    from lengthwise.report.summary import chance_text
    from lengthwise.report.terminal import ranking_text

    values, systems, console = comparison.values, comparison.accuracy.systems, out()
    if as_json:
        emit_json(values)
        return
    table, chance = ranking_text(values), chance_text(systems) if systems else ""
    table += f"\n{chance[:1].upper()}{chance[1:]}." * bool(chance)
    differ = re.sub(r" for [^;)]*", "", "".join(what_differs(values).partition(DIFFER)[1:]))  # whose: on the page
    table += "\n" + "\n".join(wrap(f"{differ}.", WIDTH)) if differ else ""
    rows = {"finding": comparison_finding(values), "limit": at_limit(values), "forecast": forecasts_line(systems)}
    rows = {name: line for name, line in rows.items() if line}
    draw_answer(console, rows | comparison_answer(values, systems), table)
    options = values["next_options"]
    command = "" if options is None else f":\n  {again({name.replace('_', '-'): to for name, to in options.items()})}"
    console.print(Text.assemble(("next: ", "bold"), values["next"].replace("\n", "\n  "), command), soft_wrap=True)
    console.print(f"page, with settings, notes and tests: {comparison.page}", style="dim", soft_wrap=True)


def at_limit(values: Mapping[str, Any]) -> str:
    """Which systems are right beyond training up to a length at which a seed has no string more than it must have."""
    from lengthwise.report.words import percent_down
    from lengthwise.tasks.values import spoken

    cut, ends = values["reach_at"], list[str]()
    for row in values["systems"]:
        far = {seed["reach"] for seed in row["seeds"] if seed["fitted"] and seed["reach"] > values["trained_to"]
               and seed["exact_match"][str(seed["reach"])] < cut + ONE_STRING}  # fmt: skip
        ends += [f"{row['system']} at {spoken([*map(str, sorted(far))])}"] * bool(far)
    least = f"{spoken(ends)}: just {percent_down(cut)} of the strings right, which is the least that counts"
    return f"{least}. With other strings it may be less." if ends else ""


ONE_STRING = 0.01
"""The share of one test string, of 100 at a length."""


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
    table = Table(heads, tuple(map(_cell, done.rows)), digits=2).text()
    out().print("\n".join(line.rstrip() for line in table.splitlines()), soft_wrap=True)
    out().print("a bin: lowest to highest of the seeds; each seed is in --json and in the report")
    notes.print(f"report: {done.page}")


def _cell(row: dict[str, Any]) -> tuple[Any, ...]:
    """A cell, with the lowest and the highest of its fitted seeds in each bin, or of all where it is not decided."""
    from lengthwise.report.pages import BINS, outcome_of

    numbers = []
    for name in BINS:
        seeds = [seed for seed in row["seeds"] if seed["fitted"] or row["status"] != "decided"]
        rates = [min(w["rate"] for w in sets.values()) for seed in seeds if (sets := seed["sets"].get(name))]
        ends = dict.fromkeys(rounded(rate, 2) for rate in (min(rates), max(rates))) if rates else ["–"]
        numbers.append("–".join(ends))
    fitted = f"{row['fitted']} of {len(row['seeds'])}" if row["seeds"] else "not run"
    rung = f"{row['rung']} (step {row['step']:,} of {row['steps']:,})" if "step" in row else row["rung"]
    return row["language"], row["encoding"], row["predicted"], rung, fitted, *numbers, outcome_of(row)
