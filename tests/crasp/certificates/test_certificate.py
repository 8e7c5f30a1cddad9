import copy
import json
import time

import pytest

from crasp.witness import access_with_equal_counts, witness
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.crasp import checker as checker_graphs
from lengthwise.crasp.certificates import certificate, explain, no_for
from lengthwise.crasp.checker import CertificateError, check
from lengthwise.crasp.decide import Bounds, decide
from lengthwise.languages.automaton import Dfa, language, minimize

CASES = [
    ("(ab)*", "none", "eos"),
    ("(baa|ab|b)*", "local", "visible"),
    ("(abab)*", "periodic", "eos"),
    ("(aa)*", "none", "eos"),
    ("(aa)*", "local", "visible"),
    ("(ab|a)*", "periodic", "visible"),
    ("{0,1,2}*02*", "ape", "visible"),
    ("(a|b)*a(bb)*", "ape", "eos"),
]


def made(regex, fragment, end):
    decision = decide(regex)
    return decision, json.loads(json.dumps(certificate(decision, fragment, end)))


@pytest.mark.parametrize("case", CASES)
def test_certificates_are_accepted_for_their_language_only(case):
    decision, reason = made(*case)
    check(reason, decision.dfa)
    with pytest.raises(CertificateError):
        check(reason, decision.dfa.complement() if decision.dfa.size > 1 else decision.dfa)
    other = language("(a|b|c)*a(a|b|c)*")
    with pytest.raises(CertificateError):
        check(reason, other)


def test_each_window_and_period_has_potentials_of_its_own():
    """The verdicts of one decision share what they can: here local takes window 2, and periodic takes period 3."""
    decision = decide("(b(c(c|b)))*")
    for end in ("eos", "visible"):
        for fragment in ("local", "periodic", "ape"):
            reason = certificate(decision, fragment, end)
            check(json.loads(json.dumps(reason)), decision.dfa)
            assert reason == certificate(decide("(b(c(c|b)))*"), fragment, end)


