"""Next-symbol prediction against recognition: completions prove every yes, and small automata have no other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from crasp.completion import Completion, completion
from languages.oracles import random_dfa
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.crasp.certificates import certificate, explanation
from lengthwise.crasp.decide import allowed_after, components, conflict, decide, grouped
from lengthwise.crasp.extraction import program_of
from lengthwise.languages.automaton import Dfa, language, minimize
from lengthwise.languages.named import LANGUAGES

FRAGMENTS = ("none", "local", "periodic", "ape")


def merged(dfa: Dfa) -> list[list[int]]:
    """The classes that counting can't split, without windows and periods."""
    return [
        group
        for component in components(dfa, 1, 1, max_nodes=10_000)
        for group in grouped((node.state for node in component.nodes), component.refinement().classes)
    ]


def next_languages(dfa: Dfa, machine: Completion) -> Iterator[Dfa]:
    """For every symbol and the end: the strings after which the machine lets it follow, as a minimal automaton."""
    symbols = range(len(dfa.alphabet))
    # What may follow depends on the class before the last symbol and that symbol, so both are part of a state.
    states: list[tuple[int | None, frozenset[int]]] = [(machine.start, allowed_after(dfa, 0))]
    rows: list[list[int]] = []
    for of, _ in states:
        row = []
        for symbol in symbols:
            target = None if of is None else machine.delta[of][symbol]
            after = frozenset() if of is None else machine.allowed[of][symbol]
            found = (target, after or frozenset())
            if found not in states:
                states.append(found)
            row.append(states.index(found))
        rows.append(row)
    for wanted in (*symbols, len(dfa.alphabet)):
        yield minimize(Dfa(dfa.alphabet, tuple(map(tuple, rows)), tuple(wanted in allowed for _, allowed in states)))


def agrees(dfa: Dfa, machine: Completion) -> bool:
    """Whether the machine says what may follow after every prefix of a word: all pairs of states that they reach."""
    pairs, symbols = [(0, machine.start)], range(len(dfa.alphabet))
    for state, of in pairs:
        for symbol in symbols:
            target, following = dfa.delta[state][symbol], machine.delta[of][symbol]
            if dfa.live[target]:
                if following is None or machine.allowed[of][symbol] != allowed_after(dfa, target):
                    return False
                if (target, following) not in pairs:
                    pairs.append((target, following))
    return True


def without_dead_ends(dfa: Dfa) -> Iterator[Dfa]:
    """Every automaton that leads from a live state to a live one where ``dfa`` leads to a dead one (or still does)."""
    live = [state for state in range(dfa.size) if dfa.live[state]]
    open_places = [(q, s) for q in live for s in range(len(dfa.alphabet)) if not dfa.live[dfa.delta[q][s]]]
    for chosen in product([None, *live], repeat=len(open_places)):
        delta = [list(row) for row in dfa.delta]
        for (state, symbol), target in zip(open_places, chosen, strict=True):
            if target is not None:
                delta[state][symbol] = target
        yield Dfa(dfa.alphabet, tuple(map(tuple, delta)), dfa.accepting)


def predicts_by_counting(dfa: Dfa, other: Dfa) -> bool:
    """Whether ``other``, labelled with what may follow in states of ``dfa``, is decided yes for all of its labels."""
    labels = [allowed_after(dfa, state) for state in range(dfa.size)]
    return all(
        decide(minimize(Dfa(dfa.alphabet, other.delta, tuple(wanted in label for label in labels))), ends=["visible"])
        .verdict("none", "visible")
        .verdict
        == "yes"
        for wanted in range(len(dfa.alphabet) + 1)
    )


def drawn(count: int, seed: int) -> Iterator[Dfa]:
    """Different minimal automata of a few states with a dead one."""
    rng, seen = stream(seed, "next symbols"), set()
    while len(seen) < count:
        dfa = minimize(random_dfa(int(rng.integers(3, 6)), "ab", rng))
        if dfa.size > 2 and not all(dfa.live) and dfa not in seen:
            seen.add(dfa)
            yield dfa


