"""A prompt that a user types: its tokens, its layout, and the position ids of prompt and answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from lengthwise.core.batch import Batch, Layout
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.core.vocab import BOS, SEP, SPECIALS
from lengthwise.positions.schemes import PositionScheme
from lengthwise.tasks import Task

ROWS = 128
"""Strings of a layout that tell which tokens a column may hold."""
LAYOUTS = 64
"""Layouts drawn of each length."""


@dataclass(frozen=True)
class Prompt:
    """Token ids of a prompt with the position ids of all its tokens and, where the layout fixes them, of the answer."""

    input_ids: Int[ndarray, "1 P"]
    position_ids: Int[ndarray, "1 P L"]
    next_ids: Int[ndarray, "1 S L"] | None
    """None where the places of the answer depend on the content: then the model has to predict them."""
    steps: int
    """The most tokens that an answer can have, ``<eos>`` included."""


def read_prompt(task: Task, scheme: PositionScheme, text: str, *, seed: int = 0) -> Prompt:
    """Read ``text`` (tokens separated by spaces, ``<bos>`` may be left out) as a prompt of ``task``.

    The layout is found by comparing the prompt with sampled strings of each length, column by column. Raises
    `LengthwiseError` for an unknown token, or a text that fits no layout of the task.
    """
    tokens = text.split()
    if not tokens or tokens[0] != BOS:
        tokens = [BOS, *tokens]
    known = task.vocab.tokens[SPECIALS.index(SEP) :]
    for token in tokens[1:]:
        if token not in known:
            words = " ".join(known)
            raise LengthwiseError(
                f"task {task.name!r} has no token {token!r}; separate tokens by spaces, from: {words}"
            )
    ids = np.array([[task.vocab[token] for token in tokens]])
    batch = _matching(task, ids, seed)
    if batch is None:
        example = " ".join(task.batch(_first_length(task), 1, stream(seed, "prompt", "example")).text(0))
        raise LengthwiseError(f"{text!r} is no prompt of task {task.name!r}; a whole example reads: {example}")
    places = batch.places[:1].copy()
    assigned = scheme.for_evaluation().assign(places, task.levels, stream(seed, "prompt", "ids"))
    prompt = len(tokens)
    after = batch.places[:, prompt:]
    fixed = not scheme.uses_places or bool((after == after[:1]).all())
    return Prompt(ids, assigned[:, :prompt], assigned[:, prompt:] if fixed else None, batch.tokens - prompt)


def _matching(task: Task, ids: Int[ndarray, "1 P"], seed: int) -> Batch | None:
    """Strings of the layout with the longest answer whose prompt columns can all hold these tokens."""
    prompt = ids.shape[1]
    best: Batch | None = None
    for length in task.lengths(1, prompt):
        seen: set[Layout] = set()
        for draw in range(LAYOUTS):
            rng = stream(seed, "prompt", length, draw)
            layout = task.layout(length, rng)
            if layout in seen:
                continue
            seen.add(layout)
            batch = task.batch(length, ROWS, rng, layout)
            if batch.prompt_length == prompt and _fits(batch, ids) and (best is None or batch.tokens > best.tokens):
                best = batch
    return best


def _fits(batch: Batch, ids: Int[ndarray, "1 P"]) -> bool:
    """Whether every column of the prompt holds a token that some string of the layout has there."""
    prompt = ids.shape[1]
    places = batch.places[:, :prompt]
    seen = (batch.input_ids[:, :prompt] == ids).any(axis=0)
    varied = np.ptp(batch.input_ids[:, :prompt], axis=0) > ROWS // 4
    return bool((seen | varied).all() and (places == places[:1]).all())


def _first_length(task: Task) -> int:
    return task.lengths(1, 50)[min(2, len(task.lengths(1, 50)) - 1)]
