"""How sure a success is, by its seeds, its strings and whether these ask more than training showed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from statistics import median

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rank import REACH, reach
from lengthwise.core.result_file import Score
from lengthwise.core.rng import stream
from lengthwise.core.statistics import median_rank
from lengthwise.core.table import rounded
from lengthwise.languages.hard_words import window_pairs
from lengthwise.languages.sampling import count_words
from lengthwise.languages.settled import MOST, settling_symbols
from lengthwise.report.answer import ALONE, MOST_LINES, answer
from lengthwise.report.finding import leader, lines_of
from lengthwise.report.summary import SystemSummary, hardest_of, in_order, median_rates, percent, strings_of
from lengthwise.tasks.language import Language

BY_FORECAST = ""
"""The row, which has no name: it goes on with the finding."""
HARDER = "lengthwise explain asks harder ones."


def answer_rows(systems: Sequence[SystemSummary], trained: int, *, page: bool = False) -> dict[str, str]:
    """The rows of `answer`, of so many ``trained`` systems, with how sure it is that the best goes as far as it does.

    Those of a ``page`` end with what to do next.
    """
    found, tested = answer(systems), [one for one in in_order(systems) if one.cells]
    before = dict[str, str]()
    if len({one.contest for one in tested}) == 1:
        first, alone = leader(tested), len(tested) == 1
        said, far = [found.sure or ALONE * (alone and trained > 1)], reach(median_rates(first))
        if far > first.max_length:
            said = [" ".join(filter(None, [_share(first, far) * alone, *said]))]
            random = _random(first, far) * (not any(one.hard for one in first.fitted))
            said += [random] * (lines_of(f"{said[0]} {random}") <= MOST_LINES)
        if (alone or far > first.max_length) and (says := by_forecast(first)):
            before = {BY_FORECAST: says.format("it" if alone else first.label)}
        found = replace(found, sure=" ".join(filter(None, said)))
    return before | (found.on_page if page else found.rows)


def by_forecast(system: SystemSummary) -> str:
    """Whether it, ``{}``, is right at its longest test as a forecast means it, of random and hard words; else empty."""
    seeds, end = system.fitted, max(cell.length for cell in system.cells)
    if end <= system.max_length or any(seed.hard is None for seed in seeds):
        return ""

    def rates(scores: Iterable[Score]) -> list[float]:
        return [score.rate() for score in scores if score.length == end and not score.axes]

    random = rates(score for seed in seeds for score in seed.scores)
    hard = rates(score for seed in seeds for score in seed.hard or ())
    if not random:
        return ""
    few = _few_words(system, end)
    rare = "rare ones, as with long runs, were not asked" if not few else f"{few} of this length"
    words = "random and hard words" if hard else f"random words (none is hard; {rare})"
    shares = " and ".join(rounded(median(rates), 2) for rates in (random, hard) if rates)
    verdict = "is right" if median(map(min, random, hard or random)) >= REACH else "is not right"
    of = "one seed" if len(seeds) == 1 else f"medians of {len(seeds)} seeds"
    return f"By the forecast's measure, {words}, {{}} {verdict} at {end}: {shares} ({of})."


def _share(system: SystemSummary, length: int) -> str:
    """What its fitted seeds have right at a length, in the hardest layout; with the interval over strings, or seeds."""
    cell = hardest_of(cell for cell in system.cells if cell.length == length)
    found, seeds = cell.estimate(), len(cell.scores)
    if seeds == 1:
        interval = _few_words(system, length) or f"95 % interval {found.low:.3f}–{found.high:.3f}"
        return f"{found.median:.3f} of {strings_of([system])} are right at {length} ({interval}), from one seed."
    strings = f"of {strings_of([system])}"
    if len(same := {f"{score.rate():.3f}" for score in cell.scores}) == 1:
        return f"{same.pop()} {strings} are right at {length} in each of {seeds} seeds; others may differ."
    ends = " to ".join(dict.fromkeys(f"{end:.3f}" for end in (found.low, found.high)))
    sure = percent(median_rank(seeds)[1])
    return f"With {sure}, the median of all seeds is right on {ends} {strings} at {length} (from {seeds} seeds)."


def _few_words(system: SystemSummary, length: int) -> str:
    """How many words a language has of a length, where fewer than were drawn, so that some came again; else empty."""
    task = system.known_task
    dfa = task.automaton() if isinstance(task, Language) and task.ask == "next" else None
    drawn = [score.n for cell in system.cells if cell.length == length for score in cell.scores]
    there = None if dfa is None else count_words(dfa, length)
    if there is None or not drawn or there >= min(drawn):
        return ""
    return "there is one word" if there == 1 else f"there are {there} words"


def _random(system: SystemSummary, length: int) -> str:
    """That test words are random, and whether few symbols settle them; empty where none of a language are harder."""
    task = system.known_task
    dfa = task.automaton() if isinstance(task, Language) and task.ask == "next" else None
    if dfa is None:
        return ""
    if (first := settling_symbols(dfa, length, system.max_length)) is not None:
        of = f"the first {first} symbols decide {MOST} % of those of {length}"
        return f"Random words ask little: {of}; {HARDER}"
    with suppress(LengthwiseError):  # where there are none
        window_pairs(dfa, system.max_length, length, 1, stream(0, "success"))
        return f"These are random words; {HARDER}"
    return ""
