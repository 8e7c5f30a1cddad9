"""The training loop. A step is a pure function of (seed, step), so a resumed run ends in the same bits."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.core.errors import TrainingDivergedError
from lengthwise.core.files import write_text
from lengthwise.core.rng import stream
from lengthwise.models.build import build_model
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import EncodingSpec
from lengthwise.positions.schemes import PositionScheme
from lengthwise.tasks import Task
from lengthwise.training import checkpoint
from lengthwise.training.checkpoint import Progress
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import training_groups, training_lengths
from lengthwise.training.device import autocast, reads_loss
from lengthwise.training.loss import next_token_loss
from lengthwise.training.memory import keep_memory
from lengthwise.training.regularizer import positional_regularizer
from lengthwise.training.schedule import learning_rate

Probe = Callable[[Transformer, int], dict[str, Any]]
"""Measures the model in distribution; ``{"fitted": bool, …}``."""


@dataclass
class Trainer:
    """Trains one model; with a ``folder``, writes checkpoints and a log there and resumes from them."""

    task: Task
    scheme: PositionScheme
    encoding: EncodingSpec
    model_config: ModelConfig
    config: TrainingConfig
    seed: int
    probe: Probe | None = None
    folder: Path | None = None
    device: str = "cpu"
    on_step: Callable[[int, float], None] | None = None
    """Called with the number of steps done and the loss in nats per scored token: every step, on a GPU every tenth."""
    model: Transformer = field(init=False)

    def __post_init__(self) -> None:
        training_lengths(self.task, self.config)
        keep_memory()
        self.model = build_model(self.task, self.scheme, self.encoding, self.model_config, seed=self.seed).to(
            self.device
        )
        self.optimizer = make_optimizer(self.model, self.config)
        self.progress = Progress()

    def run(self) -> Progress:
        """Train to the end (or until fitted, if asked), from the last checkpoint if there is one."""
        if self.folder is not None:
            self.progress = checkpoint.load(self.folder, self.model, self.optimizer) or self.progress
        started = time.perf_counter() - self.progress.seconds
        self.model.train()
        while not self.progress.done:
            reported = self.step(self.progress.step)
            self.progress.step += 1
            last = self.progress.step >= self.config.steps
            if self.on_step is not None and (last or reads_loss(self.device, self.progress.step)):
                self.on_step(self.progress.step, reported.item())
            if last or self.progress.step % self.config.probe_every == 0:
                loss = reported.item()
                # A NaN would be saved and loaded for ever; say so while the cause is at hand.
                if not np.isfinite(loss):
                    raise TrainingDivergedError(
                        f"training diverged: loss is {loss} at step {self.progress.step}; lower training.lr"
                    )
                self._probe(loss, last)
                self.progress.seconds = time.perf_counter() - started
                if self.folder is not None:
                    checkpoint.save(self.folder, self.model, self.optimizer, self.progress)
        self.model.eval()
        return self.progress

    def _probe(self, loss: float, last: bool) -> None:
        record: dict[str, Any] = {"step": self.progress.step, "loss": loss}
        if self.probe is not None:
            self.model.eval()
            record |= self.probe(self.model, self.progress.step)
            self.model.train()
        self.progress.probes.append(record)
        self.progress.done = last or (self.config.stop_when_fitted and bool(record.get("fitted")))
        if self.folder is not None:
            write_log(self.folder, self.progress)

    def groups(self, step: int) -> list[Inputs]:
        """The data of one step, in host memory."""
        return training_groups(self.task, self.scheme, self.config, self.seed, step)

    def step(self, step: int) -> Float[Tensor, ""]:
        """One optimizer step; returns the loss in nats per scored token, which a GPU may still be at work on."""
        config = self.config
        inputs = Inputs.join(self.groups(step)).to(self.device)
        if self.model_config.dropout:
            torch.manual_seed(int(stream(self.seed, "train", "dropout", step).integers(2**62)))
        self.optimizer.zero_grad(set_to_none=True)
        with autocast(self.device, config.precision):
            output = self.model(inputs.input_ids, inputs.position_ids, at=inputs.at, segments=inputs.segments)
            loss = next_token_loss(output, inputs)
        scaled = (loss.token + config.id_loss * loss.position) / inputs.scored
        scaled.backward()
        if config.regularizer:
            (config.regularizer * positional_regularizer(self.model)).backward()
        clip(list(self.model.parameters()), config.clip)
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = learning_rate(config, step)
        self.optimizer.step()
        return scaled.detach()


def write_log(folder: Path, progress: Progress) -> None:
    """Write ``log.jsonl``: all probes in full each time, so a killed run can't leave a gap or a double line."""
    write_text(folder / "log.jsonl", "".join(json.dumps(probe) + "\n" for probe in progress.probes))


def clip(parameters: list[torch.nn.Parameter], limit: float) -> None:
    """`torch.nn.utils.clip_grad_norm_`, in the same bits; on a CPU no pass over gradients that need no scaling."""
    norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    # The factor is limit / (norm + 1e-6), at most 1. Elsewhere to look at the norm would make the device wait.
    if norm.device.type != "cpu" or not bool(norm + 1e-6 <= limit):
        torch.nn.utils.clip_grads_with_norm_(parameters, limit, norm)


def make_optimizer(model: torch.nn.Module, config: TrainingConfig) -> torch.optim.AdamW:
    """AdamW, decay on matrices only, one fused kernel."""
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": config.weight_decay}]
    if others:
        groups.append({"params": others, "weight_decay": 0.0})
    return torch.optim.AdamW(groups, lr=config.lr, betas=config.betas, fused=True)
