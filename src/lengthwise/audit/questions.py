"""The questions of an audit: problems of a task in which length, distance and number of relevant words vary apart.

Filler before a problem makes the text longer and leaves everything else. The same filler between problem and answer
moves what matters away. A larger problem in place of filler makes more words matter, in a text of the same length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lengthwise.audit.forms import FORMS, PromptForm
from lengthwise.audit.relevance import Relevance, relevance
from lengthwise.audit.wording import text_of
from lengthwise.core.errors import LengthwiseError, UnknownNameError, require
from lengthwise.core.rng import stream
from lengthwise.tasks import Task

SWEEPS = ("problem", "length", "distance", "number")
"""What varies: the problem as a whole, or one of the three alone."""


@dataclass(frozen=True)
class Problem:
    """One problem of a task as text, and what its answer depends on."""

    text: str
    answer: str
    relevance: Relevance


@dataclass(frozen=True)
class Question:
    """One prompt with its right answer, and the cell of the audit that it belongs to."""

    sweep: str
    form: str
    level: int
    """The task length whose number of words this cell has along its sweep."""
    problem: int
    """The task length of the problem itself."""
    prompt: str
    expected: tuple[str, ...]
    number: int
    """Words that matter."""
    distance: int
    """Words from the farthest that matters to the answer."""
    words: int
    """Words of the problem with its filler, without the examples."""

    @property
    def cell(self) -> tuple[str, str, int]:
        """Sweep, form and level."""
        return self.sweep, self.form, self.level


@dataclass(frozen=True)
class AuditPlan:
    """What is asked: a task at some lengths, with examples of the shortest."""

    task: Task
    lengths: tuple[int, ...]
    samples: int = 40
    shots: int = 4
    forms: tuple[str, ...] = tuple(FORMS)
    seed: int = 0
    _drawn: dict[tuple[str, int], list[Problem]] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        require(len(self.lengths) >= 2, "two lengths or more are needed, to compare them; write e.g. --lengths 5,10,20")
        require(list(self.lengths) == sorted(set(self.lengths)), "lengths must increase; write e.g. --lengths 5,10,20")
        require(self.samples >= 1, f"samples must be 1 or more, got {self.samples}")
        require(self.shots >= 0, f"shots must be 0 or more, got {self.shots}")
        for form in self.forms:
            if form not in FORMS:
                raise UnknownNameError("form", form, FORMS)
        for length in self.lengths:
            self.problems(length)

    def problems(self, length: int) -> list[Problem]:
        """The problems of one length; the same in every sweep and form."""
        return self._problems("problems", length, self.samples)

    def examples(self) -> list[tuple[str, str]]:
        """Problems of the shortest length with their answers."""
        if not self.shots:
            return []
        found = self._problems("shots", self.lengths[0], self.shots)
        return [(problem.text, problem.answer) for problem in found]

    def _problems(self, what: str, length: int, count: int) -> list[Problem]:
        if (what, length) not in self._drawn:
            self._drawn[what, length] = _problems(self.task, length, count, self.seed, what)
        return self._drawn[what, length]


def natural_questions(plan: AuditPlan) -> list[Question]:
    """Problems of every length in every form, without filler."""
    return [
        question
        for form in plan.forms
        for length in plan.lengths
        for question in _asked(plan, "problem", FORMS[form], length, length, 0, 0)
    ]


def sweep_questions(plan: AuditPlan, form: str) -> list[Question]:
    """Questions in which length, distance and number vary one after the other, each from where the last one ended.

    The sweep of the number is missing if no more words matter in a longer problem.
    """
    first, last = plan.lengths[0], plan.lengths[-1]
    words = {length: _words(plan.problems(length)) for length in plan.lengths}
    found: list[Question] = []
    for level in plan.lengths:
        extra = max(words[level] - words[first], 0)
        rest = max(words[last] - words[level], 0)
        found += _asked(plan, "length", FORMS[form], level, first, extra, 0)
        found += _asked(plan, "distance", FORMS[form], level, first, rest, extra)
        if number_grows(plan):
            found += _asked(plan, "number", FORMS[form], level, level, 0, rest)
    return found


def number_grows(plan: AuditPlan) -> bool:
    """Whether more words matter in the longest problems than in the shortest."""
    ends = [plan.problems(length) for length in (plan.lengths[0], plan.lengths[-1])]
    low, high = (sum(problem.relevance.number for problem in problems) / len(problems) for problems in ends)
    return high > low + 0.5


def _asked(
    plan: AuditPlan, sweep: str, form: PromptForm, level: int, length: int, before: int, between: int
) -> Iterator[Question]:
    for problem in plan.problems(length):
        prompt = form.prompt(plan.task.summary or plan.task.name, plan.examples(), problem.text, before, between)
        known = problem.relevance
        yield Question(
            sweep, form.name, level, length, prompt, tuple(problem.answer.split()), known.number,
            known.distance + between, known.words + before + between,
        )  # fmt: skip


def _words(problems: Sequence[Problem]) -> int:
    return round(sum(problem.relevance.words for problem in problems) / len(problems))


def _problems(task: Task, length: int, count: int, seed: int, what: str) -> list[Problem]:
    """Problems with an answer; each is drawn alone, so that layouts vary, too."""
    found = []
    for index in range(count):
        batch = task.batch(length, 1, stream(seed, "audit", what, length, index))
        prompt, answer = text_of(batch, 0)
        if not answer:
            raise LengthwiseError(f"task {task.name!r} has no answer in words at length {length}; choose another task")
        found.append(Problem(prompt, answer, relevance(batch, 0)))
    return found
