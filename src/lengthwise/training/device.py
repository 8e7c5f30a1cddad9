"""What a training loop owes its device: a GPU works through a queue while the host prepares the next step's data.

To ask a tensor there for its number empties the queue, so a step never does, and the loop only now and then.
"""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import Any, Literal

import torch

READ_EVERY = 10
"""Steps between two readings of the loss where that waits for the device."""


def autocast(device: torch.device | str, precision: Literal["float32", "bf16"]) -> AbstractContextManager[Any]:
    """Products in bf16 where asked for; float32 is left alone."""
    if precision == "float32":
        return contextlib.nullcontext()
    return torch.autocast(torch.device(device).type, torch.bfloat16)


def reads_loss(device: torch.device | str, step: int) -> bool:
    """Whether progress should show the loss after so many steps: always on a CPU."""
    return torch.device(device).type == "cpu" or step % READ_EVERY == 0
