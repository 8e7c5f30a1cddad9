"""The model of a run directory, and of a folder that `LengthwiseForCausalLM.save_pretrained` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import read_json
from lengthwise.core.result_file import read_sealed
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import check_kept
from lengthwise.models.build import build_model
from lengthwise.models.transformer import Transformer
from lengthwise.training import checkpoint

WEIGHTS, PREFIX = "model.safetensors", "transformer."
"""The file with the weights, and how their names begin."""


def load_trained(folder: Path) -> tuple[RunConfig, Transformer]:
    """The experiment of a run directory and its model at the last checkpoint.

    Raises `LengthwiseError` when the folder is not a run directory, or holds no checkpoint.
    """
    check_kept(folder)
    values = read_sealed(folder / "config.json", "run configuration")
    experiment, model = _built(values, f"{folder / 'config.json'} is not a run configuration; choose a run directory")
    if checkpoint.load_model(folder, model) is None:
        raise LengthwiseError(f"{folder} holds no checkpoint; run the recipe again")
    return experiment, model.eval()


def load_exported(folder: Path) -> tuple[RunConfig, Transformer]:
    """The experiment and the model of an exported folder, without the package `transformers`.

    Raises `LengthwiseError` if the folder is damaged.
    """
    values = read_json(folder / "config.json", what="model configuration")
    nothing = f"{folder / 'config.json'} holds no experiment; export the model again"
    experiment, model = _built(values, nothing)
    require("vocabulary" in values, nothing)
    require(
        list(experiment.task.vocab.tokens) == values["vocabulary"],
        f"the vocabulary of task {experiment.task.name!r} is not the one that {folder} was trained with; install the "
        "version of lengthwise that trained it",
    )
    try:
        tensors = load_file(folder / WEIGHTS)
        model.load_state_dict({name.removeprefix(PREFIX): value for name, value in tensors.items()})
    except (OSError, SafetensorError, RuntimeError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise LengthwiseError(f"{folder / WEIGHTS} can't be read ({first}); export the model again") from None
    return experiment, model.eval()


def _built(values: Any, nothing: str) -> tuple[RunConfig, Transformer]:
    """The experiment of a file and its model before training; raises `LengthwiseError` with ``nothing`` without one."""
    try:
        experiment, seed = RunConfig.from_json(values["experiment"]), int(values["seed"])
    except (AttributeError, KeyError, TypeError, ValueError):
        raise LengthwiseError(nothing) from None
    return experiment, build_model(experiment.task, experiment.scheme, experiment.encoding, experiment.model, seed=seed)
