"""Text as a task: windows stay within their document, all are equally likely, every token but the first is scored."""

from __future__ import annotations

import numpy as np
import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.influence.corpus import Document, TextTask
from lengthwise.influence.tokenizer import Bytes
from lengthwise.models.inputs import Inputs
from lengthwise.positions.schemes import PoSE, Sequential
from lengthwise.tasks import TASKS

TEXTS = ("abcdefgh", "ij", "", "klmno", "pqr")
LENGTH = 2
WINDOWS = {text[i : i + LENGTH + 1] for text in TEXTS for i in range(len(text) - LENGTH)}


def task() -> TextTask:
    return TextTask([Document(f"d{i}", text) for i, text in enumerate(TEXTS)], Bytes())


def test_every_window_of_every_document_is_equally_likely_and_there_are_no_others() -> None:
    drawn = task().windows(LENGTH, 20_000, stream(0, "windows"))
    rows, counts = np.unique(drawn, axis=0, return_counts=True)
    assert {"".join(Bytes().pieces(row)) for row in rows.tolist()} == WINDOWS
    expected = 20_000 / len(WINDOWS)
    # Chi-square with 9 degrees of freedom: 33.7 is exceeded once in ten thousand.
    assert len(WINDOWS) == 10
    assert sum((count - expected) ** 2 / expected for count in counts) < 33.7


def test_a_batch_predicts_each_token_from_those_before() -> None:
    batch = task().batch(4, 6, stream(0, "batch"))
    assert batch.input_ids.shape == (6, 5)
    assert batch.scored.tolist() == [False, True, True, True, True]
    inputs = Inputs.of(batch, Sequential(max_position=4), ("position",), stream(0))
    assert inputs.at == slice(0, 4)
    assert np.array_equal(inputs.targets.numpy(), batch.input_ids[:, 1:])
    assert inputs.scored == 24
    ids = PoSE(max_position=9).assign(batch.places, ("position",), stream(1))[:, :, 0]
    assert ids.max() <= 9
    assert (np.diff(ids, axis=1) >= 1).all()


def test_lengths_are_those_that_some_document_has() -> None:
    text = task()
    assert text.max_length() == 7
    assert text.lengths(6, 99) == [6, 7]
    with pytest.raises(LengthwiseError, match="no instances of length 8"):
        text.batch(8, 1, stream(0))
    assert TextTask([], Bytes()).max_length() == 0


def test_the_vocabulary_is_the_tokenizers_and_the_task_is_not_for_others() -> None:
    text = task()
    assert len(text.vocab) == Bytes().vocab_size
    assert text.vocab.decode(text.stream[:2].tolist()) == ["#101", "#102"]
    assert "text" not in TASKS
    with pytest.raises(LengthwiseError, match="no right answer"):
        text.answer(["#101"])
    assert text.stream.dtype == np.int32
