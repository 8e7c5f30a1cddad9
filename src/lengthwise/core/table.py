"""A table for terminals, notebooks and papers: what every public result shows of itself."""

from __future__ import annotations

import csv
import io
import re
import shutil
import textwrap
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, copysign, floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core import config as arguments
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import named_file, write_text

if TYPE_CHECKING:
    import pandas

DIGITS = 3
"""Digits after the point that are shown of a number, unless a table has others."""
WIDTH = 80
"""Columns of a terminal that answers keep to."""
GOES_ON = " \\"
"""The end of a line of a command that goes on."""
COMMENT = " # "
"""What stands in a command before what it is about, which no shell obeys."""
PAGE = 345
"""Points of a line of LaTeX's ``article``."""
SMALL = r"\small\setlength{\tabcolsep}{3pt}"
SIZES = {"": (5.1, 12), SMALL: (4.7, 6), SMALL.replace("small", "footnotesize"): (4.3, 6),
         SMALL.replace("small", "scriptsize"): (4.0, 6)}  # fmt: skip
"""What sets a table in letters of this size, and the points of a letter and of the room between columns then."""
STUDY = "how these results came about: see "
"""The beginning of the advice to read the page of a study."""
NEXT = "next"
"""What the advice to follow first begins with, before a colon."""
NAMES = 10
"""Letters of a terminal for the names of the rows of an answer, with the room behind them."""
MOST_SPREADS = 3
"""Columns that keep their brackets in LaTeX, however wide they are."""
LONGEST = 45
"""Rows of a table that a page has room for."""
WRAPPED = (32, 24, 20, 16, 12)
"""Letters of a line of a cell, where a table is too wide otherwise."""
MOST_BELOW = 8
"""Rows of a table whose brackets a terminal shows below numbers, where there is no room for them beside these."""
MOST_ROWS = 30
"""Rows of a longer table of numbers that a terminal shows, unless the table says another number."""


class Advice(tuple[str, ...]):
    """Strings that print as numbered lines of a terminal's width."""

    def __repr__(self) -> str:
        digits = len(str(len(self)))
        return "\n".join(_filled(line, f"{at:{digits}}. ") for at, line in enumerate(self, 1))


class Spread(float):
    """A number that stands for several, with the lowest and the highest of them, which tables show in brackets."""

    low: float
    high: float

    def __new__(cls, value: float, low: float, high: float) -> Spread:
        made = super().__new__(cls, value)
        made.low, made.high = low, high
        return made

    def __reduce__(self) -> tuple[type[Spread], tuple[float, float, float]]:
        return Spread, (float(self), self.low, self.high)


