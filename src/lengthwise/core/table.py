"""A table for terminals, notebooks and papers: what every public result shows of itself."""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import write_text

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False)
class Table:
    """Columns and rows, with a caption above and notes below.

    Cells are strings, numbers or None (shown as a dash).
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "\n".join(line for line in (self.caption, self.text(), *self.notes) if line)

    def _repr_html_(self) -> str:
        """HTML for a notebook; all text is escaped."""
        from html import escape

        caption = f"<p><b>{escape(self.caption)}</b></p>" if self.caption else ""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"{caption}{self._formatted('html')}{notes}"

    def text(self) -> str:
        """The table as plain text, without caption and notes."""
        return self._formatted("simple")

    def to_markdown(self) -> str:
        """The table as a Markdown table."""
        return self._formatted("github")

    def to_latex(self) -> str:
        """The table as a LaTeX ``tabular`` with the rules of the package booktabs."""
        # A table without rows needs its columns, too.
        columns = "{tabular}{" + "l" * len(self.columns) + "}"
        return self._formatted("latex_booktabs").replace("{tabular}{}", columns, 1)

    def to_csv(self, path: str | Path | None = None) -> str:
        """The table as CSV; also written to ``path``, if given. Raises `LengthwiseError` if it can't be written."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerows([self.columns, *self.rows])
        if path is not None:
            write_text(Path(path), buffer.getvalue())
        return buffer.getvalue()

    def to_frame(self) -> pandas.DataFrame:
        """The table as a pandas ``DataFrame``; raises `LengthwiseError` where pandas is not installed."""
        try:
            import pandas
        except ImportError:
            raise LengthwiseError("to_frame needs pandas; install it with: pip install 'lengthwise[pandas]'") from None
        return pandas.DataFrame(list(self.rows), columns=list(self.columns))

    def _formatted(self, style: str) -> str:
        from tabulate import tabulate

        rows = [[_cell(value) for value in row] for row in self.rows]
        return tabulate(rows, headers=list(self.columns), tablefmt=style, disable_numparse=True)


class Tabular(ABC):
    """A result that shows itself as a table; subclasses say which."""

    @abstractmethod
    def table(self) -> Table:
        """The table that stands for this result."""

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def to_frame(self) -> pandas.DataFrame:
        """As `Table.to_frame`."""
        return self.table().to_frame()

    def to_csv(self, path: str | Path | None = None) -> str:
        """As `Table.to_csv`."""
        return self.table().to_csv(path)

    def to_latex(self) -> str:
        """As `Table.to_latex`."""
        return self.table().to_latex()

    def to_markdown(self) -> str:
        """As `Table.to_markdown`."""
        return self.table().to_markdown()


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
