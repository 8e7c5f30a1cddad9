"""Where changes are checked for everyone, tests of pages are not skipped."""

from __future__ import annotations

import os

import pytest
from browser import BROWSER


@pytest.mark.skipif("GITHUB_ACTIONS" not in os.environ, reason="a machine of one's own may have none")
def test_there_is_a_browser() -> None:
    assert BROWSER is not None
