"""Figures of results: accuracy against length, dependencies, audits, blind studies."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import log
from pathlib import Path
from statistics import median, median_high
from typing import TYPE_CHECKING, Any, Literal

import matplotlib
from markupsafe import Markup, escape
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, PathPatch
from matplotlib.path import Path as Curve
from matplotlib.ticker import FixedLocator, MaxNLocator
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from lengthwise.core import config as arguments
from lengthwise.core.errors import LengthwiseError, UnknownNameError, listed, require
from lengthwise.core.files import named_file, replacing
from lengthwise.core.table import rounded
from lengthwise.prediction.example import TokenSequence
from lengthwise.report.crowds import told_apart
from lengthwise.report.finding import headline
from lengthwise.report.looks import COLOURS, MARKERS, Gray, Look
from lengthwise.report.names import LONGEST_NAME, hidden_text, whole_names
from lengthwise.report.summary import (
    RIGHT,
    WRONG,
    Brackets,
    Cell,
    Panel,
    SystemSummary,
    axes_text,
    brackets_text,
    chance_of,
    chance_text,
    common_chance,
    fallen_seeds,
    is_interval,
    left_out_text,
    panels,
    some_of,
    task_title,
    trained_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Plot
    from matplotlib.transforms import Transform


INK, QUIET, LINE = "#1d2733", "#5d6875", "#d5dae0"
PAPER, GRID, BAND, FAINT, TINT = "#ffffff", "#eceff2", "#eef2f6", "#b9c2cc", "#fbe9dd"
ROLES = {
    **{colour: f"c{index}" for index, colour in enumerate(COLOURS)},
    INK: "ink", QUIET: "quiet", LINE: "line", PAPER: "paper", GRID: "grid", BAND: "band", FAINT: "faint", TINT: "tint",
}  # fmt: skip
"""The CSS variable of a page's style sheet that replaces each colour, so that figures follow dark mode."""
WIDE, NARROW = 10.0, 3.6
"""Widths of a figure in inches: on a screen of 900 CSS pixels or more, and on a telephone."""


def own_fonts() -> dict[str, Any]:
    """The fonts of a figure for a paper: those of matplotlib's settings, of which the author may have set some."""
    return {name: matplotlib.rcParams[name] for name in ("font.family", "font.sans-serif", "font.size")}


@contextmanager
def page_style(salt: str, fonts: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Use the settings of all figures while the context is active; ``salt`` makes the ids of a figure unique."""
    settings: Any = {
        "svg.fonttype": "none",
        "pdf.fonttype": 42,  # TrueType: some journals refuse matplotlib's Type 3
        "svg.hashsalt": salt,
        "text.parse_math": False,
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 10,
        "text.color": INK,
        "axes.edgecolor": LINE,
        "axes.labelcolor": QUIET,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.titlecolor": INK,
        "grid.color": GRID,
        "legend.frameon": False,
        "xtick.color": QUIET,
        "ytick.color": QUIET,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
        "xtick.minor.size": 0,
        "ytick.minor.size": 0,
        **(fonts or {}),
    }
    with matplotlib.rc_context(settings):
        yield


@contextmanager
def new_figure(
    width: float, height: float, salt: str = "", alt: str = "", fonts: Mapping[str, Any] | None = None
) -> Iterator[Drawing]:
    """An empty figure of this size in inches, outside pyplot, to be drawn in the `page_style` of ``salt``.

    ``alt`` describes it to screen readers.
    """
    with page_style(salt, fonts):
        yield Drawing(width, height, salt, alt, fonts)


def themed(svg: str) -> str:
    """The same element for a page: with CSS variables for the colours of `ROLES`, and without unused ids."""
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    # A page holds several figures, so ids that nothing refers to would repeat.
    svg = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", svg)
    # The page sets the font.
    svg = re.sub(r" font-family: [^;\"]*;", "", svg)
    pattern = "|".join(ROLES)
    return re.sub(rf"({pattern})(?![0-9a-f])", lambda found: f"var(--{ROLES[found[1]]},{found[1]})", svg)


def log_axis(plot: Plot, which: Literal["x", "y"], ticks: Sequence[float] | None = None, base: int = 10) -> None:
    """Make an axis logarithmic, with plain numbers at ``ticks`` or at matplotlib's choice of powers."""
    axis = plot.xaxis if which == "x" else plot.yaxis
    (plot.set_xscale if which == "x" else plot.set_yscale)("log", base=base)
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(lambda value, _: "")
    if ticks is not None:
        axis.set_ticks(ticks, minor=False)
        axis.set_ticks([], minor=True)


def short_name(name: str, width: int) -> str:
    """A name of at most `LONGEST_NAME` characters, on lines of about ``width`` characters."""
    whole = " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())
    cut = whole if len(whole) <= LONGEST_NAME else whole[: LONGEST_NAME - 1] + "…"
    lines = [""]
    for part in re.findall(r"[^\s_=]+[_=]*\s*|\S\s*", cut):
        if lines[-1] and len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines) or "–"


METADATA = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None, "Producer": None}, "png": {}}
"""Without dates, the same data give the same bytes."""


