"""State prediction against brute force: every state's language alone, its criterion solved in whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import gcd

import numpy as np
import pytest

from languages.oracles import all_arrays
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.crasp.decide import Bounds, decide
from lengthwise.crasp.extraction import extract, program_of
from lengthwise.crasp.interpreter import run
from lengthwise.languages.automaton import Dfa, minimize

Rows = tuple[tuple[int, ...], ...]
PAIRS = {
    "none": [(1, 1)],
    "local": [(1, 1), (2, 1), (3, 1)],
    "periodic": [(1, 1), (1, 2), (1, 3), (1, 4)],
    "ape": [(1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (3, 1), (1, 4), (2, 3), (3, 2), (3, 3)],
}


def transitions(size: int) -> Iterator[Rows]:
    """All automata without acceptance over two symbols; states are numbered as a breadth-first search meets them."""
    for flat in product(range(size), repeat=2 * size):
        seen = 1
        for at, target in enumerate(flat):
            if at // 2 >= seen or target > seen:
                break
            seen += target == seen
        else:
            if seen == size:
                yield tuple((flat[2 * q], flat[2 * q + 1]) for q in range(size))


def partition(rows: Rows, accepting: tuple[bool, ...]) -> list[int]:
    """The classes of equivalent states, by trying all words of fewer symbols than there are states."""
    words = [word for length in range(len(rows)) for word in product((0, 1), repeat=length)]
    keys: list[tuple[bool, ...]] = []
    for start in range(len(rows)):
        ends = []
        for word in words:
            state = start
            for symbol in word:
                state = rows[state][symbol]
            ends.append(accepting[state])
        keys.append(tuple(ends))
    return [keys.index(key) for key in keys]


def quotient(rows: Rows, accepting: tuple[bool, ...]) -> Rows:
    """The transitions of the minimal automaton, its start state first."""
    classes = partition(rows, accepting)
    names = sorted(set(classes))
    return tuple(tuple(names.index(classes[target]) for target in rows[name]) for name in names)


def equal_in_all_solutions(count: int, equations: list[list[int]]) -> list[int]:
    """Classes of unknowns that are equal in every solution of a homogeneous system, by elimination in whole numbers."""
    pivots: dict[int, list[int]] = {}

    def without(row: list[int], at: int, pivot: list[int]) -> list[int]:
        found = [pivot[at] * a - row[at] * b for a, b in zip(row, pivot, strict=True)]
        common = gcd(*found) or 1
        return [value // common for value in found]

    for row in map(list, {tuple(equation) for equation in equations if any(equation)}):
        for at, pivot in pivots.items():
            if row[at]:
                row = without(row, at, pivot)
        lead = next((at for at, value in enumerate(row) if value), None)
        if lead is None:
            continue
        for at, pivot in pivots.items():
            if pivot[lead]:
                pivots[at] = without(pivot, lead, row)
        pivots[lead] = row
    first: dict[tuple, int] = {}
    found = []
    for node in range(count):
        # What the unknown is, as a whole number and whole shares of the free ones, which are to be divided by it.
        whole, shares = 1, [int(at == node) for at in range(count)]
        if node in pivots:
            whole = pivots[node][node]
            shares = [0 if at == node else -value for at, value in enumerate(pivots[node])]
        common = gcd(whole, *shares) * (1 if whole > 0 else -1)
        found.append(first.setdefault((whole // common, *(value // common for value in shares)), node))
    return found


def reachable(edges: dict[tuple, list[tuple]], start: tuple) -> set[tuple]:
    """The nodes that a path leads to, ``start`` among them."""
    found, pending = {start}, [start]
    while pending:
        new = [target for target in edges[pending.pop()] if target not in found]
        found.update(new)
        pending += new
    return found


@cache
def separates(rows: Rows, window: int, period: int) -> bool:
    """The criterion for (k, m), from the definition: node by node from the start, with the marks before the word."""
    start = (0, (-1,) * (window - 1), 0)
    edges: dict[tuple, list[tuple]] = {}
    pending = [start]
    while pending:
        node = pending.pop()
        if node in edges:
            continue
        state, seen, phase = node
        edges[node] = [
            (rows[state][symbol], (*seen, symbol)[1:], (phase + 1) % period) for symbol in range(len(rows[0]))
        ]
        pending += edges[node]
    reached = {node: reachable(edges, node) for node in edges}
    for component in {frozenset(t for t in reached[node] if node in reached[t]) for node in edges}:
        nodes = sorted(component)
        number = {node: index for index, node in enumerate(nodes)}
        inner = [
            (number[node], (node[1], node[2], symbol), number[target])
            for node in nodes
            for symbol, target in enumerate(edges[node])
            if target in number
        ]
        classes = [0] * len(nodes)
        while True:
            first: dict[tuple, tuple[int, int]] = {}
            equations = []
            for source, label, target in inner:
                u, v = first.setdefault((label, classes[source]), (source, target))
                equation = [0] * len(nodes)
                for at, sign in ((target, 1), (source, -1), (v, -1), (u, 1)):
                    equation[at] += sign
                equations.append(equation)
            found = list(zip(classes, equal_in_all_solutions(len(nodes), equations), strict=True))
            refined = [found.index(key) for key in found]
            if len(set(refined)) == len(set(classes)):
                break
            classes = refined
        for p, q in product(range(len(nodes)), repeat=2):
            if classes[p] == classes[q] and nodes[p][0] != nodes[q][0]:
                return False
    return True


@cache
def names_states(rows: Rows, window: int, period: int) -> bool:
    """Whether the strings that lead to each state are a language of the fragment, read at an end mark."""
    size = len(rows)
    alone = [quotient(rows, tuple(state == wanted for state in range(size))) for wanted in range(size)]
    return all(separates(language, window, period) for language in alone)


@cache
def names_states_at_the_last_symbol(rows: Rows, window: int, period: int) -> bool:
    """The same where the last symbol is visible: for each state and last symbol, the strings before that symbol."""
    size = len(rows)
    alone = [
        quotient(rows, tuple(rows[state][symbol] == wanted for state in range(size)))
        for wanted in range(size)
        for symbol in (0, 1)
    ]
    return all(separates(language, window, period) for language in alone)


def automata(size: int) -> Iterator[Dfa]:
    """All minimal automata of a size over two symbols."""
    for rows in transitions(size):
        for accepting in product((False, True), repeat=size):
            if len(set(partition(rows, accepting))) == size:
                yield Dfa(("a", "b"), rows, accepting)


def check(dfa: Dfa, bounds: Bounds) -> tuple[str, str]:
    """Compare the decision with the brute force; its answers without positions, at a mark and at the last symbol."""
    decision = decide(dfa, ends=["state", "visible"], bounds=bounds)
    for end, oracle in (("state", names_states), ("visible", names_states_at_the_last_symbol)):
        for fragment, pairs in PAIRS.items():
            verdict = decision.verdict(fragment, end)
            if verdict.verdict == "yes":
                assert verdict.window is not None
                assert verdict.period is not None
                assert oracle(dfa.delta, verdict.window, verdict.period), (dfa, fragment, end)
                smaller = [(k, m) for k, m in pairs if (k + m, k) < (verdict.window + verdict.period, verdict.window)]
            else:
                assert verdict.verdict == "no" or fragment != "none"
                smaller = pairs
            assert not any(oracle(dfa.delta, k, m) for k, m in smaller), (dfa, fragment, end)
    return decision.verdict("none", "state").verdict, decision.verdict("none", "visible").verdict


def test_all_automata_are_met() -> None:
    """The counts that Domaratzki, Kisman and Shallit (2002) give for two symbols."""
    assert [sum(1 for _ in transitions(size)) for size in (1, 2, 3)] == [1, 12, 216]
    assert [sum(1 for _ in automata(size)) for size in (1, 2, 3)] == [2, 24, 1028]


def test_all_automata_up_to_three_states() -> None:
    found = [check(dfa, Bounds(3, 4)) for size in (1, 2, 3) for dfa in automata(size)]
    assert {("yes", "yes"), ("no", "no"), ("no", "yes")} == set(found), "an end mark is the harder place"


def test_a_sample_of_four_states() -> None:
    rng = stream(49, "four states")
    rows = list(transitions(4))
    checked = 0
    while checked < 150:
        chosen = rows[int(rng.integers(len(rows)))]
        accepting = tuple((rng.random(4) < 0.5).tolist())
        if len(set(partition(chosen, accepting))) == 4:
            check(Dfa(("a", "b"), chosen, accepting), Bounds(3, 4))
            checked += 1


@pytest.mark.slow
def test_all_automata_of_four_states() -> None:
    count = sum(check(dfa, Bounds(3, 4)) is not None for dfa in automata(4))
    assert count == 56_014


def test_a_program_for_every_state() -> None:
    """Where the answer is yes, programs of this window and period name the state after every string."""
    rng, proved = stream(49, "programs"), 0
    batches = [words for words in all_arrays(2, 7) if words.shape[1]]
    candidates = [dfa for size in (2, 3) for dfa in automata(size)]
    for index in rng.permutation(len(candidates))[:60].tolist():
        dfa = candidates[index]
        verdict = decide(dfa, ends=["state"]).verdict("ape", "state")
        if verdict.verdict != "yes":
            continue
        for state in range(dfa.size):
            of_state = minimize(Dfa(dfa.alphabet, dfa.delta, tuple(q == state for q in range(dfa.size))))
            for end in ("eos", "visible"):
                program = extract(of_state, verdict.window or 1, verdict.period or 1, end)
                for words in batches:
                    assert np.array_equal(run(program, words), dfa.states_along(words)[:, -1] == state)
        proved += 1
    assert proved >= 15


def test_programs_are_of_membership() -> None:
    with pytest.raises(LengthwiseError, match="use the end convention visible or eos instead of state"):
        program_of(decide("(ab)*", ends=["state"]), "none", "state")
