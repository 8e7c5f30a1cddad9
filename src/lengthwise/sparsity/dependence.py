"""Which earlier tokens a token depends on, estimated from data or by changing one token at a time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from lengthwise.core.deadline import check_time
from lengthwise.core.errors import LengthwiseError, reject, require
from lengthwise.core.rng import Rng


def smallest_hitting_set(family: Bool[ndarray, "M N"], budget: int = 20_000) -> tuple[int, ...]:
    """The elements, increasing, of a smallest set that meets all rows; ties prefer late elements.

    Exact by iterative deepening: branch on the elements of a smallest unmet row. After ``budget`` branches the answer
    is the greedy one, which may not be the smallest. Raises `ValueError` for an empty row.
    """
    family = np.unique(family, axis=0)
    reject(not family.any(axis=1).all(), "an empty set can't be met")
    # The element of a row with one element belongs to every solution.
    forced = family[family.sum(axis=1) == 1].any(axis=0)
    rest = _minimal(family[~(family & forced).any(axis=1)])
    count = [0]
    found, size = None, 0
    while found is None and count[0] <= budget:
        found, size = _search(rest, size, count, budget), size + 1
    return tuple(sorted({*np.flatnonzero(forced).tolist(), *(_greedy(rest) if found is None else found)}))


def _minimal(family: ndarray) -> ndarray:
    """Drop the rows that contain another row, because meeting the smaller row meets them."""
    kept: list[ndarray] = []
    for row in family[np.argsort(family.sum(axis=1), kind="stable")]:
        check_time()
        if not any((row | other == row).all() for other in kept):
            kept.append(row)
    return np.array(kept, dtype=bool).reshape(-1, family.shape[1])


def _search(rest: ndarray, size: int, count: list[int], budget: int) -> tuple[int, ...] | None:
    if not len(rest):
        return ()
    if size == 0 or count[0] > budget:
        return None
    # ``size`` elements meet at most ``size`` times as many rows as the most frequent element.
    if size * int(rest.sum(axis=0).max()) < len(rest):
        return None
    for element in np.flatnonzero(rest[rest.sum(axis=1).argmin()])[::-1].tolist():
        count[0] += 1
        check_time()
        found = _search(rest[~rest[:, element]], size - 1, count, budget)
        if found is not None:
            return (element, *found)
    return None


def _greedy(rest: ndarray) -> tuple[int, ...]:
    chosen = []
    while len(rest):
        element = len(rest[0]) - 1 - int(rest.sum(axis=0)[::-1].argmax())
        chosen.append(element)
        rest = rest[~rest[:, element]]
    return tuple(chosen)


Oracle = Callable[[Sequence[str]], Sequence[str]]
"""Prompt tokens -> all tokens of the answer; raises `ValueError` or `LookupError` for other prompts."""
Sampler = Callable[[int, Rng], Sequence[str]]
"""Length and generator -> the tokens of a random prompt."""


@dataclass(frozen=True)
class Dependencies:
    """The dependencies at one length; positions count from 0 through the prompt and the answer.

    ``parents[j]`` is a smallest set of positions that determines answer token j (position ``prompt_length + j``),
    preferably recent ones. ``symbols`` are the tokens that were seen at every position. The parents of the answer
    tokens in ``unresolved`` are a guess, because no determining set was found.
    """

    length: int
    prompt_length: int
    parents: tuple[tuple[int, ...], ...]
    symbols: tuple[frozenset[Hashable], ...]
    unresolved: tuple[int, ...] = ()
    queries: int = 0

    @property
    def tokens(self) -> int:
        """T: the number of tokens of prompt and answer."""
        return len(self.symbols)

    @cached_property
    def varies(self) -> tuple[bool, ...]:
        """For every position whether its token differs between sequences."""
        return tuple(len(seen) > 1 for seen in self.symbols)

    @property
    def sparsity(self) -> int:
        """k: the largest number of parents."""
        return max((len(p) for p in self.parents), default=0)

    def edges(self) -> Int[ndarray, "E 2"]:
        """Pairs (predicted position, parent position)."""
        pairs = [(self.prompt_length + j, p) for j, parents in enumerate(self.parents) for p in parents]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def farthest(self, places: Int[ndarray, " T"]) -> tuple[int, str]:
        """The largest distance in these places from a predicting token to a parent, and in words between which."""
        edges = self.edges()
        gaps = np.abs(places[edges[:, 0] - 1] - places[edges[:, 1]])
        if not len(gaps):
            return 0, "no token has a parent"
        token, parent = edges[gaps.argmax()]
        return int(gaps.max()), f"answer token {token - self.prompt_length + 1} needs the token at position {parent}"


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
    return Dependencies(length, runs.prompt_length, tuple(parents), _seen(table), tuple(unresolved), runs.queries)


def _seen(table: ndarray) -> tuple[frozenset[Hashable], ...]:
    """The values of each column."""
    return tuple(frozenset(np.unique(column).tolist()) for column in table.T)


def _determine(
    target: int, runs: _Runs, table: ndarray, pairs: _Pairs, varies: ndarray, groups: int, resamples: int
) -> tuple[tuple[int, ...], bool]:
    """A smallest set of positions before ``target`` that is not refuted, and whether one was found."""
    subset: tuple[int, ...] = ()
    for _ in range(4 * target + 50):
        check_time()
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
        sources = table[rng.integers(len(table), size=resamples)]
        prompts = np.repeat(base[None, :size], resamples, axis=0)
        if group % 2:
            for prompt, source in zip(prompts, sources, strict=True):
                changed = rng.choice(free, size=min(len(free), int(rng.integers(1, 5))), replace=False)
                prompt[changed] = source[changed]
        else:
            prompts[:, free] = sources[:, free]
        block = np.array([base, *(row for prompt in prompts if (row := runs(prompt)) is not None)])
        agree = (block[:, None, columns] == block[None, :, columns]).all(axis=-1)
        differ = block[:, None, target] != block[None, :, target]
        compared += (int(agree.sum()) - len(block)) // 2
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
        group = _cells([rows[:, column] + 1 for column in subset], len(rows))
        order = np.lexsort((rows[:, target], group))
        same = group[order[1:]] == group[order[:-1]]
        hit = np.flatnonzero(same & (rows[order[1:], target] != rows[order[:-1], target]))
        return None if not len(hit) else (rows[order[hit[0]]], rows[order[hit[0] + 1]])

    def _ask(self, prompt: list[str]) -> list[str] | None:
        self.queries += 1
        check_time()
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
        return np.array([*map(ids.__getitem__, tokens), *[-1] * missing], dtype=np.int64)


PERMUTATIONS, SIGMAS = 20, 6.0
"""A test compares with so many permutations, and passes so many of their standard deviations above their mean."""
CONFLICTS = 0.002
"""A set explains a token if at most this share of the example pairs that agree on the set differ in the token."""
SCREENING = 4000
"""Examples on which pairs of tokens are screened."""


def dependencies_from_data(
    examples: Sequence[Sequence[str]] | Int[ndarray, "N T"], prompt_length: int, length: int, rng: Rng
) -> Dependencies:
    """Estimate the parents of every answer token from examples (prompt and answer together) of one length.

    Examples are token strings, or token ids as in ``Batch.input_ids``; examples with another number of tokens than the
    first are skipped. Many examples compared with |V|^k are needed: about 20,000 for sums of decimal digits (k = 5),
    2,000 for bits. Raises `LengthwiseError` for fewer than 50.
    """
    kept = [e for e in examples if len(e) == len(examples[0])]
    require(len(kept) >= 50, f"dependencies from data need 50 examples or more, got {len(kept)}; give more")
    table = np.array([list(e) for e in kept])
    columns = [np.unique(table[:, t], return_inverse=True)[1].astype(np.int64) for t in range(table.shape[1])]
    varies = tuple(bool(c.any()) for c in columns)
    parents: list[tuple[int, ...]] = []
    unresolved = []
    for target in range(prompt_length, len(columns)):
        found, explained = (), True
        if varies[target]:
            # The most recent candidate first, so that ties go to it.
            candidates = [t for t in range(target - 1, -1, -1) if varies[t]]
            found, explained = _Search(columns, target, candidates, rng).run()
        parents.append(found)
        if not explained:
            unresolved.append(target - prompt_length)
    return Dependencies(length, prompt_length, tuple(parents), _seen(table), tuple(unresolved), len(kept))


class _Search:
    """Forward selection and backward elimination for one target."""

    def __init__(self, columns: list[ndarray], target: int, candidates: list[int], rng: Rng) -> None:
        self.columns, self.candidates, self.rng = columns, candidates, rng
        self.y = columns[target]

    def run(self) -> tuple[tuple[int, ...], bool]:
        """The selected set, and whether it explains the target."""
        selected: list[int] = []
        while self.conflicts(selected) > CONFLICTS:
            more = self.best_single(selected) or self.best_pair(selected)
            if not more:
                break
            selected += more
        for token in list(selected):
            rest = [t for t in selected if t != token]
            if self.conflicts(rest) <= CONFLICTS and not self.informative([token], rest):
                selected = rest
        group = self.cells(selected)
        some_agree = len(np.unique(group)) < len(group)
        return tuple(sorted(selected)), some_agree and self.conflicts(selected) <= CONFLICTS

    def cells(self, tokens: list[int]) -> Int[ndarray, " N"]:
        """One number per combination of values of these tokens."""
        return _cells([self.columns[t] for t in tokens], len(self.y))

    def conflicts(self, selected: list[int]) -> float:
        """Share of the pairs agreeing on ``selected`` that differ in the target; 0 if none agree."""
        group = self.cells(selected)
        pairs = _pairs(np.bincount(group))
        same = _pairs(np.bincount(_cells([group, self.y], len(self.y))))
        return 0.0 if pairs == 0 else 1 - same / pairs

    def best_single(self, selected: list[int]) -> list[int]:
        """The token with the most information given ``selected``, if the permutation test passes."""
        group = self.cells(selected)
        shuffled = _within(group, self.rng)
        left = [t for t in self.candidates if t not in selected]
        gain = [
            _information(self.y, self.columns[t], group) - _information(self.y, self.columns[t][shuffled], group)
            for t in left
        ]
        best = [left[int(np.argmax(gain))]] if left else []
        return best if best and self.informative(best, selected) else []

    def best_pair(self, selected: list[int]) -> list[int]:
        """The two tokens with the most information given ``selected``, if the permutation test passes."""
        some = slice(0, SCREENING)
        y = self.y[some]
        group = _cells([self.columns[t][some] for t in selected], len(y))
        noise = y[_within(group, self.rng)]
        left = [t for t in self.candidates if t not in selected]
        best, top = [], 1e-9
        for i, first in enumerate(left):
            for second in left[i + 1 :]:
                both = _cells([self.columns[first][some], self.columns[second][some]], len(y))
                gain = _information(y, both, group) - _information(noise, both, group)
                # Ties within rounding go to the earlier pair, which is the more recent one.
                if gain > top + 1e-9 + 0.02 * abs(top) * bool(best):
                    best, top = [first, second], gain
        return best if best and self.informative(best, selected) else []

    def informative(self, tokens: list[int], given: list[int]) -> bool:
        """Permutation test of the conditional mutual information."""
        group = self.cells(given)
        value = self.cells(tokens)
        null = np.array([_information(self.y, value[_within(group, self.rng)], group) for _ in range(PERMUTATIONS)])
        spread = max(float(null.std(ddof=1)), 1e-6)
        return _information(self.y, value, group) > null.mean() + SIGMAS * spread


def _cells(columns: list[ndarray], size: int) -> Int[ndarray, " N"]:
    """One number per combination of values, 0..cells-1."""
    code = np.zeros(size, dtype=np.int64)
    for column in columns:
        code = code * (int(column.max(initial=0)) + 1) + column
        if int(code.max(initial=0)) > 4 * size:
            code = np.unique(code, return_inverse=True)[1]
    return code


def _within(group: Int[ndarray, " N"], rng: Rng) -> Int[ndarray, " N"]:
    """A random permutation of the examples that keeps every cell of ``group``."""
    before, after = np.argsort(group, kind="stable"), np.lexsort((rng.random(len(group)), group))
    result = np.empty_like(before)
    result[before] = after
    return result


def _information(y: ndarray, value: ndarray, group: ndarray) -> float:
    """Plug-in conditional mutual information I(y; value | group) in nats."""
    size = len(y)
    both = _cells([group, value], size)
    return (_sums(both) - _sums(group) + _sums(_cells([group, y], size)) - _sums(_cells([both, y], size))) / -size


def _sums(cells: ndarray) -> float:
    """Σ c log c over the cell counts c."""
    counts = np.bincount(cells)
    counts = counts[counts > 1]
    return float((counts * np.log(counts)).sum())


def _pairs(counts: ndarray) -> float:
    return float((counts * (counts - 1.0)).sum() / 2)
