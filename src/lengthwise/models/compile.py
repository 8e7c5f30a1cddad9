"""Compiles C-RASP[periodic, local] programs to Limit Transformers.

`compile_program` runs the passes: normalize (program to circuit, `lengthwise.models.circuit`), schedule (layers),
allocate (coordinates), heads and MLPs; `verify` compares the result with the interpreter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray
from torch import Tensor

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.core.vocab import BOS, EOS
from lengthwise.crasp.interpreter import evaluate_all
from lengthwise.crasp.program import Program
from lengthwise.models.circuit import (
    Circuit,
    Form,
    Gate,
    Gated,
    PhaseBit,
    Ramp,
    Shift,
    Sign,
    SymbolBit,
    Tally,
    Threshold,
    Unsupported,
    normalize,
)
from lengthwise.models.limit import (
    FiniteTransformer,
    LimitHead,
    LimitLayer,
    LimitMlp,
    LimitTransformer,
    TheoryTransformer,
)

UNIT_TIME = 1
"""1 / i is written by the attention of layer 1."""


@dataclass(frozen=True)
class Schedule:
    """``time[node]`` is the time at which the node is written; ``layers`` is the number of layers."""

    time: tuple[int, ...]
    layers: int


def schedule(circuit: Circuit) -> Schedule:
    """Schedule each node as early as possible: at an odd time (attention) or even time (MLP) after all its inputs."""
    times: list[int] = []
    for node in circuit.nodes:
        ready = max((times[read] for read in node.inputs), default=0)
        match node:
            case SymbolBit():
                times.append(0)
            case PhaseBit():
                times.append(2)  # the phase of BOS is fetched at 1 and compared at 2
            case Tally():
                times.append(_next(ready, parity=1))
            case Shift():
                times.append(_next(ready, parity=1) + 1)  # fetched, then rounded by the MLP
            case _:
                times.append(_next(max(ready, UNIT_TIME), parity=0))
    used = {node for _, form in circuit.outputs for node in form.nodes}
    return Schedule(tuple(times), max(((times[node] + 1) // 2 for node in used), default=0))


def _next(ready: int, parity: int) -> int:
    return ready + 1 if (ready + 1) % 2 == parity else ready + 2


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


NEAR_LOGIT, BOS_LOGIT, PHASE_LOGIT = 4.0, 2.0, 4.0


def embeddings(circuit: Circuit, allocation: Allocation) -> Tensor:
    """E: the constant 1, and one coordinate per symbol that the circuit reads."""
    table = torch.zeros(len(circuit.alphabet), allocation.width, dtype=torch.float64)
    table[:, allocation.index[ONE]] = 1
    for row, symbol in enumerate(circuit.alphabet):
        if symbol_name(symbol) in allocation.index:
            table[row, allocation.index[symbol_name(symbol)]] = 1
    return table


def position_vectors(circuit: Circuit, allocation: Allocation) -> Tensor:
    """p_1 … p_Δ: the phase of i for every modulus, one-hot."""
    moduli = _moduli(circuit)
    table = torch.zeros(math.lcm(*moduli), allocation.width, dtype=torch.float64)
    for row in range(len(table)):
        for modulus in moduli:
            table[row, allocation.index[phase_name(modulus, (row + 1) % modulus)]] = 1
    return table


def heads_of(layer: int, circuit: Circuit, plan: Schedule, allocation: Allocation) -> list[LimitHead]:
    """The heads of a layer; layers count from 1."""
    time = 2 * layer - 1  # `plan.time` of what attention writes; the MLP of the layer writes at time + 1
    tallies = [
        index for index, node in enumerate(circuit.nodes) if isinstance(node, Tally) and plan.time[index] == time
    ]
    made = []
    if tallies or layer == 1:
        made.append(_uniform(tallies, circuit, allocation, unit=layer == 1))
    shifts: dict[int, list[int]] = {}
    for index, node in enumerate(circuit.nodes):
        if isinstance(node, Shift) and plan.time[index] == time + 1:
            shifts.setdefault(node.distance, []).append(index)
    made += [_local(distance, indices, circuit, allocation) for distance, indices in sorted(shifts.items())]
    if layer == 1 and any(isinstance(node, PhaseBit) for node in circuit.nodes):
        made.append(_phase_of_bos(circuit, allocation))
    return made


def form_row(form: Form, allocation: Allocation, *, constant: str = ONE) -> Tensor:
    """A form as a linear functional ``[d]`` on the residual stream; its constant multiplies the given coordinate."""
    row = torch.zeros(allocation.width, dtype=torch.float64)
    row[allocation.index[constant]] = form.constant
    for weight, node in form.terms:
        row[allocation.nodes[node]] += weight
    return row


def readout(circuit: Circuit, allocation: Allocation) -> Tensor:
    """U ``[outputs, d]``, one row per output: a logit is +1/2 where the output holds and −1/2 elsewhere."""
    rows = []
    for _, form in circuit.outputs:
        row = form_row(form, allocation)
        row[allocation.index[ONE]] -= 0.5
        rows.append(row)
    return torch.stack(rows)


def _uniform(tallies: list[int], circuit: Circuit, allocation: Allocation, *, unit: bool) -> LimitHead:
    """All counts of a layer as fractions, without the value of BOS where it is not a position of the program."""
    bos = allocation.index[symbol_name(BOS)]
    rows, targets = [], []
    for index in tallies:
        node = circuit.nodes[index]
        assert isinstance(node, Tally)
        row = form_row(node.form, allocation)
        if not circuit.counts_bos:
            row[bos] -= circuit.value_at_bos(node.form)
        rows.append(row)
        targets.append(allocation.nodes[index])
    if unit:
        rows.append(_basis([bos], allocation)[0])
        targets.append(allocation.index[UNIT])
    return _head("count", [], [], rows, targets, allocation)


def _local(distance: int, shifts: list[int], circuit: Circuit, allocation: Allocation) -> LimitHead:
    """The head that reads the position ``distance`` back, for all `Shift`s of that distance in a layer.

    φ, added to logits by distance, is 4 at ``distance`` and 0 elsewhere; BOS has logit 2. Times ln(i), all positions
    but the wanted one together weigh at most 1/5, which the MLP rounds away. A value row is the form of a bit, less
    what the form is on BOS: at positions i <= ``distance`` the head sees BOS most and the bit is "false".
    """
    rows = []
    bos = allocation.index[symbol_name(BOS)]
    for index in shifts:
        node = circuit.nodes[index]
        assert isinstance(node, Shift)
        row = form_row(node.form, allocation)
        row[bos] -= circuit.value_at_bos(node.form)
        rows.append(row)
    phi = torch.zeros(distance + 1, dtype=torch.float64)
    phi[distance] = NEAR_LOGIT
    targets = [allocation.index[raw_name(index)] for index in shifts]
    return _head(f"distance {distance}", [bos], [BOS_LOGIT], rows, targets, allocation, phi)


def _phase_of_bos(circuit: Circuit, allocation: Allocation) -> LimitHead:
    """The head that looks at BOS and copies its phase for every modulus."""
    pairs = [
        (allocation.index[phase_name(modulus, residue)], allocation.index[bos_phase_name(modulus, residue)])
        for modulus in _moduli(circuit)
        for residue in range(modulus)
    ]
    rows = list(_basis([source for source, _ in pairs], allocation))
    targets = [target for _, target in pairs]
    return _head("phase of BOS", [allocation.index[symbol_name(BOS)]], [PHASE_LOGIT], rows, targets, allocation)


def _head(
    name: str,
    keys: list[int],
    logits: list[float],
    rows: list[Tensor],
    targets: list[int],
    allocation: Allocation,
    phi: Tensor | None = None,
) -> LimitHead:
    """A head from coordinates: coordinate ``keys[n]`` has a logit, and row n of the values goes to ``targets[n]``."""
    one = _basis([allocation.index[ONE]] * len(keys), allocation)
    return LimitHead(
        name,
        key=_basis(keys, allocation),
        query=one * torch.tensor(logits, dtype=torch.float64)[:, None],
        value_in=torch.stack(rows),
        value_out=_basis(targets, allocation).T.contiguous(),
        phi=phi,
    )


def _basis(coordinates: Iterable[int], allocation: Allocation) -> Tensor:
    coordinates = list(coordinates)
    rows = torch.zeros(len(coordinates), allocation.width, dtype=torch.float64)
    rows[range(len(coordinates)), coordinates] = 1
    return rows


def _moduli(circuit: Circuit) -> list[int]:
    return sorted({node.modulus for node in circuit.nodes if isinstance(node, PhaseBit)})


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


_SAMPLED = 2000
"""Words drawn per length that has more than `_EXHAUSTIVE` words."""

_EXHAUSTIVE = 3**8


@dataclass(frozen=True)
class Mismatch:
    """One output at one position for which model and interpreter differ."""

    word: str
    offset: int
    position: int
    output: str
    expected: bool


@dataclass(frozen=True)
class CompilationCheck:
    """The number of compared words and values, of wrong values, and the first ten mismatches."""

    words: int
    values: int
    wrong: int
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether no value is wrong."""
        return self.wrong == 0

    def __add__(self, other: CompilationCheck) -> CompilationCheck:
        return CompilationCheck(
            self.words + other.words,
            self.values + other.values,
            self.wrong + other.wrong,
            (self.mismatches + other.mismatches)[:10],
        )


