"""Cuts windows from tokenized documents; a window is a context and the target token that follows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.errors import require
from lengthwise.core.rng import Rng
from lengthwise.influence.text.documents import Document
from lengthwise.influence.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Windows:
    """N windows of L̄ context tokens and one target token.

    ``documents`` are indices into ``names``; ``offsets`` are the positions of the targets in their documents.
    """

    tokens: Int[ndarray, "N Lbar+1"]
    documents: Int[ndarray, " N"]
    names: tuple[str, ...]
    offsets: Int[ndarray, " N"]


def windows(documents: Sequence[Document], tokenizer: Tokenizer, context: int, count: int, rng: Rng) -> Windows:
    """``count`` different targets with ``context`` tokens of the same document before them, ordered by document.

    Documents get equal shares where they are long enough; within a document, targets are drawn uniformly. Raises
    `LengthwiseError` if the documents are too short for ``count`` targets.
    """
    require(context >= 1 and count >= 1, f"needs a context and a count of at least 1, got {context} and {count}")
    texts = [np.array(tokenizer.encode(document.text), dtype=np.int64) for document in documents]
    room = np.array([max(0, len(text) - context) for text in texts], dtype=np.int64)
    longest = max((len(text) for text in texts), default=0)
    require(
        bool(room.sum()),
        f"the text is too short: its longest document has {longest} tokens, and a context of {context} needs "
        f"{context + 1}; choose a longer text or a smaller context",
    )
    require(
        int(room.sum()) >= count,
        f"the text has {int(room.sum())} targets with {context} tokens before them, not {count}; "
        "choose a longer text or fewer targets",
    )
    offsets, owners = [], []
    for index, share in enumerate(_shares(room, count, rng)):
        starts = np.sort(rng.choice(room[index], size=share, replace=False)) if share else []
        offsets += [int(start) + context for start in starts]
        owners += [index] * share
    tokens = np.stack([texts[i][at - context : at + 1] for i, at in zip(owners, offsets, strict=True)])
    return Windows(tokens, np.array(owners), tuple(document.name for document in documents), np.array(offsets))


def _shares(room: Int[ndarray, " D"], count: int, rng: Rng) -> Int[ndarray, " D"]:
    """``count`` spread as evenly as ``room`` allows."""
    shares = np.zeros_like(room)
    while (left := count - int(shares.sum())) > 0:
        open_ = np.flatnonzero(shares < room)
        if left < len(open_):
            open_ = rng.choice(open_, size=left, replace=False)
        shares[open_] += np.minimum(room[open_] - shares[open_], max(1, left // len(open_)))
    return shares
