import itertools

import pytest
import sympy

from languages.oracles import random_dfa
from lengthwise.core.rng import stream
from lengthwise.crasp.certificates import combinations_for
from lengthwise.crasp.decide import LinearSystem, components, refine, rows_of
from lengthwise.languages.automaton import language, minimize, strongly_connected


def random_component(rng, states=6):
    """A component with at least two states of a random automaton, edges labelled by symbols (perhaps of 3 letters)."""
    while True:
        dfa = random_dfa(states, "abc"[: int(rng.integers(1, 4))], rng)
        numbers = strongly_connected(dfa.delta)
        largest = max(set(numbers), key=numbers.count)
        members = [state for state in range(dfa.size) if numbers[state] == largest]
        if len(members) > 1:
            place = {state: index for index, state in enumerate(members)}
            return len(members), [
                (place[state], symbol, place[target])
                for state in members
                for symbol, target in enumerate(dfa.delta[state])
                if target in place
            ]


def null_space(count, edges, classes):
    """Potentials V and E together, by sympy: the textbook linear system with one row per edge."""
    labels = sorted({(label, classes[source]) for source, label, _ in edges})
    matrix = sympy.zeros(len(edges), count + len(labels))
    for row, (source, label, target) in enumerate(edges):
        matrix[row, target] += 1
        matrix[row, source] -= 1
        matrix[row, count + labels.index((label, classes[source]))] -= 1
    return matrix.nullspace()


def test_merged_nodes_are_those_of_the_null_space():
    rng = stream(21, "null space")
    for _ in range(60):
        count, edges = random_component(rng)
        classes = [int(rng.integers(2)) for _ in range(count)] if rng.random() < 0.5 else [0] * count
        basis = null_space(count, edges, classes)
        keys = LinearSystem(count, rows_of(edges, classes)).keys()
        for p, q in itertools.combinations(range(count), 2):
            assert (keys[p] == keys[q]) == all(vector[p] == vector[q] for vector in basis)


def test_potentials_balance_every_edge_and_separate_all_that_can_be():
    rng = stream(22, "potentials")
    for _ in range(100):
        count, edges = random_component(rng, 7)
        chain = refine(count, edges)
        for before, after, potential in zip(chain.partitions, chain.partitions[1:], chain.potentials(), strict=False):
            for source, label, target in edges:
                step = potential.steps[label, before[source]]
                assert potential.values[target] == potential.values[source] + step
            assert len(set(after)) == len(set(zip(before, potential.values, strict=True)))


def test_combinations_add_up_to_the_difference():
    rng = stream(23, "combinations")
    merged = 0
    for _ in range(100):
        count, edges = random_component(rng)
        classes = refine(count, edges).classes
        pairs = [(p, q) for p, q in itertools.combinations(range(count), 2) if classes[p] == classes[q]]
        merged += len(pairs)
        for (p, q), terms in zip(pairs, combinations_for(edges, classes, pairs), strict=True):
            total = [0] * count
            for edge, other, weight in terms:
                assert (edge[1], classes[edge[0]]) == (other[1], classes[other[0]])
                for node, sign in ((edge[2], 1), (edge[0], -1), (other[2], -1), (other[0], 1)):
                    total[node] += sign * weight
            assert total == [(node == p) - (node == q) for node in range(count)]
    assert merged > 30


def test_worked_examples():
    assert refine(2, [(0, 0, 1), (1, 1, 0)]).classes == (0, 1)  # (ab)*
    assert refine(2, [(0, 0, 1), (1, 0, 0)]).classes == (0, 0)  # (aa)*
    assert refine(4, [(i, 0, (i + 1) % 4) for i in range(4)]).classes == (0, 0, 0, 0)  # (aaaa)*
    # (a(ab)*b)*: one round gives depth 0, 1, 2; (ab|ba)* needs values −1, 0, 1.
    chain = next(components(language("(a(ab)*b)*"), 1, 1, max_nodes=100)).refinement()
    assert sorted(chain.potentials()[0].values) in ([0, 1, 2], [-2, -1, 0])


def test_refinement_needs_several_rounds_somewhere():
    rounds = {
        regex: [len(c.refinement().partitions) - 1 for c in components(language(regex), 1, 1, max_nodes=100)]
        for regex in ("(ab|bbaa)*", "(ab)*(ba)*", "(aab|b)*")
    }
    assert rounds == {"(ab|bbaa)*": [2], "(ab)*(ba)*": [1, 1], "(aab|b)*": [0]}


def test_product_nodes_are_reachable_in_their_component():
    rng = stream(25, "product")
    for _ in range(40):
        dfa = minimize(random_dfa(4, "ab", rng))
        for component in components(dfa, 3, 2, max_nodes=10_000):
            for node in component.nodes:
                assert len(node.window) == 2
            reached = {(0, (), 0)}
            queue = list(reached)
            for state, window, phase in queue:
                for symbol, target in enumerate(dfa.delta[state]):
                    following = (target, (*window, symbol)[-2:], (phase + 1) % 2)
                    if following not in reached:
                        reached.add(following)
                        queue.append(following)
            assert {(node.state, node.window, node.phase) for node in component.nodes} <= reached


@pytest.mark.parametrize("count", [3, 100, 400])
def test_many_free_nodes_get_different_values(count: int) -> None:
    assert len(set(LinearSystem(count, []).potential([0] * count))) == count
