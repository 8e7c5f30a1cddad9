"""Verdict against measurement: small multiples of accuracy by bin, the table of cells, and confusion counts.

Reads the rows of ``table.json``. Green: theory says yes. Red: theory gives no guarantee. Grey: no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from lengthwise.report.figures.svg import INK, QUIET, new_figure, page_style, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot

Row = Mapping[str, Any]

COLOURS = {"yes": "#009e73", "no": "#d55e00", "unknown": "#66717e"}
"""Green and red that people with any common colour blindness can tell apart; markers differ as well."""
STYLES = {"nope": ("o", "-"), "ape": ("s", "-")}
COLUMNS = 5
CUT = 0.70
RULE = (
    "The last bin decides. A yes of theory is compatible with a median of the fitted seeds of at least 0.70. A no is "
    "compatible with a median below 0.70 of at least two fitted seeds. No means no guarantee: no program exists. "
    "Cells that did not fit, or were not run, are undecided."
)


def agreement_figure(rows: Sequence[Row]) -> str:
    """SVG, one small plot per task: lines by encoding, ours filled and solid, published hollow and dotted."""
    tasks = list(dict.fromkeys(str(row["task"]) for row in rows))
    columns = min(COLUMNS, len(tasks))
    lines = -(-len(tasks) // columns)
    with page_style("agreement" + "".join(tasks)):
        figure = new_figure(max(2.4 * columns, 4.5), 1.9 * lines + 0.6)
        grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
        for plot in grid.flat[len(tasks) :]:
            plot.set_visible(False)
        for plot, task in zip(grid.flat, tasks, strict=False):
            _panel(plot, task, [row for row in rows if row["task"] == task])
        for plot in grid[:, 0]:
            plot.set_ylabel("exact match")
        return to_svg(figure, "Accuracy by bin of lengths, by task; colour tells what theory says")


def _panel(plot: Plot, task: str, rows: Sequence[Row]) -> None:
    bins = list(dict.fromkeys(name for row in rows for part in ("median", "published") for name in row.get(part, {})))
    bins.sort(key=lambda name: int(name.partition("-")[0]))
    # Not mathematics: a dollar sign in a language's name is a letter.
    plot.set_title(task.replace("$", r"\$"), fontsize=9, color=INK)
    plot.set_ylim(-0.06, 1.06)
    plot.set_xlim(-0.4, max(len(bins), 1) - 0.6)
    plot.axhline(CUT, color=QUIET, lw=0.8, ls=":")
    plot.set_xticks(range(len(bins)), bins)
    missing = []
    for row in rows:
        colour = COLOURS[row["predicted"]]
        marker, style = STYLES.get(row["encoding"], ("^", "--"))
        for part, face, line in (("published", "white", (0, (1, 2))), ("median", colour, style)):
            values = row.get(part) or {}
            at = [index for index, name in enumerate(bins) if name in values]
            if not at:
                continue
            plot.plot(
                at, [values[bins[index]] for index in at], color=colour, marker=marker, mfc=face, ls=line,
                ms=5, lw=1.5 if part == "median" else 1, clip_on=False,
            )  # fmt: skip
        if row["status"] != "fitted":
            missing.append(f"{row['encoding']}: {row['status']}")
    if missing:
        note = plot.text(0.5, 0.5, "\n".join(missing), transform=plot.transAxes, ha="center", va="center", color=QUIET)
        note.set_fontsize(8)
        note.set_in_layout(False)


def agreement_page(rows: Sequence[Row], counts: Mapping[str, int], title: str, notes: Sequence[str] = ()) -> str:
    """One self-contained HTML page: figure, confusion counts, the table, and what disagrees."""
    wrong = [row for row in rows if row["right"] is False]
    decided = sum(row["right"] is not None for row in rows)
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p><b>{decided - len(wrong)} of {decided}</b> decided cells are compatible with theory; "
        f"{len(rows) - decided} of {len(rows)} are not decided.</p>",
        f"<p>{escape(RULE)}</p>",
        *(f"<p>{escape(note)}</p>" for note in notes),
        agreement_figure(rows) if rows else "",
        f"<p class=key><b style='color:{COLOURS['yes']}'>green</b>: theory says yes. "
        f"<b style='color:{COLOURS['no']}'>red</b>: theory says no (no guarantee). Circles: no positions; squares: "
        "learned ones. Filled: ours; hollow: published (other bins for the languages). Dotted line: the cut.</p>",
        "<h2>Cells by verdict and outcome</h2>",
        _counts(counts),
        "<h2>Every cell</h2>",
        _table(rows),
    ]
    if wrong:
        parts.append("<h2>Disagreements</h2><ul>")
        parts += [f"<li>{escape(_sentence(row))}</li>" for row in wrong]
        parts.append("</ul>")
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><style>{_STYLE}</style>"
    return head + "<main>" + "\n".join(parts) + "</main></html>\n"


def _sentence(row: Row) -> str:
    last = list(row["median"])[-1]
    return (
        f"{row['task']}, {row['encoding']}: theory says {row['predicted']}, measured {row['median'][last]:.3f} "
        f"on {last} ({row['test_set']} set, {row['fitted']} of {row['seeds']} seeds fitted). See docs/results/huang.md."
    )


def _counts(counts: Mapping[str, int]) -> str:
    cells = "".join(f"<tr><td>{escape(name)}<td class=n>{count}" for name, count in counts.items())
    return f"<table>{cells}</table>"


def _table(rows: Sequence[Row]) -> str:
    bins = list(dict.fromkeys(name for row in rows for part in ("median", "published") for name in row.get(part, {})))
    heads = ["task", "encoding", "theory", "status", "fitted", "test set", *bins]
    heads += [f"published {name}" for name in bins if any("published" in row for row in rows)]
    heads += [f"standard set {name}" for name in bins if any("standard" in row for row in rows)]
    lines = ["<table><tr>" + "".join(f"<th>{escape(head)}" for head in heads)]
    for row in rows:
        verdict = {True: "right", False: "wrong", None: "open"}[row["right"]]
        cells = [row["task"], row["encoding"], row["predicted"], row["status"], f"{row['fitted']} of {row['seeds']}",
                 row["test_set"]]  # fmt: skip
        numbers = [row["median"].get(name) for name in bins]
        for part in ("published", "standard"):
            if any(part in other for other in rows):
                numbers += [(row.get(part) or {}).get(name) for name in bins]
        shown = [f"<td class=n>{'–' if value is None else f'{value:.3f}'}" for value in numbers]
        lines.append(f"<tr class={verdict}>" + "".join(f"<td>{escape(str(cell))}" for cell in cells) + "".join(shown))
    return "\n".join(lines) + "</table>"


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#1d2733;margin:0}"
    "main{max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;font-size:14px}td,th{padding:.2rem .7rem;border-bottom:1px solid #d5dae0;"
    "text-align:left}.n{text-align:right;font-variant-numeric:tabular-nums}tr.wrong{background:#fdeee6}"
    "tr.open{color:#66717e}svg{margin:1rem 0}"
)
