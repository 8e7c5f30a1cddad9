"""Super-tokens, the strings that coupled positions amount to, and the ids of PoSE."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.core.rng import Rng


def super_tokens(tokens: Int[ndarray, "B T"], places: Int[ndarray, " T"], alphabet: int) -> Int[ndarray, "B M"]:
    """The string of super-tokens: at each of the M places, the ordered tuple of its tokens as one number.

    The number's digits in base |V| + 1 are the tokens plus one, the first token most significant, and 0 for missing
    tokens; it has c digits, the largest number of tokens of a place. Raises `LengthwiseError` if it exceeds 2^62.
    """
    top = int(places.max(initial=0))
    groups = [np.flatnonzero(places == p) for p in range(1, top + 1)]
    c = max((len(g) for g in groups), default=0)
    require((alphabet + 1) ** c < 2**62, f"{c} tokens of {alphabet} kinds in one place are too many to number")
    result = np.zeros((len(tokens), top), dtype=np.int64)
    for p, group in enumerate(groups):
        for column in range(c):
            digit = tokens[:, group[column]] + 1 if column < len(group) else 0
            result[:, p] = result[:, p] * (alphabet + 1) + digit
    return result


def pose_ids(size: int, length: int, target: int, chunks: int, rng: Rng) -> Int[ndarray, "B T"]:
    """Ids of PoSE (Zhu et al. 2023): the string is cut into ``chunks`` pieces, each shifted by a random jump.

    Ids stay below ``target``; cuts and jumps are uniform, and the first piece may start above 0. Raises
    `LengthwiseError` unless 1 <= chunks <= length <= target.
    """
    require(1 <= chunks <= length <= target, f"PoSE needs chunks <= length <= target, got {chunks}, {length}, {target}")
    cuts = np.argsort(rng.random((size, length - 1)), axis=1)[:, : chunks - 1] + 1
    piece = (np.arange(length) >= np.sort(cuts, axis=1)[..., None]).sum(axis=1)
    jumps = np.sort(rng.integers(target - length + 1, size=(size, chunks)), axis=1)
    return np.arange(length) + np.take_along_axis(jumps, piece, axis=1)
