"""The runs of a training: which they are, how far each one is, and what a checkpoint says of a stack of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import pydantic
from pydantic import Field

from lengthwise.core.errors import TrainingDivergedError, reject
from lengthwise.core.result_file import Seconds, WholeNumber
from lengthwise.models.transformer import Transformer

STRICT = pydantic.ConfigDict(strict=True, extra="forbid")


@dataclass
class Progress:
    """How far a run is: steps done, seconds spent, probes so far, and with which threads."""

    __pydantic_config__ = STRICT
    step: WholeNumber = 0
    seconds: Seconds = 0.0
    probes: list[dict[str, Any]] = field(default_factory=list)
    done: bool = False
    threads: list[WholeNumber] = field(default_factory=list)
    """Processor threads, in order, each time that they changed: the bits of a run depend on them."""


@dataclass(frozen=True)
class Run:
    """One member of a stack; older checkpoints have further fields, which say nothing."""

    __pydantic_config__ = pydantic.ConfigDict(strict=True)
    seed: int


@dataclass(frozen=True)
class StackProgress:
    """How far a stack is; ``members`` are the runs whose weights are in the file, in the order of the stack."""

    __pydantic_config__ = STRICT
    step: WholeNumber
    seconds: Seconds
    runs: Annotated[list[Run], Field(min_length=1)]
    members: list[WholeNumber]
    progress: list[Progress]
    failures: list[str | None]

    def __post_init__(self) -> None:
        count = len(self.runs)
        if {len(self.progress), len(self.failures)} != {count} or sorted(set(self.members)) != sorted(self.members):
            raise ValueError("the lists of runs differ")
        reject(any(member >= count for member in self.members), "a member is no run")
        if any(self.progress[member].step != self.step for member in self.members):
            raise ValueError("a member is at another step than its stack")


@dataclass
class RunState:
    """Where one run is; ``model`` is there once it has ended, ``failure`` says why one diverged."""

    run: Run
    progress: Progress = field(default_factory=Progress)
    model: Transformer | None = None
    failure: str | None = None

    def trained(self) -> Transformer:
        """The model of a run that has ended; raises `TrainingDivergedError` if it diverged."""
        if self.failure is not None:
            raise TrainingDivergedError(self.failure)
        assert self.model is not None, "the run has not ended"
        return self.model

    @property
    def ended(self) -> bool:
        return self.progress.done or self.failure is not None
