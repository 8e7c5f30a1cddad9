"""A position scheme of your own: one file. Try `lengthwise check examples/my_scheme.py:EveryThird`."""

import numpy as np

import lengthwise as lw
from lengthwise.positions.schemes import PositionScheme


@lw.config
class EveryThird(PositionScheme):
    """Ids 0, 3, 6, … in training with a random start, so that all ids are met; from 0 at test."""

    summary = "every third number"

    max_position: int = 1024
    random_start: bool = True

    def assign(self, places, kinds, rng):
        # `places` [B, T, K] are the task's; a scheme that follows them sets `uses_places` and returns an id for each.
        rows, tokens, _ = places.shape
        last = 3 * (tokens - 1)
        self.check_fits(last)
        start = rng.integers(self.max_position - last + 1, size=(rows, 1)) if self.random_start else 0
        return (start + 3 * np.broadcast_to(np.arange(tokens), (rows, tokens)))[:, :, None]

    def for_evaluation(self):
        return EveryThird(self.max_position, random_start=False)
