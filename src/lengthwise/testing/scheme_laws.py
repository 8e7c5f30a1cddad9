"""The laws of a position scheme: what its ids must keep of places, order and range."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.positions.schemes import SCHEMES, PositionScheme
from lengthwise.testing.law import need, refused

ROWS, TOKENS = 40, 8
"""The size of the batches that the laws look at; a scheme needs at least this many ids."""


def _places(rows: int = ROWS, tokens: int = TOKENS) -> np.ndarray:
    """<bos> without a place, then places 1, 2, … of which the second half repeats the first, [rows, tokens, 1]."""
    real = np.arange(tokens - 1) % max(1, (tokens - 1) // 2) + 1
    return np.broadcast_to(np.concatenate([[0], real])[None, :, None], (rows, tokens, 1)).copy()


def same_stream_same_ids(scheme: PositionScheme) -> None:
    """Equal random streams give equal ids, and `assign` leaves the places alone."""
    places = _places()
    before = places.copy()
    one, two = (scheme.assign(places, ("position",), stream(3, "ids")) for _ in range(2))
    need(np.array_equal(one, two), "ids differ between two draws from one stream; draw from rng only")
    need(np.array_equal(places, before), "assign changes the places that it was given")


def shapes_and_range(scheme: PositionScheme) -> None:
    """Ids are whole numbers within 0..max_position, one per token and level."""
    for rows in (1, ROWS):
        ids = scheme.assign(_places(rows), ("position",), stream(0, "ids"))
        need(ids.shape == (rows, TOKENS, 1), f"ids have shape {ids.shape}, not {(rows, TOKENS, 1)}")
        need(np.issubdtype(ids.dtype, np.integer), f"ids are of type {ids.dtype}, not whole numbers")
        inside = ids.min() >= 0 and ids.max() <= scheme.max_position
        need(inside, f"ids reach from {ids.min()} to {ids.max()}, outside of 0..{scheme.max_position}")


def places_decide_ids(scheme: PositionScheme) -> None:
    """A scheme that uses places gives one id to one place and 0 to none; any other numbers all tokens in order."""
    places = _places()
    ids = scheme.assign(places, ("position",), stream(1, "ids"))
    if not scheme.uses_places:
        need((np.diff(ids[..., 0], axis=1) > 0).all(), "ids of a scheme without places do not rise from token to token")
        return
    need(((places == 0) == (ids == 0)).all(), "id 0 is for tokens without a place, and for no others")
    if not scheme.one_id_per_place:
        return
    same_place = places[:, :, None] == places[:, None, :]
    same_id = ids[:, :, None] == ids[:, None, :]
    need((same_place == same_id).all(), "two tokens of one place have two ids, or of two places one id")


def evaluation_is_settled(scheme: PositionScheme) -> None:
    """`for_evaluation` of an evaluation scheme is itself, with as many ids, and its ids come from the stream alone."""
    evaluation = scheme.for_evaluation()
    need(evaluation.for_evaluation() == evaluation, "for_evaluation() of the evaluation scheme gives another scheme")
    need(evaluation.max_position == scheme.max_position, "max_position differs between training and evaluation")
    first = evaluation.assign(_places(), ("position",), stream(0, "test"))
    scheme.assign(_places(), ("position",), stream(0, "train"))
    second = scheme.for_evaluation().assign(_places(), ("position",), stream(0, "test"))
    need(np.array_equal(first, second), "ids at test time depend on what was drawn in training")


def too_many_tokens_are_refused(scheme: PositionScheme) -> None:
    """More tokens than ids is one clear line that names max_position."""
    count = scheme.max_position + 2
    if count > 200_000:
        return
    places = np.arange(1, count + 1)[None, :, None]
    with refused("max_position", what=f"{count} tokens with max_position {scheme.max_position}"):
        scheme.assign(places, ("position",), stream(0))


def json_round_trip(scheme: PositionScheme) -> None:
    """A scheme is rebuilt from its name and its fields."""
    try:
        same = SCHEMES.build(SCHEMES.describe(scheme)) == scheme
    except LengthwiseError as error:
        need(False, f"the fields do not rebuild the scheme: {error}")
    else:
        need(same, "the fields do not rebuild the scheme; is it a @config dataclass?")


LAWS: dict[str, Callable[[PositionScheme], None]] = {
    law.__name__: law
    for law in (
        same_stream_same_ids,
        shapes_and_range,
        places_decide_ids,
        evaluation_is_settled,
        too_many_tokens_are_refused,
        json_round_trip,
    )
}
"""Every law of a position scheme by name."""
