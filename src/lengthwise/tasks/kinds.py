"""Strings of a kind: drawn ones whose prompts are changed, and still instances of the task."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy import ndarray

from lengthwise.core.batch import Batch, Column
from lengthwise.core.config import number
from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import Rng, stream
from lengthwise.tasks.base import Task

TRIES = 4
"""Prompts that are drawn for each one of a kind."""
SEEN = 64
"""Rows that are drawn to see which tokens of a prompt may change."""
Change = Callable[[ndarray, ndarray, ndarray, Rng], None]
"""Changes a prompt in place: its ids, the positions that may change, the ids that they may have, and randomness."""


def select(batch: Batch, rows: Sequence[int] | ndarray) -> Batch:
    """Some strings of a batch."""
    index = np.asarray(rows)

    def of(positions: Sequence[int | ndarray]) -> tuple[int | ndarray, ...]:
        return tuple(p[index] if isinstance(p, np.ndarray) and p.ndim else p for p in positions)

    columns = tuple(Column(c.scored, c.answer, of(c.parents), of(c.selectors)) for c in batch.columns)
    return dataclasses.replace(
        batch, input_ids=batch.input_ids[index], places=batch.places[index], columns=columns,
        allowed=None if batch.allowed is None else batch.allowed[index], extra={},
    )  # fmt: skip


def joined(batches: Sequence[Batch]) -> Batch:
    """The strings of batches of one layout and the same scored columns, without parents."""
    first, allowed = batches[0], [batch.allowed for batch in batches if batch.allowed is not None]
    return dataclasses.replace(
        first, input_ids=np.concatenate([batch.input_ids for batch in batches]),
        places=np.concatenate([batch.places for batch in batches]),
        columns=tuple(Column(c.scored, c.answer, (), ()) for c in first.columns),
        allowed=np.concatenate(allowed) if allowed else None, extra={},
    )  # fmt: skip


def changed(task: Task, base: Batch, change: Change, rng: Rng, drawn: Batch | None = None) -> tuple[Batch, list[int]]:
    """The strings of ``base`` whose prompts can be changed so, and their rows; raises `LengthwiseError` without any.

    Which tokens may change is seen in ``drawn``, if ``base`` is a part of it. Only where places don't depend on the
    tokens, and the answer has as many tokens as before. Parents are kept where they are the same for all strings.
    """
    end, all_drawn = base.prompt_length, drawn or base
    prompts = all_drawn.input_ids[:, :end]
    free = np.flatnonzero((prompts != prompts[:1]).any(0))
    fits = bool((all_drawn.places == all_drawn.places[:1]).all() and base.scored[end:].all()) and base.allowed is None
    pool, rows, made = np.unique(prompts[:, free]), list[int](), list[ndarray]()
    for row in range(base.size) if fits and len(free) >= 2 else ():
        new = base.input_ids[row, :end].copy()
        with suppress(ValueError, LengthwiseError):
            change(new, free, pool, rng)
            answer = task.vocab.encode(task.solve(task.vocab.decode(new.tolist())))
            if end + len(answer) == base.tokens:
                rows.append(row)
                made.append(np.concatenate([new, answer]))
    require(bool(rows), f"no prompt of length {base.layout.length} of task {task.name!r} can be changed so")
    fixed = all(np.ndim(p) == 0 for c in base.columns for p in (*c.parents, *c.selectors))
    columns = base.columns if fixed else tuple(Column(c.scored, c.answer, (), ()) for c in base.columns)
    places = np.repeat(base.places[:1], len(rows), 0)
    return dataclasses.replace(base, input_ids=np.stack(made), places=places, columns=columns, extra={}), rows


def into_kind(task: Task, kind: str) -> Change:
    """What makes prompts of a kind that the task names; one that stays of another kind raises `ValueError`."""

    def change(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
        new = task.made_of_kind(kind, task.vocab.decode(prompt.tolist()), rng)
        if len(new) != len(prompt) or not task.of_kind(kind, new):
            raise ValueError("not of this kind")
        prompt[:] = task.vocab.encode(new)

    return change


def _replace(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
    prompt[rng.choice(free)] = rng.choice(pool)


def _swap(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
    one, other = rng.choice(free, 2)
    prompt[one], prompt[other] = prompt[other], prompt[one]


def _repeat(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
    period = int(rng.integers(1, max(2, len(free) // 2)))
    prompt[free] = np.resize(prompt[free[:period]], len(free))


def _block(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
    """Two runs of one token each."""
    cut = int(rng.integers(len(free) + 1))
    prompt[free[:cut]], prompt[free[cut:]] = rng.choice(pool), rng.choice(pool)


def _reversed(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
    prompt[free] = np.sort(prompt[free])[:: int(rng.choice([1, -1]))]


_EDITS: dict[str, Change] = {
    "one UNIT of a random string was replaced": _replace,
    "two UNITs of a random string were exchanged": _swap,
    "the UNITs repeat a part": _repeat,
    "one UNIT is repeated, then another one to the end": _block,
    "the UNITs are sorted": _reversed,
}


def edits(*units: str) -> dict[str, Change]:
    """Ways to edit a random prompt, by their names; ``units`` are what its tokens are called: digit, token."""
    return {name.replace("UNIT", unit): change for name, change in _EDITS.items() for unit in units}


EDITS = edits("digit", "token")
"""The same, whatever the tokens are."""


def _into(task: Task, name: str) -> Change:
    """What makes prompts of a kind that the task names, or edits them in a way."""
    return EDITS[name] if name in EDITS else into_kind(task, name)


def with_more(task: Task, batch: Batch, more: Mapping[str, float], rng: Rng) -> Batch:
    """The batch with so large a share of its rows, drawn anew, made of each kind or edited in each way.

    Rows that can't be are as before.
    """
    ids, draw, before = batch.input_ids.copy(), rng.random(batch.size), 0.0
    # Few rows don't show which tokens may change.
    drawn = task.batch(batch.layout.length, SEEN, stream(0, "kinds", "seen"), batch.layout)
    for kind, share in more.items():
        rows = np.flatnonzero((before <= draw) & (draw < before + share))
        before += share
        with suppress(LengthwiseError):
            made, kept = changed(task, select(batch, rows), _into(task, kind), rng, drawn)
            ids[rows[kept]] = made.input_ids
    return dataclasses.replace(batch, input_ids=ids)


def drawn_of(task: Task, length: int, size: int, kind: str, rng: Rng) -> Batch:
    """Strings of a kind that the task names, or edited in a way; raises `LengthwiseError` for what makes too few."""
    check_more(task, [length], {kind: 1.0})
    made, _ = changed(task, task.batch(length, TRIES * max(size, SEEN), rng), _into(task, kind), rng)
    require(made.size >= size, f"length {length} has too few prompts of kind {kind!r}; take size={made.size} or fewer")
    return select(made, range(size))


def check_more(task: Task, lengths: Sequence[int], more: Mapping[str, float]) -> None:
    """Raises `LengthwiseError` for what is no kind of the task and no way to edit, or makes none of its strings."""
    for kind, share in more.items():
        ways = edits(task.batch(lengths[0], 1, stream(0, "kinds", "unit")).unit)
        known = ", ".join(map(repr, [*task.kinds, *ways]))
        require(kind in task.kinds or kind in EDITS, f"task {task.name!r} names no kind {kind!r}; known are {known}")
        number(f"the share of {kind!r} in more", share, 0)
        require(
            kind in EDITS or isinstance(task.kinds[kind], tuple),
            f"kind {kind!r} of task {task.name!r} has nothing that makes such prompts; add it: kinds = "
            "{kind: (is_of_kind, make)}",
        )
        for length in lengths:
            base = task.batch(length, SEEN, stream(0, "kinds", "check"))
            with suppress(LengthwiseError):
                changed(task, base, _into(task, kind), stream(0, "kinds", "check", kind))
                break
        else:
            raise LengthwiseError(f"no strings of lengths {list(lengths)} can be made of kind {kind!r}; add others")
    require(sum(more.values()) <= 1, f"the shares in more must sum to at most 1, got {sum(more.values()):g}")
