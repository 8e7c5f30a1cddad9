"""Programs found by brute force, without potentials, contradict no verdict about C-RASP without positions."""

from __future__ import annotations

import itertools
from math import gcd

import numpy as np

from languages.oracles import all_arrays, random_languages
from lengthwise.core.rng import stream
from lengthwise.crasp.decide import decide

LONGEST = 9


def values_of_programs(batches):
    """Truth values after each word (read at an end mark) of many programs of depth at most two, over {a, b}.

    Comparisons α·#a + β·#b ≤ c; "never a letter right after such a comparison holds"; conjunctions of two.
    """
    directions = [d for d in itertools.product(range(-2, 3), repeat=2) if gcd(*d) == 1]
    after: list[list[np.ndarray]] = []
    for words in batches:
        counts = np.zeros((2, len(words), words.shape[1] + 1), dtype=np.int64)
        for letter in (0, 1):
            counts[letter, :, 1:] = np.cumsum(words == letter, axis=1)
        columns = []
        compared = [a * counts[0] + b * counts[1] <= c for a, b in directions for c in range(-3, 4)]
        columns += [held[:, -1] for held in compared]
        for held in compared:
            columns += [~((words == letter) & held[:, :-1]).any(axis=1) for letter in (0, 1)]
        after.append(columns)
    rows = np.array([np.concatenate(parts) for parts in zip(*after, strict=True)])
    rows = np.unique(rows, axis=0)
    known = {row.tobytes() for row in rows} | {(~row).tobytes() for row in rows}
    for row in rows:
        both = rows & row
        known.update(values.tobytes() for values in both)
        known.update(values.tobytes() for values in ~both)
    return known


def test_programs_found_by_brute_force_contradict_no_verdict():
    batches = list(all_arrays(2, LONGEST))
    known = values_of_programs(batches)
    found = {"eos": 0, "visible": 0}
    verdicts = {"eos": [0, 0], "visible": [0, 0]}
    languages = random_languages(400, stream(35, "brute force"), alphabets=("ab",))
    for regex, alphabet, dfa in languages:
        decision = decide(regex, alphabet)
        quotients = {"eos": [dfa], "visible": [dfa.right_quotient(0), dfa.right_quotient(1)]}
        for end, parts in quotients.items():
            values = [np.concatenate([part.accepts_batch(words) for words in batches]) for part in parts]
            answer = decision.verdict("none", end).verdict
            verdicts[end][answer == "yes"] += 1
            if all(value.tobytes() in known for value in values):
                found[end] += 1
                assert answer == "yes", (regex, end)
    # Not vacuous: programs are found for many languages, and both answers occur often.
    assert min(found.values()) >= 30
    assert min(min(counts) for counts in verdicts.values()) >= 50
