"""Windows are what they say: consecutive tokens of one document, different targets, fair shares."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.influence.corpus import Document, windows
from lengthwise.influence.tokenizer import Bytes


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(1, 6), st.integers(1, 40), st.integers(0, 9))
def test_windows_are_slices_in_fair_shares(sizes: list[int], context: int, count: int, seed: int) -> None:
    documents = [Document(f"d{i}", "".join(chr(97 + (i + j) % 26) for j in range(n))) for i, n in enumerate(sizes)]
    room = [max(0, n - context) for n in sizes]
    rng = stream(seed, "windows")
    if sum(room) < count:
        with pytest.raises(LengthwiseError):
            windows(documents, Bytes(), context, count, rng)
        return
    found = windows(documents, Bytes(), context, count, rng)
    assert found.tokens.shape == (count, context + 1)
    assert found.names == tuple(document.name for document in documents)
    for row, owner, at in zip(found.tokens, found.documents, found.offsets, strict=True):
        assert "".join(Bytes().pieces(row.tolist())) == documents[owner].text[at - context : at + 1]
    assert len(set(zip(found.documents.tolist(), found.offsets.tolist(), strict=True))) == count
    shares = Counter(found.documents.tolist())
    # Fair: nobody with room left has two less than anybody else.
    for i in range(len(sizes)):
        if shares[i] < room[i]:
            assert all(shares[j] <= shares[i] + 1 for j in range(len(sizes)))


def test_targets_are_uniform_within_a_document() -> None:
    document = [Document("d", "abcdefgh")]
    counts = np.zeros(8)
    for seed in range(600):
        counts[windows(document, Bytes(), 3, 1, stream(seed, "w")).offsets] += 1
    assert counts[:3].sum() == 0
    # Chi-square with 4 degrees of freedom: 23.5 is exceeded once in ten thousand.
    assert ((counts[3:] - 120) ** 2 / 120).sum() < 23.5


def test_too_short_a_text_is_named_with_its_size() -> None:
    documents = [Document("a", "abc"), Document("b", "abcde")]
    with pytest.raises(LengthwiseError, match="longest document has 5 tokens, and a context of 5 needs 6"):
        windows(documents, Bytes(), 5, 1, stream(0))
    with pytest.raises(LengthwiseError, match="has 4 targets with 2 tokens before them, not 5"):
        windows(documents, Bytes(), 2, 5, stream(0))
    with pytest.raises(LengthwiseError, match="at least 1"):
        windows(documents, Bytes(), 0, 5, stream(0))
