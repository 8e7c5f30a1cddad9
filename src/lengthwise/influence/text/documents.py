"""Defines a corpus: documents split by file into a training part and a held-out part.

A file is held out if the BLAKE2b hash of its name (8 bytes, big-endian) is 0 modulo 10. The split of a file therefore
does not depend on the other files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lengthwise.core.errors import require

ONE_IN = 10
"""One file in this many is held out."""


@dataclass(frozen=True)
class Document:
    """The text of a file or of one entry of a data set."""

    name: str
    text: str


@dataclass(frozen=True)
class Corpus:
    """Training and held-out documents; ``skipped`` names the files of a folder that are not text."""

    name: str
    train: tuple[Document, ...]
    held_out: tuple[Document, ...]
    skipped: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """Name, sizes and a digest of all text as JSON values."""
        total = hashlib.blake2b(digest_size=8)
        for part in (self.train, self.held_out):
            for document in part:
                total.update(f"{document.name}\0{document.text}\0".encode())
            total.update(b"\1")
        return {
            "name": self.name,
            "train": {"documents": len(self.train), "bytes": _bytes(self.train)},
            "held_out": {"documents": len(self.held_out), "bytes": _bytes(self.held_out)},
            "digest": total.hexdigest(),
        }


def _bytes(documents: Iterable[Document]) -> int:
    return sum(len(document.text.encode()) for document in documents)


def is_held_out(name: str) -> bool:
    """Whether a file of this name belongs to the held-out part."""
    return _hash(name) % ONE_IN == 0


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")


def split(name: str, documents: Iterable[Document], skipped: tuple[str, ...] = ()) -> Corpus:
    """A corpus of ``documents``, split by name so that neither part is empty.

    Of a single document, the last tenth of the lines is held out as ``NAME (end)``. Raises `LengthwiseError` if there
    is no text, or a single document has one line.
    """
    ordered = sorted((d for d in documents if d.text.strip()), key=lambda document: document.name)
    require(bool(ordered), f"{name} holds no text; choose another --text")
    if len(ordered) == 1:
        return Corpus(name, *_cut(ordered[0]), skipped)
    held_out = {document.name for document in ordered if is_held_out(document.name)}
    if not held_out or len(held_out) == len(ordered):
        held_out = {min((document.name for document in ordered), key=_hash)}
    return Corpus(
        name,
        tuple(d for d in ordered if d.name not in held_out),
        tuple(d for d in ordered if d.name in held_out),
        skipped,
    )


def _cut(document: Document) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    lines = document.text.splitlines(keepends=True)
    require(len(lines) >= 2, f"{document.name} has one line only: nothing could be held out; choose a longer --text")
    at = len(lines) - max(1, len(lines) // ONE_IN)
    end = Document(f"{document.name} (end)", "".join(lines[at:]))
    return (Document(document.name, "".join(lines[:at])),), (end,)
