"""The training loop: one run or many runs as one batched computation; a single training is a stack of one.

Every run has its own weights, sequences, gradient norm and probes; what the runs share is the schedule of lengths, so
that their groups line up, and the cost of each operation. Each equals its separate run up to floating-point rounding.
A step is a pure function of seeds and step, so a resumed training ends in the same bits.
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.core.files import remove_unfinished, write_text
from lengthwise.core.rng import stream
from lengthwise.models.inputs import Inputs
from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer
from lengthwise.training import checkpoint
from lengthwise.training.adamw import StackedAdamW
from lengthwise.training.config import TrainingConfig
from lengthwise.training.device import autocast, reads_loss
from lengthwise.training.distributed.ranks import Ranks
from lengthwise.training.loss import step_loss
from lengthwise.training.parts import StackParts, runs_at_once
from lengthwise.training.regularizer import positional_regularizer
from lengthwise.training.runs import Progress, Run, RunState, StackProgress
from lengthwise.training.schedule import learning_rate
from lengthwise.training.setup import Setup
from lengthwise.training.threads import adapt_to

JOINED = 1 << 22
"""Numbers of the residual stream up to which a stack takes all groups of a step at once; beyond, memory counts."""

Probe = Callable[[Transformer, int, int], dict[str, Any]]
"""Measures one run's model in distribution, given the step and its seed; ``{"fitted": bool, …}``."""


