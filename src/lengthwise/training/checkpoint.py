"""Checkpoints of a stack of runs; the one before the newest is kept and takes its place where that is damaged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from lengthwise.core.errors import LengthwiseError, TrainingDivergedError, require, warn
from lengthwise.core.result_file import CHECKPOINT
from lengthwise.models.tensor_files import read_tensors, write_tensors
from lengthwise.training.adamw import StackedAdamW
from lengthwise.training.runs import Progress, StackProgress

FILE, PREVIOUS = CHECKPOINT, "checkpoint.previous.safetensors"
WEIGHTS, AVERAGES, SQUARES, COUNTS = "stack.", "average.", "square.", "count."
"""How names of tensors begin: parameters of the stack, and the state of its optimizer by parameter."""


class CheckpointWarning(UserWarning):
    """The newest checkpoint is damaged, and the one before it is used."""


_STACK = TypeAdapter(StackProgress)


def write(folder: Path, tensors: Mapping[str, Tensor], progress: StackProgress) -> None:
    """Write the newest checkpoint of a folder; the one that was there becomes the previous one.

    Raises `LengthwiseError` as `save_tensors` does; the checkpoints then stay as they are.
    """
    save_tensors(
        folder / FILE, tensors, _STACK.dump_json(progress).decode(), step=progress.step, previous=folder / PREVIOUS
    )


def save_tensors(
    path: Path, tensors: Mapping[str, Tensor], about: str, *, step: int, previous: Path | None = None
) -> None:
    """Write tensors and a text about them; what was there is kept as ``previous``.

    Raises `LengthwiseError` when the disk is full, the folder can't be written, or the tensors of this ``step`` are not
    finite: nothing is changed then.
    """
    held = {name: value.detach().contiguous().cpu() for name, value in tensors.items()}
    if not _finite(held):
        raise TrainingDivergedError(f"training diverged: weights are not finite at step {step}; lower training.lr")
    write_tensors(path, held, about, previous=previous)


def tensors_of(model: nn.Module, optimizer: StackedAdamW) -> dict[str, Tensor]:
    """Parameters and the optimizer's state by their names in a checkpoint: the tensors themselves, no copies."""
    found: dict[str, Tensor] = {}
    for (name, parameter), *state in zip(
        model.named_parameters(), optimizer.averages, optimizer.squares, optimizer.counts, strict=True
    ):
        kinds = zip((WEIGHTS, AVERAGES, SQUARES, COUNTS), (parameter, *state), strict=True)
        found |= {kind + name: value.detach() for kind, value in kinds}
    return found


def check_fits(mine: Mapping[str, Tensor], tensors: Mapping[str, Tensor], path: Path) -> None:
    """Raise `LengthwiseError` unless the checkpoint at ``path`` has tensors of the same names and shapes."""
    if {name: value.shape for name, value in mine.items()} != {name: value.shape for name, value in tensors.items()}:
        raise damage(path)


def read(folder: Path) -> tuple[dict[str, Tensor], StackProgress] | None:
    """Tensors and progress of the newest good checkpoint of a folder; None if there is none at all.

    Warns where it has to be the previous one, and raises `LengthwiseError` if that is damaged, too.
    """
    newest, previous = folder / FILE, folder / PREVIOUS
    if not newest.exists() and not previous.exists():
        return None
    try:
        return _read(newest)
    except LengthwiseError as error:
        if not previous.exists():
            raise
        try:
            tensors, progress = _read(previous)
        except LengthwiseError:
            raise error from None
        if newest.exists():
            what = f"checkpoint {newest} is damaged; going on from the one before it, at step {progress.step}"
            warn(what, CheckpointWarning)
        return tensors, progress


def load_model(folder: Path, model: nn.Module) -> Progress | None:
    """Restore the only run of a checkpoint into ``model``; None if there is no checkpoint.

    Raises `LengthwiseError` if the file is damaged or belongs to another model.
    """
    found = read(folder)
    if found is None:
        return None
    tensors, progress = found
    weights = {name.removeprefix(WEIGHTS): value for name, value in tensors.items() if name.startswith(WEIGHTS)}
    if len(progress.members) != 1:
        raise damage(folder / FILE)
    try:
        model.load_state_dict({name: value[0] for name, value in weights.items()})
    except (RuntimeError, IndexError):
        raise damage(folder / FILE) from None
    return progress.progress[progress.members[0]]


def damage(path: Path) -> LengthwiseError:
    """The error of a checkpoint that can't be used."""
    return LengthwiseError(f"checkpoint {path} is damaged or of another model; delete it and run again")


def load_tensors(path: Path) -> tuple[dict[str, Tensor], str]:
    """What `save_tensors` wrote: the tensors and the text about them.

    Raises `LengthwiseError` if the file is damaged or not finite.
    """
    try:
        tensors, about = read_tensors(path)
    except ValueError:
        raise damage(path) from None
    require(_finite(tensors), f"checkpoint {path} holds NaN or infinite weights; delete it and run again")
    return tensors, about


def _finite(tensors: Mapping[str, Tensor]) -> bool:
    return all(bool(torch.isfinite(value).all()) for value in tensors.values())


def _read(path: Path) -> tuple[dict[str, Tensor], StackProgress]:
    tensors, about = load_tensors(path)
    try:
        return tensors, _STACK.validate_json(about)
    except ValueError:
        raise damage(path) from None
