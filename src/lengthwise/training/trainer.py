"""The training loop: loss, learning rate, regularizer, one step, probes, and exact resume."""

from __future__ import annotations

import copy
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
from torch import Tensor, nn
from torch.nn import functional

from lengthwise.core.errors import LengthwiseError, require, warn
from lengthwise.core.files import remove_unfinished, write_text
from lengthwise.core.rng import stream
from lengthwise.core.vocab import EOS, SPECIALS
from lengthwise.models.config import Loops
from lengthwise.models.inputs import Inputs
from lengthwise.models.kernels import FlatTransformer
from lengthwise.models.regularizer import positional_products
from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer, TransformerOutput
from lengthwise.training import checkpoint
from lengthwise.training.adamw import StackedAdamW
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import Setup
from lengthwise.training.ranks import Ranks
from lengthwise.training.runs import Progress, Run, RunState, StackProgress
from lengthwise.training.threads import adapt_to, autocast, reads_loss

FIRST_SCORED_ID = SPECIALS.index(EOS)
"""Next-symbol sets are scored on the end token and the task's own symbols, not on pad, bos and sep."""


@dataclass(frozen=True)
class Loss:
    """Sums over scored positions, in nats: of the batch, or of each of its runs."""

    token: Float[Tensor, "*runs"]
    position: Float[Tensor, "*runs"]


def run_losses(output: TransformerOutput, inputs: Inputs, runs: int) -> Loss:
    """Cross-entropy of tokens (binary cross-entropy per symbol for sets) and of ids, summed over scored positions.

    Of each run of a stack, whose rows are ordered by run.
    """
    logits = output.logits.float()
    if inputs.allowed is not None:
        wanted = inputs.allowed[..., FIRST_SCORED_ID:].to(logits.dtype)
        token = functional.binary_cross_entropy_with_logits(logits[..., FIRST_SCORED_ID:], wanted, reduction="none")
    else:
        token = functional.cross_entropy(logits.flatten(0, 1), inputs.targets.flatten(), reduction="none")
    position = torch.zeros(runs, device=token.device)
    for level, prediction in enumerate(output.position):
        position = position + prediction.loss(inputs.target_position_ids[..., level]).view(runs, -1).sum(1)
    return Loss(token.reshape(runs, -1).sum(1), position)


def step_loss(model: FlatTransformer, inputs: Inputs, config: TrainingConfig, step: int) -> Float[Tensor, " runs"]:
    """What a training step minimizes, for each run of a stack: CE(token) + λ·CE(id), summed over scored positions.

    With a progressive loss a share α of it comes from a second pass with fewer loops.
    """

    def after(loops: Loops | None) -> Float[Tensor, " runs"]:
        output = model(inputs.input_ids, inputs.position_ids, at=inputs.at, groups=inputs.groups, loops=loops)
        loss = run_losses(output, inputs, len(inputs.input_ids))
        return loss.token + config.id_loss * loss.position

    if not config.progressive and not config.random_loops:
        return after(None)
    assert inputs.groups is not None
    usual = model.config.loops_for(inputs.groups[0].tokens)
    if config.random_loops:
        return after(random_loops(usual, config.random_loops, step))
    fewer = progressive_loops(usual, step)
    return (1 - config.progressive) * after(None) + config.progressive * after(fewer)


def progressive_loops(most: int, step: int) -> Loops:
    """r from 0 to T − 1 and u from 1 to T − r, the same for all runs, so that a stack equals its separate runs."""
    rng = stream(0, "train", "progressive loss", step)
    free = int(rng.integers(most))
    return Loops(free, int(rng.integers(1, most - free + 1)))


def random_loops(usual: int, range_: int, step: int) -> Loops:
    """From T − range to T + range, at least 1, the same for all runs, so that a stack equals its separate runs."""
    rng = stream(0, "train", "random loops", step)
    return Loops(0, int(rng.integers(max(1, usual - range_), usual + range_ + 1)))


