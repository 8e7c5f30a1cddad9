"""Configuration classes: frozen pydantic dataclasses with strict types that round-trip through JSON."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar, dataclass_transform

import pydantic
from pydantic import ConfigDict, TypeAdapter

from lengthwise.core.errors import LengthwiseError, UnknownNameError

T = TypeVar("T")
RANGES = {
    "greater_than": "above {gt:g}", "greater_than_equal": "at least {ge:g}", "less_than": "below {lt:g}",
    "less_than_equal": "at most {le:g}", "finite_number": "finite",
}  # fmt: skip
"""What a number that pydantic refuses has to be."""
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
    """Apply ``key.path=value`` edits to plain JSON values; the path must exist, the value is JSON or else a string."""
    result = json.loads(json.dumps(values))
    for edit in edits:
        path, separator, text = edit.partition("=")
        if not separator:
            raise LengthwiseError(f"--set needs key=value, got {edit!r}; write e.g. --set training.steps=100")
        node = result
        *parents, last = path.split(".")
        for depth, key in enumerate(parents):
            if not isinstance(node, dict) or key not in node:
                known = node if isinstance(node, dict) else ()
                raise UnknownNameError("setting", ".".join(parents[: depth + 1]), known)
            node = node[key]
        if not isinstance(node, dict) or last not in node:
            known = [".".join([*parents, key]) for key in node] if isinstance(node, dict) else []
            raise UnknownNameError("setting", path, known)
        node[last] = parse_value(text)
    return result


def parse_value(text: str) -> Any:
    """A JSON value if ``text`` is one, otherwise ``text`` itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
