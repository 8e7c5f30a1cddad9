"""The builder writes what it is given, of any shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.batch import NOT_SCORED, Layout, SequenceBuilder
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.vocab import SPECIALS, Vocab

VOCAB = Vocab.of("abc")


def test_columns_places_and_parents_end_up_where_they_were_written() -> None:
    seq = SequenceBuilder(VOCAB, 2, levels=2)
    seq.bos()
    x = seq.given(np.array([4, 5]), place=(np.array([2, 1]), 1))
    y = seq.given(6, place=3)
    z = seq.predicted(np.array([5, 4]), place=(1, 2), parents=[x, np.array([y, -1])], selectors=[y], answer=False)
    seq.predicted(4, parents=[z])
    seq.eos(place=4)
    batch = seq.build(Layout(3))
    assert (x, y, z) == (1, 2, 3)
    assert batch.text(0) == ["<bos>", "a", "c", "b", "a", "<eos>"]
    assert batch.text(1) == ["<bos>", "b", "c", "a", "a", "<eos>"]
    assert batch.labels.tolist() == [[NOT_SCORED] * 3 + [5, 4, 3], [NOT_SCORED] * 3 + [4, 4, 3]]
    assert batch.places[0].tolist() == [[0, 0], [2, 1], [3, 0], [1, 2], [0, 0], [4, 0]]
    assert batch.places[1].tolist() == [[0, 0], [1, 1], [3, 0], [1, 2], [0, 0], [4, 0]]
    assert batch.parents[:, 3].tolist() == [[1, 2], [1, -1]]
    assert batch.parents[:, 4].tolist() == [[3, -1], [3, -1]]
    assert batch.selectors[:, 3].tolist() == [[2], [2]]
    assert batch.scored.tolist() == [False] * 3 + [True] * 3
    assert batch.answer.tolist() == [False] * 4 + [True, False]
    assert (batch.prompt_length, batch.size, batch.tokens) == (3, 2, 6)


@given(st.lists(st.lists(st.integers(4, 6), min_size=3, max_size=3), min_size=1, max_size=8))
def test_ids_are_the_transpose_of_the_columns(columns: list[list[int]]) -> None:
    seq = SequenceBuilder(VOCAB, 3)
    for column in columns:
        seq.given(np.array(column))
    batch = seq.build(Layout(len(columns)))
    assert batch.input_ids.T.tolist() == columns
    assert batch.input_ids.flags.c_contiguous
    assert batch.prompt_length == batch.tokens
    assert (batch.labels == NOT_SCORED).all()


@given(st.data(), st.integers(0, 5), st.integers(1, 4))
def test_several_columns_at_once_are_as_one_by_one(data: st.DataObject, n: int, rows: int) -> None:
    def drawn(*shape: int) -> np.ndarray:
        size = int(np.prod(shape))
        return np.array(data.draw(st.lists(st.integers(4, 6), min_size=size, max_size=size)), dtype=int).reshape(shape)

    ids = drawn(n, rows)
    for place in (2, drawn(n), drawn(n, rows)):
        together, apart = SequenceBuilder(VOCAB, rows), SequenceBuilder(VOCAB, rows)
        together.bos()
        apart.bos()
        found = together.givens(ids, place)
        wanted = [apart.given(column, place if isinstance(place, int) else place[i]) for i, column in enumerate(ids)]
        assert found == wanted
        assert together.eos() == apart.eos() == len(together) - 1
        one, other = together.build(Layout(n)), apart.build(Layout(n))
        assert (one.input_ids == other.input_ids).all()
        assert (one.places == other.places).all()
        assert one.columns == other.columns


def test_allowed_next_tokens_are_kept() -> None:
    seq = SequenceBuilder(VOCAB, 1)
    seq.bos()
    seq.predicted(4)
    allowed = np.ones((1, 2, len(VOCAB)), dtype=bool)
    seq.allow(allowed)
    assert seq.build(Layout(1)).allowed is allowed


def test_a_vocabulary_starts_with_the_special_tokens() -> None:
    with pytest.raises(ValueError, match="starts with the special tokens"):
        Vocab(("a", *SPECIALS))


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda seq: None, "the sequence is empty"),
        (lambda seq: seq.predicted(4, parents=[-1]), "token 0 names token -1"),
        (lambda seq: (seq.bos(), seq.predicted(4, parents=[1])), "token 1 names token 1"),
        (lambda seq: (seq.bos(), seq.predicted(4, selectors=[7])), "token 1 names token 7"),
        (lambda seq: (seq.bos(), seq.predicted(4, parents=[np.array([0, 5])])), "token 1 names token 5"),
        (lambda seq: (seq.bos(), seq.predicted(4, parents=[np.array([0, -2])])), "token 1 names token -2"),
        (lambda seq: (seq.bos(), seq.predicted(4, parents=[np.array([0.0, 0.5])])), "parents or selectors that are no"),
        (lambda seq: seq.given(4, place=1.5), "places that are no whole numbers: 1.5"),
        (lambda seq: seq.given(4, place=np.array([1.5, 2.0])), "places that are no whole numbers"),
        (lambda seq: seq.given(4, place="1"), "places that are no whole numbers"),
        (lambda seq: seq.given(4, place=-1), "places must be 0 or more"),
        (lambda seq: seq.given(np.array([4.5, 5.0])), "tokens that are no whole numbers"),
        (lambda seq: seq.given(np.array([True, False])), "tokens that are no whole numbers"),
    ],
)
def test_what_a_task_of_ones_own_gets_wrong_is_one_line(write: Any, says: str) -> None:
    """A parent that does not exist would otherwise count as none, and make the task look sparser than it is."""

    def written() -> Any:
        seq = SequenceBuilder(VOCAB, 2)
        write(seq)
        batch = seq.build(Layout(1))
        return batch.parents, batch.selectors

    with pytest.raises(LengthwiseError, match=says) as caught:
        written()
    assert "\n" not in str(caught.value)
