"""The languages of the third study: random expressions of the hard middle, none of them seen in any result file."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lengthwise as lw

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "studies" / "blind"))
import blind_draw  # noqa: E402
import second_study  # noqa: E402

SEED = 20261126
WORDS = 10_000
"""Words of every tested length, at least."""
TRAINED, TESTED = (1, 50), (51, 300)
STRATA = {"window": 7, "period": 5, "no": 12, "counting": 4, "without counting": 8}
"""How many languages of each kind, by what predicts next symbols: needs a window, needs a period and no window alone,
no program, a program without positions that counts, one that does not."""
MOST_R_TRIVIAL = 4
SAME_LENGTH = 7
"""Symbols and states together of the languages whose states are asked for, so that their models have one shape."""
MOST_SYMBOLS = 5
"""Languages over more symbols are left out of the comparison: ours have two or three, and renaming keeps the number."""
KEPT_FOR_STATES = {"window": 2, "period": 2, "no": 4, "counting": 1, "without counting": 3}
"""How many of each kind have `SAME_LENGTH`."""


@dataclass(frozen=True)
class Drawn:
    """One language."""

    name: str
    expression: str
    alphabet: str
    stratum: str
    states_asked: bool


def seen_languages(studies: Path = ROOT / "studies") -> set[Any]:
    """`blind_draw.canonical` of every regular language in a result file, named, or used in development."""
    texts: set[tuple[str, str | None]] = set()
    for path in sorted(studies.glob("*/results/**/*.json")):
        text = path.read_text(encoding="utf-8")
        if path.parts[-2] != "forecast" and ('"language"' in text or '"expression"' in text):
            collect(json.loads(text), texts)
    variants = studies / "golowich" / "results" / "variants" / "languages.txt"
    for number, line in enumerate(variants.read_text(encoding="utf-8").splitlines()):
        if line and not line.startswith("#"):
            texts.add((line, None))
        assert number < 1000
    automata = []
    for text, alphabet in sorted(texts, key=str):
        if text in lw.languages.counter.COUNTER_LANGUAGES:
            continue
        try:
            dfa = lw.tasks.language.Language(language=text, alphabet=alphabet).automaton()
        except lw.LengthwiseError:
            continue
        if dfa is not None and len(dfa.alphabet) <= MOST_SYMBOLS:
            automata.append(dfa)
    return {blind_draw.canonical(dfa) for dfa in automata}


def collect(value: Any, found: set[tuple[str, str | None]]) -> None:
    """Add expressions and alphabets that occur anywhere in JSON values."""
    if isinstance(value, dict):
        for name in ("language", "expression"):
            if isinstance(value.get(name), str):
                found.add((value[name], value.get("alphabet")))
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            if isinstance(each, dict | list):
                collect(each, found)


def stratum(dfa: lw.languages.automaton.Dfa) -> str | None:
    """The kind of a language by its verdicts on next symbols; None where one is unknown."""
    decision = lw.crasp.decide.decide(dfa, ends=[lw.crasp.decide.NEXT])
    plain, local, ape = (decision.verdict(name, lw.crasp.decide.NEXT).verdict for name in ("none", "local", "ape"))
    if plain == "yes":
        return "without counting" if lw.crasp.decide.no_counting(dfa) else "counting"
    if "unknown" in (plain, ape):
        return None
    return "no" if ape == "no" else "window" if local == "yes" else "period"


def enough_words(dfa: lw.languages.automaton.Dfa) -> bool:
    """Whether every length from 1 has words, and every tested one has `WORDS`."""
    count = lw.languages.sampling.count_words
    return all(count(dfa, length) for length in range(TRAINED[0], TRAINED[1] + 1)) and all(
        count(dfa, length) >= WORDS for length in range(TESTED[0], TESTED[1] + 1)
    )


def draw(median: float, seen: set[Any]) -> list[Drawn]:
    """The first languages of the random stream that fill `STRATA`; ``median`` is the largest monoid of a *no*.

    No two share the patterns of their components, and none is in ``seen``.
    """
    found: dict[str, list[tuple[str, str, bool]]] = {name: [] for name in STRATA}
    patterns, trivial = set(), 0
    for text, alphabet, dfa in blind_draw.new_languages(SEED):
        shape = second_study.patterns(dfa)
        if blind_draw.canonical(dfa) in seen or shape in patterns or not enough_words(dfa):
            continue
        kind = stratum(dfa)
        if kind is None:
            continue
        members = found[kind]
        asked = len(alphabet) + dfa.size == SAME_LENGTH
        with_states = sum(each[2] for each in members)
        room = KEPT_FOR_STATES[kind] if asked else STRATA[kind] - KEPT_FOR_STATES[kind]
        if (with_states if asked else len(members) - with_states) >= room:
            continue
        decision = lw.crasp.decide.decide(dfa, ends=[lw.crasp.decide.NEXT])
        size = decision.monoid_size or math.inf
        if (kind == "no" and size > median) or (decision.r_trivial and trivial >= MOST_R_TRIVIAL):
            continue
        trivial += decision.r_trivial
        patterns.add(shape)
        members.append((text, alphabet, asked))
        print(sum(map(len, found.values())), kind, text, alphabet, dfa.size, size, decision.r_trivial, flush=True)
        if all(len(members) == STRATA[name] for name, members in found.items()):
            break
    numbered = [(kind, each) for kind, members in found.items() for each in members]
    return [
        Drawn(f"third-{number:02d}", text, alphabet, kind, asked)
        for number, (kind, (text, alphabet, asked)) in enumerate(numbered, start=1)
    ]


def median_monoid() -> float:
    """The median monoid of the languages of the development cells, for next symbols."""
    import numpy as np

    sizes = {}
    for cell in lw.measured.cells():
        if cell.rung is not None and cell.format == "next":
            dfa = lw.forecast.features.language_of(cell.task)
            if dfa is not None:
                sizes[blind_draw.canonical(dfa)] = lw.forecast.features.monoid(dfa, "next")
    return float(np.median(list(sizes.values())))


def lines(languages: list[Drawn]) -> Iterator[dict[str, Any]]:
    """Plain JSON values."""
    for item in languages:
        yield vars(item)


if __name__ == "__main__":
    middle = median_monoid()
    print("median monoid", middle, flush=True)
    known = seen_languages()
    print(len(known), "seen", flush=True)
    path = Path(__file__).parent / "results" / "forecast" / "languages.json"
    lw.core.files.write_json(path, list(lines(draw(middle, known))))