def encode_for(program: Program, model: TheoryTransformer, words: Int[ndarray, "B n"]) -> Int[Tensor, "B T"]:
    """The model's input for words given as symbol indices: BOS, the word, and EOS if declared."""
    rows = len(words)
    parts = [np.full((rows, 1), model.symbols.index(BOS)), words]
    if program.eos:
        parts.append(np.full((rows, 1), model.symbols.index(EOS)))
    return torch.from_numpy(np.concatenate(parts, axis=1).astype(np.int64))


def compare(
    program: Program, model: TheoryTransformer, words: Int[ndarray, "B n"], offset: int = 0
) -> CompilationCheck:
    """Compare all outputs at all positions on words of one length, with positions shifted by ``offset``."""
    if not len(words) or not (words.shape[1] or program.bos or program.eos):
        return CompilationCheck(0, 0, 0)  # there is no position to read
    ids = encode_for(program, model, words)
    positions = torch.arange(1, ids.shape[1] + 1).expand(len(ids), -1) + offset
    got = (model(ids, positions).logits > 0).numpy()[:, 0 if program.bos else 1 :]
    values = evaluate_all(program, words)
    expected = np.stack([values[index] for index in program.outputs], axis=-1)
    wrong = np.argwhere(got != expected)
    mismatches = tuple(
        Mismatch(
            " ".join(program.alphabet[symbol] for symbol in words[row]),
            offset, int(position) + 1, model.outputs[output], bool(expected[row, position, output]),
        )
        for row, position, output in wrong[:10]
    )  # fmt: skip
    return CompilationCheck(len(words), expected.size, len(wrong), mismatches)


