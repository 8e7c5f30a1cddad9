"""Run directories to `LengthwiseForCausalLM` and back, and prompts as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import read_json
from lengthwise.evaluation.prompt import read_prompt
from lengthwise.experiments.run_directory import claim_run_dir
from lengthwise.experiments.trained import load_trained
from lengthwise.hf.own.configuration import LengthwiseConfig
from lengthwise.hf.own.modeling import LengthwiseForCausalLM
from lengthwise.training import checkpoint
from lengthwise.training.runs import Progress, Run, StackProgress


def from_run(folder: str | Path) -> LengthwiseForCausalLM:
    """The trained model of a run directory; raises `LengthwiseError` if it holds none."""
    experiment, trained = load_trained(Path(folder))
    seed = int(read_json(Path(folder) / "config.json", what="run configuration")["seed"])
    model = LengthwiseForCausalLM(LengthwiseConfig.of(experiment, seed))
    model.transformer.load_state_dict(trained.state_dict())
    return model.eval()


def to_run(model: LengthwiseForCausalLM, folder: str | Path) -> Path:
    """Write a run directory that `lengthwise` loads; it holds no result and no state of an optimizer.

    Raises `LengthwiseError` if the folder belongs to another run, or holds a checkpoint.
    """
    folder, seed = Path(folder), model.config.seed
    require(not (folder / checkpoint.FILE).exists(), f"{folder} holds a checkpoint already; choose another folder")
    claim_run_dir(folder, model.experiment, seed)
    steps = model.experiment.training.steps
    weights = {f"{checkpoint.WEIGHTS}{name}": value[None] for name, value in model.transformer.state_dict().items()}
    progress = StackProgress(steps, 0.0, [Run(seed)], [0], [Progress(step=steps, done=True)], [None])
    checkpoint.write(folder, weights, progress)
    return folder


def encode_prompt(model: LengthwiseForCausalLM, text: str) -> dict[str, Tensor]:
    """A prompt such as ``"7 + 5 ="``: ``input_ids`` [1, T] and, for a model that predicts ids, ``place_ids`` [1, T, L].

    Raises `LengthwiseError` if ``text`` is no prompt of the model's task.
    """
    experiment = model.experiment
    read = read_prompt(experiment.task, experiment.scheme, text)
    found: dict[str, Tensor] = {"input_ids": torch.from_numpy(read.input_ids)}
    if experiment.scheme.predicted:
        found["place_ids"] = torch.from_numpy(read.position_ids)
    return {name: value.to(model.device) for name, value in found.items()}


def decode(model: LengthwiseForCausalLM, tokens: Any) -> str:
    """The words of a row of token ids; raises `LengthwiseError` for an id that the vocabulary does not have."""
    words = model.config.vocabulary
    numbers = [int(token) for token in tokens]
    if any(not 0 <= number < len(words) for number in numbers):
        raise LengthwiseError(f"token ids must be in 0..{len(words) - 1}, got {min(numbers)}..{max(numbers)}")
    return " ".join(words[number] for number in numbers)
