"""Certificates of a decision: what is written down, for pairs of answers, and in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.crasp.decide import (
    Analysis,
    Component,
    Decision,
    Edge,
    LocalSystem,
    ProductNode,
    Refinement,
    components,
    of_membership,
)
from lengthwise.languages.automaton import Dfa, Search, Word, access_words, distinguishing_word, minimize, trace_back
from lengthwise.languages.monoid import TransitionSemigroup

Vector = dict[int, Fraction]


@dataclass(frozen=True)
class EquationTerm:
    """``weight`` times the equation of two edges with one refined label: V(v) − V(u) − V(v₀) + V(u₀) = 0."""

    edge: Edge
    other: Edge
    weight: Fraction


def combinations_for(
    edges: Iterable[Edge], classes: Sequence[int], pairs: Iterable[tuple[int, int]]
) -> list[tuple[EquationTerm, ...]]:
    """For each merged pair (p, q) terms that add up to V(p) − V(q).

    Labels are refined by the ``classes`` of their sources. Raises `ValueError` for a pair that is not merged.
    """
    wanted = list(pairs)
    solver = _Solver(edges, classes, wanted)
    return [solver.difference(first, second) for first, second in wanted]


class _Solver:
    """Gaussian elimination over the rationals that remembers how every reduced row was combined.

    It takes equations in order until they show all ``wanted`` pairs to be merged.
    """

    def __init__(self, edges: Iterable[Edge], classes: Sequence[int], wanted: Sequence[tuple[int, int]]) -> None:
        self.equations: list[tuple[Edge, Edge]] = []
        self.pivots: dict[int, tuple[Vector, Vector]] = {}  # pivot node -> (row, combination of equations)
        first: dict[tuple[int, int], Edge] = {}
        seen: set[frozenset[tuple[int, int]]] = set()
        open_pairs = list(wanted)
        for edge in edges:
            if not open_pairs:
                break
            known = first.setdefault((edge[1], classes[edge[0]]), edge)
            row: dict[int, int] = {}
            for node, sign in ((edge[2], 1), (edge[0], -1), (known[2], -1), (known[0], 1)):
                row[node] = row.get(node, 0) + sign
            row = {node: weight for node, weight in row.items() if weight}
            key = frozenset(row.items())
            if row and key not in seen:
                seen.add(key)
                self.equations.append((edge, known))
                weights = {node: Fraction(weight) for node, weight in row.items()}
                if self._enter(weights, {len(self.equations) - 1: Fraction(1)}):
                    open_pairs = [pair for pair in open_pairs if self._difference(*pair)[0]]

    def _reduce(self, row: Vector, combination: Vector) -> tuple[Vector, Vector]:
        row, combination = dict(row), dict(combination)
        while (hit := next((node for node in row if node in self.pivots), None)) is not None:
            self._subtract(row, combination, hit)
        return row, combination

    def _subtract(self, row: Vector, combination: Vector, node: int) -> None:
        pivot_row, pivot_combination = self.pivots[node]
        factor = row[node] / pivot_row[node]
        for target, source in ((row, pivot_row), (combination, pivot_combination)):
            for key, weight in source.items():
                value = target.get(key, Fraction(0)) - factor * weight
                if value:
                    target[key] = value
                else:
                    target.pop(key, None)

    def _enter(self, row: Vector, combination: Vector) -> bool:
        """Whether the equation says something new."""
        row, combination = self._reduce(row, combination)
        if row:
            self.pivots[min(row)] = (row, combination)
        return bool(row)

    def _difference(self, first: int, second: int) -> tuple[Vector, Vector]:
        return self._reduce({first: Fraction(1), second: Fraction(-1)}, {})

    def difference(self, first: int, second: int) -> tuple[EquationTerm, ...]:
        """Terms that add up to V(first) − V(second); the nodes must be merged."""
        row, combination = self._difference(first, second)
        if row:
            raise ValueError(f"nodes {first} and {second} are not merged")
        return tuple(EquationTerm(*self.equations[number], -weight) for number, weight in sorted(combination.items()))


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


MAX_STATES = 40  # the size of a certificate grows with the cube of the number of states
MAX_SEARCH = 20_000  # (state, counts) pairs visited in search of access words with equal letter counts


@dataclass(frozen=True)
class Witness:
    """Two words u·xʳ·z and u′·xʳ·z of one length scale with different answers; symbols as in the alphabet."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    repeats: int


def explanation(decision: Decision, fragment: str, end: str) -> str:
    """`explain` of the verdict's certificate, or one sentence for automata beyond `MAX_STATES`; empty for *unknown*."""
    if decision.verdict(fragment, end).verdict == "unknown":
        return ""
    if decision.dfa.size > MAX_STATES:
        return f"{decision.dfa.size} states are too many for a certificate by hand (at most {MAX_STATES})."
    found = certificate(decision, fragment, end)
    return "" if found is None else explain(found)


