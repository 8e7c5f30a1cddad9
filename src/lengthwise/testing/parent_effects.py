"""What shows that a token depends on a parent: strings that differ in both alone, or an edit that changes both."""

from __future__ import annotations

import functools
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
    groups, kinds = (np.unique(values, axis=0, return_inverse=True)[1].reshape(-1) for values in (rows, others))
    # More pairs than groups: some group has two kinds.
    pairs = np.unique(np.column_stack([groups, kinds]), axis=0)
    return len(pairs) > len(np.unique(groups))


def solver(task: Task) -> Solver:
    """Gives a prompt and its answer by `Task.answer`, or None where `Task.answer` refuses the prompt."""

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
