"""Chooses the processor threads of a command: by the size of the model, and so that waiting threads take no core long.

Threads of OpenMP spin while they wait for one another. Beside another busy process they then wait for a thread that has
no core, and a training of a small model becomes many times slower. One thread never waits.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lengthwise.core.errors import require

if TYPE_CHECKING:
    from lengthwise.models.config import ModelConfig
    from lengthwise.training.config import TrainingConfig

THREADS, TOKENIZER_THREADS = "OMP_NUM_THREADS", "RAYON_NUM_THREADS"
WAITING = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")
"""Variables by which a user says how threads wait; `SPINS` is set only where none of them is."""
SPINS = 2000
"""How often a waiting thread looks before it sleeps: about twenty microseconds; measured in docs/operations.md."""
AUTOMATIC = "LENGTHWISE_THREADS"
"""Set to ``auto`` by our command line where nobody chose a number: trainings then choose theirs by `worthwhile`."""
WORTH = 1.2e9
"""Uses of a weight in one step for each thread: 1-4-128 has half of it, 1-1-256 twice as many, 4-4-256 eight times."""


def own_process() -> None:
    """Set the defaults of a process that belongs to our command line, before torch is loaded.

    What the user's environment says stays as it is. Nothing is done in a process that has loaded torch.
    """
    if "torch" in sys.modules:
        return
    if not any(name in os.environ for name in WAITING):
        os.environ["GOMP_SPINCOUNT"] = str(SPINS)
    if THREADS not in os.environ:
        os.environ[AUTOMATIC], os.environ[THREADS] = "auto", "1"


def use_threads(count: int | None) -> None:
    """Set the threads of torch and the tokenizers to what ``--threads`` says, before they are loaded.

    Raises `LengthwiseError` for fewer than one.
    """
    if count is not None:
        require(count >= 1, f"--threads must be at least 1, got {count}")
        os.environ[THREADS] = os.environ[TOKENIZER_THREADS] = str(count)
        os.environ.pop(AUTOMATIC, None)


def use_one_thread_per_job() -> None:
    """For one of several processes, before it loads torch: one thread, unless a number was chosen."""
    os.environ.setdefault(THREADS, "1")
    os.environ.pop(AUTOMATIC, None)


def use_all_cores() -> None:
    """Start torch with a thread for each core, unless a number was chosen: for models of unknown size."""
    if os.environ.get(AUTOMATIC):
        os.environ[THREADS] = str(cores())


def adapt_to(model: ModelConfig, training: TrainingConfig, runs: int) -> None:
    """Give torch the threads that pay for this training, if our command line owns the process and nobody chose."""
    if os.environ.get(AUTOMATIC):
        import torch

        torch.set_num_threads(worthwhile(model, training, runs))


def worthwhile(model: ModelConfig, training: TrainingConfig, runs: int = 1) -> int:
    """The threads that pay for a training of so many runs: a function of its size and the machine, never of its load.

    A resumed run therefore has the threads it had before, and with them the same bits.
    """
    weights = model.layers * (4 + 2 * model.mlp_ratio) * model.width**2
    return max(1, min(cores(), int(runs * training.batch_size * training.max_length * weights / WORTH)))


def cores() -> int:
    """Cores that this process may use: of its affinity, and at most the quota of its container."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        count = os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(count, int(quota) // int(period)))
    except (OSError, ValueError):  # no quota, or another kind of system
        return count


def free_cores(seconds: float = 0.3) -> int:
    """Cores of `cores` that nothing else used during so many seconds; at least 1."""
    before = _busy_and_all()
    if before is None:
        return max(1, round(cores() - os.getloadavg()[0])) if hasattr(os, "getloadavg") else cores()
    time.sleep(seconds)
    after = _busy_and_all() or before
    busy, ticks = after[0] - before[0], after[1] - before[1]
    in_use = busy / ticks * (os.cpu_count() or 1) if ticks else 0.0
    return max(1, min(cores(), int(cores() - in_use + 0.5)))


def _busy_and_all() -> tuple[int, int] | None:
    """Ticks of all cores since the start of the system: in use, and in total."""
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    except (OSError, ValueError):
        return None
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
