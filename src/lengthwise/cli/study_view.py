"""How the results of studies look in a terminal: the table of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lengthwise.cli.console import emit_json, out, plain_table
from lengthwise.core.result_file import StudyResult
from lengthwise.experiments.recipe import Study
from lengthwise.experiments.run_directory import run_directory


def show_studies(results: Sequence[tuple[Study, StudyResult]], folder: Path, *, as_json: bool) -> None:
    """Print the results as JSON or as tables; those of a ``kind`` of their own have pages and a table of their own."""
    values = [result.to_json() for _, result in results]
    if results[0][1].kind is not None:
        from lengthwise.cli.influence_view import draw_influence
        from lengthwise.workflows.influence import without_long_parts, write_pages

        for study, result in results:
            write_pages(run_directory(folder, study.name, study, result.seed) / study.file, result.to_json())
        if not as_json:
            for result in values:
                draw_influence(out(), result)
        values = [without_long_parts(result) for result in values]
    elif not as_json:
        for _, result in results:
            _draw(result.rows)
    if as_json:
        emit_json(values)


def _draw(rows: Sequence[dict[str, Any]]) -> None:
    """The plain columns of the rows, and small tables in one cell; what is nested deeper stays in the file."""
    plain = [key for key in rows[0] if all(_is_plain(row[key]) for row in rows)]
    small = [
        key
        for key in rows[0]
        if all(isinstance(row[key], dict) and all(map(_is_plain, row[key].values())) for row in rows)
    ]
    table = plain_table(*[key.replace("_", " ") for key in (*plain, *small)])
    for row in rows:
        cells = [_cell(row[key]) for key in plain]
        cells += [" / ".join(_cell(value) for value in row[key].values()) for key in small]
        table.add_row(*cells)
    out().print(table)


def _is_plain(value: Any) -> bool:
    return not isinstance(value, list | dict | tuple)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
