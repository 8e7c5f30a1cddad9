"""Several jobs at the same time, a process each. Results travel as files; only progress is sent back."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, cast

from lengthwise.core.errors import LengthwiseError, TrainingDivergedError, one_line_warnings
from lengthwise.experiments.events import Event
from lengthwise.experiments.recipe import Job, Recipe, Study
from lengthwise.experiments.run_config import RunConfig
from lengthwise.training.threads import keep_memory, use_one_thread_per_job

Tell = Callable[[Event], None]


@dataclass(frozen=True)
class Diverged:
    """A job ended with seeds that diverged, and has finished the others."""

    what: str


def pieces(recipe: Recipe, is_finished: Callable[[Job, int], bool]) -> list[Job]:
    """What can run at the same time: jobs of one seed each, or whole jobs whose seeds depend on one another.

    The long ones come first: the last to end would otherwise run alone for most of its time.
    """
    found = []
    for job in recipe.jobs:
        pending = tuple(seed for seed in job.seeds if not is_finished(job, seed))
        stacked = isinstance(job.work, RunConfig) and job.work.training.stacked
        if job.fallbacks or (stacked and len(pending) > 1):
            found.append(job)
        else:
            found += [dataclasses.replace(job, seeds=(seed,)) for seed in pending]
    return sorted(found, key=lambda job: -_cost(job))


def _cost(job: Job) -> int:
    """How long it takes in proportion: tokens of the first configuration times weights of its blocks; 0 for a study."""
    if isinstance(job.work, Study):
        return 0
    training, model = job.work.training, job.work.model
    return job.steps * training.batch_size * training.max_length * model.layers * model.width**2


def run_jobs(worker: Callable[[Job, Tell], None], jobs: list[Job], count: int) -> Generator[Event | Diverged]:
    """Run ``worker`` on each job in a process of its own, ``count`` at a time and in order; yields what they report.

    The worker must be picklable. Raises the first `LengthwiseError` of a job and ends the others, which can be
    resumed; divergence is a message.
    """
    yield from run_processes(_serve, [(worker, job.to_json()) for job in jobs], count)


def run_processes(target: Callable[..., None], arguments: Sequence[tuple[Any, ...]], count: int) -> Generator[Any]:
    """Run ``target(*arguments[i], pipe)`` for every i, each in a process of its own, ``count`` at a time.

    Yields what they send. A `LengthwiseError` that one sends is raised here, as is one for a process that ends with an
    error; the others are then ended.
    """
    # A fresh interpreter each: a fork would share the locks and threads of this one.
    context = multiprocessing.get_context("spawn")
    waiting = list(arguments)[::-1]
    running: dict[Any, Any] = {}
    try:
        while waiting or running:
            while waiting and len(running) < count:
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=target, args=(*waiting.pop(), theirs), daemon=True)
                start_undisturbed(process)
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
                if isinstance(message, LengthwiseError):
                    raise message
                yield message
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.join()


def start_undisturbed(process: BaseProcess) -> None:
    """Start a process that Ctrl-C does not reach: its parent gets it, and ends the process."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        process.start()
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(worker: Callable[[Job, Tell], None], values: dict[str, Any], pipe: Connection) -> None:
    """One process: the worker on one job."""
    keep_memory()
    use_one_thread_per_job()
    one_line_warnings()
    parent = os.getppid()

    def tell(event: Event) -> None:
        if os.getppid() != parent:
            os._exit(1)  # Nobody is left to report to; the checkpoint is there.
        pipe.send(event)

    from lengthwise.experiments import recipes as _recipes  # noqa: F401

    try:
        # Everything is built anew from plain values, a task from the user's own file too.
        worker(Job.from_json(values, load_code=True), tell)
    except TrainingDivergedError as error:
        _last(pipe, Diverged(str(error)))
    except LengthwiseError as error:
        _last(pipe, LengthwiseError(str(error)))
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    finally:
        pipe.close()


def _last(pipe: Connection, message: Diverged | LengthwiseError) -> None:
    """Send the last message of a job; a parent that has been killed does not read it."""
    with contextlib.suppress(BrokenPipeError):
        pipe.send(message)
