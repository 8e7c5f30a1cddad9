"""Certificates of a decision: what is written down, in words, and in files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError, reject, require
from lengthwise.core.files import read_json, write_json
from lengthwise.crasp.checker import check
from lengthwise.crasp.decide import (
    END_WORDS,
    FRAGMENT_NAMES,
    FRAGMENTS,
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
from lengthwise.languages.automaton import (
    Dfa,
    Search,
    Word,
    access_words,
    dfa_from_json,
    dfa_to_json,
    distinguishing_word,
    language,
    minimize,
)
from lengthwise.languages.monoid import TransitionSemigroup
from lengthwise.languages.named import LANGUAGES

Vector = dict[int, Fraction]
Term = tuple[Edge, Edge, Fraction]
"""A weight times the equation of two edges with one refined label: V(v) − V(u) − V(v₀) + V(u₀) = 0."""
MOST_NODES = 2_000_000
"""Pairs of an element and a remainder among which words are searched for."""


def combinations_for(
    edges: Iterable[Edge], classes: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> list[list[Term]]:
    """For each merged pair (p, q) terms that add up to V(p) − V(q).

    Labels are refined by the ``classes`` of their sources. Gaussian elimination over the rationals remembers how every
    row was combined; it takes equations in order until all pairs are merged. Raises `ValueError` for one that never is.
    """
    equations: list[tuple[Edge, Edge]] = []
    pivots: dict[int, tuple[Vector, Vector]] = {}  # pivot node -> (row, combination of equations)

    def reduced(row: Vector, combination: Vector) -> tuple[Vector, Vector]:
        while (node := next((node for node in row if node in pivots), None)) is not None:
            factor = row[node] / pivots[node][0][node]
            for target, source in zip((row, combination), pivots[node], strict=True):
                for key, weight in source.items():
                    target[key] = target.get(key, Fraction(0)) - factor * weight
                    if not target[key]:
                        del target[key]
        return row, combination

    def difference(pair: tuple[int, int]) -> tuple[Vector, Vector]:
        return reduced({pair[0]: Fraction(1), pair[1]: Fraction(-1)}, {})

    first: dict[tuple[int, int], Edge] = {}
    seen: set[frozenset[tuple[int, Fraction]]] = set()
    unmerged = list(pairs)
    for edge in edges:
        if not unmerged:
            break
        known = first.setdefault((edge[1], classes[edge[0]]), edge)
        row: Vector = {}
        for node, sign in ((edge[2], 1), (edge[0], -1), (known[2], -1), (known[0], 1)):
            row[node] = row.get(node, Fraction(0)) + sign
        row = {node: weight for node, weight in row.items() if weight}
        key = frozenset(row.items())
        if row and key not in seen:
            seen.add(key)
            equations.append((edge, known))
            row, combination = reduced(row, {len(equations) - 1: Fraction(1)})
            if row:  # the equation is new
                pivots[min(row)] = (row, combination)
                unmerged = [pair for pair in unmerged if difference(pair)[0]]
    found: list[list[Term]] = []
    for pair in pairs:
        row, combination = difference(pair)
        reject(bool(row), f"nodes {pair[0]} and {pair[1]} are not merged")
        found.append([(*equations[number], -weight) for number, weight in sorted(combination.items())])
    return found


def certificate(decision: Decision, fragment: str, end: str) -> dict[str, Any] | None:
    """The certificate of one verdict; None for *unknown*. Raises `LengthwiseError` for the end convention ``next``."""
    of_membership(end, "certificates")
    verdict = decision.verdict(fragment, end)
    head = {"regex": decision.regex, "fragment": fragment, "end": end, "answer": verdict.verdict}
    if verdict.verdict == "unknown":
        return None
    if verdict.verdict == "yes":
        return head | _yes(decision, verdict.window or 1, verdict.period or 1, end)
    if verdict.reason == "merged pair":
        return head | no_for(decision, 1, 1, end, letter=verdict.letter)
    target = _target(decision, verdict.letter)
    body = {
        "stable local test": lambda: _local(target, target.refuted_for_all, "all", "all"),
        "all windows": lambda: _local(target, target.refuted_for_windows(1), "all", 1),
        "all periods": lambda: _local(target, target.refuted_for_periods, 1, "all"),
    }[verdict.reason]()
    return head | _header(decision, verdict.letter, target.dfa) | body


def no_for(decision: Decision, window: int, period: int, end: str, *, letter: int | None = None) -> dict[str, Any]:
    """The certificate that no program has this window and period; raises `LengthwiseError` if there is one."""
    for choice in _letters(decision, end) if letter is None else [letter]:
        target = _target(decision, choice)
        for component in components(target.dfa, window, period, max_nodes=target.bounds.max_nodes):
            refinement = component.refinement()
            if len(set(refinement.classes)) < len(component.nodes):
                body = _product(target.dfa, component, refinement, window, period)
                return {"answer": "no", "end": end} | _header(decision, choice, target.dfa) | body
    raise LengthwiseError(
        f"window {window} and period {period} under {end}: all states are separated, so no 'no' exists"
    )


def _letters(decision: Decision, end: str) -> Sequence[int | None]:
    """The last symbols of which each has a part of its own; None stands for the whole language."""
    return [None] if end == "eos" else range(len(decision.dfa.alphabet))


def _target(decision: Decision, letter: int | None) -> Analysis:
    dfa = decision.dfa if letter is None else minimize(decision.dfa.right_quotient(letter))
    return decision.analyses[dfa]


def _header(decision: Decision, letter: int | None, dfa: Dfa) -> dict[str, Any]:
    automaton = {
        "alphabet": list(dfa.alphabet),
        "delta": [list(row) for row in dfa.delta],
        "accepting": [state for state, flag in enumerate(dfa.accepting) if flag],
    }
    return {"letter": None if letter is None else decision.dfa.alphabet[letter], "automaton": automaton}


def _yes(decision: Decision, window: int, period: int, end: str) -> dict[str, Any]:
    parts = []
    for letter in _letters(decision, end):
        target = _target(decision, letter)
        if (window, period) not in target.chains:  # fragments with the same window and period share them
            found = components(target.dfa, window, period, max_nodes=target.bounds.max_nodes)
            target.chains[window, period] = [_chain(target.dfa, one) for one in found if one.needs_counting()]
        parts.append(_header(decision, letter, target.dfa) | {"components": target.chains[window, period]})
    return {"windows": window, "periods": period, "parts": parts}


def _chain(dfa: Dfa, component: Component) -> dict[str, Any]:
    refinement = component.refinement()
    rounds = []
    for potential in refinement.potentials():
        steps = [[name, dfa.alphabet[label % len(dfa.alphabet)], e] for (label, name), e in potential.steps.items()]
        rounds.append({"values": list(potential.values), "steps": steps})
    nodes = [_node(dfa, node) for node in component.nodes]
    return {"nodes": nodes, "classes": list(refinement.partitions[0]), "rounds": rounds}


def _node(dfa: Dfa, node: ProductNode) -> list[Any]:
    return [node.state, list(dfa.decode(node.window)), node.phase]


def _product(dfa: Dfa, component: Component, refinement: Refinement, window: int, period: int) -> dict[str, Any]:
    symbols = len(dfa.alphabet)
    pairs = refinement.merged_pairs()
    p, q = (component.nodes[node] for node in pairs[0])

    def successors(node: ProductNode) -> Iterator[ProductNode]:
        for symbol, target in enumerate(dfa.delta[node.state]):
            seen = (*node.window, symbol)[-(window - 1) :] if window > 1 else ()
            yield ProductNode(target, seen, (node.phase + 1) % period)

    search = Search(ProductNode(0, (), 0), successors)
    for _ in search:
        if p in search.parents and q in search.parents:
            break
    head = {"windows": window, "periods": period, "stable": None, "loop": None}
    number = {label: label % symbols for _, label, _ in component.edges}
    head["letters"] = [[symbol] for symbol in dfa.alphabet]
    return head | _merged(dfa, refinement, component.nodes, number, [search.word(node) for node in (p, q)])


def _merged(
    dfa: Dfa, refinement: Refinement, nodes: Sequence[ProductNode], number: dict[int, int], access: Iterable[Word]
) -> dict[str, Any]:
    """Nodes with a merged pair, the equations that merge it, of edges whose labels have a ``number``, and words."""
    pairs = refinement.merged_pairs()
    p, q = (nodes[node].state for node in pairs[0])
    edges = [edge for edge in refinement.edges if edge[1] in number]
    combinations = []
    for pair, terms in zip(pairs, combinations_for(edges, refinement.classes, pairs), strict=True):
        written = [
            [*([edge[0], number[edge[1]]] for edge in both), [weight.numerator, weight.denominator]]
            for *both, weight in terms
        ]
        combinations.append({"pair": list(pair), "terms": written})
    return {
        "nodes": [_node(dfa, node) for node in nodes],
        "classes": list(refinement.classes),
        "combinations": combinations,
        "pair": list(pairs[0]),
        "access": [list(dfa.decode(word)) for word in access],
        "suffix": list(dfa.decode(distinguishing_word(dfa, p, q) or ())),
    }


def _local(target: Analysis, system: LocalSystem | None, windows: int | str, periods: int | str) -> dict[str, Any]:
    """A certificate from merged states that loop on a word, for all windows and/or all periods.

    Verdicts with the same reason share it: what it takes is searched for once.
    """
    dfa, semigroup = target.dfa, target.semigroup
    assert system is not None
    assert semigroup is not None
    key = (id(system), windows, periods)
    if key in target.certificates:
        return target.certificates[key]
    stable = semigroup.by_length.stable_index if periods == "all" else None
    refinement, loop = system.refinement, system.idempotent
    pairs = refinement.merged_pairs()
    used = _needed_letters(refinement, pairs, len(system.states))
    number = {label: index for index, label in enumerate(used)}
    elements = [system.letters[label] for label in used]
    wanted = [*elements, *([] if loop is None else [loop])]
    words = words_by_remainder(semigroup, stable or int(periods), wanted)
    access = access_words(dfa)
    head = {"windows": windows, "periods": periods, "stable": stable}
    head["loop"] = None if loop is None else list(dfa.decode(words[loop]))
    head["letters"] = [list(dfa.decode(words[element])) for element in elements]
    nodes = [ProductNode(state, (), 0) for state in system.states]
    to_pair = [access[system.states[node]] for node in pairs[0]]
    target.certificates[key] = head | _merged(dfa, refinement, nodes, number, to_pair)
    return target.certificates[key]


def words_by_remainder(semigroup: TransitionSemigroup, step: int, elements: Iterable[int]) -> dict[int, Word]:
    """For each element a shortest word of a length divisible by ``step`` that induces it."""
    wanted = set(elements)
    numbers = {mapping: number for number, mapping in enumerate(semigroup.maps)}
    letters = [numbers[letter] for letter in zip(*semigroup.dfa.delta, strict=True)]

    def successors(node: tuple[int, int]) -> list[tuple[int, int]]:
        element, remainder = node
        return [(target, (remainder + 1) % step) for target in (letters if element < 0 else semigroup.right[element])]

    search = Search((-1, 0), successors)
    found: dict[int, Word] = {}
    for element, remainder in search:
        if remainder == 0 and element in wanted:
            found[element] = search.word((element, remainder))
            if len(found) == len(wanted):
                break
        if len(search.parents) > MOST_NODES:
            raise LengthwiseError(f"a certificate takes more than {MOST_NODES:,} nodes to search; not written")
    return found


def _needed_letters(refinement: Refinement, pairs: list[tuple[int, int]], count: int) -> list[int]:
    """Letters that the combinations use, and enough others to connect all nodes both ways."""
    combined = combinations_for(refinement.edges, refinement.classes, pairs)
    used = {edge[1] for terms in combined for edge, _, _ in terms}
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


MAX_STATES = 40  # the size of a certificate grows with the cube of the number of states


def explanation(decision: Decision, fragment: str, end: str) -> str:
    """`explain` of the verdict's certificate, or one sentence for automata beyond `MAX_STATES`; empty for *unknown*."""
    if decision.verdict(fragment, end).verdict == "unknown":
        return ""
    if decision.dfa.size > MAX_STATES:
        return f"{decision.dfa.size} states are too many for a certificate by hand (at most {MAX_STATES})."
    found = certificate(decision, fragment, end)
    return "" if found is None else explain(found)


