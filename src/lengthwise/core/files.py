"""Reading and writing files. Writes are atomic, and reading accepts JSON only, so that no file runs code.

What Python reports to no audit hook is reported here, before it is done: ``lengthwise.append``, ``lengthwise.sync``,
``lengthwise.sync folder`` (of the changes in it), and ``lengthwise.written``: contents are there, and may be lost.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lengthwise.core.errors import BusyError, LengthwiseError, require

LOCK = ".lock"
"""The file in a folder by which one process keeps the others out; it stays when the process ends."""


LARGEST = 1 << 28
"""The most bytes of a text file that is read."""


def slug(name: str) -> str:
    """The name in letters that every file system takes; a digest keeps different names apart."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:32]
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


_GUARDS: list[Callable[[Path], None]] = []


@contextmanager
def guarded(check: Callable[[Path], None]) -> Iterator[None]:
    """Call ``check`` with the path before each file of this process is written and again before it takes its place.

    What it raises keeps the file from being written.
    """
    _GUARDS.append(check)
    try:
        yield
    finally:
        _GUARDS.remove(check)


def _check_guards(path: Path) -> None:
    for check in _GUARDS:
        check(path)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, so that a loss of power does not take them.

    Raises `LengthwiseError` for a file, a link that leads nowhere, and where a folder can't be made.
    """
    try:
        if path.is_dir():
            return
        require(not path.exists(), f"{path} is a file; choose a folder for the results")
        if path.is_symlink():
            raise LengthwiseError(
                f"{path} is a link to a folder that does not exist; make that folder, or remove the link"
            )
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise LengthwiseError(f"cannot make {path}: {error.strerror or error}; {_way_out(error)}") from None


def named_file(path: Path) -> Path:
    """The path of a file that a person names; raises `LengthwiseError` where its folder is not there."""
    require(
        os.path.isdir(path.parent), f"cannot write {path}: there is no folder {path.parent}; make it, or check the path"
    )
    return path


def _way_out(error: OSError) -> str:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, None)
    return "free space or choose another folder" if full else "choose another folder"


def replace_file(source: Path, target: Path) -> None:
    """Let a finished file take the place of another, for good once this returns."""
    os.replace(source, target)
    _sync_folder(target.parent)


def remove_file(path: Path) -> None:
    """Remove a file if it is there."""
    if path.exists() or path.is_symlink():
        path.unlink(missing_ok=True)


def remove_folder(path: Path) -> None:
    """Remove a folder and all that is in it, as far as it can be, for good once this returns."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    sys.audit("lengthwise.sync folder", folder)
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders, and a folder may be writable without being readable
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):  # some file systems sync no folders
            raise
    finally:
        os.close(handle)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends well, and vanishes when it does not.

    Raises `LengthwiseError` when the disk is full or the folder can't be written.
    """
    temporary: Path | None = None
    _check_guards(path)
    try:
        make_folder(path.parent)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        sys.audit("lengthwise.written", temporary)
        # A temporary file is private; the finished one gets the permissions that any new file of the user's gets.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        sys.audit("lengthwise.sync", temporary)
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        _check_guards(path)
        replace_file(temporary, path)
    except OSError as error:
        raise LengthwiseError(f"cannot write {path}: {error.strerror or error}; {_way_out(error)}") from None
    finally:
        if temporary is not None:
            remove_file(temporary)


def remove_unfinished(folder: Path) -> None:
    """Remove the temporary files of a process that was killed; only for who keeps all others out of ``folder``."""
    for path in folder.glob(".*.tmp"):
        if re.fullmatch(r"\..+\.[a-z0-9_]{8}\.tmp", path.name):  # as `replacing` names them
            remove_file(path)


class Lines:
    """A file of text lines that grows: a line is there for good once `add` returns.

    A process that dies may leave a part of the last line. Raises `LengthwiseError` for a link, and where the file can't
    be written.
    """

    def __init__(self, path: Path) -> None:
        self.path, new = path, not path.exists()
        require(not path.is_symlink(), f"{path} is a link, and lines are added to a file of its own only; remove it")
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        try:
            self._file = os.fdopen(os.open(path, flags, 0o666), "ab+")
            if new:
                _sync_folder(path.parent)
            elif self._file.tell() and (self._file.seek(-1, os.SEEK_END), self._file.read())[1] != b"\n":
                self.add("")  # the part of a line stays behind as it is
        except OSError as error:
            raise LengthwiseError(f"cannot write {path}: {error.strerror}; choose another folder") from None

    def add(self, line: str) -> None:
        """Write one line; raises `LengthwiseError` if the disk is full."""
        sys.audit("lengthwise.append", self.path)
        try:
            self._file.write(line.encode() + b"\n")
            self._file.flush()
            sys.audit("lengthwise.sync", self.path)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise LengthwiseError(f"cannot write {self.path}: {error.strerror}; free space") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any, *, dense: bool = False) -> None:
    """Write a JSON file whole or not at all; NaN is refused, it is not JSON.

    ``dense`` writes a list of numbers on one line.
    """
    text = json.dumps(value, indent=1, allow_nan=False)
    if dense:
        # A line break in the text is never inside a string, so what these brackets hold is a list.
        text = re.sub(r'\[\n[^\[\]{}"]*\]', lambda found: f"[{' '.join(found[0][1:-1].split())}]", text)
    write_text(path, text + "\n")


def read_text(path: Path, *, what: str = "file") -> str:
    """Read a regular file of UTF-8 text of at most `LARGEST` bytes.

    Raises `LengthwiseError` for missing, unreadable, larger and special files such as pipes and devices.
    """
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        require(stat.S_ISREG(about.st_mode), f"cannot read {what} {path}: it is a pipe or device; use a regular file")
        require(
            about.st_size <= LARGEST,
            f"cannot read {what} {path}: it has {about.st_size:,} bytes; at most {LARGEST:,} are read",
        )
        return path.read_text(encoding="utf-8-sig")  # with or without a byte order mark
    except FileNotFoundError:
        gone = f"{path} is a link to a file that does not exist" if path.is_symlink() else f"no {what} at {path}"
        raise LengthwiseError(f"{gone}; check the path") from None
    except UnicodeDecodeError:
        raise LengthwiseError(f"{what} {path} is not UTF-8 text; it is damaged, or another kind of file") from None
    except (OSError, ValueError) as error:  # a path that no file can have raises ValueError
        raise LengthwiseError(f"cannot read {what} {path}: {getattr(error, 'strerror', None) or error}") from None


def read_json(path: Path, *, what: str = "file") -> Any:
    """Read a JSON file; raises `LengthwiseError` when it is missing, unreadable or cut short."""
    text = read_text(path, what=what)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # a number of thousands of digits raises ValueError
        raise LengthwiseError(f"{what} {path} is damaged (not JSON); delete it and run again") from None


@contextmanager
def locked(folder: Path, name: str = LOCK, *, wait: float = 0) -> Iterator[None]:
    """Keep other processes out of ``folder``, which must exist, for the length of the block.

    With a ``name`` only those that ask for the same one are kept out. A process that dies releases the lock. Raises
    `BusyError` when another process still has it after ``wait`` seconds.
    """
    import filelock

    lock = filelock.FileLock(folder / name, timeout=wait)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise BusyError(
            f"another process is at work in {folder}; wait for it to end, or choose another `out`"
        ) from None
    except NotImplementedError:
        pass  # Some network file systems have no locks.
    except OSError as error:
        raise LengthwiseError(f"cannot lock {folder}: {error.strerror or error}; choose another `out`") from None
    try:
        yield
    finally:
        lock.release()
