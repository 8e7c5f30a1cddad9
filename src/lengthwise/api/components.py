"""Tasks, schemes and encodings by name, and how authors of other packages add their own."""

from __future__ import annotations

from typing import Any

from lengthwise.core.config import from_fields
from lengthwise.core.errors import UnknownNameError
from lengthwise.core.table import Table, Tabular
from lengthwise.positions.encodings import ENCODINGS, EncodingSpec
from lengthwise.positions.schemes import SCHEMES, PositionScheme
from lengthwise.tasks import TASKS, Task
from lengthwise.workflows.catalogue import REGISTRIES, catalogue


def task(spec: str | Task | dict[str, Any], **fields: Any) -> Task:
    """A task from its name, ``"path/to/file.py:Class"``, ``{"name": …, field: value}``, or a task itself.

    ``fields`` set the task's own settings: ``task("addition", base=2)``. Raises `LengthwiseError` for an unknown name
    (with a suggestion), an unknown field, or a value of the wrong type.
    """
    return TASKS.build(spec, **fields)


def scheme(spec: str | PositionScheme | dict[str, Any], **fields: Any) -> PositionScheme:
    """A position scheme, given as `task` takes its argument."""
    return SCHEMES.build(spec, **fields)


def encoding(spec: str | EncodingSpec | dict[str, Any], **fields: Any) -> EncodingSpec:
    """A position encoding, given as `task` takes its argument."""
    return ENCODINGS.build(spec, **fields)


def register(kind: str, name: str) -> Any:
    """Class decorator: enter a task, scheme or encoding of your own under ``name``.

    ``kind`` is ``"task"``, ``"scheme"`` or ``"encoding"``. Raises `LengthwiseError` for another kind.

    >>> import lengthwise as lw
    >>> @lw.register("task", "my-copy")                                # doctest: +SKIP
    ... @lw.config
    ... class MyCopy(lw.Task): ...
    """
    if kind not in REGISTRIES:
        raise UnknownNameError("kind of component", kind, REGISTRIES)
    return REGISTRIES[kind].register(name)


class Available(Tabular):
    """Everything that has a name: tasks, schemes, encodings and recipes."""

    def __init__(self, entries: dict[str, list[dict[str, Any]]]) -> None:
        self.entries = entries

    def table(self) -> Table:
        """One row per component: its kind, its name and what it is."""
        rows = tuple(
            (kind.removesuffix("s"), entry["name"], entry["summary"])
            for kind, entries in self.entries.items()
            for entry in entries
        )
        return Table(("kind", "name", "what it is"), rows)

    def names(self, kind: str) -> list[str]:
        """The names of one kind: ``tasks``, ``schemes``, ``encodings`` or ``recipes``.

        Raises `LengthwiseError` for another kind.
        """
        if kind not in self.entries:
            raise UnknownNameError("kind", kind, self.entries)
        return [entry["name"] for entry in self.entries[kind]]


def available() -> Available:
    """Everything that has a name, with one line on what it is."""
    return Available(catalogue())


def fields_into(cls: type[Any], values: dict[str, Any] | Any, *, where: str) -> Any:
    """A settings object of ``cls`` from a dictionary of its fields, or that object itself."""
    return from_fields(cls, values, where=where) if isinstance(values, dict) else values
