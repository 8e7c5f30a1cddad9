"""Which code of the user's runs, and its digest: a file, every module of the user's that it imports, and their data.

The text that is hashed is the text that runs: from the first of the user's files on, modules of the user's are compiled
here from text that is read once and kept. No cached bytecode is used, and an import that comes later, inside of a
function, runs the text that was hashed. What is installed (the standard library, packages) has a version, not a digest.
Data are the files that constants of the text name, and those beside it that are opened while it runs for the first
time; they count as they were then.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, ClassVar

from lengthwise.core.errors import LengthwiseError

_TEXT: dict[Path, bytes] = {}
"""The contents of the user's files as they were read, by their real path: what runs, or will run when imported."""
_RAN: set[Path] = set()
"""Files that were run from `_TEXT`."""
_DATA: dict[Path, bytes] = {}
"""Digests of data files, by their real path."""
_NEEDED: dict[Path, dict[str, Path]] = {}
"""For each file that the user named, the modules of the user's that were loaded while it ran, by name."""
_OPENED: dict[Path, dict[str, bytes]] = {}
"""For each file that the user named, digests of the files below its folder that were opened while it ran."""
_LOADED: dict[Path, dict[str, Any]] = {}
"""The values of modules that were not run from `_TEXT`, as they were when it was read: a new import is read anew."""
_INSTALLED = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")}
_INSTALLED.add(Path(__file__).resolve().parents[2])


def is_the_users(file: Path) -> bool:
    """Whether a file, given by its real path, is neither installed nor part of this package."""
    packages = {"site-packages", "dist-packages"} & set(file.parts)
    return not packages and not any(file.is_relative_to(folder) for folder in _INSTALLED)


