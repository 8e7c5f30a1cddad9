"""What is asked of an automaton, beside brute force."""

import math

import numpy as np

from lengthwise.languages.automaton import language


def test_the_period_divides_all_cycles_and_is_the_greatest_that_does():
    for expression, period in {"(aa)*": 2, "(ab|ba)*": 2, "(abc)*": 3, "a*": 1, "(a|b)*abb": 1, "ab": 1}.items():
        dfa = language(expression)
        step = np.zeros((dfa.size, dfa.size), dtype=bool)
        for state, row in enumerate(dfa.delta):
            step[state, [target for target in row if dfa.live[target]]] = True
        walks, closed = np.eye(dfa.size, dtype=bool), []
        for length in range(1, 4 * dfa.size):
            walks = walks @ step
            closed += [length] * bool(walks.diagonal()[list(dfa.live)].any())
        assert dfa.period == period == (math.gcd(*closed) or 1)