@arguments.named_arguments
@dataclass(frozen=True, repr=False)
class Table:
    """Columns and rows, with an answer and a caption above and notes below.

    Cells are strings, numbers or None (shown as a dash, or as ``empty`` says). A column without a value in any row is
    not shown, and not in CSV; a ``DataFrame`` keeps it. Both have columns ``… low`` and ``… high`` of their own for the
    ends of a `Spread`. Columns in ``sentences`` are too long for a printed table.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    bold: frozenset[tuple[int, int]] = frozenset()
    """Rows and columns of cells that are bold in HTML, Markdown and LaTeX, such as the best of a column."""
    alike: frozenset[tuple[int, int]] = frozenset()
    """Rows and columns of numbers with a dagger."""
    near: frozenset[tuple[int, int]] = frozenset()
    """Rows and columns of numbers that may lie on either side of a bar."""
    advice: tuple[str, ...] = ()
    """For the author: what to do, what was trained, how it was chosen. In LaTeX comments.

    A terminal has the first as a row of the answer where there is one.
    """
    legend: Mapping[str, str] = field(default_factory=dict)
    """What ``bold``, ``†`` and other marks mean: the first line below; plain text has a star in place of bold."""
    digits: int = DIGITS
    """Digits after the point that are shown of a number."""
    source: str = ""
    """Where the numbers are from: the last comment in LaTeX."""
    empty: tuple[str, ...] = ()
    """What stands for None, by row."""
    named: frozenset[str] = frozenset()
    """Columns of numbers of which the caption speaks: a terminal always shows them."""
    above: tuple[str, frozenset[str]] = ("", frozenset())
    """A word above columns that stand side by side, such as ``length``, and these."""
    lacks: str = ""
    """What was measured and has no column, and how to ask for it; a terminal says so."""
    printed: str = ""
    """The caption in LaTeX, where it is another."""
    inside: Callable[[Collection[int]], str] | None = field(default=None, compare=False)
    """What the brackets of these rows are, where LaTeX may leave out those of others."""
    answer: Mapping[str, str] = field(default_factory=dict)
    """What the numbers answer, by the names of its rows, such as ``finding``, which is the first."""

    most: int = MOST_ROWS
    """Rows that a terminal shows of a table of numbers."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "advice", Advice(self.advice))

    def __repr__(self) -> str:
        shown, below, left_out = self._screen() if self.rows else ("", False, [])
        gone = [f"{'; '.join(left_out)} (all: `.to_markdown()`)"] * bool(left_out) + [self.lacks] * bool(self.lacks)
        step, *commands = self.advice[0].split("\n") if self.advice else [""]
        gone = [f"not shown: {'; '.join(gone)}"] * bool(gone) + ["more: `.advice`"] * (len(self.advice) > 1)
        begins, rows = f"{NEXT}: ", dict(self.answer)
        if rows and step.startswith(begins):
            step = step.removeprefix(begins)
            rows, step = {**rows, NEXT: f"{step[:1].upper()}{step[1:]}{':' if commands else '.'}"}, ""
        told = [*answered(rows), *_commands(commands) * (NEXT in rows), *[""] * bool(rows)]
        lines = [_filled(self.caption) * bool(self.caption), shown]
        lines += map(_filled, ("; ".join([*self._below("*", left_out, below), *gone]), step))
        lines += _commands(commands) * (NEXT not in rows)
        return "\n".join([*told, *filter(None, lines)])

    def _screen(self) -> tuple[str, bool, list[str]]:
        """The table as far as a terminal has room, whether brackets stand below numbers, and what is left out.

        Where it is too wide, first headings break, then what brackets hold goes below its number, and names break
        between words; where that is not enough, brackets go, and names break. Then go columns of numbers from the last
        but one on; those that are ``named``, or else the first and the last, stay. At last go columns without measured
        numbers behind those that are ``named``, their texts break, and of those ``named`` the last but one goes and so
        on. One without measured numbers is whole.
        """
        room, kept, rows = max(WIDTH, shutil.get_terminal_size().columns), self._filled(), self.rows
        numbers = [at for at in kept if any(isinstance(row[at], float) for row in rows)]
        table = replace(self, rows=rows[: self.most] if numbers else rows)
        more = len(rows) - len(table.rows)
        wanted = [at for at in numbers if self.columns[at] in self.named] or [*numbers[:1], *numbers[1:][-1:]]
        others = [at for at in reversed(numbers) if at not in wanted]
        bracketed = [
            at for at in numbers
            if any("(" in shown(row[at], self.digits) for row in rows if isinstance(row[at], Spread))
        ]  # fmt: skip
        behind = kept[next((at for at, one in enumerate(kept) if self.columns[one] in self.named), len(kept)) :]
        texts = [at for at in reversed(behind) if at not in numbers and self.columns[at] not in self.named]
        below, bare, gone, heads = set[int](), set[int](), list[int](), self.columns

        def plain(at: int, cell: Any) -> Any:
            if not isinstance(cell, Spread) or at not in below | bare:
                return cell
            return float(cell) if at in bare else _over_ends(cell, self.digits)

        def text() -> str:
            plain_rows = (tuple(plain(at, cell) for at, cell in enumerate(row)) for row in table.rows)
            bare_heads = replace(table, columns=heads, rows=tuple(plain_rows), above=("", frozenset()))
            said = bare_heads._formatted("simple", kept)
            return table._headed(said if heads is self.columns else _tight(said), "simple", kept)

        def break_heads() -> None:
            nonlocal heads
            heads = _broken([name if at in kept else "" for at, name in enumerate(self.columns)])

        def drop(column: int) -> None:
            kept.remove(column)
            gone.append(column)

        def go_bare() -> None:
            nonlocal table
            bare.update(bracketed)
            table = replace(table, rows=rows[: len(table.rows)])  # names need not break now

        def wrap(width: int) -> None:
            nonlocal table, heads
            table = replace(table, rows=tuple(tuple(_wrapped(cell, width) for cell in row) for row in table.rows))
            if width == WRAPPED[-1]:
                heads = tuple(re.sub(r"(\w{6})(?=\w{4})", "\\1-\n", head) for head in heads)

        narrow = [partial(wrap, width) for width in WRAPPED[: 0 if texts else -1]]
        steps = [
            break_heads,
            *[partial(below.update, bracketed), *narrow] * (len(table.rows) <= MOST_BELOW),
            go_bare,
            *narrow,
            *(partial(drop, at) for at in (*others, *texts)),
            *(partial(wrap, width) for width in WRAPPED[0 if texts else -1 :]),
            *(partial(drop, at) for at in reversed(wanted[:-1])),
        ]
        for step in steps:
            if max(map(len, (written := text()).splitlines())) <= room:
                break
            step()
        else:
            written = text()
        names = [self.columns[at] for at in sorted(gone)]
        left_out = [
            *[f"{more} row{'s' * (more > 1)}"] * bool(more),
            *["brackets"] * any(at in kept for at in bare),
            *[f"column{'s' * (len(names) > 1)} {', '.join(names)}"] * bool(names),
        ]
        return written, bool(below) and not bare, left_out

    def _repr_html_(self) -> str:
        """HTML for a notebook; all text is escaped."""
        from html import escape

        answer = (f"<p><b>{escape(name)}</b> {escape(says)}</p>" for name, says in self.answer.items())
        caption = "".join(answer).replace("\n", "<br>")
        caption += f"<p><b>{escape(self.caption)}</b></p>" * bool(self.caption)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._below("bold"))
        more = "".join(f"<p>{escape(line)}</p>" for line in self.advice).replace("\n", "<br>")
        more = f"<details><summary>advice</summary>{more}</details>" * bool(more)
        return f"{caption}{self._formatted('html') if self.rows else ''}{notes}{more}"

    def _below(self, bold: str, left_out: Sequence[str] = (), below: bool = False) -> list[str]:
        """What the marks mean that the table has and shows, on one line, and the notes.

        A terminal has no room for all that names leave out, and may have what brackets hold ``below`` a number.
        """
        there, legend = {"bold": self.bold, "†": self.alike, "≈": self.near}, dict(self.legend)
        if bold == "*" and "…" in legend:
            legend["…"] = "`.advice`"
        names = {"bold": bold} | dict.fromkeys(["brackets"] * below, "below a number")
        said = [f"{names.get(mark, mark)}: {says}" for mark, says in legend.items()
                if there.get(mark, mark not in "; ".join(left_out))]  # fmt: skip
        return [*["; ".join(said)] * bool(said), *self.notes]

    @property
    def heads(self) -> list[str]:
        """The columns that are shown."""
        return [self.columns[index] for index in self._filled()]

    @property
    def cells(self) -> list[list[str]]:
        """The rows as they are shown, of these columns."""
        kept = self._filled()
        return [[self._shown(at, index) for index in kept] for at in range(len(self.rows))]

    def _shown(self, row: int, column: int) -> str:
        value = self.rows[row][column]
        return self.empty[row] if value is None and self.empty else shown(value, self.digits)

    def text(self) -> str:
        """The table as plain text, without caption and notes."""
        return self._formatted("simple")

    def to_markdown(self) -> str:
        """The table as a Markdown table."""
        return self._formatted("github")

    def to_latex(self, path: str | Path | None = None, *, caption: str | None = None, label: str | None = None) -> str:
        """The table in LaTeX, with the rules of the package booktabs, numbers to the right.

        The first line says as a comment which packages it needs; letters that these lack are commands. Where it is
        wider than a page of one column, its letters are small; then brackets of more than three columns are left out,
        and a comment says so.

        A ``table`` with its caption above and its notes below; where there are none, a ``tabular``. The columns
        ``sentences`` and the advice follow as comments, for the author to make use of.

        Arguments:
            path: a file that it is also written to; its folder is made.
            caption: LaTeX in place of the table's own caption; ``""`` for the ``tabular`` alone, with caption and notes
                as comments.
            label: what ``\\ref`` calls it.

        Raises: `LengthwiseError` if the file can't be written, and for values that are no text or path.
        """
        for name, value in (("caption", caption), ("label", label)):
            if value is not None:
                arguments.text(name, value)
        columns = [index for index in self._filled() if self.columns[index] not in self.sentences]
        spreads = [at for at in columns if any(isinstance(row[at], Spread) for row in self.rows)]
        if self._wide(columns, *SIZES[SMALL]) > PAGE and len(spreads) > MOST_SPREADS:
            ways, bare = (self._tighter(least / 10) for least in range(1, 10)), self._tighter(float("inf"))
            table = next((one for one in ways if one._wide(columns, *[*SIZES.values()][-1]) <= PAGE), bare)
            return table.to_latex(path, caption=caption, label=label)
        # A table without rows needs its columns, too.
        letters = "{tabular}{" + "l" * len(columns) + "}"
        text = self._formatted("latex_booktabs", columns).replace("{tabular}{}", letters, 1)
        said = [
            f"{row[0]}, {name}: {row[index]}"
            for index, name in enumerate(self.columns)
            if name in self.sentences
            for row in self.rows
        ]
        finding, *answered = self.answer.items() or [("", "")]
        whole = self.printed or self.caption or finding[1]
        sure, whys = ([f"{name}: {says.rstrip('.')}" for name, says in some] for some in (answered[:1], answered[1:]))
        notes = [*self._below("bold"), *sure]
        bare = caption == "" or not (caption or label or whole or notes)
        sizes = [size for size, of in SIZES.items() if self._wide(columns, *of) <= PAGE][:1]
        broad = ["wider than a page: choose fewer lengths, or shorter labels"] * (not sizes)
        size = (sizes or [*SIZES][-1:])[0]
        broad += ["longer than a page: choose fewer rows"] * (len(self.rows) > LONGEST)
        comments = [
            line
            for line in (
                *((whole, *notes) if bare else ()), *[finding[1]] * (finding[1] != whole), *whys, *broad, *said,
                *(part for line in self.advice for part in line.split("\n")), self.source,
            )
            if line
        ]  # fmt: skip
        if not bare:
            title = _latex(whole) if caption is None else caption
            above = [rf"\caption{{{title}}}"] * bool(title or label) + [rf"\label{{{label}}}"] * bool(label)
            below = [r"\par\smallskip", r"\begin{minipage}{\linewidth}\footnotesize"] * bool(notes)
            below += [f"{_latex(note[:1].upper() + note[1:]).rstrip('.')}." for note in notes]
            below += [r"\end{minipage}"] * bool(notes)
            text = "\n".join(
                [r"\begin{table}", r"\centering", *above, *[size] * bool(size), text, *below, r"\end{table}"]
            )
        text = "".join(letter if letter.isascii() else _command(letter) for letter in text)
        text = "\n".join([NEEDS, text, *(f"% {' '.join(line.split())}" for line in comments)])
        if path is not None:
            write_text(named_file(arguments.path("path", path)), text + "\n")
        return text

    def _tighter(self, least: float) -> Table:
        """Without the brackets that are less far apart, the others in two digits."""

        if not any(isinstance(cell, Spread) and cell.high - cell.low >= least for row in self.rows for cell in row):
            least = float("inf")

        def tight(cell: Any) -> Any:
            if not isinstance(cell, Spread):
                return cell
            ends = "–".join(rounded(end, 2) for end in (cell.low, cell.high))
            return f"{rounded(cell, self.digits)} ({ends})" if cell.high - cell.low >= least else float(cell)

        rows = tuple(tuple(map(tight, row)) for row in self.rows)
        legend = dict(self.legend)
        if "brackets" in legend and least < 1:
            kept = [at for at, row in enumerate(rows) if any("(" in str(cell) for cell in row[1:])]
            of_these = self.inside(kept) if self.inside else legend["brackets"]
            legend["brackets"] = f"{of_these}, where {least:g} wide or more"
        elif least >= 1:
            legend.pop("brackets", None)
        left = ["brackets are left out, as they are wider than a page: choose three lengths for them"] * (least >= 1)
        return replace(self, rows=rows, legend=legend, advice=(*self.advice, *left))

    def _wide(self, columns: Sequence[int], letter: float, gap: float) -> float:
        """How many points LaTeX needs for these columns, of so many for a letter and between two columns."""
        cells = ([self._shown(row, at) + self._signs(row, at) for row in range(len(self.rows))] for at in columns)
        heads = (self.columns[at] for at in columns)
        return sum(
            letter * max(map(_letters, each)) + gap
            for each in ([head, *of] for head, of in zip(heads, cells, strict=True))
        )

    def to_csv(self, path: str | Path | None = None) -> str:
        """The table as CSV; also written to ``path``, if given. Raises `LengthwiseError` if it can't be written."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        columns, rows = self._with_ends(self._filled())
        # The digits beyond are those of rounding.
        writer.writerows([columns, *([float(f"{v:.12g}") if isinstance(v, float) else v for v in row] for row in rows)])
        if path is not None:
            write_text(named_file(arguments.path("path", path)), buffer.getvalue())
        return buffer.getvalue()

    def to_frame(self) -> pandas.DataFrame:
        """The table as a pandas ``DataFrame``; raises `LengthwiseError` where pandas is not installed."""
        try:
            import pandas
        except ImportError:
            raise LengthwiseError("to_frame needs pandas; install it with: pip install 'lengthwise[pandas]'") from None
        columns, rows = self._with_ends(range(len(self.columns)))
        return pandas.DataFrame(rows, columns=columns)

    def _with_ends(self, kept: Iterable[int]) -> tuple[list[str], list[list[Any]]]:
        """These columns and their rows, with two further columns behind each that has a `Spread`."""
        ends = {index: any(isinstance(row[index], Spread) for row in self.rows) * ("low", "high") for index in kept}
        columns = [f"{self.columns[at]} {end}".rstrip() for at, more in ends.items() for end in ("", *more)]
        rows = [
            [part for at, more in ends.items() for part in (row[at], *(getattr(row[at], end, row[at]) for end in more))]
            for row in self.rows
        ]
        return columns, rows

    def _filled(self) -> list[int]:
        """The columns that have a value in some row; all of a table without rows."""
        every = range(len(self.columns))
        return [index for index in every if any(row[index] not in (None, "") for row in self.rows)] or list(every)

    def _formatted(self, style: str, columns: Sequence[int] | None = None) -> str:
        from tabulate import tabulate

        kept = self._filled() if columns is None else columns
        sides = ["right" if _is_numeric([row[index] for row in self.rows]) else "left" for index in kept]
        # In a terminal, a number under its heading's first letter is easier to find.
        sides = ["left"] * len(kept) if style in ("simple", "github") else sides
        before, after, dagger = MARKS.get(style, ("", "", "†"))
        room = {index: max((len(self._signs(at, index)) for at in range(len(self.rows))), default=0) for index in kept}
        # Marks that no style escapes stand for what makes a cell bold, where the style would escape that.
        text = tabulate(
            [
                [self._marked(at, index, self._shown(at, index), style, room[index]) for index in kept]
                for at in range(len(self.rows))
            ],
            headers=[self.columns[index] for index in kept],
            tablefmt=style,
            disable_numparse=True,
            colalign=sides if self.rows else None,
        )
        if style == "latex_booktabs":  # behind a line's end these would be of it
            text = re.sub(r"^( *)([\[*])", r"\1{\2}", text, flags=re.M)
        text = self._headed(text, style, kept)
        return text.replace("\ue000", before).replace("\ue001", after).replace("\ue002", dagger)

    def _headed(self, text: str, style: str, columns: Sequence[int]) -> str:
        """The text of a table with the word above the columns that it is of; Markdown has no room for it."""
        word, of = self.above
        places = [place for place, at in enumerate(columns) if self.columns[at] in of]
        if not places or not self.rows:
            return text
        first, count = places[0], len(places)
        if style == "simple":
            start, _ = _spans(text)[first]
            return f"{' ' * start}{word}\n{text}"
        if style == "html":
            above = f'<tr><th colspan="{first}"></th><th colspan="{count}">{word}</th></tr>'
            return text.replace("<thead>\n", f"<thead>\n{above}\n", 1)
        if style == "latex_booktabs":
            above = rf"{'& ' * first}\multicolumn{{{count}}}{{c}}{{{word}}} \\"
            rule = rf"\cmidrule(lr){{{first + 1}-{first + count}}}"
            return text.replace("\\toprule\n", f"\\toprule\n{above}\n{rule}\n", 1)
        return text

    def _marked(self, row: int, column: int, text: str, style: str, room: int) -> str:
        """A cell with its marks at its number, not at its brackets; in plain text they have so much ``room``."""
        number, ends = re.fullmatch(r"(.*?)( \(.*|\n.*)?", text, re.DOTALL).groups("")  # pyright: ignore
        if style == "simple":
            return (number + self._signs(row, column).ljust(room) + ends).rstrip()
        signs = self._signs(row, column).replace("*", "").replace("†", "\ue002")
        number = f"\ue000{number}\ue001" if (row, column) in self.bold else number
        return number + signs + ends

    def _signs(self, row: int, column: int) -> str:
        """The marks behind a number in plain text."""
        at = row, column
        return ("*" if at in self.bold else "†" * (at in self.alike)) + "≈" * (at in self.near)


MARKS = {
    "html": ("<b>", "</b>", "<sup>†</sup>"),
    "github": ("**", "**", "†"),
    "latex_booktabs": ("\\textbf{", "}", "$^\\dagger$"),
}
"""What stands before and after a bold number, and the dagger, by style; plain text has marks of one letter."""
NEEDS = r"% needs \usepackage{booktabs}"
"""The first line of a table in LaTeX."""
SYMBOLS = {
    "≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "≈": r"\approx", "≡": r"\equiv", "∞": r"\infty", "→": r"\to",
    "←": r"\gets", "−": "-", "×": r"\times", "±": r"\pm", "·": r"\cdot", "√": r"\surd", "†": r"^\dagger",
    "∅": r"\emptyset", "∈": r"\in", "∪": r"\cup", "∧": r"\wedge", "∨": r"\vee", "¬": r"\neg", "ℓ": r"\ell",
}  # fmt: skip
"""Letters that LaTeX does not know without packages, as its mathematics."""
TEXT = {"…": r"\ldots{}", "–": "--", "—": "---", "“": "``", "”": "''", "’": "'"}


def _command(letter: str) -> str:
    """What LaTeX writes for a letter beyond ASCII, in text as in mathematics; the letter where it knows no other."""
    kind, _, plain = unicodedata.decomposition(letter).partition("> ")
    greek = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER ([A-Z]+)", unicodedata.name(letter, ""))
    if letter in SYMBOLS:
        return rf"\ensuremath{{{SYMBOLS[letter]}}}"
    if kind in ("<super", "<sub"):
        return rf"\text{kind[1:]}script{{{_command(chr(int(plain, 16)))}}}"
    if greek is not None:
        name = greek[2].replace("LAMDA", "LAMBDA").lower()
        return rf"\ensuremath{{\{name if greek[1] == 'SMALL' else name.title()}}}"
    return TEXT.get(letter, letter)


@arguments.named_arguments
class Tabular(ABC):
    """A result that shows itself as a table; subclasses say which."""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        arguments.named_arguments(cls)

    @abstractmethod
    def table(self) -> Table:
        """The table that stands for this result."""

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    @property
    def advice(self) -> tuple[str, ...]:
        """As that of `Table`."""
        return self.table().advice

    def to_frame(self) -> pandas.DataFrame:
        """As `Table.to_frame`."""
        return self.table().to_frame()

    def to_csv(self, path: str | Path | None = None) -> str:
        """As `Table.to_csv`."""
        return self.table().to_csv(path)

    def to_latex(self, path: str | Path | None = None, *, caption: str | None = None, label: str | None = None) -> str:
        """As `Table.to_latex`."""
        return self.table().to_latex(path, caption=caption, label=label)

    def to_markdown(self) -> str:
        """As `Table.to_markdown`."""
        return self.table().to_markdown()


def answered(rows: Mapping[str, str]) -> list[str]:
    """The rows of an answer in lines of a terminal's width, each with its name before it."""
    said = ((name * (not at), line) for name, says in rows.items() for at, line in enumerate(says.split("\n")))
    return [_filled(line, f"{name:{NAMES}}") for name, line in said]