def load_module(name: str, file: Path) -> ModuleType:
    """Run a file of the user's as module ``name``, and from now on the modules beside it from text that is kept.

    Modules beside it can be imported, where nothing else has their name. Raises what the file raises.
    """
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
        sys.addaudithook(_note_opened)
    spec = importlib.util.spec_from_file_location(name, file, loader=_Loader(name, str(file)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _NEEDED.setdefault(file, {})
    _OPENED.setdefault(file, {})
    _Loader.running.append(file)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        _RAN.discard(file)
        _TEXT.pop(file, None)  # the user may repair it and try again
        raise
    finally:
        _Loader.running.remove(file)
    return module


def code_digest(file: Path) -> str:
    """12 hexadecimal digits of the text of a file and of all modules of the user's that it imports, and they import.

    Of a file alone they are the first of its SHA-256. A module counts by its name and text, so that a copy of the
    folder elsewhere has the same digest; so do data files. Imports are found in the text, wherever they stand in it,
    and looked up where Python would: among the loaded modules, then on the path. Raises `LengthwiseError` where what
    runs cannot be known: a loaded module whose file was edited since, or one from another folder than an import would
    find now.
    """
    texts = _closure(file)
    own = texts.pop("")
    if not texts:
        return hashlib.sha256(own).hexdigest()[:12]
    total = hashlib.sha256(own)
    for name, text in sorted(texts.items()):
        total.update(f"\n{name}\n{hashlib.sha256(text).hexdigest()}".encode())
    return total.hexdigest()[:12]


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles the text in `_TEXT`, never cached bytecode; a reload reads the file again."""

    running: ClassVar[list[Path]] = []
    """The files that the user named and that are running now; they need each module that is loaded meanwhile."""

    def get_code(self, fullname: str) -> CodeType:
        path = Path(self.path).resolve()
        if path in _RAN:
            _TEXT.pop(path, None)
        text = _read(path)
        _data_of(path, text)
        _RAN.add(path)
        for named in self.running:
            if path not in _NEEDED:
                _NEEDED[named][fullname] = path
        return compile(text, self.path, "exec", dont_inherit=True)


class _Finder:
    """Lets modules of the user's be loaded by `_Loader`; all others are found as ever."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader) or spec.origin is None:
            return None
        file = Path(spec.origin).resolve()
        if file not in _TEXT and not (
            is_the_users(file) and (_Loader.running or any(file.is_relative_to(named.parent) for named in _NEEDED))
        ):
            return None
        spec.loader = _Loader(fullname, spec.origin)
        return spec


def _read(file: Path) -> bytes:
    if file not in _TEXT:
        _TEXT[file] = file.read_bytes()
    return _TEXT[file]


def _closure(file: Path) -> dict[str, bytes]:
    """The text of a file under the name "", and of every module of the user's that it needs under its own name."""
    found = {"": _read(file), **_OPENED.get(file, {})}
    pending: list[tuple[Path, str]] = [(file, "")]  # a file, and the package that it belongs to
    for name, path in _NEEDED.get(file, {}).items():
        found[name] = _read(path)
        pending.append((path, _package_of(path, name)))
    while pending:
        path, package = pending.pop()
        found |= {f"{package}/{path.name}: {name}": sha for name, sha in _data_of(path, _read(path)).items()}
        for name in _imports(_read(path), package):
            if name in found or (origin := _origin(name)) is None or origin == file:
                continue
            found[name] = _read(origin)
            if origin.suffix == ".py":
                pending.append((origin, _package_of(origin, name)))
    return found


def _data_of(file: Path, text: bytes) -> dict[str, bytes]:
    """Digests of the files that string constants of a text name, in its folder or in one that another constant names.

    A file counts as it was when it was first met, which is before the text runs.
    """
    names = [value for value in _constants(text) if len(value) < 256 and "\n" not in value]
    folders = ["", *(name for name in names if os.path.isdir(file.parent / name))]
    found: dict[str, bytes] = {}
    for path in (os.path.join(folder, name) for folder in folders for name in names):
        data = (file.parent / path).resolve()
        if os.path.isfile(data) and data != file:
            found[path] = _sum(data)
    return found


def _sum(data: Path) -> bytes:
    if data not in _DATA:
        _DATA[data] = b""  # to open it is no use of it
        with open(data, "rb") as opened:
            _DATA[data] = hashlib.file_digest(opened, "sha256").digest()
    return _DATA[data]


def _note_opened(event: str, values: tuple[Any, ...]) -> None:
    """Note what the user's files open to read below their folders while they run: a hook for Python's audit events."""
    if event != "open" or not _Loader.running or not isinstance(values[0], str) or values[2] & os.O_ACCMODE:
        return
    path = Path(os.path.abspath(values[0]))
    if path.suffix in (".py", ".pyc") or not os.path.isfile(path) or _DATA.get(path.resolve()) == b"":
        return
    for named in _Loader.running:
        if path.is_relative_to(named.parent) and named.parent != Path(path.anchor):
            below = path.relative_to(named.parent)
            if not any(part.startswith(".") for part in below.parts):
                _OPENED[named][below.as_posix()] = _sum(path.resolve())


@cache
def _constants(text: bytes) -> list[str]:
    try:
        nodes = ast.walk(ast.parse(text))
    except (SyntaxError, ValueError):
        return []
    values = (node.value for node in nodes if isinstance(node, ast.Constant))
    return sorted({value for value in values if isinstance(value, str)})


def _package_of(file: Path, name: str) -> str:
    return name if file.name == "__init__.py" else name.rpartition(".")[0]


def _imports(text: bytes, package: str) -> Iterator[str]:
    """The modules that a text may import, with the packages that they are in; the names of ``from`` may be modules."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        wanted: list[str] = []
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            up = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            wanted = [base]
            names = _submodules(base) if node.names[0].name == "*" else [alias.name for alias in node.names]
            wanted += [f"{base}.{name}" for name in names]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                wanted = [node.args[0].value]
        for name in wanted:
            parts = name.strip(".").split(".")
            yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1) if parts[0])


def _submodules(package: str) -> list[str]:
    folders = getattr(_find(package), "submodule_search_locations", None) or ()
    return [path.stem for folder in folders for path in sorted(Path(folder).glob("*.py"))]


def _find(name: str) -> importlib.machinery.ModuleSpec | None:
    """Where Python would find a module now, without running anything."""
    package, _, _ = name.rpartition(".")
    parent = _find(package) if package else None
    try:
        path = None if not package else list(getattr(parent, "submodule_search_locations", None) or ())
        return importlib.machinery.PathFinder.find_spec(name, path)
    except (ImportError, ValueError, KeyError):
        return None


def _origin(name: str) -> Path | None:
    """The real path of a module of the user's; None for one that is installed, has no file, or is not there."""
    if name.partition(".")[0] in {*sys.builtin_module_names, *sys.stdlib_module_names, "lengthwise"}:
        return None
    spec = _find(name)
    fresh = _on_disk(Path(spec.origin)) if spec is not None and spec.origin and spec.has_location else None
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or not isinstance(file, str):
        return fresh if fresh is not None and is_the_users(fresh) else None
    loaded = _on_disk(Path(file))
    if not is_the_users(loaded):
        return None
    if fresh is not None and fresh != loaded and is_the_users(fresh):
        raise LengthwiseError(
            f"module {name!r} is loaded from {loaded}, and the import would now find {fresh}; give the two different "
            "names, or use them in separate processes"
        )
    if loaded not in _RAN and loaded.suffix == ".py":
        check_unedited(vars(module), loaded)
    return loaded


def _on_disk(file: Path) -> Path:
    """The real path of a module's file, or of the archive that it is in."""
    return next(path for path in (file.resolve(), *file.resolve().parents) if path.exists() or path == path.parent)


def check_unedited(values: dict[str, Any], file: Path) -> None:
    """Raise `LengthwiseError` if functions among a module's ``values`` differ from its file: it was edited since."""
    if type(values.get("__loader__")) is not importlib.machinery.SourceFileLoader:
        return  # others, such as pytest's, compile another text than the file's
    if file not in _RAN and _LOADED.get(file) is not values:
        _TEXT.pop(file, None)
        _LOADED[file] = values
    try:
        known = set(_functions(compile(_read(file), str(file), "exec", dont_inherit=True)))
    except (SyntaxError, ValueError):
        known = set()
    for value in list(values.values()):
        for function in list(vars(value).values()) if isinstance(value, type) else [value]:
            code = getattr(function, "__code__", None)
            if isinstance(code, CodeType) and Path(code.co_filename) == file and code not in known:
                raise LengthwiseError(
                    f"{file} was edited after this process loaded it, so what runs is not what is there; start anew"
                )


def _functions(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _functions(constant)
