"""Registries map names to components. A component is a frozen dataclass whose fields are its configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from lengthwise.core.config import fields_of, from_fields
from lengthwise.core.errors import LengthwiseError, UnknownNameError

T = TypeVar("T")
C = TypeVar("C", bound=type)


class Registry(Generic[T]):
    """Components of one kind by name; ``{"name": ..., **fields}`` is how one is written in a configuration.

    >>> @TASKS.register("addition")       # doctest: +SKIP
    ... @config
    ... class Addition(Task): ...
    """

    def __init__(self, kind: str, *, outside: Callable[[str], type[T]] | None = None) -> None:
        self.kind = kind
        self._classes: dict[str, type[T]] = {}
        self._aliases: dict[str, dict[str, Any]] = {}
        self._outside = outside

    def register(self, name: str) -> Callable[[C], C]:
        """Class decorator: enter the class under ``name`` and set its ``name``."""

        def enter(cls: C) -> C:
            if name in self._classes:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            cls.name = name  # type: ignore[attr-defined]
            self._classes[name] = cls  # type: ignore[assignment]
            return cls

        return enter

    def alias(self, name: str, spec: dict[str, Any]) -> None:
        """Enter a configured component under a name of its own; `describe` gives its class's name and its fields."""
        if name in self:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        self._aliases[name] = spec

    def __iter__(self) -> Iterator[str]:
        yield from self._classes
        yield from self._aliases

    def __len__(self) -> int:
        return len(self._classes) + len(self._aliases)

    def __contains__(self, name: object) -> bool:
        return name in self._classes or name in self._aliases

    def get(self, name: str) -> type[T]:
        """The class under ``name``; raises `UnknownNameError` with a suggestion."""
        if name in self._classes:
            return self._classes[name]
        if name in self._aliases:
            return self._classes[self._aliases[name]["name"]]
        if self._outside is not None and (":" in name or name.endswith(".py")):
            return self._outside(name)
        raise UnknownNameError(self.kind, name, self)

    def build(self, spec: Any, **fields: Any) -> T:
        """A component from itself, its name, or ``{"name": ..., **fields}``."""
        if isinstance(spec, str):
            spec = {"name": spec, **fields}
        if not isinstance(spec, dict):
            return spec
        if "name" not in spec:
            raise LengthwiseError(f"a {self.kind} needs a name; write {{'name': ...}} with one of: {', '.join(self)}")
        values = {**self._aliases.get(spec["name"], {}), **spec}
        del values["name"]
        return from_fields(self.get(spec["name"]), values, where=f"{self.kind} {spec['name']!r}")

    def describe(self, component: T) -> dict[str, Any]:
        """The JSON form of a component: ``build(describe(x)) == x``."""
        return {"name": component.name, **fields_of(component)}  # type: ignore[attr-defined]
