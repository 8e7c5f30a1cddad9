"""Published languages and a table of known answers, for both end conventions."""

from __future__ import annotations

import pytest

from lengthwise.crasp.certificates import certificate
from lengthwise.crasp.checker import check
from lengthwise.crasp.decide import decide
from lengthwise.languages.automaton import Dfa
from lengthwise.languages.named import LANGUAGES

Y, N = "yes", "no"
# expressions, alphabet, state counts, NoPE eos, NoPE visible, first (k, m) eos, first (k, m) visible (None: no for all)
TABLE: list[tuple[str, str, str, str, str, tuple[int, int] | None, tuple[int, int] | None]] = [
    ("(aa)*", "a", "2", N, N, (1, 2), (1, 2)),
    ("(aaa)*", "a", "3", N, N, (1, 3), (1, 3)),
    ("(aaaa)*", "a", "4", N, N, (1, 4), (1, 4)),
    ("(abab)*", "ab", "5", N, N, (1, 4), (1, 4)),
    ("a*; (ab)*; (aab)*; (aba)*; a*b*a*", "ab", "2; 3; 4; 4; 4", Y, Y, (1, 1), (1, 1)),
    ("(abc)*", "abc", "4", Y, Y, (1, 1), (1, 1)),
    ("(ab|ba)*; (ab|bbaa)*; (ab)*(ba)*", "ab", "4; 6; 5", Y, Y, (1, 1), (1, 1)),
    ("(ab|aabb)*", "ab", "5", N, N, (2, 1), (2, 1)),
    ("(a|b)*a", "ab", "2", N, Y, (2, 1), (1, 1)),
    ("a(a|b)*b", "ab", "4", N, Y, (2, 1), (1, 1)),
    ("(a|b)*ab", "ab", "3", N, N, (3, 1), (2, 1)),
    ("(a|b)*a(a|b)", "ab", "4", N, N, (3, 1), (2, 1)),
    ("(a|b)*b(a|b)(a|b)", "ab", "8", N, N, (4, 1), (3, 1)),
    ("(a|b)*ab(a|b)*", "ab", "3", Y, Y, (1, 1), (1, 1)),
    ("(a|b)*aa(a|b)*", "ab", "3", N, N, (2, 1), (2, 1)),
    ("(aab|b)*; (aab(ab)*b)*; (ab|a)*; (ba|b)*", "ab", "4; 5; 3; 3", N, N, (2, 1), (2, 1)),
    ("((a|b)(a|b))*; (a(a|b))*; (aa|bb)*; (a|bb)*; (aa|b)*", "ab", "2; 3; 4; 3; 3", N, N, (1, 2), (1, 2)),
    ("(a(ab)*b)*; (a(a(ab)*b)*b)*", "ab", "4; 5", Y, Y, (1, 1), (1, 1)),
    ("c*(ac*bc*)*", "abc", "3", Y, Y, (1, 1), (1, 1)),
    ("(a|b)(a|b)(a|b)", "ab", "5", Y, Y, (1, 1), (1, 1)),
    ("(baa|ab|b)*", "ab", "5", N, N, (6, 1), (6, 1)),
    ("(a*ba*b)*a*; (a|b)*a(bb)*; (a|b)*aab*", "ab", "2; 3; 4", N, N, None, None),
    ("(a|b|c)*ac*", "abc", "2", N, N, None, None),
    ("(0*10*1)*0*", "01", "2", N, N, None, None),
    ("{0,1,2}*02*", "012", "2", N, N, None, None),
    ("{a,b,e}*be*", "abe", "2", N, N, None, None),
    ("aa*bb*cc*dd*ee*", "abcde", "7", Y, Y, (1, 1), (1, 1)),
    ("{a,b}*d{b,c}*", "abcd", "3", Y, Y, (1, 1), (1, 1)),
]
ROWS = [
    (regex.strip(), alphabet, int(size), *rest)
    for regexes, alphabet, sizes, *rest in TABLE
    for regex, size in zip(regexes.split(";"), sizes.split(";"), strict=True)
]


@pytest.mark.parametrize(("regex", "alphabet", "states", "eos", "visible", "pair_eos", "pair_visible"), ROWS)
def test_table(regex, alphabet, states, eos, visible, pair_eos, pair_visible):
    decision = decide(regex, alphabet)
    assert decision.dfa.size == states
    assert decision.verdict("none", "eos").verdict == eos
    assert decision.verdict("none", "visible").verdict == visible
    for end, pair in (("eos", pair_eos), ("visible", pair_visible)):
        verdict = decision.verdict("ape", end)
        assert (verdict.window, verdict.period) == (pair or (None, None))
        assert verdict.verdict == ("yes" if pair else "no")


NAMED_STATES = {"Tomita 1": 2, "Tomita-2": 3, "Tomita-7": 5, "D-2": 4, "D-3": 5, "D-4": 6, "D-12": 14}
NAMED_STATES |= {"Tomita-4": 4, "Tomita-3": 5, "Tomita-5": 4, "Tomita-6": 3}
NAMED_PAIRS = {"Tomita-4": (3, 1), "(aa)*": (1, 2), "(aaaa)*": (1, 4), "(abab)*": (1, 4)}


@pytest.mark.parametrize("name", LANGUAGES)
def test_published_flags_and_certificates(name):
    language = LANGUAGES[name]
    decision = decide(language.source, language.alphabet)
    assert decision.dfa.size == NAMED_STATES.get(name, decision.dfa.size)
    ape, nope = decision.verdict("ape", "visible"), decision.verdict("none", "visible")
    assert ape.verdict == ("yes" if language.published_ape else "no")
    assert nope.verdict == ("yes" if language.published_nope else "no")
    if language.published_ape:
        assert (ape.window, ape.period) == NAMED_PAIRS.get(name, (1, 1))
    for fragment, ends in decision.fragments.items():
        for end, verdict in ends.items():
            if verdict.verdict != "unknown":
                check(certificate(decision, fragment, end) or {}, decision.dfa)


def test_the_known_unknown_stays_unknown():
    delta = ((2, 1), (4, 2), (3, 0), (2, 4), (4, 4))
    decision = decide(Dfa(("a", "b"), delta, (False, False, True, True, True)))
    assert decision.dfa.size == 5
    for end in ("visible", "eos"):
        verdict = decision.verdict("ape", end)
        assert (verdict.verdict, verdict.basis) == ("unknown", "searched")
        assert decision.verdict("none", end).verdict == "no"
