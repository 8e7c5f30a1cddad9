"""The laws of a task: what its batches, parents, places and answers must agree on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from lengthwise.core.batch import NOT_SCORED, Batch
from lengthwise.core.rng import stream
from lengthwise.core.vocab import BOS
from lengthwise.tasks import TASKS, Task
from lengthwise.testing.law import need, refused
from lengthwise.testing.parent_effects import FIRST_ROWS, KEPT_ANSWERS, an_edit_changes, solver, some_differ

NONSENSE = (["<sep>"], ["<eos>", "<eos>", "<eos>", "<eos>"], ["<bos>", "<pad>", "<sep>", "<pad>", "<sep>"])
"""Prompts that are no instance of any task."""


def batches(task: Task, size: int, *, lengths: int = 4, draws: int = 3) -> Iterator[Batch]:
    """Batches of ``size`` strings of the shortest lengths: drawn layouts and test layouts."""
    for length in [length for length in task.lengths(0, 12) if length][:lengths]:
        for draw in range(draws):
            yield task.batch(length, size, stream(draw, "law", length))
        for index, layout in enumerate(task.test_layouts(length)):
            yield task.batch(length, size, stream(index, "test", length), layout)


def same_stream_same_batch(task: Task) -> None:
    """Equal random streams give equal batches: all randomness comes from the stream."""
    for length in task.lengths(0, 9):
        one, two = (task.batch(length, 5, stream(7, length)) for _ in range(2))
        other = task.batch(length, 50, stream(8, length))
        for name in ("input_ids", "labels", "places", "parents", "selectors"):
            same = np.array_equal(getattr(one, name), getattr(two, name))
            need(same, f"length {length}: {name} differ between two batches of one stream; draw from rng only")
        need(one.layout == two.layout, f"length {length}: layouts differ between two batches of one stream")
        need(other.layout.length == length, f"length {length}: the layout says {other.layout.length}")


def shapes_and_labels(task: Task) -> None:
    """A batch starts with <bos>, ends with one block of predicted tokens, and labels exactly those."""
    for batch in batches(task, 20):
        at = f"length {batch.layout.length}"
        need(batch.input_ids.shape == batch.labels.shape == batch.places.shape[:2], f"{at}: shapes differ")
        need(batch.places.shape[2] == len(task.levels), f"{at}: places have another number of levels than `levels`")
        need((batch.input_ids[:, 0] == task.vocab[BOS]).all(), f"{at}: the first token is not <bos>; call seq.bos()")
        inside = batch.input_ids.min() >= 0 and batch.input_ids.max() < len(task.vocab)
        need(inside, f"{at}: a token id lies outside of the vocabulary")
        need(batch.scored.any(), f"{at}: nothing is predicted; write the answer with seq.predicted")
        need(batch.scored[batch.prompt_length :].all(), f"{at}: a given token follows a predicted one")
        right = (batch.labels[:, batch.scored] == batch.input_ids[:, batch.scored]).all()
        need(right and (batch.labels[:, ~batch.scored] == NOT_SCORED).all(), f"{at}: labels are not the scored tokens")
        need(batch.answer.any() and not batch.answer[~batch.scored].any(), f"{at}: the answer is not among the scored")
        need(0 <= task.chance(batch.layout) <= 1, f"{at}: chance is {task.chance(batch.layout)}, not within 0 and 1")


def answers_agree(task: Task) -> None:
    """`answer` solves every prompt as `write` wrote it."""
    answer = functools.lru_cache(maxsize=KEPT_ANSWERS)(lambda prompt: task.answer(list(prompt)))
    for batch in batches(task, 60, lengths=9):
        cut = batch.prompt_length
        for row in range(batch.size):
            text = batch.text(row)
            if batch.allowed is not None:
                _sets_agree(answer, batch, row, text)
                continue
            found = answer(tuple(text[:cut]))
            need(found == text[cut:], f"answer({text[:cut]}) is {found}, but write wrote {text[cut:]}")


def _sets_agree(answer: Callable[[tuple[str, ...]], list[str]], batch: Batch, row: int, text: list[str]) -> None:
    """A next-symbol task answers every prefix with the set of tokens that may follow."""
    assert batch.allowed is not None
    for t in range(batch.tokens - 1):
        wanted = batch.vocab.decode(np.flatnonzero(batch.allowed[row, t]))
        found = answer(tuple(text[: t + 1]))
        need(found == wanted, f"answer({text[: t + 1]}) is {found}, but write allows {wanted}")
        need(batch.allowed[row, t, batch.input_ids[row, t + 1]], f"{text}: token {t + 1} is not allowed")
    need(not batch.allowed[row, -1].any(), f"{text}: something is allowed after the end")


def parents_are_earlier(task: Task) -> None:
    """Parents and selectors stand before their token, once each, and only scored tokens have them."""
    for batch in batches(task, 50):
        for name in ("parents", "selectors"):
            positions = getattr(batch, name)
            before = (positions < np.arange(batch.tokens)[None, :, None]).all()
            need(positions.min(initial=-1) >= -1 and before, f"one of the {name} does not stand before its token")
            need((positions[:, ~batch.scored] == -1).all(), f"a token that is not scored has {name}")
        ordered = np.sort(batch.parents, axis=2)
        twice = (ordered[:, :, 1:] == ordered[:, :, :-1]) & (ordered[:, :, 1:] >= 0)
        need(not twice.any(), "a parent is named twice")


def _columns(task: Task, size: int) -> Iterator[tuple[Batch, int]]:
    """The batches with every scored column of theirs, where columns have parents."""
    for batch in batches(task, size):
        if batch.allowed is not None:
            need(batch.parents.shape[2] == 0, "a task that states sets of next tokens has no parents")
            continue
        for t in np.flatnonzero(batch.scored):
            yield batch, int(t)


def _values(batch: Batch, t: int) -> np.ndarray:
    """The values of a column's parents (-1: none), ``[B P]``."""
    # The other slots are those of columns with more parents.
    parents = batch.parents[:, t, : len(batch.columns[t].parents)]
    return np.where(parents >= 0, batch.input_ids[np.arange(batch.size)[:, None], parents], -1)


