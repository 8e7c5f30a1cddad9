"""Prepares the section on influential tokens: findings, figures and tables of one result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lengthwise.report.influence.influence_figure import masks_figure, recovered_figure, scatter_figure, spans_figure
from lengthwise.report.influence.influence_result import NAMES, Cell, InfluenceResult, Link

ENOUGH = 0.9
"""Share of the gain at which k tokens count as sufficient; our own convention."""


@dataclass(frozen=True)
class Sentence:
    """A finding that begins with what it is about."""

    name: str
    text: str


@dataclass(frozen=True)
class InfluenceSection:
    """One result on the page."""

    title: str
    setting: str
    findings: tuple[Sentence, ...]
    ks: tuple[int, ...]
    best: str
    scatter: str
    recovered: str
    spans: str
    masks: str
    tables: tuple[dict[str, Any], ...]
    overlap: tuple[dict[str, Any], ...]
    settings: Mapping[str, Any]
    provenance: str


def influence_section(result: InfluenceResult) -> InfluenceSection:
    """Everything that the template shows."""
    documents = len({target["document"] for target in result.values["targets"]})
    first = ", the first token always visible" if result.keep_first else ""
    return InfluenceSection(
        title=f"influence: {result.title}",
        setting=(
            f"{len(result.long)} targets in {documents} documents; {result.context} tokens of context, the last "
            f"{result.recent} always visible, a block of {result.block} masked{first}. Losses in nats."
        ),
        findings=tuple(findings(result)),
        ks=result.ks,
        best=NAMES.get(result.best, result.best),
        scatter=scatter_figure(result),
        recovered=recovered_figure(result),
        spans=spans_figure(result),
        masks=masks_figure(),
        tables=tuple(_tables(result)),
        overlap=tuple(_overlap(result)),
        settings={
            key: result.values.get(key)
            for key in ("model", "chooser", "extrapolator", "pair", "corpus", "config", "speed")
        },
        provenance=_provenance(result.values),
    )


def findings(result: InfluenceResult, *, brief: bool = False) -> list[Sentence]:
    """What the numbers say, one sentence each; ``brief`` leaves out what a table of R_k says beside it."""
    long, short = float(result.long.mean()), float(result.short.mean())
    helped = float((result.short - result.long > 0.1).mean())
    found = [
        Sentence(
            "The block",
            f"lowers the mean loss from {short:.3f} to {long:.3f} nats; by more than 0.1 nat for {helped:.0%} of the "
            "targets.",
        )
    ]
    for name in () if brief else (result.best, "cross", "attention", "random", "null", "beyond_null"):
        if name in result.cells:
            found.append(Sentence(_subject(result, name), _recovers(result, name)))
    found.append(Sentence(f"R ≥ {ENOUGH:g}", _enough(result)))
    if result.link is not None:
        found.append(Sentence("Sparse dependence and extrapolation:", _link_text(result.link)))
    return found


def _enough(result: InfluenceResult) -> str:
    """How many tokens it takes; choosing by the target's loss finds something in any block, so that is taken off."""
    who = {
        result.best: "the model itself chooses",
        "cross": "the other model chooses",
        "attention": "attention chooses, which does not see the target",
        "beyond_null": "what a foreign block gives is taken off",
    }
    parts = []
    for name, words in who.items():
        if name in result.cells:
            k = next((k for k, cell in sorted(result.cells[name].items()) if (cell.recovered or 0.0) >= ENOUGH), None)
            few = f"by no number up to {max(result.ks)}" if k is None else f"by {k} token{'s' if k > 1 else ''}"
            parts.append(f"{few} of {result.block} when {words}")
    return f"is reached {', '.join(parts)}."


def _link_text(link: Link) -> str:
    interval = "" if link.interval is None else f" [{link.interval[0]:.2f}–{link.interval[1]:.2f}]"
    return (
        f"over the {link.targets} targets that need the context, the share that {link.k} token"
        f"{'s' if link.k > 1 else ''} recover{'' if link.k > 1 else 's'} has rank correlation {link.correlation:.2f}"
        f"{interval} with how much worse the model trained at the shorter context is; negative would mean that sparse "
        "dependence extrapolates better."
    )


def _subject(result: InfluenceResult, name: str) -> str:
    if name == "cross":
        return f"Chosen by the other model ({result.chooser})" if result.chooser else "Chosen by the other model"
    if name == "null":
        return "Greedy in a block of another document"
    if name == "beyond_null":
        return "Greedy beyond that"
    return f"Chosen by {NAMES.get(name, name)}" if name != "random" else "Random tokens"


def _recovers(result: InfluenceResult, name: str) -> str:
    parts = [f"k = {k}: {shown(cell)}" for k, cell in sorted(result.cells[name].items()) if cell.recovered is not None]
    return f"R: {', '.join(parts)}." if parts else "there is no gain to recover."


def shown(cell: Cell) -> str:
    """``0.84 [0.79–0.88]``."""
    if cell.recovered is None:
        return "–"
    interval = "" if cell.low is None or cell.high is None else f" [{cell.low:.2f}–{cell.high:.2f}]"
    return f"{cell.recovered:.2f}{interval}"


def _tables(result: InfluenceResult) -> list[dict[str, Any]]:
    tables = [{"title": "All targets", "rows": _rows(result.cells, result.ks)}]
    split = result.needing
    if split is not None:
        share = "" if split.share is None else f", which hold {split.share:.0%} of the gain"
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


def _rows(cells: Mapping[str, Mapping[int, Cell]], ks: tuple[int, ...]) -> list[dict[str, Any]]:
    names = [*(name for name in NAMES if name in cells), *(name for name in cells if name not in NAMES)]
    return [{"name": NAMES.get(name, name), "cells": [cells[name].get(k) for k in ks]} for name in names]


def _provenance(values: Mapping[str, Any]) -> str:
    machine = values.get("machine") or {}
    parts = [
        f"commit {values.get('commit', 'unknown')}",
        str(machine.get("processor", "")),
        f"{values['seconds']:.0f} s" if isinstance(values.get("seconds"), int | float) else "",
        str(values.get("time", ""))[:16].replace("T", " "),
    ]
    return ", ".join(part for part in parts if part) + "."
