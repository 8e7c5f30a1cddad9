"""Compiler pass 4 writes the attention heads (counting heads, local heads, the phase of BOS), embedding and readout.

A counting head attends uniformly (`_uniform`). A local head (`_local`) fetches the bits of δ positions ago that a
program asks for: a window of k is k − 1 `Shift`s, one for each distance δ (`normalize.py`), and each is one head.
The bit is a `Form` (Σ weight · node + constant) over coordinates of the residual stream, which `allocation` numbers.
Behind the head the MLP rounds what it fetched to 0 or 1, and adds the bit of BOS if the program counts BOS (`mlps.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from lengthwise.core.vocab import BOS
from lengthwise.models.compile.allocate import ONE, UNIT, Allocation, bos_phase_name, phase_name, raw_name, symbol_name
from lengthwise.models.compile.circuit import Circuit, Form, PhaseBit, Shift, Tally
from lengthwise.models.compile.schedule import Schedule
from lengthwise.models.theory.limit_parts import LimitHead

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
