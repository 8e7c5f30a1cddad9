import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from lengthwise.languages.named import LANGUAGES
from lengthwise.languages.sampling import allowed_next

from .oracles import all_arrays


def bounded_dyck(depth):
    def accepts(word):
        level = 0
        for symbol in word:
            level += 1 if symbol == "a" else -1
            if not 0 <= level <= depth:
                return False
        return level == 0

    return accepts


def runs(word):
    return [(symbol, len(list(group))) for symbol, group in itertools.groupby(word)]


def tomita_3(word):
    pairs = itertools.pairwise(runs(word))
    return not any(a == "1" and n % 2 and b == "0" and m % 2 for (a, n), (b, m) in pairs)


def last_of(word, relevant):
    return next((symbol for symbol in reversed(word) if symbol in relevant), None)


ORACLES = {
    **{f"D-{n}": bounded_dyck(n) for n in (2, 3, 4, 12)},
    "Tomita 1": lambda w: "0" not in w,
    "Tomita-2": lambda w: w == "10" * (len(w) // 2),
    "Tomita-3": tomita_3,
    "Tomita-4": lambda w: "000" not in w,
    "Tomita-5": lambda w: w.count("0") % 2 == 0 and w.count("1") % 2 == 0,
    "Tomita-6": lambda w: (w.count("0") - w.count("1")) % 3 == 0,
    "Tomita-7": lambda w: [s for s, _ in runs(w)] in (list("0101"[i:j]) for i in range(4) for j in range(i, 5)),
    "aa*bb*cc*dd*ee*": lambda w: "".join(s for s, _ in runs(w)) == "abcde",
    "{a,b}*d{b,c}*": lambda w: bool(re.fullmatch("[ab]*d[bc]*", w)),
    "{0,1,2}*02*": lambda w: last_of(w, "01") == "0",
    "(aa)*": lambda w: len(w) % 2 == 0,
    "(aaaa)*": lambda w: len(w) % 4 == 0,
    "(abab)*": lambda w: w == "abab" * (len(w) // 4),
}
# Long enough to see every state, short enough to list all words and their completions.
LONGEST = {1: 10, 2: 10, 3: 8, 4: 6, 5: 6}


def test_every_language_has_an_oracle():
    assert set(ORACLES) == set(LANGUAGES)


@pytest.mark.parametrize("name", LANGUAGES)
def test_words_and_labels_are_those_of_the_oracle(name):
    dfa, oracle = LANGUAGES[name].dfa(), ORACLES[name]
    symbols = len(dfa.alphabet)
    for words in all_arrays(symbols, LONGEST[symbols]):
        expected = [oracle("".join(dfa.decode(word))) for word in words.tolist()]
        assert dfa.accepts_batch(words).tolist() == expected


@pytest.mark.parametrize("name", LANGUAGES)
def test_labels_are_those_of_brute_force_over_continuations(name):
    dfa, oracle = LANGUAGES[name].dfa(), ORACLES[name]
    symbols = len(dfa.alphabet)
    # A live state of n states has a completion of fewer than n symbols; the oracle is asked, never the automaton.
    prefix_length = {1: 10, 2: 10, 3: 5, 4: 4, 5: 3}[symbols]
    state_of: dict[int, str] = {}
    for words in all_arrays(symbols, min(prefix_length, 6)):
        for word in words.tolist():
            state_of.setdefault(dfa.run(word), "".join(dfa.decode(word)))
    live: dict[int, bool] = {}
    for state, prefix in state_of.items():
        tails = itertools.chain.from_iterable(
            itertools.product(dfa.alphabet, repeat=length) for length in range(6 if symbols > 2 else 12)
        )
        live[state] = any(oracle(prefix + "".join(tail)) for tail in tails)
    for words in all_arrays(symbols, prefix_length - 1, shortest=prefix_length - 1):
        labels = allowed_next(dfa, words)
        for word, row in zip(words.tolist(), labels, strict=True):
            text = "".join(dfa.decode(word))
            for place in range(len(word) + 1):
                assert row[place, -1] == oracle(text[:place])
                for symbol in range(symbols):
                    after = dfa.run((*word[:place], symbol))
                    if after in live:
                        assert row[place, symbol] == live[after]


def test_published_flags_are_those_of_the_reference_file():
    path = Path("../shared/reference/results_huang.json")
    flags = {name: (language.published_ape, language.published_nope) for name, language in LANGUAGES.items()}
    assert sum(ape for ape, _ in flags.values()) == 13
    assert sum(nope for _, nope in flags.values()) == 9
    if path.exists():
        assert set(json.loads(path.read_text())["formal"]) == set(flags)


def test_no_language_is_trivial():
    assert np.all([language.dfa().size >= 2 for language in LANGUAGES.values()])