def _filled(text: str, begin: str = "") -> str:
    """The first line of a text in lines of a terminal's width; others, which are commands, as `command_lines`."""
    line, *commands = text.split("\n")
    room = " " * len(begin)
    filled = textwrap.fill(line, WIDTH, initial_indent=begin, subsequent_indent=room, break_on_hyphens=False)
    return "\n".join([filled, *_commands(commands)])


def _commands(commands: Iterable[str]) -> list[str]:
    return [line for command in commands for line in command_lines(command)]


def command_lines(command: str, indent: int = 2) -> list[str]:
    """A command in lines that a shell takes as they are."""
    line, mark, about = command.partition(COMMENT)
    parts = re.split(r" (?=--)", line) if line else []
    lines, parts = list[str](), [*parts, *[f"{mark}{about}".strip()] * bool(mark)]
    for number, part in enumerate(parts, start=1):
        end = 0 if number == len(parts) else len(GOES_ON)
        if lines and len(lines[-1]) + 1 + len(part) + end <= WIDTH:
            lines[-1] += f" {part}"
        else:
            lines.append(f"{'':{indent + 2 * bool(lines)}}{part}")
    return [line + GOES_ON * (number < len(lines)) for number, line in enumerate(lines, start=1)]


def _over_ends(cell: Spread, digits: int) -> str:
    """A number, and on a line below it what its brackets hold, in two digits, which are rounded away from it."""
    if "(" not in shown(cell, digits):
        return shown(cell, digits)
    low, high = floor(100 * cell.low + 1e-9) / 100, ceil(100 * cell.high - 1e-9) / 100
    return f"{rounded(cell, digits)}\n{rounded(low, 2)}–{rounded(high, 2)}"


