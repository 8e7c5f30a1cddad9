"""The page and the figures of a measurement of influence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pydantic
from markupsafe import Markup
from matplotlib.patches import Rectangle
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.result_file import SEALED
from lengthwise.report.figures import (
    COLOURS,
    INK,
    LINE,
    MARKERS,
    NARROW,
    PAPER,
    QUIET,
    WIDE,
    Picture,
    log_axis,
    new_figure,
)
from lengthwise.report.html import render_page
from lengthwise.report.summary import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

    from lengthwise.report.figures import Drawing


KIND, FORMAT = "influence", 1
"""The field ``kind`` of these result files, and the version of their format."""

NAMES = {
    "greedy": "greedy",
    "one-shot": "one-shot",
    "gradient-input": "gradient × input",
    "attention": "attention mass",
    "surrogate": "linear surrogate",
    "random": "random",
    "last-k": "last k",
    "cross": "greedy by the other model",
    "null": "null: block of another document",
    "beyond_null": "greedy, beyond the null",
}
"""Names of selection rules and controls on the page."""


@dataclass(frozen=True)
class Choice:
    """The chosen positions ``orders[N, K]`` of N targets, and ``losses[N, K]`` in nats with the first 1 … K visible."""

    orders: ndarray
    losses: ndarray


class _FrozenPart(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, allow_inf_nan=False)


class RecoveredCell(_FrozenPart):
    """The recovered fraction R_k of the long context's gain and the line of y on x, with intervals."""

    recovered: float | None = None
    interval: tuple[float, float] | None = None
    slope: float | None = None
    intercept: float | None = None


CellsByK = dict[int, RecoveredCell]


class _Rows(_FrozenPart):
    rules: dict[str, CellsByK] = pydantic.Field(validation_alias=pydantic.AliasChoices("rules", "selectors"))
    cross: CellsByK | None = None
    null: CellsByK | None = None
    beyond_null: CellsByK | None = None

    @property
    def cells(self) -> dict[str, CellsByK]:
        """The rows of the rules, then those of the controls that were measured."""
        controls = {"cross": self.cross, "null": self.null, "beyond_null": self.beyond_null}
        return {**self.rules, **{name: row for name, row in controls.items() if row}}


class Split(_Rows):
    """The targets whose loss the long context lowers by more than ``threshold`` nats."""

    threshold: float
    targets: int
    share_of_gain: float | None = None


class Link(_FrozenPart):
    """Spearman's correlation of the share x/y at k with the additional loss of the short-context model."""

    k: int
    targets: int
    rank_correlation: float
    interval: tuple[float, float] | None = None


class _Common(_FrozenPart):
    rules: tuple[str, str] = pydantic.Field(validation_alias=pydantic.AliasChoices("rules", "selectors"))
    common: dict[int, float]


class _Overlap(_FrozenPart):
    pairs: list[_Common]


class _Summary(_Rows):
    needs_context: Split | None = None
    extrapolation: Link | None = None
    overlap: _Overlap | None = pydantic.Field(None, validation_alias=pydantic.AliasChoices("overlap", "agreement"))


