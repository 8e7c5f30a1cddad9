"""Laws of every position scheme: ids are a function of places and the stream, and keep what the places say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.positions.schemes import SCHEMES, Coupled, PositionScheme, scheme_with_ids
from lengthwise.tasks import TASKS
from small import SCHEME_VARIANTS

KINDS = ("position", "position", "label")
schemes = pytest.mark.parametrize("scheme", SCHEME_VARIANTS.values(), ids=SCHEME_VARIANTS.keys())
DRAWING = {name: scheme for name, scheme in SCHEME_VARIANTS.items() if not scheme.wraps}
drawing_schemes = pytest.mark.parametrize("scheme", DRAWING.values(), ids=DRAWING.keys())
"""Schemes with a range of ids that strings may fill."""


def random_places(seed: int, rows: int = 6, tokens: int = 15) -> np.ndarray:
    """Places on three levels, with "no place" among them; the last level stays in the range of slots."""
    rng = stream(seed, "places")
    places = rng.integers(0, 12, size=(rows, tokens, 3))
    places[..., 2] %= 4
    return places


@schemes
@given(seed=st.integers(0, 10**6))
def test_ids_are_a_function_of_places_and_stream_alone(scheme: PositionScheme, seed: int):
    places = random_places(seed)
    before = places.copy()
    first = scheme.assign(places, KINDS, stream(seed, "ids"))
    second = scheme.assign(before, KINDS, stream(seed, "ids"))
    assert (first == second).all()
    assert (places == before).all(), "places are not written to"
    assert first.shape == (6, 15, 3 if scheme.uses_places else 1)
    assert first.shape[2] == len(scheme.kinds(KINDS))


@schemes
@given(seed=st.integers(0, 10**6))
def test_ids_lie_in_range(scheme: PositionScheme, seed: int):
    for variant in (scheme, scheme.for_evaluation()):
        ids = variant.assign(random_places(seed), KINDS, stream(seed, "ids"))
        coupled = ids[..., :2] if scheme.uses_places else ids
        assert coupled.min() >= 0
        assert coupled.max() <= scheme.max_position


@schemes
@given(seed=st.integers(0, 10**6))
def test_coupled_ids_are_equal_exactly_where_places_are(scheme: PositionScheme, seed: int):
    places = random_places(seed)
    ids = scheme.assign(places, KINDS, stream(seed, "ids"))
    if scheme.wraps:
        assert (ids[:, scheme.max_position + 1 :] == ids[:, : -scheme.max_position - 1]).all(), "ids come again"
        return
    if not scheme.uses_places:
        assert (np.diff(ids[..., 0], axis=1) > 0).all(), "tokens are numbered in order, none twice"
        return
    for level in range(3):
        place, drawn = places[..., level], ids[..., level]
        if not scheme.one_id_per_place:
            assert (drawn[place == 0] == 0).all()
            continue
        assert ((place == 0) == (drawn == 0)).all(), "no place is id 0, and no other id is"
        same_place = place[:, :, None] == place[:, None, :]
        same_id = drawn[:, :, None] == drawn[:, None, :]
        assert (same_place == same_id).all()
    assert (ids[..., 2] == places[..., 2]).all(), "a fixed level keeps id = place"


@pytest.mark.parametrize("draw", ["sorted", "contiguous", "pose"])
@given(seed=st.integers(0, 10**6))
def test_ordered_drawings_keep_the_order_of_places(draw: str, seed: int):
    scheme = Coupled(max_position=64, draw=draw)  # type: ignore[arg-type]
    places = random_places(seed)
    ids = scheme.assign(places, KINDS, stream(seed, "ids"))
    earlier = places[:, :, None, :2] < places[:, None, :, :2]
    assert (earlier == (ids[:, :, None, :2] < ids[:, None, :, :2])).all()


def test_permuted_drawing_mixes_the_order():
    places = np.broadcast_to(np.arange(1, 11)[None, :, None], (200, 10, 1)).copy()
    ids = Coupled(max_position=64, draw="permuted").assign(places, ("position",), stream(0))
    falls = (np.diff(ids[..., 0], axis=1) < 0).mean()
    assert 0.4 < falls < 0.6


@drawing_schemes
def test_rows_get_draws_of_their_own(scheme: PositionScheme):
    places = np.broadcast_to(np.arange(1, 9)[None, :, None], (50, 8, 1)).copy()
    ids = scheme.assign(places, ("position",), stream(0))
    rows = {tuple(row) for row in ids[..., 0].tolist()}
    fixed = (scheme == scheme.for_evaluation() and scheme.name == "sequential") or scheme.name == "own-rule"
    assert len(rows) == 1 if fixed else len(rows) > 8


@drawing_schemes
def test_too_many_ids_are_refused_with_the_way_out(scheme: PositionScheme):
    places = np.broadcast_to(np.arange(1, 101)[None, :, None], (2, 100, 1)).copy()
    wanted = "100" if scheme.uses_places else "99"
    with pytest.raises(LengthwiseError) as error:
        scheme.assign(places, ("position",), stream(0))
    assert str(error.value) == f"needs {wanted} position ids, but max_position is 64; raise scheme.max_position"


@drawing_schemes
def test_the_whole_range_can_be_used(scheme: PositionScheme):
    """As many places as there are ids still fit, and then every drawing is the same."""
    tokens = 64 if scheme.uses_places else 65
    places = np.broadcast_to(np.arange(1, tokens + 1)[None, :, None], (20, tokens, 1)).copy()
    ids = np.sort(scheme.assign(places, ("position",), stream(0))[..., 0], axis=1)
    assert (ids == np.arange(65 - tokens, 65)).all()


@schemes
def test_evaluation_ids_are_a_function_of_batch_and_evaluation_stream(scheme: PositionScheme):
    """Training draws in between leave no trace, and asking twice gives the same scheme."""
    task = TASKS.build("addition")
    batch = task.batch(5, 4, stream(0, "test"))
    evaluation = scheme.for_evaluation()
    first = evaluation.assign(batch.places, task.levels, stream(0, "test", "ids"))
    scheme.assign(batch.places, task.levels, stream(0, "train"))
    second = scheme.for_evaluation().assign(batch.places, task.levels, stream(0, "test", "ids"))
    assert (first == second).all()
    assert evaluation.for_evaluation() == evaluation
    assert evaluation.max_position == scheme.max_position


@drawing_schemes
def test_evaluation_covers_the_range_or_starts_plainly(scheme: PositionScheme):
    places = np.broadcast_to(np.arange(1, 9)[None, :, None], (50, 8, 1)).copy()
    ids = scheme.for_evaluation().assign(places, ("position",), stream(0))[..., 0]
    if scheme.name in ("sequential", "pose", "id-multiplier"):
        assert (ids == np.arange(8)).all()
    elif scheme.name == "randomized-float":
        assert (ids == 4 * np.arange(8)).all()
    elif getattr(scheme, "draw", None) in ("contiguous", "pose") or scheme.name in ("abacus", "reset", "own-rule"):
        assert (ids == np.arange(1, 9)).all()
    else:
        assert ids.max() > 40, "drawn from the whole range, as in training"


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("rows", [1, 3])
def test_one_token_and_no_places(name: str, rows: int):
    scheme = scheme_with_ids(name, 8)
    ids = scheme.assign(np.zeros((rows, 1, 1), dtype=np.int64), ("position",), stream(0))
    assert ids.shape == (rows, 1, 1)
    assert not scheme.uses_places or (ids == 0).all()


@pytest.mark.parametrize("name", [name for name in SCHEMES if not SCHEMES.get(name).wraps])
def test_a_range_without_ids_is_refused(name: str):
    with pytest.raises(LengthwiseError, match="max_position must be at least 1, got 0"):
        SCHEMES.build(name, max_position=0)
