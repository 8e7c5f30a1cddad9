"""Where a long context gains next to nothing, no fraction of it is shown, in the terminal or on the page."""

from __future__ import annotations

import io
from typing import Any

from made_up_influence import influence_result
from rich.console import Console

from lengthwise.cli.influence import draw_influence
from lengthwise.report.influence import InfluenceResult, findings, too_small


def drawn(values: dict[str, Any]) -> str:
    text = io.StringIO()
    draw_influence(Console(file=text, width=100), values)
    return text.getvalue()


def without_gain() -> dict[str, Any]:
    values = influence_result()
    for target in values["targets"]:
        target["short"] = target["long"] + 1e-5
    return values


def test_a_gain_shows_its_fractions() -> None:
    values = influence_result()
    assert not too_small(InfluenceResult.of(values))
    assert "gain recovered by" in drawn(values)


def test_no_gain_shows_none() -> None:
    values = without_gain()
    assert too_small(InfluenceResult.of(values))
    text = drawn(values)
    assert "the gain is too small to say which share of it a few tokens recover" in text
    assert "gain recovered by" not in text
    assert "0.9" not in text.split("too small")[1]
    assert findings(InfluenceResult.of(values))[-1].text == "the gain is too small to say."
