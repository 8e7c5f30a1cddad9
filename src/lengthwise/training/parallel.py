"""Many runs trained as one batched computation: seeds, and grids of learning rates and weight decays.

Every run has its own weights, sequences, gradient norm and probes; what the runs share is the schedule of lengths, so
that their groups line up, and the cost of each operation. Each equals its separate run (a `Trainer` with
``config.stacked``) up to floating-point rounding.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.rng import stream
from lengthwise.models.build import build_model
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import EncodingSpec
from lengthwise.positions.schemes import PositionScheme
from lengthwise.tasks import Task
from lengthwise.training import checkpoint
from lengthwise.training.checkpoint import Progress
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import stacked_groups, training_lengths
from lengthwise.training.device import autocast, reads_loss
from lengthwise.training.loss import run_losses
from lengthwise.training.memory import keep_memory
from lengthwise.training.regularizer import positional_regularizer
from lengthwise.training.schedule import learning_rate
from lengthwise.training.stack_parts import StackParts, runs_at_once
from lengthwise.training.stacked_adamw import StackedAdamW
from lengthwise.training.trainer import make_optimizer, write_log

JOINED = 1 << 22
"""Numbers of the residual stream up to which a stack takes all groups of a step at once; beyond, memory counts."""

SeedProbe = Callable[[Transformer, int, int], dict[str, Any]]
"""Measures one run's model in distribution, given the step and its seed; ``{"fitted": bool, …}``."""


@dataclass(frozen=True)
class Run:
    """One member of the stack: a seed and, in a grid, its own learning rate and weight decay."""

    seed: int
    lr: float | None = None
    weight_decay: float | None = None


def grid(seeds: Sequence[int], lrs: Sequence[float], weight_decays: Sequence[float | None] = (None,)) -> list[Run]:
    """Every combination; runs with equal settings are neighbours, which trains fastest."""
    return [Run(seed, lr, decay) for lr in lrs for decay in weight_decays for seed in seeds]


@dataclass
class RunState:
    """Where one run is; ``model`` is there once it has ended, ``failure`` says why one diverged."""

    run: Run
    progress: Progress = field(default_factory=Progress)
    model: Transformer | None = None
    failure: str | None = None

    @property
    def ended(self) -> bool:
        """Whether the run has left the stack."""
        return self.progress.done or self.failure is not None


