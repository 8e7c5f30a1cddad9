"""Files that are written whole or not at all, and read without trust: JSON only, nothing that can run code."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends well, and vanishes when it does not.

    Raises `LengthwiseError` when the disk is full or the folder can't be written.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        os.close(handle)
        # A temporary file is private; the finished one gets the permissions that any new file of the user's gets.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        temporary = Path(name)
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise LengthwiseError(
            f"cannot write {path}: {error.strerror or error}; free space or choose another folder with --out"
        ) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file whole or not at all; NaN is refused, it is not JSON."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def read_json(path: Path, *, what: str = "file") -> Any:
    """Read a JSON file; raises `LengthwiseError` when it is missing, unreadable or cut short."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise LengthwiseError(f"no {what} at {path}; check the path") from None
    except UnicodeDecodeError:
        raise LengthwiseError(f"{what} {path} is not UTF-8 text; it is damaged or not a {what}") from None
    except OSError as error:
        raise LengthwiseError(f"cannot read {what} {path}: {error.strerror or error}") from None
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise LengthwiseError(f"{what} {path} is damaged (not JSON); delete it and run again") from None
