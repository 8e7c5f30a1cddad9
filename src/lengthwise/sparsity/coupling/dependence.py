"""Estimates which earlier tokens each predicted token depends on, by querying the task.

A set D of earlier tokens (of the prompt and of the answer so far) *determines* a predicted token if no two runs of the
task agree on D and differ in that token. A smallest such D is found by refutation. Two runs that differ in the token
differ somewhere in D, so every pair of runs is a constraint "D meets this set of positions". Take a smallest set that
meets all constraints so far and resample all other tokens. If two runs agree on D and differ in the token, shrink
their difference to a minimal one, add it as a constraint, and repeat. The task's own structure is not used.
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
"""Prompt tokens -> all tokens of the answer; raises `ValueError` or `LookupError` for other prompts."""
Sampler = Callable[[int, Rng], Sequence[str]]
"""Length and generator -> the tokens of a random prompt."""


@dataclass(frozen=True)
class Dependencies:
    """The dependencies at one length; positions count from 0 through the prompt and the answer.

    ``parents[j]`` is a smallest set of positions that determines answer token j (position ``prompt_length + j``),
    preferably recent ones. ``varies`` says for every position whether its token differs between sequences. The parents
    of the answer tokens in ``unresolved`` are a guess, because no determining set was found.
    """

    length: int
    prompt_length: int
    parents: tuple[tuple[int, ...], ...]
    varies: tuple[bool, ...]
    unresolved: tuple[int, ...] = ()
    queries: int = 0

    @property
    def tokens(self) -> int:
        """T: the number of tokens of prompt and answer."""
        return len(self.varies)

    @property
    def sparsity(self) -> int:
        """k: the largest number of parents."""
        return max((len(p) for p in self.parents), default=0)

    def edges(self) -> Int[ndarray, "E 2"]:
        """Pairs (predicted position, parent position)."""
        pairs = [(self.prompt_length + j, p) for j, parents in enumerate(self.parents) for p in parents]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def estimate_dependencies(
    oracle: Oracle, sampler: Sampler, length: int, rng: Rng, *, bases: int = 200, groups: int = 80, resamples: int = 24
) -> Dependencies:
    """Find a smallest determining set for every answer token at one length, by exact resampling.

    ``bases`` random prompts show which columns vary. A set counts as determining if neither ``groups`` groups of
    ``resamples`` + 1 runs that share its prompt tokens, nor all runs so far, contain a refutation. So a dependence that
    shows in a fraction q of prompts is missed with probability at most about (1 - q)^groups. Prompts with another
    number of tokens than the first are skipped. Raises `LengthwiseError` if the task answers less than a tenth of the
    prompts.
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
    subset: dict[int, tuple[int, ...]] = {}
    resolved: dict[int, bool] = {}
    # Later targets add runs that may refute earlier sets; checking those runs costs no query.
    for _ in range(3):
        for target in targets:
            if target not in subset or runs.refute(target, subset[target]):
                subset[target], resolved[target] = _determine(target, runs, table, pairs, varies, groups, resamples)
    parents = [subset.get(t, ()) for t in range(runs.prompt_length, table.shape[1])]
    unresolved = [t - runs.prompt_length for t in targets if not resolved[t]]
    return Dependencies(
        length, runs.prompt_length, tuple(parents), tuple(varies.tolist()), tuple(unresolved), runs.queries
    )


def _determine(
    target: int, runs: _Runs, table: ndarray, pairs: _Pairs, varies: ndarray, groups: int, resamples: int
) -> tuple[tuple[int, ...], bool]:
    """A smallest set of positions before ``target`` that is not refuted, and whether one was found."""
    subset: tuple[int, ...] = ()
    for _ in range(4 * target + 50):
        subset = smallest_hitting_set(pairs.constraints(target))
        # Cheapest first: the latest runs, then new runs, and all runs only for a set that these do not refute.
        refutation, compared = runs.refute(target, subset, latest=2000), 0
        if refutation is None:
            refutation, compared = _refute(target, subset, runs, table, varies, groups, resamples)
        refutation = refutation or runs.refute(target, subset)
        if refutation is None:
            return subset, compared > 0
        pairs.add(*_shrink(target, subset, *refutation, runs))
    return subset, False


def _refute(
    target: int, subset: tuple[int, ...], runs: _Runs, table: ndarray, varies: ndarray, groups: int, resamples: int
) -> tuple[tuple[ndarray, ndarray] | None, int]:
    """Two runs that agree on ``subset`` and differ in ``target``, or None; and the number of agreeing pairs compared.

    Every other group changes one to four tokens only, because runs that differ everywhere rarely agree on ``subset``.
    """
    size, rng = runs.prompt_length, runs.rng
    free = np.array([i for i in range(size) if varies[i] and i not in subset], dtype=np.int64)
    columns = np.array(subset, dtype=np.int64)
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
    target: int, subset: tuple[int, ...], kept: ndarray, moved: ndarray, runs: _Runs
) -> tuple[ndarray, ndarray]:
    """Make ``moved`` as equal to ``kept`` as possible while they agree on ``subset`` and differ in ``target``."""
    size, columns = runs.prompt_length, np.array(subset, dtype=np.int64)
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
        """Record the positions at which two runs differ."""
        self._new.append(left != right)

    def constraints(self, target: int) -> Bool[ndarray, "M T"]:
        """The sets of earlier positions that a determining set of ``target`` must meet."""
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
        """``number`` random runs, which fix the number of columns."""
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
        """The run of a prompt of token numbers; None if the task has no such prompt."""
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

    def refute(self, target: int, subset: tuple[int, ...], latest: int | None = None) -> tuple[ndarray, ndarray] | None:
        """Two of the runs so far (or of the ``latest``) that agree on ``subset`` and differ in ``target``, or None."""
        rows = self._rows[max(0, self._made - (latest or self._made)) : self._made]
        if not len(rows):
            return None
        group = np.zeros(len(rows), dtype=np.int64)
        for column in subset:
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
        tokens, ids = [*prompt, *answer[: self._width]], self._ids
        for token in tokens:
            if token not in ids:
                ids[token] = len(self._tokens)
                self._tokens.append(token)
        missing = self.prompt_length + self._width - len(tokens)
        return np.array([ids[token] for token in tokens] + [-1] * missing, dtype=np.int64)
