"""The checker of certificates. It shares no code with what decides."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Any

from lengthwise.core.errors import LengthwiseError

MAX_STABLE = 200_000  # maps in S_s ∪ S_2s
MAX_NODES = 1_000_000  # of a product graph
MAX_SYMBOLS = 20_000_000  # in the windows of all nodes together
MAX_SIZE = 1_000  # of a window or period


class CertificateError(LengthwiseError):
    """A certificate that does not prove its claim."""


class CheckedAutomaton:
    """An automaton with the start state 0."""

    def __init__(self, alphabet: Iterable[str], delta: Iterable[Iterable[int]], accepting: Iterable[int]) -> None:
        self.alphabet = tuple(alphabet)
        self.delta = [dict(zip(self.alphabet, row, strict=True)) for row in delta]
        self.accepting = set(accepting)

    def run(self, word: Iterable[str], state: int = 0) -> int:
        """The state after ``word``."""
        for symbol in word:
            state = self.delta[state][symbol]
        return state


def prove(condition: bool, problem: str) -> None:
    """Raise `CertificateError` unless the condition holds."""
    if not condition:
        raise CertificateError(f"the certificate proves nothing: {problem}")


def maps_of_length(machine: CheckedAutomaton, length: int) -> set[tuple[int, ...]]:
    """The maps on states induced by the words of one length; raises `CertificateError` beyond `MAX_STABLE` maps."""
    steps = [[machine.delta[state][symbol] for state in range(len(machine.delta))] for symbol in machine.alphabet]
    maps = {tuple(range(len(machine.delta)))}
    for _ in range(length):
        maps = {tuple(map(step.__getitem__, mapping)) for mapping in maps for step in steps}
        prove(len(maps) <= MAX_STABLE, f"more than {MAX_STABLE} maps; the stable set is too large to check")
    return maps


def product_graph(machine: CheckedAutomaton, window: int, period: int) -> dict[Any, dict[str, Any]]:
    """All reachable nodes (state, last k−1 symbols or fewer at the start, phase) and their successors."""
    largest = max(1, min(MAX_NODES, MAX_SYMBOLS // window))
    start = (0, (), 0)
    successors: dict[Any, dict[str, Any]] = {start: {}}
    queue: list[Any] = [start]
    for node in queue:
        state, seen, phase = node
        for symbol, target in machine.delta[state].items():
            recent = (*seen, symbol)[-(window - 1) :] if window > 1 else ()
            following = (target, recent, (phase + 1) % period)
            successors[node][symbol] = following
            if following not in successors:
                prove(len(successors) < largest, f"more than {largest} nodes; the product is too large to check")
                successors[following] = {}
                queue.append(following)
    return successors


def components(successors: dict[Any, dict[str, Any]]) -> list[set[Any]]:
    """Strongly connected components by two searches (Kosaraju)."""
    order: list[Any] = []
    seen: set[Any] = set()
    sources: dict[Any, list[Any]] = {node: [] for node in successors}
    for root in successors:
        if root in seen:
            continue
        seen.add(root)
        work = [(root, iter(successors[root].values()))]
        while work:
            node, targets = work[-1]
            following = next(targets, None)
            if following is None:
                work.pop()
                order.append(node)
            elif following not in seen:
                seen.add(following)
                work.append((following, iter(successors[following].values())))
    for node, row in successors.items():
        for target in row.values():
            sources[target].append(node)
    found: list[set[Any]] = []
    assigned: set[Any] = set()
    for root in reversed(order):
        if root in assigned:
            continue
        component, pending = {root}, [root]
        while pending:
            for source in sources[pending.pop()]:
                if source not in assigned and source not in component:
                    component.add(source)
                    pending.append(source)
        assigned |= component
        found.append(component)
    return found


def reach(targets: list[set[int]], start: int) -> set[int]:
    """The nodes reachable from ``start``."""
    seen, queue = {start}, [start]
    for node in queue:
        for target in targets[node]:
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return seen


def check(certificate: dict[str, Any], language: Any) -> None:
    """Raise `CertificateError` unless the certificate proves its answer for the language.

    Of the language's automaton, whose start state is 0, it reads ``alphabet``, ``delta`` (successor per state and
    symbol) and ``accepting`` (per state).
    """
    accepting = [state for state, flag in enumerate(language.accepting) if flag]
    whole = CheckedAutomaton(language.alphabet, language.delta, accepting)
    try:
        for key in ("windows", "periods"):
            size = certificate[key]
            fits = size == "all" or (type(size) is int and 1 <= size <= MAX_SIZE)
            prove(fits, f"{key} must be a number in 1..{MAX_SIZE} or 'all'")
        prove(certificate["end"] in ("eos", "visible"), "end must be 'eos' or 'visible'")
        _check_scope(certificate)
        answer = certificate["answer"]
        prove(answer in ("yes", "no"), f"answer {answer!r} needs no certificate")
        (_check_yes if answer == "yes" else _check_no)(certificate, whole)
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError) as error:
        raise CertificateError(f"the certificate is incomplete or malformed: {error!r}") from None


USES = {"none": (False, False), "local": (True, False), "periodic": (False, True), "ape": (True, True)}
"""Whether programs of a fragment may have windows, and periods."""


def _check_scope(certificate: dict[str, Any]) -> None:
    """The certificate must cover its fragment; one without a fragment speaks of its (k, m) alone."""
    if "fragment" not in certificate:
        return
    fragment, sizes = certificate["fragment"], (certificate["windows"], certificate["periods"])
    for what, may, size in zip(("windows", "periods"), USES[fragment], sizes, strict=True):
        if certificate["answer"] == "yes":
            prove(may or size == 1, f"programs of {fragment!r} have no {what}")
        else:
            prove(not may or size == "all", f"other {what} of {fragment!r} are left open")


def _part(part: dict[str, Any], whole: CheckedAutomaton) -> CheckedAutomaton:
    """The automaton of a part, after checking that it accepts the language or its quotient by the letter."""
    machine = CheckedAutomaton(*(part["automaton"][key] for key in ("alphabet", "delta", "accepting")))
    prove(machine.alphabet == whole.alphabet, "the automaton has another alphabet")
    letter = part["letter"]
    seen = {(0, 0)}
    queue = [(0, 0)]
    for state, original in queue:
        after = original if letter is None else whole.delta[original][letter]
        prove((state in machine.accepting) == (after in whole.accepting), "the automaton accepts another language")
        for symbol in whole.alphabet:
            pair = (machine.delta[state][symbol], whole.delta[original][symbol])
            if pair not in seen:
                seen.add(pair)
                queue.append(pair)
    return machine


def _check_yes(certificate: dict[str, Any], whole: CheckedAutomaton) -> None:
    letters = [part["letter"] for part in certificate["parts"]]
    needed = [None] if certificate["end"] == "eos" else list(whole.alphabet)
    covered = len(letters) == len(needed) and set(letters) == set(needed)
    prove(covered, "not every case of the last symbol is covered")
    for part in certificate["parts"]:
        machine = _part(part, whole)
        window, period = certificate["windows"], certificate["periods"]
        successors = product_graph(machine, window, period)
        listed = [
            {(state, tuple(seen), phase): index for index, (state, seen, phase) in enumerate(chain["nodes"])}
            for chain in part["components"]
        ]
        for component in components(successors):
            if len({node[1:] for node in component}) == len(component):
                continue  # windows and phases alone separate the states
            matching = [
                chain for chain, nodes in zip(part["components"], listed, strict=True) if set(nodes) == component
            ]
            prove(len(matching) > 0, "a component of the product graph has no potentials")
            _check_chain(matching[0], successors)


def _check_chain(chain: dict[str, Any], successors: dict[Any, dict[str, Any]]) -> None:
    """Integer potentials, round by round, separate all nodes of the component."""
    nodes = [(state, tuple(window), phase) for state, window, phase in chain["nodes"]]
    number = {node: index for index, node in enumerate(nodes)}
    classes: list[Hashable] = [node[1:] for node in nodes]
    # The certificate numbers classes; its numbers must match the classes found here one to one.
    names = list(chain["classes"])
    for round_ in chain["rounds"]:
        prove(len(set(zip(names, classes, strict=True))) == len(set(names)) == len(set(classes)), "classes differ")
        values = round_["values"]
        prove(all(type(value) is int for value in values) and len(values) == len(nodes), "potentials must be integers")
        steps = {(name, symbol): step for name, symbol, step in round_["steps"]}
        prove(all(type(step) is int for step in steps.values()), "steps of potentials must be integers")
        for index, node in enumerate(nodes):
            for symbol, target in successors[node].items():
                if target in number:
                    balanced = values[number[target]] == values[index] + steps[names[index], symbol]
                    prove(balanced, f"the potential is not balanced at {node} on {symbol!r}")
        classes = list(zip(classes, values, strict=True))
        order: dict[Hashable, int] = {}
        names = [order.setdefault(key, len(order)) for key in zip(names, values, strict=True)]
    prove(len(set(classes)) == len(nodes), "the potentials leave two nodes together")


def _check_no(certificate: dict[str, Any], whole: CheckedAutomaton) -> None:
    machine = _part(certificate, whole)
    windows, periods = certificate["windows"], certificate["periods"]
    nodes = [(state, tuple(window), phase) for state, window, phase in certificate["nodes"]]
    letters = [tuple(word) for word in certificate["letters"]]
    if windows == "all" or periods == "all":
        step = _local_system(machine, certificate, nodes, letters)
    else:
        prove(certificate["loop"] is None, "a product graph has no loop word")
        step = _product_step(machine, nodes, letters, windows, periods)
    if certificate["end"] == "visible":
        # All windows end in the same loop word, the last symbol included.
        prove(certificate["letter"] is not None or windows == "all", "the last symbol could separate the pair")
    _check_merging(certificate, nodes, len(letters), step)
    # The pair must be reachable, merged, and distinguished by the language.
    first, second = certificate["pair"]
    prove(certificate["classes"][first] == certificate["classes"][second], "the pair is not merged")
    for node, word in zip((nodes[first], nodes[second]), certificate["access"], strict=True):
        prove(machine.run(word) == node[0], "an access word leads elsewhere")
        if windows != "all" and periods != "all":
            recent = tuple(word)[len(word) - (windows - 1) :] if windows > 1 else ()
            fits = len(word) >= windows - 1 and recent == node[1] and len(word) % periods == node[2]
            prove(fits, "an access word has another window or phase")
    ends = [machine.run(certificate["suffix"], node[0]) in machine.accepting for node in (nodes[first], nodes[second])]
    prove(ends[0] != ends[1], "the suffix does not distinguish the pair")


Step = Callable[[int, int], tuple[Hashable, int | None]]


def _product_step(machine: CheckedAutomaton, nodes: list[Any], letters: list[Any], window: int, period: int) -> Step:
    """Edges of the product graph: label (window and phase, symbol) and the target's index if it is listed."""
    number = {node: index for index, node in enumerate(nodes)}
    prove(all(len(letter) == 1 for letter in letters), "letters of a product graph are single symbols")

    def step(node: int, letter: int) -> tuple[Hashable, int | None]:
        state, seen, phase = nodes[node]
        prove(len(seen) == window - 1, "a window has another length")
        (symbol,) = letters[letter]
        target = (machine.delta[state][symbol], (*seen, symbol)[1:] if window > 1 else (), (phase + 1) % period)
        return (seen, phase, symbol), number.get(target)

    return step


