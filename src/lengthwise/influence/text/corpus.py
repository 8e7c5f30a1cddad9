"""Loads a corpus: Python's standard library, a file or folder, or a streamed Hugging Face data set.

`documents` defines the split into a training part and a held-out part.
"""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path, PurePosixPath

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.influence.text.documents import Corpus, Document, split

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
    documents = []
    for path in sorted(root.rglob("*.py")):
        name = PurePosixPath(path.relative_to(root).as_posix())
        if (OPTIONAL | EXCLUDED).isdisjoint(name.parts) and not name.name.startswith("_sysconfigdata"):
            documents.append(Document(str(name), _read(path)))
    if (root / TOPICS).is_file():
        documents += _topics(_read(root / TOPICS))
    if not documents:
        raise LengthwiseError(
            f"this Python has no standard library sources in {root}; "
            "`lengthwise lm train --text FILE` takes another text"
        )
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

    They come from the split ``train``; their numbers decide which are held out, as names do for files. Raises
    `LengthwiseError` if the package `datasets` is missing, the data set can't be opened, or an entry has no ``text``.
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
    # Data sets and network access raise has no common type.
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise LengthwiseError(f"cannot stream data set {name}: {first}; check the name and the network") from None
    require(len(found) >= 2, f"data set {name} has {len(found)} documents; it takes at least 2")
    return split(name, found)


def load_corpus(text: Path | None = None, dataset: str | None = None) -> Corpus:
    """The corpus of a path or a data set, or the standard library without either; raises `LengthwiseError`."""
    require(text is None or dataset is None, "give --text or --dataset, not both")
    if text is not None:
        return from_path(text)
    return from_dataset(dataset) if dataset is not None else standard_library()
