"""What shows that a token depends on a parent: strings that differ in both alone, or an edit that changes both."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from lengthwise.core.batch import Batch
from lengthwise.tasks import Task

FIRST_ROWS, EDITED_ROWS = 5, 1000
"""Strings of a batch that are edited in search of the effect of a parent."""
KEPT_ANSWERS = 1 << 13
"""The latest answers are kept: an answer takes long, and many prompts come again."""
Solver = Callable[[tuple[str, ...]], list[str] | None]


def some_differ(rows: np.ndarray, others: np.ndarray) -> bool:
    """Whether two of the ``rows`` are equal, but what ``others`` hold for them is not."""
    groups, kinds = _numbered(rows), _numbered(others)
    several = int(kinds.max(initial=0)) + 1
    pairs = np.sort(groups * several + kinds)
    return bool(((np.diff(pairs) > 0) & (np.diff(pairs // several) == 0)).any())


def _numbered(rows: np.ndarray) -> np.ndarray:
    """A number below 2³¹ for each row; the same for equal rows, and for no others."""
    low = int(rows.min(initial=0))
    base = int(rows.max(initial=0)) - low + 1
    if base >= 1 << 31:
        return _numbered(np.unique(rows, return_inverse=True)[1].reshape(rows.shape))
    # So many digits fit beside the number of the digits before them.
    most = max(int(31 / math.log2(base + 1)), 1)
    numbers = np.zeros(len(rows), dtype=np.int64)
    for at in range(0, rows.shape[1], most):
        digits = rows[:, at : at + most] - low
        numbers = numbers * base ** digits.shape[1] + digits @ base ** np.arange(digits.shape[1])
        if numbers.max(initial=0) >= 1 << 31:
            numbers = np.unique(numbers, return_inverse=True)[1]
    return numbers


def solver(task: Task) -> Solver:
    """Gives a prompt and its answer by `Task.answer`, or None if it is no instance."""

    @functools.lru_cache(maxsize=KEPT_ANSWERS)
    def solve(prompt: tuple[str, ...]) -> list[str] | None:
        try:
            return [*prompt, *task.answer(list(prompt))]
        except ValueError:
            return None

    return solve


def an_edit_changes(solve: Solver, batch: Batch, t: int, slot: int, tried: int = EDITED_ROWS) -> bool:
    """Whether the token changes with this parent alone after some edit of the prompt, solved again by `Task.answer`.

    Two edits are tried on each string: another token at the parent (if it is in the prompt), and the same with all
    tokens of the prompt that are no parents taken from the next string. The other parents must come out as before.
    """
    cut = batch.prompt_length
    for row in range(min(batch.size, tried)):
        changed = int(batch.parents[row, t, slot])
        if changed < 0:
            continue
        text, other = batch.text(row), batch.text((row + 1) % batch.size)
        kept = {int(at) for at in batch.parents[row, t] if at >= 0} - {changed}
        mixed = [text[at] if at in kept or at == changed else other[at] for at in range(cut)]
        for prompt in (text[:cut], mixed):
            for token in batch.vocab.tokens if changed < cut else [None]:
                edited = prompt if token is None else [*prompt[:changed], token, *prompt[changed + 1 :]]
                solved = solve(tuple(edited))
                if solved is None or len(solved) != len(text) or solved[t] == text[t]:
                    continue
                if all(solved[at] == text[at] for at in kept):
                    return True
    return False
