"""Pages of audits are drawn in the tests that look at them; a figure takes as long as a hundred questions."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_page(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    if "page" not in request.node.name:
        monkeypatch.setattr("lengthwise.report.pages.audit_page", lambda result: "<html>not drawn</html>")