def leaves(value, path=()):
    """Paths to all numbers, words and flags of a JSON value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("regex", "fragment"):
                yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path


def changed(value, path, rng):
    value = copy.deepcopy(value)
    node = value
    for key in path[:-1]:
        node = node[key]
    old = node[path[-1]]
    if isinstance(old, int):
        node[path[-1]] = old + int(rng.integers(1, 3)) * (1 if rng.random() < 0.5 else -1)
    else:
        node[path[-1]] = {"yes": "no", "no": "yes"}.get(old, "?")
    return value


@pytest.mark.parametrize("case", CASES)
def test_a_change_is_refused_or_harmless_but_never_an_error_of_ours(case):
    """Most changes of one leaf break a certificate; none may crash the checker."""
    decision, reason = made(*case)
    rng = stream(32, *case)
    refused = total = 0
    for path in leaves(reason):
        total += 1
        try:
            check(changed(reason, path, rng), decision.dfa)
        except CertificateError:
            refused += 1
    assert refused >= 0.6 * total


def test_a_yes_cannot_be_dressed_up_as_a_no():
    """(ab)* is in every fragment: a system for (aa)* does not transfer, with any classes."""
    reason = made("(ab)*", "none", "eos")[1]
    dfa = decide("(ab)*").dfa
    forged = {
        "answer": "no",
        "end": "eos",
        "letter": None,
        "automaton": reason["parts"][0]["automaton"],
        "windows": 1,
        "periods": 1,
        "stable": None,
        "loop": None,
        "letters": [["a"], ["b"]],
        "nodes": [[0, [], 0], [1, [], 0]],
        "classes": [0, 0],
        "pair": [0, 1],
        "access": [[], ["a"]],
        "suffix": [],
    }
    for terms in ([], [[[0, 0], [1, 1], [1, 2]]], [[[0, 0], [0, 0], [1, 1]]]):
        with pytest.raises(CertificateError):
            check({**forged, "combinations": [{"pair": [1, 0], "terms": terms}]}, dfa)
    with pytest.raises(CertificateError, match="no combination"):
        check({**forged, "combinations": []}, dfa)


def test_a_visible_no_needs_a_letter_or_a_loop():
    decision, reason = made("(a|b)*a", "none", "eos")
    check(reason, decision.dfa)
    with pytest.raises(CertificateError, match="last symbol"):
        check({**reason, "end": "visible"}, decision.dfa)
    # (a|b)*a is a yes under visible: no loop word that nobody checks may stand in for the letter.
    for loop in (["a"], ["nonsense"], []):
        for end in ("visible", "eos"):
            with pytest.raises(CertificateError, match="no loop word"):
                check({**reason, "end": end, "loop": loop}, decision.dfa)
    for end in ("Visible", "", None):
        with pytest.raises(CertificateError, match="end must be"):
            check({**reason, "end": end}, decision.dfa)


def test_a_yes_has_integers_only():
    """Rounding: 1 + 2⁵³ is 2⁵³ in floats, so these potentials would balance around a cycle that does not add up."""
    dfa = Dfa(("a", "c", "d"), ((1, 2, 3), (3, 2, 3), (2, 3, 0), (3, 3, 3)), (True, False, False, False))
    assert decide(dfa).verdict("none", "eos").verdict == "no"
    large = 2**53
    forged = {
        "answer": "yes", "end": "eos", "windows": 1, "periods": 1,
        "parts": [{
            "letter": None,
            "automaton": {"alphabet": ["a", "c", "d"], "delta": [list(row) for row in dfa.delta], "accepting": [0]},
            "components": [{
                "nodes": [[0, [], 0], [1, [], 0], [2, [], 0]],
                "classes": [0, 0, 0],
                "rounds": [{"values": [0, 1, large], "steps": []}],
            }],
        }],
    }  # fmt: skip
    steps = forged["parts"][0]["components"][0]["rounds"][0]
    for kind, problem in ((int, "not balanced"), (float, "must be integers")):
        steps["steps"] = [[0, "a", kind(1)], [0, "c", kind(large - 1)], [0, "d", kind(-large)]]
        with pytest.raises(CertificateError, match=problem):
            check(forged, dfa)


@pytest.mark.parametrize(("case", "scopes"), [
    (("(aa)*", "none", "eos"), {"none"}),
    (("(aa)*", "local", "visible"), {"none", "local"}),
    (("(abab)*", "periodic", "eos"), {"periodic", "ape"}),
    (("(ab)*", "none", "eos"), {"none", "local", "periodic", "ape"}),
    (("{0,1,2}*02*", "ape", "visible"), {"none", "local", "periodic", "ape"}),
])  # fmt: skip
def test_a_certificate_serves_no_fragment_that_needs_more(case, scopes):
    decision, reason = made(*case)
    for fragment in ("none", "local", "periodic", "ape"):
        forged = {**reason, "fragment": fragment}
        if fragment in scopes:
            check(forged, decision.dfa)
        else:
            with pytest.raises(CertificateError):
                check(forged, decision.dfa)
    with pytest.raises(CertificateError):
        check({**reason, "fragment": "rope"}, decision.dfa)


def test_every_pair_below_the_smallest_window_is_a_certified_no():
    decision = decide("(baa|ab|b)*")
    for window in range(1, 6):
        for period in (1, 2, 3):
            for end in ("eos", "visible"):
                check(no_for(decision, window, period, end), decision.dfa)
    with pytest.raises(LengthwiseError, match="all states are separated"):
        no_for(decision, 6, 1, "eos")


def test_unknown_has_no_certificate():
    assert certificate(decide("(baa|ab|b)*", bounds=Bounds(max_window=3, max_period=1)), "local", "eos") is None


@pytest.mark.parametrize(
    "broken", [{}, {"answer": "no"}, {"answer": "yes", "parts": 3, "end": "eos"}, {"answer": "maybe"}]
)
def test_incomplete_certificates_are_refused(broken):
    with pytest.raises(CertificateError):
        check(broken, decide("(aa)*").dfa)


def test_explanations():
    no = explain(made("{0,1,2}*02*", "ape", "visible")[1])
    assert no.startswith("no guarantee: no program exists for any window and any period (the last symbol is visible)")
    assert "2 loops on both states" in no
    assert "cannot learn" not in no
    nope = explain(made("(aa)*", "none", "eos")[1])
    assert "without windows and periods (the answer is read at an end mark)" in nope
    assert "one of them is accepted as it is, the other is not" in nope.replace("\n", " ")
    assert explain(made("(ab)*", "none", "eos")[1]).startswith("yes: a program exists without windows and periods")


def test_witnesses_have_equal_counts_where_such_words_exist():
    decision, reason = made("{0,1,2}*02*", "ape", "visible")
    first, second = access_with_equal_counts(reason)
    assert sorted(first) == sorted(second)
    pair = witness(reason, 300)
    assert 250 < len(pair.first) <= 301
    assert decision.dfa.accepts(pair.first) != decision.dfa.accepts(pair.second)
    with pytest.raises(LengthwiseError, match="has a loop"):
        witness(made("(aa)*", "none", "eos")[1], 50)


def test_a_symbol_called_none_is_not_the_missing_letter():
    """An even number of a's that ends in a, over {None, a}: no program, with anything shown of the quotient by None."""
    dfa = minimize(Dfa(("None", "a"), ((0, 1), (1, 2), (0, 1)), (False, False, True)))
    assert decide(dfa).verdict("none", "eos").verdict == "no"
    nothing = {"alphabet": ["None", "a"], "delta": [[0, 0]], "accepting": []}
    forged = {
        "fragment": "none", "end": "eos", "answer": "yes", "windows": 1, "periods": 1,
        "parts": [{"letter": "None", "automaton": nothing, "components": []}],
    }  # fmt: skip
    with pytest.raises(CertificateError, match="not every case of the last symbol"):
        check(forged, dfa)


