"""Packages whose modules are imported at first use, so that ``lengthwise.tasks`` costs nothing until it is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


def modules_of(package: str) -> Callable[[str], ModuleType]:
    """The ``__getattr__`` of a package that imports its modules by their names.

    Modules whose names begin with an underscore are private, and no attributes.
    """

    def load(name: str) -> ModuleType:
        if name.startswith("_") or find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return load
