"""Tables for papers: numbers to the right, no empty column, sentences as comments; exports keep every column."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.table import MOST_BELOW, NEEDS, Spread, Table, rounded

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
    made = Table(columns, tuple(rows))
    assert next(csv.reader(io.StringIO(made.to_csv()))) == [columns[index] for index in filled]
    assert made.to_frame().columns.tolist() == list(columns)


@given(st.integers(-20_000, 20_000), st.integers(2, 3))
def test_halves_are_rounded_up_as_people_do(units: int, digits: int) -> None:
    whole, last = divmod(abs(units), 10)
    exact = (whole + (last >= 5)) / 10**digits
    assert rounded(units / 10 ** (digits + 1), digits).lstrip("-") == f"{exact:.{digits}f}"
    assert [rounded(0.125, 2), rounded(0.9925), rounded(-0.125, 2)] == ["0.13", "0.993", "-0.13"]


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted), st.integers(1, 4))
def test_a_printed_number_lies_between_the_ends_printed_with_it(three: list[float], digits: int) -> None:
    low, middle, high = three
    table = Table(("name", "x"), (("a", Spread(middle, low, high)),), digits=digits)
    shown = [float(text) for text in re.findall(r"[\d.]+", table.cells[0][1])]
    assert len(shown) in (1, 3)
    assert shown[1:] == [] or shown[1] <= shown[0] <= shown[2]
    exported = table.to_csv().splitlines()
    assert exported[0] == "name,x,x low,x high"
    assert [float(text) for text in exported[1].split(",")[1:]] == pytest.approx([middle, low, high], abs=1e-12)
    assert Table(("x",), ((0.9524999999999999,),)).to_csv() == "x\n0.9525\n"


def test_caption_and_notes_are_latex_and_sentences_comments() -> None:
    table = Table(
        ("system", "why"), (("a", "because of\n50 %"), ("b", "so")), caption="All of 50 %", notes=("one", "two"),
        sentences=("why",),
    )  # fmt: skip
    sentences = ["% a, why: because of 50 %", "% b, why: so"]
    lines = table.to_latex(label="tab:all").splitlines()
    above = [r"\begin{table}", r"\centering", r"\caption{All of 50 \%}", r"\label{tab:all}", r"\begin{tabular}{l}"]
    assert lines[:6] == [NEEDS, *above]
    small = [r"\par\smallskip", r"\begin{minipage}{\linewidth}\footnotesize", "One.", "Two.", r"\end{minipage}"]
    assert lines[lines.index(r"\end{tabular}") + 1 :] == [*small, r"\end{table}", *sentences]
    assert r"\caption{$x^2$}" in table.to_latex(caption="$x^2$")
    bare = table.to_latex(caption="").splitlines()
    assert bare[1] == r"\begin{tabular}{l}"
    assert bare[-6:] == [r"\end{tabular}", "% All of 50 %", "% one", "% two", *sentences]
    assert "because" in repr(table)
    assert "because" in table._repr_html_()
    assert "because" in table.to_csv()


def test_a_note_in_latex_is_a_sentence_of_letters_that_it_knows_and_advice_is_a_comment() -> None:
    notes = ("nope is worse: p ≤ 0.1, 0.9–1.0 ≥ 0.5", "bold is best")
    table = Table(
        ("system", "x"), (("nope", None), ("rope", 0.5)), caption="a → b", notes=notes, advice=("seeds=6 ≥ 3",)
    )
    text = table.to_latex()
    printed = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert printed.isascii()
    assert "Nope is worse: p \\ensuremath{\\leq} 0.1, 0.9--1.0 \\ensuremath{\\geq} 0.5.\nBold is best." in printed
    assert "seeds" not in printed
    assert "% seeds=6" in text
    assert "seeds=6" in repr(table)
    assert "seeds=6" in table._repr_html_()


SPECIAL = "_%&#$~^{}\\[]<>|*\"'×±≥≤≠≈−–—†√∞→·²₁Σβλ…ⁿ"
"""Letters that mean something to LaTeX, or that it does not know."""


@given(st.text(st.sampled_from([*SPECIAL, "a", "1", " "]), min_size=1, max_size=8))
def test_any_text_is_latex_of_a_stock_class_with_booktabs(text: str) -> None:
    table = Table((text, "x"), ((text, "1"), (f"[{text}", "2")), caption=text, notes=(text,), advice=(text,))
    made = table.to_latex(label="tab:x")
    assert made.startswith(NEEDS)
    printed = "\n".join(line for line in made.splitlines() if not line.startswith("%"))
    assert printed.isascii()
    assert not re.search(r"(?<!\\)[%#]", printed)
    assert re.sub(r"\\[{}]", "", printed).count("{") == re.sub(r"\\[{}]", "", printed).count("}")
    assert not re.search(r"(?:\\\\|rule)\s*[\[*]", printed), "it would be taken for the height of a line"
    lines = re.findall(r"^.*\\\\$", printed, re.M)
    assert [len(re.findall(r"(?<!\\)&", line)) for line in lines] == [1] * 3


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=4))
def test_marks_do_not_move_the_columns_of_plain_text(marks: list[tuple[bool, bool, bool]]) -> None:
    """Every number, and every bracket, begins in the same place of its column as in a table without marks."""
    rows = tuple((f"s{i}", *(Spread(0.5, 0.25, 0.75) for _ in row)) for i, row in enumerate(marks))
    bold = frozenset((i, j + 1) for i, row in enumerate(marks) for j, is_bold in enumerate(row) if is_bold)
    lines = Table(("system", "8", "16", "32"), rows, bold=bold).text().splitlines()[2:]
    for at in ("0.500", "("):
        assert len({tuple(found.start() for found in re.finditer(re.escape(at), line)) for line in lines}) == 1


@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 60))
def test_a_terminal_shows_what_fits_and_says_what_it_leaves_out(rows: int, columns: int, letters: int) -> None:
    """Every line has 80 columns where names leave room; what is missing is named, and Markdown has it."""
    made = tuple((f"{'s' * letters}{at}", *[Spread(0.5, 0.25, 0.75)] * columns) for at in range(rows))
    table = Table(("system", *(f"n{at}" for at in range(columns))), made, caption="A finding.")
    text = repr(table)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    whole = table.to_markdown()
    assert all(f"n{at}" in text for at in range(columns)), "shown, or named as missing"
    assert whole.count("(0.250–0.750)") == rows * columns
    left_out = [line for line in lines if line.startswith("not shown: ")]
    assert bool(left_out) is (text.count("(0.250–0.750)") + text.count("0.25–0.75") < rows * columns)
    assert ("row" in "".join(left_out)) is (rows > 30)
    numbers = replace(table, rows=tuple((row[0], *[0.5] * columns) for row in made))
    if "column" not in repr(numbers).partition("not shown: ")[2]:
        assert "column" not in text.partition("not shown: ")[2], "brackets go before numbers"
    plain = [line for line in lines if line.startswith("s" * letters) and line != lines[1]]
    assert len(plain) == min(rows, 30)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=2).map(sorted), st.integers(1, 9))
def test_where_brackets_have_no_room_they_stand_below_their_numbers_and_hold_as_much(
    ends: list[float], rows: int
) -> None:
    """In few rows; a number whose ends are alike in a table has none."""
    made = tuple((f"s{at}", *[Spread(ends[0], *ends)] * 5) for at in range(rows))
    table = Table(("system", *"abcde"), made, legend={"brackets": "range"})
    text, alike = repr(table), "(" not in table.to_markdown()
    below = re.findall(r"(\d\.\d\d)–(\d\.\d\d)\b", text)
    assert len(below) == 5 * rows * (rows <= MOST_BELOW and not alike)
    assert all(float(low) - 1e-9 <= ends[0] and ends[1] <= float(high) + 1e-9 for low, high in below)
    assert ("below a number: range" in text) is bool(below)
    assert ("not shown: brackets" in text) is (rows > MOST_BELOW and not alike)


def test_advice_prints_as_numbered_lines_of_a_terminal_s_width_and_stays_strings() -> None:
    advice = Table(("a",), (), advice=("word " * 40, "end")).advice
    lines = str(advice).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if not line.startswith("   ")] == [lines[0], "2. end"]
    assert lines[0].startswith("1. word word")
    assert (*advice,) == advice == ("word " * 40, "end")


def test_numbers_of_which_some_have_brackets_stand_right() -> None:
    """Also where those that are narrow are left out of a table that is too wide."""
    row = "system", *(Spread(0.5, 0.5 - wide, 0.5 + wide) for wide in (0.4, 0.02, 0.4, 0.02))
    rows = (row, ("other", Spread(0.5, 0.49, 0.51), 0.5, None, 0.25))
    assert "{lrrrr}" in Table(("name", *"abcd"), rows).to_latex()


def test_latex_leaves_brackets_out_where_they_are_wider_than_a_page() -> None:
    for count in (3, 4, 6):
        row = "system", *(Spread(0.5, 0.25, 0.75) for _ in range(count))
        said = Table(("name", *"abcdef"[:count]), (row,), caption="c", legend={"brackets": "range"}).to_latex()
        wanted = {3: "0.500 (0.250--0.750)", 4: "0.500 (0.25--0.75)", 6: "0.500"}[count]
        assert said.count(wanted) == count
        assert "{l" + "r" * count + "}" in said
        assert ("(0.25" in said) is ("Brackets: range" in said) is ("% brackets are left out" not in said)
        assert ("where 0.1 wide or more" in said) is (count == 4)
