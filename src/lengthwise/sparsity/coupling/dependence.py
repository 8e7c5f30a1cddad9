"""Which earlier tokens does each predicted token depend on? Estimated by querying the task.

A set D of earlier tokens (of the prompt and of the answer so far) *determines* a predicted token if no two runs of the
task agree on D and differ in that token. We look for a smallest such D by refutation: a pair of runs that differ in
the token must differ somewhere in D, so every pair is a constraint "D meets this set of positions". Take a smallest set
that meets all constraints found so far; resample everything that it does not fix; if a pair agrees on D and differs in
the token, shrink the difference of that pair to a minimal one, add it, and repeat. No structure of the task is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import Rng
from lengthwise.sparsity.coupling.hitting import smallest_hitting_set

Oracle = Callable[[Sequence[str]], Sequence[str]]
"""Prompt tokens -> everything that follows. `ValueError` or `LookupError` says: not a prompt of this task."""
Sampler = Callable[[int, Rng], Sequence[str]]
"""Length and generator -> the tokens of a random prompt."""


@dataclass(frozen=True)
class Dependencies:
    """The structure of one length: positions count from 0 through the prompt and on through the answer.

    ``parents[j]`` are the positions that determine answer token j (position ``prompt_length + j``), as few as
    possible, of equally small sets a recent one. ``varies`` tells for every position whether its token is ever
    different. ``unresolved`` lists answer tokens for which no determining set was found; their parents are a guess.
    """

    length: int
    prompt_length: int
    parents: tuple[tuple[int, ...], ...]
    varies: tuple[bool, ...]
    unresolved: tuple[int, ...] = ()
    queries: int = 0

    @property
    def tokens(self) -> int:
        """T, tokens of prompt and answer."""
        return len(self.varies)

    @property
    def sparsity(self) -> int:
        """The largest number of parents."""
        return max((len(p) for p in self.parents), default=0)

    def edges(self) -> Int[ndarray, "E 2"]:
        """Pairs (predicted position, parent position)."""
        pairs = [(self.prompt_length + j, p) for j, parents in enumerate(self.parents) for p in parents]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def estimate_dependencies(
    oracle: Oracle, sampler: Sampler, length: int, rng: Rng, *, bases: int = 200, groups: int = 80, resamples: int = 24
) -> Dependencies:
    """Find a smallest determining set for every answer token at one length, by exact resampling.

    ``bases`` random prompts say which columns vary. A set counts as determining when ``groups`` groups of
    ``resamples`` + 1 runs that share its prompt tokens hold no refutation, nor do all runs made so far taken together;
    so a dependence that shows in a fraction q of prompts is missed with probability at most about (1 - q)^groups.
    Prompts of another number of tokens than the first are passed over. Raises `LengthwiseError` if the task answers
    hardly any prompt.
    """
    runs = _Runs(oracle, sampler, length, rng)
    table = runs.bases(bases)
    varies = (table != table[0]).any(axis=0)
    pairs = _Pairs(table.shape[1])
    for position in np.flatnonzero(varies[: runs.prompt_length]):
        for row in table[rng.integers(len(table), size=12)]:
            other = row[: runs.prompt_length].copy()
            choices = np.unique(table[:, position])
            other[position] = rng.choice(choices[choices != row[position]])
            changed = runs(other)
            if changed is not None:
                pairs.add(row, changed)
    targets = [t for t in range(runs.prompt_length, table.shape[1]) if varies[t]]
    chosen: dict[int, tuple[int, ...]] = {}
    resolved: dict[int, bool] = {}
    # Later targets add runs that may refute earlier sets: a second look costs no query, a third is hardly ever needed.
    for _ in range(3):
        for target in targets:
            if target not in chosen or runs.refute(target, chosen[target]):
                chosen[target], resolved[target] = _determine(target, runs, table, pairs, varies, groups, resamples)
    parents = [chosen.get(t, ()) for t in range(runs.prompt_length, table.shape[1])]
    unresolved = [t - runs.prompt_length for t in targets if not resolved[t]]
    return Dependencies(
        length, runs.prompt_length, tuple(parents), tuple(varies.tolist()), tuple(unresolved), runs.queries
    )


def _determine(
    target: int, runs: _Runs, table: ndarray, pairs: _Pairs, varies: ndarray, groups: int, resamples: int
) -> tuple[tuple[int, ...], bool]:
    """A smallest set of positions before ``target`` that withstands refutation, and whether one was found."""
    chosen: tuple[int, ...] = ()
    for _ in range(4 * target + 50):
        chosen = smallest_hitting_set(pairs.constraints(target))
        # Cheapest first: a look at the latest runs, then new ones, and all runs only for a set that stood so far.
        refutation, compared = runs.refute(target, chosen, latest=2000), 0
        if refutation is None:
            refutation, compared = _refute(target, chosen, runs, table, varies, groups, resamples)
        refutation = refutation or runs.refute(target, chosen)
        if refutation is None:
            return chosen, compared > 0
        pairs.add(*_shrink(target, chosen, *refutation, runs))
    return chosen, False


def _refute(
    target: int, chosen: tuple[int, ...], runs: _Runs, table: ndarray, varies: ndarray, groups: int, resamples: int
) -> tuple[tuple[ndarray, ndarray] | None, int]:
    """Two runs that agree on ``chosen`` and differ in ``target``, or None; and how many agreeing pairs were compared.

    Every other group changes only one to four tokens: where the answer tokens of ``chosen`` have many values, runs that
    agree on them are rare among runs that differ everywhere.
    """
    size, rng = runs.prompt_length, runs.rng
    free = np.array([i for i in range(size) if varies[i] and i not in chosen], dtype=np.int64)
    columns = np.array(chosen, dtype=np.int64)
    compared = 0
    if not len(free):
        return None, 1
    for group in range(groups):
        base = table[rng.integers(len(table))]
        rows = [base]
        for source in table[rng.integers(len(table), size=resamples)]:
            changed = free
            if group % 2:
                changed = rng.choice(free, size=min(len(free), int(rng.integers(1, 5))), replace=False)
            prompt = base[:size].copy()
            prompt[changed] = source[changed]
            row = runs(prompt)
            if row is not None:
                rows.append(row)
        block = np.array(rows)
        agree = (block[:, None, columns] == block[None, :, columns]).all(axis=-1)
        differ = block[:, None, target] != block[None, :, target]
        compared += int(np.triu(agree, 1).sum())
        hit = np.argwhere(agree & differ)
        if len(hit):
            return (block[hit[0, 0]], block[hit[0, 1]]), compared
    return None, compared


def _shrink(
    target: int, chosen: tuple[int, ...], kept: ndarray, moved: ndarray, runs: _Runs
) -> tuple[ndarray, ndarray]:
    """Make ``moved`` as equal to ``kept`` as possible while they agree on ``chosen`` and differ in ``target``."""
    size, columns = runs.prompt_length, np.array(chosen, dtype=np.int64)
    differing = np.flatnonzero(kept[:size] != moved[:size])
    step = max(len(differing) // 2, 1)
    while True:
        progress = False
        for start in range(0, len(differing), step):
            part = differing[start : start + step]
            part = part[kept[part] != moved[part]]
            if not len(part):
                continue
            prompt = moved[:size].copy()
            prompt[part] = kept[part]
            row = runs(prompt)
            if row is not None and row[target] != kept[target] and (row[columns] == kept[columns]).all():
                moved, progress = row, True
        if step == 1 and not progress:
            return kept, moved
        step = max(step // 2, 1)


class _Pairs:
    """Pairs of runs, as the sets of positions in which they differ."""

    def __init__(self, tokens: int) -> None:
        self._differ: Bool[ndarray, "M T"] = np.zeros((0, tokens), dtype=bool)
        self._new: list[ndarray] = []

    def add(self, left: ndarray, right: ndarray) -> None:
        """Remember where two runs differ."""
        self._new.append(left != right)

    def constraints(self, target: int) -> Bool[ndarray, "M T"]:
        """What a determining set of ``target`` must meet: earlier positions, from pairs that differ in ``target``."""
        if self._new:
            self._differ = np.unique(np.concatenate([self._differ, np.array(self._new)]), axis=0)
            self._new = []
        return self._differ[self._differ[:, target], :target]


class _Runs:
    """Runs of the oracle as rows of token numbers, prompt and answer together; -1 where the answer has ended."""

    def __init__(self, oracle: Oracle, sampler: Sampler, length: int, rng: Rng) -> None:
        self.oracle, self.sampler, self.length, self.rng = oracle, sampler, length, rng
        self.queries = 0
        self.prompt_length = 0
        self._width = 0
        self._ids: dict[str, int] = {}
        self._tokens: list[str] = []
        self._made = 0
        self._rows: Int[ndarray, "M T"] = np.zeros((0, 0), dtype=np.int32)

    def bases(self, number: int) -> Int[ndarray, "N T"]:
        """``number`` random runs; they fix the number of columns."""
        prompts = [list(self.sampler(self.length, self.rng)) for _ in range(number)]
        self.prompt_length = len(prompts[0])
        prompts = [p for p in prompts if len(p) == self.prompt_length]
        answers = [self._ask(p) for p in prompts]
        good = [(p, a) for p, a in zip(prompts, answers, strict=True) if a is not None]
        require(
            len(good) >= max(2, number // 10),
            f"only {len(good)} of {number} prompts of length {self.length} could be used; check oracle and sampler",
        )
        self._width = max(len(answer) for _, answer in good)
        return np.array([self._row(prompt, answer) for prompt, answer in good])

    def __call__(self, prompt: Int[ndarray, " P"]) -> Int[ndarray, " T"] | None:
        """Answer a prompt of token numbers; None if it is no prompt of the task."""
        tokens = [self._tokens[i] for i in prompt.tolist()]
        answer = self._ask(tokens)
        if answer is None:
            return None
        row = self._row(tokens, answer)
        if self._made == len(self._rows):
            more = np.zeros((max(1024, self._made), len(row)), dtype=np.int32)
            self._rows = np.concatenate([self._rows.reshape(-1, len(row)), more])
        self._rows[self._made] = row
        self._made += 1
        return row

    def refute(self, target: int, chosen: tuple[int, ...], latest: int | None = None) -> tuple[ndarray, ndarray] | None:
        """Two of the runs made so far (or of the ``latest``) that agree on ``chosen`` and differ in ``target``."""
        rows = self._rows[max(0, self._made - (latest or self._made)) : self._made]
        if not len(rows):
            return None
        group = np.zeros(len(rows), dtype=np.int64)
        for column in chosen:
            # Renumbered after every column, so that the codes never overflow.
            group = np.unique(group * (len(self._tokens) + 1) + rows[:, column] + 1, return_inverse=True)[1]
        order = np.lexsort((rows[:, target], group))
        same = group[order[1:]] == group[order[:-1]]
        hit = np.flatnonzero(same & (rows[order[1:], target] != rows[order[:-1], target]))
        return None if not len(hit) else (rows[order[hit[0]]], rows[order[hit[0] + 1]])

    def _ask(self, prompt: list[str]) -> list[str] | None:
        self.queries += 1
        try:
            return list(self.oracle(prompt))
        except (ValueError, LookupError, LengthwiseError):
            return None

    def _row(self, prompt: Sequence[str], answer: Sequence[str]) -> ndarray:
        row = np.full(self.prompt_length + self._width, -1, dtype=np.int64)
        for i, token in enumerate([*prompt, *answer[: self._width]]):
            if token not in self._ids:
                self._ids[token] = len(self._tokens)
                self._tokens.append(token)
            row[i] = self._ids[token]
        return row
