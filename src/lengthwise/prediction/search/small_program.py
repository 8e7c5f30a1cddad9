"""Searches small C-RASP programs that agree with a task's answers."""

from __future__ import annotations

from collections.abc import Callable

from lengthwise.core.errors import LengthwiseError
from lengthwise.crasp.program.fragment import Fragment
from lengthwise.crasp.program.program import Program
from lengthwise.crasp.synthesis.synthesize import Synthesis, synthesize
from lengthwise.prediction.search.labelled_words import LabelledWords, words_of_task
from lengthwise.prediction.suites.arguments import Evidence, program_evidence
from lengthwise.prediction.systems import contains
from lengthwise.prediction.verdict import Argument
from lengthwise.tasks import Task

LARGEST, MOST = 6, 300_000
"""The largest size of a program, and the most candidates of one size: together a few seconds."""
MOST_ANSWERS = 4
SPACES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (((), ()), ((2,), (1,)))
"""Periods and distances of the programs: none first, then parity of the position and the symbol before."""


def search_programs(task: Task, note: Callable[[str], None]) -> tuple[list[Evidence], str]:
    """Evidence for the fragment of the programs found, and one line on the extent of the search.

    One program is needed for each answer but one. ``note`` is called with a line before the search starts. Words are
    tested, not proved, so the basis is ``evidence``.
    """
    try:
        first = words_of_task(task, task.name)
    except LengthwiseError as error:
        return [], f"no program was searched: {error}"
    answers = first.answers[:-1]
    if not 1 <= len(answers) < MOST_ANSWERS:
        return (
            [],
            f"no program was searched: the task has {len(first.answers)} answers, and 2 to {MOST_ANSWERS} are tried",
        )
    note(f"searching for small C-RASP programs over {len(first.alphabet)} symbols (a few seconds)")
    found: list[Synthesis] = []
    try:
        for periods, distances in SPACES:
            found = [_search(words_of_task(task, task.name, answer), periods, distances) for answer in answers]
            programs = [item.program for item in found if item.program is not None]
            if len(programs) == len(answers):
                return [_joined(programs, found)], f"searched: {_extent(found)}: found"
    except Exception as error:
        return [], f"no program was searched: the task fails on a word ({type(error).__name__}: {error})"
    return [], f"searched: {_extent(found)}: none; larger programs may exist (`lengthwise crasp learn`)"


def _search(words: LabelledWords, periods: tuple[int, ...], distances: tuple[int, ...]) -> Synthesis:
    return synthesize(words.labels, words.alphabet, max_size=LARGEST, periods=periods, distances=distances, most=MOST)


def _extent(found: list[Synthesis]) -> str:
    size = min(item.size or item.exhausted_size for item in found)
    return f"C-RASP programs up to size {size} ({sum(item.searched for item in found):,} candidates)"


def _joined(programs: list[Program], found: list[Synthesis]) -> Evidence:
    """The evidence of several programs: their common fragment, and the text of the first."""
    pairs = zip(programs, found, strict=True)
    parts = [program_evidence(program, f"size {item.size}, found by search") for program, item in pairs]
    words = min(item.checked for item in found)
    argument = parts[0].argument
    why = f"{argument.why}; it agrees on {words:,} words, which proves nothing about others"
    fragment = _smallest([part.fragment for part in parts])
    return Evidence(fragment, Argument("yes", "evidence", why, argument.certificate))


def _smallest(fragments: list[Fragment]) -> Fragment:
    """The smallest fragment that contains all of them."""
    order: tuple[Fragment, ...] = ("none", "local", "periodic", "ape")
    return next(wide for wide in order if all(contains(wide, narrow) for narrow in fragments))
