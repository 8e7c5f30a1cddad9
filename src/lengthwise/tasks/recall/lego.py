"""LEGO: a chain of signs in clauses; what is the sign of one variable? (after Zhang et al. 2022)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.bounds import Alphabet1
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import BOS, EOS, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.sampling import distinct, inverse, shuffles

QUERY, ONE = "?", "1"


@dataclass(frozen=True)
class Queried(Layout):
    """The clause of the chain whose variable is asked for, from 1."""

    depth: int

    @property
    def axes(self) -> dict[str, int]:
        """How many clauses lead to the answer."""
        return {"depth": self.depth}


@TASKS.register("lego")
class Lego(Task):
    """``<bos> b - a a + 1 ? b - <eos>``: a is +1 and b is -a, so that b is -.

    Length = clauses ``variable sign variable``, which form one chain from ``1``, in random order unless ``ordered``. A
    variable of the second half of the chain is asked for: its sign depends on the signs up to it, which names choose.
    The tokens of a clause share a place.
    """

    summary = "a chain of signed variables in shuffled clauses: the sign of one"

    variables: Alphabet1 = 100
    ordered: bool = False

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of([*(f"x{i}" for i in range(self.variables)), ONE, "+", "-", QUERY])

    def max_length(self) -> int:
        """Every clause defines a variable of its own."""
        return self.variables

    def chance(self, layout: Layout) -> float:
        return 0.5

    def layout(self, length: int, rng: Rng) -> Queried:
        """A clause of the second half, uniformly."""
        return Queried(length, int(rng.integers(length // 2 + 1, length + 1)))

    def test_layouts(self, length: int) -> list[Layout]:
        """The last variable of the chain."""
        return [Queried(length, length)]

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """Clause r of the string (from 0) has place r + 2, and so have its query and answer; ``?`` has 1."""
        assert isinstance(layout, Queried)
        n, rows = layout.length, seq.size
        child = distinct(rng, self.variables, n, rows) + self.vocab["x0"]
        parent = np.concatenate([np.full((rows, 1), self.vocab[ONE]), child[:, :-1]], axis=1)
        signs = rng.integers(2, size=(rows, n), dtype=np.int64)
        in_clause = np.broadcast_to(np.arange(n), (rows, n)) if self.ordered else shuffles(rng, n, rows)
        line = inverse(in_clause)
        seq.bos()
        for r in range(n):
            for content in (child, signs + self.vocab["+"], parent):
                seq.given(content[np.arange(rows), in_clause[:, r]], place=r + 2)
        seq.given(self.vocab[QUERY], place=1)
        last = line[:, layout.depth - 1]
        query = seq.given(child[:, layout.depth - 1], place=last + 2)
        first = [3 * line[:, step] + 1 for step in range(layout.depth)]
        selectors = [query, *(at for start in first for at in (start, start + 2))]
        found = signs[:, : layout.depth].sum(axis=1) % 2 + self.vocab["+"]
        seq.predicted(found, last + 2, parents=[start + 1 for start in first], selectors=selectors)
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Follow a dictionary and count the minus signs."""
        body = list(prompt[1:-2])
        if len(body) < 3 or len(body) % 3 or prompt[0] != BOS or prompt[-2] != QUERY:
            raise ValueError("not clauses followed by ? and a variable")
        meaning = {child: (sign, parent) for child, sign, parent in zip(body[::3], body[1::3], body[2::3], strict=True)}
        if len(meaning) < len(body) // 3 or not set(body[1::3]) <= {"+", "-"} or ONE in meaning:
            raise ValueError("every clause defines a variable of its own by a sign")
        name, minus, steps = prompt[-1], 0, 0
        if name not in meaning:
            raise ValueError("the query is no variable")
        while name != ONE:
            if name not in meaning or steps > len(meaning):
                raise ValueError(f"{name} leads to no value")
            sign, name = meaning[name]
            minus, steps = minus + (sign == "-"), steps + 1
        return ["-" if minus % 2 else "+", EOS]
