"""Components and settings as strict frozen dataclasses, their JSON form and digest, and checks of arguments."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import math
import operator
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, dataclass_transform

import pydantic
from pydantic import ConfigDict, Field, TypeAdapter

from lengthwise.core.errors import DEBUG, LengthwiseError, UnknownNameError, require, shortened

EXACT_IN_JSON = 2**53
"""Whole numbers below it are exact in every reader of JSON; result files hold no larger ones."""
MOST = 2 * 10**9
"""No setting needs a larger whole number, and sizes beyond it can't be computed with."""
AtLeast0 = Annotated[int, Field(ge=0, le=MOST)]
AtLeast1 = Annotated[int, Field(ge=1, le=MOST)]
AtLeast2 = Annotated[int, Field(ge=2, le=MOST)]
MOST_SYMBOLS = 10**6
"""A vocabulary of more symbols of one kind is a mistake, and takes long to build."""
Alphabet1 = Annotated[int, Field(ge=1, le=MOST_SYMBOLS)]
Alphabet2 = Annotated[int, Field(ge=2, le=MOST_SYMBOLS)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
AboveZero = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
"""From 0 to 1, both included."""
ShareBelow1 = Annotated[float, Field(ge=0, lt=1)]
PositiveShare = Annotated[float, Field(gt=0, le=1)]
Extension = Annotated[float, Field(ge=1, allow_inf_nan=False)]
"""By which factor a context grows."""
DigitBase = Annotated[int, Field(ge=2, le=36)]
"""A base whose digits are 0 to 9 and a to z."""


def whole(name: str, value: Any, least: int | None = None) -> int:
    """A whole number, of NumPy too; raises `LengthwiseError` for anything else, and below ``least``."""
    try:
        if isinstance(value, bool):
            raise TypeError
        found = operator.index(value)
    except TypeError:
        raise LengthwiseError(f"{name} must be a whole number, got {value!r}") from None
    if least is not None and found < least:
        raise LengthwiseError(f"{name} must be at least {least}, got {found}")
    return found


def whole_numbers(name: str, values: Any, least: int | None = None) -> list[int]:
    """At least one whole number; raises `LengthwiseError` for anything else, and for a number below ``least``."""
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise LengthwiseError(f"{name} must be a list of whole numbers, such as [5, 10], got {values!r}")
    found = [whole(name, value, least) for value in values]
    require(bool(found), f"{name} is empty; give at least one number")
    return found


def number(name: str, value: Any, above: float) -> float:
    """A finite number above ``above``; raises `LengthwiseError` for anything else."""
    try:
        found = math.nan if isinstance(value, str | bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    require(math.isfinite(found) and found > above, f"{name} must be a number above {above:g}, got {value!r}")
    return found


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST = 1000 * 3600
"""The longest time, in seconds."""


def seconds(name: str, value: float | str) -> float:
    """Seconds from a number, or from ``"90s"``, ``"10m"`` or ``"1.5h"``; raises `LengthwiseError`."""
    if not isinstance(value, str):
        return number(name, value, 0)
    if re.fullmatch(r"\d+(?:\.\d+)?", value.strip()):
        raise LengthwiseError(f"{name} needs a unit, such as {value.strip()}s or {value.strip()}m, got {value!r}")
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", value.strip())
    if not found or float(found[1]) == 0:
        raise LengthwiseError(f"{name} must be a time such as 90s, 10m or 1h, got {value!r}")
    long = float(found[1]) * _UNITS[found[2]]
    require(long <= _LONGEST, f"{name} must be at most {_LONGEST // 3600:,}h, got {shortened(value)}")
    return long


def text(name: str, value: Any) -> str:
    """A string; raises `LengthwiseError` for anything else."""
    require(isinstance(value, str), f"{name} must be a string, got {value!r}")
    return value


def pair(name: str, values: Any, what: str, low: float = -math.inf, high: float = math.inf) -> tuple[float, float]:
    """Two finite numbers from ``low`` to ``high``; raises `LengthwiseError` with ``what`` they must be otherwise."""
    try:
        first, second = (math.nan if isinstance(value, str | bool) else float(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        first = second = math.nan
    fits = all(math.isfinite(each) and low <= each <= high for each in (first, second))
    require(fits, f"{name} must be {what}, got {values!r}")
    return first, second


def names(name: str, values: Any) -> list[str]:
    """A list of strings; raises `LengthwiseError` for anything else, a single string included."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise LengthwiseError(f"{name} must be a list of names, such as ['nope', 'rope'], got {values!r}")
    return [text(f"each of {name}", value) for value in values]


def path(name: str, value: Any) -> Path:
    """A path; raises `LengthwiseError` for anything else."""
    require(isinstance(value, str | os.PathLike), f"{name} must be a path, got {value!r}")
    return Path(value)


T = TypeVar("T")


def named_arguments(cls: type[T]) -> type[T]:
    """Class decorator: a public method called with arguments that it lacks names those that it takes, in one line.

    So does the class itself.
    """
    for name, method in [*vars(cls).items()]:
        public = name == "__init__" or not name.startswith("_")
        if inspect.isfunction(method) and method.__module__ == cls.__module__ and public:
            setattr(cls, name, _bound(method, cls.__name__ if name == "__init__" else name))
    return cls


def named_call(function: Any) -> Any:
    """The same function; called with arguments that it lacks it names those that it takes, in one line."""
    return _bound(function, function.__name__, 0)


def named_class(cls: type[T]) -> type[T]:
    """The same class; made with arguments that it lacks it names those that it takes, in one line."""
    maker = "__init__" if "__init__" in vars(cls) else "__new__"
    if maker in vars(cls) and not hasattr(getattr(cls, maker), "__wrapped__"):
        signature = inspect.signature(cls)
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        signature = signature.replace(parameters=[own, *signature.parameters.values()])
        call = _bound(getattr(cls, maker), cls.__name__, signature=signature)
        setattr(cls, maker, call if maker == "__init__" else staticmethod(call))
    return cls


def _bound(method: Any, called: str, own: int = 1, signature: inspect.Signature | None = None) -> Any:
    signature = signature or inspect.signature(method)
    known = [*signature.parameters][own:]
    any_name = any(each.kind == each.VAR_KEYWORD for each in signature.parameters.values())

    @functools.wraps(method)
    def call(*given: Any, **options: Any) -> Any:
        try:
            signature.bind(*given, **options)
        except TypeError as error:
            strange = next((name for name in options if name not in known and not any_name), None)
            if strange is not None:
                methods = inspect.getmembers(type(given[0]), inspect.isfunction) if own else ()
                public = ((name, inspect.signature(each).parameters) for name, each in methods if name[0] != "_")
                other = next((name for name, takes in public if strange in takes), "")
                way = f"{strange} is an argument of {other}, such as .{other}({strange}=…); {called} takes "
                require(not other, f"{way}{', '.join(known) or 'none'}")
                raise UnknownNameError(f"argument of {called}", strange, known) from None
            takes = ", ".join(known) or "no arguments"
            raise LengthwiseError(f"{called} takes {takes}: {error}") from None
        try:
            return method(*given, **options)
        except LengthwiseError as error:
            if _of_others(error) or os.environ.get(DEBUG):
                raise
            raise error.with_traceback(None) from error.__cause__

    return call


OURS = {"lengthwise", "pydantic", *sys.stdlib_module_names}
"""Packages whose frames tell a user nothing: errors of this one pass through them."""


def _of_others(error: LengthwiseError) -> bool:
    """Whether an error went through code that is not of this package, such as a task of the user's, which it shows."""
    modules = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(name.partition(".")[0] not in OURS for name in modules)


RANGES = {
    "greater_than": "above {gt:g}", "greater_than_equal": "at least {ge:g}", "less_than": "below {lt:g}",
    "less_than_equal": "at most {le:g}", "finite_number": "finite",
    "int_type": "a whole number", "int_from_float": "a whole number", "float_type": "a number",
    "bool_type": "true or false", "string_type": "a string", "tuple_type": "a list", "list_type": "a list",
}  # fmt: skip
"""What a value that pydantic refuses has to be."""
_STRICT = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


@dataclass_transform(frozen_default=True, kw_only_default=False)
def config(cls: type[T]) -> type[T]:
    """Class decorator: a frozen pydantic dataclass whose fields are checked strictly (no ``"3"`` for 3, no extras)."""
    return pydantic.dataclasses.dataclass(frozen=True, config=_STRICT)(cls)  # type: ignore[return-value]


@lru_cache(maxsize=1024)
def _adapter(cls: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(cls)


def fields_of(component: object) -> dict[str, Any]:
    """The fields of a configuration object as plain JSON values."""
    return _adapter(type(component)).dump_python(component, mode="json")


def changed_fields(component: Any) -> dict[str, Any]:
    """The fields that differ from their defaults as plain JSON values, in nested components too, with their names.

    A field that is added later with a default does not change this.
    """
    return _changed(component, fields_of(component))


def _changed(component: Any, plain: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, default in _defaults(type(component)).items():
        value = getattr(component, name)
        if name not in plain or value == default:
            continue
        own = plain[name]
        if dataclasses.is_dataclass(value) and isinstance(own, dict):
            # The name says which class the other fields are of.
            own = {key: own[key] for key in ("name",) if key in own} | _changed(value, own)
        found[name] = own
    return found


@lru_cache(maxsize=1024)
def _defaults(cls: type[Any]) -> dict[str, Any]:
    """The default of every field that a caller may give (`dataclasses.MISSING` without one)."""
    return {
        field.name: field.default_factory() if callable(field.default_factory) else field.default
        for field in dataclasses.fields(cls)
        if field.init
    }


def from_fields(cls: type[T], values: dict[str, Any], *, where: str) -> T:
    """Build ``cls`` from plain JSON values; every mistake is one `LengthwiseError` line that says where it is."""
    known = [field.name for field in dataclasses.fields(cls) if field.init]  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise UnknownNameError(f"field of {where}", key, known)
    try:
        # JSON mode: strict about types, yet a JSON list may fill a tuple.
        return _adapter(cls).validate_json(json.dumps(values))
    except pydantic.ValidationError as error:
        raise LengthwiseError(_one_line(error, where)) from None
    except (TypeError, ValueError) as error:
        raise LengthwiseError(f"{where}: {error}") from None


@contextmanager
def one_line_errors(where: str) -> Iterator[None]:
    """Turn what pydantic says of a value of the wrong type into one `LengthwiseError` line."""
    try:
        yield
    except pydantic.ValidationError as error:
        raise LengthwiseError(_one_line(error, where)) from None


def _one_line(error: pydantic.ValidationError, where: str) -> str:
    first = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    if first["type"] in RANGES:
        return f"{where}: {path} must be {RANGES[first['type']].format(**first.get('ctx', {}))}, got {first['input']!r}"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] in ("value_error", "assertion_error"):
        return f"{where}: {message}"
    return f"{where}: {path}: {message[0].lower() + message[1:]}, got {first['input']!r}"


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """Twelve hexadecimal digits that name a JSON value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:12]


def apply_edits(values: dict[str, Any], edits: list[str]) -> dict[str, Any]:
    """Apply ``key.path=value`` edits to plain JSON values; the path must exist, the value is JSON or else a string.

    A field of the task may be named with ``task.`` or without.
    """
    result = json.loads(json.dumps(values))
    for edit in edits:
        path, separator, text = edit.partition("=")
        require(bool(separator), f"changes needs key=value, got {edit!r}; write e.g. training.steps=100")
        node, path = result, _path_in(result, path)
        *parents, last = path.split(".")
        for depth, key in enumerate(parents):
            if not isinstance(node, dict) or key not in node:
                known = node if isinstance(node, dict) else ()
                raise UnknownNameError("setting", ".".join(parents[: depth + 1]), known)
            node = node[key]
        if not isinstance(node, dict) or last not in node:
            known = [".".join([*parents, key]) for key in node] if isinstance(node, dict) else []
            known += [f"task.{key}" for key in _task_in(values)] * (not parents)
            raise UnknownNameError("setting", path, known)
        node[last] = parse_value(text)
    return result


def _task_in(values: dict[str, Any]) -> dict[str, Any]:
    task = values.get("task")
    return task if isinstance(task, dict) else {}


def _path_in(values: dict[str, Any], path: str) -> str:
    """The path as the values have it: with or without ``task.``."""
    (first, _, rest), inside = path.partition("."), _task_in(values)
    if first not in values and first in inside:
        return f"task.{path}"
    if first == "task" and rest.partition(".")[0] in values.keys() - inside.keys():
        return rest
    return path


def parse_value(text: str) -> Any:
    """A JSON value if ``text`` is one, otherwise ``text`` itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
