"""Compiler pass 5 writes the MLPs: comparisons and Booleans become Heaviside steps, conditionals become ReLU gates.

For an integer C, C >= 0 is 2C + 1 > 0, so a step on (2C + 1) / i has a margin of at least 1 / i; a step on C / i would
depend on rounding errors. ReLU units alone do not suffice, because no fixed slope separates gaps of 1 / i.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from lengthwise.models.compile.allocate import ONE, UNIT, Allocation, bos_phase_name, phase_name, raw_name
from lengthwise.models.compile.circuit import Circuit, Form, Gate, Gated, PhaseBit, Ramp, Shift, Sign, Threshold
from lengthwise.models.compile.heads import form_row
from lengthwise.models.compile.schedule import Schedule
from lengthwise.models.theory.limit_parts import LimitMlp


@dataclass
class _Units:
    """Hidden units under construction: rows of A, entries of b, kinds, and columns of B by coordinate."""

    allocation: Allocation
    rows: list[Tensor] = field(default_factory=list)
    bias: list[float] = field(default_factory=list)
    step: list[bool] = field(default_factory=list)
    targets: list[dict[int, float]] = field(default_factory=list)

    def add(self, row: Tensor, bias: float, target: int, sign: float, *, step: bool) -> None:
        """A unit ψ(row · y + bias) that adds ``sign`` times its value to a coordinate.

        The row's weight on the constant coordinate is moved into the bias.
        """
        one = self.allocation.index[ONE]
        self.bias.append(bias + float(row[one]))
        row[one] = 0
        self.rows.append(row)
        self.step.append(step)
        self.targets.append({target: sign})

    def mlp(self) -> LimitMlp:
        """The finished MLP."""
        width, units = self.allocation.width, len(self.rows)
        out = torch.zeros(width, units, dtype=torch.float64)
        for unit, targets in enumerate(self.targets):
            for coordinate, sign in targets.items():
                out[coordinate, unit] = sign
        return LimitMlp(
            torch.stack(self.rows) if self.rows else torch.zeros(0, width, dtype=torch.float64),
            torch.tensor(self.bias, dtype=torch.float64),
            torch.tensor(self.step, dtype=torch.bool),
            out,
        )


def mlp_of(layer: int, circuit: Circuit, plan: Schedule, allocation: Allocation) -> tuple[LimitMlp, dict[int, int]]:
    """The MLP of a layer (layers count from 1), and the number of units of each node in it."""
    units = _Units(allocation)
    spent: dict[int, int] = {}
    for index, node in enumerate(circuit.nodes):
        if plan.time[index] == 2 * layer:
            before = len(units.rows)
            _emit(index, node, circuit, units)
            spent[index] = len(units.rows) - before
    return units.mlp(), spent


def _emit(index: int, node: Gate, circuit: Circuit, units: _Units) -> None:
    allocation = units.allocation
    target = allocation.nodes[index]
    match node:
        case Threshold(form, exact):
            for row, sign in _at_least_zero(form, exact, allocation, constant=ONE):
                row[allocation.index[ONE]] += 0.5
                units.add(row, 0.0, target, sign, step=True)
        case Sign(form, exact):
            for row, sign in _at_least_zero(form, exact, allocation, constant=UNIT):
                row *= 2
                row[allocation.index[UNIT]] += 1
                units.add(row, 0.0, target, sign, step=True)
        case Shift(form, distance):
            raw = torch.zeros(allocation.width, dtype=torch.float64)
            raw[allocation.index[raw_name(index)]] = 1
            units.add(raw, -0.5, target, 1.0, step=True)
            if circuit.counts_bos and circuit.value_at_bos(form):
                # The head gives BOS the value 0, so "BOS is `distance` ago and the bit held there" is added: i = δ + 1.
                for last, sign in ((distance + 1, 1.0), (distance, -1.0)):
                    units.add(_position_at_most(last, allocation), -2.0, target, sign, step=True)
        case PhaseBit(residue, modulus):
            for start in range(modulus):
                row = torch.zeros(allocation.width, dtype=torch.float64)
                row[allocation.index[phase_name(modulus, (start + residue) % modulus)]] = 1
                row[allocation.index[bos_phase_name(modulus, start)]] = 1
                units.add(row, -1.5, target, 1.0, step=True)
        case Gated(condition, form):
            low, high = circuit.bounds_of(form, fractions=True)
            for sign, reach in ((1.0, high), (-1.0, -low)):
                if reach > 0:
                    row = sign * form_row(form, allocation, constant=UNIT) + reach * form_row(condition, allocation)
                    units.add(row, -float(reach), target, sign, step=False)
        case Ramp(form):
            units.add(form_row(form, allocation, constant=UNIT), 0.0, target, 1.0, step=False)


def _at_least_zero(form: Form, exact: bool, allocation: Allocation, *, constant: str) -> Iterator[tuple[Tensor, float]]:
    """[C >= 0] as one step, [C = 0] as [C >= 0] − [C >= 1]."""
    yield form_row(form, allocation, constant=constant), 1.0
    if exact:
        yield form_row(Form(form.terms, form.constant - 1), allocation, constant=constant), -1.0


def _position_at_most(last: int, allocation: Allocation) -> Tensor:
    """With the bias −2: (2·last + 1) / i − 2 > 0, i.e. i <= last."""
    row = torch.zeros(allocation.width, dtype=torch.float64)
    row[allocation.index[UNIT]] = 2 * last + 1
    return row
