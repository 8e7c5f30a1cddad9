"""The program of a language that the decision found to be expressible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from lengthwise.core.errors import require
from lengthwise.crasp.decide import MAX_NODES, Component, Decision, ProductNode, components, of_membership
from lengthwise.crasp.program import And, Index, Linear, Or, Program, ProgramBuilder
from lengthwise.crasp.syntax import in_reading_order
from lengthwise.languages.automaton import Dfa, Word, minimize, strongly_connected


def program_of(decision: Decision, fragment: str = "ape", end: str = "eos") -> Program:
    """The program behind a *yes* of a decision; raises `LengthwiseError` if the verdict is not *yes*."""
    of_membership(end, "programs")
    verdict = decision.verdict(fragment, end)
    if verdict.window is None or verdict.period is None:
        require(False, f"no program to extract: the verdict for {fragment} under {end} is {verdict.verdict}, not yes")
    return extract(decision.dfa, verdict.window or 1, verdict.period or 1, end)


def extract(dfa: Dfa, window: int, period: int, end: str) -> Program:
    """A program for the language of ``dfa`` with that window and period.

    Acceptance is read at an appended end symbol (``eos``) or at the last symbol (``visible``). Raises
    `LengthwiseError` if potentials of this window and period do not separate the states; then there is no such program.
    """
    build = _Builder(dfa.alphabet, bos=True, eos=end == "eos")
    if end == "eos":
        before = _StateBefore(build, minimize(dfa), window, period).states()
        accepted = [before[state] for state in before if minimize(dfa).accepting[state]]
        return build.finished(build.any_of(accepted))
    cases: list[Index] = []
    for number, symbol in enumerate(dfa.alphabet):
        quotient = minimize(dfa.right_quotient(number))
        if not any(quotient.accepting):
            continue
        before = _StateBefore(build, quotient, window, period).states()
        accepted = [before[state] for state in before if quotient.accepting[state]]
        cases.append(build.all_of([build.symbol(symbol), build.any_of(accepted)]))
    if dfa.accepting[0]:
        cases.append(build.bos())  # the empty word: BOS is the last symbol
    return build.finished(build.any_of(cases))


class _Builder(ProgramBuilder):
    """A builder that omits ⊤ in conjunctions and gives intermediate results short numbered names."""

    def all_of(self, operands: Iterable[Index]) -> Index:
        top = self.top()
        return super().all_of([operand for operand in operands if operand != top])

    def finished(self, accept: Index) -> Program:
        """The program that accepts where ``accept`` holds, without unused operations and in reading order."""
        program = self.accept(accept)
        return in_reading_order(program.reordered(program.needed()))

    def call(self, kind: str, index: Index) -> Index:
        """Name a connective or linear form ``kind1``, ``kind2``, … unless it has a name."""
        if isinstance(self.operations[index], And | Or | Linear) and index not in self._names.values():
            number = 1 + sum(name.rstrip("0123456789") == kind for name in self._names)
            self.name(f"{kind}{number}", index)
        return index


class _StateBefore:
    """Writes, for every state, the Boolean "the run is in this state before it reads position j"."""

    def __init__(self, build: _Builder, dfa: Dfa, window: int, period: int) -> None:
        self.build, self.dfa, self.window, self.period = build, dfa, window, period
        self.letters = [build.symbol(symbol) for symbol in dfa.alphabet]
        self.numbers = strongly_connected(dfa.delta)
        self.members: dict[int, list[int]] = defaultdict(list)
        for state, number in enumerate(self.numbers):
            self.members[number].append(state)
        self.products: dict[int, list[Component]] = defaultdict(list)
        for component in components(dfa, window, period, max_nodes=MAX_NODES):
            self.products[self.numbers[component.nodes[0].state]].append(component)
        self.enter: dict[int, list[Index]] = defaultdict(list)  # state -> events "this position enters it from above"

    def states(self) -> dict[int, Index]:
        """One Boolean per state from which the language can still be reached."""
        result: dict[int, Index] = {}
        # Tarjan numbers components in reverse topological order: the start has the largest reachable number.
        for number in range(max(self.numbers), -1, -1):
            inside = [state for state in self.members[number] if self.dfa.live[state]]
            if not inside:
                continue
            entries = {state: self.build.any_of(self.enter[state]) for state in inside if self.enter[state]}
            if len(inside) == 1:
                candidates = {state: self._earlier(entries[state]) if state else self.build.top() for state in inside}
            else:
                candidates = self._crowded(number, entries)
            result.update(self._until_exit(number, candidates))
        return result

    def _crowded(self, number: int, entries: dict[int, Index]) -> dict[int, Index]:
        """Conditions for the state before a position, valid until the component has been left."""
        inside = set(self.members[number])
        found: dict[int, list[Index]] = defaultdict(list)
        fires: dict[ProductNode, list[Index]] = defaultdict(list)
        starts: list[ProductNode] = []
        for state in sorted(inside if 0 in inside else entries):
            # The start state may be entered before the first letter; then nothing else enters its component.
            entry = None if 0 in inside and state == 0 else entries.get(state)
            if entry is None and state != 0:
                continue
            self._warm_up(state, entry, inside, found, fires, starts)
        for component in self.products[number]:
            for state, candidate in self._by_potentials(component, fires, starts):
                found[state].append(candidate)
        return {state: self.build.any_of(options) for state, options in found.items()}

    def _warm_up(
        self,
        state: int,
        entry: Index | None,
        inside: set[int],
        found: dict[int, list[Index]],
        fires: dict[ProductNode, list[Index]],
        starts: list[ProductNode],
    ) -> None:
        """Handle the first k−1 letters after an entry, for which the window is not full, letter by letter."""
        build = self.build
        if self.window == 1:
            for phase in range(self.period):
                node = ProductNode(state, (), phase)
                if entry is None:
                    starts.extend([node] if phase == 0 else [])
                else:
                    fires[node].append(build.all_of([entry, *self._phase_after(phase)]))
            return
        entered = build.top() if entry is None else self._earlier(entry)
        age = self._strict(entered)
        for length, words in enumerate(self._words_inside(state, inside)):
            at_age = build.compare(age, "=", build.constant(length + (entry is None)))
            here = build.all_of([*([] if entry is None else [entered]), at_age])
            for word, target in words:
                found[target].append(build.all_of([here, *self._seen(word)]))
                if length == self.window - 2:
                    for symbol, after in enumerate(self.dfa.delta[target]):
                        if after not in inside:
                            continue
                        for phase in range(self.period):
                            event = [here, *self._seen(word), self.letters[symbol], *self._phase_after(phase)]
                            fires[ProductNode(after, (*word, symbol), phase)].append(build.all_of(event))

    def _words_inside(self, state: int, inside: set[int]) -> list[list[tuple[Word, int]]]:
        """Words of length 0..k−2 that stay inside the component, each with the state it leads to, by length."""
        layers: list[list[tuple[Word, int]]] = [[((), state)]]
        while len(layers) < self.window - 1:
            layers.append(
                [
                    ((*word, symbol), target)
                    for word, source in layers[-1]
                    for symbol, target in enumerate(self.dfa.delta[source])
                    if target in inside
                ]
            )
        return layers

    def _by_potentials(
        self, component: Component, fires: dict[ProductNode, list[Index]], starts: list[ProductNode]
    ) -> list[tuple[int, Index]]:
        """The state before each position of one product component, after its entry."""
        build = self.build
        number = {node: index for index, node in enumerate(component.nodes)}
        firing = {number[node]: build.any_of(events) for node, events in fires.items() if node in number}
        begun = [number[node] for node in starts if node in number]
        if not firing and not begun:
            return []
        active: list[Index] = [] if begun else [self._earlier(build.any_of(firing.values()))]
        refinement = component.refinement()
        require(
            len(set(refinement.classes)) == len(component.nodes),
            f"no program with window {self.window} and period {self.period}: counting cannot separate two states",
        )
        classes = {
            name: build.all_of([*active, *self._seen(node.window), *self._phase_after(node.phase + 1)])
            for name, node in zip(refinement.partitions[0], component.nodes, strict=True)
        }
        symbols = len(self.dfa.alphabet)
        for before, after, potential in zip(
            refinement.partitions, refinement.partitions[1:], refinement.potentials(), strict=False
        ):
            by_step: dict[int, list[Index]] = defaultdict(list)
            for (label, name), step in sorted(potential.steps.items()):
                by_step[step].append(build.all_of([classes[name], self.letters[label % symbols]]))
            for node, event in firing.items():
                by_step[potential.values[node]].append(event)
            # Σ step · (number of its events strictly before this position), from where the run began.
            terms = [(step, self._strict(build.any_of(events))) for step, events in sorted(by_step.items()) if step]
            value = build.linear(terms, sum(potential.values[node] for node in begun))
            build.call("balance", value)
            split: dict[int, set[int]] = defaultdict(set)
            for old, new in zip(before, after, strict=True):
                split[old].add(new)
            classes = {
                new: classes[old]
                if len(split[old]) == 1
                else build.all_of([classes[old], build.compare(value, "=", build.constant(potential.values[node]))])
                for node, (old, new) in enumerate(zip(before, after, strict=True))
            }
        return [(node.state, classes[name]) for node, name in zip(component.nodes, refinement.classes, strict=True)]

    def _until_exit(self, number: int, candidates: dict[int, Index]) -> dict[int, Index]:
        """Restrict the candidates to positions before the first exit, and record entries into later components."""
        build = self.build
        leaving = [
            (state, symbol, target)
            for state in sorted(candidates)
            for symbol, target in enumerate(self.dfa.delta[state])
            if self.numbers[target] != number
        ]
        if not leaving:
            return candidates
        exits = build.any_of(build.all_of([candidates[q], self.letters[s]]) for q, s, _ in leaving)
        build.call("exit", exits)
        still = build.compare(self._strict(exits), "=", build.constant(0))
        states = {state: build.all_of([candidate, still]) for state, candidate in candidates.items()}
        for state, symbol, target in leaving:
            if self.dfa.live[target]:
                self.enter[target].append(build.all_of([states[state], self.letters[symbol]]))
        return states

    def _strict(self, event: Index) -> Index:
        """How often ``event`` held strictly before this position."""
        count = self.build.count(event)
        if event == self.build.top():
            return self.build.linear([(1, count)], -1)
        return self.build.conditional(event, self.build.linear([(1, count)], -1), count)

    def _earlier(self, event: Index) -> Index:
        """Whether ``event`` held strictly before this position."""
        self.build.call("enter", event)
        return self.build.compare(self.build.constant(1), "<=", self._strict(event))

    def _seen(self, word: Word) -> Iterable[Index]:
        """The letters just before this position are ``word``."""
        for distance, symbol in enumerate(reversed(word), start=1):
            yield self.build.exists(self.letters[symbol], [distance])

    def _phase_after(self, phase: int) -> list[Index]:
        """The number of letters up to this position, a letter, is ≡ phase."""
        return [self.build.periodic(phase + 1, self.period)] if self.period > 1 else []
