"""Checkpoints: tensors in safetensors, everything else in JSON, written whole or not at all."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from lengthwise.core.errors import LengthwiseError
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
    """Write the run's state; one file, so parameters and progress can't disagree after a crash."""
    tensors: dict[str, Tensor] = {f"model.{name}": value.detach() for name, value in model.state_dict().items()}
    for index, parameter in enumerate(_parameters(optimizer)):
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"optimizer.{index}.{key}"] = value
    tensors = {name: value.contiguous().cpu() for name, value in tensors.items()}
    with replacing(folder / FILE) as temporary:
        save_file(tensors, temporary, metadata={"progress": json.dumps(vars(progress))})


def load(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer | None) -> Progress | None:
    """Restore the run's state into ``model`` and ``optimizer``; None if there is no checkpoint.

    Raises `LengthwiseError` if the file is damaged or belongs to another model.
    """
    path = folder / FILE
    if not path.exists():
        return None
    damaged = LengthwiseError(f"checkpoint {path} is damaged or of another model; delete it and run again")
    try:
        with safe_open(path, framework="pt") as file:
            progress = Progress(**json.loads((file.metadata() or {})["progress"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        model.load_state_dict({k.removeprefix("model."): v for k, v in tensors.items() if k.startswith("model.")})
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError, OSError):
        raise damaged from None
    if any(not torch.isfinite(value).all() for value in tensors.values()):
        raise LengthwiseError(f"checkpoint {path} holds NaN or infinite weights; delete it and run again")
    if optimizer is not None:
        for index, parameter in enumerate(_parameters(optimizer)):
            prefix = f"optimizer.{index}."
            state = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
            if state:
                # The step counter stays on the CPU unless the optimizer is fused on a GPU.
                optimizer.state[parameter] = {key: value.to(parameter.device) for key, value in state.items()}
    return progress


def _parameters(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
