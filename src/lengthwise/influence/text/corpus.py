"""Text that is at hand: the standard library's, a file or folder of the user's, or a streamed data set.

`documents` says how each is split into a training and a held-out part.
"""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path, PurePosixPath

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.influence.text.documents import Corpus, Document, split
from lengthwise.influence.text.windows import Windows, windows

__all__ = [
    "Corpus",
    "Document",
    "Windows",
    "from_dataset",
    "from_path",
    "load_corpus",
    "split",
    "standard_library",
    "windows",
]

STREAMED = 4000
"""Documents that are taken from a streamed data set."""

NOT_EVERYWHERE = frozenset({"test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "lib-dynload"})
"""Folders of the standard library that distributions leave out or package apart."""
NOT_TEXT = frozenset({"encodings", "site-packages", "dist-packages", "__pycache__", "pydoc_data"})
"""Folders of tables, and of what is not the standard library."""
TOPICS = PurePosixPath("pydoc_data/topics.py")


def standard_library(root: Path | None = None) -> Corpus:
    """The sources of this Python's standard library, documentation strings in place, and its help topics.

    Left out are folders that not every installation has, and tables (codecs, build settings). The text differs a
    little between Python versions; `Corpus.describe` has a fingerprint. Raises `LengthwiseError` where Python comes
    without its sources.
    """
    root = root or Path(sysconfig.get_path("stdlib"))
    documents = []
    for path in sorted(root.rglob("*.py")):
        name = PurePosixPath(path.relative_to(root).as_posix())
        if (NOT_EVERYWHERE | NOT_TEXT).isdisjoint(name.parts) and not name.name.startswith("_sysconfigdata"):
            documents.append(Document(str(name), _read(path)))
    if (root / TOPICS).is_file():
        documents += _topics(_read(root / TOPICS))
    if not documents:
        raise LengthwiseError(f"this Python has no standard library sources in {root}; give a text with --text")
    return split("standard-library", documents)


def _topics(source: str) -> list[Document]:
    """The help texts of the language, which are one literal dictionary; read, never run."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            return [Document(f"topics/{key}.txt", text) for key, text in ast.literal_eval(node.value).items()]
    return []


def from_path(path: Path) -> Corpus:
    """A text file, or a folder of them with everything below; hidden files are left alone.

    Raises `LengthwiseError` if there is no such path, a named file is not UTF-8 text, or a folder holds no text. Files
    in a folder that are not text are listed in `Corpus.skipped`.
    """
    if path.is_file():
        return split(path.name, [Document(path.name, _read(path))])
    require(path.exists(), f"no file or folder at {path}; check --text")
    require(path.is_dir(), f"{path} is neither a file nor a folder; choose another --text")
    documents, skipped = [], []
    for file in sorted(path.rglob("*")):
        name = PurePosixPath(file.relative_to(path).as_posix())
        if not file.is_file() or any(part.startswith(".") or part == "__pycache__" for part in name.parts):
            continue
        try:
            documents.append(Document(str(name), _read(file)))
        except LengthwiseError:
            skipped.append(str(name))
    require(bool(documents), f"folder {path} holds no UTF-8 text files; choose another --text")
    return split(path.resolve().name, documents, tuple(skipped))


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LengthwiseError(f"cannot read {path}: {error.strerror or error}; check --text") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LengthwiseError(
            f"{path} is not UTF-8 text (byte {error.start}); convert it, or choose another --text"
        ) from None
    if "\0" in text:
        raise LengthwiseError(f"{path} is a binary file, not text; choose another --text")
    return text.replace("\r\n", "\n")


def from_dataset(name: str, *, documents: int = STREAMED) -> Corpus:
    """The first ``documents`` texts of a Hugging Face data set ``NAME`` or ``NAME:CONFIGURATION``, streamed.

    Only as many are fetched. They come from the split ``train`` and are held out by number as files are by name.
    Raises `LengthwiseError` without the package `datasets`, if the data set can't be opened, or if its entries have no
    ``text``.
    """
    try:
        from datasets import load_dataset  # type: ignore[import-not-found]
    except ImportError:
        raise LengthwiseError("--dataset needs the package datasets; run: pip install datasets") from None
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
    # What a data set's code and its network raise has no common type.
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise LengthwiseError(f"cannot stream data set {name}: {first}; check the name and the network") from None
    require(len(found) >= 2, f"data set {name} has {len(found)} documents; it takes at least 2")
    return split(name, found)


def load_corpus(text: Path | None = None, dataset: str | None = None) -> Corpus:
    """The corpus that a user names: a path, a data set, or else the standard library."""
    require(text is None or dataset is None, "give --text or --dataset, not both")
    if text is not None:
        return from_path(text)
    return from_dataset(dataset) if dataset is not None else standard_library()
