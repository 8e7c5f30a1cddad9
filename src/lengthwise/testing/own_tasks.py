"""No verdict from a broken task: what is predicted or measured of a user's own task rests on the laws that it keeps."""

from __future__ import annotations

import dataclasses

from lengthwise.core.config import canonical_json, fields_of
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.user_code import code_of
from lengthwise.tasks import Task

_broken: dict[tuple[type[Task], str], str] = {}
"""By the class, its code and the fields of a task: how it breaks the first law that it does; empty without one."""

BESIDE = ("json_round_trip", "nonsense_is_refused")
"""Laws that no verdict rests on; `check` says which of them a task breaks, too."""


def refuse_broken(target: Task | str) -> None:
    """Hold a task of the user's own, by itself or by its name, to every law that a verdict rests on.

    Other targets, such as expressions, and tasks of this package pass. Raises `LengthwiseError` with the first law that
    is broken, where, and what to change. A task is checked once for each text of its code.
    """
    if isinstance(target, str):
        from lengthwise.prediction.target import parse_target

        parsed = parse_target(target)
        if not isinstance(parsed, Task):
            return
        target = parsed
    if not is_own(target):
        return
    key = type(target), canonical_json([code_of(target), fields_of(target)])
    if key not in _broken:
        from lengthwise.testing import checks

        # A class that was typed into a notebook has no name to be rebuilt by.
        found = (one.broken for one in checks("task", target) if one.broken and one.law not in BESIDE)
        _broken[key] = next(found, "")
    broken = _broken[key]
    if broken:
        raise LengthwiseError(
            f"task {target.name!r} has a mistake, so nothing is said of it: {broken}; "
            f"`lengthwise check {target.name}` shows all that it has"
        )


def is_own(task: object) -> bool:
    """Whether a task, or one that it is made of, is not of this package."""
    if isinstance(task, Task) and type(task).__module__.partition(".")[0] != "lengthwise":
        return True
    fields = dataclasses.fields(task) if dataclasses.is_dataclass(task) else ()
    return any(is_own(getattr(task, field.name)) for field in fields)
