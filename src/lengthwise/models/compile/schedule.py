"""Compiler pass 2 assigns every node a layer.

Time 0 is the embedding, time 2l − 1 the attention of layer l, and time 2l its MLP.
"""

from __future__ import annotations

from dataclasses import dataclass

from lengthwise.models.compile.circuit import Circuit, PhaseBit, Shift, SymbolBit, Tally

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
