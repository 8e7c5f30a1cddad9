"""The second study: the verdict on next-symbol prediction, written down before 24 more languages are trained.

The first study's predictor decides recognition. Its models are asked for next symbols after prefixes of words, which is
easier (`crasp/decide/next_symbols.py`), and two of its *no* were wrong for that reason. A predictor made with a study's
cells in view has to be tested on others: these. Only models without positions are trained, where the two verdicts
differ; ladder, seeds, sizes and rules are those of the first study.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lengthwise.crasp.decide.decision import NEXT, decide
from lengthwise.crasp.decide.next_symbols import allowed_after
from lengthwise.experiments.blind.comparison.rivals import SECOND
from lengthwise.experiments.blind.frozen import frozen_study
from lengthwise.experiments.blind.preregistered import draw
from lengthwise.experiments.blind.preregistered.preregister import entry
from lengthwise.experiments.blind.study import BlindStudy, write_study
from lengthwise.languages.automata.automaton import Dfa
from lengthwise.languages.automata.construction import language
from lengthwise.languages.automata.monoid import is_r_trivial
from lengthwise.tasks.language import Language

SEED, PER_CLASS = 20261201, 8
CLASSES = (("no", "yes"), ("yes", "yes"), ("no", "no"))
"""The answers for recognition and for next symbols, without positions; in the second class no R-trivial languages."""
KEPT = ("ladder", "seeds", "trained", "bins", "sizes", "cut", "cuts", "rules")
"""What the study takes over from the first one."""


def answers(dfa: Dfa) -> tuple[str, str]:
    """The answers for recognition, the last symbol visible, and for next symbols, both without positions."""
    decision = decide(dfa, ends=["visible", NEXT])
    return decision.verdict("none", "visible").verdict, decision.verdict("none", NEXT).verdict


def drawn() -> list[tuple[str, str, str]]:
    """Name, expression and alphabet of the first languages of each class, classes taking turns.

    Languages of the first study and of the list for other position systems are left out, as are published and
    development ones. R-trivial languages are left out: both verdicts say yes of them.
    """
    known = [language(item.expression, item.alphabet) for item in draw.draw()]
    others = draw.draw(draw.VARIANTS_SEED, draw.VARIANTS_PER_CLASS, known)
    known += [language(item.expression, item.alphabet) for item in others]
    found: dict[tuple[str, str], list[tuple[str, str, str]]] = {each: [] for each in CLASSES}
    for text, alphabet, dfa in draw.new_languages(SEED, known):
        members = found.get(answers(dfa))
        if members is not None and len(members) < PER_CLASS and not is_r_trivial(dfa):
            number = len(members) * len(CLASSES) + CLASSES.index(answers(dfa)) + 1
            members.append((f"next-{number:02d}", text, alphabet))
        if all(len(members) == PER_CLASS for members in found.values()):
            break
    return [item for turn in zip(*found.values(), strict=True) for item in turn]


def preregistration(seen: list[str]) -> dict[str, Any]:
    """Everything that is fixed; ``seen`` are the first study's languages with results without positions by then."""
    first = frozen_study()
    verdicts = {item.name: answers(language(item.expression, item.alphabet))[1] for item in draw.draw()}
    return {
        "title": "Next-symbol prediction decided before training: 24 languages without positions",
        "first": first.sha256,
        "why": "The predictor of the first study decides recognition. Models are asked for next symbols after prefixes "
        "of words, which is easier. This was found when these languages of the first study had results without "
        "positions, two of which, blind-02 and blind-26, were predicted no and right on all words in all seeds.",
        "seen": seen,
        "first study, by next symbols, without positions": verdicts,
        **{name: first.content[name] for name in KEPT},
        "encodings": ["nope"],
        "rivals": {**{rival.name: rival.text for rival in SECOND}, **first.content["rivals"]},
        "draw": {
            **first.content["draw"],
            "seed": SEED,
            "per_class": PER_CLASS,
            "classes": [list(each) for each in CLASSES],
        },
        "languages": [_entry(*item) for item in drawn()],
        "published": [],
        "code": "the commit that adds this file",
    }


def _entry(name: str, text: str, alphabet: str) -> Mapping[str, Any]:
    task = Language(language=text, alphabet=alphabet)
    dfa = language(text, alphabet)
    recognition, after = answers(dfa)
    known = entry(name, task, ["nope"], expression=text)
    own = {"recognition": recognition == "yes", "last_symbol": last_symbol_tells(dfa)}
    return {**known, "predicted": {"nope": after}, "features": {**known["features"], **own}}


def last_symbol_tells(dfa: Dfa) -> bool:
    """Whether what may come next depends on the last symbol alone."""
    for symbol in range(len(dfa.alphabet)):
        reached = {dfa.delta[state][symbol] for state in range(dfa.size)}
        if len({allowed_after(dfa, state) for state in reached if dfa.live[state]}) > 1:
            return False
    return True


def freeze(folder: Path, seen: list[str]) -> BlindStudy:
    """Write the preregistration to ``folder``; raises `LengthwiseError` if another one is there."""
    return write_study(folder, preregistration(seen))
