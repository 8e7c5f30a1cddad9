"""The stable local test proves that no program exists for any window k and period m; two variants fix k or m.

A program with window k and period m is excluded where two states that need different answers look alike to it: equal
counts, equal last k symbols, equal position mod m. `decision.py` asks these tests before it searches for k and m. They
are sound but not complete; docs/verdicts.md has the proofs.

* *Merged*: on a strongly connected labelled graph, counts of labels tell two states apart exactly if some balanced
  potential does: numbers V with V(target) = V(source) + E(label) on every edge (`potential.py`). Others are merged.
* *Windows*: a word that loops on some states (an idempotent e of the semigroup) fills every window without changing
  them. On the states of its image the words e·t·e are the letters of a small graph; what is merged there stays merged.
* *Periods*: S_n is the set of maps that words of length n induce. For the *stable index* s, S_s = S_2s = S_3s …, so
  that words t of S_s can be had at lengths ≡ 0 mod every m.

====================  ===========  =========================  =============================
function              refutes      words t                    states
====================  ===========  =========================  =============================
`stable_local_test`   all (k, m)   the stable set T = S_s     image of an idempotent e of T
`window_test`         all k, one m length ≡ 0 mod m           image of an idempotent e
`period_test`         all m, k = 1 the stable set T = S_s     all states (no idempotent)
====================  ===========  =========================  =============================
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lengthwise.crasp.decide.potential import UNBOUNDED, Edge, Refinement, Work, refine
from lengthwise.languages.automata.components import strongly_connected
from lengthwise.languages.automata.monoid import TransitionSemigroup


@dataclass(frozen=True)
class LocalSystem:
    """A component of the graph of letters t (or e·t·e with ``idempotent`` e) in which two states stay merged.

    ``states`` are automaton states and ``letters`` semigroup elements; ``refinement`` uses indices into both.
    """

    idempotent: int | None
    states: tuple[int, ...]
    letters: tuple[int, ...]
    refinement: Refinement


def stable_local_test(semigroup: TransitionSemigroup, work: Work = UNBOUNDED) -> LocalSystem | None:
    """Refute every (k, m): a local system with a merged pair, or None if the test finds none."""
    lengths = semigroup.by_length
    return _with_idempotents(semigroup, lengths.at(lengths.stable_index), work)


def window_test(semigroup: TransitionSemigroup, period: int, work: Work = UNBOUNDED) -> LocalSystem | None:
    """Refute (k, period) for every k: a local system with a merged pair, or None if the test finds none."""
    return _with_idempotents(semigroup, semigroup.by_length.multiples(period), work)


def period_test(
    semigroup: TransitionSemigroup,
    work: Work = UNBOUNDED,
    *,
    harmful: Callable[[LocalSystem], bool] = lambda system: True,
) -> LocalSystem | None:
    """Refute (1, m) for every m: a local system with a merged pair, or None if the test finds none.

    With ``harmful`` only such systems count.
    """
    lengths = semigroup.by_length
    members = np.flatnonzero(lengths.at(lengths.stable_index))
    letters = {semigroup.maps[element]: element for element in members.tolist()}
    states = range(semigroup.dfa.size)
    return next(filter(harmful, _merged(None, tuple(states), letters, work)), None)


def _with_idempotents(semigroup: TransitionSemigroup, mask: npt.NDArray[np.bool_], work: Work) -> LocalSystem | None:
    members = np.flatnonzero(mask)
    rows = semigroup.array[members]
    for element in _idempotents(members, rows):
        e = semigroup.array[element]
        image = np.unique(e)
        local = e[rows[:, image]]  # letters e·t·e as maps from the image into itself, states by number
        letters: dict[tuple[int, ...], int] = {}
        for row, member in zip(local.tolist(), members.tolist(), strict=True):
            letters.setdefault(tuple(row), member)
        system = next(_merged(element, tuple(image.tolist()), letters, work), None)
        if system is not None:
            return system
    return None


def _idempotents(members: npt.NDArray[np.int_], rows: npt.NDArray[np.int32]) -> Iterator[int]:
    """Idempotents with an image of at least two states, one per class of the same image or the same kernel.

    Two idempotents with the same image give the same local letters; with the same kernel, isomorphic local systems.
    """
    idempotent = (np.take_along_axis(rows, rows, axis=1) == rows).all(axis=1)
    images: set[frozenset[int]] = set()
    kernels: set[tuple[int, ...]] = set()
    for element, row in zip(members[idempotent].tolist(), rows[idempotent].tolist(), strict=True):
        image = frozenset(row)
        first: dict[int, int] = {}
        kernel = tuple([first.setdefault(target, state) for state, target in enumerate(row)])
        known = image in images or kernel in kernels
        images.add(image)
        kernels.add(kernel)
        if not known and len(image) > 1:
            yield element


def _merged(
    idempotent: int | None, states: tuple[int, ...], letters: dict[tuple[int, ...], int], work: Work
) -> Iterator[LocalSystem]:
    """The components of the graph of ``letters`` (maps of ``states``, and their elements) with a merged pair."""
    work.add(len(letters) * len(states))
    number = {state: index for index, state in enumerate(states)}
    targets = [[number[target] for target in letter] for letter in letters]
    numbers = strongly_connected([list({row[index] for row in targets}) for index in range(len(states))])
    groups: dict[int, list[int]] = defaultdict(list)
    for index, component in enumerate(numbers):
        groups[component].append(index)
    for group in groups.values():
        if len(group) < 2:
            continue
        inside = {index: position for position, index in enumerate(group)}
        edges: list[Edge] = [
            (inside[index], label, inside[row[index]])
            for label, row in enumerate(targets)
            for index in group
            if row[index] in inside
        ]
        refinement = refine(len(group), edges, work=work)
        if len(set(refinement.classes)) < len(group):
            yield LocalSystem(idempotent, tuple(states[index] for index in group), tuple(letters.values()), refinement)
