"""Renders passages as an HTML page that shows, for each token, the earlier tokens that it depends on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pydantic

from lengthwise.core.errors import LengthwiseError
from lengthwise.report.html import render_page
from lengthwise.report.influence.influence_result import InfluenceResult

LEAST_SCALE = 0.05
"""Smallest gain in nats that gets the full colour, so that noise stays pale."""


@dataclass(frozen=True)
class Part:
    """A part of a token's text; ``mark`` stands for an invisible character, and ``newline`` ends the line."""

    text: str
    mark: bool = False
    newline: bool = False


def token_view(result: InfluenceResult) -> str:
    """The page as HTML text; raises `LengthwiseError` if the result has no passage or a damaged one."""
    from markupsafe import Markup

    if not result.passages:
        raise LengthwiseError("the result holds no passage to show; measure again with at least one target")
    passages = [_checked(passage) for passage in result.passages]
    scale = colour_scale(passages)
    data = {"passages": passages, "scale": scale, "context": result.context, "recent": result.recent}
    return render_page(
        "token_view.html",
        "token_view.js",
        title=f"Token by token · {result.model}",
        model=result.model,
        corpus=result.corpus,
        recent=result.recent,
        block=result.block,
        scale=scale,
        passages=[{"document": p["document"], "tokens": _tokens(p)} for p in passages],
        # A "</script>" in the corpus must not end the element.
        data=Markup(json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")),
    )


def colour_scale(passages: Sequence[Mapping[str, Any]]) -> float:
    """The gain in nats that gets the full colour: the 98th percentile of all gains, at least `LEAST_SCALE`."""
    gains = [nats for p in passages for target in p["targets"] for _, nats in target["influence"] if nats > 0]
    return max(LEAST_SCALE, round(float(np.quantile(gains, 0.98)), 3)) if gains else LEAST_SCALE


class _Target(pydantic.BaseModel):
    at: int
    long: float
    short: float
    influence: list[tuple[int, float]]


class _Passage(pydantic.BaseModel):
    document: str
    tokens: list[str]
    targets: list[_Target]


def _checked(passage: Mapping[str, Any]) -> dict[str, Any]:
    try:
        read = _Passage.model_validate(passage)
    except pydantic.ValidationError:
        read = None
    inside = read and all(0 <= i < t.at < len(read.tokens) for t in read.targets for i, _ in t.influence)
    if read is None or not inside:
        raise LengthwiseError("a passage of the result is damaged; delete the result and measure again")
    return read.model_dump()


def _tokens(passage: Mapping[str, Any]) -> list[dict[str, Any]]:
    by_index = {target["at"]: number for number, target in enumerate(passage["targets"])}
    first = min(by_index, default=-1)
    return [
        {"parts": _parts(token), "target": by_index.get(index), "first": index == first}
        for index, token in enumerate(passage["tokens"])
    ]


def _parts(token: str) -> list[Part]:
    """The text with ⏎ and a line break for line ends; a token without text becomes a dot."""
    if not token:
        return [Part("·", mark=True)]
    parts = []
    for index, line in enumerate(token.split("\n")):
        if index:
            parts.append(Part("⏎", mark=True, newline=True))
        if line:
            parts.append(Part(line))
    return parts