def _local_system(machine: CheckedAutomaton, certificate: dict[str, Any], nodes: list[Any], letters: list[Any]) -> Step:
    """Edges of the local system, after checking that its words cover every window and/or period."""
    windows, periods, loop = certificate["windows"], certificate["periods"], certificate["loop"]
    number = {node[0]: index for index, node in enumerate(nodes)}
    prove(all(letters), "a letter of the local system is the empty word")
    if windows == "all":
        prove(bool(loop), "all windows need a non-empty loop word")
        prove(all(machine.run(loop, state) == state for state in number), "the loop word moves a state")
    else:
        prove(windows == 1 and loop is None, "one window with all periods is shown for window 1 only")
    if periods == "all":
        stable = certificate["stable"]
        prove(type(stable) is int and 1 <= stable <= MAX_STABLE, "all periods need the stable index")
        prove(maps_of_length(machine, stable) == maps_of_length(machine, 2 * stable), "S_s differs from S_2s")
    else:
        stable = periods
    prove(all(len(letter) % stable == 0 for letter in letters), f"a letter's length is not a multiple of {stable}")
    tail = tuple(loop or ())

    def step(node: int, letter: int) -> tuple[Hashable, int | None]:
        return letter, number.get(machine.run((*letters[letter], *tail), nodes[node][0]))

    return step


