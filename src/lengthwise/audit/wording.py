"""Sequences of a task as text: words joined by a separator, without the special tokens."""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.core.batch import Batch
from lengthwise.core.errors import require
from lengthwise.core.vocab import SEP, SPECIALS

SHOWN_SEP = "=>"
"""What stands for ``<sep>`` in text."""


def words_of(tokens: Sequence[str]) -> list[str]:
    """The tokens without ``<bos>``, ``<eos>`` and ``<pad>``; ``<sep>`` is ``=>``."""
    return [SHOWN_SEP if token == SEP else token for token in tokens if token == SEP or token not in SPECIALS]


def text_of(batch: Batch, row: int, separator: str = " ") -> tuple[str, str]:
    """Prompt and answer of one sequence as text.

    Raises `LengthwiseError` if the batch has no answer, or scores tokens within its prompt.
    """
    scored = batch.scored[batch.prompt_length :]
    require(
        batch.allowed is None and bool(scored.all()) and len(scored) > 0,
        "a task that scores tokens within its prompt can't be split into prompt and answer; choose another task",
    )
    words = batch.text(row)
    prompt, answer = words[: batch.prompt_length], words[batch.prompt_length :]
    return separator.join(words_of(prompt)), separator.join(words_of(answer))
