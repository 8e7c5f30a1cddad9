"""The options ``--threads`` and ``--jobs``, which are the same for all commands that compute."""

from __future__ import annotations

from typing import Annotated

import typer

from lengthwise.core.errors import LengthwiseError, require

AUTO = "auto"

Threads = Annotated[
    int | None, typer.Option("--threads", help="Processor threads. Default: what pays for the size of the model.")
]
Jobs = Annotated[
    str,
    typer.Option(
        "--jobs",
        metavar="N|auto",
        help="Processes at the same time, one thread each by default; auto: one for each free core.",
    ),
]


def number_of_jobs(text: str) -> int:
    """The number that ``--jobs`` says.

    Raises `LengthwiseError` unless it is ``auto`` or at least 1.
    """
    from lengthwise.training.threads import free_cores

    if text == AUTO:
        return free_cores()
    try:
        count = int(text)
    except ValueError:
        raise LengthwiseError(f"--jobs must be a number or auto, got {text!r}") from None
    require(count >= 1, f"--jobs must be at least 1, got {count}")
    return count
