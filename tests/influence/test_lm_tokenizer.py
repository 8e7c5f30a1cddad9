"""Tokenizers lose nothing, know their sizes, never make a special token of text, and come back from a file."""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.errors import LengthwiseError
from lengthwise.influence.tokenizer import BPE, Bytes, OwnTokenizer, load_tokenizer, save_tokenizer, train_bpe

TEXTS = ("def add(a, b):\n    return a + b\n" * 20, "for element in elements:\n        yield element\n" * 20)


@lru_cache
def bpe() -> BPE:
    return train_bpe(TEXTS, 320)


TOKENIZERS = {"bytes": Bytes, "bpe": bpe}


@pytest.mark.parametrize("kind", TOKENIZERS)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_covered_by_its_tokens(kind: str, text: str) -> None:
    tokenizer = TOKENIZERS[kind]()
    ids = tokenizer.encode(text)
    assert all(4 <= i < tokenizer.vocab_size for i in ids)
    assert int(tokenizer.sizes[ids].sum()) == len(text.encode())
    pieces = tokenizer.pieces(ids)
    assert len(pieces) == len(ids)
    if text.isascii():
        assert "".join(pieces) == text


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_written_special_tokens_are_text(kind: str, tmp_path: Path) -> None:
    save_tokenizer(TOKENIZERS[kind](), tmp_path)
    for tokenizer in (TOKENIZERS[kind](), load_tokenizer(tmp_path)):
        ids = tokenizer.encode("<pad><bos> <sep> <eos>")
        assert min(ids) >= 4
        assert "".join(tokenizer.pieces(ids)) == "<pad><bos> <sep> <eos>"


def test_bpe_merges_what_is_frequent_and_not_across_words() -> None:
    tokenizer = bpe()
    pieces = tokenizer.pieces(tokenizer.encode("    return element"))
    assert " return" in pieces
    assert " element" in pieces
    assert len(tokenizer.encode(TEXTS[0])) < len(TEXTS[0]) / 2
    assert tokenizer.vocab_size <= 320
    assert all(" " not in piece.strip() for piece in tokenizer.pieces(range(4, tokenizer.vocab_size)))


def test_bytes_that_are_no_character_are_shown_as_numbers() -> None:
    assert Bytes().pieces(Bytes().encode("é")) == ["\\xc3", "\\xa9"]
    assert Bytes().pieces([0, 1]) == ["<pad>", "<bos>"]


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_a_file_gives_the_same_tokenizer(kind: str, tmp_path: Path) -> None:
    first: OwnTokenizer = TOKENIZERS[kind]()
    save_tokenizer(first, tmp_path)
    second = load_tokenizer(tmp_path)
    assert second.kind == first.kind
    assert second.to_json() == first.to_json()
    assert second.encode(TEXTS[1]) == first.encode(TEXTS[1])


def test_training_gives_the_same_merges_in_another_process() -> None:
    code = (
        "import hashlib\n"
        "from lengthwise.influence.tokenizer import train_bpe\n"
        f"print(hashlib.sha256(train_bpe({TEXTS!r}, 320).to_json().encode()).hexdigest())"
    )
    runs = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
        for _ in range(2)
    }
    assert len(runs) == 1


def test_what_can_be_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LengthwiseError, match="at least 260 tokens, got 259"):
        train_bpe(TEXTS, 259)
    with pytest.raises(LengthwiseError, match="no tokenizer at"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0"}')
    with pytest.raises(LengthwiseError, match="damaged or of another format"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text(bpe().to_json().replace("<pad>", "<other>"))
    with pytest.raises(LengthwiseError, match="not one of ours"):
        load_tokenizer(tmp_path)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(LengthwiseError, match="needs the lm extra"):
        train_bpe(TEXTS, 320)
