"""Programs as circuits of the parts that a transformer computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lengthwise.core.vocab import BOS
from lengthwise.crasp import program as op
from lengthwise.crasp.program import Program

NodeId = int
"""The number of a node."""


@dataclass(frozen=True)
class Form:
    """Σ weight · node + constant, with non-zero integer weights on distinct nodes in ascending order."""

    terms: tuple[tuple[int, NodeId], ...] = ()
    constant: int = 0

    @classmethod
    def of(cls, *parts: tuple[int, Form], constant: int = 0) -> Form:
        """Σ factor · form + constant."""
        weights: dict[NodeId, int] = {}
        for factor, form in parts:
            constant += factor * form.constant
            for weight, node in form.terms:
                weights[node] = weights.get(node, 0) + factor * weight
        return cls(tuple((weight, node) for node, weight in sorted(weights.items()) if weight), constant)

    @property
    def negation(self) -> Form:
        """1 − form, the negation of a bit."""
        return Form.of((-1, self), constant=1)

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        return tuple(node for _, node in self.terms)


@dataclass(frozen=True)
class Gate:
    """Base of all nodes."""

    bit: ClassVar[bool] = True

    @property
    def inputs(self) -> tuple[NodeId, ...]:
        """The nodes that its forms read."""
        return tuple(node for part in vars(self).values() if isinstance(part, Form) for node in part.nodes)


@dataclass(frozen=True)
class SymbolBit(Gate):
    """The token here is this symbol: a coordinate of the embedding."""

    symbol: str


@dataclass(frozen=True)
class PhaseBit(Gate):
    """The distance from BOS is ≡ residue mod modulus; a head fetches the phase of BOS."""

    residue: int
    modulus: int


@dataclass(frozen=True)
class Threshold(Gate):
    """An integer form over bits is >= 0, or with ``exact`` equal to 0."""

    form: Form
    exact: bool = False


@dataclass(frozen=True)
class Sign(Gate):
    """A form over fractions (a constant c means c / i) is >= 0, or with ``exact`` equal to 0."""

    form: Form
    exact: bool = False


@dataclass(frozen=True)
class Shift(Gate):
    """The bit ``distance`` >= 1 positions ago: one place of a window, one local head.

    It is false where the program has no such position.
    """

    form: Form
    distance: int


@dataclass(frozen=True)
class Tally(Gate):
    """The number of positions so far at which a bit holds, divided by i: a head with uniform attention."""

    form: Form
    bit: ClassVar[bool] = False


@dataclass(frozen=True)
class Gated(Gate):
    """A form over fractions where a bit holds, else 0; `Gated(b, 1)` turns the bit b into the fraction b / i."""

    condition: Form
    form: Form
    bit: ClassVar[bool] = False


@dataclass(frozen=True)
class Ramp(Gate):
    """The positive part of a form over fractions."""

    form: Form
    bit: ClassVar[bool] = False


TRUE, FALSE = Form(constant=1), Form()

LARGEST_FORM = 1 << 28
"""The bound on forms over fractions, up to which float64 comparisons are exact at length 2²⁰."""

LARGEST_MODULUS = 4096
LARGEST_WINDOW = 4096
"""The largest window and modulus: a window of k needs k − 1 heads, a modulus m needs 2m coordinates."""


@dataclass(frozen=True)
class Unsupported:
    """An operation that cannot be compiled, and the reason."""

    index: int
    operation: op.Operation
    reason: str

    def __str__(self) -> str:
        return f"operation {self.index} ({type(self.operation).__name__}): {self.reason}"


class CannotCompile(Exception):
    """Carries the reason out of the recursion; `Circuit` catches it."""


class Circuit:
    """The nodes of a program in an order of evaluation, equal ones once, with properties for the later passes.

    ``at_bos`` is a node's value at BOS (where i = 1, so a fraction is its count); ``bounds`` encloses its values.
    ``origin`` is the operation that first needed a node. ``forms`` has the form of each operation of the program, and
    ``unsupported`` the operations that cannot be compiled.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.nodes: list[Gate] = []
        self.at_bos: list[int] = []
        self.bounds: list[tuple[int, int]] = []
        self.origin: list[int] = []
        self.forms: list[Form] = []
        self.unsupported: list[Unsupported] = []
        self._known: dict[Gate, NodeId] = {}
        self._conjuncts: dict[NodeId, tuple[Form, ...]] = {}
        needed = set(program.needed())
        for index, operation in enumerate(program.operations):
            form = FALSE
            if index in needed:
                try:
                    form = self.lower(operation)
                except CannotCompile as error:
                    self.unsupported.append(Unsupported(index, operation, str(error)))
            self.forms.append(form)

    @property
    def outputs(self) -> dict[str, Form]:
        """The form of each output: of every symbol that may come next, or of ``accept``."""
        names = [symbol for symbol, _ in self.program.next_token] if self.program.is_next_token else ["accept"]
        return {name: self.forms[index] for name, index in zip(names, self.program.outputs, strict=True)}

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The program's symbols, with BOS behind its letters."""
        letters = self.program.alphabet
        return (*letters, BOS, *(symbol for symbol in self.program.symbols[len(letters) :] if symbol != BOS))

    def value_at_bos(self, form: Form) -> int:
        return sum(weight * self.at_bos[node] for weight, node in form.terms) + form.constant

    def bounds_of(self, form: Form, *, fractions: bool) -> tuple[int, int]:
        """Lower and upper bound of a form from those of its nodes; over fractions a constant c means c / i."""
        low, high = (min(0, form.constant), max(0, form.constant)) if fractions else (form.constant, form.constant)
        for weight, node in form.terms:
            ends = [weight * end for end in self.bounds[node]]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def lower(self, operation: op.Operation) -> Form:
        """The form of an operation, given those of all earlier ones."""
        forms = self.forms
        match operation:
            case op.Symbol(symbol):
                return self.node(SymbolBit(symbol))
            case op.Top():
                return TRUE
            case op.Periodic(residue, modulus):
                return self.phase(residue, modulus)
            case op.Not(operand):
                return forms[operand].negation
            case op.And(operands):
                return self.conjunction([forms[index] for index in operands])
            case op.Or(operands):
                return self.conjunction([forms[index].negation for index in operands]).negation
            case op.Compare(left, relation, right):
                return self.comparison(forms[left], relation, forms[right])
            case op.Count(operand, None):
                return FALSE if forms[operand] == FALSE else self.node(Tally(forms[operand]))
            case op.Count(operand, differences):
                return Form.of(*((1, self.shift(forms[operand], distance)) for distance in differences or ()))
            case op.Constant(value):
                return Form(constant=value)
            case op.Linear(terms, constant):
                return Form.of(*((factor, forms[index]) for factor, index in terms), constant=constant)
            case op.Conditional(condition, then, otherwise):
                return self.choice(forms[condition], forms[then], forms[otherwise])
            case op.Min(left, right):
                return Form.of((1, forms[left]), (-1, self.positive_part(forms[left], forms[right])))
            case op.Max(left, right):
                return Form.of((1, forms[right]), (1, self.positive_part(forms[left], forms[right])))
            case _:
                raise CannotCompile("the compiler does not know this kind of operation")

    def node(self, gate: Gate) -> Form:
        """The form 1 · gate, with a new node if there is no equal one."""
        index = self._known.get(gate)
        if index is None:
            index = self._known[gate] = len(self.nodes)
            at_bos, bounds = self._at_bos(gate), _checked(self._bounds(gate))
            self.nodes.append(gate)
            self.at_bos.append(at_bos)
            self.bounds.append(bounds)
            self.origin.append(len(self.forms))
        return Form(((1, index),))

    def phase(self, residue: int, modulus: int) -> Form:
        """Whether the position is ≡ residue mod modulus; BOS has position 1 if it is declared, else 0."""
        if modulus > LARGEST_MODULUS:
            raise CannotCompile(f"the modulus {modulus} exceeds {LARGEST_MODULUS}")
        first = 1 if self.program.bos else 0
        return TRUE if modulus == 1 else self.node(PhaseBit((residue - first) % modulus, modulus))

    def shift(self, form: Form, distance: int) -> Form:
        if distance > LARGEST_WINDOW:
            raise CannotCompile(f"the distance {distance} exceeds {LARGEST_WINDOW}: it would need as many heads")
        return form if distance == 0 or form == FALSE else self.node(Shift(form, distance))

    def conjunction(self, forms: list[Form]) -> Form:
        """The conjunction, with nested conjunctions flattened."""
        flat: dict[Form, None] = {}
        for form in forms:
            inner = self._conjuncts.get(form.terms[0][1]) if form.constant == 0 and len(form.terms) == 1 else None
            flat.update(dict.fromkeys(inner or (form,)))
        flat.pop(TRUE, None)
        if FALSE in flat or any(form.negation in flat for form in flat):
            return FALSE
        if len(flat) <= 1:
            return next(iter(flat), TRUE)
        whole = Form.of(*((1, form) for form in flat), constant=-len(flat))
        made = self.node(Threshold(whole))
        self._conjuncts[made.nodes[0]] = tuple(flat)
        return made

    def comparison(self, left: Form, relation: op.Relation, right: Form) -> Form:
        """C₁ ~ C₂ as the sign of one form."""
        if relation in (">=", ">"):
            left, relation, right = right, "<=" if relation == ">=" else "<", left
        form = Form.of((1, right), (-1, left), constant=-1 if relation == "<" else 0)
        exact = relation == "="
        if all(self.nodes[node].bit for node in form.nodes):
            return self._threshold(form, exact)
        form = self.as_fractions(form)
        _checked(self.bounds_of(form, fractions=True))
        return self.node(Sign(form, exact))

    def _threshold(self, form: Form, exact: bool) -> Form:
        low, high = self.bounds_of(form, fractions=False)
        if (low >= 0 and not exact) or low == high == 0:
            return TRUE
        if low > 0 or high < 0:
            return FALSE
        _checked((low, high))
        (weight, node), *others = form.terms
        if others:
            return self.node(Threshold(form, exact))
        # The values at 0 and at 1 decide whether the form of one bit is a constant, the bit or its negation.
        at_0, at_1 = (value == 0 if exact else value >= 0 for value in (form.constant, form.constant + weight))
        bit = Form(((1, node),))
        return (TRUE if at_1 else bit.negation) if at_0 else (bit if at_1 else FALSE)

    def choice(self, condition: Form, then: Form, otherwise: Form) -> Form:
        """P ? C₁ : C₂ = C₂ + [P] (C₁ − C₂)."""
        difference = Form.of((1, then), (-1, otherwise))
        if condition in (TRUE, FALSE) or difference == FALSE:
            return then if condition == TRUE else otherwise
        if all(self.nodes[node].bit for node in difference.nodes):
            kept = [(weight, self.conjunction([condition, Form(((1, node),))])) for weight, node in difference.terms]
            return Form.of((1, otherwise), *kept, (difference.constant, condition))
        return Form.of((1, otherwise), (1, self.node(Gated(condition, self.as_fractions(difference)))))

    def positive_part(self, left: Form, right: Form) -> Form:
        """max(C₁ − C₂, 0)."""
        difference = Form.of((1, left), (-1, right))
        if not difference.terms:
            return Form(constant=max(0, difference.constant))
        return self.node(Ramp(self.as_fractions(difference)))

    def as_fractions(self, form: Form) -> Form:
        """The form with every bit b replaced by the fraction b / i, so that bits and counts can be added."""
        parts = []
        for weight, node in form.terms:
            bit = Form(((1, node),))
            parts.append((weight, self.node(Gated(bit, TRUE)) if self.nodes[node].bit else bit))
        return Form.of(*parts, constant=form.constant)

    def _at_bos(self, gate: Gate) -> int:
        value = self.value_at_bos
        match gate:
            case SymbolBit(symbol):
                return int(symbol == BOS)
            case PhaseBit(residue):
                return int(residue == 0)
            case Threshold(form, exact) | Sign(form, exact):
                return int(value(form) == 0 if exact else value(form) >= 0)
            case Tally(form):
                return value(form) if self.program.bos else 0
            case Gated(condition, form):
                return value(form) if value(condition) else 0
            case Ramp(form):
                return max(0, value(form))
            case _:
                return 0  # a Shift: nothing precedes BOS

    def _bounds(self, gate: Gate) -> tuple[int, int]:
        if not isinstance(gate, Gated | Ramp):
            return 0, 1
        low, high = self.bounds_of(gate.form, fractions=True)
        return min(0, low) if isinstance(gate, Gated) else 0, max(0, high)


def _checked(bounds: tuple[int, int]) -> tuple[int, int]:
    reach = max(abs(end) for end in bounds)
    if reach > LARGEST_FORM:
        raise CannotCompile(
            f"its numbers reach {reach} (per position), and beyond {LARGEST_FORM} a float64 comparison is no longer "
            "exact at length 1,000,000"
        )
    return bounds
