from dataclasses import replace

import numpy as np
import pytest
import toys

from lengthwise.core.config import fields_of, from_fields
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.sparsity.coupling import (
    CouplingRule,
    NoCouplingError,
    PlaceFormula,
    check_coupling,
    corrected,
    doubt_of,
    linear,
    not_told_apart,
    propose_coupling,
    same_places,
)
from lengthwise.sparsity.dependence import Dependencies, estimate_dependencies
from lengthwise.tasks import TASKS


def estimate(name, lengths):
    return {n: toys.dependencies(name, n) for n in lengths}


def handmade(name, n):
    up = np.arange(1, n + 1)
    prompt = {"reverse": up[::-1], "addition": np.concatenate([up, [0], up])}.get(name, up)
    return np.concatenate([prompt, [0], up, [n + 1] * (name == "addition"), [0]])


@pytest.mark.parametrize("name", toys.TASKS)
def test_found_at_short_lengths_and_holds_at_longer_ones(name):
    known = estimate(name, (4, 5, 6, 10))
    rule = propose_coupling([known[n] for n in (4, 5, 6)])
    report = check_coupling(rule, known, lengths=(5, 10))
    print(name, rule.describe(), sep="\n")
    assert report.holds, report.problems
    assert report.tokens_per_place <= 3
    assert [c.seen for c in report.checks] == [True, False]
    symbols = np.array(known[10].varies)
    assert same_places(rule.places(10), handmade(name, 10), known[10].prompt_length, symbols) != "no"
    assert rule.places(10)[symbols].min() >= 1


def test_a_rule_that_short_lengths_have_by_accident_is_corrected_at_the_length_that_breaks_it():
    known = {
        n: estimate_dependencies(toys.swap, toys.sample_letters, n, stream(0, "swap", n)) for n in (4, 5, 6, 7, 10)
    }
    found = propose_coupling([known[n] for n in (4, 5, 6)])
    assert check_coupling(found, known, (7, 10)).holds
    # Places that two neighbours share bring all near up to length 6, too.
    rule = replace(found, formulas=(PlaceFormula(2, 0, 1, run=2), PlaceFormula(1, 0, 0), PlaceFormula(1, 0, 1)))
    assert check_coupling(rule, known, (7, 10)).problems[0] == (
        "at length 10 answer token 10 needs the token at position 8, 3 places from where it is predicted"
    )
    better, check = corrected(rule, known, (7, 10))
    assert check.holds
    assert better.lengths[:3] == (4, 5, 6)
    assert {one.length for one in check.checks if not one.seen}, "a length is left that the rule was not found from"
    # One that holds is left as it is, and so is one that nothing corrects.
    assert corrected(better, known, (7, 10)) == (better, check)
    assert corrected(rule, known, (4, 5))[0] is rule


@pytest.mark.slow
@pytest.mark.parametrize("name", toys.TASKS)
def test_holds_up_to_length_forty(name):
    known = estimate(name, (4, 5, 6, 7, 10, 20, 40))
    rule = propose_coupling([known[n] for n in (4, 5, 6, 7)])
    report = check_coupling(rule, known)
    assert report.holds, report.problems


@pytest.mark.parametrize(("task", "first"), [("parity-scratchpad", 1), ("parity-scratchpad-offset-one", 2)])
def test_both_handmade_rules_of_parity_count(task, first):
    """Bit i at i or at i + 1: each is a coupling of the task, and the search finds the one with offset one."""
    known = estimate("parity with scratchpad", (4, 5, 6, 10, 20))
    rule = propose_coupling([known[n] for n in (4, 5, 6)])
    *_, running, end = rule.formulas
    stated = replace(rule, formulas=(PlaceFormula(first, 0, 1), PlaceFormula(1, 0, 0), running, end))
    for n in (4, 20):
        places = TASKS.build(task).batch(n, 1, stream(0)).places[0, 1:, 0]
        assert stated.places(n).tolist() == places.tolist()
        assert same_places(rule.places(n), places, known[n].prompt_length, np.array(known[n].varies)) != "no"
    report = check_coupling(stated, known, lengths=(5, 10, 20))
    assert report.holds, report.problems
    assert report.tokens_per_place == 2
    assert (stated == rule) == (first == 2)
    far = replace(stated, formulas=(PlaceFormula(first + 2, 0, 1), *stated.formulas[1:]))
    assert not check_coupling(far, known, lengths=(5, 10, 20)).holds


