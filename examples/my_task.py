"""A task of your own: one file. Try `lengthwise show examples/my_task.py:EverySecond --length 6`."""

from functools import cached_property

import lengthwise as lw


@lw.config
class EverySecond(lw.Task):
    """`<bos> 3 1 4 1 <sep> 3 4 <eos>`: copy every second digit. Length = number of digits."""

    summary = "every second digit of a number"

    base: int = 10

    @cached_property
    def vocab(self):
        return lw.Vocab.of(str(digit) for digit in range(self.base))

    def write(self, seq, layout, rng):
        digits = rng.integers(self.base, size=(layout.length, seq.size)) + self.vocab["0"]
        seq.bos()
        # A place says which tokens belong together; here a digit and its copy do.
        given = [seq.given(digit, place=i + 2) for i, digit in enumerate(digits)]
        # The first answer is predicted from <sep>, so its place is beside that of the digit which is needed there.
        seq.sep(place=1)
        for i in range(0, layout.length, 2):
            seq.predicted(digits[i], place=i + 2, parents=[given[i]])
        seq.eos()

    def answer(self, prompt):
        if prompt[-1] != "<sep>" or not set(prompt[1:-1]) <= set(self.vocab.tokens[4:]) or len(prompt) < 3:
            raise ValueError("not digits between <bos> and <sep>")
        return [*prompt[1:-1:2], "<eos>"]
