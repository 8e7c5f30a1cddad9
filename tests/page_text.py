"""What the tests of results pages share: sentences that have to be on a page."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]


def assert_on(page: str, *sentences: str) -> None:
    """These words are on a results page, whose lines may break anywhere."""
    words = " ".join((ROOT / f"docs/results/{page}.md").read_text(encoding="utf-8").split())
    for sentence in sentences:
        assert sentence in words, sentence
