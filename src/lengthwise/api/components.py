"""Tasks, schemes, encodings and mixers by name; the laws; and how authors of other packages add their own. No torch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lengthwise.core import config as arguments
from lengthwise.core.config import apply_edits, fields_of
from lengthwise.core.errors import LengthwiseError, UnknownNameError, require
from lengthwise.core.registry import Registry
from lengthwise.core.table import Table, Tabular
from lengthwise.models.mixers import MIXERS, MixerSpec
from lengthwise.positions.encodings import ENCODINGS, EncodingSpec
from lengthwise.positions.schemes import SCHEMES, PositionScheme
from lengthwise.positions.structure import PLACES_TELL, lacks_place, places_tell_content
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.base import named_language

if TYPE_CHECKING:
    from lengthwise.testing import Checked

REGISTRIES: dict[str, Registry[Any]] = {"task": TASKS, "scheme": SCHEMES, "encoding": ENCODINGS, "mixer": MIXERS}

ENCODING_ALIASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ape": ({"name": "learned"}, {"name": "sequential", "random_start": True})
}
"""Names that stand for an encoding together with a scheme, as the literature uses them."""
SECTIONS = ("scheme", "encoding", "model", "training", "evaluation")
"""Of an experiment, beside the task."""


def task(spec: str | Task | dict[str, Any], **fields: Any) -> Task:
    """A task: a distribution over problems of every length, with the tokens on which each answer token depends.

    Arguments:
        spec: a name (see `available`), that of a published language, an expression such as ``"(ab)*"``,
            ``"path/to/file.py:Class"``, ``{"name": …, field: value}``, or a task itself.
        fields: the task's own settings, such as ``task("addition", base=2)``.

    Returns: the `Task`.

    Raises: `LengthwiseError` for an unknown name (with a suggestion), an unknown field, or a value of the wrong type.
    """
    return TASKS.build(spec, **fields)


def changed_task(task: Task, changes: Sequence[str]) -> Task:
    """A task with other settings, such as ``"task.letters=16"``; raises `LengthwiseError` for one that it lacks."""
    names = arguments.names("changes", changes)
    for name in (edit.partition("=")[0] for edit in names):
        require(
            name.partition(".")[0] not in SECTIONS,
            f"settings of the task alone are taken here, and {name!r} is none; `lengthwise run` takes it",
        )
    return TASKS.build(apply_edits({"task": TASKS.describe(task)}, names)["task"]) if names else task


def scheme(spec: str | PositionScheme | dict[str, Any], **fields: Any) -> PositionScheme:
    """A position scheme: which ids the tokens of a sequence get, in training and at test.

    Arguments:
        spec: as of `task`, for example ``"coupled"``.
        fields: the scheme's own settings, such as ``scheme("sequential", random_start=True)``.

    Returns: the `PositionScheme`.

    Raises: `LengthwiseError` as `task` does.
    """
    return SCHEMES.build(spec, **fields)


def encoding(spec: str | EncodingSpec | dict[str, Any], **fields: Any) -> EncodingSpec:
    """A position encoding: how a model uses the ids.

    Arguments:
        spec: as of `task`, for example ``"rope"``.
        fields: the encoding's own settings.

    Returns: the `EncodingSpec`, from which models are built.

    Raises: `LengthwiseError` as `task` does.
    """
    return ENCODINGS.build(spec, **fields)


def register(kind: str, name: str) -> Any:
    """Class decorator: enter a task, scheme, encoding or mixer of your own under a name.

    Arguments:
        kind: ``"task"``, ``"scheme"``, ``"encoding"`` or ``"mixer"``.
        name: the name by which it is found from now on.

    Returns: the decorator, which returns the class as it is.

    Raises: `LengthwiseError` for another kind, and for a name that is taken.

    >>> import lengthwise as lw
    >>> @lw.register("task", "my-copy")                                # doctest: +SKIP
    ... @lw.config
    ... class MyCopy(lw.Task): ...
    """
    if kind not in REGISTRIES:
        raise UnknownNameError("kind of component", kind, REGISTRIES)
    return REGISTRIES[kind].register(name)


class Available(Tabular):
    """What has a name: tasks, schemes, encodings, mixers and recipes."""

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
        """The names of one kind: ``tasks``, ``schemes``, ``encodings``, ``mixers`` or ``recipes``.

        Raises `LengthwiseError` for another kind.
        """
        if arguments.text("kind", kind) not in self.entries:
            raise UnknownNameError("kind", kind, self.entries)
        return [entry["name"] for entry in self.entries[kind]]


def available(kind: str | None = None) -> Available:
    """Everything that has a name, with one line on what it is.

    Arguments:
        kind: ``"tasks"``, ``"schemes"``, ``"encodings"``, ``"mixers"`` or ``"recipes"``; by default all.

    Returns: the entries by kind; those of components have ``settings``, the fields with their defaults, and those that
        are not built in say ``from`` which package they are.

    Raises: `LengthwiseError` for another kind.
    """
    # Importing the recipes registers them; it is the slowest part of a listing.
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.experiments.recipe import RECIPES

    encodings = _entries(ENCODINGS)
    for alias, (built, ids) in ENCODING_ALIASES.items():
        summary = f"alias: encoding {built['name']} with scheme {ids['name']} ({_settings(ids)})"
        encodings.append({"name": alias, "summary": summary, "alias": {"encoding": built, "scheme": ids}})
    found = {
        "tasks": _entries(TASKS),
        "schemes": _entries(SCHEMES),
        "encodings": encodings,
        "mixers": _entries(MIXERS),
        "recipes": [*({"name": name, "summary": summary} for name, summary in RECIPES.names().items())],
    }
    if kind is not None and kind not in found:
        raise UnknownNameError("kind", kind, found)
    return Available({name: entries for name, entries in found.items() if kind in (None, name)})


def _entries(registry: Registry[Any]) -> list[dict[str, Any]]:
    entries = []
    for name in registry:
        entry = {"name": name, "summary": registry.get(name).summary}
        if name in registry.aliases:
            spec = registry.aliases[name]
            entry["summary"] = f"alias: {spec['name']} with {_settings(spec)}"
        if (origin := registry.origin(name)) != "lengthwise":
            entry["from"] = origin
        try:
            entry["settings"] = fields_of(registry.build(name))
        except LengthwiseError:
            # A component whose fields have no defaults is listed all the same.
            entry["settings"] = {}
        entries.append(entry)
    return entries


def _settings(spec: dict[str, Any]) -> str:
    return ", ".join(f"{key}={json.dumps(value)}" for key, value in spec.items() if key != "name")


class Checks(Tabular):
    """The laws that a component was held to, each with how it is broken, if it is, and notes that break none."""

    def __init__(self, kind: str, laws: Sequence[Checked], notes: Iterable[str] = ()) -> None:
        self.kind, self.laws, self.notes = kind, tuple(laws), tuple(notes)

    @property
    def broken(self) -> tuple[Checked, ...]:
        """The laws that do not hold."""
        return tuple(law for law in self.laws if law.broken)

    def table(self) -> Table:
        """One row per law."""
        rows = tuple((law.law, law.holds, law.says, law.broken) for law in self.laws)
        return Table(("law", "holds?", "says", "broken by"), rows, notes=self.notes, sentences=("says", "broken by"))


def check(target: str | Task | PositionScheme | EncodingSpec | MixerSpec, kind: str | None = None) -> Checks:
    """Hold a component, such as a task of your own, to every law that the package holds its own components to.

    Arguments:
        target: a task, scheme, encoding or mixer: an object, its name, or ``"path/to/file.py:Class"``.
        kind: ``"task"``, ``"scheme"``, ``"encoding"`` or ``"mixer"``, where the name is not enough.

    Returns: every law, and what came of it.

    Raises: `LengthwiseError` for an unknown name or kind, and for a class that is no component.
    """
    from lengthwise.testing import checks

    kind, component = _component(target, kind)
    found = Checks(kind, list(checks(kind, component)))
    if kind != "task" or found.broken:
        return found
    return Checks(
        kind, found.laws, filter(None, [PLACES_TELL * places_tell_content(component), lacks_place(component)])
    )


def _component(target: str | Task | PositionScheme | EncodingSpec | MixerSpec, kind: str | None) -> tuple[str, Any]:
    """The kind of a target and the component with its default settings."""
    if not isinstance(target, str):
        kinds = {"task": Task, "scheme": PositionScheme, "encoding": EncodingSpec, "mixer": MixerSpec}
        found = next((name for name, cls in kinds.items() if isinstance(target, cls)), None)
        if found is None:
            raise LengthwiseError(f"{target!r} is no task, scheme, encoding or mixer; give one of these")
        return found, target
    if kind is not None:
        if kind not in REGISTRIES:
            raise UnknownNameError("kind of component", kind, REGISTRIES)
        return kind, REGISTRIES[kind].build(target)
    if ":" in target or target.endswith(".py"):
        for name, registry in REGISTRIES.items():
            try:
                return name, registry.build(target)
            except LengthwiseError as error:
                if "; derive it from " not in str(error):
                    raise
        raise LengthwiseError(f"{target} is no task, scheme, encoding or mixer; derive it from one of these")
    for name, registry in REGISTRIES.items():
        if target in registry:
            return name, registry.build(target)
    if named_language(target) is not None:
        return "task", TASKS.build(target)
    raise UnknownNameError("component", target, [name for registry in REGISTRIES.values() for name in registry])
