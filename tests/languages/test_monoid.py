import itertools

import pytest

from lengthwise.core.rng import stream
from lengthwise.crasp.certificates import words_by_remainder
from lengthwise.languages.automaton import language, minimize
from lengthwise.languages.monoid import MonoidTooLargeError, is_group, is_r_trivial, transition_semigroup

from .oracles import random_dfa


def brute_maps(dfa, length):
    return {
        tuple(dfa.run(word, state) for state in range(dfa.size))
        for word in itertools.product(range(len(dfa.alphabet)), repeat=length)
    }


def test_length_sets_are_the_maps_of_the_words_of_that_length():
    rng = stream(4, "length sets")
    for _ in range(40):
        dfa = minimize(random_dfa(4, "ab", rng))
        semigroup = transition_semigroup(dfa)
        sets = semigroup.by_length
        for length in range(1, 9):
            found = {semigroup.maps[i] for i, inside in enumerate(sets.at(length)) if inside}
            assert found == brute_maps(dfa, length)
        s = sets.stable_index
        assert (sets.at(s) == sets.at(2 * s)).all()
        assert all((sets.at(t) != sets.at(2 * t)).any() for t in range(1, s))
        for step in (1, 2, 3):
            union = set().union(*(brute_maps(dfa, length) for length in range(step, 10, step)))
            members = {semigroup.maps[i] for i, inside in enumerate(sets.multiples(step)) if inside}
            assert union <= members
            far = [sets.at(length) for length in range(step, 40 * step, step)]
            assert (sum(far) > 0).tolist() == sets.multiples(step).tolist()


def test_words_induce_their_maps():
    dfa = language("(a(ab)*b)*")
    semigroup = transition_semigroup(dfa)
    for step in (1, 2, 3):
        words = words_by_remainder(semigroup, step, range(len(semigroup.maps)))
        assert step > 1 or len(words) == len(semigroup.maps)
        for number, word in words.items():
            assert len(word) % step == 0
            assert tuple(dfa.run(word, state) for state in range(dfa.size)) == semigroup.maps[number]


@pytest.mark.parametrize(
    ("regex", "alphabet", "star_free", "group", "r_trivial", "size"),
    [
        ("(aa)*", "a", False, True, False, 2),
        ("(b*ab*a)*b*", "ab", False, True, False, 2),
        ("(ab)*", "ab", True, False, False, 6),
        ("a*", "ab", True, False, True, 2),
        ("(a|b)*a", "ab", True, False, False, 3),
        ("a*b*", "ab", True, False, True, 5),
        ("(a|b)*", "ab", True, True, True, 1),
    ],
)
def test_classes_of_known_languages(regex, alphabet, star_free, group, r_trivial, size):
    dfa = language(regex, alphabet)
    semigroup = transition_semigroup(dfa)
    assert semigroup.aperiodic is star_free
    assert is_group(dfa) is group
    assert is_r_trivial(dfa) is r_trivial
    assert semigroup.monoid_size == size


def test_aperiodic_means_that_powers_become_constant():
    rng = stream(5, "aperiodic")
    for _ in range(100):
        semigroup = transition_semigroup(minimize(random_dfa(4, "ab", rng)))

        def settles(mapping):
            power, seen = mapping, []
            while power not in seen:
                seen.append(power)
                power = tuple(mapping[state] for state in power)
            return power == seen[-1]

        assert semigroup.aperiodic == all(settles(mapping) for mapping in semigroup.maps)


def test_too_large_a_monoid_is_said():
    with pytest.raises(MonoidTooLargeError, match="more than 3 elements"):
        transition_semigroup(language("(a(ab)*b)*"), max_elements=3)
