"""Units of work on Ray and Slurm, under leases on storage that all nodes share.

Schedulers move descriptions and outcomes only, and try again what the system did to a process: Ray its tasks, submitit
its preempted jobs. A unit computes in the folder of its lease; only finished files leave that folder.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import shutil
import socket
import threading
import time
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lengthwise.core.errors import LengthwiseError, one_line_warnings, require
from lengthwise.core.files import locked, read_json
from lengthwise.core.result_file import CHECKPOINT
from lengthwise.experiments.events import Event, Progress
from lengthwise.experiments.execute import Executor, Outcome, Unit, attempt, described, unit_of
from lengthwise.experiments.lease import PATIENCE, Lease, LeaseLostError, acquire, state_of
from lengthwise.experiments.run_directory import LEASES

LOCAL = "local"
ATTEMPTS = "attempts.json"
MOST_ATTEMPTS = 3
"""Ends without a trace and without a new checkpoint in between, after which memory is taken to be the reason."""
LOOK = 10.0
"""Seconds between two looks at whether the Ray node of the driver is alive."""
MINUTES, TIMEOUTS = 24 * 60, 1000
"""Time limit of a Slurm job, after which it is queued again as a preempted one is, and how often."""


def run_leased(unit: Unit, patience: float, driver: str = "") -> Outcome:
    """Compute a unit under its lease. Only what the system did to the process is left to be tried again.

    ``driver`` names the command that submitted it, whose attempts are counted; without a name they are not.
    """
    lease = acquire(unit.leases, patience)
    if lease is None:
        return Outcome("held")

    def progress(event: Event) -> None:
        lease.tell(dataclasses.asdict(event))

    try:
        with lease.kept():
            _take(unit, lease.folder)
            if driver and _attempts(lease, driver) > MOST_ATTEMPTS:
                outcome = Outcome("memory", f"a process ended {MOST_ATTEMPTS} times before its next checkpoint")
            else:
                outcome = attempt(unit, lease.folder, progress)
            if outcome.status == "memory":
                unit.forget_whole(lease.folder)
            _give(unit, lease)
        lease.release()  # once no beat can write into the folder that it deletes
    except LeaseLostError as error:
        return Outcome("lost", str(error))
    return outcome


def _take(unit: Unit, folder: Path) -> None:
    """Move what is unfinished of a unit into the folder of a lease, and copy what is finished."""
    for path in unit.owned(unit.home):
        target = folder / path.relative_to(unit.home)
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            shutil.copyfile(path, target)
        elif unit.is_finished(path):
            shutil.copytree(path, target)
        else:
            with locked(path):  # not while a process without a lease is at work there
                pass
            os.rename(path, target)


def _give(unit: Unit, lease: Lease) -> None:
    """Move results and unfinished runs to where they belong; a note, a file, takes the place of an older one."""
    for path in unit.owned(lease.folder):
        target = unit.home / path.relative_to(lease.folder)
        if target.is_file() or not target.exists():
            lease.check(target)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(path, target)


def _attempts(lease: Lease, driver: str) -> int:
    """How often this driver began this unit since its last checkpoint, this time included."""
    path = lease.folder / ATTEMPTS
    found = sorted(lease.folder.rglob(CHECKPOINT))
    about = [driver, *[[str(p.relative_to(lease.folder)), p.stat().st_mtime_ns] for p in found]]
    try:
        before = read_json(path)
        count = before["count"] + 1 if before["since"] == about else 1
    except (LengthwiseError, KeyError, TypeError):
        count = 1
    # Not whole or not at all: a damaged file counts as none.
    path.write_text(json.dumps({"count": count, "since": about}))
    return count


def run_described(
    description: bytes, cpus: int, patience: float, driver: str, folder: str | None = None
) -> tuple[str, str]:
    """What a scheduler calls on a node: `run_leased` with so many threads; returns the fields of an `Outcome`.

    ``folder`` is that of the driver: tasks of a user's own are named by paths that may be relative to it.
    """
    one_line_warnings()
    if folder is not None and Path(folder).is_dir():
        os.chdir(folder)
    import torch

    torch.set_num_threads(cpus)
    unit = unit_of(description)
    if unit.place.device is None and torch.cuda.is_available() and os.environ.get("CUDA_VISIBLE_DEVICES"):
        # The scheduler gave it a GPU, and nobody chose a device.
        object.__setattr__(unit, "place", dataclasses.replace(unit.place, device="cuda"))
    outcome = run_leased(unit, patience, driver)
    return outcome.status, outcome.what


def run_on_ray(description: bytes, cpus: int, patience: float, driver: str, folder: str) -> tuple[str, str]:
    """`run_described` in a process of a raylet."""
    _end_with_raylet()
    return run_described(description, cpus, patience, driver, folder)


@cache  # once in a process, which does several tasks
def _end_with_raylet() -> None:
    """End this process with its raylet, also under a reaper of orphans, which Ray takes for one."""
    raylet = os.getppid()

    def watch() -> None:
        while os.getppid() == raylet:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def reclaim(folder: Path) -> None:
    """Move all runs and stacks under stale leases of a recipe's folder back into it, so that any command can go on.

    Raises `LengthwiseError` while a cluster is at work there.
    """
    roots = sorted(path for path in (folder / LEASES).glob("*/") if path.is_dir())
    if not roots:
        return
    before = [state_of(root, whole=True) for root in roots]
    time.sleep(PATIENCE)
    if [state_of(root, whole=True) for root in roots] != before:
        raise LengthwiseError(
            f"a cluster is at work in {folder}; wait for it to end, run the same there again, or choose another folder"
        )
    for root in roots:
        lease = acquire(root, 0.01)
        if lease is None:
            raise LengthwiseError(f"another process is at work in {root}; wait for it to end, or choose another folder")
        for run in sorted((lease.folder / folder.name).glob("*/")):
            if not (folder / run.name).exists():
                os.rename(run, folder / run.name)
        lease.release()


@dataclass(frozen=True)
class ClusterOptions:
    """Where the tasks run and what each needs. Raises `LengthwiseError` for amounts that make no sense."""

    address: str
    cpus_per_job: int = 1
    gpus_per_job: float = 0.0
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        require(self.cpus_per_job >= 1, f"cpus_per_job must be at least 1, got {self.cpus_per_job}")
        fine = 0 <= self.gpus_per_job < float("inf")
        require(fine, f"gpus_per_job must be 0 or more, got {self.gpus_per_job}")


class Cluster(Executor):
    """Units run under leases, and report through them."""

    queues = True

    def __init__(self, options: ClusterOptions) -> None:
        self.patience, self.options = options.patience, options
        self._last: dict[Path, dict[str, Any]] = {}

    @property
    def slots(self) -> int:
        return 1

    @abstractmethod
    def done(self, handles: Sequence[Any], seconds: float) -> list[Any]:
        """Those that have ended; waits at most so many seconds for the first one."""

    def wait(self, running: Mapping[Any, Unit], seconds: float, progress: Progress) -> list[Any]:
        done = self.done(list(running), seconds)
        for unit in running.values():
            state = state_of(unit.leases)
            if state and self._last.get(unit.leases) != state:
                self._last[unit.leases] = state
                event = Event(**state)
                # An end is reported once its files are there.
                if not event.ended:
                    progress(event)
        return done


class Ray(Cluster):
    """Each unit is a task, begun again elsewhere when a node or process dies.

    ``options.address`` is that of a cluster, or ``local``. Raises `LengthwiseError` if none answers there.
    """

    def __init__(self, options: ClusterOptions) -> None:
        super().__init__(options)
        self._driver = secrets.token_hex(8)
        self._ray: Any = None
        self._looked = time.monotonic()

    @property
    def slots(self) -> int:
        """How many tasks the nodes of now have room for."""
        there = self._started().cluster_resources()
        needs = (("CPU", self.options.cpus_per_job), ("GPU", self.options.gpus_per_job))
        return max(1, min(int(there.get(name, 0) / wanted) for name, wanted in needs if wanted))

    def start(self, unit: Unit) -> Any:
        # What the system did to a task is tried again for ever; what our own code raised is not.
        settings = {"max_retries": -1, "retry_exceptions": False}
        resources = {"num_cpus": self.options.cpus_per_job, "num_gpus": self.options.gpus_per_job}
        with self._failing_in_a_line() as ray:
            task = ray.remote(**settings, **resources)(run_on_ray)
            return task.remote(described(unit), self.options.cpus_per_job, self.patience, self._driver, os.getcwd())

    def done(self, handles: Sequence[Any], seconds: float) -> list[Any]:
        if not handles:
            time.sleep(seconds)
            return []
        with self._failing_in_a_line() as ray:
            if time.monotonic() - self._looked > LOOK:  # its tasks would be waited for without an end
                self._looked = time.monotonic()
                here = ray.get_runtime_context().get_node_id()
                alive = any(node["Alive"] for node in ray.nodes() if node["NodeID"] == here)
                require(alive, "the Ray node of this process has died; give the same command again to go on")
            return ray.wait(list(handles), timeout=seconds)[0]

    def outcome(self, handle: Any) -> Outcome:
        with self._failing_in_a_line() as ray:
            try:
                return Outcome(*ray.get(handle))
            except ray.exceptions.OutOfMemoryError:
                return Outcome("memory", "not enough memory")

    @contextmanager
    def _failing_in_a_line(self) -> Iterator[Any]:
        """Ray itself; what fails in it is a `LengthwiseError`, and what fails in our code stays as it is."""
        ray = self._started()
        try:
            yield ray
        except ray.exceptions.RayTaskError:
            raise
        except ray.exceptions.RayError as error:
            what = str(error).strip().partition("\n")[0]
            raise LengthwiseError(f"the Ray cluster failed ({what}); give the same command again to go on") from None

    def stop(self, handles: Sequence[Any]) -> None:
        for handle in handles:
            with contextlib.suppress(Exception):
                self._started().cancel(handle, force=True)

    def close(self) -> None:
        if self._ray is not None:
            with contextlib.suppress(Exception):
                self._ray.shutdown()
        self._ray = None

    def _started(self) -> Any:
        self._ray = self._ray or _started_ray(self.options)
        return self._ray


def _started_ray(options: ClusterOptions) -> Any:
    # Ray's own warning about a future default.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise LengthwiseError("Ray needs the cluster extra; run: pip install 'lengthwise[cluster]'") from None
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if options.address == LOCAL:
        settings["include_dashboard"] = False
    host, _, port = options.address.removeprefix("ray://").rpartition(":")
    try:
        if port.isdigit():  # Ray itself would try for minutes to reach an address at which nobody answers.
            socket.create_connection((host, int(port)), timeout=10).close()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(address=options.address, **settings)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        way_out = "start one with `ray start`, or give the address local"
        raise LengthwiseError(f"no Ray cluster answers at {options.address!r} ({error}); {way_out}") from None
    for name, wanted in (("CPU", options.cpus_per_job), ("GPU", options.gpus_per_job)):
        there = max((node["Resources"].get(name, 0) for node in ray.nodes() if node["Alive"]), default=0)
        if there < wanted:
            warnings.warn(f"no node has {wanted:g} {name} yet; the jobs wait for one", stacklevel=2)
    return ray


@dataclass(frozen=True)
class Submitted:
    """What submitit carries to a node. A preempted one is the same again; its state is in the lease."""

    description: bytes
    cpus: int
    patience: float

    def __call__(self) -> tuple[str, str]:
        return run_described(self.description, self.cpus, self.patience, "")

    def checkpoint(self) -> Any:
        """What submitit queues after a preemption or a timeout."""
        import submitit

        return submitit.helpers.DelayedSubmission(self)


class Slurm(Cluster):
    """Each unit is a job of the partition ``options.address``, or for ``local`` a process of this machine, by submitit.

    A preempted job is queued again.
    """

    def __init__(self, options: ClusterOptions, logs: Path) -> None:
        super().__init__(options)
        try:
            import submitit
        except ImportError:
            raise LengthwiseError("Slurm needs the cluster extra; run: pip install 'lengthwise[cluster]'") from None
        local = options.address == LOCAL
        try:
            self._executor = submitit.AutoExecutor(logs, cluster="local" if local else "slurm")
        except RuntimeError as error:
            raise LengthwiseError(f"no Slurm here ({error}); give the partition local, or use Ray") from None
        settings: dict[str, Any] = {"timeout_min": MINUTES, "cpus_per_task": options.cpus_per_job}
        if not local:
            settings |= {"slurm_partition": options.address, "slurm_max_num_timeout": TIMEOUTS}
        if options.gpus_per_job:
            whole = options.gpus_per_job == int(options.gpus_per_job)
            require(whole, f"gpus_per_job must be a whole number on Slurm, got {options.gpus_per_job}")
            settings["gpus_per_node"] = int(options.gpus_per_job)
        self._executor.update_parameters(**settings)

    def start(self, unit: Unit) -> Any:
        return self._executor.submit(Submitted(described(unit), self.options.cpus_per_job, self.patience))

    def done(self, handles: Sequence[Any], seconds: float) -> list[Any]:
        time.sleep(seconds)
        return [job for job in handles if job.done()]

    def outcome(self, handle: Any) -> Outcome:
        return Outcome(*handle.result())

    def stop(self, handles: Sequence[Any]) -> None:
        for job in handles:
            with contextlib.suppress(Exception):
                job.cancel()
