"""Where units of work are computed: one protocol, and the processes of this machine.

Ray and Slurm are in `cluster`. Results travel as files; only units, progress and outcomes are sent.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, cast

from lengthwise.core.errors import LengthwiseError, TrainingDivergedError, one_line_warnings, require
from lengthwise.experiments.events import Event, Progress, unwatched
from lengthwise.experiments.lease import PATIENCE, LeaseLostError
from lengthwise.experiments.run import HERE, Place
from lengthwise.training.threads import keep_memory, use_one_thread_per_job

POLL = 0.5
"""Seconds between two looks at the progress."""

Status = Literal["finished", "diverged", "failed", "memory", "held", "lost"]


@dataclass(frozen=True)
class Outcome:
    """How a unit ended.

    ``failed`` is an error of the user, ``memory`` one that half the work would not have; ``held`` and ``lost`` say that
    another process has its lease. ``what`` is a message.
    """

    status: Status
    what: str = ""


class Unit(ABC):
    """Work that one process does. It resumes from its files; equal units do the same work."""

    home: Path
    """The folder below which its files are."""
    place: Place = HERE

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call it."""

    @property
    @abstractmethod
    def leases(self) -> Path:
        """The folder of its leases on a cluster."""

    @abstractmethod
    def compute(self, folder: Path, progress: Progress) -> None:
        """Do the work in ``folder``, which is `home` or stands for it, and go on from what is there."""

    @abstractmethod
    def owned(self, folder: Path) -> list[Path]:
        """Its files and folders below ``folder``, as far as they exist."""

    def is_finished(self, path: Path) -> bool:
        """Whether one of its folders is at its end; files always are."""
        return path.is_file()

    def ends(self) -> list[Event]:
        """The ends of its seeds, as its files have them."""
        return []

    def parts(self) -> Sequence[Unit]:
        """Two units that together do the work with half the memory; none if it can't be cut."""
        return []

    def forget_whole(self, folder: Path) -> None:  # noqa: B027
        """Delete what would make the parts take as much memory as the whole."""

    def drop(self) -> None:  # noqa: B027
        """Delete what it has begun: nobody needs it any more."""


def described(unit: Unit) -> bytes:
    """What travels to another process: configurations as plain values, a study by its name (`RunConfig.__reduce__`)."""
    return pickle.dumps(unit)


def unit_of(description: bytes) -> Unit:
    """The unit that `described` wrote in another process of this sweep."""
    from lengthwise.experiments import recipes as _recipes  # noqa: F401

    return pickle.loads(description)


def attempt(unit: Unit, folder: Path, progress: Progress) -> Outcome:
    """Compute a unit; only what the system did to the process, and mistakes of ours, are raised."""
    try:
        unit.compute(folder, progress)
    except LeaseLostError:
        raise
    except TrainingDivergedError as error:
        return Outcome("diverged", str(error))
    except LengthwiseError as error:
        return Outcome("failed", str(error))
    except MemoryError:
        return Outcome("memory", "not enough memory")
    except RuntimeError as error:
        # What torch raises, on a CPU and on a GPU.
        if "allocate memory" in str(error) or "out of memory" in str(error):
            return Outcome("memory", "not enough memory")
        raise
    return Outcome("finished")


class Executor(ABC):
    """Computes units somewhere, several at a time."""

    patience: float = PATIENCE
    """Seconds after which a unit that another process holds is looked at again."""
    queues: bool = False
    """Whether it takes more units than it computes at the same time."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many units it computes at the same time; at least one."""

    @abstractmethod
    def start(self, unit: Unit) -> Any:
        """Begin with a unit; returns a hashable handle."""

    @abstractmethod
    def wait(self, running: Mapping[Any, Unit], seconds: float, progress: Progress) -> list[Any]:
        """Pass on what the running units report; returns those that ended, after so many seconds at most."""

    @abstractmethod
    def outcome(self, handle: Any) -> Outcome:
        """How a unit ended; raises what our own code raised unexpectedly."""

    @abstractmethod
    def stop(self, handles: Sequence[Any]) -> None:
        """End these. Their state stays."""

    def close(self) -> None:  # noqa: B027
        """Let go of everything, at the end of `run`."""

    def run(
        self,
        units: Sequence[Unit] | Callable[[Sequence[Unit]], Sequence[Unit]],
        progress: Progress = unwatched,
        check: Callable[[], None] = lambda: None,
    ) -> Generator[tuple[Any, Outcome]]:
        """Compute all units; yields how each ended, finished or diverged.

        A function is called again whenever a unit ends, with the units at work, and returns all that are still wanted,
        in order; one that is at work and no longer wanted is stopped. A unit that needs too much memory is cut in two.
        ``check`` is called often; what it or ``progress`` raises ends all units. Close the generator
        (`contextlib.closing`) where the loop over it can be interrupted. Raises `LengthwiseError` for the first unit
        that failed; all state stays, and the same call goes on.
        """
        ended: set[tuple[str, int]] = set()

        def tell(event: Event) -> None:
            if event.ended:
                ended.add((event.job, event.seed))
            progress(event)

        running: dict[Any, Unit] = {}
        waiting = [(0.0, unit) for unit in (units([]) if callable(units) else units)]
        try:
            while running or waiting:
                check()
                now = time.monotonic()
                due = [unit for at, unit in waiting if at <= now]
                free = len(due) if self.queues else max(0, self.slots - len(running))
                for unit in due[:free]:
                    running[self.start(unit)] = unit
                waiting = [(0.0, unit) for unit in due[free:]] + [(at, unit) for at, unit in waiting if at > now]
                for handle in self.wait(running, POLL, tell):
                    unit, outcome = running.pop(handle), self.outcome(handle)
                    if outcome.status in ("held", "lost"):
                        # Another command's process has it: look again later, and find it finished.
                        waiting.append((time.monotonic() + self.patience, unit))
                    elif outcome.status == "memory":
                        parts = unit.parts()
                        more = "give each job more memory (cpus_per_job) or choose smaller batches"
                        require(bool(parts), f"{outcome.what}; {more}")
                        waiting += [(0.0, part) for part in parts]
                    elif outcome.status == "failed":
                        raise LengthwiseError(outcome.what)
                    else:
                        for event in unit.ends():
                            if (event.job, event.seed) not in ended:
                                tell(event)
                        yield unit, outcome
                        if callable(units):
                            wanted = units(list(running.values()))
                            for other, worker in [(h, u) for h, u in running.items() if u not in wanted]:
                                self.stop([other])
                                worker.drop()
                                del running[other]
                            waiting = [(0.0, unit) for unit in wanted if unit not in running.values()]
        finally:
            self.stop(list(running))
            self.close()


