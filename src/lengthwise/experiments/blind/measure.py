"""What is measured of one trained model on one set of words: whole words, symbols, first errors, failures to stop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from lengthwise.core.batch import Batch
from lengthwise.core.levels import LevelKind
from lengthwise.core.rng import stream

if TYPE_CHECKING:
    from lengthwise.models.inputs import Inputs
    from lengthwise.models.transformer import Transformer
    from lengthwise.positions.schemes import PositionScheme

TOKENS = 1 << 15
"""Tokens of one forward pass, so that memory stays bounded."""


def measure(model: Transformer, scheme: PositionScheme, batches: Iterable[Batch], seed: int) -> dict[str, Any]:
    """Counts over all words of ``batches``, under the ids that ``scheme`` gives (random starts from ``seed``).

    ``right``: words with every scored prefix right; ``symbols`` of ``symbols_total``: scored prefixes that are right;
    ``no_stop``: words whose only error is the last one, at the end; ``first_wrong``: the least, the quartiles and the
    largest of the places of first errors (0 = after ``<bos>``); ``by_length``: right and all words of each length.
    """
    # Torch is loaded only when something is measured.
    from lengthwise.evaluation.accuracy import judge
    from lengthwise.models.inputs import Inputs

    rng = stream(seed, "blind", "positions")
    counts = dict.fromkeys(("n", "right", "symbols", "symbols_total", "no_stop"), 0)
    first_wrong: list[int] = []
    by_length: dict[str, list[int]] = {}
    levels: tuple[LevelKind, ...] = ("position",)
    for batch in batches:
        inputs = Inputs.of(batch, scheme, levels, rng)
        rows, again = _different_rows(inputs)
        judged = [judge(model, part).token for part in _parts(inputs, rows, max(1, TOKENS // batch.tokens))]
        token = np.concatenate(judged)[again]
        right = np.asarray(token.all(axis=1))
        counts["n"] += len(token)
        counts["right"] += int(right.sum())
        counts["symbols"] += int(token.sum())
        counts["symbols_total"] += int(token.size)
        counts["no_stop"] += int((token[:, :-1].all(axis=1) & ~token[:, -1]).sum())
        first_wrong += token[~right].argmin(axis=1).tolist()
        entry = by_length.setdefault(str(batch.layout.length), [0, 0])
        entry[0] += int(right.sum())
        entry[1] += len(token)
    quartiles = np.percentile(first_wrong, [0, 25, 50, 75, 100]).tolist() if first_wrong else None
    return {**counts, "first_wrong": quartiles, "by_length": by_length}


def _different_rows(inputs: Inputs) -> tuple[Int[np.ndarray, " D"], Int[np.ndarray, " B"]]:
    """One row of each word under each ids, and for every row which of those it equals.

    A language with one letter has one word of each length; it is computed once.
    """
    ids = inputs.position_ids.flatten(1)
    both = np.concatenate([inputs.input_ids.numpy(), ids.numpy()], axis=1)
    _, rows, again = np.unique(both, axis=0, return_index=True, return_inverse=True)
    return rows, again.reshape(-1)


def _parts(inputs: Inputs, rows: Int[np.ndarray, " D"], size: int) -> Iterator[Inputs]:
    """These rows of a batch in parts of at most ``size``."""
    for start in range(0, len(rows), size):
        chosen = inputs.input_ids.new_tensor(rows[start : start + size])
        yield type(inputs).gather([(inputs, chosen)])