def test_two_answer_tokens_per_prompt_token():
    known = {
        n: estimate_dependencies(toys.doubled, toys.sample_letters, n, stream(0, "doubled", n)) for n in (4, 5, 6, 8)
    }
    rule = propose_coupling([known[n] for n in (4, 5, 6)])
    assert check_coupling(rule, known, lengths=(5, 8)).holds
    assert "floor(i / 2)" in rule.describe()


def halves(n):
    """Two halves of n symbols with a mark between and a mark behind; the answer takes turns."""
    symbols = map(frozenset, [*["ab"] * n, "|", *["ab"] * n, "=", *["ab"] * (2 * n)])
    parents = tuple((i // 2 + (n + 1) * (i % 2),) for i in range(2 * n))
    return Dependencies(n, 2 * n + 2, parents, tuple(symbols))


def test_no_two_tokens_of_the_prompt_share_a_place_of_which_one_is_needed():
    known = {n: halves(n) for n in (4, 5, 6, 9)}
    rule = propose_coupling([known[n] for n in (4, 5, 6)])
    assert check_coupling(rule, known, (5, 9)).holds
    prompt = rule.places(9)[[*range(9), *range(10, 19)]]
    assert len(set(prompt.tolist())) == 18
    assert "2i" in rule.describe()

    def lost(rule):
        return not_told_apart(known[9].parents, rule.places(9), known[9].symbols, known[9].prompt_length)

    shared = PlaceFormula(1, 0, 1)
    turns = replace(rule.formulas[4], run=2, shift=1)
    both = replace(rule, formulas=(shared, None, shared, PlaceFormula(1, 0, 0), turns))
    assert check_coupling(both, known, (5, 9)).holds
    assert (lost(rule), lost(both)) == (0, 18)
    assert doubt_of(18, 18)
    assert not doubt_of(0, 18)


@pytest.mark.parametrize(("oracle", "sampler"), [(toys.parity, toys.sample_bits), (toys.sort, toys.sample_letters)])
def test_dense_tasks_are_refused_with_the_reason(oracle, sampler):
    known = [estimate_dependencies(oracle, sampler, n, stream(0, n)) for n in (4, 5, 6)]
    with pytest.raises(NoCouplingError, match=r"ever more others, those .* needed: 4, 5, 6 at lengths 4, 5, 6"):
        propose_coupling(known)


def line(n, parents, unresolved=()):
    """A prompt of n symbols, one constant, n answer symbols with the given parents."""
    return Dependencies(n, n + 1, tuple(parents), tuple(map(frozenset, ["ab"] * n + ["="] + ["ab"] * n)), unresolved)


def test_no_affine_rule_is_reported():
    far = [line(n, [((j * j) % n,) for j in range(n)]) for n in (7, 8, 9)]
    with pytest.raises(NoCouplingError, match="no rule that is affine"):
        propose_coupling(far)
    with pytest.raises(NoCouplingError, match="answer token 2"):
        propose_coupling([line(n, [(j,) for j in range(n)], unresolved=(1,)) for n in (4, 5)])
    with pytest.raises(NoCouplingError, match="0, 0, 0 parents"):
        propose_coupling([line(n, [()] * n) for n in (4, 5, 6)])
    with pytest.raises(LengthwiseError, match="two lengths or more, got 1"):
        propose_coupling([line(4, [(j,) for j in range(4)])])


@pytest.mark.parametrize("size", [1, 2])
def test_two_halves_of_a_prompt_without_a_mark_between_them_have_places_of_their_own(size):
    """a b x y to a x b y; the length is that of a half, or of both."""

    def riffled(n):
        half = n if size == 2 else n // 2
        answer = [(i + part,) for i in range(half) for part in (0, half)]
        symbols = [*["ab"] * (2 * half), "=", *["ab"] * (2 * half)]
        return Dependencies(n, 2 * half + 1, tuple(answer), tuple(map(frozenset, symbols)), ())

    known = {n: riffled(n) for n in (4, 6, 8, 10, 14, 20)}
    rule = propose_coupling([known[n] for n in (4, 6, 8, 10, 14)])
    assert check_coupling(rule, known, (4, 20)).holds
    places = rule.places(20)
    half = known[20].prompt_length // 2
    assert sorted(places[: 2 * half]) == list(range(min(places[:half]), min(places[:half]) + 2 * half))


def test_the_check_finds_each_fault():
    known = {n: line(n, [(j,) for j in range(n)]) for n in (4, 5, 6, 8)}
    rule = propose_coupling([known[4], known[5], known[6]])
    assert check_coupling(rule, known, (4, 8)).holds
    flat = replace(rule, formulas=tuple(PlaceFormula(1, 0, 0) for _ in rule.formulas))
    assert any("tokens per place grow" in p for p in check_coupling(flat, known, (4, 8)).problems)
    assert any("does not grow linearly: 1, 1" in p for p in check_coupling(flat, known, (4, 8)).problems)
    shifted = replace(rule, formulas=(replace(rule.formulas[0], shift=5), *rule.formulas[1:]))
    assert any("4 places from where" in p for p in check_coupling(shifted, known, (4, 8)).problems)
    bare = replace(rule, formulas=(None, *rule.formulas[1:]))
    assert any("no place" in p for p in check_coupling(bare, known, (4, 8)).problems)
    assert any("not found from" in p for p in check_coupling(rule, known, (4, 5)).problems)
    with pytest.raises(LengthwiseError, match="no dependencies at length 9"):
        check_coupling(rule, known, (9,))


def test_agreement_is_up_to_reversal_and_one_shift_of_the_answer():
    reference = np.array([1, 2, 3, 0, 1, 2, 3])
    compared = np.array([True] * 3 + [False] + [True] * 3)
    assert same_places(reference, reference, 3, compared) == "yes"
    assert same_places(reference + 5, reference, 3, compared) == "yes, up to a shift"
    assert same_places(4 - reference, reference, 3, compared) == "reversed"
    assert same_places(reference + np.array([0, 0, 0, 9, 1, 1, 1]), reference, 3, compared) == "yes, up to a shift"
    assert same_places(reference + np.array([0, 0, 0, 0, 2, 2, 2]), reference, 3, compared) == "no"
    assert same_places(np.array([1, 3, 2, 0, 1, 2, 3]), reference, 3, compared) == "no"
    # Places of the last token of the prompt count where the first answer would be far from it.
    stated = np.array([1, 2, 3, 1, 3, 2, 1])
    assert same_places(np.array([3, 2, 1, 1, 1, 2, 3]), stated, 4, compared).startswith("but for the last token")
    # And where it has none though it needs one; the last place of `reference` is of a token that needs none.
    lacking = np.array([2, 3, 4, 1, 2, 3, 4]), reference, 4, compared
    assert same_places(*lacking).startswith("but for the last token")


def test_formulas_as_text():
    assert linear(1, 2) == "2n + 1"
    assert PlaceFormula(1, 1, -1).describe() == "place n + 1 - i"
    assert PlaceFormula(2, 0, 1, 2, 1).describe() == "place 2 + floor((i + 1) / 2)"


def mirrored(prompt):
    digits = [int(token) for token in prompt[1:-1]]
    return [str((a + b) % 5) for a, b in zip(digits, digits[::-1], strict=True)]


def digits_of(length, rng):
    return ["<bos>", *map(str, rng.integers(5, size=length)), "="]


def test_a_mirrored_task_has_places_that_count_from_the_nearer_end():
    known = {n: estimate_dependencies(mirrored, digits_of, n, stream(0, "fold", n)) for n in (4, 5, 6, 9, 10, 15)}
    rule = propose_coupling([known[n] for n in (4, 5, 6, 9)])
    check = check_coupling(rule, known, (5, 10, 15))
    assert check.holds, check.problems
    assert check.tokens_per_place <= 5
    places = rule.places(9)[1:10]
    assert places.tolist() == [1, 2, 3, 4, 5, 4, 3, 2, 1]
    # Of short strings alone all tokens are near, so none is counted from two ends.
    short = propose_coupling([known[n] for n in (4, 5, 6)])
    assert all(formula is None or formula.fold is None for formula in short.formulas)
    better, after = corrected(short, known, (5, 10, 15))
    assert after.holds
    assert any(formula is not None and formula.fold is not None for formula in better.formulas)
    written = fields_of(rule)
    assert [values["fold"] for values in written["formulas"] if values and "fold" in values] == [0, 0]
    assert from_fields(CouplingRule, written, where="a rule") == rule
