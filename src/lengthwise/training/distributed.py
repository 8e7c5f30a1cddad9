"""A training in parts (FSDP2): weights, gradients and optimizer states spread over ranks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

from lengthwise.core.errors import require
from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer
from lengthwise.training import checkpoint
from lengthwise.training.adamw import StackedAdamW
from lengthwise.training.trainer import Trainer


def spread(stack: TransformerStack, size: int, device: str) -> None:
    """Make the parameters of a stack of one run distributed tensors, of which each rank holds its share.

    A matrix is cut along an axis that the number of ranks divides; where there is none, one rank holds it whole.
    """
    mesh = init_device_mesh(torch.device(device).type, (size,))

    def axis_of(parameter: nn.Parameter) -> Shard:
        # The first axis is the run, of which there is one.
        axes = [axis for axis in range(1, parameter.ndim) if parameter.shape[axis] % size == 0]
        return Shard(axes[0] if axes else 0)

    for module in (*stack.model.blocks, stack.model):
        fully_shard(module, mesh=mesh, shard_placement_fn=axis_of)
    for module in stack.model.modules():
        if isinstance(module, FSDPModule):
            # Each rank's loss is already divided by all scored tokens, so that gradients are added up.
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(True)


def whole(tensor: Tensor) -> Tensor:
    """The whole of a tensor that is spread over ranks, in host memory; all call."""
    tensor = tensor.detach()
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).cpu()


def local(tensor: Tensor) -> Tensor:
    """This rank's share of a tensor, without a copy; empty where another rank holds it whole."""
    tensor = tensor.detach()
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


class ShardedAdamW(StackedAdamW):
    """The same update of this rank's share; the gradient is clipped by its norm over all ranks."""

    @torch.no_grad()
    def clip(self, limit: float) -> Float[Tensor, " S"]:
        grads = [local(parameter.grad) for parameter in self.parameters if parameter.grad is not None]
        squares = torch.stack([grad.square().sum() for grad in grads]).sum()
        dist.all_reduce(squares)
        norm = squares.sqrt()[None]
        factor = (limit / (norm + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(factor)
        return norm


@dataclass
class ShardedTrainer(Trainer):
    """`Trainer` of one run on several ranks, each of which holds its share of everything that grows with the model.

    Rank 0 gathers the weights, in host memory, to measure the model and to write checkpoints. Raises `LengthwiseError`
    for several runs, the regularizer, which reads whole weights outside of the model, and what `Trainer` refuses.
    """

    def __post_init__(self) -> None:
        require(len(self.runs) == 1, f"`shard` trains one seed at a time, got {len(self.runs)}; give one of `seeds`")
        require(
            not self.config.regularizer, "training.regularizer needs whole weights; leave out `shard`, or set it to 0"
        )
        assert self.ranks is not None
        device, self.device = self.device, "cpu"
        super().__post_init__()
        self.device = device
        # Seen by nothing from here on, so that what is not this rank's share is freed.
        del self._only
        self._whole = self.stack.view(0) if self.ranks.leads else None
        self._read: dict[str, Tensor] | None = None
        spread(self.stack, self.ranks.size, device)
        self.optimizer = ShardedAdamW(list(self.stack.parameters()), self.config)

    def _add_up(self, reported: Float[Tensor, " S"]) -> None:
        dist.all_reduce(reported)  # FSDP has added up the gradients

    def _finite(self) -> list[bool]:
        bad = torch.stack([(~torch.isfinite(local(parameter))).sum() for parameter in self.optimizer.parameters]).sum()
        self._gather()
        dist.all_reduce(bad)
        return [not bool(bad)]

    def _model(self, number: int) -> Transformer:
        assert self._whole is not None, "rank 0 alone measures"
        return self._whole

    def _leave(self) -> None:
        if self.progress.done and self._whole is not None:
            self.states[0].model = self._whole.eval()

    def _gather(self) -> None:
        """Copy all weights into rank 0's whole model, one after the other."""
        parameters = self.optimizer.parameters
        mine = [None] * len(parameters) if self._whole is None else list(self._whole.parameters())
        for parameter, own in zip(parameters, mine, strict=True):
            value = whole(parameter)
            if own is not None:
                own.detach().copy_(value[0])

    def _save(self) -> None:
        assert self.ranks is not None
        tensors: dict[str, Tensor] = {}
        for name, value in self._tensors().items():
            found = whole(value)  # all ranks call
            if self.ranks.leads:
                tensors[name] = found
        if self.folder is not None and self.states[0].failure is None:
            checkpoint.write(self.folder, tensors, self._described([0], self.members))

    def _restore(self, tensors: dict[str, Tensor], path: Path) -> None:
        # The other ranks are not here; they get their shares in `_share`.
        checkpoint.check_fits(self._tensors(), tensors, path)
        self._read = tensors

    def _share(self) -> None:
        assert self.ranks is not None
        self._begin_together(self.ranks)
        # Without a checkpoint all ranks have built the same weights.
        if self.ranks.broadcast(self._read is not None):
            for name, value in self._tensors().items():
                read = torch.zeros(value.shape, dtype=value.dtype) if self._read is None else self._read[name]
                if isinstance(value, DTensor):
                    read = distribute_tensor(read.to(self.device), value.device_mesh, value.placements).to_local()
                local(value).copy_(read)
                if not isinstance(value, DTensor):
                    self.ranks.send([value])
        self._read = None
        if self.progress.done:
            self._gather()
