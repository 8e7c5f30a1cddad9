"""Anybody's own list of expressions as a study: the frozen ladder, predictions written down before any training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.user_code import code_of
from lengthwise.experiments.blind.ladder import BINS, TRAINED
from lengthwise.experiments.blind.preregistered.preregister import RULES, entry
from lengthwise.experiments.blind.study import BlindStudy, write_study
from lengthwise.tasks import Task
from lengthwise.tasks.language import Language


def read_languages(path: Path) -> list[str]:
    """One expression (or published name) a line; empty lines and lines that start with ``#`` are left out.

    Raises `LengthwiseError` if the file can't be read, holds none, or holds one twice.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise LengthwiseError(f"cannot read the list of languages {path}: {reason}; check the path") from None
    found = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    require(bool(found), f"{path} holds no expression; write one regular expression a line")
    twice = sorted({line for line in found if found.count(line) > 1})
    require(not twice, f"{path} holds {twice[0] if twice else ''!r} twice; leave one")
    return found


def user_study(folder: Path, frozen: BlindStudy, tasks: Mapping[str, Task], encodings: Sequence[str]) -> BlindStudy:
    """A study of these languages or tasks, by name, in ``folder``, with ladder, seeds and rules of the frozen one.

    Raises `LengthwiseError` if ``folder`` holds another study, or a language has no words where they are needed.
    """
    content: dict[str, Any] = {
        "title": "Languages of a user's list under the frozen ladder",
        "frozen": frozen.sha256,
        "ladder": frozen.content["ladder"],
        "seeds": frozen.seeds,
        "encodings": list(encodings),
        "trained": list(TRAINED),
        "bins": [list(bounds) for bounds in BINS],
        "rules": RULES,
        "languages": [dict(entry(name, checked(task), encodings)) for name, task in tasks.items()],
        "published": [],
        # An edited task is another study.
        **(
            {"code": code}
            if (code := {name: found for name, task in tasks.items() if (found := code_of(task))})
            else {}
        ),
    }
    return write_study(folder, content)


def checked(task: Task) -> Task:
    """The task, which must have strings among the training lengths and in every bin."""
    what = repr(task.language) if isinstance(task, Language) else task.name
    for low, high in (TRAINED, *BINS):
        if not task.lengths(low, high):
            raise LengthwiseError(
                f"{what} has no strings of the lengths {low} to {high}, so nothing can be measured there; choose one "
                "with longer strings"
            )
    return task
