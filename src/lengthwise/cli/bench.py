"""The command ``lengthwise bench`` measures speed against named baselines in one run on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.console import emit_json, err, out, plain_table
from lengthwise.cli.options import AsJson
from lengthwise.cli.threads import Threads
from lengthwise.core.errors import UnknownNameError
from lengthwise.training.threads import use_all_cores, use_threads

if TYPE_CHECKING:
    from lengthwise.workflows.bench.measure import BenchRow

CLOCKS = ("wall", "cpu")


def bench(
    area: Annotated[str, typer.Argument(metavar="[data|train|seeds|generate|decide|all]")] = "all",
    repeats: Annotated[int, typer.Option("--repeats", help="Timed repeats of each side; medians are shown.")] = 5,
    clock: Annotated[
        str, typer.Option("--clock", help="wall, or cpu: CPU seconds, for a machine that others use too.")
    ] = "wall",
    quick: Annotated[bool, typer.Option("--quick", help="Smaller cases, for a first look.")] = False,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Measure speed against named baselines; the two sides alternate in one run."""
    from lengthwise.workflows.bench.measure import Effort
    from lengthwise.workflows.bench.run import run_bench

    use_threads(threads)
    use_all_cores()
    if clock not in CLOCKS:
        raise UnknownNameError("clock", clock, CLOCKS)
    effort = Effort(repeats, clock, quick)  # type: ignore[arg-type]
    notes = err()
    rows: list[BenchRow] = []

    def on_row(row: BenchRow) -> None:
        rows.append(row)
        notes.print(f"measured {row.name}", style="dim")

    report = run_bench(area, effort, on_row=on_row)
    if as_json:
        emit_json(report)
    else:
        _draw(rows, report)


def _draw(rows: list[BenchRow], report: dict[str, Any]) -> None:
    table = plain_table("what", "ours", "baseline", "unit", "ratio", right=("ours", "baseline", "ratio"))
    for row in rows:
        what = f"{row.name}\n  against {row.against}" + (f"; {row.note}" if row.note else "")
        if row.ours is None or row.baseline is None or row.ratio is None:
            table.add_row(f"{what}\n  skipped: {row.skipped}")
        else:
            table.add_row(what, f"{row.ours:,.4g}", f"{row.baseline:,.4g}", row.unit, f"{row.ratio:.2f}")
    machine = report["machine"]
    console = out()
    console.print(table)
    console.print(
        f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} threads, torch {machine['torch']}; "
        f"load {machine['load_before']} before and {machine['load_after']} after; "
        f"peak memory {machine['peak_memory_mb']} MB; commit {report['commit']}; medians of {report['repeats']} "
        f"({report['clock']} time)"
    )
