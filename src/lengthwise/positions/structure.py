"""The structure of a task under a scheme: how many tokens matter (sparsity k), and how far they are in position ids."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.batch import Batch, Layout
from lengthwise.core.errors import require
from lengthwise.core.once import once
from lengthwise.core.rng import Rng, stream
from lengthwise.positions.schemes import PositionScheme

if TYPE_CHECKING:
    from lengthwise.tasks import Task


@dataclass(frozen=True)
class Reach:
    """How many tokens a scored token depends on at most, and the largest distance to one of them in position ids."""

    count: int
    span: int


@dataclass(frozen=True)
class Structure:
    """At one length: the reach of parents, of selectors (which choose the parents by content), and of both together."""

    length: int
    parents: Reach
    selectors: Reach
    both: Reach

    @property
    def sparsity(self) -> int:
        """k, the largest number of parents of a scored token."""
        return self.parents.count

    @property
    def span(self) -> int:
        """The largest distance to a parent in position ids."""
        return self.parents.span


def reach(batch: Batch, positions: Int[ndarray, "B T P"], ids: Int[ndarray, "B T K"]) -> Reach:
    """The reach of ``positions`` (-1 for none) over scored tokens, with the distance on the level where it is largest.

    The token at position t is predicted from position t − 1. A position that is named twice counts once.
    """
    target = np.flatnonzero(batch.scored)
    wanted = np.sort(positions[:, target], axis=-1)
    new = (wanted >= 0) & np.diff(wanted, axis=-1, prepend=-1).astype(bool)
    return Reach(int(new.sum(axis=-1).max(initial=0)), int(spans(batch, positions, ids).max(initial=0)))


def spans(batch: Batch, positions: Int[ndarray, "B T P"], ids: Int[ndarray, "B T K"]) -> Int[ndarray, "B S"]:
    """Of each scored token the largest distance to one of ``positions``, as in `reach`; 0 without one.

    Ids may be `NO_PLACE`, see `distance`.
    """
    target = np.flatnonzero(batch.scored)
    wanted, rows = positions[:, target], np.arange(batch.size)[:, None, None]
    # What is missing is replaced by the predicting token, at distance 0.
    wanted = np.where(wanted < 0, (target - 1)[None, :, None], wanted)
    gaps = distance(ids[:, target - 1][:, :, None], ids[rows, wanted], ids.max(initial=0))
    return gaps.max(axis=(2, 3), initial=0)


NO_PLACE = -1
"""Where distances are counted, the id of a token without a place. Its own, 0, is near none that a place may get."""


def distance(here: Any, there: Any, largest: Any) -> ndarray:
    """How far ids are apart; `NO_PLACE` is as far from all others as the ``largest`` id."""
    return np.where((here == NO_PLACE) == (there == NO_PLACE), np.abs(here - there), largest)


def with_no_place(batch: Batch, ids: Int[ndarray, "B T K"]) -> Int[ndarray, "B T K"]:
    """Ids that follow the places of a batch, with `NO_PLACE` for tokens that have none on any level."""
    return np.where(batch.places.any(axis=-1, keepdims=True), ids, NO_PLACE)


def has_places(task: Task, length: int) -> bool:
    """Whether two tokens of a string of this length share a place; otherwise coupling changes nothing."""
    places = task.batch(length, 1, stream(0, "structure", "places")).places[0, :, 0]
    stated = places[places > 0]
    return len(np.unique(stated)) < len(stated)


NO_PLACES = (
    "`lw.couple(task)` or `lengthwise couple NAME` finds places to write into it (place=…), or for task 'recoupled'; "
    "a scheme that counts, such as 'sequential', needs none"
)
"""What to do where a task states no places."""


def longest_with_ids(task: Task, scheme: PositionScheme, seed: int = 0) -> int:
    """The longest problems for whose places ``max_position`` suffices; 0 if it does not for the shortest."""
    lengths = task.lengths(1, scheme.max_position)

    def needed(length: int) -> int:
        return int(task.batch(length, 1, stream(seed, "hf", "reach")).places.max())

    short = bisect_right(lengths, scheme.max_position, key=needed)
    return lengths[short - 1] if short else 0


def check_places(task: Task, scheme: PositionScheme) -> None:
    """Raise `LengthwiseError` where ids come from places and the task states none, so that all would be 0."""
    require(
        not scheme.uses_places or task.states_places,
        f"task {task.name!r} states no places, so that all ids would be 0; {NO_PLACES}",
    )


@dataclass(frozen=True)
class FarStep:
    """The step of one string that looks farthest back in places: which tokens, by position, and how far."""

    text: tuple[str, ...]
    places: tuple[int, ...]
    """`NO_PLACE` for a token without one."""
    target: int
    """The position of the predicted token; the one before predicts it."""
    needed: int
    distance: int


@once()
def farthest_step(task: Task, length: int) -> tuple[FarStep, int]:
    """The step that looks farthest, and the span if the last token of the prompt had the place of what it looks for."""
    batch = task.batch(length, 64, stream(0, "structure", "far", length))
    places = with_no_place(batch, batch.places)[:, :, :1]
    target, rows = np.flatnonzero(batch.scored), np.arange(batch.size)[:, None, None]
    parents = batch.parents[:, target]
    gaps = distance(places[:, target - 1], places[rows, parents, 0], places.max())
    gaps[parents < 0] = -1
    far = int(gaps.max())
    t, row, needed = max((-int(target[s]), int(r), int(parents[r, s, k])) for r, s, k in np.argwhere(gaps == far))
    step = FarStep(tuple(batch.text(row)), tuple(places[row, :, 0].tolist()), -t, needed, far)
    moved, last = places.copy(), batch.prompt_length - 1
    first = batch.parents[:, last + 1]
    if (first >= 0).any():
        found = np.where(first >= 0, first, first.max(axis=1, keepdims=True))[:, 0]
        moved[:, last] = np.take_along_axis(places[:, :, 0], found[:, None], 1)
    return step, reach(batch, batch.parents, moved).span


@once()
def needed_by_all(task: Task, length: int) -> set[int]:
    """`in_all` of the parents that a task states, at one length."""
    batch = task.batch(length, 64, stream(0, "structure", "all", length))
    tokens = [t for t in np.flatnonzero(batch.scored) if (batch.parents[:, t] >= 0).any()]
    # By token those that it needs in every string.
    parents = [set.intersection(*(set(row.tolist()) for row in batch.parents[:, t])) - {-1} for t in tokens]
    return in_all(parents, batch.prompt_length)


def in_all(parents: Sequence[Collection[int]], prompt: int) -> set[int]:
    """The positions of a prompt that all predicted tokens with these parents need; none for few tokens.

    No places bring one near all of them, since their places must tell them from one another.
    """
    common = set.intersection(*map(set, parents)) if len(parents) >= FEW_TOKENS else set()
    return {p for p in common if p < prompt}


BY_EARLIER = (
    "every answer token needs token {}, which no places bring near all of them; where earlier tokens of the answer "
    "tell the same, make these parents"
)
"""What to do where `in_all` has a token."""


FEW_TOKENS = 5
"""So few predicted tokens can be near one place."""
PLACES_TELL = (
    "places of the prompt depend on what it says: under coupled ids your code must compute them, which may be the "
    "task itself"
)
"""What to know of a task of which `places_tell_content` is true."""


@once()
def places_tell_content(task: Task) -> bool:
    """Whether the places of the prompt depend on what it says, so that ids which follow them tell some of the answer.

    It is true where two of some strings of the shortest lengths, with equal numbers of tokens and equal sizes of their
    layouts, have other places in the prompt and another answer. Sizes are a layout's numbers, and how long its
    sequences are: a layout that lists *where* something begins follows from the content, and one that says how many
    digits each operand has does not.
    """
    seen: dict[Any, tuple[set[bytes], set[bytes]]] = {}
    for length in task.lengths(1, 200)[:6]:
        for draw in range(8):
            batch = task.batch(length, 16, stream(draw, "structure", "content", length))
            cut = batch.prompt_length
            places, answers = seen.setdefault((_sizes(batch.layout), cut, batch.tokens), (set(), set()))
            places |= {row.tobytes() for row in batch.places[:, :cut]}
            answers |= {row.tobytes() for row in batch.input_ids[:, cut:]}
            # With two of each, some two strings differ in both.
            if len(places) > 1 and len(answers) > 1:
                return True
    return False


def lacks_place(task: Task) -> str:
    """Which token of a task that states places has none, though one with parents needs it or is predicted from it.

    Empty where there is no such token, and where places would not help: it is `needed_by_all`, or a token needs ever
    more others.
    """
    if not task.states_places:
        return ""
    near = min(task.lengths(1, 66), key=lambda n: abs(n - 12), default=12)
    batch = task.batch(near, 1, stream(0, "structure", "lacks"))
    longer = task.batch(task.lengths(near, 66)[-1], 1, stream(0, "structure", "lacks"))
    if reach(longer, longer.parents, longer.places).count > reach(batch, batch.parents, batch.places).count:
        return ""
    text, placed = batch.text(0), batch.places[0].any(axis=-1)
    placed[[*needed_by_all(task, near)]] = True
    for t in np.flatnonzero(batch.scored):
        needed = [int(p) for p in batch.parents[0, t] if p >= 0]
        lacking = next((p for p in [*needed, t - 1] if needed and not placed[p]), None)
        if lacking is not None:
            how = "needs" if lacking in needed else "is predicted from"
            return (
                f"{text[t]!r} at position {t} {how} {text[lacking]!r} at position {lacking}, which has no place "
                f"(length {near}), so it is far from all that have one; under coupled ids give it one near what that "
                "needs: docs/howto/own-task.md#places"
            )
    return ""


def _sizes(layout: Layout) -> tuple[Any, ...]:
    """The numbers of a layout, those of a layout in it, and the lengths of its sequences."""
    parts = vars(layout).values()
    return tuple(
        _sizes(part) if isinstance(part, Layout) else len(part) if isinstance(part, tuple | list) else part
        for part in parts
    )


@once(1024)
def structure_at(task: Task, scheme: PositionScheme, length: int, seed: int = 0) -> Structure:
    """`structure` of the batch that `show` and `predict` share, so that both print the same numbers."""
    return structure(task, scheme, length, stream(seed, "show", "structure", length))


def structure(task: Task, scheme: PositionScheme, length: int, rng: Rng, *, size: int = 64) -> Structure:
    """The structure of a sampled batch and of every test layout, under the ids that the scheme gives at test time.

    Ids that are one for each place are compared as blocks from 1, since a random subset stretches all spans alike. Of
    several layouts the largest count and span are taken, and of several levels of positions the largest distance.
    """
    levels = [i for i, kind in enumerate(task.levels) if kind == "position"] if scheme.uses_places else [0]
    found = []
    for layout in (None, *task.test_layouts(length)):
        batch = task.batch(length, size, rng, layout)
        ids = batch.places if scheme.equals_places else scheme.for_evaluation().assign(batch.places, task.levels, rng)
        ids = (with_no_place(batch, ids) if scheme.uses_places else ids)[:, :, levels]
        alone = [reach(batch, tokens, ids) for tokens in (batch.parents, batch.selectors)]
        both = alone[0]
        if batch.selectors.size:
            both = reach(batch, np.concatenate([batch.parents, batch.selectors], axis=-1), ids)
        found.append([*alone, both])
    largest = (Reach(max(r.count for r in each), max(r.span for r in each)) for each in zip(*found, strict=True))
    return Structure(length, *largest)
