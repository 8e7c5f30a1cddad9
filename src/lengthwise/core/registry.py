"""Registries map names to components: built in, of installed packages, and of the user's own files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar, dataclass_transform

from lengthwise.core.config import config, fields_of, from_fields
from lengthwise.core.errors import LengthwiseError, UnknownNameError, spelled
from lengthwise.core.user_code import file_of, load_class, load_given, remember


@lru_cache
def installed(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name; nothing is imported yet."""
    return {point.name: point for point in _entry_points().select(group=group)}


_entry_points = lru_cache(entry_points)  # reading those of all packages once takes 15 ms


def load_installed(point: EntryPoint, base: type[Any] | None, *, kind: str) -> Any:
    """Import what an entry point names; raises `LengthwiseError` if that fails, or it is no subclass of ``base``."""
    package = point.dist.name if point.dist is not None else point.value
    try:
        found = point.load()
    except (Exception, SystemExit) as error:
        raise LengthwiseError(
            f"package {package} offers the {kind} {point.name!r}, but {point.value} does not load: "
            f"{type(error).__name__}: {error}; update or remove that package"
        ) from error
    if base is not None and not (isinstance(found, type) and issubclass(found, base)):
        raise LengthwiseError(
            f"package {package} offers the {kind} {point.name!r}, but {point.value} is no {base.__name__}; "
            f"derive it from {base.__module__}.{base.__name__}"
        )
    return found


T = TypeVar("T")
C = TypeVar("C", bound=type)


class NameOfClass:
    """The name of a component that nobody has named, such as one that was typed into a notebook: that of its class."""

    def __get__(self, component: object, cls: type[Any]) -> str:
        return cls.__name__