@dataclass(frozen=True)
class InfluenceResult:
    """One model on one corpus; losses in nats, ``long`` and ``short`` of shape ``[N]``."""

    model: str
    chooser: str | None
    corpus: str
    context: int
    recent: int
    keep_first: bool
    ks: tuple[int, ...]
    long: ndarray
    short: ndarray
    chosen: Mapping[str, Choice]
    """By selection rule; ``cross`` (chosen by the other model) and ``null`` are further keys where they exist."""
    cells: Mapping[str, CellsByK]
    """By the same keys, then by k; ``beyond_null`` is greedy's gain minus that of the null."""
    needing: Split | None
    link: Link | None
    overlap: tuple[tuple[str, str, Mapping[int, float]], ...]
    """Pairs of rules and, by k, the mean share of tokens that both chose."""
    passages: tuple[Mapping[str, Any], ...]
    values: Mapping[str, Any]

    @classmethod
    def of(cls, values: Any, *, where: str = "result") -> InfluenceResult:
        """From the contents of a result file; raises `LengthwiseError` that names ``where`` if they are damaged."""
        try:
            if values["format"] not in (FORMAT, SEALED) or values["kind"] != KIND:
                raise LengthwiseError(f"{where} is of another format than {FORMAT}; run again")
            config, targets, summary = values["config"], values["targets"], _summary(values["summary"])
            named = {name: [t["chosen"][name] for t in targets] for name in targets[0]["chosen"]}
            for control in ("cross", "null"):
                if all(control in target for target in targets):
                    named[control] = [target[control] for target in targets]
            result = cls(
                model=str(values["model"]["name"]),
                chooser=str(values["chooser"]["name"]) if values.get("chooser") else None,
                corpus=str(values["corpus"]["name"]),
                context=int(config["context"]),
                recent=int(config["recent"]),
                keep_first=config.get("keep_first") is True,
                ks=tuple(int(k) for k in config["ks"]),
                long=_losses([target["long"] for target in targets]),
                short=_losses([target["short"] for target in targets]),
                chosen={str(name): _choice(choices) for name, choices in named.items()},
                cells=summary.cells,
                needing=summary.needs_context,
                link=summary.extrapolation,
                overlap=tuple((*p.rules, p.common) for p in summary.overlap.pairs) if summary.overlap else (),
                passages=tuple(values.get("passages") or ()),
                values=values,
            )
            if not set(result.ks) or result.chosen.keys() - result.cells.keys():
                raise ValueError("a rule without a summary")
            if any(max(result.ks) > choice.orders.shape[1] for choice in result.chosen.values()):
                raise ValueError("fewer chosen tokens than the largest k")
            return result
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise LengthwiseError(f"{where} is damaged; delete it and run again") from None

    @property
    def title(self) -> str:
        """The model, the text and the context."""
        sink = ", first token kept" if self.keep_first else ""
        return f"{self.model} on {self.corpus}, {self.context} tokens, {self.recent} recent{sink}"

    @property
    def block(self) -> int:
        """Number of tokens that can be masked."""
        return self.context - self.recent - int(self.keep_first)

    @property
    def best(self) -> str:
        """The rule that the scatter and the spans show: greedy, or else the first."""
        return "greedy" if "greedy" in self.chosen else next(iter(self.chosen))

    def gained(self, name: str, k: int) -> ndarray:
        """Gain of each target from its first k chosen tokens, ``[N]`` in nats."""
        return self.short - self.chosen[name].losses[:, k - 1]

    def spans(self, name: str, k: int) -> ndarray:
        """Distances ``[N · k]`` in tokens from each target to its first k chosen tokens."""
        return (self.context - self.chosen[name].orders[:, :k]).ravel()


def _losses(values: Any) -> ndarray:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("a loss that is not finite")
    return array


def _choice(choices: list[Mapping[str, Any]]) -> Choice:
    orders = np.asarray([choice["order"] for choice in choices], dtype=np.int64)
    losses = _losses([choice["losses"] for choice in choices])
    if orders.ndim != 2 or orders.shape != losses.shape:
        raise ValueError("order and losses of different lengths")
    return Choice(orders, losses)


def _summary(values: Mapping[str, Any]) -> _Summary:
    """Without the parts for which there were too few targets."""
    split, link = values.get("needs_context") or {}, values.get("extrapolation") or {}
    empty = {"needs_context": not split.get("targets"), "extrapolation": link.get("rank_correlation") is None}
    return _Summary.model_validate({key: value for key, value in values.items() if not empty.get(key)})


MAIN, OTHER = COLOURS[0], COLOURS[1]
RULE_COLOURS = {"null": COLOURS[6], "beyond_null": INK}
MOST_POINTS = 1500
"""A panel with more points is drawn as an image, since every point of an SVG is an element."""
CONTROLS = ("random", "last-k", "null")
"""Drawn dashed."""


