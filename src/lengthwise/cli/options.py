"""Turns a dataclass of settings into the options of a command."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

S = TypeVar("S")


def options_of(settings: type[S]) -> Callable[[Callable[[S], None]], Callable[..., None]]:
    """Decorator for a command that takes one ``settings`` object: each field of the dataclass becomes an option.

    The fields carry their typer options as ``Annotated`` types. The decorated function keeps its docstring, which is
    the help of the command.
    """
    hints = get_type_hints(settings, include_extras=True)
    fields = dataclasses.fields(settings)  # type: ignore[arg-type]

    def wrap(command: Callable[[S], None]) -> Callable[..., None]:
        def call(**values: Any) -> None:
            command(settings(**values))

        parameters = [_parameter(field, hints[field.name]) for field in fields]
        call.__doc__, call.__name__, call.__annotations__ = command.__doc__, command.__name__, hints
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return call

    return wrap


def _parameter(field: dataclasses.Field[Any], hint: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