def _broken(names: Sequence[str]) -> tuple[str, ...]:
    """These headings with a word a line, the last words on one line."""
    most = max(len(name.split()) for name in names)
    return tuple("\n".join([""] * (most - len(name.split())) + name.split()) for name in names)


def _wrapped(cell: Any, width: int) -> Any:
    """A cell whose text is broken into lines of so many letters, between words, behind a plus, at last at hyphens."""
    if not isinstance(cell, str):
        return cell
    hyphens = width == WRAPPED[-1]
    text = textwrap.fill(cell.replace("+", "+\0 "), width, break_long_words=False, break_on_hyphens=hyphens)
    return text.replace("\0 ", "").replace("\0\n", "\n")


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the columns of a plain table begin and end."""
    rule = next(line for line in text.splitlines() if line.startswith("--"))
    return [found.span() for found in re.finditer("-+", rule)]


def _tight(text: str) -> str:
    """A plain table whose columns are no wider than what stands in them."""
    spans = [*_spans(text)[:-1], (_spans(text)[-1][0], None)]
    lines = [[line[slice(*span)].rstrip() for span in spans] for line in text.splitlines()]
    widths = [max(len(line[at]) for line in lines if line[at].strip("-")) for at in range(len(spans))]
    cells = [["-" * w if cell and not cell.strip("-") else cell.ljust(w) for cell, w in zip(line, widths, strict=True)]
             for line in lines]  # fmt: skip
    return "\n".join("  ".join(line).rstrip() for line in cells)


def _letters(text: str) -> float:
    """How many wide letters a text is as wide as: points and brackets are narrow."""
    return len(text) - 0.4 * sum(text.count(mark) for mark in ".,:;") - 0.2 * sum(text.count(mark) for mark in "() ")


def _latex(text: str) -> str:
    from tabulate import LATEX_ESCAPE_RULES

    return "".join(LATEX_ESCAPE_RULES.get(letter, letter) for letter in " ".join(text.split()))


def _is_numeric(values: Iterable[Any]) -> bool:
    """Whether there are numbers, some perhaps written with their brackets, and nothing but these and None."""
    there = [value for value in values if value is not None]
    return bool(there) and all(
        re.fullmatch(r"-?[\d.]+ \([\d.–-]+\)", value)
        if isinstance(value, str)
        else isinstance(value, int | float) and not isinstance(value, bool)
        for value in there
    )


def rounded(value: float, digits: int = DIGITS) -> str:
    """A number with so many digits after the point, halves up: 0.13 of 0.125."""
    return f"{value + copysign(1e-9, value):.{digits}f}"


def shown(value: Any, digits: int) -> str:
    """A cell as it is shown, with a dash for None."""
    if value is None:
        return "–"
    text = rounded(value, digits) if isinstance(value, float) else str(value)
    if isinstance(value, Spread):
        ends = [rounded(end, digits) for end in (value.low, value.high)]
        text += f" ({'–'.join(ends)})" * (ends[0] != ends[1])
    return text
