"""`compile_program` runs all passes of the compiler and reports the cost of each operation."""

from __future__ import annotations

from dataclasses import dataclass

from lengthwise.core.errors import LengthwiseError
from lengthwise.crasp.program.program import Program
from lengthwise.models.compile.allocate import Allocation, allocate
from lengthwise.models.compile.circuit import Circuit, PhaseBit, Shift
from lengthwise.models.compile.heads import embeddings, heads_of, position_vectors, readout
from lengthwise.models.compile.mlps import mlp_of
from lengthwise.models.compile.normalize import Unsupported, normalize
from lengthwise.models.compile.schedule import Schedule, schedule
from lengthwise.models.theory.limit import LimitTransformer
from lengthwise.models.theory.limit_parts import LimitLayer


@dataclass(frozen=True)
class OperationCost:
    """The coordinates and hidden units of one operation, whose value is ready after ``layer``.

    An integer combination of other operations has none.
    """

    index: int
    kind: str
    layer: int
    coordinates: int
    units: int


@dataclass(frozen=True)
class Compilation:
    """A compiled program; ``model`` is None if some operations are ``unsupported``."""

    program: Program
    model: LimitTransformer | None
    unsupported: tuple[Unsupported, ...] = ()
    operations: tuple[OperationCost, ...] = ()
    heads: tuple[tuple[str, ...], ...] = ()
    """Names of the heads, layer by layer."""
    circuit: Circuit | None = None
    allocation: Allocation | None = None
    added_bos: bool = False
    """Whether the model's input has a BOS that the program does not declare."""

    @property
    def layers(self) -> int:
        """Number of layers, including those without heads."""
        return len(self.heads)

    @property
    def attention_layers(self) -> int:
        """Number of layers with heads."""
        return sum(1 for heads in self.heads if heads)

    @property
    def width(self) -> int:
        """d: the width of the residual stream; 0 without a model."""
        return 0 if self.model is None else self.model.width

    def required(self) -> LimitTransformer:
        """The model; raises `LengthwiseError` that names the first operation that cannot be compiled."""
        if self.model is None:
            raise LengthwiseError(f"cannot compile {self.unsupported[0]}")
        return self.model


def compile_program(program: Program, *, precision: int | None = None) -> Compilation:
    """Compile to a Limit Transformer that agrees with the interpreter at every position of every word.

    Its input is BOS, the word, and EOS if declared (`verify.encode_for`). It is exact in float64 while length times the
    largest form is below 2⁴⁸. With ``precision`` logits and exponentials are rounded to that many fractional bits.
    """
    circuit, unsupported = normalize(program)
    if circuit is None:
        return Compilation(program, None, unsupported)
    plan, allocation = schedule(circuit), allocate(circuit)
    layers, units = [], {}
    for number in range(1, plan.layers + 1):
        mlp, spent = mlp_of(number, circuit, plan, allocation)
        layers.append(LimitLayer(heads_of(number, circuit, plan, allocation), mlp))
        units.update(spent)
    model = LimitTransformer(
        circuit.alphabet,
        tuple(name for name, _ in circuit.outputs),
        embeddings=embeddings(circuit, allocation),
        positions=position_vectors(circuit, allocation),
        layers=layers,
        readout=readout(circuit, allocation),
        dimensions=allocation.names,
        precision=precision,
    )
    return Compilation(
        program,
        model,
        operations=_costs(program, circuit, plan, units),
        heads=tuple(tuple(head.name for head in layer.heads) for layer in layers),
        circuit=circuit,
        allocation=allocation,
        added_bos=not program.bos,
    )


def _costs(program: Program, circuit: Circuit, plan: Schedule, units: dict[int, int]) -> tuple[OperationCost, ...]:
    costs = []
    for index, operation in enumerate(program.operations):
        own = [node for node, origin in enumerate(circuit.origin) if origin == index]
        form = circuit.forms[index]
        costs.append(
            OperationCost(
                index,
                type(operation).__name__,
                max(((plan.time[node] + 1) // 2 for node in form.nodes), default=0),
                sum(_coordinates(circuit, node) for node in own),
                sum(units.get(node, 0) for node in own),
            )
        )
    return tuple(costs)


def _coordinates(circuit: Circuit, node: int) -> int:
    match circuit.nodes[node]:
        case Shift():
            return 2
        case PhaseBit(_, modulus):
            return 1 + 2 * modulus
        case _:
            return 1
