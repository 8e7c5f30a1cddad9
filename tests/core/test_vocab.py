"""Tokens and their numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.errors import UnknownNameError
from lengthwise.core.vocab import SPECIALS, Vocab


@given(st.lists(st.text(min_size=1).filter(lambda token: token not in SPECIALS), unique=True))
def test_encode_and_decode_are_inverse(symbols: list[str]) -> None:
    vocab = Vocab.of(symbols)
    assert len(vocab) == 4 + len(symbols)
    assert vocab.decode(vocab.encode(vocab.tokens).tolist()) == [*SPECIALS, *symbols]


def test_the_special_tokens_have_the_same_numbers_everywhere() -> None:
    assert [Vocab.of("xy")[token] for token in SPECIALS] == [0, 1, 2, 3]


def test_a_foreign_token_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown token 'blu'\. Did you mean 'blue'\?"):
        Vocab.of(["blue", "red"]).encode(["red", "blu"])


def test_no_token_occurs_twice() -> None:
    with pytest.raises(ValueError, match="no token twice"):
        Vocab.of("aba")
