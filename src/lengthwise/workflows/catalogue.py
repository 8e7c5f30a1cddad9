"""Lists all registered tasks, schemes, encodings and recipes. It needs no torch."""

from __future__ import annotations

from typing import Any

from lengthwise.core.config import fields_of
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.registry import Registry
from lengthwise.positions.encodings import ENCODINGS, EncodingSpec
from lengthwise.positions.schemes import SCHEMES, PositionScheme
from lengthwise.tasks import TASKS

REGISTRIES: dict[str, Registry[Any]] = {"task": TASKS, "scheme": SCHEMES, "encoding": ENCODINGS}
"""The registry of each kind of component."""

ENCODING_ALIASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ape": ({"name": "learned"}, {"name": "sequential", "random_start": True}),
}
"""Names that stand for an encoding together with a scheme, as the literature uses them."""


def encoding_named(name: str) -> tuple[EncodingSpec, PositionScheme | None]:
    """The encoding under a name, and the scheme that comes with it if the name is an alias.

    Raises `UnknownNameError` with a suggestion.
    """
    if name in ENCODING_ALIASES:
        encoding, scheme = ENCODING_ALIASES[name]
        return ENCODINGS.build(encoding), SCHEMES.build(scheme)
    return ENCODINGS.build(name), None


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """``{"tasks": [{"name", "summary", "settings"}], "schemes": …, "encodings": …, "recipes": …}``.

    ``settings`` are the fields with their defaults, as ``--set`` takes them.
    """
    # Importing the recipes registers them; it is the slowest part of a listing.
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.experiments.recipe import RECIPES

    encodings = _entries(ENCODINGS)
    for alias, (encoding, scheme) in ENCODING_ALIASES.items():
        settings = ", ".join(f"{key}={str(value).lower()}" for key, value in scheme.items() if key != "name")
        summary = f"alias: encoding {encoding['name']} with scheme {scheme['name']} ({settings})"
        encodings.append({"name": alias, "summary": summary, "alias": {"encoding": encoding, "scheme": scheme}})
    return {
        "tasks": _entries(TASKS),
        "schemes": _entries(SCHEMES),
        "encodings": encodings,
        "recipes": [
            *({"name": name, "summary": summary} for name, summary in RECIPES.names().items()),
        ],
    }


def _entries(registry: Registry[Any]) -> list[dict[str, Any]]:
    entries = []
    for name in registry:
        cls = registry.get(name)
        entry = {"name": name, "summary": cls.summary}
        try:
            entry["settings"] = fields_of(registry.build(name))
        except LengthwiseError:
            # A component whose fields have no defaults is listed all the same.
            entry["settings"] = {}
        entries.append(entry)
    return entries