def short_words(program: Program, longest: int, seed: int = 0) -> Iterator[Int[ndarray, "B n"]]:
    """All words of each length up to ``longest``, or a random sample for lengths with too many."""
    letters = len(program.alphabet)
    for length in range(longest + 1):
        if letters**length <= _EXHAUSTIVE:
            yield np.array(list(itertools.product(range(letters), repeat=length)), dtype=np.int64).reshape(
                letters**length, length
            )
        else:
            yield stream(seed, "verify", length).integers(letters, size=(_SAMPLED, length))


def random_words(program: Program, length: int, count: int, seed: int = 0) -> Int[ndarray, "B n"]:
    """Random words: half are uniform, half have a random letter distribution each, so that long runs occur, too."""
    rng = stream(seed, "verify", "random", length)
    letters = len(program.alphabet)
    weights = rng.dirichlet(np.full(letters, 0.3), size=count)
    weights[: count // 2] = 1 / letters
    draws = rng.random((count, length, 1))
    return np.minimum((draws > weights.cumsum(1)[:, None, :]).sum(-1), letters - 1)


def verify(
    program: Program,
    model: TheoryTransformer,
    *,
    words: int = 1000,
    lengths: tuple[int, ...] = (100, 1000),
    longest_exhaustive: int = 8,
    seed: int = 0,
) -> CompilationCheck:
    """Compare on all short words, and on ``words`` random ones at each length."""
    total = CompilationCheck(0, 0, 0)
    for batch in short_words(program, longest_exhaustive, seed):
        total += compare(program, model, batch)
    for length in lengths:
        total += compare(program, model, random_words(program, length, words, seed))
    return total


def verify_finite(
    program: Program, model: FiniteTransformer, *, words: int = 1000, longest_exhaustive: int = 8, seed: int = 0
) -> CompilationCheck:
    """Compare at every admissible offset on all short words, and on random ones that fill the context.

    The ``words`` random words are divided among the offsets.
    """
    total = CompilationCheck(0, 0, 0)
    marks = 1 + program.eos
    offsets = range(model.context - marks + 1)
    for offset in offsets:
        room = model.context - marks - offset
        for batch in short_words(program, min(longest_exhaustive, room), seed):
            total += compare(program, model, batch, offset)
        if words:
            total += compare(
                program, model, random_words(program, room, -(-words // len(offsets)), seed + offset), offset
            )
    return total