class Registry(Generic[T]):
    """Components of one kind by name; ``{"name": ..., **fields}`` is how one is written in a configuration.

    >>> @TASKS.register("addition")       # doctest: +SKIP
    ... class Addition(Task): ...
    """

    def __init__(self, kind: str, base: type[Any] | None = None) -> None:
        """``base`` is the class that components derive from; with it, outside components are found, too.

        Those are the entry points ``lengthwise.<kind>s`` of installed packages, and ``path/to/file.py:Class``.
        """
        self.kind, self._base = kind, base
        self._classes: dict[str, type[T]] = {}
        self.aliases: dict[str, dict[str, Any]] = {}
        """By name: the configured component that an alias stands for."""

    @property
    def _installed(self) -> dict[str, Any]:
        """Components that other installed packages offer by name, not loaded yet."""
        return {} if self._base is None else installed(f"lengthwise.{self.kind}s")

    @dataclass_transform(frozen_default=True)
    def register(self, name: str) -> Callable[[C], C]:
        """Class decorator: enter the class under ``name``, set its ``name``, and make it a `config` if it is none.

        A class takes the place of an earlier version of itself, as where a cell of a notebook runs again. Raises
        `LengthwiseError` for a name that another class has.
        """

        def enter(cls: C) -> C:
            if (name in self._classes or name in self.aliases) and not self._is_earlier(name, cls):
                raise LengthwiseError(f"{self.kind} {name!r} exists already; register {cls.__name__} by another name")
            entered = cls if "__dataclass_fields__" in vars(cls) else config(cls)
            entered.name = name  # type: ignore[attr-defined]
            self._classes[name] = entered  # type: ignore[assignment]
            return entered

        return enter

    def _is_earlier(self, name: str, cls: type[Any]) -> bool:
        """Whether the name is that of an earlier version of the class, defined in the same place."""
        before = self._classes.get(name)
        if "<locals>" in cls.__qualname__ and cls.__module__ != "__main__":
            return False  # one function may make several classes
        return before is not None and (before.__module__, before.__qualname__) == (cls.__module__, cls.__qualname__)

    def alias(self, name: str, spec: dict[str, Any]) -> None:
        """Enter a configured component under a name of its own; `describe` gives its class's name and its fields."""
        if name in self:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        self.aliases[name] = spec

    def __iter__(self) -> Iterator[str]:
        yield from self._classes
        yield from self.aliases
        yield from (name for name in self._installed if name not in self._classes and name not in self.aliases)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._classes or name in self.aliases or name in self._installed

    def get(self, name: str) -> type[T]:
        """The class under ``name``; raises `UnknownNameError` with a suggestion."""
        if name in self._classes:
            return self._classes[name]
        if name in self.aliases:
            return self._classes[self.aliases[name]["name"]]
        if self._base is not None and (":" in name or name.endswith(".py")):
            return load_class(name, self._base, kind=self.kind)
        if name in self._installed:
            found: type[T] = load_installed(self._installed[name], self._base, kind=self.kind)
            # A class that also registers itself when it is imported is entered by then.
            return self._classes[name] if name in self._classes else self.register(name)(found)
        if load_given():
            return self.get(name)
        base, inside, _ = name.partition("(")
        if inside and base in self:
            raise LengthwiseError(
                f"unknown {self.kind} {name!r}; with fields it is a dictionary: {{'name': {base!r}, 'FIELD': VALUE}}"
            )
        raise UnknownNameError(self.kind, name, self)

    def is_built_in(self, name: str) -> bool:
        """Whether the component of this name is part of this package, so that nothing else has to be imported."""
        name = self.aliases.get(name, {"name": name})["name"]
        return name in self._classes and self._classes[name].__module__.partition(".")[0] == "lengthwise"

    def origin(self, name: str) -> str:
        """Where a component comes from: ``lengthwise``, another package, or a module of the user's."""
        if name in self._installed:
            return f"package {self._installed[name].dist.name}"
        module = self.get(name).__module__
        return "lengthwise" if module.partition(".")[0] == "lengthwise" else module

    def build(self, spec: Any, **fields: Any) -> T:
        """A component from itself, its name, or ``{"name": ..., **fields}``, whose fields it has as ``given``."""
        if isinstance(spec, str):
            spec = {"name": spec}
        if isinstance(spec, dict):
            spec = {**spec, **fields}
        elif fields:
            raise LengthwiseError(f"a {self.kind} that is made already takes no fields, got {min(fields)!r}")
        if not isinstance(spec, dict):
            self._check(spec)
            self._name_by_file(type(spec))
            return spec
        if "name" not in spec:
            raise LengthwiseError(f"a {self.kind} needs a name; write {{'name': ...}} with one of: {', '.join(self)}")
        if not isinstance(spec["name"], str):
            raise LengthwiseError(f"the name of a {self.kind} must be a string, got {spec['name']!r}")
        name = spec["name"] if spec["name"] in self else spelled(spec["name"], self)
        values = {**self.aliases.get(name, {}), **spec}
        del values["name"]
        built = from_fields(self.get(name), values, where=f"{self.kind} {name!r}")
        object.__setattr__(built, "given", frozenset(values))
        return built

    def _check(self, component: Any) -> None:
        if self._base is None or isinstance(component, self._base):
            return
        made = isinstance(component, type) and issubclass(component, self._base)
        raise LengthwiseError(
            f"{component.__name__} is a class; give an object, such as {component.__name__}()"
            if made
            else f"a {self.kind} is a name, a {self._base.__name__} or {{'name': …}}, got {component!r}"
        )

    def describe(self, component: T) -> dict[str, Any]:
        """The JSON form of a component: ``build(describe(x)) == x``.

        Raises `LengthwiseError` for a class without a name, since no other process could build it.
        """
        if vars(type(component)).get("name") is None:
            raise LengthwiseError(
                f"class {type(component).__name__} has no name; write @lw.register({self.kind!r}, 'my-name') above it, "
                "or put it into a file"
            )
        return self.show(component)

    def show(self, component: T) -> dict[str, Any]:
        """As `describe`, for what is only read: a class that has no name of its own goes by that of the class."""
        return {"name": vars(type(component)).get("name") or type(component).__name__, **fields_of(component)}

    def _name_by_file(self, cls: type[Any]) -> None:
        """Name a class that is not registered ``path/to/file.py:Class``, if a file holds it."""
        if "name" in vars(cls) or "." in cls.__qualname__:  # a subclass does not go by the name of its parent
            return
        path = file_of(cls)
        if path is not None:
            found = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
            cls.name = f"{found}:{cls.__qualname__}"
            remember(cls, path)
