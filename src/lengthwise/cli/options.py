"""Options of commands, read from the functions of `lengthwise.api` that they call, and the flags of parameters."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable, Collection
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

import typer

from lengthwise.core.errors import LengthwiseError, require

S = TypeVar("S")
Api = Callable[..., Any]
"""A function of `lengthwise.api` as a command gets it from `from_api`."""
AUTO = "auto"

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
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
Seeds = Annotated[int | None, typer.Option("--seeds", help="Seeds 0…N−1 instead of each system's own.")]

FLAGS = {"encodings": "encoding", "systems": "systems", "changes": "set", "periods": "period", "distances": "distance",
         "methods": "method", "multiples": "multiple", "rules": "rule"}  # fmt: skip
"""Parameters of functions whose flags have another name."""


SAME = (
    ("--max-length", "--train", "--trained-to", "--train-length"),
    ("--test", "--test-lengths", "--lengths", "--length"),
    ("--budget", "--probe", "--seconds", "--time"),
    ("--encoding", "--systems", "--only", "--system", "--encodings", "--positions"),
    ("--systems", "--scheme"),
    ("--out", "--output", "--folder"),
    ("--samples", "--examples", "--targets"),
    ("--text", "--dataset", "--from-data"),
    ("--seeds", "--seed"),
    ("--jobs", "--workers", "--processes"),
    ("--certificate", "--certificates"),
    ("--form", "--forms"),
    ("--why", "--explain", "--verbose"),
    ("--json", "--as-json", "--format"),
)
"""Flags that say the same, or nearly so, in different commands, and what else people write for them."""


def same_flag(flag: str, flags: Collection[str]) -> str | None:
    """The one of a command's ``flags`` that says the same as a flag which it does not have; None if there is none."""
    alike = (name for group in SAME if flag in group for name in group)
    return next((name for name in alike if name != flag and name in flags), None)


def with_flags(message: str, flags: Collection[str]) -> str:
    """A library's message for the command line: parameters of the command become its flags.

    Messages name parameters in backticks (choose another `out`), with a value (give budget=3m), by a name of several
    words (a smaller max_length), or begin with one (max_length must be at least 1). Only those that are among the
    command's ``flags`` change, and none in a list of what is known.
    """

    def flag(found: re.Match[str]) -> str:
        name = "--" + FLAGS.get(found[1], found[1]).replace("_", "-")
        return name + " " * found[0].endswith("=") if name in flags else found[0]

    said, known, names = message.partition(" Known: ")
    for parameter in (
        r"^([a-z_]+)(?= (?:must|needs|is|are|has) )",
        r"`([a-z_]+)`",
        r"(?<![\w./='\"`(-])([a-z_]+)=(?=\w)",
        r"(?<![\w./='\"`-])([a-z]+(?:_[a-z]+)+)(?![\w/='\"`(]|\.\w)",
    ):
        said = re.sub(parameter, flag, said)
    return said + known + names


def whole_numbers(option: str, text: str | None) -> tuple[int, ...] | None:
    """The numbers of an option such as ``--lengths 5,20,100``; raises `LengthwiseError` for anything else."""
    try:
        return None if text is None else tuple(int(part) for part in text.split(","))
    except ValueError:
        raise LengthwiseError(
            f"{option} needs whole numbers separated by commas, got {text!r}; write e.g. {option} 5,20,100"
        ) from None


TYPES: dict[str, Any] = {
    "str": str, "int": int, "float": float, "bool": bool, "str | Path": Path, "str | Path | Mapping[str, int]": Path,
    "str | Path | Explanation": Path, "float | str": str, "Probe | str | float": str, "int | Sequence[int]": int,
    "Sequence[int]": str, "Sequence[str]": list[str], "str | Sequence[str]": list[str],
}  # fmt: skip
"""By the annotation of a parameter, ``| None`` left out: what the command line reads for it."""
METAVARS = {"Sequence[int]": "N,N,…", "float | str": "TIME", "Probe | str | float": "TIME"}


