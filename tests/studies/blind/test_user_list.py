"""A user's own list: read line by line, checked before any training."""

from __future__ import annotations

from pathlib import Path

import pytest
from preregister import read_languages, user_study

from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.blind.study import BlindStudy
from lengthwise.tasks.language import Language


def test_a_list(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("# my languages\n(ab)*\n\n  a*b \n", encoding="utf-8")
    assert read_languages(path) == ["(ab)*", "a*b"]
    path.write_text("a*\na*\n", encoding="utf-8")
    with pytest.raises(LengthwiseError, match="holds 'a\\*' twice"):
        read_languages(path)
    path.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(LengthwiseError, match="holds no expression"):
        read_languages(path)
    with pytest.raises(LengthwiseError, match="cannot read the list of languages"):
        read_languages(tmp_path / "missing.txt")


def test_predictions_are_written_before_any_training(study: BlindStudy, tmp_path: Path) -> None:
    mine = user_study(tmp_path / "mine", study, {"(ab)*": Language(language="(ab)*")}, ["nope", "ape"])
    (entry,) = mine.entries()
    assert entry.predicted == {"nope": "yes", "ape": "yes"}
    assert mine.content["frozen"] == study.sha256
    assert mine.ladder == study.ladder
    with pytest.raises(LengthwiseError, match="has no strings of the lengths 51 to 100"):
        user_study(tmp_path / "short", study, {"ab": Language(language="ab")}, ["nope"])
