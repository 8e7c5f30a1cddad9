"""Even pairs: is the number of factors 01 and 10 even?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.rng import Rng
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks.base import TASKS, Task
from lengthwise.tasks.string_task import read


@TASKS.register("even-pairs")
class EvenPairs(Task):
    """``<bos> 0 1 1 0 <sep> e <eos>``: ``e`` if the number of factors 01 and 10 is even, ``o`` if it is odd.

    Length = number of bits. The answer is even exactly where the first and the last bit agree: two parents.
    """

    summary = "is the number of 01 and 10 even? the first and the last bit decide"

    @cached_property
    def vocab(self) -> Vocab:
        return Vocab.of(["0", "1", "e", "o"])

    def chance(self, layout: Layout) -> float:
        return 0.5 if layout.length > 1 else 1.0

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        """The first bit, the last bit and the answer share place 1; everything else has 2."""
        n = layout.length
        bits = rng.integers(2, size=(n, seq.size))
        seq.bos()
        given = [seq.given(bits[i] + self.vocab["0"], place=1 if i in (0, n - 1) else 2) for i in range(n)]
        seq.sep(place=2)
        seq.predicted((bits[0] ^ bits[-1]) + self.vocab["e"], 1, parents=[given[0], given[-1]] if n > 1 else [])
        seq.eos()

    def answer(self, prompt: Sequence[str]) -> list[str]:
        """Count the factors."""
        string = read("repeats", self.vocab, prompt)
        if not set(string) <= {"0", "1"}:
            raise ValueError("not a string of bits")
        return ["eo"[sum(a != b for a, b in pairwise(string)) % 2], EOS]