def _check_merging(certificate: dict[str, Any], nodes: list[Any], letters: int, step: Step) -> None:
    """The nodes are strongly connected, and every pair in a class has a combination of equations that merges it."""
    classes = certificate["classes"]
    prove(len(classes) == len(nodes) == len(set(nodes)), "nodes and classes do not fit")
    targets = [
        {far for letter in range(letters) if (far := step(node, letter)[1]) is not None} for node in range(len(nodes))
    ]
    for start in range(len(nodes)):
        prove(len(reach(targets, start)) == len(nodes), "the nodes are not strongly connected")
    joined = {index: {index} for index in range(len(nodes))}
    for combination in certificate["combinations"]:
        first, second = combination["pair"]
        total: dict[int, Fraction] = {}
        for (source, letter), (other, other_letter), (numerator, denominator) in combination["terms"]:
            (label, target), (other_label, other_target) = step(source, letter), step(other, other_letter)
            prove(label == other_label, "an equation compares different labels")
            prove(classes[source] == classes[other], "an equation compares sources of different classes")
            if target is None or other_target is None:
                raise CertificateError("the certificate proves nothing: an equation uses an edge that leaves the nodes")
            for node, sign in ((target, 1), (source, -1), (other_target, -1), (other, 1)):
                total[node] = total.get(node, Fraction(0)) + sign * Fraction(numerator, denominator)
        expected = {first: Fraction(1), second: Fraction(-1)} if first != second else {}
        prove({node: value for node, value in total.items() if value} == expected, "a combination does not add up")
        union = joined[first] | joined[second]
        for node in union:
            joined[node] = union
    for first in range(len(nodes)):
        for second in range(first):
            prove(classes[first] != classes[second] or first in joined[second], "a merged pair has no combination")
