"""Several seeds at the same time, a process each. Results travel as files; only progress is sent back."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal, cast

from lengthwise.core.errors import LengthwiseError, TrainingDivergedError
from lengthwise.experiments.experiment import Experiment
from lengthwise.experiments.recipe import Recipe, System
from lengthwise.training.memory import keep_memory


@dataclass(frozen=True)
class Job:
    """What one process does: some seeds of one system."""

    recipe: str
    system: System

    @property
    def work(self) -> int:
        """How long it takes in proportion: tokens of the first configuration times weights of its blocks."""
        training, model = self.system.experiment.training, self.system.experiment.model
        tokens = training.steps * training.batch_size * training.max_length
        return len(self.system.seeds) * tokens * model.layers * model.width**2

    def to_json(self) -> dict[str, Any]:
        """Plain values: a process of its own builds everything anew, a task from the user's own file too."""
        system = self.system
        return {
            "recipe": self.recipe,
            "name": system.name,
            "experiment": system.experiment.to_json(),
            "seeds": list(system.seeds),
            "fallbacks": [experiment.to_json() for experiment in system.fallbacks],
            "needed": system.needed,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Job:
        """The job that `to_json` wrote."""
        system = System(
            values["name"],
            Experiment.from_json(values["experiment"]),
            tuple(values["seeds"]),
            fallbacks=tuple(Experiment.from_json(experiment) for experiment in values["fallbacks"]),
            needed=values["needed"],
        )
        return cls(values["recipe"], system)


def jobs_of(recipe: Recipe, is_finished: Callable[[System, int], bool]) -> list[Job]:
    """The pieces that can run at the same time: a seed each, or a system where its seeds depend on one another.

    The long ones come first: the last to end would otherwise run alone for most of its time.
    """
    jobs = []
    for system in recipe.systems:
        pending = tuple(seed for seed in system.seeds if not is_finished(system, seed))
        if system.fallbacks or (system.experiment.training.stacked and len(pending) > 1):
            jobs.append(Job(recipe.name, system))
        else:
            jobs += [Job(recipe.name, dataclasses.replace(system, seeds=(seed,))) for seed in pending]
    return sorted(jobs, key=lambda job: -job.work)


Phase = Literal["train", "test", "reused", "finished"]

Message = tuple[str, int, Phase, int, int, float, dict[str, Any] | None]
"""(system, seed, phase, done, total, number, result), as in `lengthwise.experiments.sweep.Event`."""


@dataclass(frozen=True)
class Diverged:
    """A job ended with seeds that diverged, and has finished the others."""

    what: str


def run_jobs(jobs: list[Job], out: Path, count: int) -> Iterator[Message | Diverged]:
    """Run the jobs, ``count`` at a time and in order; yields what they are doing.

    Raises the first `LengthwiseError` of a job and ends the others, which can be resumed; divergence is a message.
    """
    # A fresh interpreter each: a fork would share the locks and threads of this one.
    context = multiprocessing.get_context("spawn")
    waiting = jobs[::-1]
    running: dict[Any, Any] = {}
    try:
        while waiting or running:
            while waiting and len(running) < count:
                job = waiting.pop()
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(job.to_json(), out, theirs), daemon=True)
                process.start()
                theirs.close()
                running[ours] = process
            for ready in cast(list[Connection], wait(list(running))):
                try:
                    message = ready.recv()
                except EOFError:
                    process = running.pop(ready)
                    process.join()
                    if process.exitcode:
                        raise LengthwiseError(
                            f"a process of this sweep ended with exit code {process.exitcode}; run the same command "
                            "again to resume, with fewer --jobs if memory ran out"
                        ) from None
                    continue
                if isinstance(message, str):
                    raise LengthwiseError(message)
                yield message
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.join()


def _work(values: dict[str, Any], out: Path, pipe: Connection) -> None:
    """One process: an ordinary sweep of one job."""
    from lengthwise.experiments.sweep import Event, sweep

    keep_memory()
    parent = os.getppid()

    def tell(event: Event) -> None:
        if os.getppid() != parent:
            os._exit(1)  # Nobody is left to report to; the checkpoint is there.
        # Of a result, what the progress shows; the rest is in its file.
        result = event.result and {key: event.result.get(key) for key in ("fitted", "seconds")}
        pipe.send((event.system.name, event.seed, event.phase, event.done, event.total, event.number, result))

    try:
        job = Job.from_json(values)
        sweep(Recipe(job.recipe, "", (job.system,)), out, observe=tell)
    except TrainingDivergedError as error:
        pipe.send(Diverged(str(error)))
    except LengthwiseError as error:
        pipe.send(str(error))
    except KeyboardInterrupt:
        pass
    finally:
        pipe.close()
