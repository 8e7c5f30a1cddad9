"""The draw: a function of its seed, balanced, without duplicates up to renaming, checked against brute force."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import pytest
from blind_draw import CLASSES, DEVELOPMENT, canonical, draw, eligible

from languages.oracles import random_languages
from lengthwise.core.rng import stream
from lengthwise.languages.automaton import Dfa, language
from lengthwise.languages.named import LANGUAGES
from lengthwise.tasks.language import Language


def test_a_draw_is_balanced_and_new() -> None:
    drawn = draw(seed=5, per_class=2)
    assert drawn == draw(seed=5, per_class=2)
    assert Counter((item.nope, item.ape) for item in drawn) == dict.fromkeys(CLASSES, 2)
    assert [(item.nope, item.ape) for item in drawn] == list(CLASSES) * 2, "classes take turns"
    automata = [language(item.expression, item.alphabet) for item in drawn]
    assert all(eligible(dfa) for dfa in automata)
    known = [entry.dfa() for entry in LANGUAGES.values()] + [language(*pair) for pair in DEVELOPMENT]
    assert len({canonical(dfa) for dfa in automata + known}) >= len(automata) + len({canonical(dfa) for dfa in known})


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (("(ab)*", "ab"), ("(ba)*", "ab"), True),
        (("(ab)*", "ab"), ("(cb)*", "abc"), True),
        (("a*b", "ab"), ("ab*", "ab"), False),
        (("a*", "a"), ("(a|b)*", "ab"), False),
        (("ab*c", "abc"), ("ca*b", "abc"), True),
    ],
)
def test_renaming(first: tuple[str, str], second: tuple[str, str], same: bool) -> None:
    assert (canonical(language(*first)) == canonical(language(*second))) is same


def test_canonical_agrees_with_trying_all_renamings() -> None:
    found = [dfa for _, _, dfa in random_languages(25, stream(0, "test"), alphabets=("ab",), sizes=(3, 7))]
    words = [word for length in range(7) for word in product("ab", repeat=length)]
    assert any(_renamed(one, other, words) for one in found for other in found if one is not other)
    for one in found:
        for other in found:
            assert (canonical(one) == canonical(other)) == _renamed(one, other, words)


def _renamed(one: Dfa, other: Dfa, words: list[tuple[str, ...]]) -> bool:
    """Equality on all words to length 6 under some renaming; these automata differ on such a word if at all."""
    return any(
        all(
            one.accepts(word) == other.accepts(tuple(dict(zip("ab", order, strict=True))[s] for s in word))
            for word in words
        )
        for order in permutations("ab")
    )


def test_what_is_left_out() -> None:
    assert not eligible(language("ab", "ab")), "no long words"
    assert not eligible(language("a*", "ab")), "one symbol is in no word"
    assert eligible(language("(ab)*", "ab"))
    assert not eligible(language("(" + "ab" * 5 + ")*", "ab")), "too many states"
    assert Language(language="(ab)*").lengths(51, 100)
