"""Checkpoints of a stack of runs: tensors in safetensors, all else in its metadata, written whole or not at all.

A digest covers both. It guards against accidents (flipped bits, files cut short), not against anyone who means to
change a file. The checkpoint before the newest is kept and takes its place where that is damaged.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from pydantic import TypeAdapter
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from lengthwise.core.errors import LengthwiseError, TrainingDivergedError
from lengthwise.core.files import replace_file, replacing
from lengthwise.models.build import digest_of
from lengthwise.training.adamw import StackedAdamW
from lengthwise.training.runs import Progress, Run, StackProgress

FILE, PREVIOUS = "checkpoint.safetensors", "checkpoint.previous.safetensors"
WEIGHTS, AVERAGES, SQUARES, COUNTS = "stack.", "average.", "square.", "count."
"""How names of tensors begin: parameters of the stack, and the state of its optimizer by parameter."""
UNKNOWN_SEED = -1
"""The seed in a checkpoint of the oldest format, which does not say."""


class CheckpointWarning(UserWarning):
    """The newest checkpoint is damaged, and the one before it is used."""


_PROGRESS, _STACK = TypeAdapter(Progress), TypeAdapter(StackProgress)


def text_of(progress: StackProgress) -> str:
    """The text about a stack in its checkpoint."""
    return _STACK.dump_json(progress).decode()


def progress_of(text: str) -> StackProgress:
    """What `text_of` wrote; raises `ValueError` for any other text."""
    return _STACK.validate_json(text)


def write(folder: Path, tensors: Mapping[str, Tensor], progress: StackProgress) -> None:
    """Write the newest checkpoint of a folder; the one that was there becomes the previous one.

    Raises `LengthwiseError` as `save_tensors` does; the checkpoints then stay as they are.
    """
    save_tensors(folder / FILE, tensors, text_of(progress), step=progress.step, previous=folder / PREVIOUS)


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
    with replacing(path) as temporary:
        try:
            save_file(held, temporary, metadata={"about": about, "digest": digest_of(held, about)})
        except SafetensorError as error:
            # It wraps the system's error as text; `replacing` knows what to say about those.
            raise OSError(str(error)) from None
        if previous is not None and path.exists():
            replace_file(path, previous)


def tensors_of(model: nn.Module, optimizer: StackedAdamW) -> dict[str, Tensor]:
    """Parameters and the optimizer's state by their names in a checkpoint: the tensors themselves, no copies."""
    found: dict[str, Tensor] = {}
    for (name, parameter), *state in zip(
        model.named_parameters(), optimizer.averages, optimizer.squares, optimizer.counts, strict=True
    ):
        kinds = zip((WEIGHTS, AVERAGES, SQUARES, COUNTS), (parameter, *state), strict=True)
        found |= {kind + name: value.detach() for kind, value in kinds}
    return found


def restore(mine: Mapping[str, Tensor], tensors: Mapping[str, Tensor], path: Path) -> None:
    """Copy the tensors of the checkpoint at ``path`` into ``mine``; raises `LengthwiseError` if they don't fit."""
    if {name: value.shape for name, value in mine.items()} != {name: value.shape for name, value in tensors.items()}:
        raise damage(path)
    for name, value in mine.items():
        value.copy_(tensors[name])


def read(folder: Path, names: Sequence[str] = ()) -> tuple[dict[str, Tensor], StackProgress] | None:
    """Tensors and progress of the newest good checkpoint of a folder; None if there is none at all.

    ``names`` are the model's parameters in order; files of older formats have optimizer states only with them. Warns
    where it has to be the previous one, and raises `LengthwiseError` if that is damaged, too.
    """
    newest, previous = folder / FILE, folder / PREVIOUS
    if not newest.exists() and not previous.exists():
        return None
    try:
        return _read(newest, names)
    except LengthwiseError as error:
        if not previous.exists():
            raise
        try:
            tensors, progress = _read(previous, names)
        except LengthwiseError:
            raise error from None
        if newest.exists():
            what = f"checkpoint {newest} is damaged; going on from the one before it, at step {progress.step}"
            warnings.warn(what, CheckpointWarning, stacklevel=2)
        return tensors, progress


def load_model(folder: Path, model: nn.Module) -> Progress | None:
    """Restore the only run of a checkpoint into ``model``; None if there is no checkpoint.

    Raises `LengthwiseError` if the file is damaged or belongs to another model.
    """
    found = read(folder, list(model.state_dict()))
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


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """What `save_tensors` wrote: the tensors and the metadata, ``about`` (``progress`` in files of older formats).

    Raises `LengthwiseError` if the file is damaged or not finite.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        # The digests of older formats cover no text.
        sound = metadata["digest"] == digest_of(tensors, metadata.get("about", ""))
    except (SafetensorError, KeyError, ValueError, RuntimeError, OSError):
        raise damage(path) from None
    if not sound:
        raise damage(path)
    if not _finite(tensors):
        raise LengthwiseError(f"checkpoint {path} holds NaN or infinite weights; delete it and run again")
    return tensors, metadata


def _finite(tensors: Mapping[str, Tensor]) -> bool:
    return all(bool(torch.isfinite(value).all()) for value in tensors.values())


def _read(path: Path, names: Sequence[str]) -> tuple[dict[str, Tensor], StackProgress]:
    tensors, metadata = load_tensors(path)
    try:
        if "about" in metadata:
            return tensors, progress_of(metadata["about"])
        return _of_old_format(tensors, metadata["progress"], names)
    except (KeyError, ValueError):
        raise damage(path) from None


def _of_old_format(
    tensors: dict[str, Tensor], text: str, names: Sequence[str]
) -> tuple[dict[str, Tensor], StackProgress]:
    """The formats before this one: of a single run and of a stack; their digests cover no text."""
    single = not any(name.startswith(WEIGHTS) for name in tensors)
    if single:
        run = _PROGRESS.validate_json(text)
        progress = StackProgress(run.step, run.seconds, [Run(UNKNOWN_SEED)], [0], [run], [None])
        # The optimizer's parameters were numbered, the matrices first.
        order = sorted(names, key=lambda name: tensors[f"model.{name}"].ndim < 2)
        found = {f"{WEIGHTS}{name}": tensors[f"model.{name}"][None] for name in names}
    else:
        progress, order = _STACK.validate_json(text), list(names)
        found = {name: value for name, value in tensors.items() if name.startswith(WEIGHTS)}
    for index, name in enumerate(order):
        if single:
            old = f"optimizer.{index}."
            found[COUNTS + name] = tensors[f"{old}step"]
            found |= {
                AVERAGES + name: tensors[f"{old}exp_avg"][None],
                SQUARES + name: tensors[f"{old}exp_avg_sq"][None],
            }
        else:
            found[COUNTS + name] = torch.tensor(float(progress.step))
            found |= {AVERAGES + name: tensors[f"average.{index}"], SQUARES + name: tensors[f"square.{index}"]}
    return found, progress
