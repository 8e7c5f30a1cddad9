"""After a stop at any change to files, or a loss of power there, the same command ends with the same bits."""

from __future__ import annotations

import sys
from pathlib import Path

import crash_points
import pytest


@pytest.mark.parametrize("kind", ["run", "audit", "stack"])
def test_some_changes(tmp_path: Path, kind: str) -> None:
    found = crash_points.main(kind, tmp_path, most=3)
    for mode in crash_points.MODES:
        assert found[mode]["failed"] == []
        assert 0 < found[mode]["tried"] <= found[mode]["changes"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", crash_points.KINDS)
def test_every_change(tmp_path: Path, kind: str) -> None:
    found = crash_points.main(kind, tmp_path)
    for mode in crash_points.MODES:
        assert found[mode]["failed"] == []
        assert found[mode]["tried"] == found[mode]["changes"] > 10


def test_a_disk_loses_what_was_not_synced(tmp_path: Path) -> None:
    """The simulation itself: written, synced, renamed, and the folder synced, one after the other."""
    from lengthwise.core import files

    root = tmp_path / "out"
    root.mkdir()
    disk = crash_points.Disk(root, tmp_path / "copies")
    sys.addaudithook(disk.audited)
    files.write_text(root / "a", "whole")
    files.remove_file(root / "a")
    files.make_folder(root / "b")
    disk.busy = True  # a hook stays

    def held(mode: str) -> list[list[bytes]]:
        copies = [tmp_path / "copies" / key for key in disk.points[mode]]
        return [[path.read_bytes() for path in copy.iterdir() if path.is_file()] for copy in copies]

    nothing, empty, half, whole = [], [b""], [b"wh"], [b"whole"]
    assert held("kill") == [nothing, empty, whole, whole, whole, whole, whole, nothing, nothing]
    assert held("torn") == [nothing, empty, half, half, whole, whole, whole, nothing, nothing]
    assert held("power") == [nothing, nothing, nothing, nothing, nothing, nothing, whole, whole, whole]
