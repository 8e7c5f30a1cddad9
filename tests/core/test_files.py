"""Files are written whole or not at all, and read without trust."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import read_json, replacing, write_json, write_text


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "x.json"
    write_json(path, {"a": [1, 2.5, None, "é"]})
    assert read_json(path) == {"a": [1, 2.5, None, "é"]}
    assert os.listdir(path.parent) == ["x.json"]


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text('[] ,\n"1'),
        lambda inner: st.lists(inner) | st.dictionaries(st.text('[] "\n'), inner),
    )
)
def test_dense_changes_the_look_only(value: object) -> None:
    with TemporaryDirectory() as folder:
        write_json(Path(folder) / "x.json", value, dense=True)
        assert read_json(Path(folder) / "x.json") == value


def test_dense_lists_of_numbers_take_a_line(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"a": [[1, -2.5e-7], [3, None]], "b": ["[\n1 ]"]}, dense=True)
    lines = [line.strip() for line in (tmp_path / "x.json").read_text().splitlines()]
    assert lines == ["{", '"a": [', "[1, -2.5e-07],", "[3, null]", "],", '"b": [', r'"[\n1 ]"', "]", "}"]


def test_an_interrupted_write_leaves_the_old_file_and_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    write_text(path, "old")

    def interrupted() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_nan_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_json(path, 1)
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, float("nan"))
    assert read_json(path) == 1


def test_a_full_disk_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.txt"
    write_text(path, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LengthwiseError, match=r"cannot write .*x\.txt: No space left on device; free space or choose"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no result at .*; check the path"),
        (b'{"a": [1, 2', "is damaged \\(not JSON\\); delete it and run again"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        (b"[" * 100_000, "is damaged"),
        (b"", "is damaged"),
    ],
)
def test_what_can_not_be_read_is_one_clear_line(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "x.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LengthwiseError, match=message) as caught:
        read_json(path, what="result")
    assert "\n" not in str(caught.value)


def test_a_folder_in_the_way_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "x.json").mkdir()
    with pytest.raises(LengthwiseError, match="cannot write"):
        write_json(tmp_path / "x.json", 1)
    with pytest.raises(LengthwiseError, match="cannot read"):
        read_json(tmp_path / "x.json")
    assert os.listdir(tmp_path) == ["x.json"]
