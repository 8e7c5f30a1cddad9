"""The newer schemes against their formulas, and the published rules of places on two levels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.positions.schemes import (
    SCHEMES,
    AbacusScheme,
    IdMultiplier,
    Modulo,
    OwnRule,
    PositionScheme,
    RandomizedFloat,
    RareJump,
    Reset,
    Sequential,
)
from lengthwise.positions.structure import structure
from lengthwise.prediction.predict import predict_target
from lengthwise.tasks import TASKS
from lengthwise.tasks.language import Language


def ids_of(scheme: PositionScheme, name: str, length: int, rows: int = 200) -> np.ndarray:
    """Ids of the first level, ``[rows, T]``."""
    task = TASKS.build(name)
    batch = task.batch(length, rows, stream(0, "test"), task.layout(length, stream(0, "layout")))
    return scheme.assign(batch.places, task.levels, stream(1, "ids"))[..., 0]


def test_abacus_is_the_place_plus_one_offset_and_reaches_no_further():
    places = ids_of(OwnRule(), "addition", 5)
    ids = ids_of(AbacusScheme(max_position=100, offset=20), "addition", 5)
    offsets = (ids - places)[:, 1:]
    assert (offsets == offsets[:, :1]).all()
    assert set(offsets[:, 0].tolist()) == set(range(21)), "every offset from 0 to the largest is drawn"
    assert ids.max() == places.max() + 20, "no id beyond the longest training place + the largest offset is trained"
    assert (ids_of(AbacusScheme(max_position=100, offset=20).for_evaluation(), "addition", 5) == places).all()


def test_ids_of_a_row_are_multiples_of_one_factor():
    ids = ids_of(IdMultiplier(max_position=200, factor=7), "addition", 5)
    assert set(ids[:, 1].tolist()) == set(range(1, 8))
    assert (ids == ids[:, 1:2] * np.arange(ids.shape[1])).all()
    narrow = ids_of(IdMultiplier(max_position=40, factor=7), "addition", 5)
    assert narrow.max() <= 40


def test_float_positions_are_evenly_spaced_at_test():
    scheme = RandomizedFloat(max_position=100, grid=4).for_evaluation()
    assert ids_of(scheme, "copy", 5, 1)[0].tolist() == [4 * i for i in range(13)]
    tight = ids_of(scheme, "copy", 40, 1)[0]
    assert (np.diff(tight) >= 1).all()
    assert tight[-1] <= 100


def test_ids_restart_with_every_number():
    ids = ids_of(Reset(offset=0), "addition", 3, 1)[0]
    # <bos> a a a + b b b = s s s s <eos>; a sign begins what follows it.
    assert ids.tolist() == [0, 1, 2, 3, 1, 2, 3, 4, 1, 2, 3, 4, 5, 6]


def test_an_own_rule_is_a_function_in_a_file(tmp_path: Path):
    file = tmp_path / "rules.py"
    file.write_text(
        "def backwards(places, rng, training):\n"
        "    top = places.max(axis=1, keepdims=True)\n"
        "    return (places > 0) * (top + 1 - places) + (0 if not training else 0)\n"
        "def wrong(places, rng, training):\n    return places[:, :1]\n"
        "def negative(places, rng, training):\n    return -places\n",
        encoding="utf-8",
    )
    ids = ids_of(OwnRule(max_position=50, function=f"{file}:backwards"), "addition", 3, 1)[0]
    assert ids.tolist() == [0, 5, 4, 3, 6, 5, 4, 3, 6, 5, 4, 3, 2, 1]
    with pytest.raises(LengthwiseError, match="the rule wrong returns shape"):
        ids_of(OwnRule(function=f"{file}:wrong"), "addition", 3, 1)
    with pytest.raises(LengthwiseError, match="ids must be 0 or more"):
        ids_of(OwnRule(function=f"{file}:negative"), "addition", 3, 1)


def test_published_ids_of_minesweeper():
    """Two levels: column and row, and the separator with both starts."""
    task = TASKS.build("minesweeper")
    places = task.batch(3, 1, stream(0)).places[0]
    assert places[1:15, 0].tolist() == [2, 3, 4, 2, 3, 4, 2, 3, 4, 1, 2, 3, 4, 2]
    assert places[1:15, 1].tolist() == [2, 2, 2, 3, 3, 3, 4, 4, 4, 1, 2, 2, 2, 3]


def test_published_ids_of_running_sums():
    """Significance restarts with every number; an operand shares its number with the sum before it."""
    task = TASKS.build("addition-running-sums")
    layout = next(
        layout
        for layout in (task.layout(3, stream(draw, "layout")) for draw in range(50))
        if layout.axes == {"digits": 3, "operands": 3}
    )
    places = task.batch(3, 1, stream(0), layout).places[0]
    first, second = places[1:, 0].tolist(), places[1:, 1].tolist()
    number = [2, 3, 4, 5]
    assert first[:12] == [*number, 1, *number, 1, 2, 3]
    assert second[:15] == [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4], "= has the number of the last sum"
    assert second[15:-1] == [1] * 4 + [2] * 5 + [3] * 5 + [4] * 5


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_share_of_the_sequences_has_a_jump(share: float):
    places = np.broadcast_to(np.arange(1, 31)[None, :, None], (4000, 30, 1))
    ids = RareJump(max_position=200, jump=share).assign(places, ("position",), stream(0))[..., 0]
    jumps = (np.diff(ids, axis=1) > 1).sum(axis=1)
    assert jumps.max() <= 1
    # A jump may fall behind the last id or have no size, which `pose` allows, too.
    assert share * 0.9 <= (jumps == 1).mean() + 0.02 <= share + 0.04
    assert ids.min() == 1
    assert ids.max() == 200


@pytest.mark.parametrize("name", SCHEMES)
def test_every_scheme_says_what_it_does(name: str):
    assert SCHEMES.get(name).summary


def test_ids_modulo_m_come_again_and_bring_what_is_some_periods_away_near():
    assert ids_of(Modulo(m=3), "copy", 5, 1)[0].tolist() == [i % 3 for i in range(13)]
    task = Language(language="(abab)*")
    batch = task.batch(400, 2, stream(0, "test"))
    ids = Modulo(m=4).assign(batch.places, task.levels, stream(1, "ids"))
    assert ids.max() == 3, "four ids for any length"
    # In copying, token i of the answer depends on token i of the prompt: their distance grows with the length.
    for length in (4, 8, 16, 32):
        found = structure(TASKS.build("copy"), Modulo(m=4), length, stream(0, "span"))
        plain = structure(TASKS.build("copy"), Sequential(), length, stream(0, "span"))
        assert found.both.span <= 3 < plain.both.span
    with pytest.raises(LengthwiseError, match="m"):
        SCHEMES.build("modulo", m=1)


def test_a_period_is_a_yes_for_ids_modulo_a_multiple_of_it():
    verdicts = {v.system: v for v in predict_target("(aa)*").verdicts}
    assert verdicts["modulo"].answer == "yes"
    assert "divides m" in verdicts["modulo"].condition
    assert verdicts["nope"].answer == "no"
    assert "modulo" in verdicts["nope"].help
    assert {v.system: v.answer for v in predict_target("(a|b)*bb(a|b)*").verdicts}["modulo"] != "yes"
