"""What a page says of influential tokens: findings, figures and tables from one result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lengthwise.report.influence_figure import masks_figure, recovered_figure, scatter_figure, spans_figure
from lengthwise.report.influence_result import NAMES, Cell, InfluenceResult

ENOUGH = 0.9
"""Share of the gain from which k tokens are said to explain the long context; a convention of ours."""


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
        settings={key: result.values.get(key) for key in ("model", "chooser", "corpus", "config", "speed")},
        provenance=_provenance(result.values),
    )


def findings(result: InfluenceResult) -> list[Sentence]:
    """What the numbers say, one sentence each: the model's own choice, the other model's, random, the null."""
    long, short = float(result.long.mean()), float(result.short.mean())
    helped = float((result.short - result.long > 0.1).mean())
    found = [
        Sentence(
            "The block",
            f"lowers the mean loss from {short:.3f} to {long:.3f} nats; by more than 0.1 nat for {helped:.0%} of the "
            "targets.",
        )
    ]
    for name in (result.best, "cross", "random", "null"):
        if name in result.cells:
            found.append(Sentence(_subject(result, name), _recovers(result, name)))
    for name in (result.best, "cross"):
        if name in result.cells:
            enough = [k for k, cell in sorted(result.cells[name].items()) if (cell.recovered or 0.0) >= ENOUGH]
            text = (
                f"{enough[0]} token{'s' if enough[0] > 1 else ''} of {result.block} are enough"
                if enough
                else f"no k up to {max(result.ks)} is enough"
            )
            found.append(Sentence(f"For R ≥ {ENOUGH:g}", f"{text} ({_subject(result, name).lower()})."))
    return found


def _subject(result: InfluenceResult, name: str) -> str:
    if name == "cross":
        return f"Chosen by the other model ({result.chooser})" if result.chooser else "Chosen by the other model"
    if name == "null":
        return "Block of another document"
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
    return [{"title": "All targets", "rows": _rows(result.cells, result.ks)}]


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
