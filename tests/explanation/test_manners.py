"""Where in a string it goes wrong: examples in columns, and what a model does at first mistakes in one place or two."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import lengthwise as lw
from lengthwise.core.batch import Batch
from lengthwise.explanation.common_cause import CommonCause, Tested, Value
from lengthwise.explanation.failures import AT_RANDOM, _compared
from lengthwise.explanation.features import LEAST, telling_exactly
from lengthwise.explanation.manners import AFTER, OWN, RARE, Manner, manners
from lengthwise.explanation.mistakes import COLUMNS, HARD, Failure, Mistake, Wrong
from lengthwise.explanation.model import subject_of
from lengthwise.explanation.verdict import Share
from lengthwise.tasks.values import FIRST, INSIDE

TASK = lw.task("addition")
STACKED, FLAT = ("addition", "copy", "subtraction"), ("reverse", "sort")


def failure(name: str, length: int, seed: int, at: int, got: str = "<eos>") -> Failure:
    """A string of a task whose token ``at`` of the answer is wrong, or the last one before."""
    batch = lw.task(name).batch(length, 1, lw.stream(seed))
    position = min(batch.prompt_length + at, batch.tokens - 1)
    text, places = tuple(batch.text(0)), tuple(batch.places[0, :, 0].tolist())
    return Failure(length, "", text, position, text[position], got, False, places)


@given(st.sampled_from(STACKED), st.integers(2, 60), st.integers(0, 5), st.integers(0, 60))
def test_tokens_of_one_place_stand_below_one_another(name: str, length: int, seed: int, at: int) -> None:
    one = failure(name, length, seed, at)
    *rows, last = [row.replace(HARD, " ") for row in one.rows if "(token" not in row]
    assert rows
    assert max(map(len, [*rows, last])) <= COLUMNS
    before, mark = last.split("[")
    assert f"[{mark}" == one.marked
    if "…" in " ".join([*rows, before]):
        # Of a longer one the first columns are there, too: a value of the first may be what it is about.
        begins = [row.replace("…", " … ").split() for row in [*rows, before]]
        starts = [0, *(n for n in range(1, one.position) if one.places[n] < one.places[n - 1])]
        assert "…" not in before or [each[:3] for each in begins] == [[*one.tokens[at : at + 3]] for at in starts]
        return
    shown = [list(re.finditer(r"\S+", row)) for row in [*rows, before]]
    assert [each[0] for each in itertools.chain(*shown)] == [*one.before]
    # Tokens of a place end in the same column, those of others in others; each row begins with one of none.
    where = dict[int, set[int]]()
    places = iter(one.places)
    for row in shown:
        next(places)
        for each in row[1:]:
            where.setdefault(next(places), set()).add(each.end())
    assert all(len(ends) == 1 for ends in where.values())
    assert len(set().union(*where.values())) == len(where)


@pytest.mark.parametrize("name", FLAT)
def test_tokens_without_columns_stay_in_a_line(name: str) -> None:
    one = failure(name, 6, 0, 3)
    assert one.rows == [one.shown]


def slips(share: float) -> tuple[list[Wrong], list[tuple[Batch, np.ndarray]]]:
    """Sums of eight digits that go wrong right after 9 + 9, one too small; a share of them in 0 + 0, one too large."""
    batch = TASK.batch(8, 2000, lw.stream(3))
    wrong, good = list[Wrong](), [True] * batch.size
    for row in range(batch.size):
        text = batch.text(row)
        columns = [*zip(text[1:9], text[10:18], strict=True)]
        after = next((n + 1 for n, each in enumerate(columns) if each == ("9", "9")), 0)
        own = next((n for n, each in enumerate(columns) if each == ("0", "0")), -1)
        at, by = (own, 1) if own >= 0 and row < share * batch.size else (after, -1) if after else (-1, 0)
        if at >= 0:
            position = batch.prompt_length + at
            due = int(text[position])
            wrong.append(Wrong(batch, row, position, TASK.vocab[str((due + by) % 10)]))
            good[row] = False
    return wrong, [(batch, np.array(good))]


def test_one_place_is_told_of_most_mistakes_and_two_of_two_manners() -> None:
    wrong, known = slips(0)
    (only,) = manners(TASK, wrong, known, "9 + 9", 0, inside=True)
    assert only == Manner("writes a digit one too small", f"{AFTER}9 + 9", len(wrong))
    wrong, known = slips(0.4)
    counts = Counter(each.manner for each in wrong)
    assert min(counts.values()) >= RARE * len(wrong)
    first, second = manners(TASK, wrong, known, "9 + 9", 0, inside=True)
    assert (first.what, first.fact) == ("writes a digit one too small", f"{AFTER}9 + 9")
    assert (second.what, second.n) == ("writes a digit one too large", counts["writes a digit one too large"])
    assert not second.fact.startswith((AFTER, OWN))
    # Of a value that has nothing to do with it, no place is told.
    wrong, known = slips(0)
    assert all("3 + 4" not in each.fact for each in manners(TASK, wrong, known, "3 + 4", 0, inside=True))


def test_places_and_counts_stand_in_the_sentence() -> None:
    two = Manner("writes a digit one too small", f"{AFTER}9 + 9", 34), Manner("writes a digit one too large", "", 10)

    def says(*found: Manner, where: str = INSIDE, right: int = 50) -> str:
        return CommonCause("column", (Value("9 + 9", where, right, found),), 47, 96, 90, ()).does

    assert says(*two) == (
        "With columns 9 + 9, it writes a digit one too small right after such a column (34 of 46 wrong answers) and a "
        "digit one too large (10)."
    )
    assert says(two[1]) == "With columns 9 + 9, it writes a digit one too large (10 of 46 wrong answers)."
    assert says(Manner(two[1].what, "", 46)) == "With columns 9 + 9, it writes a digit one too large."
    assert says(two[1], Manner("goes on where the answer ends", "", 9)) == (
        "With columns 9 + 9, it writes a digit one too large (10 of 46 wrong answers) and goes on where the answer "
        "ends (9)."
    )
    all_after = Manner("writes a wrong digit", f"{AFTER}9 + 9", 46)
    assert says(all_after) == "Right after columns 9 + 9, it writes a wrong digit."
    assert says(all_after, where=FIRST) == "Right after 9 + 9 in the first column, it writes a wrong digit."
    assert says(Manner("", f"{OWN}9 + 9", 40)) == (
        "With columns 9 + 9, it first goes wrong in such a column (40 of 46 wrong answers)."
    )
    assert says() == "With other columns in place of these, 6 of 96 are wrong."


def test_a_cause_is_not_that_of_mistakes_of_the_other_sign() -> None:
    def alike(mistake: str, *found: str) -> bool:
        manners = tuple(Manner(what, "", 40) for what in found)
        cause = CommonCause("column", (Value("9 + 9", INSIDE, 50, manners),), 47, 96, 90, ())
        return cause.alike(Mistake(mistake, 20, 20))

    large, small = "writes a digit one too large", "writes a digit one too small"
    assert alike(large, large)
    assert not alike(large, small)
    assert alike(large, small, large)
    assert alike(large, "writes a digit one too large or one too small")
    assert alike("writes a digit one too large or one too small", small)
    assert alike(large, "writes 1 instead of 0")
    assert not alike("stops one digit early", large)
    assert alike(large)


@given(st.integers(0, 40), st.integers(0, 40), st.booleans())
def test_what_is_exact_holds_of_all_wrong_tokens_and_of_no_right_one(n: int, m: int, broken: bool) -> None:
    wrong, right = frozenset({"where it is", "of all"}), frozenset({"of all"})
    tokens = [(wrong, False)] * n + [(right, True)] * m
    found = telling_exactly([*tokens, *[(wrong, True)] * broken], ["where it is"])
    assert found is None or (found.name, found.wrong, found.right_n) == ("where it is", n, m)
    if broken or n < LEAST or not m:
        assert found is None
    elif m >= LEAST:
        assert found is not None


def test_what_it_does_says_itself_what_is_due_there() -> None:
    """An answer that stops before every second 0 at its end: that a 0 is due there is not told again."""
    batch = TASK.batch(6, 400, lw.stream(4))
    at, eos = batch.tokens - 2, batch.vocab.ids["<eos>"]
    ends = [row for row in range(batch.size) if batch.text(row)[at] == "0"][::2]
    good = np.isin(np.arange(batch.size), ends, invert=True)
    wrong = [Wrong(batch, row, at, eos) for row in ends]
    subject = subject_of(lambda ids, _: torch.zeros(*ids.shape, len(TASK.vocab)), TASK, train=8)
    found = _compared(subject, [(AT_RANDOM, batch, good, wrong)], 0, lambda length: length == 6)
    assert found is not None
    assert found.does == "stops one digit early, where 0 is due"
    assert found.lines == [f"Of {len(wrong)} wrong answers at length 6, in all it {found.does}."]


def test_the_least_that_is_due_to_values_is_told_or_where_it_is_shown() -> None:
    def due(*wrong: tuple[int, int]) -> str:
        tests = [
            Tested("", 6 + 41 * at, Share(128 - drawn, 128), Share(128 - without, 128))
            for at, (drawn, without) in enumerate(wrong)
        ]
        return CommonCause("column", (Value("9 + 9", INSIDE, 50),), 47, 96, 90, tuple(tests)).due("", "B")

    assert due((100, 1)) == due((100, 1), (100, 2)) == "due to B"
    assert due((100, 1), (128, 127)) == "due to B at 6, not shown at 47"
    assert due((128, 127), (100, 1)) == "not shown to be due to B at 6, due at 47"
    assert due((100, 1), (128, 90)) == due((128, 90), (100, 1)) == "partly due to B"
    assert due((100, 40), (128, 2)) == "mostly due to B"
