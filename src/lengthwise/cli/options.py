"""Options that several commands have, the options of a command from a dataclass, and the flags of parameters."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from lengthwise.core.errors import LengthwiseError, require

S = TypeVar("S")
AUTO = "auto"

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TextPath = Annotated[
    Path | None, typer.Option("--text", help="A text file or a folder; default: Python's standard library.")
]
Dataset = Annotated[
    str | None, typer.Option("--dataset", metavar="NAME[:CONFIG]", help="A Hugging Face data set, streamed.")
]
Threads = Annotated[
    int | None, typer.Option("--threads", help="Processor threads. Default: what pays for the size of the model.")
]
Jobs = Annotated[
    str,
    typer.Option(
        "--jobs",
        metavar="N|auto",
        help="Processes at the same time, one thread each by default; auto: one for each free core.",
    ),
]
Ray = Annotated[
    str | None,
    typer.Option("--ray", metavar="ADDRESS|local", help="Run on this Ray cluster, all of whose nodes see --out."),
]
Slurm = Annotated[
    str | None, typer.Option("--slurm", metavar="PARTITION|local", help="Run as Slurm jobs, which all see --out.")
]
CpusPerJob = Annotated[int, typer.Option("--cpus-per-job", min=1, help="On a cluster: cores and threads of each job.")]
GpusPerJob = Annotated[float, typer.Option("--gpus-per-job", help="On a cluster: GPUs of each job; Ray takes 0.1.")]
Edits = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="e.g. training.steps=100, for all systems.")
]
Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="SYSTEM|TASK", help="Only this system, or this task's.")
]
PresetName = Annotated[str, typer.Option("--preset", help="quick, standard or full.")]
Seeds = Annotated[int | None, typer.Option("--seeds", help="Seeds 0…N−1 instead of each system's own.")]

FLAGS = {"encodings": "encoding", "systems": "systems", "changes": "set", "periods": "period", "distances": "distance",
         "methods": "method", "multiples": "multiple", "rules": "rule"}  # fmt: skip
"""Parameters of functions whose flags have another name."""


def with_flags(message: str, flags: Collection[str]) -> str:
    """A library's message for the command line: parameters of the command become its flags.

    Messages name parameters in backticks (choose another `out`), or begin with one (max_length must be at least 1).
    Only those that are among the command's ``flags`` change.
    """

    def flag(found: re.Match[str]) -> str:
        name = "--" + FLAGS.get(found[1], found[1]).replace("_", "-")
        return name if name in flags else found[0]

    return re.sub(r"`([a-z_]+)`", flag, re.sub(r"^([a-z_]+)(?= (?:must|needs|is|are|has) )", flag, message))


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


def number_of_jobs(text: str) -> int:
    """The number that ``--jobs`` says.

    Raises `LengthwiseError` unless it is ``auto`` or at least 1.
    """
    from lengthwise.training.threads import free_cores

    if text == AUTO:
        return free_cores()
    try:
        count = int(text)
    except ValueError:
        raise LengthwiseError(f"--jobs must be a number or auto, got {text!r}") from None
    require(count >= 1, f"--jobs must be at least 1, got {count}")
    return count
