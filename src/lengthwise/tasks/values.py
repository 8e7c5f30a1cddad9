"""The places of a task's prompts, and the values that stand there: planted into many places, or taken out."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy import ndarray

from lengthwise.core.batch import Batch
from lengthwise.core.errors import reject
from lengthwise.core.rng import Rng
from lengthwise.tasks.base import Task

Change = Callable[[ndarray, ndarray, ndarray, Rng], None]
"""Changes a prompt in place: its ids, the positions that may change, the ids that they may have, and randomness."""
MOST_VALUES = 150
"""With more values than this, as of large alphabets, places have only those of equal tokens."""
ANYWHERE, INSIDE, FIRST, LAST = "", "inside", "first", "last"
"""Where values are planted: in half of all places, in half of those that are not the first or the last, or in one."""
_NAME = re.compile(r"(?:half of the \w+?s are|the (first|last) \w+ is) (.+)")


def with_values(what: str, values: Sequence[str], where: str = ANYWHERE) -> str:
    """The name of a kind of prompts, as "half of the columns are 0 + 0 or 9 + 9", or "the first column is 8 + 8"."""
    places = f"the {where} {what} is" if where in (FIRST, LAST) else f"half of the {what}s are"
    return f"{places} {spoken(values, 'or')}"


def values_named(kind: str) -> tuple[list[str], str]:
    """The values in the name of such a kind, and where; sums and products as of `column_of`; none in another one."""
    found = _NAME.fullmatch(re.sub(r"(?<=\w) ?([+*]) ?(?=\w)", r" \1 ", kind))
    where, names = (found[1] or ANYWHERE, re.split(r", | or ", found[2])) if found else (ANYWHERE, [])
    ordered = [sign.join(sorted(name.split(sign))) for name in names for sign in (" * " if " * " in name else " + ",)]
    return ordered, where


def spoken(names: Sequence[str], last: str = "and") -> str:
    """Names in a row: "0 + 0, 9 + 9 and 8 + 8"."""
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def column_of(text: Sequence[str], at: Sequence[int], tokens: Sequence[str]) -> str:
    """Tokens with the sign between their positions, as "0 + 9"; empty for one token, and where there is no one sign.

    Those of a sum or a product are the same in any order.
    """
    signs = {name for name in text[at[0] : at[-1]] if not name.isalnum()}
    if len(at) < 2 or len(signs) != 1:
        return ""
    sign = f" {signs.pop()} "
    return sign.join(sorted(tokens) if sign in (" + ", " * ") else tokens)


class Values:
    """The places of the prompts of a batch, which share their layout, and what can stand there.

    Where tokens of a prompt share a place, as the digits of a column, a value is all of these; else it is one token.

    Arguments:
        task: the task of the batch.
        drawn: enough random strings to see which of their tokens vary.
    """

    def __init__(self, task: Task, drawn: Batch) -> None:
        self.task, prompts = task, drawn.input_ids[:, : drawn.prompt_length]
        free = np.flatnonzero((prompts != prompts[:1]).any(0))
        shared: dict[bytes, list[int]] = {}
        for position in free.tolist():
            shared.setdefault(drawn.places[0, position].tobytes(), []).append(position)
        size = max(map(len, shared.values()), default=0)
        self.places = [np.array(each) for each in shared.values() if len(each) == size]
        self.what = "column" if size > 1 else drawn.unit
        pool = np.unique(prompts[:, free]).tolist()
        few = len(pool) ** size <= MOST_VALUES
        every = itertools.product(pool, repeat=size) if few else ((token,) * size for token in pool)
        self.named: dict[str, list[tuple[int, ...]]] = {}
        for value in every if self.places else ():
            tokens = [task.vocab.tokens[token] for token in value]
            name = column_of(drawn.text(0), self.places[0].tolist(), tokens) or " and ".join(tokens)
            self.named.setdefault(name, []).append(value)

    def others(self, names: Sequence[str]) -> list[str]:
        """All other values."""
        return [name for name in self.named if name not in names]

    def planted(self, names: Sequence[str], where: str = ANYWHERE) -> Change:
        """Half of the places ``where`` get the same one of these values; raises `ValueError` for values of no place."""
        places = self._at(where)

        def change(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
            reject(not set(names) <= {*self.named}, "no such values")
            name = names[int(rng.integers(len(names)))]
            for place in rng.permutation(len(places))[: (len(places) + 1) // 2].tolist():
                prompt[places[place]] = self._any([name], rng)

        return change

    def beside(self, name: str, count: int, apart: bool) -> Change:
        """So many places inside get this value, neighbours or no two of them; raises `ValueError` without room."""
        places = self._at(INSIDE)
        room = len(places) - (count - 1) * (1 + apart)

        def change(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
            reject(room < count, "too few places")
            gaps = np.sort(rng.permutation(room)[:count]) if apart else np.full(count, rng.integers(room))
            for number, gap in enumerate(gaps.tolist()):
                prompt[places[gap + number]] = self._any([name], rng)

        return change

    def without(self, names: Mapping[str, str]) -> Change:
        """Places with these values, of which each has where it matters, get others."""
        others = self.others([*names])

        def change(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
            for place in self._split(names, prompt)[0]:
                prompt[place] = self._any(others, rng)

        return change

    def own_instead(self, names: Mapping[str, str], kind: str) -> Change:
        """Places with these values get those of other places; raises `ValueError` if it is no longer of the kind."""

        def change(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
            with_them, rest = self._split(names, prompt)
            reject(bool(with_them and not rest), "all places have such values")
            for place in with_them:
                prompt[place] = prompt[rest[int(rng.integers(len(rest)))]]
            reject(not self.task.of_kind(kind, self.task.vocab.decode(prompt.tolist())), "not of this kind")

        return change

    def moved_round(self) -> Change:
        """All values move as many places on, the last ones to the front."""

        def change(prompt: ndarray, free: ndarray, pool: ndarray, rng: Rng) -> None:
            reject(len(self.places) < 2, "too few places")
            by, old = int(rng.integers(1, len(self.places))), prompt.copy()
            for number, place in enumerate(self.places):
                prompt[place] = old[self.places[number - by]]

        return change

    def _any(self, names: Sequence[str], rng: Rng) -> tuple[int, ...]:
        values = self.named[names[int(rng.integers(len(names)))]]
        return values[int(rng.integers(len(values)))]

    def _at(self, where: str) -> list[ndarray]:
        """The places ``where``."""
        return self.places[{INSIDE: slice(1, -1), FIRST: slice(1), LAST: slice(-1, None)}.get(where, slice(None))]

    def _split(self, names: Mapping[str, str], prompt: ndarray) -> tuple[list[ndarray], list[ndarray]]:
        """The places that have such values where these matter, those inside anywhere, and the others."""
        sides: tuple[list[ndarray], list[ndarray]] = [], []
        ends = {FIRST: self.places[:1], LAST: self.places[-1:]}
        for place in self.places:
            value = tuple(prompt[place].tolist())
            here = (where for name, where in names.items() if value in self.named[name])
            has = any(where not in ends or any(place is end for end in ends[where]) for where in here)
            sides[not has].append(place)
        return sides
