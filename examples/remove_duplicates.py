"""Answers of variable length. Try `lengthwise show examples/remove_duplicates.py:RemoveDuplicates --length 6`."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import lengthwise as lw


@dataclass(frozen=True)
class Runs(lw.core.batch.Layout):
    """All that decides which column holds what: where a new letter begins. It has as many answers."""

    starts: tuple[int, ...]


@lw.config
class RemoveDuplicates(lw.Task):
    """`<bos> a a c c c a <sep> a c a <eos>`: one letter of each run. Length = letters of the prompt."""

    summary = "one letter of each run of equal letters"

    @cached_property
    def vocab(self):
        return lw.Vocab.of("abcd")

    def layout(self, length, rng):
        return Runs(length, (0, *(int(i) for i in 1 + np.flatnonzero(rng.random(length - 1) < 0.5))))

    def write(self, seq, layout, rng):
        seq.bos()
        letters, given, letter = [], [], rng.integers(4, size=seq.size)
        for i in range(layout.length):
            if i in layout.starts[1:]:
                letter = (letter + rng.integers(1, 4, size=seq.size)) % 4  # another letter
            letters.append(letter + self.vocab["a"])
            given.append(seq.given(letters[i], place=1 + sum(start <= i for start in layout.starts)))
        seq.sep(place=1)
        for run, start in enumerate(layout.starts, start=1):
            # Which letter it copies depends on all letters: they are its selectors.
            seq.predicted(letters[start], place=run + 1, parents=[given[start]], selectors=given)
        seq.eos(selectors=given)

    def answer(self, prompt):
        if len(prompt) < 3 or prompt[-1] != "<sep>" or not set(prompt[1:-1]) <= set("abcd"):
            raise ValueError("not letters between <bos> and <sep>")
        text = prompt[1:-1]
        return [*(now for now, before in zip(text, [None, *text[:-1]], strict=True) if now != before), "<eos>"]
