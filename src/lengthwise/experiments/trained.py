"""The model of a run directory."""

from __future__ import annotations

from pathlib import Path

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.result_file import read_sealed
from lengthwise.experiments.experiment import Experiment
from lengthwise.models.build import build_model
from lengthwise.models.transformer import Transformer
from lengthwise.training import checkpoint


def load_trained(folder: Path) -> tuple[Experiment, Transformer]:
    """The experiment of a run directory and its model at the last checkpoint.

    Raises `LengthwiseError` when the folder is not a run directory, or holds no checkpoint.
    """
    values = read_sealed(folder / "config.json", "run configuration")
    try:
        experiment, seed = Experiment.from_json(values["experiment"]), int(values["seed"])
    except (KeyError, TypeError, ValueError):
        raise LengthwiseError(f"{folder / 'config.json'} is not a run configuration; choose a run directory") from None
    model = build_model(experiment.task, experiment.scheme, experiment.encoding, experiment.model, seed=seed)
    if checkpoint.load_model(folder, model) is None:
        raise LengthwiseError(f"{folder} holds no checkpoint; run the recipe again")
    return experiment, model.eval()
