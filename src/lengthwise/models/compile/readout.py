"""Compiler pass 6 writes the readout U: a logit is +1/2 where its output holds and −1/2 elsewhere."""

from __future__ import annotations

import torch
from torch import Tensor

from lengthwise.models.compile.allocate import ONE, Allocation
from lengthwise.models.compile.circuit import Circuit
from lengthwise.models.compile.heads import form_row


def readout(circuit: Circuit, allocation: Allocation) -> Tensor:
    """U ``[outputs, d]``, one row per output of the program."""
    rows = []
    for _, form in circuit.outputs:
        row = form_row(form, allocation)
        row[allocation.index[ONE]] -= 0.5
        rows.append(row)
    return torch.stack(rows)
