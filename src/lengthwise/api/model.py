"""`load`: the trained model of a run, with generation from text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from lengthwise.api.result import Result
from lengthwise.core import config as arguments
from lengthwise.core.errors import LengthwiseError, listed
from lengthwise.core.vocab import EOS
from lengthwise.evaluation.accuracy import read_prompt
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.trained import load_trained
from lengthwise.models.generate import generate
from lengthwise.models.transformer import Transformer
from lengthwise.report.summary import SeedResult


class TrainedTransformer(Transformer):
    """A `Transformer` that knows its task, and so reads prompts and writes answers as text."""

    experiment: RunConfig

    @classmethod
    def of(cls, experiment: RunConfig, model: Transformer) -> TrainedTransformer:
        """The same module (its parameters are shared), with the experiment that trained it."""
        made = cls.__new__(cls)
        made.__dict__.update(model.__dict__)
        made.experiment = experiment
        return made

    @torch.inference_mode()
    def generate(self, prompt: str | Sequence[str], *, steps: int | None = None) -> str:
        """The greedy continuation of a prompt such as ``"7 2 + 5 4 ="`` or a list of tokens, without ``<eos>``.

        Position ids of new tokens come from the scheme, or from the model itself where it predicts them. ``steps``
        bounds the number of new tokens. Raises `LengthwiseError` for a prompt that the task does not have.
        """
        task, scheme = self.experiment.task, self.experiment.scheme
        most = None if steps is None else arguments.whole("steps", steps, 1)
        text = prompt if isinstance(prompt, str) else " ".join(arguments.names("prompt", prompt))
        read = read_prompt(task, scheme, text)
        given = None if scheme.predicted else read.next_ids
        if given is None and not scheme.predicted:
            raise LengthwiseError(
                f"the places of this answer depend on its content, so scheme {scheme.name!r} can't give its ids; "
                "train with scheme predictive-coupling"
            )
        device = next(self.parameters()).device
        out = generate(
            self,
            torch.from_numpy(read.input_ids).to(device),
            torch.from_numpy(read.position_ids).to(device),
            most or read.steps,
            next_ids=None if given is None else torch.from_numpy(given).to(device),
        )
        words = task.vocab.decode(out.tokens[0].tolist())
        return " ".join(words[: words.index(EOS)] if EOS in words else words)


def load(source: Result | str | Path, seed: int | None = None, *, system: str | None = None) -> TrainedTransformer:
    """The trained model of a `Result` or of a run directory: a plain `torch.nn.Module` with ``generate(text)``.

    Arguments:
        source: a `Result`, a run directory, or a folder with several.
        seed: which seed; by default the best of those that fitted, by exact match at the longest test.
        system: which system, where the runs are of several.

    Returns: the model, in evaluation mode.

    Raises: `LengthwiseError` if there is no such run, the runs are of several systems and none is named, or the folder
        holds no checkpoint.
    """
    return TrainedTransformer.of(*load_trained(run_folder(source, seed, system)))


def run_folder(source: Result | str | Path, seed: int | None = None, system: str | None = None) -> Path:
    """The run directory that `load` reads; arguments and errors as there."""
    if not isinstance(source, Result):
        folder = arguments.path("source", source)
        return folder if (folder / "config.json").exists() else run_folder(Result.of([folder]), seed, system)
    seed = None if seed is None else arguments.whole("seed", seed)
    names = list(dict.fromkeys(run.system for run in source.runs))
    if system is None and len(names) > 1:
        raise LengthwiseError(f"these runs are of {len(names)} systems; give one as `system`: {listed(names)}")
    mine = source.files if system is None else source.only(systems=[system]).files
    candidates = [(folder, run) for folder, run in mine if seed is None or run.seed == seed]
    if not candidates:
        seeds = ", ".join(str(run.seed) for _, run in mine)
        raise LengthwiseError(f"seed {seed} was not run; the seeds are {seeds}")
    return max(candidates, key=lambda candidate: _goodness(candidate[1]))[0]


def _goodness(run: SeedResult) -> tuple[bool, float, float]:
    """Whether a run fitted, its exact match at the longest test, and that at training lengths."""
    longest = max((score.length for score in run.scores), default=0)
    there = [score.rate() for score in run.lower if score.length == longest]
    return run.fitted, min(there, default=0.0) or 0.0, run.in_distribution.rate()
