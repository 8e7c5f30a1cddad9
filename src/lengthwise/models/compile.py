"""Compiles C-RASP[periodic, local] programs to Limit Transformers.

`compile_program` runs the passes: program to circuit (`lengthwise.models.circuit`), then times and coordinates of its
nodes, heads and MLPs; `verify` compares the result with the interpreter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
    Gated,
    PhaseBit,
    Ramp,
    Shift,
    Sign,
    SymbolBit,
    Tally,
    Threshold,
    Unsupported,
)
from lengthwise.models.limit import (
    FiniteTransformer,
    LimitHead,
    LimitLayer,
    LimitMlp,
    LimitTransformer,
    TheoryTransformer,
)

ONE, UNIT = "one", "1/i"
"""Coordinates of the residual stream. The others are ``Q_σ`` for a symbol, ``i mod m = r`` for the phase of i and
``bos mod m = r`` for that of BOS, ``node n``, and ``raw n`` for what a head fetches for a `Shift`, to be rounded.
"""
UNIT_TIME = 1
"""1 / i is written by the attention of layer 1."""
NEAR_LOGIT, BOS_LOGIT, PHASE_LOGIT = 4.0, 2.0, 4.0
Unit = tuple[Tensor, float, float, bool]
"""A hidden unit: row and bias of what it reads, the factor of what it adds to its node, and whether it is a step."""


class _Compiler:
    """A circuit as weights: the time at which each node is written, its coordinate, and the heads and MLPs.

    The attention of layer n (from 1) writes at time 2n − 1, its MLP at time 2n.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.moduli = sorted({node.modulus for node in circuit.nodes if isinstance(node, PhaseBit)})
        self.time = self._times()
        used = {node for form in circuit.outputs.values() for node in form.nodes}
        self.layers = max(((self.time[node] + 1) // 2 for node in used), default=0)
        self.index = {name: index for index, name in enumerate(dict.fromkeys(self._names()))}
        """The coordinate of each name."""
        self.coordinates = tuple(self.index[self._name(index)] for index in range(len(circuit.nodes)))
        """The coordinate of each node."""
        self.bos = self.index[f"Q_{BOS}"]

    def _times(self) -> list[int]:
        """As early as possible: an odd time (attention) or an even one (MLP) after all inputs."""
        times: list[int] = []
        for node in self.circuit.nodes:
            ready = max((times[read] for read in node.inputs), default=0)
            match node:
                case SymbolBit():
                    times.append(0)
                case PhaseBit():
                    times.append(2)  # the phase of BOS is fetched at 1 and compared at 2
                case Tally():
                    times.append(ready + 1 + ready % 2)
                case Shift():
                    times.append(ready + 2 + ready % 2)  # fetched, then rounded by the MLP
                case _:
                    ready = max(ready, UNIT_TIME)
                    times.append(ready + 2 - ready % 2)
        return times

    def _name(self, index: int) -> str:
        node = self.circuit.nodes[index]
        return f"Q_{node.symbol}" if isinstance(node, SymbolBit) else f"node {index}"

    def _names(self) -> Iterator[str]:
        yield from (ONE, UNIT, f"Q_{BOS}")
        for modulus in self.moduli:
            yield from (f"i mod {modulus} = {residue}" for residue in range(modulus))
            yield from (f"bos mod {modulus} = {residue}" for residue in range(modulus))
        for index, node in enumerate(self.circuit.nodes):
            if isinstance(node, Shift):
                yield f"raw {index}"
            yield self._name(index)

    def basis(self, *coordinates: int | str) -> Tensor:
        """Rows of the unit matrix, by number or by name."""
        rows = torch.zeros(len(coordinates), len(self.index), dtype=torch.float64)
        rows[range(len(coordinates)), [self.index[c] if isinstance(c, str) else c for c in coordinates]] = 1
        return rows

    def row(self, form: Form, *, constant: str = ONE) -> Tensor:
        """A form as a linear functional ``[d]`` on the residual stream; its constant multiplies the coordinate."""
        row = torch.zeros(len(self.index), dtype=torch.float64)
        row[self.index[constant]] = form.constant
        for weight, node in form.terms:
            row[self.coordinates[node]] += weight
        return row

    def embeddings(self) -> Tensor:
        """E: the constant 1, and one coordinate per symbol that the circuit reads."""
        names = [f"Q_{symbol}" for symbol in self.circuit.alphabet]
        return torch.stack([self.basis(ONE, *[name] * (name in self.index)).sum(0) for name in names])

    def position_vectors(self) -> Tensor:
        """p_1 … p_Δ: the phase of i for every modulus, one-hot."""
        rows = range(1, 1 + math.lcm(*self.moduli))
        return torch.stack([self.basis(*(f"i mod {m} = {row % m}" for m in self.moduli)).sum(0) for row in rows])

    def readout(self) -> Tensor:
        """U ``[outputs, d]``, one row per output: a logit is +1/2 where the output holds and −1/2 elsewhere."""
        return torch.stack([self.row(form) for form in self.circuit.outputs.values()]) - 0.5 * self.basis(ONE)

    def heads(self, layer: int) -> list[LimitHead]:
        """The heads of a layer."""
        nodes = [(index, node) for index, node in enumerate(self.circuit.nodes) if (self.time[index] + 1) // 2 == layer]
        tallies = [index for index, node in nodes if isinstance(node, Tally)]
        made = [self._uniform(tallies, unit=layer == 1)] if tallies or layer == 1 else []
        distances = sorted({node.distance for _, node in nodes if isinstance(node, Shift)})
        for distance in distances:
            shifts = [index for index, node in nodes if isinstance(node, Shift) and node.distance == distance]
            made.append(self._local(distance, shifts))
        if layer == 1 and self.moduli:
            phases = [f"mod {modulus} = {residue}" for modulus in self.moduli for residue in range(modulus)]
            rows, targets = self.basis(*(f"i {phase}" for phase in phases)), [f"bos {phase}" for phase in phases]
            made.append(self._head("phase of BOS", rows, targets, PHASE_LOGIT))  # it looks at BOS and copies its phase
        return made

    def _bit_or_count(self, index: int, *, without_bos: bool) -> Tensor:
        node = self.circuit.nodes[index]
        assert isinstance(node, Tally | Shift)
        row = self.row(node.form)
        if without_bos:
            row[self.bos] -= self.circuit.value_at_bos(node.form)
        return row

    def _uniform(self, tallies: list[int], *, unit: bool) -> LimitHead:
        """All counts of a layer as fractions, without the value of BOS where it is not a position of the program."""
        rows = [self._bit_or_count(index, without_bos=not self.circuit.program.bos) for index in tallies]
        targets: list[int | str] = [self.coordinates[index] for index in tallies]
        if unit:
            rows.append(self.basis(self.bos)[0])
            targets.append(UNIT)
        return self._head("count", torch.stack(rows), targets)

    def _local(self, distance: int, shifts: list[int]) -> LimitHead:
        """The head that reads the position ``distance`` back, for all `Shift`s of that distance in a layer.

        φ, added to logits by distance, is 4 at ``distance`` and 0 elsewhere; BOS has logit 2. Times ln(i), all
        positions but the wanted one together weigh at most 1/5, which the MLP rounds away. A value row is the form of a
        bit, less what the form is on BOS: at positions i <= ``distance`` the head sees BOS most and the bit is "false".
        """
        rows = torch.stack([self._bit_or_count(index, without_bos=True) for index in shifts])
        phi = torch.zeros(distance + 1, dtype=torch.float64)
        phi[distance] = NEAR_LOGIT
        return self._head(f"distance {distance}", rows, [f"raw {index}" for index in shifts], BOS_LOGIT, phi)

    def _head(
        self, name: str, rows: Tensor, targets: Sequence[int | str], bos: float | None = None, phi: Tensor | None = None
    ) -> LimitHead:
        """A head where BOS has the logit ``bos``; row n of the values goes to the coordinate ``targets[n]``."""
        keys = [] if bos is None else [self.bos]
        query = self.basis(*[ONE] * len(keys)) * (bos or 0.0)
        out = self.basis(*targets).T.contiguous()
        return LimitHead(name, key=self.basis(*keys), query=query, value_in=rows, value_out=out, phi=phi)

    def mlp(self, layer: int) -> tuple[LimitMlp, dict[int, int]]:
        """The MLP of a layer, and the number of units of each node in it."""
        units = {index: list(self._units(index)) for index, time in enumerate(self.time) if time == 2 * layer}
        every = [(self.coordinates[index], *unit) for index, own in units.items() for unit in own]
        rows = torch.stack([unit[1] for unit in every]) if every else self.basis()
        out = torch.zeros(len(self.index), len(every), dtype=torch.float64)
        for number, unit in enumerate(every):
            out[unit[0], number] = unit[3]
        # The weight on the constant coordinate is part of the bias.
        bias = torch.tensor([unit[2] for unit in every], dtype=torch.float64) + rows[:, self.index[ONE]]
        rows[:, self.index[ONE]] = 0
        step = torch.tensor([unit[4] for unit in every], dtype=torch.bool)
        return LimitMlp(rows, bias, step, out), {index: len(own) for index, own in units.items()}

    def _units(self, index: int) -> Iterator[Unit]:
        one, unit = self.basis(ONE, UNIT)
        match self.circuit.nodes[index]:
            case Threshold(form, exact):
                for part, sign in _at_least_zero(form, exact=exact):
                    yield self.row(part) + 0.5 * one, 0.0, sign, True
            case Sign(form, exact):
                for part, sign in _at_least_zero(form, exact=exact):
                    yield 2 * self.row(part, constant=UNIT) + unit, 0.0, sign, True
            case Shift(form, distance):
                yield self.basis(f"raw {index}")[0], -0.5, 1.0, True
                if self.circuit.program.bos and self.circuit.value_at_bos(form):
                    # The head gives BOS the value 0, so "BOS is `distance` ago and the bit held there" is added:
                    # i = δ + 1, where (2n + 1) / i − 2 > 0 is i <= n.
                    for last, sign in ((distance + 1, 1.0), (distance, -1.0)):
                        yield (2 * last + 1) * unit, -2.0, sign, True
            case PhaseBit(residue, modulus):
                for start in range(modulus):
                    phases = f"i mod {modulus} = {(start + residue) % modulus}", f"bos mod {modulus} = {start}"
                    yield self.basis(*phases).sum(0), -1.5, 1.0, True
            case Gated(condition, form):
                low, high = self.circuit.bounds_of(form, fractions=True)
                for sign, reach in ((1.0, high), (-1.0, -low)):
                    if reach > 0:
                        row = sign * self.row(form, constant=UNIT) + reach * self.row(condition)
                        yield row, -float(reach), sign, False
            case Ramp(form):
                yield self.row(form, constant=UNIT), 0.0, 1.0, False

    def costs(self, units: dict[int, int]) -> Iterator[OperationCost]:
        """What each operation of the program takes, given the units of each node."""
        for index, operation in enumerate(self.circuit.program.operations):
            own = [node for node, origin in enumerate(self.circuit.origin) if origin == index]
            layer = max(((self.time[node] + 1) // 2 for node in self.circuit.forms[index].nodes), default=0)
            kinds = [self.circuit.nodes[node] for node in own]
            added = (1 if isinstance(n, Shift) else 2 * n.modulus if isinstance(n, PhaseBit) else 0 for n in kinds)
            coordinates = len(own) + sum(added)
            total = sum(units.get(node, 0) for node in own)
            yield OperationCost(index, type(operation).__name__, layer, coordinates, total)


def _at_least_zero(form: Form, *, exact: bool) -> list[tuple[Form, float]]:
    """[C >= 0] as one step, [C = 0] as [C >= 0] − [C >= 1]."""
    return [(form, 1.0), (Form(form.terms, form.constant - 1), -1.0)][: 1 + exact]


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

    @property
    def added_bos(self) -> bool:
        """Whether the model's input has a BOS that the program does not declare."""
        return self.model is not None and not self.program.bos

    @property
    def heads(self) -> tuple[tuple[str, ...], ...]:
        """Names of the heads, layer by layer."""
        return (
            () if self.model is None else tuple(tuple(head.name for head in each.heads) for each in self.model.layers)
        )

    @property
    def layers(self) -> int:
        """Number of layers, including those without heads."""
        return len(self.heads)

    @property
    def attention_layers(self) -> int:
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

    Its input is BOS, the word, and EOS if declared (`encode_for`). It is exact in float64 while length times the
    largest form is below 2⁴⁸. With ``precision`` logits and exponentials are rounded to that many fractional bits.
    """
    circuit = Circuit(program)
    if circuit.unsupported:
        return Compilation(program, None, tuple(circuit.unsupported))
    compiler, units, layers = _Compiler(circuit), {}, []
    for number in range(1, compiler.layers + 1):
        mlp, spent = compiler.mlp(number)
        layers.append(LimitLayer(compiler.heads(number), mlp))
        units |= spent
    model = LimitTransformer(
        circuit.alphabet,
        tuple(circuit.outputs),
        embeddings=compiler.embeddings(),
        positions=compiler.position_vectors(),
        layers=layers,
        readout=compiler.readout(),
        dimensions=tuple(compiler.index),
        precision=precision,
    )
    return Compilation(program, model, (), tuple(compiler.costs(units)))


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

    words: int = 0
    values: int = 0
    wrong: int = 0
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def agrees(self) -> bool:
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
    marks = model.symbols.index(BOS), model.symbols.index(EOS) if program.eos else 0
    padded = np.pad(words, ((0, 0), (1, int(program.eos))), constant_values=((0, 0), marks))
    return torch.from_numpy(padded.astype(np.int64))


def compare(
    program: Program, model: TheoryTransformer, words: Int[ndarray, "B n"], offset: int = 0
) -> CompilationCheck:
    """Compare all outputs at all positions on words of one length, with positions shifted by ``offset``."""
    if not len(words) or not (words.shape[1] or program.bos or program.eos):
        return CompilationCheck()  # there is no position to read
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


def short_words(program: Program, longest: int) -> Iterator[Int[ndarray, "B n"]]:
    """All words of each length up to ``longest``, or a random sample for lengths with too many."""
    letters = len(program.alphabet)
    for length in range(longest + 1):
        if letters**length <= _EXHAUSTIVE:
            every = list(itertools.product(range(letters), repeat=length))
            yield np.array(every, dtype=np.int64).reshape(letters**length, length)
        else:
            yield stream(0, "verify", length).integers(letters, size=(_SAMPLED, length))


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
) -> CompilationCheck:
    """Compare on all short words, and on ``words`` random ones at each length."""
    long = (random_words(program, length, words) for length in lengths)
    batches = itertools.chain(short_words(program, longest_exhaustive), long)
    return sum((compare(program, model, batch) for batch in batches), CompilationCheck())


def verify_finite(
    program: Program, model: FiniteTransformer, *, words: int = 1000, longest_exhaustive: int = 8
) -> CompilationCheck:
    """Compare at every admissible offset on all short words, and on random ones that fill the context.

    The ``words`` random words are divided among the offsets.
    """
    total, room = CompilationCheck(), model.context - 1 - program.eos
    each = -(-words // max(1, room + 1))
    for offset in range(room + 1):
        longest = room - offset
        drawn = [random_words(program, longest, each, offset)] if words else []
        for batch in itertools.chain(short_words(program, min(longest_exhaustive, longest)), drawn):
            total += compare(program, model, batch, offset)
    return total
