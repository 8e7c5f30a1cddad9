"""The command ``lengthwise report`` writes one self-contained page of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lengthwise.cli.console import err


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders that are searched for result.json files.")],
    target: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="A folder for the figures as SVG, PDF and PNG.")
    ] = None,
) -> None:
    """Write one page: accuracy against length, the structure that explains it, errors, and every setting."""
    from lengthwise.report.page import write_report

    count = write_report(runs, target, figures)
    err().print(f"wrote {target} from {count} result file{'s' if count != 1 else ''}")
