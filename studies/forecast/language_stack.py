"""The data of several languages that train as one stack, drawn for all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray

import lengthwise as lw

BLOCK = lw.training.data.BLOCK
SPECIALS = lw.core.vocab.SPECIALS
BITS = lw.languages.sampling.BITS


class TieError(Exception):
    """A random number equals a rounded boundary; the reference sampler refines it."""


@dataclass(frozen=True)
class LanguageStack:
    """The `Setup` of several regular languages of one shape: run c · ``stride`` + s is seed s of language c.

    The strings, ids and order are those of each language's own `TaskSetup` with ``stacked`` training, bit for bit (a
    law of the tests), at a fraction of the time: the languages share the stream of random numbers, so one array of
    them is looked up in the tables of all. Languages ask for next symbols or states, and have words of the same
    lengths.

    Raises `LengthwiseError` for other tasks.
    """

    setups: tuple[lw.training.data.TaskSetup, ...]
    stride: int

    def __post_init__(self) -> None:
        tasks = [setup.task for setup in self.setups]
        shapes = {
            (task.ask, len(task.vocab))
            for task in tasks
            if isinstance(task, lw.tasks.language.Language) and task.automaton()
        }
        regular = all(isinstance(task, lw.tasks.language.Language) and task.automaton() is not None for task in tasks)
        lw.core.errors.require(
            regular and len(shapes) == 1 and shapes != {("member", len(tasks[0].vocab))},
            "a stack has regular languages with one size of vocabulary that ask for next symbols or states",
        )

    @property
    def model(self) -> lw.ModelConfig:
        """The configuration of every model."""
        return self.setups[0].model

    def build(self, seed: int) -> lw.models.transformer.Transformer:
        """The model of one run before its first step."""
        cell, own = divmod(seed, self.stride)
        return self.setups[cell].build(own)

    @cached_property
    def tasks(self) -> tuple[Any, ...]:
        """The languages."""
        return tuple(setup.task for setup in self.setups)

    @cached_property
    def _automata(self) -> tuple[tuple[lw.languages.automaton.Dfa, ...], ...]:
        """By kind of strings, the automaton of each language whose words are drawn."""
        own = tuple(task.automaton() for task in self.tasks)
        if self.tasks[0].ask == "next":
            return (own,)
        return (
            tuple(replace(dfa, accepting=(True,) * dfa.size) for dfa in own),
            tuple(replace(dfa, accepting=dfa.live) for dfa in own),
        )

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        """The largest number of states and of symbols."""
        return max(dfa.size for dfa in self._automata[0]), max(len(dfa.alphabet) for dfa in self._automata[0])

    @cached_property
    def _samplers(self) -> tuple[tuple[lw.languages.sampling.UniformSampler, ...], ...]:
        return tuple(
            tuple(lw.languages.sampling.UniformSampler(dfa) for dfa in automata) for automata in self._automata
        )

    @cached_property
    def _thresholds(self) -> dict[tuple[int, int], Int[ndarray, "A CS"]]:
        return {}

    def _table(self, kind: int, remaining: int) -> Int[ndarray, "A CS"]:
        """For each symbol but the last and each state of each language: the boundary of the sampler."""
        if (kind, remaining) not in self._thresholds:
            states, symbols = self._sizes
            found = np.full((symbols - 1, len(self.tasks), states), 1 << BITS, dtype=np.int64)
            for cell, sampler in enumerate(self._samplers[kind]):
                own = sampler.table(remaining)
                found[: own.shape[1], cell, : len(own)] = own.T
            self._thresholds[kind, remaining] = found.reshape(symbols - 1, -1)
        return self._thresholds[kind, remaining]

    @cached_property
    def _next_state(self) -> Int[ndarray, " CSA"]:
        """The state, numbered through all languages, behind a state and a symbol."""
        states, symbols = self._sizes
        found = np.zeros((len(self.tasks), states, symbols), dtype=np.int64)
        for cell, dfa in enumerate(self._automata[0]):
            found[cell, : dfa.size, : len(dfa.alphabet)] = dfa.delta_array + cell * states
        return found.ravel()

    @cached_property
    def _right(self) -> ndarray:
        """For each state of each language, the tokens that are right ``[languages · states, V]``."""
        states, _ = self._sizes
        size = len(self.tasks[0].vocab)
        found = np.zeros((len(self.tasks), states, size), dtype=bool)
        for cell, (task, dfa) in enumerate(zip(self.tasks, (task.automaton() for task in self.tasks), strict=True)):
            if task.ask == "state":
                found[cell, np.arange(dfa.size), size - dfa.size + np.arange(dfa.size)] = True
            else:
                live = np.array(dfa.live, dtype=bool)
                found[cell, : dfa.size, len(SPECIALS) : len(SPECIALS) + len(dfa.alphabet)] = live[dfa.delta_array]
                found[cell, : dfa.size, task.vocab[lw.core.vocab.EOS]] = dfa.accepting_array
        return found.reshape(-1, size)

    def draw(self, length: int, size: int, rng: lw.core.rng.Rng) -> Int[ndarray, "C R n"]:
        """``size`` strings of each language, as its own task draws them from such a stream."""
        first = np.arange(len(self.tasks)) * self._sizes[0]
        words = np.empty((length, len(self.tasks), size), dtype=np.int64)
        if len(self._automata) == 1:
            chosen = [np.arange(size)]
        else:
            picked = rng.integers(len(self._automata), size=size)
            chosen = [np.flatnonzero(picked == kind) for kind in range(len(self._automata))]
        for kind, rows in enumerate(chosen):
            if len(self._automata) > 1 and not all(
                lw.languages.sampling.count_words(dfa, length) for dfa in self._automata[kind]
            ):
                raise TieError  # another number of kinds; the reference decides
            drawn = rng.integers(1 << BITS, size=(length, len(rows)), dtype=np.int64)
            state = np.repeat(first[:, None], len(rows), axis=1)
            tied = False
            for step in range(length):
                symbol = np.zeros(state.shape, dtype=np.int64)
                for boundary in self._table(kind, length - 1 - step):
                    own = boundary[state]
                    symbol += drawn[step] >= own
                    tied = tied or bool((drawn[step] == own).any())
                words[step][:, rows] = symbol
                state = self._next_state[state * self._sizes[1] + symbol]
            if tied:
                raise TieError
        return np.ascontiguousarray(words.transpose(1, 2, 0))

    def inputs(
        self,
        words: Int[ndarray, "C R n"],
        ids: Int[ndarray, "C R T L"],
        cells: Sequence[int] | Int[ndarray, " C"] | None = None,
    ) -> lw.models.inputs.Inputs:
        """The batch of given strings of the languages ``cells`` (default: all) under given ids, language by language.

        Strings are symbol numbers; ids have a first axis of 1 where all languages share them.
        """
        cells = range(len(self.tasks)) if cells is None else cells
        own, (count, rows, length) = self.tasks[0], words.shape
        template = _template(own, length)
        states = np.empty((length + 1, count, rows), dtype=np.int64)
        states[0] = (np.asarray(cells) * self._sizes[0])[:, None]
        for step in range(length):
            states[step + 1] = self._next_state[states[step] * self._sizes[1] + words[:, :, step]]
        tokens = np.broadcast_to(template.input_ids[0], (count, rows, template.tokens)).copy()
        tokens[:, :, 1 : length + 1] = words + len(SPECIALS)
        target = np.flatnonzero(template.scored)
        along = np.ascontiguousarray(states.transpose(1, 2, 0))[:, :, np.minimum(target - 1, length)]
        ids = np.broadcast_to(ids, (count, *ids.shape[1:])).reshape(count * rows, *ids.shape[2:]).copy()
        flat = tokens.reshape(count * rows, -1)
        return lw.models.inputs.Inputs(
            input_ids=torch.from_numpy(flat),
            position_ids=torch.from_numpy(ids),
            at=slice(int(target[0]) - 1, int(target[-1])),
            targets=torch.from_numpy(np.ascontiguousarray(flat[:, target])),
            target_position_ids=torch.from_numpy(np.ascontiguousarray(ids[:, target])),
            allowed=torch.from_numpy(self._right[along.reshape(count * rows, -1)]),
        )

    def groups(self, config: lw.TrainingConfig, seeds: Sequence[int], step: int) -> list[lw.models.inputs.Inputs]:
        """The data of one step, run by run."""
        members: dict[int, list[int]] = {}
        for run in seeds:
            members.setdefault(run // self.stride, []).append(run % self.stride)
        blocks = {seed // BLOCK for own in members.values() for seed in own}
        plain = config.stacked and not (config.curriculum or config.priming)
        if len(blocks) > 1 or not plain:
            return self.reference(config, seeds, step)
        rows = config.batch_size // config.groups
        schedule, (block,) = lw.stream(0, "train", "schedule", step), blocks
        rng, lengths = (
            lw.stream(block, "train", "block", step),
            lw.training.data.training_lengths(self.tasks[0], config),
        )
        wanted = np.array([seed for own in members.values() for seed in own]) % BLOCK
        at = (wanted[:, None] * rows + np.arange(rows)).ravel()
        own_cell = np.repeat(np.repeat(list(members), [len(own) for own in members.values()]), rows)
        found = []
        try:
            for _ in range(config.groups):
                length = lengths[int(schedule.integers(len(lengths)))]
                words = self.draw(length, BLOCK * rows, rng)
                task, template = self.tasks[0], _template(self.tasks[0], length)
                places = np.broadcast_to(template.places, (BLOCK * rows, *template.places.shape[1:]))
                ids = self.setups[0].scheme.assign(places, task.levels, rng)
                # Each row as a language of its own, since runs may have left the stack.
                found.append(self.inputs(words[own_cell, at][:, None], ids[at][:, None], own_cell))
        except TieError:
            return self.reference(config, seeds, step)
        return found

    def reference(self, config: lw.TrainingConfig, seeds: Sequence[int], step: int) -> list[lw.models.inputs.Inputs]:
        """The same from each language's own setup."""
        members: dict[int, list[int]] = {}
        for run in seeds:
            members.setdefault(run // self.stride, []).append(run % self.stride)
        drawn = [self.setups[cell].groups(config, own, step) for cell, own in members.items()]
        return [group[0].gather([(inputs, slice(None)) for inputs in group]) for group in zip(*drawn, strict=True)]


@lru_cache(maxsize=4096)
def _template(task: lw.tasks.language.Language, length: int) -> Any:
    """One string of a length: its places, its special tokens, and what is scored."""
    return task.batch(length, 1, lw.stream(0, "languages", "template"))