@arguments.named_arguments
class Drawing(Figure):
    """A matplotlib figure with a description ``alt``, and a text for each point of its marked lines in ``tips``."""

    def __init__(
        self, width: float, height: float, salt: str, alt: str, fonts: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(figsize=(width, height), layout=ConstrainedLayoutEngine(h_pad=0.09, w_pad=0.05))
        FigureCanvasSVG(self)
        self.salt, self.alt, self.fonts = salt, alt, fonts
        self.tips: dict[str, list[str]] = {}

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """As matplotlib's, with fonts that journals accept in a PDF, and text that stays text in an SVG.

        Raises `LengthwiseError` for a format that matplotlib does not write, and for files and settings it refuses.
        """
        name: Any = args[0] if args else kwargs.get("fname")
        if not hasattr(name, "write"):
            named_file(arguments.path("fname", name))
        kind = kwargs.get("format") or (Path(name).suffix[1:] if isinstance(name, str | Path) else "")
        if kind and kind.lower() not in FigureCanvasBase.filetypes:
            raise UnknownNameError("format of a figure", kind, FigureCanvasBase.filetypes)
        try:
            with matplotlib.rc_context({"pdf.fonttype": 42, "svg.fonttype": "none"}):
                super().savefig(*args, **kwargs)
        except (OSError, TypeError, ValueError, AttributeError) as error:
            says = getattr(error, "strerror", None) or " ".join(str(error).split())
            way = "choose another folder" if isinstance(error, OSError) else "see matplotlib's savefig"
            raise LengthwiseError(f"cannot write the figure {name}: {says}; {way}") from None

    def tip_id(self, texts: Sequence[str]) -> str:
        """The ``gid`` for a line whose markers get these ``texts``, one per point."""
        name = f"tips-{len(self.tips)}"
        self.tips[name] = list(texts)
        return name

    def svg(self) -> str:
        """The ``<svg>`` element, which scales to the width of its container; texts of points are ``<title>``."""
        text = self._saved("svg").decode()
        element = shorter(text[text.index("<svg") :])
        width = self.get_figwidth() * 96
        opening = (
            f'<svg role="img" aria-label="{escape(self.alt)}" style="width:100%;height:auto;max-width:{width:.0f}px" '
        )
        for name, tips in self.tips.items():
            element = _with_titles(element, name, tips)
        # The page sets the font.
        return element.replace("<svg ", opening, 1).replace("'DejaVu Sans', ", "").replace("DejaVu Sans, ", "")

    def _repr_html_(self) -> str:
        # A dark notebook shows through a picture without a ground, and hides its dark text.
        return f'<div style="background:#fff">{self.svg()}</div>'

    def write(self, folder: Path, name: str) -> list[Path]:
        """Write ``name.svg``, ``name.pdf`` and ``name.png`` (200 dpi); raises `LengthwiseError` if it can't."""
        paths, folder = [], arguments.path("folder", folder)
        for kind in METADATA:
            path = folder / f"{arguments.text('name', name)}.{kind}"
            with replacing(path) as temporary:
                temporary.write_bytes(self._saved(kind))
            paths.append(path)
        return paths

    def _saved(self, kind: str) -> bytes:
        buffer = io.BytesIO()
        with page_style(self.salt, self.fonts), warnings.catch_warnings():
            # A browser has glyphs that matplotlib's font lacks.
            warnings.filterwarnings("ignore", message="Glyph")
            warnings.filterwarnings("ignore", message="constrained_layout not applied")
            transparent = kind == "svg"
            self.savefig(buffer, format=kind, dpi=200, transparent=transparent, metadata=METADATA[kind])
        return buffer.getvalue()


def shorter(svg: str) -> str:
    """What looks the same in half the characters: places to a hundredth of a point, nothing that is not drawn."""
    svg = re.sub(r'<metadata>[^\0]*?</metadata>|^[ \t]+| transform="rotate\(-0 [^)]*\)"', "", svg, flags=re.M)
    places = re.compile(r'(?<= )(?:d|x|y)="[^"]*"')
    svg = places.sub(lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), svg)
    one = r"\s*<use [^>]*/>\s*</g>"
    return re.sub(rf'<g clip-path="(url\([^)]*\))">{one}(?:\s*<g clip-path="\1">{one})+', _together, svg)


def _together(found: re.Match[str]) -> str:
    """Markers in groups of their own, of one clip path, as one group, which has their style if they share it."""
    markers = re.findall(r"<use [^>]*/>", found[0])
    styles = {re.findall(r' style="[^"]*"', marker)[0] for marker in markers}
    shared = styles.pop() if len(styles) == 1 and not re.search('[ "]opacity:', min(styles)) else ""
    lines = "\n".join(marker.replace(shared, "") if shared else marker for marker in markers)
    return f'<g clip-path="{found[1]}"{shared}>\n{lines}\n</g>'


def _with_titles(svg: str, name: str, tips: Sequence[str]) -> str:
    """Put a ``<title>`` into the first markers after the group ``name``."""
    head, found, tail = svg.partition(f'<g id="{name}">')
    texts = iter(tips)
    filled = re.sub(
        r"(<use [^>]*)/>", lambda use: f"{use[1]}><title>{escape(next(texts))}</title></use>", tail, count=len(tips)
    )
    return head + found + filled


@dataclass(frozen=True)
class Picture:
    """One figure in a wide and, if it has one, in a narrow version; ``name`` is that of its files."""

    name: str
    wide: Drawing
    narrow: Drawing | None = None

    @cached_property
    def html(self) -> Markup:
        """Both versions, of which the style sheet shows one; without a narrow version, a narrow page scrolls."""
        shown = {"wide": self.wide, "narrow": self.narrow} if self.narrow else {"scroll": self.wide}
        cue = "" if self.narrow else '<p class="cue">Swipe or scroll sideways to see all of it →</p>'
        return Markup(cue + "".join(f'<div class="{name}">{themed(each.svg())}</div>' for name, each in shown.items()))


def write_pictures(pictures: Iterable[Picture], folder: Path) -> list[Path]:
    """Write each figure as SVG, PDF and PNG; returns the paths. Raises `LengthwiseError` if a file can't be written."""
    names, paths = Counter[str](), list[Path]()
    for picture in pictures:
        name = re.sub(r"[^a-z0-9]+", "-", picture.name.lower()).strip("-")[:80] or "figure"
        names[name] += 1
        paths += picture.wide.write(folder, name if names[name] == 1 else f"{name}-{names[name]}")
    return paths


LOW, HIGH = -0.04, 1.14
"""Limits of the vertical axis; the space above 1 holds the text on training lengths."""
MARGINS = 0.95
"""Height in inches of a panel's title, tick labels and axis label."""
MOST_NAMED = 6
"""Panels of the same systems beyond which they are small, and one legend names the systems."""


class TestedLengths(FixedLocator):
    """Ticks at tested lengths: all whose labels have room, however large the figure is, the last and a ``first``."""

    def __init__(self, lengths: Sequence[int], first: int) -> None:
        super().__init__(list(lengths))
        self.order = sorted(lengths, key=lambda length: (length != max(lengths), length != first, length))

    def __call__(self) -> Any:
        """The lengths whose labels do not touch, at the size that the axes have now."""
        plot: Any = self.axis.axes  # type: ignore[union-attr]
        points, size = 72 / plot.figure.dpi, plot.xaxis.get_major_ticks(1)[0].label1.get_fontsize()
        kept: list[tuple[float, float, int]] = []
        for length in self.order:
            at, half = plot.transData.transform((length, 0))[0] * points, 0.32 * size * len(f"{length:g}")
            if all(abs(at - other) > half + room + 0.4 * size for other, room, _ in kept):
                kept.append((at, half, length))
        return sorted(length for _, _, length in kept)


def limits_of(ylim: tuple[float, float] | None) -> tuple[float, float]:
    """The limits of the vertical axis for accuracies in ``ylim``, with room above for the text on training lengths."""
    if ylim is None:
        return LOW, HIGH
    what = "a lower and a higher accuracy, such as (0.9, 1)"
    low, high = arguments.pair("ylim", ylim, what)
    require(low < high, f"ylim must be {what}, got {ylim!r}")
    return low + (high - low) * LOW, low + (high - low) * HIGH