def explain(certificate: dict[str, Any]) -> str:
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


def _explain_yes(certificate: dict[str, Any], end: str) -> str:
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


def _scope(certificate: dict[str, Any]) -> str:
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


FORMAT = "lengthwise certificates 1"
WHAT = "certificate file"


@dataclass(frozen=True)
class CheckedCertificate:
    """One certificate that holds; ``rebuilt`` if its automaton was made again from an expression."""

    source: str
    fragment: str
    end: str
    answer: str
    rebuilt: bool


def certified(source: str, decision: Decision) -> dict[str, Any]:
    """A language's automaton and the certificate of every yes and no, each checked; *unknown* has none."""
    made = [certificate(decision, fragment, end) for fragment in FRAGMENTS for end in decision.ends]
    # As they will be read: words are lists then.
    certificates = json.loads(json.dumps([one for one in made if one is not None]))
    for one in certificates:
        check(one, decision.dfa)
    return {"source": source, "automaton": dfa_to_json(decision.dfa), "certificates": certificates}


def write_certificates(path: Path, languages: list[dict[str, Any]]) -> None:
    """Write what `certified` made of each language, whole or not at all."""
    write_json(path, {"format": FORMAT, "languages": languages}, dense=True)


def _is_of(expression: str, dfa: Dfa) -> bool:
    named = LANGUAGES.get(expression)
    try:
        return (named is not None and named.dfa() == dfa) or language(expression, dfa.alphabet) == dfa
    except LengthwiseError:
        return False


