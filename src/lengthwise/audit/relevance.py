"""Which words of a prompt the answer depends on: how many there are, and how far back the farthest one is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lengthwise.audit.wording import words_of
from lengthwise.core.batch import Batch


class Relevance(NamedTuple):
    """Counts over the words of a prompt, for the whole answer."""

    number: int
    """Words that the answer depends on, directly or by way of its own words."""
    distance: int
    """From the farthest of them to the first word of the answer, in words; 0 if there is none."""
    words: int
    """Words of the prompt."""


def relevance(batch: Batch, row: int) -> Relevance:
    """The words that the scored tokens of one sequence depend on, through parents and selectors."""
    prompt = batch.prompt_length
    tokens = batch.text(row)
    edges = np.concatenate([batch.parents[row], batch.selectors[row]], axis=1)
    queue = [int(index) for index in np.flatnonzero(batch.scored)]
    seen = set(queue)
    for index in queue:
        new = {int(other) for other in edges[index] if other >= 0} - seen
        seen |= new
        queue += sorted(new)
    relevant = [index for index in sorted(seen) if index < prompt and words_of(tokens[index : index + 1])]
    words = len(words_of(tokens[:prompt]))
    distance = len(words_of(tokens[relevant[0] : prompt])) if relevant else 0
    return Relevance(len(relevant), distance, words)
