"""Code of the user: loading a class from a file, and errors raised in it as one line."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from lengthwise.core.code_digest import check_unedited, code_digest, load_module
from lengthwise.core.errors import DEBUG, LengthwiseError, UnknownNameError, require

MODULES = "lengthwise_outside_"
"""How the names of modules begin that are loaded from a user's file."""


def failure_in_user_code(error: BaseException) -> str | None:
    """One line with the file, line and function of the user's code that raised ``error``; None if none did."""
    place = place_in_user_code(error)
    return f"{place}: {summary(error)}; {DEBUG}=1 shows the traceback" if place else None


def place_in_user_code(error: BaseException) -> str:
    """The file, line and function of the user's code in which ``error`` was raised; empty if it was in none."""
    places = [
        f"{frame.f_code.co_filename}, line {line}, in {frame.f_code.co_qualname}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).startswith(MODULES)
    ]
    return places[-1] if places else ""


def summary(error: BaseException) -> str:
    """The type and message of an exception."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def line_in_file(error: BaseException, file: str) -> int | None:
    """The line of ``file`` at which ``error`` was raised, or that a `SyntaxError` names; None if there is none."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return lines[-1] if lines else None


T = TypeVar("T")

_NAMED: dict[tuple[Path, str], type] = {}
"""Classes that the user gave, by file and name; they are never loaded a second time."""
_REFUSES: ContextVar[bool] = ContextVar("refuses new code", default=False)
FILES = "LENGTHWISE_CODE"
"""The environment variable with the files that the user gave, by which processes that this one starts know them."""


@contextmanager
def no_new_code(*, allowed: bool = False) -> Iterator[None]:
    """Within this context ``FILE.py:Class`` is an error, unless the user gave that file or code is ``allowed``."""
    before = _REFUSES.set(_REFUSES.get() or not allowed)
    try:
        yield
    finally:
        _REFUSES.reset(before)


def load_code(*files: str | Path) -> None:
    """Run Python files, so that result files, run directories and exported models may name what is in them.

    The names are ``path/to/file.py:Class``, of tasks, schemes and encodings of your own. Raises `LengthwiseError` for a
    file that is missing or does not run.
    """
    for file in files:
        path = Path(file).resolve()
        require(path.is_file(), f"no file {file}; write the path of a Python file")
        _module(path, str(file))


def load_given() -> bool:
    """Run the files that the user gave to the process that started this one; whether any of them was new."""
    new = [path for path in _given() if _module_name(path) not in sys.modules and path.is_file()]
    load_code(*new)
    return bool(new)


def _given() -> list[Path]:
    return [Path(part) for part in os.environ.get(FILES, "").split(os.pathsep) if part]


def remember(cls: type, path: Path) -> None:
    """Let the class be found under its file and its name, where the user gave the class itself."""
    _NAMED[path, cls.__qualname__] = cls


def file_of(cls: type) -> Path | None:
    """The file that holds a class; None for one that was typed into a session."""
    try:
        found = inspect.getsourcefile(cls)
    except (TypeError, OSError):
        return None
    return Path(found).resolve() if found is not None and Path(found).is_file() else None


def code_of(component: object) -> str | None:
    """A digest of the user's code in a component: its class, those of components in its fields, functions it names.

    None where all of it is of this package, or was typed into a session. Of one file it is the `code_digest`. Raises
    `LengthwiseError` where the file was edited after the class was made.
    """
    found = sorted({code_digest(path) for path in sorted(_files_of(component))})
    if len(found) < 2:
        return found[0] if found else None
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:12]


def code_words(configured: dict[str, Any]) -> list[str]:
    """What stands before a command that reads this configuration: ``--code FILE`` for each file that it names."""
    here, found = Path.cwd(), sorted(_files_of(configured))
    files = [path.relative_to(here) if path.is_relative_to(here) else path for path in found]
    return [word for file in files for word in ("--code", str(file))]


def _files_of(component: object) -> set[Path]:
    """The user's files that hold the class of a component, of those inside of it, and the functions that it names."""
    if isinstance(component, str):
        # A pattern by layer names several.
        paths = [Path(part.rpartition(":")[0]) for part in (component, *re.split(r"[+*(]", component))]
        return {path.resolve() for path in paths if path.suffix == ".py" and path.is_file()}
    if isinstance(component, list | tuple | dict):
        parts = component.values() if isinstance(component, dict) else component
        return {path for part in parts for path in _files_of(part)}
    cls, found = type(component), set[Path]()
    if cls.__module__.partition(".")[0] not in ("lengthwise", "builtins"):
        path = file_of(cls)
        if path is not None and (module := sys.modules.get(cls.__module__)) is not None:
            check_unedited(vars(module), path)
        found |= set() if path is None else {path}
    if dataclasses.is_dataclass(component):
        for field in dataclasses.fields(component):
            found |= _files_of(getattr(component, field.name))
    return found