def test_every_yes_has_a_machine_that_is_in_the_fragment() -> None:
    """The machine agrees on all prefixes of words, and the decision of recognition, which is proved, says yes of it."""
    answers = {(end, answer): 0 for end in ("visible", "next") for answer in ("yes", "no")}
    for dfa in drawn(150, 1):
        decision = decide(dfa, ends=["visible", "next"])
        for end in decision.ends:
            answers[end, decision.verdict("none", end).verdict] += 1
        if decision.verdict("none", "next").verdict == "yes":
            machine = completion(dfa, merged(dfa))
            assert agrees(dfa, machine)
            for wanted in next_languages(dfa, machine):
                assert decide(wanted, ends=["visible"]).verdict("none", "visible").verdict == "yes", dfa
    assert min(answers.values()) >= 15, "otherwise little is compared"
    assert answers["next", "yes"] >= answers["visible", "yes"] + 10, "it is easier"


def test_where_the_answer_is_no_no_redirection_helps() -> None:
    tried = 0
    for dfa in drawn(150, 2):
        decision = decide(dfa, ends=["next"])
        if decision.verdict("none", "next").verdict == "yes" or sum(dfa.live) > 3:
            continue
        others = list(without_dead_ends(dfa))
        assert not any(predicts_by_counting(dfa, other) for other in others), dfa
        tried += len(others)
    assert tried >= 100


def test_what_can_be_recognized_can_be_predicted() -> None:
    """In every fragment; and a richer fragment never loses a language."""
    order = {"no": 0, "unknown": 1, "yes": 2}
    for dfa in drawn(150, 3):
        decision = decide(dfa, ends=["visible", "next"])
        answer = {(f, end): order[decision.verdict(f, end).verdict] for f in FRAGMENTS for end in decision.ends}
        for fragment in FRAGMENTS:
            assert answer[fragment, "visible"] != 2 or answer[fragment, "next"] == 2, dfa
            assert answer[fragment, "next"] != 0 or answer[fragment, "visible"] == 0, dfa
        for small, large in (("none", "local"), ("none", "periodic"), ("local", "ape"), ("periodic", "ape")):
            assert answer[small, "next"] != 2 or answer[large, "next"] == 2, dfa


@pytest.mark.parametrize(
    ("expression", "visible", "then"),
    [
        ("(b|c)*ba", "no", "yes"),  # an `a` is met behind a `b` only
        ("((a?c)*)b*", "no", "yes"),
        ("(aa)*", "no", "no"),
        ("(a*ba)*", "no", "no"),  # after an `a`: is it the one behind a `b`?
        ("(abab)*", "no", "no"),
        ("(abc)*", "yes", "yes"),
    ],
)
def test_known_answers(expression: str, visible: str, then: str) -> None:
    decision = decide(expression, ends=["visible", "next"])
    assert (decision.verdict("none", "visible").verdict, decision.verdict("none", "next").verdict) == (visible, then)


def test_the_published_languages_keep_their_answers() -> None:
    for name, entry in LANGUAGES.items():
        decision = decide(entry.dfa(), ends=["visible", "next"])
        for fragment in FRAGMENTS:
            assert decision.verdict(fragment, "next").verdict == decision.verdict(fragment, "visible").verdict, name


def test_every_component_is_looked_at_for_all_periods() -> None:
    """Two components with merged states, of which one alone is in conflict, in either order."""
    for expression in ("(b|c)*bad(e*fe)*", "(e*fe)*d(b|c)*ba"):
        assert decide(expression, ends=["next"]).verdict("periodic", "next").verdict == "no"


def test_programs_and_certificates_are_of_membership() -> None:
    decision = decide("(ab)*", ends=["next"])
    for ask in (program_of, certificate, explanation):
        with pytest.raises(LengthwiseError, match="are of membership; use the end convention visible or eos"):
            ask(decision, "none", "next")


def test_a_conflict_is_a_symbol_that_both_may_read() -> None:
    dfa = language("(a*ba)*")
    found = conflict(dfa, merged(dfa))
    assert found is not None
    targets = {dfa.delta[state][found[2]] for state in found[:2]}
    assert len(targets) == 2
    assert all(dfa.live[target] for target in targets)
