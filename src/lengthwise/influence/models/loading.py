"""Loads parts of the package `transformers`, and says in one line what can't be loaded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError, require


def of_transformers(name: str) -> Any:
    """A name of `transformers`; raises `LengthwiseError` if the package is not installed."""
    try:
        import transformers
    except ImportError:
        raise LengthwiseError(
            "models of Hugging Face need the package transformers; run: pip install 'lengthwise[lm]'"
        ) from None
    return getattr(transformers, name)


def check_folder(source: str) -> None:
    """Raises `LengthwiseError` for a folder that does not exist, holds no model, or holds the model of a task."""
    path = Path(source)
    looks_local = path.is_absolute() or source.startswith((".", "~")) or source.count("/") > 1
    require(path.is_dir() or not looks_local, f"no folder {source}; check --model")
    if not path.is_dir():
        return
    require((path / "config.json").is_file(), f"folder {source} holds no model (config.json is missing); check --model")
    require(
        model_type(path) != "lengthwise",
        f"{source} holds the model of a task, which reads no text; measure it alone: lengthwise influence --model "
        f"{source}",
    )


def opened(load: Callable[[], Any], what: str) -> Any:
    """What ``load`` returns; raises `LengthwiseError` with ``what`` if it fails."""
    try:
        return load()
    # The package raises errors without a common type for missing and damaged files.
    except Exception as error:
        raise LengthwiseError(f"{what} ({type(error).__name__}: {first_line(error)})") from None


def first_line(error: Exception) -> str:
    """The beginning of an error's text."""
    lines = str(error).strip().splitlines() or [""]
    return lines[0][:160].rstrip(".")


@contextmanager
def without_progress_bars() -> Iterator[None]:
    """Hide the progress bars of loading while the context is active."""
    logging = of_transformers("utils").logging
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.enable_progress_bar()


def model_type(folder: Path) -> Any:
    """The type of model that ``config.json`` names, ``"lengthwise"`` for an exported one; None where it names none.

    A damaged file is reported by who loads it.
    """
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError):
        return None
    return found.get("model_type") if isinstance(found, dict) else None