def token_is_a_function_of_its_parents(task: Task) -> None:
    """No parent is missing: strings that agree on a token's parents agree on the token."""
    for batch, t in _columns(task, 2000):
        missing = some_differ(_values(batch, t), batch.input_ids[:, t, None])
        need(not missing, f"length {batch.layout.length}, column {t} ({batch.text(0)[t]!r}): a parent is missing")


def no_parent_is_superfluous(task: Task) -> None:
    """Every parent matters: some change of it alone changes the token."""
    solve = solver(task)
    for batch, t in _columns(task, 6000):
        for slot in range(len(batch.columns[t].parents)):
            rows = batch.parents[:, t, slot] >= 0
            if not rows.any():
                continue
            # A few edits show the effect of most parents.
            if an_edit_changes(solve, batch, t, slot, FIRST_ROWS):
                continue
            # Rows that agree on all other parents, yet differ in the token, differ because of this parent.
            others = np.delete(_values(batch, t)[rows], slot, axis=1)
            if some_differ(others, batch.input_ids[rows, t, None]):
                continue
            message = f"length {batch.layout.length}, {batch.layout}, column {t}: parent {slot} is superfluous"
            need(an_edit_changes(solve, batch, t, slot), message)


def places_start_at_one_without_gaps(task: Task) -> None:
    """The places of the first level are 1, 2, …, without gaps; <bos> has none."""
    for batch in batches(task, 50, lengths=6):
        need((batch.places >= 0).all(), "a place is negative")
        need((batch.places[:, 0] == 0).all(), "<bos> has a place; it has none (0)")
        used = np.sort(batch.places[:, :, 0], axis=1)
        for row in np.flatnonzero((np.diff(used, axis=1) > 1).any(axis=1))[:1]:
            found = sorted(set(used[row].tolist()) - {0})
            need(False, f"length {batch.layout.length}: places {found} leave a gap; number them from 1")


def places_follow_the_rule(task: Task) -> None:
    """The place of a predicted token follows from the prefix as `place_rule` says."""
    need(task.levels[0] == "position", "the first level of places is not 'position'")
    for batch in batches(task, 50, lengths=6):
        for t in np.flatnonzero(batch.scored):
            now, before = batch.places[:, t], batch.places[:, :t]
            for level, kind in enumerate(task.levels):
                if kind == "label":
                    continue
                if task.place_rule == "earlier":
                    follows = (before[:, :, level] == now[:, None, level]).any(axis=1)
                else:
                    follows = np.isin(now[:, level] - before[:, -1, level], (0, 1))
                need(follows.all(), f"column {t}: the place breaks the rule {task.place_rule!r} of place_rule")


def places_are_functions_of_the_prefix(task: Task) -> None:
    """Equal prompts have equal places throughout."""
    for batch in batches(task, 2000, lengths=3):
        differ = some_differ(batch.input_ids[:, : batch.prompt_length], batch.places.reshape(batch.size, -1))
        need(
            not differ, f"length {batch.layout.length}: one prompt has several places; they must follow from the prompt"
        )


def json_round_trip(task: Task) -> None:
    """A task is rebuilt from its name and its fields."""
    need(TASKS.build(TASKS.describe(task)) == task, "the fields do not rebuild the task; is it a @config dataclass?")


def lengths_without_instances_are_refused(task: Task) -> None:
    """`lengths` lists the lengths with instances, and every other length is refused."""
    has = task.lengths(-3, 400)
    need(has == sorted(set(has)), "lengths are not sorted, or one is listed twice")
    need(has, "no length up to 400 has instances")
    for length in [*range(-3, 14), 399, 400]:
        need((length in has) == (task.lengths(length, length) == [length]), f"lengths disagree about {length}")
        if length not in has:
            with refused(f"has no instances of length {length}; use ", what=f"length {length}"):
                task.batch(length, 2, stream(0))
    with refused("at least one sequence", what="a batch of 0 sequences"):
        task.batch(has[0], 0, stream(0))
    with refused("the layout is for length", what="a layout of another length"):
        task.batch(has[0], 1, stream(0), replace(task.layout(has[0], stream(0)), length=has[0] + 1))


def nonsense_is_refused(task: Task) -> None:
    """`answer` raises ValueError, with a message, for a prompt that is no instance."""
    for prompt in NONSENSE:
        with refused("", ValueError, what=f"answer({prompt})"):
            task.answer(prompt)


LAWS: dict[str, Callable[[Task], None]] = {
    law.__name__: law
    for law in (
        same_stream_same_batch,
        shapes_and_labels,
        answers_agree,
        parents_are_earlier,
        token_is_a_function_of_its_parents,
        no_parent_is_superfluous,
        places_start_at_one_without_gaps,
        places_follow_the_rule,
        places_are_functions_of_the_prefix,
        json_round_trip,
        lengths_without_instances_are_refused,
        nonsense_is_refused,
    )
}
"""Every law of a task by name."""
