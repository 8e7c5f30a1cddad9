"""CONTRIBUTING names files and functions that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_file_and_name_exists() -> None:
    found = re.findall(r"`([\w/]+\.(?:py|md))(?:: (\w+))?`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(found) >= 6
    for file, name in found:
        paths = [path for path in (ROOT / "src" / "lengthwise" / file, ROOT / file) if path.is_file()]
        assert paths, f"{file} does not exist"
        assert name in paths[0].read_text(encoding="utf-8"), f"{file} has no {name}"