def learning_rate(config: TrainingConfig, step: int) -> float:
    """Linear warm-up, then decay to ``final_lr · lr`` at the last step; ``step`` counts from 0."""
    if step < config.warmup:
        return config.lr * (step + 1) / config.warmup
    if config.decay == "constant":
        return config.lr
    progress = min(1.0, (step - config.warmup) / max(1, config.steps - 1 - config.warmup))
    shape = 0.5 * (1 + math.cos(math.pi * progress)) if config.decay == "cosine" else 1 - progress
    return config.lr * (config.final_lr + (1 - config.final_lr) * shape)


def positional_regularizer(model: Transformer | FlatTransformer, *, normed: bool = False) -> Float[Tensor, ""]:
    """R_pos, to be multiplied by λ (published: 1e-4 and 1e-3) and added to the loss."""
    products = positional_products(model, normed=normed)
    return products.tril().square().sum() / products.shape[-1]


CACHE_NUMBERS = 1 << 22
"""Numbers of the residual stream up to which a CPU takes runs together, at widths of up to 64; fewer, if wider."""


def runs_at_once(runs: int, tokens: int, width: int, device: torch.device | str) -> int:
    """How many of ``runs`` to take together when each has so many ``tokens`` of this ``width``; all, on a GPU.

    A power of two where it is not all, so that a training meets few sizes. Why these: docs/performance.md.
    """
    limit = CACHE_NUMBERS * 64 // max(width, 64)
    if torch.device(device).type != "cpu" or runs * tokens * width <= limit:
        return runs
    size = 1
    while 2 * size * tokens * width <= limit:
        size *= 2
    return size


class StackParts:
    """Models of some runs each, whose weights are the stack's own memory and whose gradients are put together.

    Valid as long as the stack keeps its parameters: make new ones after `TransformerStack.select`.
    """

    def __init__(self, stack: TransformerStack) -> None:
        self.stack = stack
        self._made: dict[int, list[tuple[slice, FlatTransformer]]] = {}

    def of(self, size: int) -> list[tuple[slice, FlatTransformer]]:
        """Which runs, and their model, for parts of ``size`` runs (the last may have fewer)."""
        runs = self.stack.runs
        if size >= runs:
            return [(slice(0, runs), self.stack.model)]
        if size not in self._made:
            slices = [slice(start, min(start + size, runs)) for start in range(0, runs, size)]
            self._made[size] = [(part, self._share(part)) for part in slices]
        return self._made[size]

    def _share(self, runs: slice) -> FlatTransformer:
        own = {id(p): nn.Parameter(p.detach()[runs]) for p in self.stack.model.parameters()}
        return copy.deepcopy(self.stack.model, memo=own)

    def gather(self, size: int) -> None:
        """Give the stack's parameters the gradients of the parts, which forget theirs."""
        parts = self.of(size)
        if parts[0][1] is self.stack.model:
            return
        for whole, *pieces in zip(
            self.stack.model.parameters(), *[model.parameters() for _, model in parts], strict=True
        ):
            # Which weights a step uses depends on the layouts, which all runs share.
            found = [piece.grad for piece in pieces if piece.grad is not None]
            whole.grad = torch.cat(found) if found else None
            for piece in pieces:
                piece.grad = None


JOINED = 1 << 22
"""Numbers of the residual stream up to which a stack takes all groups of a step at once; beyond, memory counts."""

Measurement = Callable[[Transformer, int, int], dict[str, Any]]
"""Measures one run's model in distribution, given the step and its seed; ``{"fitted": bool, …}``."""


