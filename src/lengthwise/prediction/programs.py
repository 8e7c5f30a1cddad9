"""Whether a C-RASP program does what a model is asked of a language, and with which period."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lengthwise.crasp.decide import NEXT, Decision, FragmentVerdict, components, conflict, decide, grouped
from lengthwise.languages.automaton import Dfa, Word, access_words, language
from lengthwise.measured.cells import Format
from lengthwise.prediction.target import AutomatonFile, Expression
from lengthwise.tasks.language import Language

END: Mapping[Format, str] = {"next": NEXT, "member": "visible", "state": "eos"}
"""The end convention of `decide` that stands for a format.

The state after every prefix can be computed where membership can be read at an end mark: the states' languages are
combinations of quotients of the language.
"""


@lru_cache(maxsize=512)
def decision_for(dfa: Dfa, format: Format) -> Decision:
    """The decision of a language for what a model is asked."""
    return decide(dfa, ends=[END[format]])


def verdict(dfa: Dfa, format: Format, fragment: str) -> FragmentVerdict:
    """Whether a C-RASP program of a fragment (none, local, periodic, ape) does what a model is asked."""
    return decision_for(dfa, format).verdict(fragment, END[format])


@lru_cache(maxsize=512)
def not_told_apart(dfa: Dfa, format: Format, fragment: str) -> tuple[Word, Word] | None:
    """Two short words after which different words may follow, and whose states no program of the fragment tells apart.

    None where theory has no *no*, or where it is about the words with one last symbol.
    """
    found, analysis = verdict(dfa, format, fragment), decision_for(dfa, format).analysis
    if found.verdict != "no" or found.letter is not None:
        return None
    if found.reason == "merged pair":
        inside = components(dfa, 1, 1, max_nodes=analysis.bounds.max_nodes)
        merged = [([node.state for node in part.nodes], part.refinement().classes) for part in inside]
    else:
        tests = {"stable local test": "refuted_for_all", "all periods": "refuted_for_periods"}
        system = getattr(analysis, tests[found.reason]) if found.reason in tests else analysis.refuted_for_windows(1)
        merged = [] if system is None else [(system.states, system.refinement.classes)]
    for states, classes in merged:
        if pair := conflict(
            dfa, [[states[index] for index in group] for group in grouped(range(len(states)), classes)]
        ):
            first, second = sorted((access_words(dfa)[state] for state in pair[:2]), key=len)
            return first, second
    return None


def period(dfa: Dfa, format: Format) -> int:
    """The period of a language's smallest program, else that of its cycles (`Dfa.period`): the m of ids modulo m."""
    found = verdict(dfa, format, "periodic").period or 1
    return found if found > 1 else dfa.period


def language_in(target: Any) -> tuple[Dfa, Format] | None:
    """The automaton of a target and what a model is asked; None if it is no regular language."""
    match target:
        case Expression(text):
            return language(text), "next"
        case AutomatonFile(_, dfa):
            return language(dfa), "next"
        case Language() if (dfa := target.automaton()) is not None:
            return dfa, target.ask
    return None


def period_of(task: Any) -> int:
    """The m of ids modulo m for a language (`period`); the smallest where none is known."""
    regular = language_in(task)
    return 2 if regular is None else max(period(*regular), 2)
