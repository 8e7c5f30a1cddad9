"""`CoupledPlaces`: coupled ids of a task, found from the tokens by the layout that they fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray
from torch import Tensor

from lengthwise.core.errors import LengthwiseError, require, shortened
from lengthwise.core.rng import stream
from lengthwise.hf.rules.base import IdRule, training_rng
from lengthwise.positions.schemes import SCHEMES, PositionScheme
from lengthwise.tasks import TASKS, Task

ROWS = 64
"""Sampled strings of a layout; a column with one token in all of them is constant."""
DRAWS = 16
"""Layouts drawn of each length, which must agree."""
RULE_OF_ONES_OWN = "its places can't be read off the tokens; give a rule of your own, a function of token ids"


class Pattern(NamedTuple):
    """A layout as it is recognized: the prompt's constant tokens (-1 elsewhere), and the places of all tokens."""

    prompt: Int[ndarray, " P"]
    content: Int[ndarray, " N"]
    """The tokens of the other columns."""
    places: Int[ndarray, " T"]


class CoupledPlaces(IdRule):
    """Tokens that share a place of ``task`` share an id; ids of places are drawn by ``scheme``.

    In training ids are drawn anew for each row (by default a block with a random start, Cho et al. 2024). Otherwise
    they are those of the scheme at test, the same for all rows of a layout. The row holds a whole prompt of the task;
    what follows it are the tokens generated so far. ``token_ids`` maps the task's tokens to those of the model; by
    default the model has the task's vocabulary.

    Raises `LengthwiseError` for a scheme without places, or a task whose places do not follow from the length of the
    prompt or have several levels: such ids must be predicted, which our own model does.
    """

    def __init__(
        self, task: str | Task | dict[str, Any], scheme: str | PositionScheme | dict[str, Any] | None = None, *,
        token_ids: Mapping[str, int] | None = None, seed: int = 0,
    ) -> None:  # fmt: skip
        self.task: Task = TASKS.build(task)
        self.scheme = SCHEMES.build(scheme if scheme is not None else {"name": "coupled", "draw": "contiguous"})
        self.seed = seed
        require(
            self.scheme.uses_places, f"scheme {self.scheme.name!r} ignores places; use SchemeIds({self.scheme.name!r})"
        )
        require(
            not self.scheme.predicted and len(self.task.levels) == 1,
            f"task {self.task.name!r} under scheme {self.scheme.name!r} needs ids that the model predicts, or several "
            "levels of ids, which a stock model has not; use LengthwiseForCausalLM",
        )
        names = self.task.vocab.tokens if token_ids is None else tuple(token_ids)
        numbers = range(len(names)) if token_ids is None else token_ids.values()
        self._known = {number: self.task.vocab[name] for name, number in zip(names, numbers, strict=True)}
        self._patterns: dict[int, Pattern] = {}

    def ids(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, " B"], training: bool) -> Int[Tensor, "B T"]:
        rows, counts = self._translated(tokens), lengths.cpu().numpy()
        ids = np.zeros(rows.shape, dtype=np.int64)
        groups = self._groups(rows, counts)
        rng = training_rng() if training else stream(self.seed, "hf", "places")
        for pattern, chosen in groups:
            if training:
                places = np.broadcast_to(pattern.places, (len(chosen), len(pattern.places)))
                found = self.scheme.assign(places[:, :, None].copy(), self.task.levels, rng)[:, :, 0]
            else:
                # One drawing for a layout, whichever rows come with it: beams and steps see the same ids.
                rng = stream(self.seed, "hf", "places")
                found = self.scheme.for_evaluation().assign(pattern.places[None, :, None], self.task.levels, rng)[
                    :, :, 0
                ]
            width = min(rows.shape[1], found.shape[1])
            ids[chosen, :width] = found[:, :width]
        return torch.from_numpy(ids).to(tokens.device)

    def _translated(self, tokens: Tensor) -> Int[ndarray, "B T"]:
        """The task's numbers of the tokens, -1 where it has none."""
        given = tokens.cpu().numpy()
        table = np.full(max(int(given.max(initial=0)), *self._known) + 1, -1)
        table[list(self._known)] = list(self._known.values())
        return table[given]

    def _groups(self, rows: ndarray, counts: ndarray) -> list[tuple[Pattern, ndarray]]:
        """The rows of each layout."""
        owner: list[Pattern | None] = [None] * len(rows)
        candidates = self._candidates(int(counts.max(initial=0)))
        structural = self._structural()
        for pattern in candidates:
            size = len(pattern.prompt)
            start = rows[:, :size]
            right = np.where(pattern.prompt >= 0, start == pattern.prompt, ~np.isin(start, structural))
            for row in np.flatnonzero(right.all(axis=1) & (counts >= size)):
                if owner[row] is not None:
                    raise LengthwiseError(
                        f"{self._text(rows[row, : counts[row]])} fits two lengths; {RULE_OF_ONES_OWN}"
                    )
                owner[row] = pattern
        groups: dict[int, tuple[Pattern, list[int]]] = {}
        for row, found in enumerate(owner):
            if found is None:
                text = self._text(rows[row, : counts[row]])
                raise LengthwiseError(
                    f"{text} does not begin with a prompt of task {self.task.name!r}; give whole prompts"
                )
            groups.setdefault(id(found), (found, []))[1].append(row)
        return [(pattern, np.array(members)) for pattern, members in groups.values()]

    def _text(self, tokens: ndarray) -> str:
        words = [self.task.vocab.tokens[token] if token >= 0 else "?" for token in tokens]
        return repr(shortened(" ".join(words)))

    def _candidates(self, tokens: int) -> list[Pattern]:
        """The layouts whose prompts have at most ``tokens`` tokens."""
        found: list[Pattern] = []
        for length in self.task.lengths(1, tokens):
            if length not in self._patterns:
                self._patterns[length] = self._pattern(length)
            if len(self._patterns[length].prompt) > tokens:
                break
            found.append(self._patterns[length])
        return found

    def _pattern(self, length: int) -> Pattern:
        rng = stream(self.seed, "hf", "layouts", length)
        require(
            len({self.task.layout(length, rng) for _ in range(DRAWS)}) == 1,
            f"task {self.task.name!r} has several layouts of length {length}; {RULE_OF_ONES_OWN}",
        )
        batch = self.task.batch(length, ROWS, rng)
        places = batch.places[:, :, 0]
        require(
            bool((places == places[:1]).all()),
            f"the places of task {self.task.name!r} depend on the content of the prompt, so their ids must be "
            "predicted; use LengthwiseForCausalLM with scheme predictive-coupling",
        )
        prompt = batch.input_ids[:, : batch.prompt_length]
        constant = (prompt == prompt[:1]).all(axis=0)
        return Pattern(np.where(constant, prompt[0], -1), np.unique(prompt[:, ~constant]), places[0])

    def _structural(self) -> ndarray:
        """Tokens of constant columns, such as ``+`` and ``=``, that no other column holds."""
        known = list(self._patterns.values())
        content = [pattern.content for pattern in known]
        if not known:
            return np.array([], dtype=np.int64)
        return np.setdiff1d(np.concatenate([pattern.prompt for pattern in known]), np.concatenate(content))
