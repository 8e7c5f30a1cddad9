"""Writes the certificate of a verdict as plain JSON values; ``checker.py`` verifies it without this code.

A *yes* lists integer potentials round by round. A *no* lists states, letters (words), a partition, and for every merged
pair a rational combination of equations equal to the difference of the two values; its ``windows`` and ``periods`` are
a number or ``"all"``. Words are lists of symbols. An ``automaton`` is that of the language or, with a ``letter``, of
its right quotient by that letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lengthwise.core.errors import LengthwiseError
from lengthwise.crasp.certificates.combination import EquationTerm, combinations_for
from lengthwise.crasp.decide.analysis import Analysis
from lengthwise.crasp.decide.decision import Decision, of_membership
from lengthwise.crasp.decide.potential import Edge, Refinement
from lengthwise.crasp.decide.product import Component, ProductNode, components
from lengthwise.crasp.decide.stable_local_test import LocalSystem
from lengthwise.languages.automata.automaton import Dfa, Word
from lengthwise.languages.automata.minimize import access_words, distinguishing_word, minimize
from lengthwise.languages.automata.monoid import TransitionSemigroup
from lengthwise.languages.automata.search import Search, trace_back

CertificateData = dict[str, Any]
MOST_NODES = 2_000_000
"""Pairs of an element and a remainder among which words are searched for."""


def certificate(decision: Decision, fragment: str, end: str) -> CertificateData | None:
    """The certificate of one verdict; None for *unknown*. Raises `LengthwiseError` for the end convention ``next``."""
    of_membership(end, "certificates")
    verdict = decision.verdict(fragment, end)
    head: CertificateData = {"regex": decision.regex, "fragment": fragment, "end": end, "answer": verdict.verdict}
    if verdict.verdict == "unknown":
        return None
    if verdict.window is not None and verdict.period is not None:
        return head | _yes(decision, verdict.window, verdict.period, end)
    target = _target(decision, verdict.letter)
    body: CertificateData | None = None
    match verdict.reason:
        case "merged pair":
            return head | no_for(decision, 1, 1, end, letter=verdict.letter)
        case "stable local test":
            body = _local(target, target.refuted_for_all, "all", "all")
        case "all windows":
            body = _local(target, target.refuted_for_windows(1), "all", 1)
        case "all periods":
            body = _local(target, target.refuted_for_periods, 1, "all")
    return head | _header(decision, verdict.letter, target.dfa) | _present(body)


def no_for(decision: Decision, window: int, period: int, end: str, *, letter: int | None = None) -> CertificateData:
    """The certificate that no program has this window and period; raises `LengthwiseError` if there is one."""
    choices: Sequence[int | None] = [None] if end == "eos" else range(len(decision.dfa.alphabet))
    for choice in choices if letter is None else [letter]:
        target = _target(decision, choice)
        for component in components(target.dfa, window, period, max_nodes=target.bounds.max_nodes):
            refinement = component.refinement()
            if len(set(refinement.classes)) < len(component.nodes):
                body = _product(target.dfa, component, refinement, window, period)
                return {"answer": "no", "end": end} | _header(decision, choice, target.dfa) | body
    raise LengthwiseError(
        f"window {window} and period {period} under {end}: all states are separated, so no 'no' exists"
    )


def words_by_remainder(semigroup: TransitionSemigroup, step: int, elements: Iterable[int]) -> dict[int, Word]:
    """For each element a shortest word of a length divisible by ``step`` that induces it."""
    wanted = set(elements)
    letters = list(zip(*semigroup.dfa.delta, strict=True))
    numbers = {mapping: number for number, mapping in enumerate(semigroup.maps)}
    root = (-1, 0)
    origin: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {root: None}
    queue: list[tuple[int, int]] = []
    for symbol, letter in enumerate(letters):
        if (start := (numbers[letter], 1 % step)) not in origin:
            origin[start] = (root, symbol)
            queue.append(start)
    found: dict[int, Word] = {}
    for element, remainder in queue:
        if remainder == 0 and element in wanted:
            found[element] = trace_back(origin, (element, remainder))
            if len(found) == len(wanted):
                break
        if len(queue) > MOST_NODES:
            raise LengthwiseError(f"a certificate takes more than {MOST_NODES:,} nodes to search; not written")
        for symbol, target in enumerate(semigroup.right[element]):
            if (following := (target, (remainder + 1) % step)) not in origin:
                origin[following] = ((element, remainder), symbol)
                queue.append(following)
    return found


def _present(body: CertificateData | None) -> CertificateData:
    if body is None:
        raise AssertionError("a verdict without its reason")
    return body


def _target(decision: Decision, letter: int | None) -> Analysis:
    if letter is None:
        return decision.analysis
    return decision.analyses[minimize(decision.dfa.right_quotient(letter))]


def _header(decision: Decision, letter: int | None, dfa: Dfa) -> CertificateData:
    return {"letter": None if letter is None else decision.dfa.alphabet[letter], "automaton": _automaton(dfa)}


def _automaton(dfa: Dfa) -> dict[str, Any]:
    return {
        "alphabet": list(dfa.alphabet),
        "delta": [list(row) for row in dfa.delta],
        "accepting": [state for state, flag in enumerate(dfa.accepting) if flag],
    }


def _yes(decision: Decision, window: int, period: int, end: str) -> CertificateData:
    letters: Sequence[int | None] = [None] if end == "eos" else range(len(decision.dfa.alphabet))
    parts = [
        _header(decision, letter, target.dfa) | {"components": _chains(target, window, period)}
        for letter in letters
        for target in [_target(decision, letter)]
    ]
    return {"windows": window, "periods": period, "parts": parts}


def _chains(target: Analysis, window: int, period: int) -> list[dict[str, Any]]:
    """The potentials of the components, which fragments with the same window and period share."""
    if (window, period) not in target.chains:
        found = components(target.dfa, window, period, max_nodes=target.bounds.max_nodes)
        chains = [_chain(target.dfa, component) for component in found if component.needs_counting()]
        target.chains[window, period] = chains
    return target.chains[window, period]


def _chain(dfa: Dfa, component: Component) -> dict[str, Any]:
    refinement = component.refinement()
    rounds = [
        {
            "values": list(potential.values),
            "steps": [
                [name, dfa.alphabet[label % len(dfa.alphabet)], e] for (label, name), e in potential.steps.items()
            ],
        }
        for potential in refinement.potentials()
    ]
    return {
        "nodes": [_node(dfa, node) for node in component.nodes],
        "classes": list(refinement.partitions[0]),
        "rounds": rounds,
    }


def _node(dfa: Dfa, node: ProductNode) -> list[Any]:
    return [node.state, list(dfa.decode(node.window)), node.phase]


def _product(dfa: Dfa, component: Component, refinement: Refinement, window: int, period: int) -> CertificateData:
    symbols = len(dfa.alphabet)
    pairs = refinement.merged_pairs()
    first, second = pairs[0]
    p, q = component.nodes[first], component.nodes[second]
    return {
        "windows": window,
        "periods": period,
        "stable": None,
        "loop": None,
        "letters": [[symbol] for symbol in dfa.alphabet],
        "nodes": [_node(dfa, node) for node in component.nodes],
        "classes": list(refinement.classes),
        "combinations": _combinations(refinement.edges, refinement.classes, pairs, lambda label: label % symbols),
        "pair": [first, second],
        "access": [list(dfa.decode(word)) for word in _access(dfa, (p, q), window, period)],
        "suffix": list(dfa.decode(_distinguish(dfa, p.state, q.state))),
    }


def _local(
    target: Analysis, system: LocalSystem | None, windows: int | str, periods: int | str
) -> CertificateData | None:
    """A certificate from merged states that loop on a word, for all windows and/or all periods.

    Verdicts with the same reason share it: what it takes is searched for once.
    """
    if system is None or target.semigroup is None:
        return None
    key = (id(system), windows, periods)
    if key not in target.certificates:
        target.certificates[key] = _local_body(target, target.semigroup, system, windows, periods)
    return target.certificates[key]


def _local_body(
    target: Analysis, semigroup: TransitionSemigroup, system: LocalSystem, windows: int | str, periods: int | str
) -> CertificateData:
    dfa = target.dfa
    stable = semigroup.by_length.stable_index if periods == "all" else None
    step = stable or int(periods)
    refinement = system.refinement
    pairs = refinement.merged_pairs()
    used = _needed_letters(refinement, pairs, len(system.states))
    number = {label: index for index, label in enumerate(used)}
    elements = [system.letters[label] for label in used]
    words = words_by_remainder(
        semigroup, step, [*elements, *([system.idempotent] if system.idempotent is not None else [])]
    )
    first, second = pairs[0]
    access = access_words(dfa)
    p, q = system.states[first], system.states[second]
    edges = [edge for edge in refinement.edges if edge[1] in number]
    return {
        "windows": windows,
        "periods": periods,
        "stable": stable,
        "loop": None if system.idempotent is None else list(dfa.decode(words[system.idempotent])),
        "letters": [list(dfa.decode(words[element])) for element in elements],
        "nodes": [[state, [], 0] for state in system.states],
        "classes": list(refinement.classes),
        "combinations": _combinations(edges, refinement.classes, pairs, lambda label: number[label]),
        "pair": [first, second],
        "access": [list(dfa.decode(access[p])), list(dfa.decode(access[q]))],
        "suffix": list(dfa.decode(_distinguish(dfa, p, q))),
    }


def _needed_letters(refinement: Refinement, pairs: list[tuple[int, int]], count: int) -> list[int]:
    """Letters that the combinations use, and enough others to connect all nodes both ways."""
    used = {term.edge[1] for terms in combinations_for(refinement.edges, refinement.classes, pairs) for term in terms}
    for forward in (True, False):
        reached = {0}
        grown = True
        while grown and len(reached) < count:
            grown = False
            for source, label, target in refinement.edges:
                near, far = (source, target) if forward else (target, source)
                if near in reached and far not in reached:
                    reached.add(far)
                    used.add(label)
                    grown = True
    return sorted(used)


def _combinations(
    edges: Iterable[Edge], classes: Sequence[int], pairs: list[tuple[int, int]], letter_of: Any
) -> list[dict[str, Any]]:
    def written(term: EquationTerm) -> list[Any]:
        weight = [term.weight.numerator, term.weight.denominator]
        return [[term.edge[0], letter_of(term.edge[1])], [term.other[0], letter_of(term.other[1])], weight]

    combined = combinations_for(edges, classes, pairs)
    return [
        {"pair": list(pair), "terms": [written(term) for term in terms]}
        for pair, terms in zip(pairs, combined, strict=True)
    ]


def _distinguish(dfa: Dfa, first: int, second: int) -> Word:
    word = distinguishing_word(dfa, first, second)
    if word is None:
        raise AssertionError("two states of a minimal automaton are equivalent")
    return word


def _access(dfa: Dfa, goals: tuple[ProductNode, ProductNode], window: int, period: int) -> list[Word]:
    """Shortest words that lead to two nodes of the product graph."""

    def successors(node: ProductNode) -> Iterator[ProductNode]:
        for symbol, target in enumerate(dfa.delta[node.state]):
            seen = (*node.window, symbol)[-(window - 1) :] if window > 1 else ()
            yield ProductNode(target, seen, (node.phase + 1) % period)

    search = Search(ProductNode(0, (), 0), successors)
    for _ in search:
        if all(goal in search.parents for goal in goals):
            break
    return [search.word(goal) for goal in goals]