def draw_accuracy(
    systems: Sequence[SystemSummary],
    width: float = WIDE,
    metric: str = "exact_match",
    limits: tuple[float, float] = (LOW, HIGH),
    band: Brackets = "interval",
    whole: Sequence[SystemSummary] = (),
    *,
    height: float | None = None,
    fonts: Mapping[str, Any] | None = None,
) -> Drawing | None:
    """One panel per task and axes, ``width`` inches wide; None if no seed of any system fitted.

    ``limits`` are those of the vertical axis, from `limits_of`; ``whole`` has the systems that are left out, too.
    More than `MOST_NAMED` panels of the same systems are about 2 inches wide, above one legend. A narrow figure of
    a given ``height`` is for print: a legend below names the systems, also those that did not fit.
    """
    drawn = [panel for panel in panels(systems) if panel.cells]
    if not drawn:
        return None
    narrow = width < 2 * NARROW
    small = len(drawn) > MOST_NAMED and len({panel.systems for panel in drawn}) == 1
    below = height is not None and narrow and not small
    drawn, shared = told_apart(drawn, systems, metric) if fonts and not small else (drawn, dict[int, str]())
    if small:
        columns, size, letters = (2, 7.5, 42) if narrow else (4, 8.5, 60)
    else:
        flat = below and height is not None and height / len(drawn) < LEAST_HEIGHT
        columns = 1 if len(drawn) == 1 or (narrow and not flat) else 2
        size, letters = (7.5, 17) if narrow else (9.5, 30 if columns == 1 else 20)
    own = None if fonts is None else fonts["font.size"]
    size = size if own in (None, matplotlib.rcParamsDefault["font.size"]) else own
    rows, names = -(-len(drawn) // columns), [_with_fitted(system, letters) for system in whole_names(systems)]
    if small:
        lines = sum(names[index].count("\n") + 1 for index in drawn[0].systems) / (columns // 2)
        each, missing, room = 1.95, [], 1.6 * size / 72 * lines
    else:
        lines = max(sum(names[index].count("\n") + 1.35 for index in panel.cells) for panel in drawn)
        lines += 2.35 * bool(chance_text(systems, metric=metric))
        each = max(2.6 if narrow else 3.9 / columns**0.5, lines * 1.25 * size / 72 * (HIGH - LOW) + MARGINS)
        lost = _not_fitted(systems)
        said = f"Not fitted in any seed, so not drawn: {'; '.join(lost)}." * bool(lost)
        missing = textwrap.wrap(said, 46 if narrow else 100)
        room = 1.5 * size / 72 * len(missing)
    if height is not None:
        each = (height - room) / rows
    salt, parts = f"accuracy {systems[0].recipe} {width}", list[_Panel]()
    with new_figure(width, each * rows + room if height is None else height, salt, "", fonts) as figure:
        if missing and not below:
            figure.supxlabel("\n".join(missing), x=0.01, ha="left", fontsize=size, color=QUIET)
        grid = figure.subplots(rows, columns, squeeze=False)
        for plot in grid.flat[len(drawn) :]:
            plot.set_visible(False)
        for plot, panel in zip(grid.flat, drawn, strict=False):
            parts.append(_Panel(figure, plot, panel, systems, metric, limits, band))
            parts[-1].draw(size, small=small or below, legend=small or below, low=below and rows * columns > 1)
            if not small and not below:
                parts[-1].names(names, size, (each - MARGINS) * 72)
        keys = {line.get_label(): line for part in parts for line in part.named}.values()
        if small:
            own = sorted(drawn[0].systems)
            handles = [*(_handle(parts[0], at, names[at]) for at in own), *keys]
            figure.legend(handles=handles, loc="outside lower left", ncols=columns // 2, fontsize=size)
        if below:
            named = {index: part for part in reversed(parts) for index in part.panel.cells}
            full = _on_one_line(systems)
            own = [(i, full[i]) for i in sorted(named) if i not in shared]
            own += [(i, says) for says, i in {says: i for i, says in shared.items()}.items()]
            handles = [
                *(_handle(named[i], i, says) for i, says in own),
                *_unfitted(systems, 1 if shared else MOST_UNFITTED),
                *keys,
            ]
            for plot in grid[:-1].flat:
                plot.set_xlabel("")
            for plot in grid[:, 1:].flat:
                plot.set_ylabel("")
                plot.tick_params(labelleft=False)
            room, most = 0.95 * width * 72, (height or float("inf")) * 72 / (5 if rows > 1 else 3)
            figure.set_layout_engine(ConstrainedLayoutEngine(h_pad=0.03, w_pad=0.05))
            _fitting_legend(figure, handles, room, most, loc="outside lower center", fontsize=size, borderaxespad=0.3)
        figure.alt = _described(parts, systems, metric, band, whole, shared)
        return figure


def _described(
    parts: Sequence[_Panel],
    systems: Sequence[SystemSummary],
    metric: str,
    band: Brackets,
    whole: Sequence[SystemSummary],
    shared: Mapping[int, str],
) -> str:
    """What is drawn, for captions and screen readers: of each kind of mark that is there, what it stands for."""
    drew = set[str]().union(*(part.drew for part in parts))
    counts = {len(system.fitted) for system in systems} - {0}
    banded = [count for count in counts if band == "range" or (band == "interval" and is_interval(count))]
    grays = {says: [systems[at].label for at in shared if shared[at] == says] for says in shared.values()}
    whole = whole or systems
    more, hidden = [one.label for one in whole if one not in systems], hidden_text(systems)
    lost = [one.label for one in systems if not one.fitted]
    drawn = (
        f"{metric.replace('_', ' ')} on {task_title(systems)} against length",
        "markers: medians of the fitted seeds",
        f"thin lines{' with small marks' * ('marks' in drew)}: each of these seeds" * (max(counts) > 1),
        f"band: {brackets_text(banded, band)}" * bool(banded),
        *(says for kind, says in KINDS.items() if kind in drew),
        f"dashes and dots: {chance_text(systems, metric=metric) or 'chance'}" * ("chance" in drew),
        *(f"gray: {says} ({'; '.join(names)})" for says, names in grays.items()),
        f"shaded: {'lengths that all systems drawn were trained on' if 'trained' in drew else 'training lengths'}",
        _cut(parts, systems, metric),
        f"…: {hidden}" * bool(hidden),
        left_out_text(whole),
        f"not fitted: {listed(lost)}" * bool(lost),
        f"{len(more)} not drawn, as they rank last: {some_of(more)}" * bool(more),
    )
    said = (
        headline(whole).removesuffix(".") if metric == "exact_match" else trained_text(systems).capitalize(),
        "; ".join(part for part in drawn if part),
    )
    text = f"{said[0]}. {said[1][0].upper()}{said[1][1:]}."
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _cut(parts: Sequence[_Panel], systems: Sequence[SystemSummary], metric: str) -> str:
    """Where the axis leaves accuracies out: between which it shows them, and of whom some lie outside."""
    low, high = parts[0].heights
    if (low, high) == (LOW, HIGH):
        return ""
    least = low - (high - low) / (HIGH - LOW) * LOW
    most = least + (high - low) / (HIGH - LOW)
    outside = dict[int, set[int]]()
    for index, cells in (each for part in parts for each in part.panel.cells.items()):
        for cell in cells:
            rates = [score.rate(metric) for score in cell.scores if metric in score.correct]
            if rates and (min(rates) < least - 1e-9 or max(rates) > most + 1e-9):
                outside.setdefault(index, set()).add(cell.length)
    said = [f"{systems[at].label} at {', '.join(map(str, sorted(some)))}" for at, some in outside.items()]
    return f"the axis is cut to {least:g} to {most:g}" + f"; outside lie seeds of {'; '.join(said)}" * bool(said)


LEAST_HEIGHT = 1.5
"""Inches of a panel with its texts; where they would be lower on one another, panels stand side by side."""
CHANCE = (0, (5, 2, 1, 2))
"""The style of the line of chance, which no other has: those with gaps have dashes."""
BAR = "bar: trained to"
APART = 9
"""Points between the centres of the bars of one length."""
KINDS = {
    "ids": "dotted: a system in colour with the right ids given",
    "gaps": "a line with gaps lies over another",
    "rings": "hollow markers: medians that lie over one another",
    "trained": "bars on the length axis: the longest trained length of systems trained beyond the shade",
}
"""What a figure may have and need not."""


TIGHT = {"columnspacing": 1.0, "handletextpad": 0.5, "borderpad": 0, "labelspacing": 0.3}
"""Of a legend that has little room."""
HANDLE = 28
"""Points of a line in a legend: two periods of `GAPS` and a dash, so that it ends as it begins."""
SMALLEST = 5
"""The least size of text in points that a long legend is set in."""


def _fitting_legend(
    on: Any, handles: Sequence[Any], room: float, height: float = float("inf"), *, fontsize: Any, **options: Any
) -> None:
    """A legend of ``on``, a figure or axes, with as many columns as its texts leave room for, in pixels.

    A `Drawing` has 72 to the inch. Where it is wider or higher, its text is smaller, down to `SMALLEST`.
    """
    length = HANDLE / FontProperties(size=fontsize).get_size_in_points()
    for columns in range(len(handles), 0, -1):
        legend = on.legend(handles=handles, ncols=columns, fontsize=fontsize, handlelength=length, **options, **TIGHT)
        extent = legend.get_window_extent()
        if columns > 1 and extent.width > room:
            legend.remove()
        elif fontsize != "small" and fontsize > SMALLEST and (extent.height > height or extent.width > room):
            legend.remove()
            return _fitting_legend(on, handles, room, height, fontsize=max(SMALLEST, fontsize - 0.5), **options)
        else:
            return None
    return None


def draw_accuracy_on(
    ax: Plot,
    systems: Sequence[SystemSummary],
    metric: str = "exact_match",
    limits: tuple[float, float] = (LOW, HIGH),
    band: Brackets = "interval",
    whole: Sequence[SystemSummary] = (),
) -> str:
    """Draw on axes of somebody else's what `draw_accuracy` draws, in their fonts and sizes, with a legend.

    Panels lie over each other. What did not fit has an entry of the legend, as of any that the author makes of these
    axes. It stands below the axes where a layout engine makes room, or it would fill them. Returns what is drawn, in
    words.
    """
    parts, shared = told_apart([panel for panel in panels(systems) if panel.cells], systems, metric)
    drawn, grays = [_Panel(None, ax, panel, systems, metric, limits, band) for panel in parts], set[str]()
    names = _on_one_line(systems)
    for one in drawn:
        for index, cells in sorted(one.panel.cells.items(), key=lambda each: each[0] in shared):
            label = shared.get(index) or ", ".join(filter(None, (names[index], axes_text(one.panel.axes))))
            one.system(index, cells, label * (label not in grays))
            grays |= {label} if index in shared else set()
    for line in _unfitted(systems, 1 if shared else MOST_UNFITTED):
        ax.add_line(line)
    ax.set_ylabel(metric.replace("_", " "))
    figure: Any = ax.get_figure(root=True)
    makes_room = figure.get_layout_engine() is not None
    if makes_room:
        figure.get_layout_engine().execute(figure)  # the room that texts have
    box = ax.get_window_extent()
    small = box.width * 72 / figure.dpi < 72 * NARROW
    drawn[0].ground(small=small, legend=True)
    xlabel = "length, logarithmic axis" if drawn[0].logarithmic and not small else "length"
    ax.set_xlabel(xlabel)
    legend = ax.legend()
    extent = legend.get_window_extent()
    if makes_room or small or extent.width * extent.height > box.width * box.height / 4:
        legend.remove()
        room = 0.94 * (box.x1 if len(figure.axes) == 1 else box.width)
        labels = (ax.xaxis.label, ax.xaxis.get_major_ticks(1)[0].label1)
        texts = 1.4 * sum(float(label.get_fontsize()) for label in labels)
        under = ax.transAxes + _moved(ax, up=-(texts + ax.xaxis.labelpad + 5))
        _fitting_legend(
            ax, ax.get_legend_handles_labels()[0], room, loc="upper center", bbox_to_anchor=(0.5, 0),
            bbox_transform=under, borderaxespad=0, frameon=False, fontsize="small",
        )  # fmt: skip
    return _described(drawn, systems, metric, band, whole, shared)


MOST_UNFITTED = 3
"""Systems without a fitted seed that a legend names; of more it says how many they are."""


def _unfitted(systems: Sequence[SystemSummary], most: int) -> list[Any]:
    """The entries of a legend for the systems without a fitted seed, which names so many."""
    names = _not_fitted(systems)
    names = names if len(names) <= most else [f"{len(names)} systems"]
    return [
        Line2D([], [], color=QUIET, marker="x", ms=4.5, ls="none", label=f"{name} (did not fit, not drawn)")
        for name in names
    ]


def _handle(part: _Panel, index: int, name: str) -> Any:
    """The entry of a system in a legend, without a line where no seed fitted."""
    look, fitted = part.panel.looks[index], part.systems[index].fitted
    style = part.style(index) if fitted else "none"
    style = (0, style[1]) if isinstance(style, tuple) else style  # it begins with a dash
    return Line2D(
        [], [], color=look.colour, marker=look.marker if fitted else "x", ms=4.5,
        lw=1 if isinstance(look, Gray) else 2, ls=style, label=name,
    )  # fmt: skip


def _with_fitted(system: SystemSummary, letters: int) -> str:
    """The system on lines of ``letters`` characters, how many seeds fitted, and how many fall that a median hides."""
    name, fitted, seeds = short_name(system.label, letters), len(system.fitted), len(system.results)
    name += f"\nfitted: {fitted} of {seeds}" * (fitted < seeds)
    rates = [[score.rate() for score in cell.scores] for cell in system.cells if cell.length > system.max_length]
    hidden = min(map(median, rates), default=0.0) >= RIGHT and min(map(min, rates)) < WRONG
    fallen = len(fallen_seeds(system))
    return name + f"\n{fallen} of {fitted} seeds fall{'s' * (fallen == 1)}" * hidden


def _on_one_line(systems: Sequence[SystemSummary]) -> list[str]:
    return [_with_fitted(system, 999).replace("\n", ", ") for system in whole_names(systems)]


def _not_fitted(systems: Sequence[SystemSummary]) -> list[str]:
    return [short_name(system.label, 999) for system in whole_names(systems) if not system.fitted]


@dataclass
class _Panel:
    """Draws one panel, of a figure of its own or on axes of somebody else's."""

    figure: Drawing | None
    plot: Plot
    panel: Panel
    systems: Sequence[SystemSummary]
    metric: str
    heights: tuple[float, float]
    band: Brackets

    def __post_init__(self) -> None:
        self.lengths, self.drew = self.panel.lengths, set[str]()
        """Which of `KINDS` the panel has."""
        self.floor = Counter[int]()
        """How many marks of seeds are at the floor, by length."""
        self.named = list[Any]()
        """The line of chance and a bar at a training length, where a legend names them."""
        self.trained_to = {index: self.systems[index].max_length for index in self.panel.cells}
        self.trained = min(self.trained_to.values())
        """On lengths up to it all systems were trained."""
        shortest = min(self.lengths[0], self.trained)
        self.logarithmic = shortest > 0 and self.lengths[-1] > 6 * shortest
        self.limits = _limits(shortest, max(self.lengths[-1], *self.trained_to.values()), self.logarithmic)

    def draw(self, size: float, *, small: bool = False, legend: bool = False, low: bool = False) -> None:
        """All lines, the training lengths and the chance line, with text of ``size`` points, less in a small panel."""
        plot = self.plot
        plot.tick_params(labelsize=size)
        plot.set_xlabel("length, logarithmic axis" if self.logarithmic and not small else "length", fontsize=size)
        plot.set_ylabel(self.metric.replace("_", " "), fontsize=size)
        if self.panel.title:
            plot.set_title(short_name(self.panel.title, 24 if small else 44), fontsize=size + 1.5, fontweight="bold")
        for index, cells in self.panel.cells.items():
            self.system(index, cells)
        self.ground(size, small=small, legend=legend, low=low)

    def ground(
        self, size: float | None = None, *, small: bool = False, legend: bool = False, low: bool = False
    ) -> None:
        """Axes with the tested lengths, the training lengths, and the chance line, which a ``legend`` names.

        It names training lengths, too, where panels are ``low`` and have no room for text.
        """
        plot, (left, right) = self.plot, self.limits
        if self.logarithmic:
            log_axis(plot, "x", [])
        plot.set_xlim(left, right)
        plot.set_ylim(*self.heights)
        plot.xaxis.set_major_locator(TestedLengths(sorted({self.trained, *self.lengths}), self.trained))
        several = len({*self.trained_to.values()}) > 1
        if self.heights == (LOW, HIGH):
            plot.set_yticks([0, 0.5, 1] if low else [0, 0.25, 0.5, 0.75, 1])
        shade = plot.axvspan(left, self.trained, color=BAND, zorder=0, linewidth=0)
        least = f"all trained to {'≥ ' if small else ''}{self.trained}{'' if small else ' or more'}"
        own = f"trained{'' if small else ' up'} to {self.trained}"
        text, side = f" ◂ {least if several else own}", "left"
        if self._share(self.trained) > 0.5:
            text, side = f"{text[3:]} ", "right"
        top = self.heights[1] - 0.0466 * (self.heights[1] - self.heights[0])
        if low:
            shade.set_label(least if several else own)
            self.named.append(shade)
        else:
            plot.text(self.trained, top, text, ha=side, va="center", color=QUIET, fontsize=size)
        chance = common_chance(
            [self.systems[index] for index in self.panel.cells], self.lengths[-1], self.panel.axes, self.metric
        )
        if chance and chance > self.heights[0]:
            self.drew.add("chance")
            of = chance_of([self.systems[index] for index in self.panel.cells], self.metric)
            of = of or "answer" * (not legend)
            label = f"chance {rounded(chance, 2)}{f' ({of})' * bool(of)}"
            line = plot.axhline(chance, color=QUIET, lw=1, ls=CHANCE, zorder=1, label=label)
            self.named.append(line)
        if several:
            self.drew.add("trained")
            if legend:
                self.named += plot.plot([], [], marker="|", ms=5, mew=2, color=QUIET, ls="none", label=BAR)
            else:
                plot.set_xlabel(f"{plot.get_xlabel()} ({BAR})")
            above = Counter[int]()
            for index, length in self.trained_to.items():
                if length > self.trained:
                    look, up = self.panel.looks[index], _moved(plot, up=4 + APART * above[length])
                    plot.plot(
                        [length], [0], marker="|", ms=7, mew=2, color=look.colour, clip_on=False,
                        ls="none", zorder=4, transform=plot.get_xaxis_transform() + up,
                    )  # fmt: skip
                    above[length] += 1

    def _share(self, length: float) -> float:
        left, right = self.limits
        if self.logarithmic:
            return log(length / left) / log(right / left)
        return (length - left) / (right - left)

    def system(self, index: int, cells: Sequence[Cell], label: str = "") -> None:
        """The line of the medians, its interval, each seed, and the accuracy with the right ids given."""
        name, look = short_name(self.systems[index].label, 999), self.panel.looks[index]
        found = [(cell, estimate) for cell in cells if (estimate := cell.estimate(self.metric, self.band))]
        if not found:
            return
        at, medians = [cell.length for cell, _ in found], [estimate.median for _, estimate in found]
        low, high = [estimate.low for _, estimate in found], [estimate.high for _, estimate in found]
        best = min(self.panel.cells)
        first = {cell.length: one.median for cell in self.panel.cells[best] if (one := cell.estimate(self.metric))}
        near = sum(abs(first.get(length, 2) - mine) <= ALIKE for length, mine in zip(at, medians, strict=True))
        above = 3.6 if index == best else 3.7 if 2 * near >= len(at) else 3  # it has gaps
        style: dict[str, Any] = {"color": look.colour, "zorder": above}
        tips = [
            f"{name}, length {cell.length}: {rounded(e.median)}, {rounded(e.low)} to {rounded(e.high)}"
            for cell, e in found
        ]
        gray, gaps = isinstance(look, Gray), self.style(index)
        if gray:
            style |= {"lw": 1, "zorder": 1.5}
        elif self.figure is not None:
            style |= {"ms": MARKER, "lw": 2, "clip_on": self.heights != (LOW, HIGH)}
        self.drew |= {"gaps"} if gaps != look.dashes else set()
        places = [self.places.get(index, {}).get(length, 0) for length in at]
        self.drew |= {"rings"} if any(places) else set()
        for place in sorted({0, *places}):  # the first has the line
            these = [at for at, one in enumerate(places) if one == place]
            style["gid"] = (
                self.figure.tip_id([tips[at] for at in these]) if self.figure and these and not gray else None
            )
            own = {"ls": gaps, "label": label} if place == 0 else {"ls": "none", "mfc": "none", "ms": self._ring(place)}
            self.plot.plot(at, medians, marker=look.marker, markevery=these, **style | own)
        colour = look.colour
        if self.band == "range" or (self.band == "interval" and is_interval(len(self.systems[index].fitted))):
            self.plot.fill_between(at, low, high, color=colour, alpha=0.15, lw=0)
        middle = dict(zip(at, medians, strict=True))
        for seed in range(len(cells[0].scores)):
            scores = ((cell.length, cell.scores[seed]) for cell in cells if seed < len(cell.scores))
            rates = {length: score.rate(self.metric) or 0.0 for length, score in scores}
            aside = {length: abs(rate - middle.get(length, rate)) for length, rate in rates.items()}
            thin: dict[str, Any] = {"color": colour, "lw": 0.7, "alpha": 0.45, "zorder": 2}
            if gray:
                thin |= {"lw": 0.5, "zorder": 1.4}
            elif max(aside.values()) > ASIDE:
                thin |= {"lw": 1, "alpha": 0.9, "zorder": 3.5}  # over the medians of others but the best
                for length in (at for at, far in aside.items() if far > (ASIDE if at == max(rates) else FAR)):
                    self._mark(length, rates[length], look)
            self.plot.plot([*rates], [*rates.values()], **thin)
        ceiling = [estimate.median for cell in cells if (estimate := cell.estimate("oracle_ids"))]
        predicted = all("exact_match_ids" in score.correct for cell in cells for score in cell.scores)
        complete = predicted and len(ceiling) == len(medians)
        if complete and not gray and any(c - m > 0.01 for c, m in zip(ceiling, medians, strict=True)):
            self.drew.add("ids")
            self.plot.plot(at, ceiling, color=colour, lw=1.3, ls=(0, (1, 1.5)), zorder=2)

    @cached_property
    def places(self) -> dict[int, dict[int, int]]:
        """By system and length, the place of its marker among those that are as high, from within: the first free."""
        found, medians = dict[int, dict[int, int]](), dict[int, dict[int, float]]()
        for index in (at for at in self.panel.cells if not isinstance(self.panel.looks[at], Gray)):
            each = ((cell.length, cell.estimate(self.metric)) for cell in self.panel.cells[index])
            medians[index], found[index] = {length: one.median for length, one in each if one is not None}, {}
            for length, mine in medians[index].items():
                alike = (at for at in medians if abs(medians[at].get(length, 2) - mine) <= ALIKE)
                taken = {found[at].get(length) for at in alike}
                found[index][length] = next(place for place in count() if place not in taken)
        return found

    def style(self, index: int) -> Any:
        """That of the look of a line; with gaps where it lies over others at half of its lengths or more."""
        place = median_high(self.places.get(index, {}).values() or [0])
        return GAPS[place % len(GAPS)] if place else self.panel.looks[index].dashes

    def _ring(self, place: int) -> float:
        """Points that a hollow marker is high which stands around others of its length."""
        most = max(one for of in self.places.values() for one in of.values())
        return MARKER + min(RING, WIDEST / most) * place

    def names(self, names: Sequence[str], size: float, points: float) -> None:
        """Names at the line ends of a plot that is ``points`` high, moved apart where they would overlap."""
        plot, (low, high), looks = self.plot, self.heights, self.panel.looks
        last = {index: (cells[-1], cells[-1].estimate(self.metric)) for index, cells in self.panel.cells.items()}
        ends = [
            (found.median, -index, cell.length, names[index]) for index, (cell, found) in last.items()
            if found is not None
        ]  # fmt: skip
        ends += [(line.get_ydata()[0], 1, self.limits[1], short_name(line.get_label(), 17)) for line in self.named]
        ends.sort(reverse=True)
        heights = [(name.count("\n") + 1.35) * 1.25 * size / points * (high - low) for *_, name in ends]
        wanted = [min(max(value, low), high) for value, *_ in ends]
        for value, y, (_, minus, length, name) in zip(wanted, _apart(wanted, heights, self.heights), ends, strict=True):
            look = looks.get(-minus)
            gray, colour = isinstance(look, Gray), QUIET if look is None else look.colour
            plot.annotate(
                name, (1, y), xycoords=("axes fraction", "data"), xytext=(19, 0), textcoords="offset points",
                color=QUIET if look is None or gray else INK, va="center", fontsize=size,
                annotation_clip=False, linespacing=1.15,
            )  # fmt: skip
            style: Any = {"marker": look.marker if look else "None", "ms": 5.5, "color": colour, "clip_on": False}
            plot.plot([1], [y], ls="none", transform=_right_of(plot), **style)
            if not gray:
                plot.annotate(
                    "", (length, value), xytext=(1.0, y), textcoords=_right_of(plot), annotation_clip=False,
                    arrowprops={"arrowstyle": "-", "color": QUIET, "lw": 0.6, "ls": ":", "shrinkA": 0, "shrinkB": 4},
                )  # fmt: skip

    def _mark(self, length: int, rate: float, look: Look) -> None:
        """A small one of a seed, above others that are at the floor there."""
        above = self.floor[length] if rate < ASIDE else 0
        self.floor[length] += rate < ASIDE
        self.drew.add("marks")
        self.plot.plot(
            [length], [rate], color=look.colour, marker=look.marker, ms=2.8, zorder=4,
            clip_on=self.heights != (LOW, HIGH), transform=self.plot.transData + _moved(self.plot, up=4 * above),
        )  # fmt: skip


ASIDE, FAR = 0.05, 0.25
"""A seed that is farther from the median is drawn over the medians, with a mark at its end, and where it is far."""
ALIKE = 0.03
"""Medians that are no farther apart lie over each other in a figure."""
MARKER, RING, WIDEST = 5.5, 2.6, 9.0
"""Points that the marker of a median is high, that one around it is higher, and the highest at most."""
GAPS: tuple[Any, ...] = ("-", (0, (2, 4)), (4, (2, 4)), (2, (1, 5)))
"""Of lines over each other: two of them are seen in turn with the one below."""


def _limits(low: float, high: float, logarithmic: bool) -> tuple[float, float]:
    if logarithmic:
        return low / (high / low) ** 0.06, high * (high / low) ** 0.03
    return (low - 1, high + 1) if low == high else (low - 0.06 * (high - low), high + 0.03 * (high - low))


def _right_of(plot: Plot) -> Transform:
    """Coordinates with x in 12 points right of the plot and y in data."""
    return blended_transform_factory(plot.transAxes, plot.transData) + _moved(plot, right=12)


def _moved(plot: Plot, right: float = 0, up: float = 0) -> Transform:
    return ScaledTranslation(right / 72, up / 72, plot.get_figure(root=True).dpi_scale_trans)  # type: ignore[union-attr]


def _apart(wanted: Sequence[float], heights: Sequence[float], limits: tuple[float, float]) -> list[float]:
    """Centres from top to bottom, as near to ``wanted`` as boxes of these heights allow within the plot."""
    centres: list[float] = []
    for value, height in zip(wanted, heights, strict=True):
        top = centres[-1] - heights[len(centres) - 1] / 2 if centres else limits[1]
        centres.append(min(value, top - height / 2))
    floor = limits[0]
    for index in reversed(range(len(centres))):
        centres[index] = max(centres[index], floor + heights[index] / 2)
        floor = centres[index] + heights[index] / 2
    return centres


ACCENT = COLOURS[1]

Point = tuple[float, float]


def draw_dependencies(shown: TokenSequence, width: float = WIDE) -> Drawing:
    """One or two panels; one scored token and its parents are highlighted, the other dependencies are faint.

    Distances count from the token before the scored one, which has a dashed outline: there the model predicts it.
    """
    focus = _focus(shown)
    places = [token.places[0] for token in shown.tokens]
    rows = min(max(Counter(places).values()), 14)
    plain = [(float(t), 0.0) for t in range(len(shown.tokens))]
    salt = "dependencies" + shown.title
    alt = "Dependencies of one example under plain and coupled position ids"
    with new_figure(width, 2.5 + (0.45 * rows + 1.0 if any(places) else 0), salt, alt) as figure:
        if any(places):
            top, bottom = figure.subplots(2, 1, height_ratios=[2.3, 0.42 * rows + 0.9])
            _draw(bottom, shown, _stacked(places), focus, arcs=False)
            _title(bottom, "coupled ids: a column shares an id", shown, focus, places=True)
        else:
            top = figure.subplots()
        _draw(top, shown, plain, focus, arcs=True)
        _title(top, "plain ids: every token has its own", shown, focus, places=False)
        return figure


def _focus(shown: TokenSequence) -> int:
    """The scored token to highlight: of those with the farthest parent in ids that coupling gives, if it does.

    Of these, among those with most parents, the middle one.
    """
    places = any(token.places[0] for token in shown.tokens)
    ranks = {token.position: (shown.reach(token, places=places), len(token.parents)) for token in shown.scored}
    best = [position for position, rank in ranks.items() if rank == max(ranks.values())]
    return best[len(best) // 2]


def _stacked(places: list[int]) -> list[Point]:
    """Column = place, row = number of earlier tokens of that place."""
    return [(float(place), -float(places[:at].count(place))) for at, place in enumerate(places)]


def _title(plot: Plot, text: str, shown: TokenSequence, focus: int, *, places: bool) -> None:
    away = shown.reach(shown.tokens[focus], places=places)
    most = max(shown.reach(token, places=places) for token in shown.scored)
    unit = f"id{'s' * (away != 1)} from the predicting token (dashed)"
    other = f", {most} of another token" * (most > away)
    plot.set_title(f"{text}; farthest parent: {away} {unit}{other}", fontsize=10, pad=12)


def _draw(plot: Plot, shown: TokenSequence, points: list[Point], focus: int, *, arcs: bool) -> None:
    plot.grid(False)
    plot.set_yticks([])
    plot.spines[["left", "bottom"]].set_visible(False)
    low, high = min(y for _, y in points), max(y for _, y in points)
    right = max(max(x for x, _ in points), 1.0)
    tallest = 0.0
    for token in sorted(shown.scored, key=lambda token: token.position == focus):
        for parent in token.parents:
            ends, picked = (points[parent], points[token.position]), token.position == focus
            if arcs:
                tallest = max(tallest, _arc(plot, *ends, picked, right))
            else:
                _line(plot, *ends, picked)
    picked = {focus, *shown.tokens[focus].parents}
    for token, (x, y) in zip(shown.tokens, points, strict=True):
        predicting = token.position == focus - 1
        edge = ACCENT if token.position in picked else INK if predicting else LINE
        face = ACCENT if token.position == focus else TINT if token.position in picked else PAPER
        ink = PAPER if token.position == focus else INK if token.scored or token.position in picked else QUIET
        plot.text(
            x, y, token.text.strip("<>"), ha="center", va="center", fontsize=10 if len(points) <= 40 else 8, color=ink,
            bbox={"boxstyle": "round,pad=0.28", "fc": face, "ec": edge, "lw": 1.4 if predicting else 0.9,
                  "ls": (0, (2, 1.5)) if predicting else "-"},
            fontweight="bold" if token.scored else "normal", zorder=4,
        )  # fmt: skip
    plot.set_xlim(-0.8, right + 0.8)
    plot.set_ylim(low - 0.6, max(high + 0.6, tallest + 0.3))
    plot.set_xticks(range(0, int(right) + 1, max(1, int(right) // 24)))
    plot.tick_params(labelsize=8)
    plot.set_xlabel("position id", fontsize=9)


def _arc(plot: Plot, start: Point, end: Point, picked: bool, reach: float) -> float:
    """Draw an arc between two tokens; returns its height."""
    height, lift = 0.4 + 2.6 * abs(end[0] - start[0]) / reach, 0.35
    corners = [(start[0], lift), (start[0], height * 1.33), (end[0], height * 1.33), (end[0], lift)]
    curve = Curve(corners, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
    plot.add_patch(PathPatch(curve, fill=False, **_stroke(picked)))
    return height


def _line(plot: Plot, start: Point, end: Point, picked: bool) -> None:
    bend = "arc3,rad=0.25" if start[0] == end[0] else "arc3,rad=0.08"
    style: Any = {"connectionstyle": bend, "arrowstyle": "-", "shrinkA": 8, "shrinkB": 8, **_stroke(picked)}
    plot.add_patch(FancyArrowPatch(start, end, **style))


def _stroke(picked: bool) -> dict[str, Any]:
    return {"ec": ACCENT, "lw": 1.6, "zorder": 3} if picked else {"ec": FAINT, "lw": 0.7, "zorder": 1}


AXES = {"problem": "problem", "length": "words"}
"""What is on the horizontal axis of a sweep, if that is not its own name."""


def draw_audit(cells: Sequence[Mapping[str, Any]], titles: Mapping[str, str], width: float = WIDE) -> Drawing:
    """Rates of right answers with 95 % intervals, a panel for each sweep and in it a line per form."""
    sweeps = [sweep for sweep in titles if any(cell["sweep"] == sweep for cell in cells)]
    columns = len(sweeps) if width > 2 * NARROW else 1
    lines = -(-len(sweeps) // columns)
    salt = f"audit {width} {len(cells)}"
    with new_figure(
        width, (2.4 if lines == 1 else 1.7) * lines + 0.4, salt, "Rate of right answers as one thing at a time varies"
    ) as figure:
        grid = figure.subplots(lines, columns, sharey=True, squeeze=False)
        for plot, sweep in zip(grid.flat, sweeps, strict=True):
            plot.set_title(titles[sweep], fontsize=9)
            _panel(figure, plot, AXES.get(sweep, sweep), [cell for cell in cells if cell["sweep"] == sweep])
        if len(grid.flat[0].lines) > 1:
            grid.flat[0].legend(fontsize=8, frameon=False)
        for plot in grid[:, 0]:
            plot.set_ylabel("right answers", fontsize=9)
        return figure


def _panel(figure: Drawing, plot: Plot, axis: str, cells: Sequence[Mapping[str, Any]]) -> None:
    plot.set_ylim(-0.05, 1.05)
    for index, form in enumerate(dict.fromkeys(cell["form"] for cell in cells)):
        rows = [cell for cell in cells if cell["form"] == form and cell["rate"] is not None]
        if not rows:
            continue
        at = [cell[axis] for cell in rows]
        tips = [f"{form}: {cell['counts']['right']} of {cell['answered']} right" for cell in rows]
        colour = COLOURS[index % len(COLOURS)]
        plot.vlines(at, [cell["low"] for cell in rows], [cell["high"] for cell in rows], color=colour, lw=1)
        plot.plot(
            at, [cell["rate"] for cell in rows], color=colour, marker=MARKERS[index % len(MARKERS)], ms=5, lw=1.5,
            label=form, clip_on=False, gid=figure.tip_id(tips),
        )  # fmt: skip
    at = sorted({cell[axis] for cell in cells})
    if at and at[0] > 0:
        log_axis(plot, "x", [], base=2)
        plot.xaxis.set_major_locator(TestedLengths(at, at[0]))
        plot.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}" if value >= 2 else f"{value:.1f}")
    else:
        plot.xaxis.set_major_locator(MaxNLocator(5, integer=True))


VERDICT_COLOURS = {"yes": COLOURS[2], "no": COLOURS[1], "unknown": QUIET}
"""Of what was predicted; people with any common colour blindness can tell them apart."""
BLIND_BIN = "101-150"
"""The lengths on which a blind study decides."""
BLIND_SPREAD = 0.13
"""Vertical distance between the dots of neighbouring seeds, in rows."""


def draw_blind(rows: Sequence[Mapping[str, Any]], cut: float, width: float = WIDE) -> Drawing:
    """Accuracy of every seed in one bin, the lower one of uniform and adversarial words.

    Filled dots are fitted seeds of decided cells; hollow ones are all others. A bar is the median that decides.
    """
    encodings = list(dict.fromkeys(str(row["encoding"]) for row in rows))
    languages = list(dict.fromkeys(str(row["language"]) for row in rows))
    small = width < 2 * NARROW
    labels = [short_name(text, 12 if small else 30) for text in languages]
    lines = max(label.count("\n") + 1 for label in labels)
    salt = f"blind {width} {' '.join(languages)}"
    alt = (
        f"Accuracy on {BLIND_BIN} symbols of every seed; colour tells the prediction; filled: fitted seeds of decided "
        "cells, hollow: all others"
    )
    with new_figure(width, max(1.8, 0.9 + max(0.2, 0.16 * lines) * len(languages)), salt, alt) as figure:
        plots = figure.subplots(1, len(encodings), sharey=True, squeeze=False)[0]
        for plot, encoding in zip(plots, encodings, strict=True):
            plot.set_title(short_name(encoding, 20), fontsize=9)
            plot.tick_params(labelsize=7.5 if small else 8.5)
            plot.axvline(cut, color=QUIET, lw=0.8, ls=":")
            plot.grid(visible=False, axis="y")
            for row in rows:
                if str(row["encoding"]) == encoding:
                    _row(figure, plot, row, languages.index(str(row["language"])))
            plot.set_xlim(-0.05, 1.05)
            plot.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            plot.set_xlabel("accuracy", fontsize=8 if small else 9)
        plots[0].set_ylim(len(languages) - 0.4, -0.6)
        plots[0].set_yticks(range(len(languages)), labels, color=INK)
        return figure


def _row(figure: Drawing, plot: Plot, row: Mapping[str, Any], line: int) -> None:
    colour = VERDICT_COLOURS[row["predicted"]]
    for index, seed in enumerate(row["seeds"]):
        rates = [found["rate"] for found in seed["sets"].get(BLIND_BIN, {}).values()]
        if not rates:
            continue
        height = line + BLIND_SPREAD * (index - (len(row["seeds"]) - 1) / 2)
        face = colour if row["status"] == "decided" and seed["fitted"] else PAPER
        tip = f"{row['language']}, {row['encoding']}, seed {seed['seed']}: {rounded(min(rates))}"
        plot.plot(
            [min(rates)], [height], "o", ms=3.4, mec=colour, mfc=face, mew=0.8, clip_on=False,
            gid=figure.tip_id([tip]),
        )  # fmt: skip
    if row["score"] is not None and row["status"] == "decided":
        plot.plot([row["score"]] * 2, [line - 0.4, line + 0.4], color=INK, lw=1)
