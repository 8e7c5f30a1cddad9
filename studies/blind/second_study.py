"""The second study: the verdict on next-symbol prediction, written down before 28 more languages are trained.

The first study's predictor decides recognition. Its models are asked for next symbols after prefixes of words, which is
easier (`crasp/decide.py`), and two of its *no* came out the other way. A predictor made with a study's
cells in view has to be tested on others: these. Only models without positions are trained, where the two verdicts
differ; ladder, seeds, sizes and rules are those of the first study. No two languages share the `patterns` of their
components, and none shares those of a language of the first study.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations, zip_longest
from pathlib import Path
from typing import Any

import blind_draw as draw
import comparison
import preregister

import lengthwise as lw

SEED = 20261202
CLASSES = {("no", "yes"): 8, ("yes", "yes"): 8, ("no", "no"): 12}
"""How many languages of each class: the answers for recognition and for next symbols, both without positions.

Languages of the second class need counting. Many cells of the third can't be expected to fit, so there are more.
"""
MIN_WORDS = 10_000
"""Words of 101 to 150 symbols, so that models can't know them one by one."""
KEPT = ("ladder", "seeds", "trained", "bins", "sizes", "cut", "cuts", "rules")
"""What the study takes over from the first one."""


def answers(dfa: lw.languages.automaton.Dfa) -> tuple[str, str]:
    """The answers for recognition, the last symbol visible, and for next symbols, both without positions."""
    decision = lw.crasp.decide.decide(dfa, ends=["visible", lw.crasp.decide.NEXT])
    return decision.verdict("none", "visible").verdict, decision.verdict("none", lw.crasp.decide.NEXT).verdict


def drawn() -> list[tuple[str, str, str]]:
    """Name, expression and alphabet of the first languages of each class, classes taking turns.

    Languages of the first study and of the list for other position systems are left out, as are published and
    development ones, and what shares its `patterns` with the first study or with an earlier language.
    """
    known = [lw.languages.automaton.language(item.expression, item.alphabet) for item in draw.draw()]
    seen = {patterns(dfa) for dfa in known}
    others = draw.draw(draw.VARIANTS_SEED, draw.VARIANTS_PER_CLASS, known)
    known += [lw.languages.automaton.language(item.expression, item.alphabet) for item in others]
    found: dict[tuple[str, str], list[tuple[str, str]]] = {each: [] for each in CLASSES}
    for text, alphabet, dfa in draw.new_languages(SEED, known):
        both, shape = answers(dfa), patterns(dfa)
        enough = sum(lw.languages.sampling.count_words(dfa, length) for length in range(101, 151)) >= MIN_WORDS
        plain = both == ("yes", "yes") and lw.crasp.decide.no_counting(dfa)
        if both not in found or len(found[both]) == CLASSES[both] or shape in seen or not enough or plain:
            continue
        seen.add(shape)
        found[both].append((text, alphabet))
        if all(len(members) == CLASSES[each] for each, members in found.items()):
            break
    ordered = [item for turn in zip_longest(*found.values()) for item in turn if item is not None]
    return [(f"next-{number:02d}", text, alphabet) for number, (text, alphabet) in enumerate(ordered, start=1)]


def patterns(dfa: lw.languages.automaton.Dfa) -> frozenset[Any]:
    """The strongly connected components of live states, single ones left out, up to renaming symbols and states.

    Languages that differ in how a component is entered or left, or in which of its states accept, have equal ones.
    """
    numbers = lw.languages.automaton.strongly_connected(dfa.delta)
    groups: dict[int, list[int]] = {}
    for state, number in enumerate(numbers):
        groups.setdefault(number, []).append(state)
    return frozenset(_pattern(dfa, group) for group in groups.values() if len(group) > 1 and dfa.live[group[0]])


def _pattern(dfa: lw.languages.automaton.Dfa, group: list[int]) -> Any:
    """The least table of a component over all orders of its symbols and first states; −1 leads out of it."""
    tables = []
    inner = [s for s in range(len(dfa.alphabet)) if any(dfa.delta[state][s] in group for state in group)]
    for order in permutations(inner):
        for first in group:
            numbers, queue = {first: 0}, [first]
            rows = []
            for state in queue:
                for symbol in order:
                    target = dfa.delta[state][symbol]
                    if target in group and target not in numbers:
                        numbers[target] = len(numbers)
                        queue.append(target)
                rows.append(tuple(numbers.get(dfa.delta[state][symbol], -1) for symbol in order))
            tables.append(tuple(rows))
    return min(tables)


def preregistration(seen: list[str]) -> dict[str, Any]:
    """Everything that is fixed; ``seen`` are the first study's languages with results without positions by then."""
    first = lw.experiments.blind.study.frozen_study()
    verdicts = {
        item.name: answers(lw.languages.automaton.language(item.expression, item.alphabet))[1] for item in draw.draw()
    }
    return {
        "title": "Next-symbol prediction decided before training: 28 languages without positions",
        "first": first.sha256,
        "why": "The predictor of the first study decides recognition. Models are asked for next symbols after prefixes "
        "of words, which is easier. This was found when these languages of the first study had results without "
        "positions, two of which, blind-02 and blind-26, were predicted no and right on all words in all seeds.",
        "withdrawn": "A first list of 24 languages (withdrawn/preregistration.json) was replaced before any was "
        "trained: six of its languages had one pattern, and no rival left out counting.",
        "seen": seen,
        "first study, by next symbols, without positions": verdicts,
        **{name: first.content[name] for name in KEPT},
        "encodings": ["nope"],
        "rivals": {**{rival.name: rival.text for rival in comparison.SECOND}, **first.content["rivals"]},
        "draw": {
            **first.content["draw"],
            "seed": SEED,
            "per_class": list(CLASSES.values()),
            "classes": [list(each) for each in CLASSES],
            "min_words": MIN_WORDS,
        },
        "languages": [_entry(*item) for item in drawn()],
        "published": [],
        "code": "the commit that adds this file",
    }


def _entry(name: str, text: str, alphabet: str) -> Mapping[str, Any]:
    task = lw.tasks.language.Language(language=text, alphabet=alphabet)
    dfa = lw.languages.automaton.language(text, alphabet)
    recognition, after = answers(dfa)
    known = preregister.entry(name, task, ["nope"], expression=text)
    own = {
        "recognition": recognition == "yes",
        "no_counting": lw.crasp.decide.no_counting(dfa),
        "last_symbol": last_symbol_tells(dfa),
    }
    return {**known, "predicted": {"nope": after}, "features": {**known["features"], **own}}


def last_symbol_tells(dfa: lw.languages.automaton.Dfa) -> bool:
    """Whether what may come next depends on the last symbol alone."""
    for symbol in range(len(dfa.alphabet)):
        reached = {dfa.delta[state][symbol] for state in range(dfa.size)}
        if len({lw.crasp.decide.allowed_after(dfa, state) for state in reached if dfa.live[state]}) > 1:
            return False
    return True


def freeze(folder: Path, seen: list[str]) -> lw.experiments.blind.study.BlindStudy:
    """Write the preregistration to ``folder``; raises `LengthwiseError` if another one is there."""
    return lw.experiments.blind.study.write_study(folder, preregistration(seen))
