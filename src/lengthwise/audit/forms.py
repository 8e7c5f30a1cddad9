"""The forms in which a task is asked, each with examples first and a mark for the answer last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FILLER = tuple("the grass is green the sky is blue the sun is yellow here we go there and back again".split())  # noqa: SIM905
FILLER_LINE = 10
"""Words of one line of filler, the mark included."""
MARK = "#"
"""Begins a line of filler."""


@dataclass(frozen=True)
class PromptForm:
    """One way of asking: a head, what stands before a problem, and what stands before its answer."""

    name: str
    head: str
    problem: str
    answer: str

    def prompt(self, summary: str, shots: Sequence[tuple[str, str]], problem: str, before: int, between: int) -> str:
        """Examples, ``before`` words of filler, the problem, ``between`` words of filler, the mark of the answer."""
        parts = [self.head.format(summary=summary)] if self.head else []
        parts += [f"{self.problem}{problem_text}\n{self.answer} {answer}" for problem_text, answer in shots]
        last = f"{filler(before)}{self.problem}{problem}\n{filler(between)}{self.answer}"
        return "\n\n".join([*parts, last])


FORMS = {
    form.name: form
    for form in (
        PromptForm("lines", "", "Input: ", "Output:"),
        PromptForm("arrow", "", "", "->"),
        PromptForm("instruction", "Task: {summary}. Lines that start with # mean nothing.", "Question: ", "Answer:"),
    )
}
"""Every form by name."""


def filler(words: int) -> str:
    """Lines of ``words`` words in all that have nothing to do with the task, each line after a ``#``."""
    lines, index = [], 0
    while words > 0:
        # A line of the mark alone counts as a word, too.
        size = min(FILLER_LINE, words) - 1
        lines.append(" ".join([MARK, *(FILLER[(index + i) % len(FILLER)] for i in range(size))]) + "\n")
        index, words = index + size, words - size - 1
    return "".join(lines)
