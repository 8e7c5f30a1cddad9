"""A built-in task that has the answers of another one, with other names of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.core.vocab import SPECIALS
from lengthwise.tasks.base import TASKS, Task

ROWS, LENGTHS, MOST = 16, 3, 10
"""Strings of each of so many lengths, the longest up to this, on which two tasks must agree."""
SYMBOLS = "letters", "base"
"""Settings that say how many symbols a task has."""


def renamed(task: Task) -> Task | None:
    """The first built-in task with these answers to all of some prompts, symbol by symbol in the order of vocabularies.

    None where there is none, where the task is itself built in, and where all its answers are the same.
    """
    if type(task).__module__.partition(".")[0] == "lengthwise":
        return None
    lengths = [*task.lengths(1, MOST)][-LENGTHS:]
    batches = [task.batch(length, ROWS, stream(0, "alike", length)) for length in lengths]
    pairs = [
        (batch.text(row)[: batch.prompt_length], batch.text(row)[batch.prompt_length :])
        for batch in batches for row in range(batch.size)
    ]  # fmt: skip
    if len({*map(tuple, (answer for _, answer in pairs))}) < 2:
        return None
    own = task.vocab.tokens[len(SPECIALS) :]
    for name in filter(TASKS.is_built_in, TASKS):
        for fields in ({}, *({each: len(own)} for each in SYMBOLS)):
            with suppress(LengthwiseError, TypeError):  # that it has no such setting, or lacks another
                other = TASKS.build({"name": name, **fields})
                if _agree(other, own, pairs):
                    return other
    return None


def _agree(other: Task, own: Sequence[str], pairs: Sequence[tuple[list[str], list[str]]]) -> bool:
    """Whether a task gives these answers to these prompts, with its own symbols in their place."""
    symbols = other.vocab.tokens[len(SPECIALS) :]
    if len(symbols) != len(own):
        return False
    names = dict(zip(own, symbols, strict=True))

    def solved(prompt: Sequence[str]) -> list[str]:
        with suppress(LengthwiseError, ValueError):
            return other.solve([names.get(token, token) for token in prompt])
        return []

    return all(solved(prompt) == [names.get(token, token) for token in answer] for prompt, answer in pairs)