def load_class(target: str, base: type[T], *, kind: str) -> type[T]:
    """The class ``Class`` of ``path/to/file.py:Class``, or the only one of its kind of ``path/to/file.py``.

    Raises `LengthwiseError` when the file is missing, fails to run, or holds no such subclass of ``base``, and under
    `no_new_code` for a file that the user did not give.
    """
    if target.endswith(".py"):
        module = _module_of(target, target, kind, "class")
        own = [key for key, value in _own(module).items() if isinstance(value, type) and issubclass(value, base)]
        if len(own) != 1:
            named = " or ".join(f"{target}:{key}" for key in own or ["Class"])
            raise LengthwiseError(f"{kind} {target!r} lacks the name of its class; write {named}")
        target = f"{target}:{own[0]}"
    path_text, _, name = target.rpartition(":")
    given = _NAMED.get((Path(path_text).resolve(), name))
    if given is not None and issubclass(given, base):
        return given
    found = load_object(target, kind=kind, wanted="class", fits=lambda value: isinstance(value, type))
    if not issubclass(found, base):
        raise LengthwiseError(f"{target} is no {base.__name__}; derive it from {base.__module__}.{base.__name__}")
    if not dataclasses.is_dataclass(found):
        raise LengthwiseError(f"{target} lacks @config; write @lw.config above the class (import lengthwise as lw)")
    _check_complete(found, base, target)
    found.name = target  # type: ignore[attr-defined]
    return found


def _check_complete(cls: type[Any], base: type[Any], target: str) -> None:
    """Raises `LengthwiseError` for a class without a method or a field that every ``base`` must have."""
    methods = sorted(getattr(cls, "__abstractmethods__", ()))
    if methods:
        name = methods[0]
        arguments = ", ".join(inspect.signature(getattr(cls, name)).parameters)
        does = (inspect.getdoc(getattr(base, name, None)) or "").partition("\n")[0]
        raise LengthwiseError(f"{target} lacks the method {name}; write `def {name}({arguments})`: {does}")
    if not isinstance(getattr(cls, "summary", ""), str):
        raise LengthwiseError(f'{target} has a summary that is not a string; write `summary = "…"`, one line')
    given = {field.name for field in dataclasses.fields(cls)} | set(dir(cls))
    for name, kind in inspect.get_annotations(base).items():
        if name not in given and not str(kind).startswith("ClassVar"):
            raise LengthwiseError(
                f"{target} lacks the field {name}; write `{name}: {kind}` with a default in the class"
            )


def load_object(target: str, *, kind: str, wanted: str, fits: Callable[[Any], bool]) -> Any:
    """What ``path/to/file.py:name`` names, among the values of the file that fit; raises as `load_class` does."""
    if target.endswith(".py"):
        raise LengthwiseError(f"{kind} {target!r} lacks the name of its {wanted}; write {target}:{wanted.capitalize()}")
    path_text, _, name = target.rpartition(":")
    module = _module_of(path_text, target, kind, wanted)
    values = {key: value for key, value in vars(module).items() if fits(value)}
    if name not in values:
        raise UnknownNameError(f"{wanted} in {path_text}", name, _own(module).keys() & values.keys())
    return values[name]


def _own(module: ModuleType) -> dict[str, Any]:
    return {key: value for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}


def _module_of(path_text: str, target: str, kind: str, wanted: str) -> ModuleType:
    """The module of a file that ``target`` names; raises `LengthwiseError` as `load_class` does."""
    path = Path(path_text).resolve()
    if _REFUSES.get() and path not in _given():
        # The name may have been written in another folder.
        path = next((other for other in _given() if other.name == path.name), path)
    if _REFUSES.get() and path not in _given():
        raise LengthwiseError(
            f"a file names the {kind} {target!r}, and no file that is read runs code; if you trust it, "
            f"give {path_text} as `code` before the command, or call lengthwise.load_code({path_text!r}) first"
        )
    require(path.is_file(), f"no file {path_text} for {kind} {target!r}; write path/to/file.py:{wanted.capitalize()}")
    return _module(path, path_text)


def _module_name(path: Path) -> str:
    return f"{MODULES}{path.stem}_{abs(hash(path)):x}"


def _module(path: Path, shown: str) -> ModuleType:
    """The module of a file, run once per process."""
    module_name = _module_name(path)
    if module_name in sys.modules:
        return sys.modules[module_name]
    require(path.suffix == ".py", f"{shown} is not a Python file; write path/to/file.py:Class")
    try:
        module = load_module(module_name, path)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a script that ends itself, with SystemExit or worse, does not end ours
        line = line_in_file(error, str(path))
        where = "" if line is None else f" (line {line})"
        raise LengthwiseError(f"{shown} does not run: {summary(error)}{where}") from error
    if path not in _given():
        os.environ[FILES] = os.pathsep.join(map(str, [*_given(), path]))
    return module
