"""A model knows its tokenizer: any other one beside it, and every damage of the file, is one clear line."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.influence.lm import LMConfig, load_lm, new_transformer, save_lm
from lengthwise.influence.tokenizer import FILE, load_tokenizer, train_bpe

TEXT = "the cat and the hat and the bat sat on that mat"
CONFIG = LMConfig(context=8, vocabulary=280, layers=1, heads=2, width=16, steps=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer = train_bpe([TEXT] * 20, CONFIG.vocabulary)
    save_lm(tmp_path, new_transformer(CONFIG, tokenizer.vocab_size), tokenizer, CONFIG, {})
    return tmp_path


def rewritten(folder: Path, change) -> None:
    values = json.loads((folder / FILE).read_text())
    change(values)
    (folder / FILE).write_text(json.dumps(values))


CHANGES = {
    "merges cut": lambda values: values["model"]["merges"].pop(),
    "normalizer": lambda values: values.update(normalizer={"type": "Lowercase"}),
    "truncation": lambda values: values.update(
        truncation={"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 5}
    ),
    "hole": lambda values: values["model"]["vocab"].update({"Ġthe": 1000}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_tokenizer_is_noticed(folder: Path, change) -> None:
    assert load_lm(folder)[1].encode(TEXT)
    rewritten(folder, change)
    with pytest.raises(LengthwiseError, match="is not the one that the model was trained with"):
        load_lm(folder)


@pytest.mark.parametrize("name", ["normalizer", "truncation", "hole"])
def test_a_tokenizer_alone_is_checked_too(folder: Path, name: str) -> None:
    rewritten(folder, CHANGES[name])
    with pytest.raises(LengthwiseError, match=r"is not one of ours|is damaged"):
        load_tokenizer(folder)


def test_damaged_files_end_in_one_line(folder: Path) -> None:
    """300 mutants: each is refused, or is the same tokenizer written differently."""
    sound = (folder / FILE).read_bytes()
    encoded, moves = load_tokenizer(folder).encode(TEXT), random.Random(0)
    refused = []
    for _ in range(300):
        damaged = bytearray(sound)
        if moves.random() < 0.3:
            damaged = damaged[: moves.randrange(len(damaged))]
        else:
            damaged[moves.randrange(len(damaged))] ^= 1 << moves.randrange(8)
        (folder / FILE).write_bytes(damaged)
        try:
            assert load_lm(folder)[1].encode(TEXT) == encoded
        except LengthwiseError as error:
            refused.append(str(error))
    assert len(refused) > 200
    assert not [message for message in refused if "\n" in message]
