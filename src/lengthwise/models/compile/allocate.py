"""Compiler pass 3 assigns every node a coordinate of the residual stream, which is written once and never reused.

Reuse would save width, which does not enter the regularizer, and need extra units that reset coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from lengthwise.core.vocab import BOS
from lengthwise.models.compile.circuit import Circuit, PhaseBit, Shift, SymbolBit

ONE = "one"
UNIT = "1/i"


@dataclass(frozen=True)
class Allocation:
    """The names of the coordinates in order, and the coordinate of each node."""

    names: tuple[str, ...]
    nodes: tuple[int, ...]
    """The coordinate of each node."""

    @cached_property
    def index(self) -> dict[str, int]:
        """The coordinate of each name."""
        return {name: index for index, name in enumerate(self.names)}

    @property
    def width(self) -> int:
        """d: the width of the residual stream."""
        return len(self.names)


def raw_name(node: int) -> str:
    """The coordinate of the value that a head fetches for a `Shift`, before the MLP rounds it."""
    return f"raw {node}"


def phase_name(modulus: int, residue: int) -> str:
    """The coordinate of p_i for "i ≡ residue mod modulus"."""
    return f"i mod {modulus} = {residue}"


def bos_phase_name(modulus: int, residue: int) -> str:
    """The coordinate of BOS's phase, which a head fetches."""
    return f"bos mod {modulus} = {residue}"


def symbol_name(symbol: str) -> str:
    """The coordinate of a symbol in the embedding."""
    return f"Q_{symbol}"


def allocate(circuit: Circuit) -> Allocation:
    """Allocate the constant, the symbols, 1/i, the phases, and one coordinate per node (two for a `Shift`)."""
    names = [ONE, UNIT, symbol_name(BOS)]
    moduli = sorted({node.modulus for node in circuit.nodes if isinstance(node, PhaseBit)})
    for modulus in moduli:
        names += [phase_name(modulus, residue) for residue in range(modulus)]
        names += [bos_phase_name(modulus, residue) for residue in range(modulus)]
    coordinates: list[int] = []
    for index, node in enumerate(circuit.nodes):
        if isinstance(node, Shift):
            names.append(raw_name(index))
        name = symbol_name(node.symbol) if isinstance(node, SymbolBit) else f"node {index}"
        if name not in names:
            names.append(name)
        coordinates.append(names.index(name))
    return Allocation(tuple(names), tuple(coordinates))
