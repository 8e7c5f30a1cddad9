"""Lists all registered tasks, schemes, encodings and recipes. It needs no torch."""

from __future__ import annotations

import json
from typing import Any

from lengthwise.core.config import fields_of
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.registry import Registry
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES
from lengthwise.tasks import TASKS

REGISTRIES: dict[str, Registry[Any]] = {"task": TASKS, "scheme": SCHEMES, "encoding": ENCODINGS}
"""The registry of each kind of component."""

ENCODING_ALIASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ape": ({"name": "learned"}, {"name": "sequential", "random_start": True})
}
"""Names that stand for an encoding together with a scheme, as the literature uses them."""


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """``{"tasks": [{"name", "summary", "settings"}], "schemes": …, "encodings": …, "recipes": …}``.

    ``settings`` are the fields with their defaults, as ``--set`` takes them; ``from`` names the package of a component
    that is not built in.
    """
    # Importing the recipes registers them; it is the slowest part of a listing.
    from lengthwise.experiments import recipes as _recipes  # noqa: F401
    from lengthwise.experiments.recipe import RECIPES

    encodings = _entries(ENCODINGS)
    for alias, (encoding, scheme) in ENCODING_ALIASES.items():
        summary = f"alias: encoding {encoding['name']} with scheme {scheme['name']} ({_settings(scheme)})"
        encodings.append({"name": alias, "summary": summary, "alias": {"encoding": encoding, "scheme": scheme}})
    return {
        "tasks": _entries(TASKS),
        "schemes": _entries(SCHEMES),
        "encodings": encodings,
        "recipes": [*({"name": name, "summary": summary} for name, summary in RECIPES.names().items())],
    }


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
    """The settings of an alias as ``key=value, …``."""
    return ", ".join(f"{key}={json.dumps(value)}" for key, value in spec.items() if key != "name")
