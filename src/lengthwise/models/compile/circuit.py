"""The circuit between program and network: few kinds of nodes, each one channel of the residual stream.

A *bit* is exactly 0 or 1. A *fraction* stands for a count C and holds C / i, i = number of visible tokens. What
programs write in many ways (negation, connectives, sums, comparisons) is an integer combination of nodes (`Form`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

Node = int
"""The number of a node."""


@dataclass(frozen=True)
class Form:
    """Σ weight · node + constant, with non-zero integer weights on distinct nodes in ascending order."""

    terms: tuple[tuple[int, Node], ...] = ()
    constant: int = 0

    @classmethod
    def of(cls, *parts: tuple[int, Form], constant: int = 0) -> Form:
        """Σ factor · form + constant."""
        weights: dict[Node, int] = {}
        for factor, form in parts:
            constant += factor * form.constant
            for weight, node in form.terms:
                weights[node] = weights.get(node, 0) + factor * weight
        return cls(tuple((weight, node) for node, weight in sorted(weights.items()) if weight), constant)

    @property
    def negation(self) -> Form:
        """1 − form: the negation of a bit."""
        return Form.of((-1, self), constant=1)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that it reads."""
        return tuple(node for _, node in self.terms)


@dataclass(frozen=True)
class Gate:
    """Base of all nodes."""

    bit: ClassVar[bool] = True

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes that it reads."""
        return ()


@dataclass(frozen=True)
class SymbolBit(Gate):
    """The token here is this symbol: a coordinate of the embedding."""

    symbol: str


@dataclass(frozen=True)
class PhaseBit(Gate):
    """The distance from BOS is ≡ residue mod modulus: both phases come from p_i, that of BOS through a head."""

    residue: int
    modulus: int


@dataclass(frozen=True)
class Threshold(Gate):
    """An integer form over bits is >= 0, or with ``exact`` equal to 0."""

    form: Form
    exact: bool = False

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The bits of the form."""
        return self.form.nodes


@dataclass(frozen=True)
class Sign(Gate):
    """A form over fractions (constant c standing for c / i) is >= 0, or with ``exact`` equal to 0."""

    form: Form
    exact: bool = False

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The fractions of the form."""
        return self.form.nodes


@dataclass(frozen=True)
class Shift(Gate):
    """The bit ``distance`` >= 1 positions ago; false where the program has no such position."""

    form: Form
    distance: int

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The bit that is fetched."""
        return self.form.nodes


@dataclass(frozen=True)
class Tally(Gate):
    """How often a bit has held so far, divided by i: the output of a head with uniform attention."""

    form: Form
    bit: ClassVar[bool] = False

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The bit that is counted."""
        return self.form.nodes


@dataclass(frozen=True)
class Gated(Gate):
    """A form over fractions where a bit holds, else 0; `Gated(b, 1)` turns the bit b into the fraction b / i."""

    condition: Form
    form: Form
    bit: ClassVar[bool] = False

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The bit and the fractions."""
        return (*self.condition.nodes, *self.form.nodes)


@dataclass(frozen=True)
class Ramp(Gate):
    """The positive part of a form over fractions."""

    form: Form
    bit: ClassVar[bool] = False

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The fractions."""
        return self.form.nodes


@dataclass(frozen=True)
class Circuit:
    """Nodes in an order of evaluation, and what the passes need to know of each.

    ``at_bos`` is a node's value at BOS (there i = 1, so a fraction is its count); ``bounds`` encloses every value.
    ``origin`` numbers the operation of the program that first needed the node. ``counts_bos`` says whether BOS is a
    position of the program, as ``bos: true`` declares.
    """

    nodes: tuple[Gate, ...]
    at_bos: tuple[int, ...]
    bounds: tuple[tuple[int, int], ...]
    origin: tuple[int, ...]
    forms: tuple[Form, ...]
    """The form of every operation of the program."""
    outputs: tuple[tuple[str, Form], ...]
    alphabet: tuple[str, ...]
    counts_bos: bool

    def value_at_bos(self, form: Form) -> int:
        """The form's value at BOS."""
        return sum(weight * self.at_bos[node] for weight, node in form.terms) + form.constant

    def bounds_of(self, form: Form, *, fractions: bool) -> tuple[int, int]:
        """Numbers that enclose the form's values; a constant of a form over fractions stands for c / i."""
        return bounds_of(form, self.bounds, fractions=fractions)


def bounds_of(
    form: Form, bounds: tuple[tuple[int, int], ...] | list[tuple[int, int]], *, fractions: bool
) -> tuple[int, int]:
    """Interval arithmetic over a form."""
    low, high = (min(0, form.constant), max(0, form.constant)) if fractions else (form.constant, form.constant)
    for weight, node in form.terms:
        ends = (weight * bounds[node][0], weight * bounds[node][1])
        low, high = low + min(ends), high + max(ends)
    return low, high
