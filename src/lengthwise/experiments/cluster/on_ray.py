"""Runs pieces on a Ray cluster: one task each, begun again elsewhere when a node or process dies.

Ray moves descriptions and hashes only. The state is in files on storage that all nodes share.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lengthwise.core.errors import LengthwiseError, require
from lengthwise.experiments.cluster.drive import Scheduler
from lengthwise.experiments.cluster.lease import PATIENCE
from lengthwise.experiments.cluster.piece import Outcome, Piece
from lengthwise.experiments.cluster.task import run_values

LOCAL = "local"


@dataclass(frozen=True)
class ClusterOptions:
    """Where the tasks run and what each needs. Raises `LengthwiseError` for amounts that make no sense."""

    address: str
    cpus_per_job: int = 1
    gpus_per_job: float = 0.0
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        require(self.cpus_per_job >= 1, f"--cpus-per-job must be at least 1, got {self.cpus_per_job}")
        fine = 0 <= self.gpus_per_job < float("inf")
        require(fine, f"--gpus-per-job must be 0 or more, got {self.gpus_per_job}")


class RayScheduler(Scheduler):
    """Starts each piece as a task; raises `LengthwiseError` for an address that does not answer."""

    def __init__(self, options: ClusterOptions) -> None:
        self.patience, self._options, self._driver = options.patience, options, secrets.token_hex(8)
        self._ray = _started(options)
        # What the system did to a task is tried again for ever; what our own code raised is not.
        settings = {"max_retries": -1, "retry_exceptions": False}
        resources = {"num_cpus": options.cpus_per_job, "num_gpus": options.gpus_per_job}
        self._task = self._ray.remote(**settings, **resources)(run_values)

    @property
    def slots(self) -> int:
        """How many tasks the nodes of now have room for; at least one."""
        there = self._ray.cluster_resources()
        needs = (("CPU", self._options.cpus_per_job), ("GPU", self._options.gpus_per_job))
        return max(1, min(int(there.get(name, 0) / wanted) for name, wanted in needs if wanted))

    def start(self, piece: Piece) -> Any:
        cpus, patience = self._options.cpus_per_job, self.patience
        return self._task.remote(piece.to_json(), cpus, patience, self._driver, os.getcwd())

    def done(self, handles: Sequence[Any], seconds: float) -> list[Any]:
        if not handles:
            time.sleep(seconds)
            return []
        return self._ray.wait(list(handles), timeout=seconds)[0]

    def outcome(self, handle: Any) -> Outcome:
        try:
            return Outcome(*self._ray.get(handle))
        except self._ray.exceptions.OutOfMemoryError:
            return Outcome("memory", "not enough memory")

    def stop(self) -> None:
        with contextlib.suppress(Exception):
            self._ray.shutdown()


def _started(options: ClusterOptions) -> Any:
    # Ray's own warning about a future default.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise LengthwiseError("--ray needs the cluster extra; run: pip install 'lengthwise[cluster]'") from None
    _require_an_answer(options.address)
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if options.address == LOCAL:
        settings["include_dashboard"] = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(address=options.address, **settings)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise _no_answer(options.address, error) from None
    for name, wanted in (("CPU", options.cpus_per_job), ("GPU", options.gpus_per_job)):
        there = max((node["Resources"].get(name, 0) for node in ray.nodes() if node["Alive"]), default=0)
        if there < wanted:
            warnings.warn(f"no node has {wanted:g} {name} yet; the jobs wait for one", stacklevel=2)
    return ray


def _require_an_answer(address: str) -> None:
    """Ray itself would try for minutes to reach an address at which nobody answers."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return  # ``local`` and ``auto``
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise _no_answer(address, error) from None


def _no_answer(address: str, error: Exception) -> LengthwiseError:
    way_out = "start one with `ray start`, or give --ray local"
    return LengthwiseError(f"no Ray cluster answers at {address!r} ({error}); {way_out}")
