"""The laws of tasks, schemes, encodings and mixers, which own components can be checked with."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from lengthwise.core.batch import NOT_SCORED, Batch, Layout
from lengthwise.core.errors import LawError, LengthwiseError, shortened
from lengthwise.core.registry import Registry
from lengthwise.core.rng import stream
from lengthwise.core.user_code import file_of
from lengthwise.core.vocab import BOS
from lengthwise.models.attention_state import Cache
from lengthwise.models.build import build_model
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.models.mixers import MIXERS, MixerSpec
from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import ENCODINGS, EncodingSpec
from lengthwise.positions.schemes import SCHEMES, Coupled, PositionScheme
from lengthwise.tasks import TASKS, Task


def need(condition: object, message: str) -> None:
    """Raise `LawError` unless ``condition`` holds."""
    if not condition:
        raise LawError(message)


@contextmanager
def refused(words: str, error: type[Exception] = LengthwiseError, *, what: str = "") -> Iterator[None]:
    """Raise `LawError` unless the block raises ``error`` with these words in its message."""
    try:
        yield
    except error as raised:
        need(str(raised), f"{what or 'an error'} says nothing; say what is wrong")
        need(words in str(raised), f"{what or 'an error'} says {str(raised)!r}, which lacks {words!r}")
    else:
        with_words = repr(words) if words else "a message"
        raise LawError(f"{what or 'a mistake'} is accepted; raise {error.__name__} with {with_words}")


FIRST_ROWS, EDITED_ROWS = 5, 1000
"""Strings of a batch that are edited in search of the effect of a parent."""
KEPT_ANSWERS = 1 << 13
"""The latest answers are kept: an answer takes long, and many prompts come again."""
Solver = Callable[[tuple[str, ...]], list[str] | None]


def distinct_rows(rows: np.ndarray) -> int:
    """How many different rows there are in an array ``[B, n]`` of whole numbers."""
    return len({row.tobytes() for row in rows})


def some_differ(rows: np.ndarray, others: np.ndarray) -> bool:
    """Whether two of the ``rows`` are equal, but what ``others`` hold for them is not."""
    return distinct_rows(np.concatenate([rows, others], axis=1)) > distinct_rows(rows)


def solver(task: Task) -> Solver:
    """Gives a prompt and its answer by `Task.answer`, or None where `Task.answer` refuses the prompt."""

    @functools.lru_cache(maxsize=KEPT_ANSWERS)
    def solve(prompt: tuple[str, ...]) -> list[str] | None:
        try:
            return [*prompt, *task.answer(list(prompt))]
        except (ValueError, LengthwiseError):  # the latter for a token that a part of the task does not know
            return None

    return solve


def an_edit_changes(solve: Solver, batch: Batch, t: int, slot: int, tried: int = EDITED_ROWS) -> bool:
    """Whether the token changes with this parent alone after some edit of the prompt, solved again by `Task.answer`.

    Two edits are tried on each string: another token at the parent (if it is in the prompt), and the same with all
    tokens of the prompt on which the token does not depend taken from the next string. The other parents must come out
    as before, and so must selectors, where the parents are not the same in all strings: an edit that makes other tokens
    the parents says nothing about this one.
    """
    cut, parents = batch.prompt_length, batch.parents[:, t]
    chosen = (parents != parents[0]).any()
    if chosen and _decides(batch, t, slot):
        return False
    for row in range(min(batch.size, tried)):
        changed = int(parents[row, slot])
        if changed < 0:
            continue
        text, other = batch.text(row), batch.text((row + 1) % batch.size)
        known = [*parents[row], *batch.selectors[row, t]] if chosen else parents[row]
        kept = {int(at) for at in known if at >= 0} - {changed}
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


CHOICES = 400
"""Strings of a length among which two are looked for that have different parents, and nothing that says so."""


def another_choice(tokens: np.ndarray, known: np.ndarray, parents: np.ndarray) -> tuple[int, int] | None:
    """Two strings that agree on the ``known`` positions ``[B, S]`` of the first, but have other ``parents`` ``[B, P]``.

    The two differ in as few tokens as possible. Positions below 0 are none; of the first, 100 are tried.
    """
    parents, found = np.sort(parents, axis=1), list[tuple[int, int, int]]()
    if (parents == parents[0]).all():
        return None
    for row in range(0, len(tokens), max(1, len(tokens) // 100)):
        at = known[row][known[row] >= 0]
        others = (tokens[:, at] == tokens[row, at]).all(axis=1) & (parents != parents[row]).any(axis=1)
        found += [(int((tokens[other] != tokens[row]).sum()), row, int(other)) for other in np.flatnonzero(others)]
    return min(found)[1:] if found else None


def _decides(batch: Batch, t: int, slot: int) -> bool:
    """Whether the token at this parent says which tokens the parents are, and selectors and other parents do not."""
    parents, selectors = (positions[:CHOICES, t] for positions in (batch.parents, batch.selectors))
    here = selectors == parents[:, slot, None]
    known = np.column_stack([np.delete(parents, slot, axis=1), np.where(here, -1, selectors)])
    return another_choice(batch.input_ids[:CHOICES], known, parents) is not None


NONSENSE = (["<sep>"], ["<eos>", "<eos>", "<eos>", "<eos>"], ["<bos>", "<pad>", "<sep>", "<pad>", "<sep>"])
"""Prompts that are no instance of any task."""


LAYOUTS = 40
"""Batches of each length of a task that draws its layouts: one that comes in 1 of 16 is met with 92 %."""


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
    drawn = type(task).layout is not Task.layout  # Of layouts that are drawn, rare ones are to be met.
    for batch in batches(task, 20, draws=LAYOUTS if drawn else 3):
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
        begins = f"; let `layout` draw none whose answer is empty, or set min_length = {task.min_length + 1}"
        begins *= batch.layout.length == task.min_length
        need(batch.answer.any(), f"{at}: the answer is empty, with nothing before <eos>{begins}")
        need(not batch.answer[~batch.scored].any(), f"{at}: a token of the answer is given, not predicted")
        need(0 <= task.chance(batch.layout) <= 1, f"{at}: chance is {task.chance(batch.layout)}, not within 0 and 1")


def answers_agree(task: Task) -> None:
    """`answer` solves every prompt as `write` wrote it."""
    answer = functools.lru_cache(maxsize=KEPT_ANSWERS)(lambda prompt: task.answer(list(prompt)))
    for batch in batches(task, 60, lengths=9):
        cut = batch.prompt_length
        for row in range(batch.size):
            text = batch.text(row)
            if batch.allowed is not None:
                _sets_agree(answer, batch, row, text, continues=not task.labels_prefixes)
                continue
            found = answer(tuple(text[:cut]))
            need(found == text[cut:], f"answer({text[:cut]}) is {found}, but write wrote {text[cut:]}")


def _sets_agree(
    answer: Callable[[tuple[str, ...]], list[str]], batch: Batch, row: int, text: list[str], *, continues: bool
) -> None:
    """A task with sets answers every prefix with its set, which holds the next token if it ``continues`` the prefix."""
    assert batch.allowed is not None
    for t in range(batch.tokens - 1):
        wanted = batch.vocab.decode(np.flatnonzero(batch.allowed[row, t]))
        found = answer(tuple(text[: t + 1]))
        need(found == wanted, f"answer({text[: t + 1]}) is {found}, but write allows {wanted}")
        right = not continues or batch.allowed[row, t, batch.input_ids[row, t + 1]]
        need(right, f"{text}: token {t + 1} is not allowed")
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


def kinds_are_kinds(task: Task) -> None:
    """Each kind of `kinds` holds of some prompt and not of all, and what makes prompts makes some of the kind."""
    if not task.kinds:
        return
    drawn = [batch.text(row)[: batch.prompt_length] for batch in batches(task, 60, lengths=9)
             if batch.allowed is None for row in range(batch.size)]  # fmt: skip
    need(drawn, "`kinds` are of tasks with an answer; this one states sets of next tokens")
    solve, rng = solver(task), stream(0, "law", "kinds")
    for kind, given in task.kinds.items():
        held = [task.of_kind(kind, prompt) for prompt in drawn]
        need(not all(held), f"kind {kind!r} holds of every prompt, such as {' '.join(drawn[-1])!r}; correct it")
        if isinstance(given, tuple):
            made = [task.made_of_kind(kind, prompt, rng) for prompt in drawn]
            made = [prompt for prompt in made if solve(tuple(prompt)) is not None]
            held = [task.of_kind(kind, prompt) for prompt in made]
            need(made, f"kind {kind!r} makes no prompt that `answer` takes; correct what makes them")
        which = "made for it" if isinstance(given, tuple) else "drawn; if it is rare, add what makes such a prompt"
        need(any(held), f"kind {kind!r} holds of none of {len(held)} prompts that were {which}")


def details_are_details(task: Task) -> None:
    """Each detail of `details` holds of some token of an answer and not of all."""
    if not task.details:
        return
    prompts = [(text[: batch.prompt_length], text[batch.prompt_length :]) for batch in batches(task, 60, lengths=9)
               if batch.allowed is None for text in map(batch.text, range(batch.size))]  # fmt: skip
    need(prompts, "`details` are of tasks with an answer; this one states sets of next tokens")
    held = [task.details_of(prompt, answer[:at]) for prompt, answer in prompts for at in range(len(answer))]
    for name in task.details:
        count = sum(name in each for each in held)
        need(0 < count < len(held), f"detail {name!r} holds of {count} of {len(held)} tokens of answers; correct it")


def _columns(task: Task, size: int, draws: int = 3) -> Iterator[tuple[Batch, int]]:
    """The batches with every scored column of theirs, where columns have parents."""
    for batch in batches(task, size, draws=draws):
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
        if missing:
            need(False, f"length {batch.layout.length}, {batch.text(0)[t]!r}: {_missing_parent(task, batch, t)}")


def _missing_parent(task: Task, batch: Batch, t: int) -> str:
    """Which earlier token, no parent, decides that of a column, preferably one that does at all lengths looked at.

    Without one it is a token that changes that of the column with all parents as they were.
    """
    lacking = [(b, at) for b, at in _columns(task, 2000) if some_differ(_values(b, at), b.input_ids[:, at, None])]
    before, add = t - 1, "but is not a parent; add it to parents=[…]"
    if before >= batch.prompt_length and all(_completes(b, at, at - 1) for b, at in lacking):
        # The nearest that tells it keeps the parents few.
        where = f"(token {before}, counted from 0 in {shortened(' '.join(batch.text(0)), 100)})"
        return f"the token before it in the answer decides it, too, {add} {where}"
    found = dict(_changing(task, batch, t))
    ends = (lambda _, __: 0, lambda b, __: b.prompt_length, lambda b, at: at - b.prompt_length, lambda _, at: at)
    everywhere = (
        at for at in found for end in ends if all(_completes(b, c, at - end(batch, t) + end(b, c)) for b, c in lacking)
    )
    if not found:
        return f"a parent of the token at position {t} is missing; strings that agree on all parents differ there"
    at = next(everywhere, None)
    alone = "" if at is not None else "; no one token does at all lengths looked at, so more may be missing"
    if at is None and any((batch.selectors[:, t] == each).any() for each in found):
        alone += "; selectors only say which tokens the parents are: name these, one position for each string"
    at = next(iter(found)) if at is None else at
    where = f"(counted from 0 in {shortened(' '.join(found[at]), 100)})"
    return f"changing token {at} changes the answer, {add.replace('but is', 'but it is')} {where}{alone}"


def _completes(batch: Batch, t: int, at: int) -> bool:
    """Whether a token, no parent of a column, decides that of the column together with its parents."""
    if not 0 < at < t or (batch.parents[:, t] == at).any():
        return False
    return not some_differ(np.column_stack([_values(batch, t), batch.input_ids[:, at]]), batch.input_ids[:, t, None])


def _changing(task: Task, batch: Batch, t: int) -> Iterator[tuple[int, list[str]]]:
    """Tokens of a prompt that change the token of a column with all parents as they were, each with a string."""
    solve = solver(task)
    for row in range(min(batch.size, FIRST_ROWS * 4)):
        text, parents = batch.text(row), {int(at) for at in batch.parents[row, t] if at >= 0}
        for at in set(range(1, batch.prompt_length)) - parents:
            for token in batch.vocab.tokens:
                solved = solve((*text[:at], token, *text[at + 1 : batch.prompt_length]))
                if solved is None or len(solved) != len(text) or solved[t] == text[t]:
                    continue
                if all(solved[parent] == text[parent] for parent in parents):
                    yield at, text
                    break


def no_parent_is_superfluous(task: Task) -> None:
    """Every parent matters: some change of it alone changes the token."""
    solve, done = solver(task), set[tuple[Layout, int]]()
    draws = 1 if type(task).layout is Task.layout else 3  # A layout is looked at once.
    for batch, t in _columns(task, 6000, draws):
        if (batch.layout, t) in done:
            continue  # It has shown its effect.
        done.add((batch.layout, t))
        for slot in range(len(batch.columns[t].parents)):
            rows = batch.parents[:, t, slot] >= 0
            if not rows.any():
                continue
            # A few edits show the effect of most parents.
            if an_edit_changes(solve, batch, t, slot, FIRST_ROWS):
                continue
            # Rows with these parents that agree on all others, yet differ in the token, differ because of this one.
            others = np.column_stack([np.delete(_values(batch, t)[rows], slot, axis=1), batch.parents[rows, t]])
            if some_differ(others, batch.input_ids[rows, t, None]):
                continue
            row = int(np.flatnonzero(rows)[0])
            text, at = batch.text(row), int(batch.parents[row, t, slot])
            message = (
                f"length {batch.layout.length}, token {text[t]!r} at position {t}: its parent {text[at]!r} at position "
                f"{at} is superfluous, since no change of it alone changes the token; leave it out, or name it in "
                "selectors=[…] if it says which tokens are the parents"
            )
            need(an_edit_changes(solve, batch, t, slot), message)


def no_selector_is_missing(task: Task) -> None:
    """No selector is missing: strings that agree on a token's parents and selectors have the same parents."""
    for length in [length for length in task.lengths(0, 12) if length][:4]:
        for batches in _alike(task, length):
            width = max(batch.tokens for batch in batches)
            for t in range(batches[0].prompt_length, width):
                _check_selectors([batch for batch in batches if t < batch.tokens], t, width)


