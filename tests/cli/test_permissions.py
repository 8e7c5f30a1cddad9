"""Folders and files without permission: one line that names the path, and no traceback.

Tests of the superuser give up its rights for the length of a command.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from terminal import TINY_OPTIONS, Answer, Terminal

HEADER = struct.pack("=Ii", 0x20080522, 0)
"""The third form of Linux' capabilities, of the calling thread."""
PAST_PERMISSIONS = 0b110
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, by which the superuser reads and writes everything."""


@contextmanager
def without_rights() -> Iterator[None]:
    """As a user to whom permissions apply."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    held = ctypes.create_string_buffer(24)
    assert libc.capget(HEADER, held) == 0
    effective, *others = struct.unpack("=6I", held.raw)
    assert libc.capset(HEADER, struct.pack("=6I", effective & ~PAST_PERMISSIONS, *others)) == 0
    try:
        yield
    finally:
        assert libc.capset(HEADER, held) == 0


RUN = ["run", "addition", *TINY_OPTIONS, "--seeds", "1", "--only", "NoPE", "--out", "PLACE/out"]


@pytest.mark.parametrize(
    "words",
    [
        RUN,
        ["decide", "a*", "--certificates", "PLACE/out/x.json"],
        ["crasp", "compile", "D-2", "--verify", "0", "-o", "PLACE/out/x.safetensors"],
        ["verify", "(ab)*", "--budget", "1s", "--out", "PLACE/out"],
        ["compare", "parity", "--systems", "nope", "--out", "PLACE/out"],
        ["lm", "train", "--text", "PLACE/text", "--out", "PLACE/out/lm"],
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("mode", [0o000, 0o555], ids=["closed", "read-only"])
def test_a_folder_that_can_t_be_written(terminal: Terminal, tmp_path: Path, words: list[str], mode: int) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt").write_text("one two three\n" * 500)
    (tmp_path / "out").chmod(mode)
    with without_rights():
        answer = terminal(*[word.replace("PLACE", str(tmp_path)) for word in words])
    refused(answer, tmp_path / "out")
    (tmp_path / "out").chmod(0o755)
    assert list((tmp_path / "out").rglob("*")) == []


@pytest.mark.parametrize(
    "words",
    [
        ["crasp", "run", "PLACE/file", "--word", "a"],
        ["decide", "PLACE/file.json"],
        ["check-certificates", "PLACE/file"],
        ["run", "--config", "PLACE/file", "--out", "PLACE/out"],
        ["show", "PLACE/file.py:Mine"],
        ["report", "PLACE/closed", "-o", "PLACE/out.html"],
        ["lm", "train", "--text", "PLACE/file", "--out", "PLACE/out"],
    ],
    ids=" ".join,
)
def test_a_file_that_can_t_be_read(terminal: Terminal, tmp_path: Path, words: list[str]) -> None:
    for name in ("file", "file.json", "file.py"):
        (tmp_path / name).write_text("{}")
        (tmp_path / name).chmod(0)
    (tmp_path / "closed").mkdir(mode=0)
    with without_rights():
        answer = terminal(*[word.replace("PLACE", str(tmp_path)) for word in words])
    refused(answer, tmp_path)
    (tmp_path / "closed").chmod(0o755)


def refused(answer: Answer, path: Path) -> None:
    """One line on stderr that names the path, and exit code 2; lines of progress may come first."""
    assert answer.code == 2, answer
    *_, last = answer.err.splitlines()
    assert last.startswith("error: "), answer
    assert str(path) in last
    assert "Traceback" not in answer.err
