"""Text for language models: files, documents, windows, quotations, and what can be wrong with it."""

from __future__ import annotations

import ast
import hashlib
import os
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.batch import Batch, Layout, SequenceBuilder
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import SPECIALS, Vocab
from lengthwise.influence.tokenizer import Tokenizer
from lengthwise.tasks import Task

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


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")


def split(name: str, documents: Iterable[Document], skipped: tuple[str, ...] = ()) -> Corpus:
    """A corpus of ``documents``, split by name so that neither part is empty.

    Of a single document, the last tenth of the lines is held out as ``NAME (end)``. Raises `LengthwiseError` if there
    is no text, or a single document has one line.
    """
    ordered = sorted((d for d in documents if d.text.strip()), key=lambda document: document.name)
    require(bool(ordered), f"{name} holds no text; choose another `text`")
    if len(ordered) == 1:
        return Corpus(name, *_cut(ordered[0]), skipped)
    held_out = {document.name for document in ordered if _hash(document.name) % ONE_IN == 0}
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
    require(len(lines) >= 2, f"{document.name} has one line only: nothing could be held out; choose a longer `text`")
    at = len(lines) - max(1, len(lines) // ONE_IN)
    end = Document(f"{document.name} (end)", "".join(lines[at:]))
    return (Document(document.name, "".join(lines[:at])),), (end,)


STREAMED = 4000
"""Number of documents taken from a streamed data set."""

OPTIONAL = frozenset({"test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "lib-dynload"})
"""Folders of the standard library that some distributions leave out or package separately."""
EXCLUDED = frozenset({"encodings", "site-packages", "dist-packages", "__pycache__", "pydoc_data"})
"""Folders that hold tables or packages outside the standard library."""
TOPICS = PurePosixPath("pydoc_data/topics.py")


def standard_library(root: Path | None = None) -> Corpus:
    """The source files of this Python's standard library, docstrings included, and its help topics.

    `OPTIONAL` and `EXCLUDED` folders are left out. The text differs slightly between Python versions;
    `Corpus.describe` gives a fingerprint. Raises `LengthwiseError` if this Python has no source files.
    """
    root = root or Path(sysconfig.get_path("stdlib"))
    documents, paths = [], list[Path]()
    for folder, inner, files in os.walk(root):
        inner[:] = {*inner} - OPTIONAL - EXCLUDED  # The packages that are installed take long to walk through.
        paths += [Path(folder, file) for file in files if file.endswith(".py")]
    for path in sorted(paths):
        if not path.name.startswith("_sysconfigdata"):
            documents.append(Document(path.relative_to(root).as_posix(), _read(path)))
    if (root / TOPICS).is_file():
        documents += _topics(_read(root / TOPICS))
    require(bool(documents), f"this Python has no standard library sources in {root}; give a file as `text`")
    return split("standard-library", documents)


def _topics(source: str) -> list[Document]:
    """The help texts of the language. They are one literal dictionary, which is parsed and not executed."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            return [Document(f"topics/{key}.txt", text) for key, text in ast.literal_eval(node.value).items()]
    return []


def from_path(path: Path) -> Corpus:
    """The corpus of a text file, or of all text files in and below a folder, without hidden files.

    Files of a folder that are not UTF-8 text are listed in `Corpus.skipped`. Raises `LengthwiseError` if the path does
    not exist, a file given itself is not UTF-8 text, or a folder holds no text.
    """
    if path.is_file():
        return split(path.name, [Document(path.name, _read(path))])
    require(path.exists(), f"no file or folder at {path}; check `text`")
    require(path.is_dir(), f"{path} is neither a file nor a folder; choose another `text`")
    documents, skipped = [], []
    for file in sorted(path.rglob("*")):
        name = PurePosixPath(file.relative_to(path).as_posix())
        if not file.is_file() or any(part.startswith(".") or part == "__pycache__" for part in name.parts):
            continue
        try:
            documents.append(Document(str(name), _read(file)))
        except LengthwiseError:
            skipped.append(str(name))
    require(bool(documents), f"folder {path} holds no UTF-8 text files; choose another `text`")
    return split(path.resolve().name, documents, tuple(skipped))


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LengthwiseError(f"cannot read {path}: {error.strerror or error}; check `text`") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LengthwiseError(
            f"{path} is not UTF-8 text (byte {error.start}); convert it, or choose another `text`"
        ) from None
    require("\0" not in text, f"{path} is a binary file, not text; choose another `text`")
    return text.replace("\r\n", "\n")


def from_dataset(name: str, *, documents: int = STREAMED) -> Corpus:
    """The first ``documents`` texts of a Hugging Face data set ``NAME`` or ``NAME:CONFIGURATION``, streamed.

    They come from the split ``train``; their numbers decide which are held out, as names do for files. Raises
    `LengthwiseError` if the package `datasets` is missing, the data set can't be opened, or an entry has no ``text``.
    """
    try:
        from datasets import load_dataset  # type: ignore[import-not-found]
    except ImportError:
        raise LengthwiseError("dataset needs the package datasets; run: pip install datasets") from None
    path, _, configuration = name.partition(":")
    found = []
    try:
        stream = load_dataset(path, configuration or None, split="train", streaming=True)
        for number, entry in enumerate(stream):
            if not isinstance(entry.get("text"), str):
                raise LengthwiseError(f"entries of data set {name} have no text, but: {', '.join(sorted(entry))}")
            found.append(Document(f"{number:06d}", entry["text"]))
            if len(found) == documents:
                break
    except LengthwiseError:
        raise
    # Data sets and network access raise has no common type.
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise LengthwiseError(f"cannot stream data set {name}: {first}; check the name and the network") from None
    require(len(found) >= 2, f"data set {name} has {len(found)} documents; it takes at least 2")
    return split(name, found)


def load_corpus(text: Path | None = None, dataset: str | None = None) -> Corpus:
    """The corpus of a path or a data set, or the standard library without either; raises `LengthwiseError`."""
    require(text is None or dataset is None, "give `text` or `dataset`, not both")
    if text is not None:
        return from_path(text)
    return from_dataset(dataset) if dataset is not None else standard_library()


@dataclass(frozen=True)
class Windows:
    """N windows of L̄ context tokens and one target token.

    ``documents`` are indices into ``names``; ``offsets`` are the positions of the targets in their documents.
    """

    tokens: Int[ndarray, "N Lbar+1"]
    documents: Int[ndarray, " N"]
    names: tuple[str, ...]
    offsets: Int[ndarray, " N"]


def windows(documents: Sequence[Document], tokenizer: Tokenizer, context: int, count: int, rng: Rng) -> Windows:
    """``count`` different targets with ``context`` tokens of the same document before them, ordered by document.

    Documents get equal shares where they are long enough; within a document, targets are drawn uniformly. Raises
    `LengthwiseError` if the documents are too short for ``count`` targets.
    """
    require(context >= 1 and count >= 1, f"needs a context and a count of at least 1, got {context} and {count}")
    texts = [np.array(tokenizer.encode(document.text), dtype=np.int64) for document in documents]
    room = np.array([max(0, len(text) - context) for text in texts], dtype=np.int64)
    longest = max((len(text) for text in texts), default=0)
    require(
        bool(room.sum()),
        f"the text is too short: its longest document has {longest} tokens, and a context of {context} needs "
        f"{context + 1}; choose a longer text or a smaller context",
    )
    require(
        int(room.sum()) >= count,
        f"the text has {int(room.sum())} targets with {context} tokens before them, not {count}; "
        "choose a longer text or fewer targets",
    )
    offsets, owners = [], []
    for index, share in enumerate(_shares(room, count, rng)):
        starts = np.sort(rng.choice(room[index], size=share, replace=False)) if share else []
        offsets += [int(start) + context for start in starts]
        owners += [index] * share
    tokens = np.stack([texts[i][at - context : at + 1] for i, at in zip(owners, offsets, strict=True)])
    return Windows(tokens, np.array(owners), tuple(document.name for document in documents), np.array(offsets))


def _shares(room: Int[ndarray, " D"], count: int, rng: Rng) -> Int[ndarray, " D"]:
    """``count`` spread as evenly as ``room`` allows."""
    shares = np.zeros_like(room)
    while (left := count - int(shares.sum())) > 0:
        open_ = np.flatnonzero(shares < room)
        if left < len(open_):
            open_ = rng.choice(open_, size=left, replace=False)
        shares[open_] += np.minimum(room[open_] - shares[open_], max(1, left // len(open_)))
    return shares


def problem_windows(task: Task, length: int, size: int, at: int, rng: Rng) -> tuple[Windows, Batch]:
    """``size`` problems of one layout, with ``at`` tokens of the answer before the target; windows and their batch.

    Raises `LengthwiseError` if the length has no instances, or the answer is shorter.
    """
    batch = task.batch(length, size, rng)
    end, most = batch.prompt_length + at, batch.tokens - batch.prompt_length - 1
    require(0 <= at <= most, f"the answers have tokens 0 to {most} at length {length}, got at={at}; choose one of them")
    names = tuple(f"{task.name} {number}" for number in range(size))
    return Windows(batch.input_ids[:, : end + 1].astype(np.int64), np.arange(size), names, np.full(size, end)), batch


class TextTask(Task):
    """Length n: windows of n + 1 consecutive tokens of one document, uniformly distributed and without padding.

    The task states no parents. Documents of n tokens or fewer have no window.
    """

    name = "text"
    summary = "windows of a text; only for the training of language models"

    def __init__(self, documents: Sequence[Document], tokenizer: Tokenizer) -> None:
        texts = [np.array(tokenizer.encode(document.text), dtype=np.int32) for document in documents]
        self.stream: Int[ndarray, " N"] = np.concatenate([*texts, np.zeros(0, dtype=np.int32)])
        self.sizes: Int[ndarray, " D"] = np.array([len(text) for text in texts], dtype=np.int64)
        self._starts = np.cumsum(self.sizes) - self.sizes
        self._vocab_size = tokenizer.vocab_size

    @cached_property
    def vocab(self) -> Vocab:
        """The tokenizer's vocabulary; tokens are named by their ids."""
        return Vocab.of(f"#{i}" for i in range(len(SPECIALS), self._vocab_size))

    def max_length(self) -> int:
        """The number of tokens of the longest document, minus one."""
        return int(self.sizes.max(initial=1)) - 1

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Write ``seq.size`` random windows."""
        for t, column in enumerate(self.windows(layout.length, seq.size, rng).T):
            if t:
                seq.predicted(column)
            else:
                seq.given(column)

    def windows(self, length: int, size: int, rng: Rng) -> Int[ndarray, "size length+1"]:
        """``size`` random windows of ``length`` + 1 token ids."""
        room = np.maximum(self.sizes - length, 0)
        ends = np.cumsum(room)
        drawn = rng.integers(ends[-1], size=size)
        owner = np.searchsorted(ends, drawn, side="right")
        start = self._starts[owner] + drawn - (ends[owner] - room[owner])
        return self.stream[start[:, None] + np.arange(length + 1)].astype(np.int64)

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Raise `LengthwiseError`, since text has no single right continuation."""
        raise LengthwiseError("a text has no right answer; choose a task from `lengthwise list tasks`")
