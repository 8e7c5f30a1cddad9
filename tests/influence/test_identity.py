"""A model is named by what it is, not by where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from lengthwise.api.influence import content_of as _content

FILES = ("config.json", "model.safetensors", "tokenizer.json", "model.safetensors.index.json", "a-1-of-2.safetensors")


@pytest.mark.parametrize("changed", FILES)
def test_other_weights_tokenizer_or_settings_in_the_same_folder_are_another_model(tmp_path: Path, changed: str) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        for name in FILES:
            (folder / name).write_text(name)
    (there / "result.json").write_text("when it was trained, and for how long")
    before = _content(str(here))
    assert before == _content(str(there)), "a copy is the same model"
    (here / changed).write_text("another")
    assert _content(str(here)) != before
    assert _content("org/model") == "org/model"
