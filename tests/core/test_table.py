"""Tables for papers: numbers to the right, no empty column, sentences as comments; exports keep every column."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.table import Table

CELL = st.one_of(st.none(), st.integers(0, 99), st.floats(0, 1), st.booleans(), st.sampled_from(["", "a_b", "50 %"]))
ROWS = st.integers(1, 5).flatmap(lambda width: st.lists(st.tuples(*[CELL] * width), min_size=1, max_size=5))


@given(ROWS)
def test_latex_has_the_columns_with_values_and_numbers_stand_right(rows: list[tuple[Any, ...]]) -> None:
    columns = tuple(f"column{index}" for index in range(len(rows[0])))
    text = Table(columns, tuple(rows)).to_latex()
    values = [[row[index] for row in rows] for index in range(len(columns))]
    filled = [index for index, column in enumerate(values) if set(column) - {None, ""}] or list(range(len(columns)))
    (letters,) = re.findall(r"\\begin\{tabular\}\{(\w+)\}", text)
    assert len(letters) == len(filled)
    for letter, index in zip(letters, filled, strict=True):
        there = [value for value in values[index] if value is not None]
        assert (letter == "r") is (bool(there) and all(type(value) in (int, float) for value in there)), values[index]
    body = text[text.index("\\midrule") : text.index("\\bottomrule")]
    assert body.count("\\\\") == len(rows)
    assert [name for name in columns if name in text] == [columns[index] for index in filled]
    assert next(csv.reader(io.StringIO(Table(columns, tuple(rows)).to_csv()))) == list(columns)


def test_sentences_caption_and_notes_are_comments() -> None:
    table = Table(
        ("system", "why"), (("a", "because of\n50 %"), ("b", "so")), caption="All of it", notes=("one", "two"),
        sentences=("why",),
    )  # fmt: skip
    text = table.to_latex()
    assert text.startswith("\\begin{tabular}{l}\n\\toprule")
    assert text.splitlines()[-5:] == ["% All of it", "% one", "% two", "% a, why: because of 50 %", "% b, why: so"]
    assert "because" in repr(table)
    assert "because" in table._repr_html_()
    assert "because" in table.to_csv()
