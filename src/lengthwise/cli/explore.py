"""The command ``lengthwise explore`` serves a page that answers for any task or expression, or writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lengthwise.cli.console import out


def explore(
    targets: Annotated[
        list[str] | None, typer.Argument(help="What to show first, e.g. a task, an expression, or FILE.py:Class.")
    ] = None,
    port: Annotated[
        int, typer.Option("--port", help="Of the address http://127.0.0.1:PORT; 0 for any free one.")
    ] = 8765,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    static: Annotated[
        Path | None,
        typer.Option("--static", metavar="FOLDER", help="Write the page of these targets, or ten, and end."),
    ] = None,
) -> None:
    """Open a page on this machine: what a task depends on, its forecast by position system, what was measured.

    It needs no network and no account, and Ctrl-C ends it. Code runs only of a file that is named here.
    """
    from lengthwise.api.explore import explore as serve

    def say(line: str) -> None:
        out().print(line, soft_wrap=True)

    file = serve(*(targets or ()), port=port, browser=browser, static=static, note=say)
    if file is not None:
        say(f"written: {file}")
