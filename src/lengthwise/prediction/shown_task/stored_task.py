"""What a result file keeps of a task of the user's own, so that a page can show it without running its code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.prediction.shown_task.task_example import (
    MOST_TOKENS,
    StructureTable,
    TokenSequence,
    short_example,
    tested_structure,
)
from lengthwise.tasks import Task

PACKAGE = "lengthwise"


@dataclass(frozen=True)
class StoredTask:
    """A task's title and summary, an example, and its structure by length; plain values, no code."""

    title: str
    summary: str
    example: TokenSequence | None
    structure: StructureTable

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `stored_task` reads them back."""
        return json.loads(json.dumps(asdict(self)))


def is_built_in(task: Task) -> bool:
    """Whether the task's class is part of this package."""
    return type(task).__module__.partition(".")[0] == PACKAGE


def title_of(name: str) -> str:
    """How a task is called on a page: the class of ``path/to/file.py:Class``, or else its name."""
    return name.rpartition(":")[2]


def to_store(task: Task, lengths: Sequence[int]) -> StoredTask:
    """What to keep of a task that is tested at these lengths."""
    shown, title = short_example(task), title_of(task.name)
    example = None if shown is None else TokenSequence(title, shown.length, shown.tokens)
    return StoredTask(title, task.summary, example, tested_structure(task, lengths))


def stored_task(values: Mapping[str, Any], where: str) -> StoredTask:
    """The stored task of a result file; raises `LengthwiseError` if it is damaged."""
    try:
        found = TypeAdapter(StoredTask).validate_json(json.dumps(values), strict=True)
    except (ValidationError, TypeError, ValueError) as error:
        raise LengthwiseError(f"{where}: the stored task is damaged; delete the file and run again") from error
    require(_sound(found), f"{where}: the stored task is damaged; delete the file and run again")
    return found


def _sound(stored: StoredTask) -> bool:
    """Whether tokens stand in order with parents before them, and every row of the structure has all lengths."""
    tokens = () if stored.example is None else stored.example.tokens
    in_order = all(
        token.position == index and token.places and all(0 <= parent < index for parent in token.parents)
        for index, token in enumerate(tokens)
    )
    count = len(stored.structure.lengths)
    rows = all(len(row.spans) == count for row in stored.structure.rows) and len(stored.structure.sparsity) == count
    drawn = stored.example is None or (len(tokens) <= MOST_TOKENS and any(token.scored for token in tokens))
    return in_order and rows and drawn
