"""Text that is there: what is taken, how it is split, and what is said of what can't be read."""

from __future__ import annotations

import hashlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.errors import LengthwiseError
from lengthwise.influence.corpus import Corpus, Document, from_dataset, from_path, load_corpus, split, standard_library


def names(documents: tuple[Document, ...]) -> set[str]:
    return {document.name for document in documents}


def documented_rule(name: str) -> bool:
    """The split as the documentation states it."""
    return int(hashlib.blake2b(name.encode(), digest_size=8).hexdigest(), 16) % 10 == 0


def test_the_standard_library_is_split_by_the_documented_rule() -> None:
    corpus = standard_library()
    assert {"heapq.py", "json/decoder.py", "topics/for.txt"} <= names(corpus.train) | names(corpus.held_out)
    assert all(documented_rule(document.name) for document in corpus.held_out)
    assert not any(documented_rule(document.name) for document in corpus.train)
    described = corpus.describe()
    assert described["train"]["bytes"] > 4_000_000
    assert 0.05 < described["held_out"]["bytes"] / described["train"]["bytes"] < 0.2
    everything = names(corpus.train) | names(corpus.held_out)
    assert not any(set(name.split("/")[:-1]) & {"test", "tests", "site-packages", "encodings"} for name in everything)


def test_help_topics_are_read_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "pydoc_data").mkdir()
    (tmp_path / "pydoc_data/topics.py").write_text(
        "open('/proc/self/nowhere/x', 'w')\ntopics = {'for': 'The for statement', 'if': 'The if statement'}\n"
    )
    (tmp_path / "a.py").write_text("'''Doc.'''\n")
    corpus = standard_library(tmp_path)
    assert names(corpus.train) | names(corpus.held_out) == {"a.py", "topics/for.txt", "topics/if.txt"}


def test_a_python_without_sources_is_named(tmp_path: Path) -> None:
    with pytest.raises(LengthwiseError, match="no standard library sources"):
        standard_library(tmp_path)


@given(st.sets(st.text("abcdef/.", min_size=1), min_size=3, max_size=60))
def test_a_file_keeps_its_side_when_others_come(file_names: set[str]) -> None:
    ordered = sorted(file_names)
    every = split("x", [Document(name, "text\n") for name in ordered])
    fewer = split("x", [Document(name, "text\n") for name in ordered[:-1]])
    for corpus, among in ((every, ordered), (fewer, ordered[:-1])):
        assert corpus.train
        assert corpus.held_out
        assert names(corpus.train) | names(corpus.held_out) == set(among)
        assert not names(corpus.train) & names(corpus.held_out)
        wanted = {name for name in among if documented_rule(name)}
        if wanted and len(wanted) < len(among):
            assert names(corpus.held_out) == wanted


@given(st.lists(st.text("ab \n", max_size=9), min_size=2, max_size=60))
def test_of_a_single_file_the_end_is_held_out(lines: list[str]) -> None:
    text = "x\n" + "\n".join(line.replace("\n", "") for line in lines) + "\ny\n"
    corpus = split("one", [Document("one.txt", text)])
    assert corpus.train[0].text + corpus.held_out[0].text == text
    assert len(corpus.held_out[0].text.splitlines()) == max(1, len(text.splitlines()) // 10)


def test_a_folder_gives_its_text_and_names_what_is_none(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("a.txt", "b.md", "sub/c.py", ".git/config", ".hidden"):
        (tmp_path / name).write_text(f"text of {name}\r\nmore\n", newline="")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\x00\xff")
    (tmp_path / "sub" / "null.bin").write_bytes(b"abc\x00def")
    corpus = from_path(tmp_path)
    assert names(corpus.train) | names(corpus.held_out) == {"a.txt", "b.md", "sub/c.py"}
    assert corpus.skipped == ("picture.png", "sub/null.bin")
    assert {d.text for d in corpus.train + corpus.held_out if d.name == "a.txt"} == {"text of a.txt\nmore\n"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"abc\xff", "not UTF-8 text (byte 3)"),
        (b"a\x00b\n", "binary file"),
        (b" \n\n", "holds no text"),
        (b"one line", "one line only"),
    ],
)
def test_a_file_that_is_no_text(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(LengthwiseError) as error:
        from_path(path)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    with pytest.raises(LengthwiseError, match="no file or folder at"):
        from_path(tmp_path / "missing")
    with pytest.raises(LengthwiseError, match="holds no UTF-8 text files"):
        from_path(tmp_path)
    with pytest.raises(LengthwiseError, match="not both"):
        load_corpus(tmp_path, "c4")


def test_the_fingerprint_is_of_all_text_and_of_the_split() -> None:
    a, b, c = (Document(name, name * 3) for name in "abc")
    fingerprints = {
        Corpus("x", train, held_out).describe()["digest"]
        for train, held_out in (((a, b), (c,)), ((a,), (b, c)), ((a, b), (Document("c", "cc"),)), ((b, a), (c,)))
    }
    assert len(fingerprints) == 4


class FakeDatasets(types.ModuleType):
    """The package `datasets` as far as it is used, counting what is taken from its stream."""

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        super().__init__("datasets")
        self.entries, self.taken, self.asked = entries, 0, ()

    def load_dataset(self, path: str, name: str | None, *, split: str, streaming: bool) -> Iterator[dict[str, Any]]:
        assert streaming
        self.asked = (path, name, split)
        if path == "missing":
            raise FileNotFoundError("no data set of that name\nand a long story")
        return self._stream()

    def _stream(self) -> Iterator[dict[str, Any]]:
        for entry in self.entries:
            self.taken += 1
            yield entry


def test_a_data_set_is_streamed_as_far_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeDatasets([{"text": f"document {i}"} for i in range(1000)])
    monkeypatch.setitem(sys.modules, "datasets", fake)
    corpus = from_dataset("allenai/c4:en", documents=40)
    assert fake.asked == ("allenai/c4", "en", "train")
    assert fake.taken == 40
    assert sorted(d.text for d in corpus.train + corpus.held_out) == sorted(f"document {i}" for i in range(40))


def test_what_can_be_wrong_with_a_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", FakeDatasets([{"label": 1}]))
    with pytest.raises(LengthwiseError, match="have no text, but: label"):
        from_dataset("x")
    with pytest.raises(LengthwiseError, match=r"cannot stream data set missing: no data set of that name; check"):
        from_dataset("missing")
    monkeypatch.setitem(sys.modules, "datasets", FakeDatasets([{"text": "only one"}]))
    with pytest.raises(LengthwiseError, match="it takes at least 2"):
        from_dataset("x")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(LengthwiseError, match="pip install datasets"):
        from_dataset("x")
