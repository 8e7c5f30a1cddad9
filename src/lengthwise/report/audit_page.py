"""Renders the page of an audit: what breaks the model, rates by length, distance and number, and every count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lengthwise.report.figures.audit_figure import draw_audit
from lengthwise.report.figures.style import NARROW
from lengthwise.report.html import render_page
from lengthwise.report.pictures import Picture

SWEEPS = {
    "problem": "the problem itself",
    "length": "length of the text alone",
    "distance": "distance of what matters alone",
    "number": "number of words that matter alone",
}
"""What varies in each sweep, in words."""


def audit_page(result: Mapping[str, Any]) -> str:
    """The page of a result of `lengthwise.audit.run.run_audit`, as HTML text."""
    apart = [name for name in result["cells"][0]["counts"] if name not in ("right", "wrong")]
    return render_page(
        "audit.html",
        title=f"Audit of {result['model']['name']} on {result['task']['name']}",
        result=result,
        sweeps=SWEEPS,
        apart=[name for name in apart if any(cell["counts"][name] for cell in result["cells"])],
        figure=Picture("audit", draw_audit(result["cells"]), draw_audit(result["cells"], NARROW)),
    )