def check_certificates(path: Path) -> Iterator[CheckedCertificate]:
    """Check every certificate of a file in order; raises `LengthwiseError` at the first that proves nothing.

    The automaton of an expression is built again and must be the file's; what came from an automaton file is a
    statement about the automaton that the file holds.
    """
    value = read_json(path, what=WHAT)
    known = isinstance(value, dict) and value.get("format") == FORMAT and isinstance(value.get("languages"), list)
    require(known, f"{path} is no {WHAT}; write one with `lw.decide(EXPRESSION).save_certificates(FILE)`")
    for entry in value["languages"]:
        require(
            isinstance(entry, dict) and set(entry) == {"source", "automaton", "certificates"}
            and isinstance(entry["source"], str) and isinstance(entry["certificates"], list),
            f"{path}: a language has a source, an automaton and certificates, nothing else",
        )  # fmt: skip
        source = entry["source"]
        dfa = minimize(dfa_from_json(entry["automaton"], where=f"automaton of {source!r} in {path}"))
        rebuilt = not source.endswith(".json")
        require(not rebuilt or _is_of(source, dfa), f"{path}: the automaton is not that of {source!r}")
        for one in entry["certificates"]:
            require(isinstance(one, dict), f"{path}, {source}: a certificate is an object")
            fragment, end = str(one.get("fragment")), str(one.get("end"))
            try:
                check(one, dfa)
            except LengthwiseError as error:
                which = f"{FRAGMENT_NAMES.get(fragment, fragment)}, {END_WORDS.get(end, end)}"
                raise LengthwiseError(f"{path}, {source}, {which}: {error}") from None
            yield CheckedCertificate(source, fragment, end, one["answer"], rebuilt)
