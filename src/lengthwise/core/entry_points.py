"""Components that other installed packages offer by entry points, such as ``lengthwise.tasks``."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from lengthwise.core.errors import LengthwiseError


@lru_cache
def installed(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name; nothing is imported yet."""
    return {point.name: point for point in entry_points(group=group)}


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