@dataclass
class ParallelTrainer:
    """Trains ``runs`` (seeds, or `Run`s of a grid) as one stack; with a ``folder``, resumes bit-identically from it.

    ``states`` has one entry per run, in order. A run that is fitted (with ``stop_when_fitted``) or diverges leaves the
    stack, and the others go on faster. Dropout masks, where used, are the stack's and not those of separate runs.

    Raises `LengthwiseError` when the task has no such lengths, or the folder holds the checkpoint of other runs.
    """

    task: Task
    scheme: PositionScheme
    encoding: EncodingSpec
    model_config: ModelConfig
    config: TrainingConfig
    runs: Sequence[int | Run]
    probe: SeedProbe | None = None
    folder: Path | None = None
    run_folders: Sequence[Path] | None = None
    """Where each run leaves its own log and, when it ends, its ordinary checkpoint; default: inside ``folder``."""
    device: str = "cpu"
    on_step: Callable[[int, float], None] | None = None
    """As a `Trainer`'s, with the mean loss of the runs."""
    states: list[RunState] = field(init=False)

    def __post_init__(self) -> None:
        require(len(self.runs) > 0, "a stack needs at least one run, got 0; give one or more seeds")
        if not self.config.stacked:
            self.config = dataclasses.replace(self.config, stacked=True)
        training_lengths(self.task, self.config)
        keep_memory()
        self.states = [RunState(run if isinstance(run, Run) else Run(run)) for run in self.runs]
        self.step_count, self.seconds = 0, 0.0
        self.members = list(range(len(self.states)))
        runs = [state.run for state in self.states]
        self.stack = TransformerStack([self._plain(run) for run in runs]).to(self.device)
        decays = [self.settings(run).weight_decay for run in runs]
        self.parts = StackParts(self.stack)
        self.optimizer = StackedAdamW(list(self.stack.parameters()), self.config, decays)

    def _plain(self, run: Run) -> Transformer:
        return build_model(self.task, self.scheme, self.encoding, self.model_config, seed=run.seed)

    def settings(self, run: Run) -> TrainingConfig:
        """The training configuration of one run."""
        changes = {"lr": run.lr, "weight_decay": run.weight_decay}
        return dataclasses.replace(self.config, **{name: value for name, value in changes.items() if value is not None})

    def run(self) -> list[RunState]:
        """Train until every run has ended; their models are in ``states``."""
        self._resume()
        started = time.perf_counter() - self.seconds
        self.stack.train()
        while self.members:
            losses = self.step(self.step_count)
            self.step_count += 1
            last = self.step_count >= self.config.steps
            if self.on_step is not None and (last or reads_loss(self.device, self.step_count)):
                self.on_step(self.step_count, float(losses.mean()))
            if last or self.step_count % self.config.probe_every == 0:
                before, self.seconds = self.seconds, time.perf_counter() - started
                self._probe(losses.tolist(), (self.seconds - before) / len(self.members))
                self._save()
        return self.states

    def step(self, step: int) -> Tensor:
        """One optimizer step of all runs; returns their losses in nats per scored token, shape [S]."""
        config = self.config
        runs = [self.states[index].run for index in self.members]
        groups = stacked_groups(self.task, self.scheme, config, [run.seed for run in runs], step)
        total = sum(group.scored for group in groups) // len(runs)
        if self.model_config.dropout:
            torch.manual_seed(int(stream(runs[0].seed, "train", "stack dropout", step).integers(2**62)))
        self.optimizer.zero_grad()
        reported = torch.zeros(len(runs), device=self.device)
        tokens, width = sum(group.input_ids.numel() for group in groups) // len(runs), self.model_config.width
        size = runs_at_once(len(runs), tokens, width, self.device)
        joined = [groups] if tokens * width * size <= JOINED else [[group] for group in groups]
        for inputs in (Inputs.join(part, len(runs)).to(self.device) for part in joined):
            for part, model in self.parts.of(size):
                mine = inputs if size == len(runs) else inputs.of_runs(part)
                with autocast(self.device, config.precision):
                    output = model(mine.input_ids, mine.position_ids, at=mine.at, segments=mine.segments)
                    loss = run_losses(output, mine, len(mine.input_ids))
                scaled = (loss.token + config.id_loss * loss.position) / total
                # A run's loss reaches its own weights only, so the sum has every run's gradient.
                scaled.sum().backward()
                reported[part] += scaled.detach()
        self.parts.gather(size)
        if config.regularizer:
            (config.regularizer * positional_regularizer(self.stack.model)).backward()
        self.optimizer.clip(config.clip)
        self.optimizer.step([learning_rate(self.settings(run), step) for run in runs])
        return reported

    def _probe(self, losses: list[float], seconds: float) -> None:
        """Measure every run; those that are done leave the stack."""
        last = self.step_count >= self.config.steps
        for place, (index, loss, finite) in enumerate(zip(self.members, losses, self.stack.finite(), strict=True)):
            state = self.states[index]
            state.progress.step, state.progress.seconds = self.step_count, state.progress.seconds + seconds
            if not (finite and math.isfinite(loss)):
                state.failure = f"training diverged: loss is {loss} at step {self.step_count}; lower training.lr"
                continue
            record: dict[str, Any] = {"step": self.step_count, "loss": loss}
            if self.probe is not None:
                record |= self.probe(self.stack.unstack(place).eval(), self.step_count, state.run.seed)
            state.progress.probes.append(record)
            state.progress.done = last or (self.config.stop_when_fitted and bool(record.get("fitted")))
            folder = self._run_folder(index)
            if folder is not None:
                write_log(folder, state.progress)
            if state.progress.done:
                state.model = self.stack.unstack(place).eval()
                if folder is not None:
                    optimizer = make_optimizer(state.model, self.settings(state.run))
                    self.optimizer.fill(place, state.model, optimizer)
                    checkpoint.save(folder, state.model, optimizer, state.progress)
        kept = [place for place, index in enumerate(self.members) if not self.states[index].ended]
        if len(kept) < len(self.members):
            self.members = [self.members[place] for place in kept]
            self._keep(kept)

    def _keep(self, kept: list[int]) -> None:
        """Drop all runs of the stack but ``kept``."""
        self.stack.select(kept)
        self.parts = StackParts(self.stack)
        self.optimizer.select(list(self.stack.parameters()), kept)

    def _run_folder(self, index: int) -> Path | None:
        if self.run_folders is not None:
            return self.run_folders[index]
        return None if self.folder is None else self.folder / f"run-{index}"

    def _save(self) -> None:
        """Write the stack's checkpoint; runs that have ended have one of their own."""
        if self.folder is None:
            return
        tensors = {f"stack.{name}": value for name, value in self.stack.model.state_dict().items()}
        for index, (average, square) in enumerate(zip(self.optimizer.averages, self.optimizer.squares, strict=True)):
            tensors |= {f"average.{index}": average, f"square.{index}": square}
        progress = {
            "step": self.step_count,
            "seconds": self.seconds,
            "runs": [dataclasses.asdict(state.run) for state in self.states],
            "members": self.members,
            "progress": [vars(state.progress) for state in self.states],
            "failures": [state.failure for state in self.states],
        }
        checkpoint.write(self.folder / checkpoint.FILE, tensors, progress)

    def _resume(self) -> None:
        """Go on from the stack's checkpoint, if there is one."""
        path = None if self.folder is None else self.folder / checkpoint.FILE
        if path is None or not path.exists():
            return
        tensors, progress = checkpoint.read(path)
        try:
            if progress["runs"] != [dataclasses.asdict(state.run) for state in self.states]:
                raise LengthwiseError(f"checkpoint {path} is of other runs; choose another folder")
            self.step_count, self.seconds = progress["step"], progress["seconds"]
            for state, values, failure in zip(self.states, progress["progress"], progress["failures"], strict=True):
                state.progress, state.failure = Progress(**values), failure
            kept = progress["members"]
            self.members = kept
            self._keep(kept)
            self.stack.model.load_state_dict(
                {name.removeprefix("stack."): value for name, value in tensors.items() if name.startswith("stack.")}
            )
            self.optimizer.steps = self.step_count
            for index in range(len(self.optimizer.parameters)):
                self.optimizer.averages[index].copy_(tensors[f"average.{index}"])
                self.optimizer.squares[index].copy_(tensors[f"square.{index}"])
        except (KeyError, TypeError, ValueError, RuntimeError, IndexError):
            raise checkpoint.damage(path) from None
        for index, state in enumerate(self.states):
            folder = self._run_folder(index)
            if state.progress.done and folder is not None:
                state.model = self._plain(state.run).to(self.device).eval()
                if checkpoint.load(folder, state.model, None) is None:
                    raise LengthwiseError(f"no checkpoint in {folder}, which {path} says has ended; delete {path}")
