"""The draw of the study's languages: random expressions, sorted into three classes by the decision procedure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, zip_longest
from typing import Any

import lengthwise as lw

SEED = 20261122
ALPHABETS = ("ab", "abc")
SIZES = (5, 15)
"""Nodes of an expression, uniform."""
STATES = (2, 8)
"""States of the minimal complete automaton."""
CLASSES = (("yes", "yes"), ("no", "yes"), ("no", "no"))
"""The answers for ``nope`` and ``ape``."""
PER_CLASS = 14

DEVELOPMENT: tuple[tuple[str, str], ...] = (
    ("(aaa)*", "a"),
    ("(1|01|001|0001)*(ε|0|00|000)", "01"),
    (lw.languages.named.bounded_dyck(5), "ab"),
    ("(ab|ba)*", "ab"),
    ("(a(a|b)b*)*", "ab"),
    ("b*(a*|c|b)*cb*", "abc"),
    ("(c(c*|a))*", "ac"),
    ("(bb|a)+", "ab"),
    ("(a|(ba|b)b|ε)+", "ab"),
    ("b|c+|(cb)*", "bc"),
    ("(a(bb)*|a)*|b*", "ab"),
)
"""Expression and alphabet of the languages on which the ladder was found; none of them is in the study."""


@dataclass(frozen=True)
class DrawnLanguage:
    """One language of the study: its expression, its alphabet and the answers for ``nope`` and ``ape``."""

    name: str
    expression: str
    alphabet: str
    states: int
    nope: str
    ape: str

    @property
    def task(self) -> lw.tasks.language.Language:
        """Next-symbol prediction on its words."""
        return lw.tasks.language.Language(language=self.expression, alphabet=self.alphabet)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**vars(self), "predicted": {"nope": self.nope, "ape": self.ape}}


def draw(
    seed: int = SEED, per_class: int = PER_CLASS, without: Iterable[lw.languages.automaton.Dfa] = ()
) -> list[DrawnLanguage]:
    """The first ``per_class`` languages of each class in the order of the random stream, classes taking turns.

    Kept: automata of `STATES` states over exactly the alphabet drawn (every symbol is in some word), with words among
    the training lengths and in every bin. Left out: what equals an earlier language, a named one or a development one
    up to renaming of symbols; so does what equals one of ``without``.
    """
    found: dict[tuple[str, str], list[DrawnLanguage]] = {answers: [] for answers in CLASSES}
    for text, alphabet, dfa in new_languages(seed, without):
        task = lw.tasks.language.Language(language=text, alphabet=alphabet)
        answers = (
            lw.prediction.predict.fragment_answer(task, "nope"),
            lw.prediction.predict.fragment_answer(task, "ape"),
        )
        members = found.get(answers)
        if members is not None and len(members) < per_class:
            number = len(members) * len(CLASSES) + CLASSES.index(answers) + 1
            members.append(DrawnLanguage(f"blind-{number:02d}", text, alphabet, dfa.size, *answers))
        if all(len(members) == per_class for members in found.values()):
            break
    return [drawn for turn in zip(*found.values(), strict=True) for drawn in turn]


def new_languages(
    seed: int, without: Iterable[lw.languages.automaton.Dfa] = ()
) -> Iterator[tuple[str, str, lw.languages.automaton.Dfa]]:
    """Expressions, alphabets and automata of the random stream, for ever; `draw` says what is kept and left out."""
    rng = lw.stream(seed, "blind", "languages")
    seen = {canonical(dfa) for dfa in (*_known(), *without)}
    while True:
        alphabet = ALPHABETS[int(rng.integers(len(ALPHABETS)))]
        expression = lw.languages.named.random_expression(int(rng.integers(SIZES[0], SIZES[1] + 1)), alphabet, rng)
        dfa = lw.languages.automaton.language(expression, alphabet)
        if eligible(dfa) and (key := canonical(dfa)) not in seen:
            seen.add(key)
            yield lw.languages.regex.render(expression), alphabet, dfa


VARIANTS_SEED, VARIANTS_PER_CLASS = 20261124, 6
"""Of a first list for other position systems, which was never trained; the second study leaves its languages out."""
VARIANTS_CLASSES = {"window": 3, "period": 3, "none": 6}
"""What a program needs to predict the next symbols: a window, a period and no window alone, or there is none."""


def languages_of_variants() -> list[DrawnLanguage]:
    """Languages on which other position systems climb the ladder: those of the recipe ``variants``.

    Drawn as the study's, and not in it. All that are a *yes* with learned positions need them, to recognize words and
    to predict next symbols.
    """
    found: dict[str, list[DrawnLanguage]] = {name: [] for name in VARIANTS_CLASSES}
    for text, alphabet, dfa in new_languages(
        VARIANTS_SEED, [lw.languages.automaton.language(item.expression, item.alphabet) for item in draw()]
    ):
        decision = lw.crasp.decide.decide(dfa, ends=["visible", lw.crasp.decide.NEXT])
        plain, local, all_positions = (
            decision.verdict(name, lw.crasp.decide.NEXT).verdict for name in ("none", "local", "ape")
        )
        if plain != "no" or decision.verdict("none", "visible").verdict != "no" or all_positions == "unknown":
            continue
        needs = "none" if all_positions == "no" else "window" if local == "yes" else "period"
        members = found[needs]
        if len(members) < VARIANTS_CLASSES[needs]:
            members.append(DrawnLanguage(f"variant-{len(members)}", text, alphabet, dfa.size, "no", all_positions))
        if all(len(members) == VARIANTS_CLASSES[name] for name, members in found.items()):
            break
    ordered = zip_longest(found["window"], found["period"], found["none"][:3], found["none"][3:])
    return [item for items in ordered for item in items if item is not None]


def eligible(dfa: lw.languages.automaton.Dfa) -> bool:
    """Whether the language has 2 to 8 states, uses its whole alphabet, and has words where the study needs them."""
    return (
        STATES[0] <= dfa.size <= STATES[1]
        and len(_used_symbols(dfa)) == len(dfa.alphabet)
        and all(
            lw.languages.sampling.lengths_with_words(dfa, low, high)
            for low, high in (lw.experiments.blind.ladder.TRAINED, *lw.experiments.blind.ladder.BINS)
        )
    )


def canonical(dfa: lw.languages.automaton.Dfa) -> tuple[Any, ...]:
    """Equal for two minimal automata exactly if one becomes the other by renaming symbols (unused ones dropped)."""
    symbols = _used_symbols(dfa)
    return min(_renamed(dfa, order) for order in permutations(symbols)) if symbols else (dfa.accepting[0],)


def _renamed(dfa: lw.languages.automaton.Dfa, order: Sequence[int]) -> tuple[Any, ...]:
    """Live states numbered in the order in which a breadth-first search over ``order`` meets them; -1 is dead."""
    numbers, queue = {0: 0}, [0]
    rows: list[tuple[int, ...]] = []
    for state in queue:
        row: list[int] = []
        for symbol in order:
            target = dfa.delta[state][symbol]
            if not dfa.live[target]:
                row.append(-1)
                continue
            if target not in numbers:
                numbers[target] = len(numbers)
                queue.append(target)
            row.append(numbers[target])
        rows.append(tuple(row))
    return tuple(rows), tuple(dfa.accepting[state] for state in queue)


def _used_symbols(dfa: lw.languages.automaton.Dfa) -> list[int]:
    """The symbols that occur in some word (all states of a minimal automaton can be reached)."""
    rows = [row for row, live in zip(dfa.delta, dfa.live, strict=True) if live]
    return [symbol for symbol in range(len(dfa.alphabet)) if any(dfa.live[row[symbol]] for row in rows)]


def _known() -> Iterator[lw.languages.automaton.Dfa]:
    """The automata of the named languages and of the development languages."""
    for entry in lw.languages.named.LANGUAGES.values():
        yield entry.dfa()
    for expression, alphabet in DEVELOPMENT:
        yield lw.languages.automaton.language(expression, alphabet)
