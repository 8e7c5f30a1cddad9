"""Prepares the section on influential tokens: findings, figures and tables of one result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lengthwise.report.figures.style import NARROW
from lengthwise.report.influence.influence_figure import draw_recovered, draw_scatter
from lengthwise.report.influence.influence_result import NAMES, InfluenceResult, Link, RecoveredCell
from lengthwise.report.influence.mask_figure import draw_masks, draw_spans
from lengthwise.report.pictures import Picture

LEAST_GAIN = 0.01
"""Smallest mean gain of the block, in nats, whose recovered fractions are stated in words."""
ENOUGH = 0.9
"""Share of the gain at which k tokens count as sufficient; our own convention."""


@dataclass(frozen=True)
class Sentence:
    """A finding, whose text continues its ``name``."""

    name: str
    text: str


@dataclass(frozen=True)
class InfluenceSection:
    """One result on the page."""

    result: InfluenceResult
    title: str
    anchor: str
    findings: tuple[Sentence, ...]
    best: str
    scatter: Picture
    recovered: Picture
    spans: Picture
    masks: Picture
    tables: tuple[dict[str, Any], ...]
    overlap: tuple[dict[str, Any], ...]
    settings: Mapping[str, Any]

    @property
    def pictures(self) -> list[Picture]:
        """All figures of the section."""
        return [self.masks, self.recovered, self.scatter, self.spans]


def influence_section(result: InfluenceResult, anchor: str) -> InfluenceSection:
    """The section of one result."""
    return InfluenceSection(
        result,
        title=f"influence: {result.title}",
        anchor=anchor,
        findings=tuple(findings(result)),
        best=NAMES.get(result.best, result.best),
        scatter=Picture("influence-scatter", draw_scatter(result), draw_scatter(result, NARROW)),
        recovered=Picture("influence-recovered", draw_recovered(result), draw_recovered(result, NARROW)),
        spans=Picture("influence-distances", draw_spans(result), draw_spans(result, NARROW)),
        masks=Picture("influence-masks", draw_masks(), draw_masks(NARROW)),
        tables=tuple(_tables(result)),
        overlap=tuple(_overlap(result)),
        settings={
            key: result.values.get(key)
            for key in ("model", "chooser", "extrapolator", "pair", "corpus", "config", "speed")
        },
    )


def too_small(result: InfluenceResult) -> bool:
    """Whether the block's mean gain is too small for recovered fractions to say something."""
    gain = float(result.short.mean()) - float(result.long.mean())
    return gain < LEAST_GAIN or all(cell.recovered is None for cell in result.cells[result.best].values())


def findings(result: InfluenceResult) -> list[Sentence]:
    """What the losses show, in words; the tables hold R_k."""
    long, short = float(result.long.mean()), float(result.short.mean())
    helped = float((result.short - result.long > 0.1).mean())
    found = [
        Sentence(
            "The block",
            f"changes the mean loss from {short:.3f} to {long:.3f} nats; it lowers the loss by more than 0.1 nat for "
            f"{helped:.0%} of the targets.",
        )
    ]
    if too_small(result):
        return [*found, Sentence("Recovered fractions:", "the gain is too small to say.")]
    for name, words in (
        (result.best, f"Chosen by the model itself ({NAMES.get(result.best, result.best)}),"),
        ("cross", f"Chosen by the other model ({result.chooser or 'unnamed'}),"),
        ("attention", "Chosen by attention, which does not use the target,"),
        ("random", "Chosen at random,"),
        ("beyond_null", "Beyond what greedy search gains in a block of another document,"),
    ):
        if name in result.cells:
            found.append(Sentence(words, _enough(result, name)))
    if result.link is not None:
        found.append(Sentence("Sparse dependence and extrapolation:", _link_text(result.link)))
    return found


def _enough(result: InfluenceResult, name: str) -> str:
    """How many tokens recover the share `ENOUGH` of the gain."""
    cells = sorted(result.cells[name].items())
    k = next((k for k, cell in cells if (cell.recovered or 0.0) >= ENOUGH), None)
    if k is None:
        return f"no number of tokens up to {max(result.ks)} of {result.block} recovers {ENOUGH:.0%} of the gain."
    return f"{k} token{'s recover' if k > 1 else ' recovers'} at least {ENOUGH:.0%} of the gain of all {result.block}."


def _link_text(link: Link) -> str:
    interval = "" if link.interval is None else f", 95 % {link.interval[0]:.2f} to {link.interval[1]:.2f}"
    return (
        f"over the {link.targets} targets that need the context, the share recovered with k = {link.k} has rank "
        f"correlation {link.rank_correlation:.2f}{interval} with the additional loss of the model trained at a shorter "
        "context. A negative value means that sparse dependence extrapolates better."
    )


def _tables(result: InfluenceResult) -> list[dict[str, Any]]:
    tables = [{"title": "All targets", "rows": _rows(result.cells, result.ks)}]
    split = result.needing
    if split is not None:
        share = "" if split.share_of_gain is None else f", which hold {split.share_of_gain:.0%} of the gain"
        title = f"The {split.targets} targets that need the context (more than {split.threshold:g} nat{share})"
        tables.append({"title": title, "rows": _rows(split.cells, result.ks)})
    return tables


def _overlap(result: InfluenceResult) -> list[dict[str, Any]]:
    """By k, the share of the best rule's tokens that each other rule chose too; the last row is chance."""
    rows = []
    for first, second, common in result.overlap:
        if result.best in (first, second):
            other = second if first == result.best else first
            rows.append({"name": NAMES.get(other, other), "shares": [common.get(k) for k in result.ks]})
    if rows:
        rows.append({"name": "chance", "shares": [k / result.block for k in result.ks]})
    return rows


def _rows(cells: Mapping[str, Mapping[int, RecoveredCell]], ks: tuple[int, ...]) -> list[dict[str, Any]]:
    names = [*(name for name in NAMES if name in cells), *(name for name in cells if name not in NAMES)]
    return [{"name": NAMES.get(name, name), "cells": [cells[name].get(k) for k in ks]} for name in names]