def _alike(task: Task, length: int) -> list[list[Batch]]:
    """Batches of a length, grouped so that what all prompts of a batch have in common, such as a sign, is the same.

    A layout that shows only in the rest of the prompt is chosen by content.
    """
    draws = 1 if type(task).layout is Task.layout else 20
    drawn = [task.batch(length, CHOICES // draws, stream(draw, "law", "selectors", length)) for draw in range(draws)]
    given = (task.batch(length, 40, stream(0, "law", "test"), layout) for layout in task.test_layouts(length))
    groups: dict[tuple[int, ...], list[Batch]] = {}
    for batch in (*drawn, *given):
        if batch.allowed is None:
            prompt = batch.input_ids[:, : batch.prompt_length]
            common = np.where((prompt == prompt[0]).all(axis=0), prompt[0], -1)
            groups.setdefault(tuple(common.tolist()), []).append(batch)
    return list(groups.values())


def _check_selectors(batches: list[Batch], t: int, width: int) -> None:
    """Raise `LawError` if two strings of these batches have different parents of column ``t`` and nothing says so."""

    def stacked(parts: list[np.ndarray]) -> np.ndarray:
        most = max(part.shape[1] for part in parts)
        return np.concatenate([np.pad(p, ((0, 0), (0, most - p.shape[1])), constant_values=-1) for p in parts])

    tokens = stacked([batch.input_ids for batch in batches])
    parents = stacked([batch.parents[:, t] for batch in batches])
    selectors = stacked([batch.selectors[:, t] for batch in batches])
    pair = another_choice(tokens, np.column_stack([parents, selectors]), parents)
    if pair is not None:
        vocab, (one, other) = batches[0].vocab, pair
        shown = [" ".join(vocab.decode([int(i) for i in tokens[row] if i >= 0])) for row in pair]
        named = [sorted(int(at) for at in parents[row] if at >= 0) or "none" for row in pair]
        differ = np.flatnonzero(tokens[one, : batches[0].prompt_length] != tokens[other, : batches[0].prompt_length])
        deciding = f"token {differ[0]} decides" if len(differ) == 1 else f"tokens {differ.tolist()} decide"
        need(False, f"the token at position {t} has the parents {named[0]} in {shown[0]!r} and {named[1]} in "
                    f"{shown[1]!r}: {deciding} which; add what decides to selectors=[…]")  # fmt: skip


def places_start_at_one_without_gaps(task: Task) -> None:
    """The places of the first level are 1, 2, …, without gaps; <bos> has none."""
    for batch in batches(task, 50, lengths=6):
        need((batch.places >= 0).all(), "a place is negative")
        need((batch.places[:, 0] == 0).all(), "<bos> has a place; it has none (0)")
        used = np.sort(batch.places[:, :, 0], axis=1)
        for row in np.flatnonzero((np.diff(used, axis=1) > 1).any(axis=1))[:1]:
            found = sorted(set(used[row].tolist()) - {0})
            need(
                False,
                f"length {batch.layout.length}: places {found} leave a gap; number them from 1, often with 1 for <sep>",
            )


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
                row = int(np.argmin(follows))
                named = f"length {batch.layout.length}, token {batch.text(row)[t]!r} at position {t}"
                rule = f"breaks the rule {task.place_rule!r} of place_rule, {PLACE_RULES[task.place_rule]}"
                need(follows.all(), f"{named}: its place {now[row, level]} {rule}")


PLACE_RULES = {
    "earlier": "since no earlier token has it; place_rule = 'next' in the class allows that of the token before, or "
    "one more",
    "next": "since it is neither that of the token before nor one more; what is predicted needs a place, seq.eos, too",
}
"""What a place breaks, and what would mend it."""


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
        try:
            does = f"is {task.answer(prompt)}"
        except ValueError as error:
            does = "says nothing" * (not str(error))
        except Exception as error:
            does = f"ends in {type(error).__name__}"
        need(not does, f"answer({prompt}) {does}; raise ValueError with a message for what is no prompt")


NEAR_MISS = 0.8
"""How much alike a name must be to one that tasks have."""


def fields_are_spelled(task: Task) -> None:
    """No field that nothing reads has nearly the name of one that tasks have."""
    known = {*(name for name in dir(Task) if not name.startswith("_")), "parents", "selectors", "place"}
    own = [
        cls for cls in type(task).__mro__ if issubclass(cls, Task) and cls.__module__.partition(".")[0] != "lengthwise"
    ]
    given = {name for cls in own for name in (*vars(cls), *vars(cls).get("__annotations__", ()))}
    source = "".join(file.read_text(encoding="utf-8") for file in {file_of(cls) for cls in own} if file is not None)
    unread = [name for name in sorted(given - known) if len(re.findall(rf"\b{name}\b", source)) == 1]
    for name in unread:
        near = difflib.get_close_matches(name, known - given, n=1, cutoff=NEAR_MISS)
        meant = f"Did you mean {''.join(near)!r}?"
        need(not near, f"{name!r} is no field of a task, and nothing in the file reads it. {meant}")


TASK_LAWS: dict[str, Callable[[Task], None]] = {
    law.__name__: law for law in (
        same_stream_same_batch, shapes_and_labels, answers_agree, kinds_are_kinds, details_are_details,
        parents_are_earlier,
        token_is_a_function_of_its_parents, no_parent_is_superfluous, no_selector_is_missing,
        places_start_at_one_without_gaps, places_follow_the_rule, places_are_functions_of_the_prefix, json_round_trip,
        lengths_without_instances_are_refused, nonsense_is_refused, fields_are_spelled,
    )
}  # fmt: skip
"""Every law of a task by name."""


ROWS, TOKENS = 40, 8
"""The size of the batches that the laws look at; a scheme needs at least this many ids."""


def _places(rows: int = ROWS, tokens: int = TOKENS) -> np.ndarray:
    """<bos> without a place, then places 1, 2, … of which the second half repeats the first, [rows, tokens, 1]."""
    real = np.arange(tokens - 1) % max(1, (tokens - 1) // 2) + 1
    return np.broadcast_to(np.concatenate([[0], real])[None, :, None], (rows, tokens, 1)).copy()


def same_stream_same_ids(scheme: PositionScheme) -> None:
    """Equal random streams give equal ids, and `assign` leaves the places alone."""
    places = _places()
    before = places.copy()
    one, two = (scheme.assign(places, ("position",), stream(3, "ids")) for _ in range(2))
    need(np.array_equal(one, two), "ids differ between two draws from one stream; draw from rng only")
    need(np.array_equal(places, before), "assign changes the places that it was given")


def shapes_and_range(scheme: PositionScheme) -> None:
    """Ids are whole numbers within 0..max_position, one per token and level."""
    for rows in (1, ROWS):
        ids = scheme.assign(_places(rows), ("position",), stream(0, "ids"))
        need(ids.shape == (rows, TOKENS, 1), f"ids have shape {ids.shape}, not {(rows, TOKENS, 1)}")
        need(np.issubdtype(ids.dtype, np.integer), f"ids are of type {ids.dtype}, not whole numbers")
        inside = ids.min() >= 0 and ids.max() <= scheme.max_position
        need(inside, f"ids reach from {ids.min()} to {ids.max()}, outside of 0..{scheme.max_position}")


def places_decide_ids(scheme: PositionScheme) -> None:
    """A scheme that uses places gives one id to one place and 0 to none; any other numbers all tokens in order.

    Where ids come again, they do so in equal periods, each id once in each.
    """
    places = _places()
    ids = scheme.assign(places, ("position",), stream(1, "ids"))
    if scheme.wraps:
        tokens = 4 * (scheme.max_position + 1)
        if tokens <= 200_000:
            longer = scheme.assign(_places(1, tokens), ("position",), stream(1, "ids"))[0, :, 0]
            again = longer.reshape(4, -1)
            need((again == again[0]).all(), f"ids do not come again every {tokens // 4} tokens, the number of ids")
            need(len(set(again[0].tolist())) == tokens // 4, "some id between 0 and max_position is not used")
        return
    if not scheme.uses_places:
        need((np.diff(ids[..., 0], axis=1) > 0).all(), "ids of a scheme without places do not rise from token to token")
        return
    need(((places == 0) == (ids == 0)).all(), "id 0 is for tokens without a place, and for no others")
    if not scheme.one_id_per_place:
        return
    same_place = places[:, :, None] == places[:, None, :]
    same_id = ids[:, :, None] == ids[:, None, :]
    need((same_place == same_id).all(), "two tokens of one place have two ids, or of two places one id")


def evaluation_is_settled(scheme: PositionScheme) -> None:
    """`for_evaluation` of an evaluation scheme is itself, with as many ids, and its ids come from the stream alone."""
    evaluation = scheme.for_evaluation()
    need(evaluation.for_evaluation() == evaluation, "for_evaluation() of the evaluation scheme gives another scheme")
    need(evaluation.max_position == scheme.max_position, "max_position differs between training and evaluation")
    first = evaluation.assign(_places(), ("position",), stream(0, "test"))
    scheme.assign(_places(), ("position",), stream(0, "train"))
    second = scheme.for_evaluation().assign(_places(), ("position",), stream(0, "test"))
    need(np.array_equal(first, second), "ids at test time depend on what was drawn in training")


def too_many_tokens_are_refused(scheme: PositionScheme) -> None:
    """More tokens than ids is one clear line that names max_position."""
    count = scheme.max_position + 2
    if scheme.wraps or count > 200_000:
        return
    places = np.arange(1, count + 1)[None, :, None]
    with refused("max_position", what=f"{count} tokens with max_position {scheme.max_position}"):
        scheme.assign(places, ("position",), stream(0))


def scheme_round_trip(scheme: PositionScheme) -> None:
    """A scheme is rebuilt from its name and its fields."""
    try:
        same = SCHEMES.build(SCHEMES.describe(scheme)) == scheme
    except LengthwiseError as error:
        need(False, f"the fields do not rebuild the scheme: {error}")
    else:
        need(same, "the fields do not rebuild the scheme; is it a @config dataclass?")


SCHEME_LAWS: dict[str, Callable[[PositionScheme], None]] = {
    law.__name__: law for law in (
        same_stream_same_ids, shapes_and_range, places_decide_ids, evaluation_is_settled,
        too_many_tokens_are_refused, scheme_round_trip,
    )
}  # fmt: skip
"""Every law of a position scheme by name."""


SMALL = ModelConfig(layers=2, heads=2, width=32, mlp_ratio=2, init="fan_in")
ENCODING_ROWS, LENGTH, MAX_POSITION = 3, 3, 40
TOLERANCE = 1e-4
Layer = EncodingSpec | MixerSpec
"""What the laws put into a model: an encoding of its attention, or a mixer in every layer."""


def _model(layer: Layer, seed: int = 0, pattern: str = "{}") -> Transformer:
    """A small model on coupled ids, with parameters far from their start, so that nothing is hidden by zeros."""
    config, encoding = SMALL, layer
    if isinstance(layer, MixerSpec):
        config, encoding = replace(SMALL, mixer=pattern.format(layer.label)), ENCODINGS.build("nope")
    assert isinstance(encoding, EncodingSpec)
    model = build_model(TASKS.build("addition"), Coupled(max_position=MAX_POSITION), encoding, config, seed=seed)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return model.eval()


def _inputs() -> tuple[Tensor, Tensor]:
    """Token ids [B, T] and position ids [B, T, 1] of additions."""
    task, rng = TASKS.build("addition"), stream(0, "law", "encoding")
    inputs = Inputs.of(task.batch(LENGTH, ENCODING_ROWS, rng), Coupled(max_position=20), task.levels, rng)
    return inputs.input_ids, inputs.position_ids


@torch.no_grad()
def logits_are_finite(layer: Layer) -> None:
    """Logits are finite at every position, and have the shape [B, T, V]."""
    tokens, ids = _inputs()
    logits = _model(layer)(tokens, ids).logits
    need(logits.shape[:2] == tokens.shape, f"logits have shape {tuple(logits.shape)}")
    need(torch.isfinite(logits).all(), "a logit is NaN or infinite")


def every_parameter_gets_a_gradient(layer: Layer) -> None:
    """Every parameter takes part in the loss."""
    model = _model(layer).train()
    tokens, ids = _inputs()
    model(tokens, ids).logits.square().mean().backward()
    for name, parameter in model.named_parameters():
        need(parameter.grad is not None and bool(parameter.grad.abs().sum() > 0), f"parameter {name} gets no gradient")


@torch.no_grad()
def later_tokens_change_nothing_earlier(layer: Layer) -> None:
    """The model is causal: later tokens and ids leave earlier logits alone."""
    model = _model(layer)
    tokens, ids = _inputs()
    before = model(tokens, ids).logits
    for t in range(1, tokens.shape[1]):
        other, other_ids = tokens.clone(), ids.clone()
        other[:, t:] = 4 + (other[:, t:] - 3) % 4
        other_ids[:, t:] = 1 + (other_ids[:, t:] + 6) % 14
        after = model(other, other_ids).logits
        need(torch.allclose(before[:, :t], after[:, :t], atol=TOLERANCE), f"token {t} changes logits before it")


@torch.no_grad()
def cached_equals_uncached(layer: Layer) -> None:
    """Token by token with a cache, the logits are those of one pass."""
    _same_when_cached(_model(layer))


def _same_when_cached(model: Transformer) -> None:
    tokens, ids = _inputs()
    whole = model(tokens, ids).logits
    cache = Cache(capacity=tokens.shape[1])
    for t in range(tokens.shape[1]):
        step = model(tokens[:, t : t + 1], ids[:, t : t + 1], cache=cache).logits
        need(torch.allclose(step[:, 0], whole[:, t], atol=TOLERANCE), f"cached logits differ at position {t}")


@torch.no_grad()
def two_runs_in_a_stack_equal_each_alone(layer: Layer) -> None:
    """Two models that train together as a stack have the logits that each has alone."""
    (tokens, ids), models = _inputs(), [_model(layer, seed) for seed in (0, 1)]
    together = TransformerStack(models).model.eval()(tokens.repeat(2, 1), ids.repeat(2, 1, 1)).logits
    apart = torch.cat([model(tokens, ids).logits for model in models])
    need(torch.allclose(together, apart, atol=TOLERANCE), "logits of a stack differ from those of its models")


@torch.no_grad()
def translation_invariance_is_as_claimed(encoding: EncodingSpec) -> None:
    """Where `translation_invariant` is true, adding one number to all ids changes nothing."""
    if not encoding.translation_invariant:
        return
    model = _model(encoding)
    tokens, ids = _inputs()
    before, after = model(tokens, ids).logits, model(tokens, ids + 7).logits
    need(torch.allclose(before, after, atol=1e-3), "logits change with a shift of all ids; set translation_invariant")


@torch.no_grad()
def weights_are_a_function_of_the_seed(layer: Layer) -> None:
    """Building twice from one seed gives the same weights, bit for bit."""
    one, two = _model(layer).state_dict(), _model(layer).state_dict()
    for name, value in one.items():
        need(torch.equal(value, two[name]), f"{name} differs between two models of one seed; use torch's generator")


def layer_round_trip(layer: Layer) -> None:
    """It is rebuilt from its name and its fields."""
    registry = cast("Registry[Any]", MIXERS if isinstance(layer, MixerSpec) else ENCODINGS)
    same = registry.build(registry.describe(layer)) == layer
    need(same, f"the fields do not rebuild the {registry.kind}; is it a @config dataclass?")


@torch.no_grad()
def hybrids_cache_too(mixer: MixerSpec) -> None:
    """With layers of attention in turns, cached logits are those of one pass, too."""
    _same_when_cached(_model(mixer, pattern="{}+attention"))


def _layer_laws(own: Callable[[Any], None]) -> dict[str, Callable[[Any], None]]:
    return {
        law.__name__: law for law in (
            logits_are_finite, every_parameter_gets_a_gradient, later_tokens_change_nothing_earlier,
            cached_equals_uncached, two_runs_in_a_stack_equal_each_alone, own,
            weights_are_a_function_of_the_seed, layer_round_trip,
        )
    }  # fmt: skip


ENCODING_LAWS = _layer_laws(translation_invariance_is_as_claimed)
"""Every law of a position encoding by name."""
MIXER_LAWS = _layer_laws(hybrids_cache_too)
"""Every law of a mixer by name."""
LAWS: dict[str, tuple[Registry[Any], dict[str, Callable[[Any], None]]]] = {
    "task": (TASKS, TASK_LAWS), "scheme": (SCHEMES, SCHEME_LAWS), "encoding": (ENCODINGS, ENCODING_LAWS),
    "mixer": (MIXERS, MIXER_LAWS),
}  # fmt: skip
"""The registry and the laws of each kind of component."""
