"""Whether a C-RASP program does what a model is asked of a language, and with which period."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain, islice, product
from typing import Any

from lengthwise.crasp.decide import NEXT, Decision, FragmentVerdict, components, conflict, decide, grouped
from lengthwise.languages.automaton import Dfa, Word, access_words, language
from lengthwise.measured.cells import Format
from lengthwise.prediction.target import AutomatonFile, Expression
from lengthwise.tasks.language import Language
from lengthwise.tasks.values import spoken

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


def not_told_apart(decision: Decision, end: str, fragment: str) -> tuple[Word, Word] | None:
    """Two short words after which different words may follow, and whose states no program of the fragment tells apart.

    None where theory has no *no*, or where it is about the words with one last symbol.
    """
    found, analysis, dfa = decision.verdict(fragment, end), decision.analysis, decision.dfa
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


LONGEST_SAID = 12
"""The most letters of a word that `needs` says."""
LONGEST_REPEATED = 3
"""The most symbols of a word whose repeats it counts."""
MOST_REPEATED = 1_000
"""The most words that are tried for that."""


@lru_cache(maxsize=512)
def lacks(dfa: Dfa, format: Format, fragment: str) -> str:
    """`needs` of a language for what a model is asked."""
    return needs(decision_for(dfa, format), END[format], fragment)


def needs(decision: Decision, end: str, fragment: str) -> str:
    """What a language needs where theory has a *no*, as a verb: what to count modulo what, else which states to tell.

    Empty where there is no such pair of states, or the words are long.
    """
    pair = not_told_apart(decision, end, fragment)
    if pair is None:
        return ""
    dfa = decision.dfa
    said = [_said(dfa, word) for word in pair]
    if not all(said):
        return ""
    start = f" {said[0]}" * bool(pair[0])
    if repeated := _remainder(dfa, *(dfa.run(word) for word in pair)):
        what, m = repeated
        return f"count {what} modulo {m}{start}"
    return f"tell the state {said[0]} from that {said[1]}"


def _said(dfa: Dfa, word: Word) -> str:
    """When the state is that after a word; empty for words that are long or not of letters and digits."""
    text = dfa.text(word) if word else ""
    return (f"after '{text}'" if text else "at the start") if re.fullmatch(rf"[\w ]{{0,{LONGEST_SAID}}}", text) else ""


def _remainder(dfa: Dfa, first: int, second: int) -> tuple[str, int] | None:
    """What leads from the first state to the second and back, however often, and after how many the first is there."""
    letters = range(len(dfa.alphabet))
    words = chain.from_iterable(product(letters, repeat=length) for length in range(1, LONGEST_REPEATED + 1))
    for word in islice(words, MOST_REPEATED):
        seen = [first]
        while (state := dfa.run(word, seen[-1])) not in seen:
            seen.append(state)
        if state == first and second in seen:
            same = [s for s in letters if word == (s,) or all(dfa.delta[q][s] == dfa.run(word, q) for q in seen)]
            if len(same) == len(letters):
                return "symbols", len(seen)
            texts = [f"'{dfa.text((s,))}'" for s in same] if len(word) == 1 else [f"'{dfa.text(word)}'"]
            alone = any(dfa.delta[q][s] != q for q in seen for s in letters if s not in same)
            return spoken(texts) + " in a row" * alone, len(seen)
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
