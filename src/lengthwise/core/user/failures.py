"""Describes failures of code from a user's own file, which the command line shows in one line."""

from __future__ import annotations

import traceback

MODULES = "lengthwise_outside_"
"""How the names of modules begin that are loaded from a user's file."""
DEBUG = "LENGTHWISE_DEBUG"
"""The environment variable that shows tracebacks."""


def failure_in_user_code(error: BaseException) -> str | None:
    """One line with the file, line and function of the user's code that raised ``error``; None if none did."""
    frames = [
        (frame, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).startswith(MODULES)
    ]
    if not frames:
        return None
    frame, line = frames[-1]
    code = frame.f_code
    return f"{code.co_filename}, line {line}, in {code.co_qualname}: {summary(error)}; {DEBUG}=1 shows the traceback"


def summary(error: BaseException) -> str:
    """The type and message of an exception."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def line_in_file(error: BaseException, file: str) -> int | None:
    """The line of ``file`` at which ``error`` was raised, or that a `SyntaxError` names; None if there is none."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return lines[-1] if lines else None
