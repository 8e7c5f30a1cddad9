"""The ranks of torchrun: how they start, and what the first of them alone does."""

from __future__ import annotations

import atexit
import datetime
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.training.config import TrainingConfig

TIMEOUT = datetime.timedelta(days=2)
"""How long a rank waits for the others. torchrun ends all when one dies, so this is never the way to find out."""
LEAVING_SECONDS = 10
"""How long an ending process waits for its threads; they may wait for a rank that is gone."""


@dataclass(frozen=True)
class Ranks:
    """This process's number and how many there are; rank 0 measures, writes the files and leads."""

    rank: int
    size: int
    shards: bool = False
    """Whether each holds its share of the weights instead of all of them."""

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def check(self, model: ModelConfig, training: TrainingConfig) -> None:
        """Raise `LengthwiseError` for a training that ranks can't share."""
        rows = training.batch_size // training.groups
        require(rows >= self.size, f"{self.size} ranks can't share groups of {rows} sequences; start fewer ranks")
        require(model.dropout == 0, f"model.dropout must be 0 with several ranks, got {model.dropout}; set it to 0")

    def share(self, groups: Sequence[Inputs], runs: int) -> list[Inputs]:
        """This rank's rows of each group, of every run."""
        return [
            Inputs.gather([(group, rows) for rows in self._rows(len(group.input_ids) // runs, runs)])
            for group in groups
        ]

    def _rows(self, rows: int, runs: int) -> list[slice]:
        first, last = rows * self.rank // self.size, rows * (self.rank + 1) // self.size
        return [slice(run * rows + first, run * rows + last) for run in range(runs)]

    def add_gradients(self, parameters: Iterable[nn.Parameter], reported: Tensor) -> None:
        """Replace gradients, and the loss that is reported, by their sums over all ranks."""
        found = [parameter.grad for parameter in parameters if parameter.grad is not None]
        flat = torch.cat([reported.reshape(-1), *[gradient.reshape(-1) for gradient in found]])
        dist.all_reduce(flat)
        start = 0
        for tensor in (reported, *found):
            tensor.copy_(flat[start : start + tensor.numel()].view_as(tensor))
            start += tensor.numel()

    def send(self, tensors: Iterable[Tensor]) -> None:
        for tensor in tensors:
            held = tensor.detach().reshape(-1).contiguous().to(_device())
            dist.broadcast(held, 0)
            tensor.detach().copy_(held.view_as(tensor))

    def broadcast(self, value: Any) -> Any:
        """Rank 0's value; those of the others are ignored."""
        held = [value]
        dist.broadcast_object_list(held, 0, device=torch.device(_device()))
        return held[0]


def _device() -> str:
    return "cuda" if dist.get_backend() == "nccl" else "cpu"


@cache
def ranks(device: str = "cpu", *, shards: bool = False) -> Ranks | None:
    """The ranks that torchrun started this process among; None for a process by itself.

    They compute on ``device``; ``shards`` gives each its share of the weights.

    Raises `LengthwiseError` if the others can't be reached.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or "RANK" not in os.environ:
        return None
    on_gpu = device.startswith("cuda")
    if on_gpu:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    try:
        dist.init_process_group("nccl" if on_gpu else "gloo", timeout=TIMEOUT)
    except (RuntimeError, ValueError) as error:
        raise LengthwiseError(f"the ranks of torchrun can't reach each other ({error})") from None
    atexit.register(_leave)
    return Ranks(dist.get_rank(), dist.get_world_size(), shards)


def _leave() -> None:
    """End the threads of the process group while Python still runs: one that needs it later aborts the process."""
    leaving = threading.Thread(target=dist.destroy_process_group, daemon=True)
    leaving.start()
    leaving.join(LEAVING_SECONDS)