@dataclass
class Trainer:
    """Trains ``runs`` (seeds, or `Run`s of a grid); with a ``folder``, resumes bit-identically from it.

    ``states`` has one entry per run, in order. A run that is fitted (with ``stop_when_fitted``) or diverges leaves the
    stack, and the others go on faster. Dropout masks, where used, are the stack's and not those of separate runs.
    Several runs always train as if ``config.stacked``.

    Raises `LengthwiseError` when the task has no such lengths, or the folder holds the checkpoint of other runs.
    """

    setup: Setup
    config: TrainingConfig
    runs: Sequence[int | Run]
    probe: Probe | None = None
    folder: Path | None = None
    run_folders: Sequence[Path] | None = None
    """Where each run leaves its log and, when it ends, a checkpoint of its own; default: ``folder`` itself for one run,
    folders inside of it for several."""
    device: str = "cpu"
    on_step: Callable[[int, float], None] | None = None
    """Called with the number of steps done and the mean loss of the runs in nats per scored token: every step, on a GPU
    every tenth."""
    ranks: Ranks | None = None
    """The processes that share each batch; those that do not lead need no folder and no probe."""
    states: list[RunState] = field(init=False)

    def __post_init__(self) -> None:
        require(len(self.runs) > 0, "a training needs at least one run, got 0; give one or more seeds")
        if len(self.runs) > 1 and not self.config.stacked:
            self.config = dataclasses.replace(self.config, stacked=True)
        if self.ranks is not None:
            self.ranks.check(self.setup.model, self.config)
        self.states = [RunState(run if isinstance(run, Run) else Run(run)) for run in self.runs]
        self.step_count, self.seconds = 0, 0.0
        self.members = list(range(len(self.states)))
        self.stack = TransformerStack([self.setup.build(state.run.seed) for state in self.states]).to(self.device)
        self.stack.train()
        self._own = self.stack.view(0)
        self.parts = StackParts(self.stack)
        decays = [self.settings(state.run).weight_decay for state in self.states]
        self.optimizer = StackedAdamW(list(self.stack.parameters()), self.config, decays)

    @property
    def model(self) -> Transformer:
        """The model of the only run; what is trained itself, not a copy."""
        (state,) = self.states
        return state.model or self._model(0)

    @property
    def progress(self) -> Progress:
        """How far the only run is."""
        (state,) = self.states
        return state.progress

    def settings(self, run: Run) -> TrainingConfig:
        """The training configuration of one run."""
        changes = {"lr": run.lr, "weight_decay": run.weight_decay}
        return dataclasses.replace(self.config, **{name: value for name, value in changes.items() if value is not None})

    def run(self) -> list[RunState]:
        """Train until every run has ended, from the last checkpoint if there is one; returns ``states``."""
        adapt_to(self.setup.model, self.config, len(self.states))
        self._resume()
        self._share()
        started = time.perf_counter() - self.seconds
        while not all(state.ended for state in self.states):
            losses = self.step(self.step_count)
            self.step_count += 1
            last = self.step_count >= self.config.steps
            if self.on_step is not None and (last or reads_loss(self.device, self.step_count)):
                self.on_step(self.step_count, float(losses.mean()))
            if last or self.step_count % self.config.probe_every == 0:
                self._probe(losses.tolist())
                before, self.seconds = self.seconds, time.perf_counter() - started
                for index in self.members:
                    self.states[index].progress.seconds += (self.seconds - before) / len(self.members)
                self._leave()
                self._save()
        return self.states

    def groups(self, step: int) -> list[Inputs]:
        """The data of one step of all runs in the stack, in host memory."""
        return self.setup.groups(self.config, [self.states[index].run.seed for index in self.members], step)

    def step(self, step: int) -> Float[Tensor, " S"]:
        """One optimizer step; returns each run's loss in nats per scored token, which a GPU may still be working on."""
        config, count = self.config, len(self.members)
        groups = self.groups(step)
        total = sum(group.scored for group in groups) // count
        if self.ranks is not None:
            groups = self.ranks.share(groups, count)
        if self.setup.model.dropout:
            first = self.states[self.members[0]].run.seed
            torch.manual_seed(int(stream(first, "train", "dropout", step).integers(2**62)))
        self.optimizer.zero_grad()
        reported = torch.zeros(count, device=self.device)
        tokens, width = sum(group.input_ids.numel() for group in groups) // count, self.setup.model.width
        size = runs_at_once(count, tokens, width, self.device)
        together = count == 1 or tokens * width * size <= JOINED
        for inputs in (
            Inputs.join(part, count).to(self.device) for part in ([groups] if together else [[g] for g in groups])
        ):
            for part, model in self.parts.of(size):
                mine = inputs if size == count else inputs.of_runs(part)
                with autocast(self.device, config.precision):
                    scaled = step_loss(model, mine, config, step) / total
                # A run's loss reaches its own weights only, so the sum has every run's gradient.
                scaled.sum().backward()
                reported[part] += scaled.detach()
        if config.regularizer:
            weight = config.regularizer / (1 if self.ranks is None else self.ranks.size)
            for _, model in self.parts.of(size):
                (weight * positional_regularizer(model, normed=config.regularizer_normed)).backward()
        self.parts.gather(size)
        self._add_up(reported)
        self.optimizer.clip(config.clip)
        self.optimizer.step([learning_rate(self.settings(self.states[index].run), step) for index in self.members])
        return reported

    def _add_up(self, reported: Float[Tensor, " S"]) -> None:
        """Replace gradients, and the loss that is reported, by their sums over all ranks."""
        if self.ranks is not None:
            self.ranks.add_gradients(self.stack.parameters(), reported)

    def _finite(self) -> list[bool]:
        """For each run in the stack, whether all of its weights are finite."""
        return self.stack.finite()

    def _model(self, number: int) -> Transformer:
        """The model of one run in the stack, which sees its weights; a copy where there are several."""
        return self.stack.unstack(number) if len(self.states) > 1 else self._own

    def _probe(self, losses: list[float]) -> None:
        """Measure every run in the stack."""
        last = self.step_count >= self.config.steps
        for number, (index, loss, finite) in enumerate(zip(self.members, losses, self._finite(), strict=True)):
            state = self.states[index]
            state.progress.step = self.step_count
            # A NaN would be saved and loaded for ever; say so while the cause is known.
            if not (finite and math.isfinite(loss)):
                what = "weights are not finite" if math.isfinite(loss) else f"loss is {loss}"
                state.failure = f"training diverged: {what} at step {self.step_count}; lower training.lr"
                continue
            record: dict[str, Any] = {"step": self.step_count, "loss": loss}
            if self.probe is not None:
                model = self._model(number)
                record |= self.probe(model.eval(), self.step_count, state.run.seed)
                model.train()
            if self.ranks is not None:
                record = json.loads(self.ranks.said(json.dumps(record)))
            state.progress.probes.append(record)
            state.progress.done = last or (self.config.stop_when_fitted and bool(record.get("fitted")))
            if (folder := self._run_folder(index)) is not None:
                # All probes in full each time, so a killed run can't leave a gap or a double line.
                lines = (json.dumps(probe) + "\n" for probe in state.progress.probes)
                write_text(folder / "log.jsonl", "".join(lines))

    def _leave(self) -> None:
        """Give the runs that have ended their models, and drop them from the stack unless it would be empty."""
        for number, index in enumerate(self.members):
            state, folder = self.states[index], self._run_folder(index)
            if state.progress.done:
                state.model = self._model(number).eval()
                if folder is not None and folder != self.folder:
                    alone = {name: t[number : number + 1] if t.ndim else t for name, t in self._tensors().items()}
                    checkpoint.write(folder, alone, self._described([index], [index]))
        kept = [number for number, index in enumerate(self.members) if not self.states[index].ended]
        if len(kept) < len(self.members) and (kept or len(self.states) > 1):
            self._keep(kept)

    def _keep(self, kept: list[int]) -> None:
        """Drop all runs of the stack but ``kept``."""
        self.members = [self.members[number] for number in kept]
        self.stack.select(kept)
        self.parts = StackParts(self.stack)
        self.optimizer.select(list(self.stack.parameters()), kept)

    def _run_folder(self, index: int) -> Path | None:
        if self.run_folders is not None:
            return self.run_folders[index]
        return self.folder / f"run-{index}" if self.folder is not None and len(self.states) > 1 else self.folder

    def _tensors(self) -> dict[str, Tensor]:
        """What a checkpoint of the whole stack holds."""
        return checkpoint.tensors_of(self.stack.model, self.optimizer)

    def _restore(self, tensors: dict[str, Tensor], path: Path) -> None:
        """Take over what the checkpoint at ``path`` holds."""
        checkpoint.restore(self._tensors(), tensors, path)

    def _described(self, runs: Sequence[int], members: Sequence[int]) -> StackProgress:
        states = [self.states[index] for index in runs]
        return StackProgress(
            self.step_count, self.seconds if len(runs) > 1 else states[0].progress.seconds,
            [state.run for state in states], [list(runs).index(member) for member in members],
            [state.progress for state in states], [state.failure for state in states],
        )  # fmt: skip

    def _save(self) -> None:
        """Write the checkpoint of the stack; a run that has left it has one of its own."""
        if self.folder is not None and any(state.failure is None for state in self.states):
            everyone = range(len(self.states))
            checkpoint.write(self.folder, self._tensors(), self._described(everyone, self.members))

    def _go_to(self, progress: StackProgress) -> None:
        """Take over how far the runs are; their tensors are not part of it."""
        self.step_count, self.seconds = progress.step, progress.seconds
        for state, own, failure in zip(self.states, progress.progress, progress.failures, strict=True):
            state.progress, state.failure = own, failure
        if progress.members != self.members:
            self._keep(progress.members)

    def _share(self) -> None:
        """Let all ranks begin where the leading one is; its files need not be theirs."""
        if self.ranks is None:
            return
        said = self.ranks.said(checkpoint.text_of(self._described(range(len(self.states)), self.members)))
        if not self.ranks.leads:
            self._go_to(checkpoint.progress_of(said))
        self.ranks.send(self._tensors().values())

    def _resume(self) -> None:
        """Go on from the checkpoint, if there is one."""
        folders = {self.folder, *map(self._run_folder, range(len(self.states)))}
        for folder in folders:
            if folder is not None:
                remove_unfinished(folder)
        names = [name for name, _ in self.stack.model.named_parameters()]
        found = None if self.folder is None else checkpoint.read(self.folder, names)
        if self.folder is None or found is None:
            return
        tensors, progress = found
        path = self.folder / checkpoint.FILE
        runs = [state.run for state in self.states]
        unknown = len(runs) == 1 and progress.runs == [Run(checkpoint.UNKNOWN_SEED)]
        if progress.runs != runs and not unknown:
            raise LengthwiseError(f"checkpoint {path} is of other runs; choose another folder")
        self._go_to(progress)
        self._restore(tensors, path)
        for index, state in enumerate(self.states):
            folder = self._run_folder(index)
            if not state.progress.done or folder is None:
                continue
            if index in self.members:
                state.model = self._model(self.members.index(index)).eval()
                continue
            state.model = self.setup.build(state.run.seed).to(self.device).eval()
            if checkpoint.load_model(folder, state.model) is None:
                raise LengthwiseError(f"no checkpoint in {folder}, which {path} says has ended; delete {path}")
