"""Strings of a kind: drawn ones whose prompts are changed, and still instances of the task."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy import ndarray

from lengthwise.core.batch import Batch, Column
from lengthwise.core.config import number
from lengthwise.core.errors import LengthwiseError, reject, require
from lengthwise.core.rng import Rng, stream
from lengthwise.tasks.base import Task
from lengthwise.tasks.values import ANYWHERE, FIRST, LAST, Change, Values, spoken, values_named, with_values

TRIES = 4
"""Prompts that are drawn for each one of a kind."""
DRAWS = 100
"""The same, in training, where nothing makes prompts of a kind."""
SEEN = 64
"""Rows that are drawn to see which tokens of a prompt may change."""
AS_WRITTEN = ", as written, "
"""What the name of each edge case has in it."""
_EDGE = re.compile(rf"(?:every part of )?the prompt{AS_WRITTEN}(begins|ends) with (?:a single (\S+)|(\S+) \3)")


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
    A change that raises `ValueError` leaves a string out; one that raises `StopIteration`, all that are left.
    """
    end, all_drawn = base.prompt_length, drawn or base
    prompts = all_drawn.input_ids[:, :end]
    free = np.flatnonzero((prompts != prompts[:1]).any(0))
    fits = bool((all_drawn.places == all_drawn.places[:1]).all() and base.scored[end:].all()) and base.allowed is None
    pool, rows, made = np.unique(prompts[:, free]), list[int](), list[ndarray]()
    for row in range(base.size) if fits and len(free) >= 2 else ():
        new = base.input_ids[row, :end].copy()
        with suppress(ValueError, LengthwiseError):
            try:
                change(new, free, pool, rng)
            except StopIteration:
                break
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
        reject(len(new) != len(prompt) or not task.of_kind(kind, new), "not of this kind")
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


def edge_case(token: int, last: bool, run: bool) -> Change:
    """Every part of the prompt ends or begins with one such token, or with two; all else stays as it was drawn."""

    def change(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
        others = pool[pool != token]
        for part in np.split(free, np.flatnonzero(np.diff(free) > 1) + 1):
            size = 1 + run
            reject(len(part) < size or not len(others), "no room")
            part = part[::-1] if last else part
            prompt[part[:size]] = token
            if not run and len(part) > 1 and prompt[part[1]] == token:
                prompt[part[1]] = rng.choice(others)

    return change


def edge_name(part: str, token: str, last: bool, run: bool) -> str:
    """What is said of such prompts."""
    return f"{part}{AS_WRITTEN}{'ends' if last else 'begins'} with {f'{token} {token}' if run else f'a single {token}'}"


def _into(task: Task, name: str, drawn: Batch) -> Change:
    """What makes prompts of a kind that the task names, edits them, makes an edge case, or plants values into them."""
    values, where = values_named(name) if name not in task.kinds else ([], ANYWHERE)
    if values:
        return Values(task, drawn).planted(values, where)
    found = None if name in task.kinds else _EDGE.fullmatch(name)
    if found is None:
        return EDITS[name] if name in EDITS else into_kind(task, name)
    return edge_case(task.vocab.ids[found[2] or found[3]], found[1] == "ends", found[3] is not None)


def can_make(task: Task, name: str) -> bool:
    """Whether `with_more` draws such rows: of a kind that the task names, edited, an edge case, or with values."""
    found, parts = _EDGE.fullmatch(name), " ".join(values_named(name)[0]).split()
    named = name in task.kinds or name in EDITS or (found is not None and (found[2] or found[3]) in task.vocab.ids)
    return named or (bool(parts) and {*parts} <= {*task.vocab.ids, "and"})


def _draws(task: Task, kind: str) -> int:
    """Prompts that are drawn for each one of a kind: more where nothing makes them."""
    return DRAWS if kind in task.kinds and not isinstance(task.kinds[kind], tuple) else 1


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
        base, draws = select(batch, rows), _draws(task, kind) * len(rows)
        if draws > len(rows):
            base = task.batch(batch.layout.length, draws, rng, batch.layout)
        with suppress(LengthwiseError):
            made = changed(task, base, _into(task, kind, drawn), rng, drawn)[0].input_ids[: len(rows)]
            ids[rows[: len(made)]] = made
    return dataclasses.replace(batch, input_ids=ids)


def drawn_of(task: Task, length: int, size: int, kind: str, rng: Rng) -> Batch:
    """Strings of a kind that the task names, or edited in a way; raises `LengthwiseError` for what makes too few."""
    check_more(task, [length], {kind: 1.0})
    base = task.batch(length, TRIES * max(size, SEEN) * _draws(task, kind), rng)
    made, _ = changed(task, base, _into(task, kind, base), rng)
    require(made.size >= size, f"length {length} has too few prompts of kind {kind!r}; take size={made.size} or fewer")
    return select(made, range(size))


def check_more(task: Task, lengths: Sequence[int], more: Mapping[str, float]) -> None:
    """Raises `LengthwiseError` for what is no kind of the task and no way to edit, or makes none of its strings."""
    for kind, share in more.items():
        if not can_make(task, kind):
            drawn = task.batch(lengths[0], SEEN, stream(0, "kinds", "seen"))
            values = Values(task, drawn)
            known = [
                *task.kinds,
                *edits(drawn.unit),
                *[with_values(values.what, ["…"], at) for at in (ANYWHERE, FIRST, LAST) if values.named],
            ]
            near = [each for each in known if kind in each] or difflib.get_close_matches(kind, known, 1)
            named = spoken([*map(repr, near or known)], "or" if near else "and")
            meant = f"did you mean {named}?" if near else f"known are {named}"
            raise LengthwiseError(f"task {task.name!r} names no kind {kind!r}; {meant}")
        number(f"the share of {kind!r} in more", share, 0)
        for length in lengths:
            base = task.batch(length, SEEN * _draws(task, kind), stream(0, "kinds", "check"))
            with suppress(LengthwiseError):
                changed(task, base, _into(task, kind, base), stream(0, "kinds", "check", kind))
                break
        else:
            raise LengthwiseError(f"no strings of lengths {list(lengths)} can be made of kind {kind!r}; add others")
    require(sum(more.values()) <= 1, f"the shares in more must sum to at most 1, got {sum(more.values()):g}")
