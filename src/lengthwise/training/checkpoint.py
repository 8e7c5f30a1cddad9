"""Checkpoints: tensors in safetensors, everything else in JSON, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from lengthwise.core.errors import LengthwiseError, TrainingDivergedError
from lengthwise.core.files import replacing

FILE = "checkpoint.safetensors"


@dataclass
class Progress:
    """How far a run is: steps done, seconds spent, probes so far."""

    step: int = 0
    seconds: float = 0.0
    probes: list[dict[str, Any]] = field(default_factory=list)
    done: bool = False


def save(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    """Write the run's state; one file, so parameters and progress can't disagree after a crash.

    Raises `LengthwiseError` as `write` does.
    """
    tensors: dict[str, Tensor] = {f"model.{name}": value.detach() for name, value in model.state_dict().items()}
    for index, parameter in enumerate(_parameters(optimizer)):
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"optimizer.{index}.{key}"] = value
    write(folder / FILE, tensors, vars(progress))


def write(path: Path, tensors: dict[str, Tensor], progress: dict[str, Any]) -> None:
    """Write tensors and progress (which has a ``step``), whole or not at all.

    Raises `LengthwiseError` when the disk is full, the folder can't be written, or the weights are not finite: the
    last good checkpoint then stays as it is.
    """
    tensors = {name: value.detach().contiguous().cpu() for name, value in tensors.items()}
    if not _finite(tensors):
        step = progress["step"]
        raise TrainingDivergedError(f"training diverged: weights are not finite at step {step}; lower training.lr")
    metadata = {"progress": json.dumps(progress), "digest": _digest(tensors)}
    with replacing(path) as temporary:
        try:
            save_file(tensors, temporary, metadata=metadata)
        except SafetensorError as error:
            # It wraps the system's error as text; `replacing` knows what to say about those.
            raise OSError(str(error)) from None


def load(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer | None) -> Progress | None:
    """Restore the run's state into ``model`` and ``optimizer``; None if there is no checkpoint.

    Raises `LengthwiseError` if the file is damaged or belongs to another model.
    """
    path = folder / FILE
    if not path.exists():
        return None
    tensors, values = read(path)
    damaged = damage(path)
    try:
        progress = Progress(**values)
        model.load_state_dict({k.removeprefix("model."): v for k, v in tensors.items() if k.startswith("model.")})
    except (KeyError, TypeError, ValueError, RuntimeError):
        raise damaged from None
    if optimizer is not None:
        for index, parameter in enumerate(_parameters(optimizer)):
            prefix = f"optimizer.{index}."
            state = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
            if not state and progress.step > 0:
                raise damaged
            if state:
                # The step counter stays on the CPU unless the optimizer is fused on a GPU.
                optimizer.state[parameter] = {key: value.to(parameter.device) for key, value in state.items()}
    return progress


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and progress, as `write` got them; raises `LengthwiseError` if the file is damaged or not finite."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            progress = json.loads(metadata["progress"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if metadata["digest"] != _digest(tensors) or not isinstance(progress, dict):
            raise damage(path)
    except (SafetensorError, KeyError, ValueError, RuntimeError, OSError):
        raise damage(path) from None
    if not _finite(tensors):
        raise LengthwiseError(f"checkpoint {path} holds NaN or infinite weights; delete it and run again")
    return tensors, progress


def damage(path: Path) -> LengthwiseError:
    """The error of a checkpoint that can't be used."""
    return LengthwiseError(f"checkpoint {path} is damaged or of another model; delete it and run again")


def _finite(tensors: dict[str, Tensor]) -> bool:
    return all(bool(torch.isfinite(value).all()) for value in tensors.values())


def _digest(tensors: dict[str, Tensor]) -> str:
    """A fingerprint of names and bytes: safetensors itself would read a flipped bit without a word."""
    total = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        total.update(name.encode())
        total.update(tensors[name].contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def _parameters(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
