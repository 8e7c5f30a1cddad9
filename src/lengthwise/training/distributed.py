"""A training in parts (FSDP2): weights, gradients and optimizer states spread over ranks."""

from __future__ import annotations

from collections.abc import Mapping
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


KINDS = (checkpoint.WEIGHTS, checkpoint.AVERAGES, checkpoint.SQUARES)
"""What each parameter has in a checkpoint, beside its count of updates."""


class ShardedAdamW(StackedAdamW):
    """The same update of this rank's share; the gradient is clipped by its norm over all ranks."""

    shards: Shards

    @torch.no_grad()
    def clip(self, limit: float) -> Float[Tensor, " S"]:
        """Scale the whole gradient to a norm of at most ``limit``; returns the norm before."""
        grads = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        squares = torch.stack([grad.square().sum() for grad in grads]).sum()
        norm = self.shards.total(squares).sqrt()[None]
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
        require(len(self.runs) == 1, f"--shard trains one seed at a time, got {len(self.runs)}; give --seed")
        require(
            not self.config.regularizer, "training.regularizer needs whole weights; leave out --shard, or set it to 0"
        )
        assert self.ranks is not None
        device, self.device = self.device, "cpu"
        super().__post_init__()
        self.device = device
        # Seen by nothing from here on, so that what is not this rank's share is freed.
        del self._own
        self._whole = self.stack.view(0) if self.ranks.leads else None
        self.stack.release()
        self._read: dict[str, Tensor] | None = None
        self.shards = Shards(self.stack, self.ranks.size, device)
        self.optimizer = ShardedAdamW(self.shards.parameters, self.config, self.optimizer.decays)
        self.optimizer.shards = self.shards

    def _add_up(self, reported: Float[Tensor, " S"]) -> None:
        self.shards.take_gradients()
        reported.copy_(self.shards.total(reported))

    def _finite(self) -> list[bool]:
        bad = torch.stack([(~torch.isfinite(share)).sum() for share in self.shards.parameters]).sum()
        self._gather()
        return [not bool(self.shards.total(bad))]

    def _model(self, number: int) -> Transformer:
        assert self._whole is not None, "rank 0 alone measures"
        return self._whole

    def _leave(self) -> None:
        if self.progress.done and self._whole is not None:
            self.states[0].model = self._whole.eval()

    def _gather(self) -> None:
        """Copy all weights into rank 0's whole model, one after the other."""
        found = [None] * len(self.shards.names) if self._whole is None else list(self._whole.parameters())
        for index, (share, mine) in enumerate(zip(self.shards.parameters, found, strict=True)):
            whole = self.shards.whole(index, share)
            if mine is not None:
                mine.detach().copy_(whole[0])

    def _states(self) -> list[tuple[str, int, Tensor]]:
        """Names in a checkpoint, index of the parameter, and this rank's share."""
        optimizer = self.optimizer
        return [
            (kind + name, index, share)
            for kind, shares in zip(KINDS, (optimizer.parameters, optimizer.averages, optimizer.squares), strict=True)
            for index, (name, share) in enumerate(zip(self.shards.names, shares, strict=True))
        ]

    def _counts(self) -> dict[str, Tensor]:
        return {checkpoint.COUNTS + name: n for name, n in zip(self.shards.names, self.optimizer.counts, strict=True)}

    def _tensors(self) -> dict[str, Tensor]:
        """Whole tensors, on rank 0 alone; all ranks call."""
        assert self.ranks is not None
        found: dict[str, Tensor] = {}
        for name, index, share in self._states():
            whole = self.shards.whole(index, share)
            if self.ranks.leads:
                found[name] = whole
        return found | self._counts()

    def _save(self) -> None:
        tensors = self._tensors()
        if self.folder is not None and self.states[0].failure is None:
            checkpoint.write(self.folder, tensors, self._described([0], self.members))

    def _restore(self, tensors: dict[str, Tensor], path: Path) -> None:
        # The other ranks are not here; they get their shares in `_share`.
        wanted = {name: self.shards.shape(index) for name, index, _ in self._states()}
        wanted |= shapes(self._counts())
        if shapes(tensors) != wanted:
            raise checkpoint.damage(path)
        self._read = tensors

    def _share(self) -> None:
        assert self.ranks is not None
        said = self.ranks.said(checkpoint.text_of(self._described([0], self.members)))
        if not self.ranks.leads:
            self._go_to(checkpoint.progress_of(said))
        # Without a checkpoint all ranks have built the same weights.
        if self.ranks.said("read" if self._read is not None else ""):
            self._spread(self._read or {})
        self._read = None
        if self.progress.done:
            self._gather()

    def _spread(self, tensors: Mapping[str, Tensor]) -> None:
        assert self.ranks is not None
        for name, index, share in self._states():
            self.shards.load(index, share, tensors.get(name))
        for name, count in self._counts().items():
            if name in tensors:
                count.copy_(tensors[name])
        self.ranks.send(self._counts().values())