def explain(certificate: CertificateData) -> str:
    """A few sentences: the claim, the words or potentials that prove it, and the end convention."""
    end = "the last symbol is visible" if certificate["end"] == "visible" else "the answer is read at an end mark"
    if certificate["answer"] == "yes":
        return _explain_yes(certificate, end)
    alphabet = certificate["automaton"]["alphabet"]
    first, second = certificate["pair"]
    states = [certificate["nodes"][node][0] for node in (first, second)]
    u, v = [_text(word, alphabet) for word in certificate["access"]]
    suffix = list(certificate["suffix"]) + ([certificate["letter"]] if certificate["letter"] is not None else [])
    lines = [
        f"no guarantee: no program exists {_scope(certificate)} ({end}).",
        f"After {u} and after {v} the automaton is in different states ({states[0]} and {states[1]}), "
        "and counting cannot separate them.",
        f"Yet one of them is accepted {f'after the continuation {_text(suffix, alphabet)}' if suffix else 'as it is'}, "
        "the other is not.",
    ]
    if certificate["loop"]:
        x = _text(certificate["loop"], alphabet)
        lines.append(f"{x} loops on both states: repeated often enough it fills every window, at every phase.")
    merged = len(certificate["combinations"])
    lines.append(
        f"Why: on {len(certificate['nodes'])} states, every weighted count that stays bounded gives equal values to "
        f"{merged} pair{'s' if merged != 1 else ''} of states; the certificate lists the equations."
    )
    return "\n".join(lines)


def _explain_yes(certificate: CertificateData, end: str) -> str:
    chains = [chain for part in certificate["parts"] for chain in part["components"]]
    if not chains:
        reason = "Windows and positions alone, or first occurrences, separate all states; no balanced count is needed."
    else:
        rounds = max(len(chain["rounds"]) for chain in chains)
        values = sorted({value for chain in chains for round_ in chain["rounds"] for value in round_["values"]})
        reason = (
            f"Balanced counts separate all states in {rounds} round{'s' if rounds != 1 else ''}; "
            f"inside a component they stay between {values[0]} and {values[-1]}."
        )
    return f"yes: a program exists {_scope(certificate)} ({end}).\n{reason}"


def _scope(certificate: CertificateData) -> str:
    windows, periods = certificate["windows"], certificate["periods"]
    if windows == periods == "all":
        return "for any window and any period"
    if windows == periods == 1:
        return "without windows and periods"
    window = {"all": "for any window", 1: "without windows"}.get(windows, f"with window {windows}")
    period = {"all": "for any period", 1: "without periods"}.get(periods, f"with period {periods}")
    return f"{window} and {period}"


def _text(word: Sequence[str], alphabet: Sequence[str]) -> str:
    return ("" if all(len(symbol) == 1 for symbol in alphabet) else " ").join(word) or "the empty word"


def witness(certificate: CertificateData, length: int) -> Witness:
    """Two words of about ``length`` symbols with different answers that end in the same long repetition of the loop.

    Where such access words are found, u and u′ have equal letter counts. Raises `LengthwiseError` for a certificate
    without a loop word (then there is no such pair for every window).
    """
    loop = certificate.get("loop")
    if certificate["answer"] != "no" or not loop:
        raise LengthwiseError(
            "only a 'no' for all windows has a loop to repeat; ask for the certificate of local or ape"
        )
    first, second = access_with_equal_counts(certificate)
    tail = [*certificate["suffix"], *([certificate["letter"]] if certificate["letter"] is not None else [])]
    repeats = max(1, (length - max(len(first), len(second)) - len(tail)) // len(loop))
    body = tuple(loop) * repeats
    return Witness((*first, *body, *tail), (*second, *body, *tail), repeats)


def access_with_equal_counts(certificate: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words u, u′ to the pair with equal letter counts if a bounded search finds them, else the shortest ones."""
    require(certificate["answer"] == "no", "only a 'no' has a pair of states")
    alphabet, delta = certificate["automaton"]["alphabet"], certificate["automaton"]["delta"]
    goals = [certificate["nodes"][node][0] for node in certificate["pair"]]

    def successors(node: tuple[int, tuple[int, ...]]) -> Iterator[tuple[int, tuple[int, ...]]]:
        state, counts = node
        for symbol, target in enumerate(delta[state]):
            yield target, (*counts[:symbol], counts[symbol] + 1, *counts[symbol + 1 :])

    search = Search((0, (0,) * len(alphabet)), successors)
    for state, counts in search:
        if state in goals and (goals[1 - goals.index(state)], counts) in search.parents:
            first, second = (search.word((goal, counts)) for goal in goals)
            return _symbols(first, alphabet), _symbols(second, alphabet)
        if len(search.parents) > MAX_SEARCH:
            break
    first, second = certificate["access"]
    return tuple(first), tuple(second)


def _symbols(word: Sequence[int], alphabet: Sequence[str]) -> tuple[str, ...]:
    return tuple(alphabet[symbol] for symbol in word)