def from_api(*functions: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator for a command: parameters of functions of `lengthwise.api`, such as ``"compare.verify"``, as options.

    Name, type, default and help of an option are those of the first function that has it. The command takes first each
    function, with what was given bound to it, and then parameters of its own, which take the place of options of the
    same flag. What a text can't give, such as a callback, is left out. Functions are read from their source, because
    importing them takes longer than a help may take.
    """

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        own = list(inspect.signature(command).parameters.values())[len(functions) :]
        own = [one.replace(annotation=hints[one.name], kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        mine = {one.name for one in own}
        infos = [one.annotation.__metadata__[0] for one in own]
        # In an annotation, typer takes the first flag for the default until it builds the command.
        flags = {flag for info in infos for flag in (info.default, *(info.param_decls or ()))}
        parts: list[dict[str, _Option]] = []
        options: dict[str, _Option] = {}
        for function in functions:
            known = {*options, *mine}
            parts.append({n: o for n, o in _read(function).items() if o.flag not in flags and n not in known})
            options |= parts[-1]

        def call(**values: Any) -> None:
            given = {name: options[name].value(values[name]) for name in options if values[name] is not None}
            bound = [
                _bound(function, {name: value for name, value in given.items() if name in part})
                for function, part in zip(functions, parts, strict=True)
            ]
            command(*bound, **{name: value for name, value in values.items() if name in mine})

        derived = [option.parameter for option in options.values()]
        call.__doc__, call.__name__ = command.__doc__, command.__name__
        call.__annotations__ = {one.name: one.annotation for one in (*derived, *own)}
        call.__signature__ = inspect.Signature([*derived, *own])  # type: ignore[attr-defined]
        return call

    return wrap


class _Option(NamedTuple):
    name: str
    kind: str
    """The annotation of the parameter, ``| None`` left out."""
    default: Any
    help: str

    @property
    def flag(self) -> str:
        return "--" + FLAGS.get(self.name, self.name).replace("_", "-")

    @property
    def parameter(self) -> inspect.Parameter:
        hint, default = TYPES[self.kind], self.default
        if hint == list[str]:
            default = list(default or ()) or None
        metavar = "KEY=VALUE" if self.name == "changes" else METAVARS.get(self.kind)
        info = typer.Option(self.flag, metavar=metavar, help=self.help)
        typed = Annotated[hint | None if default is None else hint, info]
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=typed)

    def value(self, given: Any) -> Any:
        if self.name == "encodings":  # as --systems of compare takes them
            return [name.strip() for names in given for name in names.split(",") if name.strip()]
        return whole_numbers(self.flag, given) if self.kind == "Sequence[int]" else given


@cache
def _source(module: str, name: str) -> ast.FunctionDef:
    """A function of a module of `lengthwise.api`; two blank lines end it. Only its own text is parsed."""
    text = files("lengthwise.api").joinpath(f"{module}.py").read_text("utf-8")
    (node,) = ast.parse(text[text.index(f"\ndef {name}(") :].partition("\n\n\n")[0]).body
    assert isinstance(node, ast.FunctionDef)
    return node


def _read(function: str) -> dict[str, _Option]:
    """The options of a function, by the names of its parameters; one without a default is none."""
    module, _, name = function.partition(".")
    read, helps, found = _source(module, name).args, _helps(module, name), {}
    defaults = [None] * (len(read.args) - len(read.defaults)) + read.defaults + read.kw_defaults
    for one, default in zip([*read.args, *read.kwonlyargs], defaults, strict=True):
        kind = ast.unparse(one.annotation or ast.Constant(None)).removesuffix(" | None")
        if default is not None and kind in TYPES:
            found[one.arg] = _Option(one.arg, kind, ast.literal_eval(default), helps[one.arg])
    return found


def _helps(module: str, name: str) -> dict[str, str]:
    """What the docstring of a function says of each parameter, as a sentence; *as of another function*: from there."""
    doc, found = ast.get_docstring(_source(module, name)) or "", dict[str, str]()
    for names, text in re.findall(r"^    (\w[\w, ]*): ((?:.|\n {8})*)$", doc.partition("Arguments:")[2], re.M):
        if other := re.fullmatch(r"as of `(\w+)`\.", text):
            found |= {key: value for key, value in _helps(module, other[1]).items() if key in names.split(", ")}
            continue
        plain = re.sub(r'``"?([^`"]*)"?``', r"\1", " ".join(text.split()))
        found |= dict.fromkeys(names.split(", "), plain if text[0] == "`" else plain[0].upper() + plain[1:])
    return found


def _bound(function: str, given: dict[str, Any]) -> Api:
    module, _, name = function.partition(".")
    return lambda *more, **named: getattr(import_module(f"lengthwise.api.{module}"), name)(*more, **given, **named)


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