class Processes(Executor):
    """Processes of this machine, ``count`` at a time, one for each unit."""

    def __init__(self, count: int) -> None:
        require(count >= 1, f"jobs must be at least 1, got {count}")
        require(
            not (_IN_A_PROCESS and multiprocessing.parent_process()),
            "this file trains whenever it is loaded, and every process loads it for the class that it holds; write "
            "`if __name__ == '__main__':` above the lines that train",
        )
        self._count = count
        self._processes: dict[Any, tuple[BaseProcess, Unit]] = {}
        self._outcomes: dict[Any, Outcome] = {}

    @property
    def slots(self) -> int:
        return self._count

    def start(self, unit: Unit) -> Any:
        context = _context()
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=serve, args=(described(unit), dict(os.environ), theirs), daemon=True)
        # Ctrl-C does not reach it: its parent gets it, and ends the process. Windows has no such mask.
        masked = hasattr(signal, "pthread_sigmask")
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masked else set()
        # It needs nothing of the user's script, which would run again there: what it needs is named in the unit.
        script = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            process.start()
        finally:
            sys.modules["__main__"] = script
            if masked:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self._processes[ours] = process, unit
        return ours

    def wait(self, running: Mapping[Any, Unit], seconds: float, progress: Progress) -> list[Any]:
        ended = []
        for ready in cast(list[Connection], wait(list(running), seconds)):
            try:
                message = ready.recv()
            except EOFError:
                ended.append(ready)
                continue
            if isinstance(message, Outcome):
                self._outcomes[ready] = message
            else:
                progress(message)
        return ended

    def outcome(self, handle: Any) -> Outcome:
        process, unit = self._processes.pop(handle)
        process.join()
        handle.close()
        if handle in self._outcomes:
            return self._outcomes.pop(handle)
        what = f"the process of {unit.name} ended with exit code {process.exitcode}"
        return Outcome("failed", f"{what}; run the same again to resume, with fewer jobs if memory ran out")

    def stop(self, handles: Sequence[Any]) -> None:
        processes = [self._processes.pop(handle)[0] for handle in handles]
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _context() -> Any:
    """How processes begin: forked from one that has loaded torch and computes nothing, where the system can do that.

    A fork of this process would share its locks and threads; a fresh interpreter each would load torch each time.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["lengthwise.experiments.engine", "lengthwise.training.trainer"])
    return context


_IN_A_PROCESS = False
"""Whether this is a process of `Processes`, which starts no others."""


def _end_with_parent() -> None:
    """End this process as soon as its parent has ended, whatever it is at; the last checkpoint is there."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def serve(description: bytes, environment: Mapping[str, str], pipe: Connection) -> None:
    """One process of `Processes`: computes one unit where its files are."""
    global _IN_A_PROCESS
    _IN_A_PROCESS = True
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    keep_memory()
    use_one_thread_per_job()
    one_line_warnings()
    try:
        try:
            unit = unit_of(description)
        except LengthwiseError as error:  # of a file of the user's
            pipe.send(Outcome("failed", str(error)))
            return
        outcome = attempt(unit, unit.home, pipe.send)
        if outcome.status == "memory":
            unit.forget_whole(unit.home)
        with contextlib.suppress(BrokenPipeError):
            pipe.send(outcome)
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    finally:
        pipe.close()
