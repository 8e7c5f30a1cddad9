import json

import numpy as np
import pytest

from crasp.witness import witness
from languages.oracles import all_arrays, random_languages
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.crasp.certificates import certificate, explanation
from lengthwise.crasp.checker import check
from lengthwise.crasp.decide import FRAGMENTS, Bounds, decide
from lengthwise.crasp.extraction import program_of
from lengthwise.crasp.interpreter import run
from lengthwise.languages.monoid import is_r_trivial

WORDS = {2: list(all_arrays(2, 10)), 3: list(all_arrays(3, 6))}


def check_language(regex, alphabet, dfa, words, rng):
    """Everything that a verdict claims, checked; returns whether some fragment is unknown."""
    decision = decide(regex, alphabet)
    assert decision.dfa == dfa
    unknown = False
    extracted = set()
    for end in ("visible", "eos"):
        for fragment in FRAGMENTS:
            verdict = decision.verdict(fragment, end)
            if verdict.verdict == "unknown":
                unknown = True
                continue
            reason = json.loads(json.dumps(certificate(decision, fragment, end)))
            check(reason, dfa)
            if verdict.verdict == "no":
                if reason["loop"]:
                    pumped_words_differ(reason, dfa)
                continue
            key = (end, verdict.window, verdict.period)
            if key in extracted:
                continue
            extracted.add(key)
            program = program_of(decision, fragment, end)
            assert program.window <= verdict.window
            assert verdict.period % program.period == 0
            for batch in words:
                assert np.array_equal(run(program, batch), dfa.accepts_batch(batch)), (regex, fragment, end)
            long = rng.integers(len(alphabet), size=(20, 150))
            assert np.array_equal(run(program, long), dfa.accepts_batch(long))
    consistent(decision)
    return unknown


def pumped_words_differ(reason, dfa):
    """Equal last symbols, equal lengths of the repeated part, different answers: at every number of repetitions."""
    for length in (20, 60, 200):
        pair = witness(reason, length)
        assert dfa.accepts(pair.first) != dfa.accepts(pair.second)
        shared = pair.repeats * len(reason["loop"])
        assert pair.first[-shared:] == pair.second[-shared:]


def consistent(decision):
    answers = {
        (fragment, end): decision.verdict(fragment, end).verdict for fragment in FRAGMENTS for end in ("visible", "eos")
    }
    for end in ("visible", "eos"):
        for smaller, larger in (("none", "local"), ("none", "periodic"), ("local", "ape"), ("periodic", "ape")):
            assert answers[smaller, end] != "yes" or answers[larger, end] == "yes"
            assert answers[larger, end] != "no" or answers[smaller, end] == "no"
    for fragment in FRAGMENTS:
        assert answers[fragment, "eos"] != "yes" or answers[fragment, "visible"] == "yes"


def check_random_languages(languages, words):
    rng = stream(31, "long words")
    unknown = sum(check_language(*entry, words[len(entry[1])], rng) for entry in languages)
    assert unknown <= 0.02 * len(languages)
    assert sum(is_r_trivial(dfa) for _, _, dfa in languages) <= len(languages) / 2


def test_random_languages():
    check_random_languages(random_languages(80, stream(30, "random languages")), WORDS)


@pytest.mark.slow
def test_a_thousand_random_languages_on_all_words_to_length_10():
    words = {2: WORDS[2], 3: list(all_arrays(3, 10))}
    check_random_languages(random_languages(1_000, stream(7, "random languages")), words)


def test_json_is_the_documented_object():
    value = decide("(aa)*").to_json()
    assert list(value) == ["regex", "alphabet", "states", "fragments", "star_free", "searched"]
    assert json.loads(json.dumps(value)) == value
    assert (value["regex"], value["alphabet"], value["states"], value["star_free"]) == ("(aa)*", ["a"], 2, False)
    assert list(value["fragments"]) == ["none", "local", "periodic", "ape"]
    assert value["fragments"]["periodic"]["visible"] == {"verdict": "yes", "window": 1, "period": 2, "basis": "proved"}
    assert value["fragments"]["none"]["eos"] == {"verdict": "no", "window": None, "period": None, "basis": "cited"}
    assert value["fragments"]["local"]["visible"]["basis"] == "ours"


def test_the_alphabet_matters():
    assert decide("(aa)*", "a").verdict("periodic", "eos").verdict == "yes"
    assert decide("(aa)*", "ab").dfa.size == 3
    assert decide("(a|b)*a").verdict("none", "visible").verdict == "yes"
    assert decide("(a|b)*a", "abc").verdict("none", "visible").verdict == "yes"
    assert decide("{a,b,c}*a{c}*").verdict("ape", "eos").verdict == "no"


def test_bounds_exhausted_is_unknown_not_no():
    verdict = decide("(baa|ab|b)*", bounds=Bounds(max_window=5, max_period=2)).verdict("local", "eos")
    assert (verdict.verdict, verdict.basis, verdict.reason) == ("unknown", "searched", "bounds")
    assert decide("(baa|ab|b)*", bounds=Bounds(max_nodes=3)).verdict("local", "eos").verdict == "unknown"
    small = decide("(a|b)*a(bb)*", bounds=Bounds(max_elements=3))
    assert small.verdict("ape", "eos").verdict == "unknown"
    assert small.star_free is None
    assert small.monoid_size is None


def test_classes_of_the_language():
    parity = decide("(0*10*1)*0*")
    assert (parity.star_free, parity.group, parity.r_trivial, parity.monoid_size) == (False, True, False, 2)
    stars = decide("a*b*")
    assert (stars.star_free, stars.group, stars.r_trivial) == (True, False, True)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Bounds(max_window=0), "max_window must be at least 1"),
        (lambda: Bounds(max_period=0), "max_period must be at least 1"),
        (lambda: decide("a", ends=("eoss",)), "Did you mean 'eos'"),
        (lambda: decide("a", ends=()), "no end convention"),
        (lambda: decide("a", ends=("eos",)).verdict("ape", "visible"), "unknown end convention"),
        (lambda: decide("a").verdict("aped", "eos"), "Did you mean 'ape'"),
    ],
)
def test_errors(call, says):
    with pytest.raises(LengthwiseError, match=says):
        call()


def test_many_states_end_with_unknown_instead_of_hanging() -> None:
    """512 states: beyond the bounds on the monoid and on the product graphs, which the answers say."""
    decision = decide("(a|b)*a" + "(a|b)" * 8, ends=("visible",))
    assert decision.dfa.size == 512
    assert decision.monoid_size is None
    assert decision.verdict("none", "visible").verdict == "no"
    assert decision.verdict("local", "visible").verdict == "unknown"
    assert "too many" in explanation(decision, "none", "visible")