@dataclass
class Trainer:
    """Trains ``runs``, which are seeds; with a ``folder``, resumes bit-identically from it.

    ``states`` has one entry per run, in order. A run that is fitted (with ``stop_when_fitted``) or diverges leaves the
    stack, and the others go on faster. Dropout masks, where used, are the stack's and not those of separate runs.
    Several runs always train as if ``config.stacked``.

    Raises `LengthwiseError` when the task has no such lengths, or the folder holds the checkpoint of other runs.
    """

    setup: Setup
    config: TrainingConfig
    runs: Sequence[int]
    probe: Measurement | None = None
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
        self.states = [RunState(Run(seed)) for seed in self.runs]
        self.step_count, self.seconds = 0, 0.0
        self.members = list(range(len(self.states)))
        self.stack = TransformerStack([self.setup.build(state.run.seed) for state in self.states]).to(self.device)
        self.stack.train()
        self._only = self.stack.view(0)
        self.parts = StackParts(self.stack)
        self.optimizer = StackedAdamW(list(self.stack.parameters()), self.config)

    @property
    def model(self) -> Transformer:
        """The model of the only run; what is trained itself, not a copy."""
        (state,) = self.states
        return state.model or self._model(0)

    @property
    def progress(self) -> Progress:
        (state,) = self.states
        return state.progress

    def run(self) -> list[RunState]:
        """Train until every run has ended, from the last checkpoint if there is one; returns ``states``."""
        adapt_to(self.setup.model, self.config, len(self.states))
        self._resume()
        self._share()
        self._note_threads()
        if len(self.states) > 1 and self.step_count == 0:
            self._save()  # the bits depend on which runs train together
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

    def _note_threads(self) -> None:
        """Note the processor threads where the bits depend on them; warn where they change within a run."""
        if self.device != "cpu":
            return
        now, changed = torch.get_num_threads(), False
        for state in self.states:
            before = state.progress.threads
            if not state.ended and before[-1:] != [now]:
                changed = changed or bool(before)
                before.append(now)
        if changed:
            warn(
                f"this training goes on with another number of threads, {now}; its last bits are not those of a "
                "training that kept one number, and the result says so"
            )

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
        self.optimizer.step(learning_rate(config, step))
        return reported

    def _add_up(self, reported: Float[Tensor, " S"]) -> None:
        if self.ranks is not None:
            self.ranks.add_gradients(self.stack.parameters(), reported)

    def _finite(self) -> list[bool]:
        return self.stack.finite()

    def _model(self, number: int) -> Transformer:
        """The model of one run in the stack, which sees its weights; a copy where there are several."""
        return self.stack.unstack(number) if len(self.states) > 1 else self._only

    def _probe(self, losses: list[float]) -> None:
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
                record = self.ranks.broadcast(record)
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
        self.members = [self.members[number] for number in kept]
        self.stack.select(kept)
        self.parts = StackParts(self.stack)
        self.optimizer.select(list(self.stack.parameters()), kept)

    def _run_folder(self, index: int) -> Path | None:
        if self.run_folders is not None:
            return self.run_folders[index]
        return self.folder / f"run-{index}" if self.folder is not None and len(self.states) > 1 else self.folder

    def _tensors(self) -> dict[str, Tensor]:
        return checkpoint.tensors_of(self.stack.model, self.optimizer)

    def _restore(self, tensors: dict[str, Tensor], path: Path) -> None:
        checkpoint.check_fits(self._tensors(), tensors, path)
        for name, value in self._tensors().items():
            value.copy_(tensors[name])

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

    def suspend(self) -> None:
        """Write a checkpoint between two measurements, from ``on_step``; a later `run` goes on from it, bit for bit."""
        for index in self.members:
            self.states[index].progress.step = self.step_count
        self._save()

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
        self._begin_together(self.ranks)
        self.ranks.send(self._tensors().values())

    def _begin_together(self, ranks: Ranks) -> None:
        progress = ranks.broadcast(self._described(range(len(self.states)), self.members))
        if not ranks.leads:
            self._go_to(progress)

    def _resume(self) -> None:
        folders = {self.folder, *map(self._run_folder, range(len(self.states)))}
        for folder in folders:
            if folder is not None:
                remove_unfinished(folder)
        found = None if self.folder is None else checkpoint.read(self.folder)
        if self.folder is None or found is None:
            return
        tensors, progress = found
        path = self.folder / checkpoint.FILE
        if progress.runs != [state.run for state in self.states]:
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
