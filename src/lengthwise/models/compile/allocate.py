"""Pass 3: coordinates of the residual stream. One per node, none reused: a channel is written once and stays readable.

Reuse would save width, which the regularizer does not charge, and cost extra units that clean up.
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
    """Names of the coordinates in order; `node` and the others find them."""

    names: tuple[str, ...]
    nodes: tuple[int, ...]
    """The coordinate of each node."""

    @cached_property
    def index(self) -> dict[str, int]:
        """Coordinate by name."""
        return {name: index for index, name in enumerate(self.names)}

    @property
    def width(self) -> int:
        """d."""
        return len(self.names)


def raw_name(node: int) -> str:
    """What a head fetched for a `Shift`, before the MLP rounds it."""
    return f"raw {node}"


def phase_name(modulus: int, residue: int) -> str:
    """p_i's coordinate "i ≡ residue mod modulus"."""
    return f"i mod {modulus} = {residue}"


def bos_phase_name(modulus: int, residue: int) -> str:
    """The same of BOS, fetched by a head."""
    return f"bos mod {modulus} = {residue}"


def symbol_name(symbol: str) -> str:
    """The embedding's coordinate of a symbol."""
    return f"Q_{symbol}"


def allocate(circuit: Circuit) -> Allocation:
    """Coordinates for the constant, the symbols, 1/i, phases, and one for each node (two for a `Shift`)."""
    names = [ONE, UNIT, symbol_name(BOS)]
    moduli = sorted({node.modulus for node in circuit.nodes if isinstance(node, PhaseBit)})
    for modulus in moduli:
        names += [phase_name(modulus, residue) for residue in range(modulus)]
        names += [bos_phase_name(modulus, residue) for residue in range(modulus)]
    places: list[int] = []
    for index, node in enumerate(circuit.nodes):
        if isinstance(node, Shift):
            names.append(raw_name(index))
        name = symbol_name(node.symbol) if isinstance(node, SymbolBit) else f"node {index}"
        if name not in names:
            names.append(name)
        places.append(names.index(name))
    return Allocation(tuple(names), tuple(places))
