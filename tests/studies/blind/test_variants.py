"""Other position systems on the frozen ladder: what each changes of a rung, and a small study of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from blind_study import blind_page, run_study
from comparison import table
from preregister import user_study

from lengthwise.core.errors import UnknownNameError
from lengthwise.experiments.blind.ladder import (
    ENCODINGS,
    LADDER,
    VARIANTS,
    encoding_spec,
    model_config,
    training_config,
    variant,
)
from lengthwise.experiments.blind.study import BlindStudy
from lengthwise.tasks.language import Language


def test_the_study_has_none_of_them() -> None:
    assert ENCODINGS == ("nope", "ape")
    for rung in LADDER:
        for name in ENCODINGS:
            assert model_config(rung, name) == model_config(rung)
            assert training_config(rung, name) == training_config(rung)
            assert training_config(rung, name).regularizer == 0


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in ENCODINGS])
def test_each_changes_what_its_name_says(name: str) -> None:
    for rung in LADDER:
        model, training = model_config(rung, name), training_config(rung, name)
        plain = name.startswith("ape")
        assert model == dataclasses.replace(model_config(rung), qk_norm=not plain)
        weight = 1e-4 if name == "ape+reg" else 0.0
        assert training == dataclasses.replace(
            training_config(rung), regularizer=weight, regularizer_normed=bool(weight)
        )
        assert encoding_spec(rung, name) == (encoding_spec(rung, "ape") if plain else VARIANTS[name].spec)


def test_an_unknown_one_gets_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'rope'"):
        variant("ropes")


def test_a_small_study_of_them(study: BlindStudy, tmp_path: Path) -> None:
    names = ["rope", "alibi", "ape-no-qk-norm", "ape+reg"]
    mine = user_study(tmp_path / "mine", study, {"(aa)*": Language(language="(aa)*")}, names)
    (entry,) = mine.entries()
    assert entry.predicted == {"rope": "yes", "alibi": "no", "ape-no-qk-norm": "yes", "ape+reg": "yes"}
    run_study(mine, "languages", tmp_path / "work", encodings=names[2:])
    values = table(mine, "languages", names[2:])
    assert values["complete"]
    assert [row["encoding"] for row in values["cells"]] == names[2:]
    assert "ape+reg" in blind_page(values, "mine")
    assert not table(mine)["complete"], "rope and alibi are not run"
