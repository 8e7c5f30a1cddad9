"""A short name of the literature, such as ``ape``, means the same system wherever systems are named."""

from __future__ import annotations

import pytest

import lengthwise as lw
from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.defaults import chosen_systems
from lengthwise.forecast.predict import systems_of
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.system import SYSTEMS, PositionSystem, named_pair

SHORT = {system.known_as: system for system in SYSTEMS}


@pytest.mark.parametrize("name", SHORT)
def test_a_short_name_is_the_same_system_everywhere(name: str) -> None:
    own = SHORT[name]
    task = lw.task("copy" if own.scheme != "predictive-coupling" else "parity-scratchpad")
    assert chosen_systems(task, [name]) == (own,), "compare, and run with encodings"
    assert systems_of(name, None) == (own,), "predict"
    for spelling in (name, name.upper()):
        made = lw.Experiment(task, encoding=spelling, max_length=4)
        assert made.name == own.name
        assert made.configuration == lw.Experiment(task, own.scheme, own.encoding, max_length=4).configuration
    (job,) = lw.recipe(task.name, scheme="sequential", encodings=[name]).jobs
    assert job.name == own.name


def test_ape_under_another_scheme_is_its_table() -> None:
    for scheme in ("coupled", "pose", "randomized"):
        found = lw.Experiment("copy", scheme, "ape", max_length=4)
        assert found.name == f"{scheme}+learned"
        (of_predict,) = systems_of("ape", scheme)
        assert (of_predict.scheme, of_predict.encoding) == (scheme, "learned")


def test_names_of_encodings_keep_their_meaning() -> None:
    for encoding in ENCODINGS:
        assert named_pair("sequential", encoding) == ("sequential", encoding)
    assert PositionSystem(*named_pair("sequential", "learned")).name == "sequential+learned"


def test_two_systems_in_one_name_are_refused() -> None:
    with pytest.raises(LengthwiseError, match="unknown encoding 'pose'"):
        lw.Experiment("copy", "coupled", "pose")
    with pytest.raises(LengthwiseError, match=r"unknown encoding 'ape'\. Did you mean 'learned'"):
        lw.encoding("ape")
