"""Options that several commands have, and the options of a command from a dataclass of settings."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from lengthwise.core.errors import LengthwiseError

S = TypeVar("S")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TextPath = Annotated[
    Path | None, typer.Option("--text", help="A text file or a folder; default: Python's standard library.")
]
Dataset = Annotated[
    str | None, typer.Option("--dataset", metavar="NAME[:CONFIG]", help="A Hugging Face data set, streamed.")
]


def whole_numbers(option: str, text: str | None) -> tuple[int, ...] | None:
    """The numbers of an option such as ``--lengths 5,20,100``; raises `LengthwiseError` for anything else."""
    try:
        return None if text is None else tuple(int(part) for part in text.split(","))
    except ValueError:
        raise LengthwiseError(
            f"{option} needs whole numbers separated by commas, got {text!r}; write e.g. {option} 5,20,100"
        ) from None


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
