"""Properties of a language that cost nothing to compute: what the study's rival predictors look at."""

from __future__ import annotations

from typing import Any

from lengthwise.experiments.blind.ladder import BINS
from lengthwise.experiments.blind.words import pair_lengths, spread
from lengthwise.languages.automaton import Dfa
from lengthwise.languages.monoid import is_r_trivial, transition_semigroup
from lengthwise.languages.sampling import lengths_with_words


def features(dfa: Dfa) -> dict[str, Any]:
    """Numbers and flags of a minimal automaton, as JSON values.

    ``states``: of the complete automaton; ``monoid``: elements of the syntactic monoid; ``star_free``: the monoid is
    aperiodic; ``r_trivial``: no two states reach each other; ``resets``: every symbol keeps all states or sends all
    to one; ``pairs``: in each bin, the lengths tested at which words agree on half their length and need different
    answers after it.
    """
    semigroup = transition_semigroup(dfa)
    columns = [set(enumerate(column)) for column in zip(*dfa.delta, strict=True)]
    return {
        "states": dfa.size,
        "monoid": semigroup.monoid_size,
        "star_free": semigroup.aperiodic,
        "r_trivial": is_r_trivial(dfa),
        "resets": all(
            all(source == target for source, target in column) or len({target for _, target in column}) == 1
            for column in columns
        ),
        "pairs": {
            f"{low}-{high}": len(pair_lengths(dfa, spread(lengths_with_words(dfa, low, high)))) for low, high in BINS
        },
    }
