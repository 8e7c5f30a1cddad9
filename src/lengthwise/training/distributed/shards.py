"""The weights of a training in parts (FSDP2): each rank holds its share of every matrix and gathers a block as it runs.

Method: Zhao et al. 2023, PyTorch FSDP, in torch's second form, `torch.distributed.fsdp.fully_shard`.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

from lengthwise.models.stacked import TransformerStack


class Shards:
    """This rank's share of a stack of one run; the stack's own parameters become distributed tensors.

    ``parameters`` are plain tensors that see this rank's share, for the optimizer; their gradients come by
    `take_gradients`. A matrix is cut along an axis that the number of ranks divides; where there is none, one rank
    holds it whole.
    """

    def __init__(self, stack: TransformerStack, size: int, device: str) -> None:
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
        self.names: list[str] = []
        self._held: list[DTensor] = []
        for name, parameter in stack.model.named_parameters():
            assert isinstance(parameter, DTensor)
            self.names.append(name)
            self._held.append(parameter)
        self.parameters = [nn.Parameter(held.to_local().detach()) for held in self._held]

    def take_gradients(self) -> None:
        """Give ``parameters`` this rank's share of the gradients of all ranks, which the stack forgets."""
        for parameter, held in zip(self.parameters, self._held, strict=True):
            mine = held.grad.to_local() if isinstance(held.grad, DTensor) else None
            # What another rank holds whole is empty here.
            parameter.grad = mine if mine is not None and mine.numel() else None
            held.grad = None

    def shape(self, index: int) -> torch.Size:
        """The shape of a whole parameter."""
        return self._held[index].shape

    def whole(self, index: int, share: Tensor) -> Tensor:
        """The whole of a tensor like parameter ``index``, from every rank's ``share``, in host memory; all call."""
        like = self._held[index]
        spread = DTensor.from_local(
            share.detach(), like.device_mesh, like.placements, run_check=False, shape=like.shape, stride=like.stride()
        )
        return spread.full_tensor().cpu()

    def load(self, index: int, share: Tensor, whole: Tensor | None) -> None:
        """Copy this rank's part of rank 0's ``whole`` into ``share``, which is like parameter ``index``; all call."""
        like = self._held[index]
        sent = torch.zeros(like.shape, dtype=share.dtype) if whole is None else whole
        share.detach().copy_(distribute_tensor(sent.to(share.device), like.device_mesh, like.placements).to_local())

    def total(self, number: Tensor) -> Tensor:
        """The sum of a number over all ranks."""
        number = number.clone()
        dist.all_reduce(number)
        return number


def shapes(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    """The shape of each tensor by name."""
    return {name: tensor.shape for name, tensor in tensors.items()}
