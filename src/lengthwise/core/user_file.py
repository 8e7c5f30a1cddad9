"""Loads a class from a user's file, ``path/to/file.py:Class``. No other input runs code."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TypeVar

from lengthwise.core.errors import LengthwiseError, UnknownNameError

T = TypeVar("T")


def load_class(target: str, base: type[T], *, kind: str) -> type[T]:
    """The class ``Class`` of ``path/to/file.py:Class``; only ever called with what the user typed.

    Raises `LengthwiseError` when the file is missing, fails to run, or holds no such subclass of ``base``.
    """
    if target.endswith(".py"):
        raise LengthwiseError(f"{kind} {target!r} lacks the name of its class; write {target}:Class")
    path_text, _, class_name = target.rpartition(":")
    path = Path(path_text).resolve()
    if not path.is_file():
        raise LengthwiseError(f"no file {path_text} for {kind} {target!r}; write path/to/file.py:Class")
    module_name = f"lengthwise_outside_{path.stem}_{abs(hash(path)):x}"
    module = sys.modules.get(module_name)
    if module is None:
        spec = importlib.util.spec_from_file_location(module_name, path)
        if spec is None or spec.loader is None:
            raise LengthwiseError(f"{path_text} is not a Python file; write path/to/file.py:Class")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:  # a script that ends itself is a mistake in the file, not our end
            del sys.modules[module_name]
            raise LengthwiseError(f"{path_text} does not run: {type(error).__name__}: {error}") from error
    classes = {name: value for name, value in vars(module).items() if isinstance(value, type)}
    if class_name not in classes:
        own = [name for name, value in classes.items() if value.__module__ == module_name]
        raise UnknownNameError(f"class in {path_text}", class_name, own)
    found = classes[class_name]
    if not issubclass(found, base):
        raise LengthwiseError(f"{target} is not a {base.__name__}; derive it from {base.__module__}.{base.__name__}")
    found.name = target  # type: ignore[attr-defined]
    return found
