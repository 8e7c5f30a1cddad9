"""``lengthwise run`` for studies: recipes that are one computation instead of a set of training runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lengthwise.cli.console import emit_json, err, out
from lengthwise.core.errors import LengthwiseError, require


def run_studies(
    name: str, preset: str, seeds: int, folder: Path, threads: int | None, as_json: bool, refused: Sequence[str]
) -> None:
    """Run a study with seeds 0…N−1 (finished ones are reused) and print its rows.

    ``refused`` are the options given that only sets of training runs have; any raises `LengthwiseError`.
    """
    if refused:
        raise LengthwiseError(f"{name} trains no systems: leave out {', '.join(refused)}")
    require(seeds >= 1, f"--seeds must be at least 1, got {seeds}")
    if threads is not None:
        require(threads >= 1, f"--threads must be at least 1, got {threads}")
        os.environ["OMP_NUM_THREADS"] = str(threads)
    from rich.progress import Progress

    from lengthwise.experiments.study import run_study

    results = []
    with Progress(console=err(), transient=True) as progress:
        for seed in range(seeds):
            task = progress.add_task(f"seed {seed}", total=None)

            def report(what: str, done: int, total: int, task: Any = task, seed: int = seed) -> None:
                progress.update(task, description=f"seed {seed}: {what}", completed=done, total=total)

            results.append(run_study(name, preset, seed, folder, report))
    if "kind" in results[0][1]:
        _show_influence(results, as_json)
        return
    if as_json:
        emit_json([result for _, result, _ in results])
        return
    for path, result, reused in results:
        _draw(result["rows"])
        _tell(path, result, reused)


def _show_influence(results: Sequence[tuple[Path, dict[str, Any], bool]], as_json: bool) -> None:
    """Its results have pages and a table of their own."""
    from lengthwise.cli.influence_view import draw_influence
    from lengthwise.workflows.influence import brief, write_pages

    for path, result, _ in results:
        write_pages(path, result)
    if as_json:
        emit_json([brief(result) for _, result, _ in results])
        return
    for path, result, reused in results:
        draw_influence(out(), result)
        _tell(path, result, reused)


def _tell(path: Path, result: dict[str, Any], reused: bool) -> None:
    err().print(f"{'found' if reused else 'wrote'} {path} ({result['seconds']} s)", soft_wrap=True)


def _draw(rows: Sequence[dict[str, Any]]) -> None:
    """The plain columns of the rows; what is nested stays in the file."""
    from rich.table import Table

    plain = [key for key in rows[0] if all(not isinstance(row[key], list | dict | tuple) for row in rows)]
    nested = [key for key in rows[0] if all(isinstance(row[key], dict) for row in rows)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for key in (*plain, *nested):
        table.add_column(key.replace("_", " "))
    for row in rows:
        cells = [_cell(row[key]) for key in plain]
        cells += [" / ".join(_cell(value) for value in row[key].values()) for key in nested]
        table.add_row(*cells)
    out().print(table)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
