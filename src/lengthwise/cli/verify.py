"""The command ``lengthwise verify`` compares the verdict on a language or task with trained models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from lengthwise.cli.console import emit_json, err, out
from lengthwise.cli.options import AsJson
from lengthwise.cli.threads import Threads, number_of_jobs
from lengthwise.core.errors import LengthwiseError, require, shortened
from lengthwise.training.threads import use_threads

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
LONGEST = 1000 * 3600
"""The longest budget, in seconds."""


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
    from lengthwise.core.config import digest
    from lengthwise.workflows.verify import verify as run

    use_threads(threads)
    seconds = read_budget(budget)
    results = folder or Path("runs") / "verify" / digest(target)
    notes = err()
    done = run(
        target,
        encoding or ["nope", "ape"],
        results,
        budget=seconds,
        jobs=None if jobs is None else number_of_jobs(jobs),
        note=lambda line: notes.print(line),
    )
    if as_json:
        emit_json({"target": target, "agrees": done.agrees, "rows": list(done.rows), "report": str(done.page)})
        return
    from lengthwise.cli.blind_view import draw_cells

    draw_cells(out(), done.rows)
    notes.print(f"report: {done.page}")


def read_budget(text: str) -> float:
    """Seconds from ``90``, ``90s``, ``10m`` or ``1.5h``; raises `LengthwiseError` for anything else."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if not found or float(found[1]) == 0:
        raise LengthwiseError(f"--budget must be a time such as 90s, 10m or 1h, got {text!r}")
    seconds = float(found[1]) * _UNITS[found[2]]
    require(seconds <= LONGEST, f"--budget must be at most {LONGEST // 3600:,}h, got {shortened(text)}")
    return seconds