def test_a_product_without_bound_is_refused(monkeypatch):
    decision, reason = made("(aa)*", "periodic", "eos")
    monkeypatch.setattr(checker_graphs, "MAX_NODES", 50)
    with pytest.raises(CertificateError, match="too large to check"):
        check({**reason, "periods": 1_000}, decision.dfa)


@pytest.mark.parametrize("key", ["windows", "periods"])
def test_huge_windows_and_periods_are_refused_at_once(key):
    decision, reason = made("(abab)*", "periodic", "eos")
    with pytest.raises(CertificateError, match=f"{key} must be a number in 1..1000"):
        check({**reason, "fragment": "ape", key: 1_000_000}, decision.dfa)


def test_an_automaton_with_a_large_monoid_is_certified_quickly():
    """15,086 elements: the search for words and the equations are done once for six verdicts."""
    dfa = Dfa(("a", "b"), ((0, 1), (2, 3), (3, 1), (4, 0), (5, 4), (1, 5)), (True, False, True, True, True, False))
    decision = decide(dfa)
    started = time.process_time()
    for fragment in ("local", "periodic", "ape"):
        for end in decision.ends:
            made = certificate(decision, fragment, end)
            assert made is not None
            assert made["answer"] == "no"
    assert time.process_time() - started < 10
    assert len(decision.analysis.certificates) == 1


def test_what_takes_more_work_than_the_bound_is_not_decided():
    dfa = Dfa(("a", "b"), ((4, 1), (3, 4), (1, 5), (0, 3), (2, 2), (2, 0)), (False, True, False, True, True, False))
    decision = decide(dfa, ends=("eos",), bounds=Bounds(max_work=200_000))
    assert decision.verdict("ape", "eos").verdict == "unknown"
    assert decision.analysis._work.done > 200_000