def draw_scatter(result: InfluenceResult, width: float = WIDE) -> Drawing:
    """One panel per k: x = L_short − L_sparse(k), y = L_short − L_long, a point per target, in nats.

    Filled points are the best rule's on the scored model itself, hollow ones the other model's choice. On the dashed
    diagonal the k tokens give the whole gain.
    """
    ks, small = result.ks, width < 2 * NARROW
    columns = min(1 if small else 3, len(ks))
    rows = -(-len(ks) // columns)
    y = result.short - result.long
    names = [name for name in (result.best, "cross") if name in result.chosen]
    ends = [*y, *(result.gained(name, k) for name in names for k in ks)]
    low, high = min(np.min(end) for end in ends), max(np.max(end) for end in ends)
    room = 0.04 * (high - low) or 1.0
    limits = float(low - room), float(high + room)
    salt, alt = f"influence scatter {result.title} {width}", "Gain from k tokens against gain from the whole block"
    with new_figure(width, (width / columns) * rows + 1.0, salt, alt) as figure:
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for plot in grid.flat[len(ks) :]:
            plot.set_visible(False)
        size = 7.5 if small else 9
        for index, (plot, k) in enumerate(zip(grid.flat, ks, strict=False)):
            _scatter(plot, result, names, y, k, limits, size)
            plot.tick_params(labelsize=size)
            if index + columns >= len(ks):
                plot.set_xlabel(f"gain from k tokens of {result.block}, nats", fontsize=size)
                plot.tick_params(labelbottom=True)
        for plot in grid[:, 0]:
            plot.set_ylabel(f"gain from all {result.block}, nats", fontsize=size)
        handles = list({h.get_label(): h for h in grid[0, 0].get_legend_handles_labels()[0]}.values())
        figure.legend(handles=handles, loc="outside lower left", ncols=1 if small else 2, fontsize=size)
        return figure


def _scatter(
    plot: Plot, result: InfluenceResult, names: Sequence[str], y: np.ndarray, k: int, limits: tuple[float, float],
    size: float,
) -> None:  # fmt: skip
    plot.set_xlim(limits)
    plot.set_ylim(limits)
    plot.set_box_aspect(1)
    plot.plot(limits, limits, color=QUIET, lw=1, ls=(0, (4, 3)), label="equal gains", zorder=1)
    for name in reversed(names):
        own = name != "cross"
        label = f"chosen by the model itself ({NAMES[result.best]})" if own else "chosen by the other model"
        plot.scatter(
            result.gained(name, k), y, s=13, color=MAIN if own else "none", edgecolors="none" if own else OTHER,
            linewidths=0.8, alpha=0.55 if own else 0.6, label=label, zorder=3 if own else 2,
            rasterized=len(y) > MOST_POINTS,
        )  # fmt: skip
    cell = result.cells[names[0]].get(k)
    if cell is not None and cell.slope is not None:
        ends = np.asarray(limits)
        line = cell.slope * ends + (cell.intercept or 0.0)
        plot.plot(ends, line, color=MAIN, lw=1.6, label="least-squares line", zorder=4)
    plot.text(
        0.97, 0.03, "\n".join(_note(result, name, k) for name in names), transform=plot.transAxes, ha="right",
        va="bottom", fontsize=size, color=INK, bbox={"fc": PAPER, "ec": "none", "alpha": 0.8, "pad": 1.5}, zorder=5,
    )  # fmt: skip
    plot.set_title(f"k = {k}", fontsize=size + 2, fontweight="bold")


def _note(result: InfluenceResult, name: str, k: int) -> str:
    cell = result.cells[name].get(k)
    who = "other model" if name == "cross" else "itself"
    if cell is None or cell.recovered is None:
        return f"{who}: no gain to recover"
    slope = "" if cell.slope is None else f", slope {cell.slope:.2f}"
    return f"{who}: R = {cell.recovered:.2f}{slope}"


def draw_recovered(result: InfluenceResult, width: float = WIDE) -> Drawing:
    """R_k over k, one line per rule with its 95 % interval; the controls and the null are dashed."""
    names = _in_order(result.cells)
    small = width < 2 * NARROW
    size = 7.5 if small else 9.5
    salt, alt = f"influence recovered {result.title} {width}", "Fraction of the gain recovered, by k and selection rule"
    with new_figure(width, 4.2 + 0.18 * len(names) * small, salt, alt) as figure:
        plot = figure.subplots()
        for index, name in enumerate(names):
            found = [(k, cell) for k, cell in sorted(result.cells[name].items()) if cell.recovered is not None]
            if not found:
                continue
            # Shifted sideways, so that intervals do not cover each other.
            at = [k * 2 ** (0.055 * (index - (len(names) - 1) / 2)) for k, _ in found]
            values = [cell.recovered or 0.0 for _, cell in found]
            colour, label = RULE_COLOURS.get(name, COLOURS[index % (len(COLOURS) - 1)]), NAMES.get(name, name)
            plot.plot(
                at, values, MARKERS[index % len(MARKERS)], ls="--" if name in CONTROLS else "-", color=colour, ms=4.5,
                lw=2.6 if name == "beyond_null" else 1.4, label=label, mfc=PAPER if name in CONTROLS else colour,
                gid=figure.tip_id([f"{label}, k = {k}: R = {cell.recovered:.2f}" for k, cell in found]),
            )  # fmt: skip
            for x, (_, cell) in zip(at, found, strict=True):
                if cell.interval is not None:
                    plot.plot([x, x], cell.interval, color=colour, lw=1, alpha=0.8)
        plot.axhline(1, color=QUIET, lw=1, ls=(0, (4, 3)))
        plot.axhline(0, color=QUIET, lw=0.8)
        log_axis(plot, "x", [float(k) for k in result.ks], base=2)
        plot.tick_params(labelsize=size)
        plot.set_xlabel(f"k, visible tokens of the block of {result.block}; logarithmic axis", fontsize=size)
        plot.set_ylabel("fraction R of the gain recovered", fontsize=size)
        if plot.get_legend_handles_labels()[0]:
            where = "outside lower left" if small else "outside right upper"
            figure.legend(loc=where, ncols=1, fontsize=size)
        return figure


def draw_spans(result: InfluenceResult, width: float = WIDE) -> Drawing:
    """The distribution of distances of the best rule's tokens, at the smallest and the largest k."""
    first, last = result.recent + 1, result.recent + result.block
    edges = np.linspace(first, last + 1, min(16, result.block) + 1)
    size = 7.5 if width < 2 * NARROW else 9.5
    salt, alt = f"influence distances {result.title} {width}", "Distances of the chosen tokens from the target"
    with new_figure(width, 3.2, salt, alt) as figure:
        plot = figure.subplots()
        for k, style in zip(dict.fromkeys((result.ks[0], result.ks[-1])), ("-", "--"), strict=False):
            spans = result.spans(result.best, k)
            share = np.histogram(spans, edges)[0] / len(spans) / np.diff(edges)
            plot.stairs(share, edges, color=MAIN if style == "-" else OTHER, lw=1.6, ls=style, label=f"k = {k}")
        plot.axhline(1 / result.block, color=QUIET, lw=1, ls=(0, (2, 3)), label="uniform choice")
        plot.set_xlim(first, last + 1)
        plot.set_ylim(bottom=0)
        plot.tick_params(labelsize=size)
        plot.set_xlabel("distance from the target, tokens", fontsize=size)
        plot.set_ylabel("share per token", fontsize=size)
        figure.legend(loc="outside lower left", ncols=3, fontsize=size)
        return figure


def draw_masks(width: float = WIDE) -> Drawing:
    """Which keys each query attends to under L_short, L_sparse and L_long, as figure 5 of Golowich et al. 2025.

    The last row is the query that predicts the target.
    """
    context, recent, chosen = 8, {7, 8}, {2, 4}
    panels = (
        (f"L_short: the last {len(recent)}", recent, set()),
        (f"L_sparse: and k = {len(chosen)} chosen", recent | chosen, chosen),
        (f"L_long: all {context}", set(range(1, context + 1)), set()),
    )
    small = width < 2 * NARROW
    salt, alt = f"influence masks {width}", "Three masks: the last tokens only, these and k chosen ones, all"
    with new_figure(width, 9.0 if small else 3.8, salt, alt) as figure:
        grid = figure.subplots(3, 1) if small else figure.subplots(1, 3)
        for plot, (title, visible, picked) in zip(grid, panels, strict=True):
            _mask(plot, context, visible, picked, 8 if small else 9.5)
            plot.set_title(title, fontsize=9.5 if small else 11)
        return figure


def _mask(plot: Plot, context: int, visible: set[int], picked: set[int], size: float) -> None:
    for query in range(1, context + 1):
        for key in range(1, query + 1):
            # A masked token attends to itself, but no other query attends to it.
            seen = key in visible or key == query
            opacity = 0.2 if seen and query not in visible else 0.9 if seen else 1.0
            colour = OTHER if key in picked else MAIN
            plot.add_patch(
                Rectangle(
                    (key - 0.44, query - 0.44), 0.88, 0.88, fc=colour if seen else PAPER, lw=0.8,
                    ec="none" if seen else LINE, alpha=opacity,
                )
            )  # fmt: skip
    plot.set_xlim(0.4, context + 0.6)
    plot.set_ylim(context + 0.6, 0.4)
    plot.set_aspect("equal")
    plot.grid(False)
    plot.set_xticks(range(1, context + 1))
    plot.set_yticks([1, context])
    plot.tick_params(labelsize=size)
    plot.set_xlabel("key", fontsize=size)
    plot.set_ylabel("query", fontsize=size)
    plot.spines[["left", "bottom"]].set_visible(False)


LEAST_SCALE = 0.05
"""Smallest gain in nats that gets the full colour, so that noise stays pale."""


def token_view(result: InfluenceResult) -> str:
    """The page as HTML text; raises `LengthwiseError` if the result has no passage or a damaged one."""
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
    with suppress(pydantic.ValidationError):
        read = _Passage.model_validate(passage)
        if all(0 <= i < t.at < len(read.tokens) for t in read.targets for i, _ in t.influence):
            return read.model_dump()
    raise LengthwiseError("a passage of the result is damaged; delete the result and measure again")


def _tokens(passage: Mapping[str, Any]) -> list[dict[str, Any]]:
    by_index = {target["at"]: number for number, target in enumerate(passage["targets"])}
    first = min(by_index, default=-1)
    return [
        {"parts": _parts(token), "target": by_index.get(index), "first": index == first}
        for index, token in enumerate(passage["tokens"])
    ]


def _parts(token: str) -> list[dict[str, Any]]:
    """The text with ⏎ and a line break for line ends; a token without text becomes a dot."""
    if not token:
        return [{"text": "·", "mark": True, "newline": False}]
    parts: list[dict[str, Any]] = []
    for index, line in enumerate(token.split("\n")):
        parts += [{"text": "⏎", "mark": True, "newline": True}] * (index > 0)
        parts += [{"text": line, "mark": False, "newline": False}] * bool(line)
    return parts


LEAST_GAIN = 0.01
"""Smallest mean gain of the block, in nats, whose recovered fractions are stated in words."""
ENOUGH = 0.9
"""Share of the gain at which k tokens count as sufficient; our own convention."""


class Sentence(NamedTuple):
    """A finding, whose text continues its ``name``."""

    name: str
    text: str


def influence_section(result: InfluenceResult, anchor: str) -> dict[str, Any]:
    """The section of one result, as the template takes it."""
    settings = ("model", "chooser", "extrapolator", "pair", "corpus", "config", "speed")
    return {
        "result": result,
        "title": f"influence: {result.title}",
        "anchor": anchor,
        "findings": findings(result),
        "best": NAMES.get(result.best, result.best),
        "scatter": Picture("influence-scatter", draw_scatter(result), draw_scatter(result, NARROW)),
        "recovered": Picture("influence-recovered", draw_recovered(result), draw_recovered(result, NARROW)),
        "spans": Picture("influence-distances", draw_spans(result), draw_spans(result, NARROW)),
        "masks": Picture("influence-masks", draw_masks(), draw_masks(NARROW)),
        "tables": _tables(result),
        "overlap": _overlap(result),
        "settings": {key: result.values.get(key) for key in settings},
    }


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
            f"{percent(helped)} of the targets.",
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
    cells = sorted(result.cells[name].items())
    k = next((k for k, cell in cells if (cell.recovered or 0.0) >= ENOUGH), None)
    if k is None:
        return f"no number of tokens up to {max(result.ks)} of {result.block} recovers {percent(ENOUGH)} of the gain."
    tokens = f"{k} token{'s recover' if k > 1 else ' recovers'}"
    return f"{tokens} at least {percent(ENOUGH)} of the gain of all {result.block}."


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
        share = "" if split.share_of_gain is None else f", which hold {percent(split.share_of_gain)} of the gain"
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
    return [{"name": NAMES.get(name, name), "cells": [cells[name].get(k) for k in ks]} for name in _in_order(cells)]


def _in_order(cells: Iterable[str]) -> list[str]:
    """Rules in the order of `NAMES`, then others."""
    return sorted(cells, key=lambda name: [*NAMES, name].index(name))
