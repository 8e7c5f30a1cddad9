"""Whether what is near tells which places are needed, on dull strings; and whether far tokens would do instead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, combinations, product

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.rng import stream
from lengthwise.tasks import Task
from lengthwise.tasks.values import spoken

DRAWN, LAST = 1024, 3
"""Strings, and tokens at the end of their answers, in which another rule is looked for."""
MOST_TOKENS = 64
"""Behind more, none is looked for."""
SYMBOLS = 3
"""So many symbols are tried, alone and in pairs."""
ROWS = 64
"""Strings that show which symbols a column may hold."""
UNTOLD = "near tokens do not tell which place is needed"
"""How the reason begins."""
LABEL = "let the ids carry it, such as a label that says the parity of a place (docs/howto/own-task.md#places)"
"""What to do."""


def untold_in_task(task: Task, length: int, span: int, *, coupled: bool) -> str:
    """Why ids and tokens up to ``span`` ids away do not tell which places are needed; empty where nothing shows it.

    Ids are the places where ``coupled``, else positions. Tokens with selectors are left out, since these tell; and all
    where the content decides the parents or the places.
    """
    batch = task.batch(length, ROWS, stream(0, "predict", "determined"))
    parents, places = batch.parents, batch.places
    if (parents != parents[0]).any() or (places != places[0]).any():
        return ""
    scored = [int(t) for t in np.flatnonzero(batch.scored) if (batch.selectors[0, t] < 0).all()]
    needed = {t: [int(p) for p in parents[0, t] if p >= 0] for t in scored}
    ids = places[0] if coupled else np.arange(1, batch.tokens + 1)[:, None]
    return untold(batch, task.solve, needed, ids, span)


def untold(
    batch: Batch,
    solve: Callable[[Sequence[str]], Sequence[str]],
    parents: Mapping[int, Collection[int]],
    ids: Int[ndarray, "T L"],
    span: int,
) -> str:
    """The same for the ``parents`` of tokens of a layout, of which ``batch`` has strings, under its ``ids``.

    The first level of ids counts, others are labels. Two tokens whose windows are the same, answers so far included,
    and whose parents are at other places show it.
    """
    seen = dict[tuple[object, ...], tuple[int, ...]]()
    far = ids[:, 0]
    for text in _dull(batch, solve):
        for t, needed in parents.items():
            at = far[t - 1]
            if not needed or not at:
                continue
            near = np.flatnonzero((far[:t] > 0) & (abs(far[:t] - at) <= span))
            window = tuple(
                (int(far[s] - at), *map(int, ids[s, 1:]), text[s], bool(s < batch.prompt_length)) for s in near
            )
            steps = tuple(sorted({int(far[p] - at) for p in needed}))
            if (other := seen.setdefault(window, steps)) != steps:
                which = " or ".join(_words(sorted(set(a) - set(b))) for a, b in ((other, steps), (steps, other)))
                return f"{UNTOLD}, {which}, where symbols repeat; {LABEL}"
    return ""


def shortcut(task: Task, length: int, span: int) -> str:
    """That a generated token follows from fewer tokens than its parents, one of them farther than ``span`` places away.

    Training may find that rule, which need not go on where the far token is out of reach. Empty where no single token
    or pair is seen to tell one, and of tasks without places.
    """
    batch = task.batch(length, DRAWN, stream(0, "predict", "shortcut"))
    ids, places = batch.input_ids, batch.places[0, :, 0]
    for t in [int(t) for t in np.flatnonzero(batch.scored) if (batch.places[:, t] == places[t]).all()][:-1][-LAST:]:
        parents = {int(p) for p in batch.parents[0, t] if p >= 0}
        told = [s for s in range(t) if t <= MOST_TOKENS and len({*ids[:, s].tolist()}) > 1]
        far = {s for s in told if places[s] and abs(int(places[s]) - int(places[t - 1])) > span} - parents
        for some in chain.from_iterable(combinations(told, size) for size in range(1, min(len(parents), 3))):
            if far.isdisjoint(some):
                continue
            code = sum(ids[:, s].astype(np.int64) * len(batch.vocab) ** at for at, s in enumerate((*some, t)))
            known = np.unique(code % len(batch.vocab) ** len(some)).size
            if np.unique(code).size == known <= batch.size // 2:
                which = f"token {t} of length {length} from {spoken([str(s) for s in some])}"
                return (
                    f"a token of the answer also follows from fewer tokens, one of them far away ({which}): training "
                    "may find that rule, which need not go on"
                )
    return ""


def _words(steps: Sequence[int]) -> str:
    """Where places are, seen from the token that predicts."""
    said = ("this one" if not step else f"{abs(step)} {'further' if step > 0 else 'back'}" for step in steps)
    return " and ".join(said) or "no other"


def _dull(batch: Batch, solve: Callable[[Sequence[str]], Sequence[str]]) -> Iterator[list[str]]:
    """Strings of the batch's shape, answers included, whose free tokens are all alike, or two in turn."""
    prompts = [batch.text(row)[: batch.prompt_length] for row in range(batch.size)]
    free = {i: set(column) for i, column in enumerate(zip(*prompts, strict=True)) if len(set(column)) > 1}
    kinds = list[set[str]]()
    for seen in free.values():
        kinds = [seen.union(*(k for k in kinds if k & seen)), *(k for k in kinds if not k & seen)]
    for pair in product(range(SYMBOLS), repeat=2):
        prompt = list(prompts[0])
        for kind in kinds:
            symbols = sorted(kind)
            for turn, i in enumerate(i for i, seen in free.items() if seen <= kind):
                prompt[i] = symbols[pair[turn % 2] % len(symbols)]
        try:
            text = [*prompt, *solve(prompt)]
        except Exception:  # A task of one's own may fail in any way on what it was not written for.
            continue
        if len(text) == batch.tokens:
            yield text
