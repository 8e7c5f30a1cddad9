"""Device, memory and processor threads of a training."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lengthwise.core.errors import require

if TYPE_CHECKING:
    import torch

    from lengthwise.models.config import ModelConfig
    from lengthwise.training.config import TrainingConfig


READ_EVERY = 10
"""Steps between two readings of the loss where that waits for the device."""


def autocast(device: torch.device | str, precision: Literal["float32", "bf16"]) -> AbstractContextManager[Any]:
    """Products in bf16 where asked for; float32 is left alone."""
    if precision == "float32":
        return contextlib.nullcontext()
    import torch

    return torch.autocast(torch.device(device).type, torch.bfloat16)


def reads_loss(device: torch.device | str, step: int) -> bool:
    """Whether progress should show the loss after so many steps: always on a CPU."""
    import torch

    return torch.device(device).type == "cpu" or step % READ_EVERY == 0


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt(3)."""
_KEPT = 2**30
"""Bytes of free memory kept at the end of the heap, and the largest block that comes from it."""


@functools.cache
def keep_memory() -> bool:
    """Let the C library keep freed blocks, in the whole process; returns whether it could be told (glibc only).

    Otherwise a step's activations go back to the system at its end, and the next step finds its memory page by page,
    which takes longer than to fill it. The process then holds what its largest step needed. Nothing in this package
    calls it but the command line and the worker processes of a sweep; a program of one's own may.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return all(mallopt(parameter, _KEPT) == 1 for parameter in (_MMAP_THRESHOLD, _TRIM_THRESHOLD))


THREADS, TOKENIZER_THREADS = "OMP_NUM_THREADS", "RAYON_NUM_THREADS"
WAITING = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")
"""Variables by which a user says how threads wait; ours is set only where none of them is."""
SPINS_IDLE, SPINS_BUSY = 30_000, 500
"""How often a waiting thread looks before it sleeps, with all cores free and beside other busy processes.

A look takes about ten nanoseconds. Measured in docs/operations.md.
"""
AUTOMATIC = "LENGTHWISE_THREADS"
"""Set where nobody chose a number: trainings then choose theirs by `worthwhile`, at most so many where it is a number.

Our command line sets it to ``auto``.
"""
WORTH_TWO, WORTH_MORE = 3e8, 1.2e9
"""Uses of a weight in one step: from the first number on two threads pay, beyond them one for each second number.

1-1-64 has 1.6e8, 1-4-128 has 6.3e8, 1-1-256 has 2.5e9, 4-4-256 has 1e10.
"""


def own_process() -> None:
    """Set the defaults of a process that belongs to our command line, before torch is loaded.

    What the user's environment says stays as it is. Nothing is done in a process that has loaded torch.
    """
    if "torch" in sys.modules:
        return
    if not any(name in os.environ for name in WAITING):
        os.environ["GOMP_SPINCOUNT"] = str(SPINS_IDLE if others_running() == 0 else SPINS_BUSY)
    if THREADS not in os.environ:
        os.environ[AUTOMATIC], os.environ[THREADS] = "auto", "1"


def use_threads(count: int | None) -> None:
    """Set the threads of torch and the tokenizers to what ``--threads`` says, before they are loaded.

    Raises `LengthwiseError` for fewer than one.
    """
    if count is not None:
        require(count >= 1, f"threads must be at least 1, got {count}")
        os.environ[THREADS] = os.environ[TOKENIZER_THREADS] = str(count)
        os.environ.pop(AUTOMATIC, None)


def use_one_thread_per_job() -> None:
    """For one of several processes, before it loads torch: one thread, unless a number was chosen."""
    os.environ.setdefault(THREADS, "1")
    os.environ.pop(AUTOMATIC, None)


def use_all_cores() -> None:
    """Start torch with a thread for each core, unless a number was chosen; trainings of small models take fewer."""
    if os.environ.get(AUTOMATIC):
        os.environ[THREADS] = str(cores())


def adapt_to(model: ModelConfig, training: TrainingConfig, runs: int) -> None:
    """Give torch the threads that pay for this training, where nobody chose."""
    if most := os.environ.get(AUTOMATIC):
        import torch

        count = worthwhile(model, training, runs)
        count = min(count, int(most)) if most.isdigit() else count
        if count != torch.get_num_threads():  # a number that is set, even the same one, costs up to 5 % of a step
            torch.set_num_threads(count)


@contextlib.contextmanager
def threads_of_a_call(count: int | None = None) -> Iterator[None]:
    """For one call of a program of one's own: so many threads, or those that pay, at most torch's; then as before.

    A number in the environment is a choice. Raises `LengthwiseError` for fewer than one.
    """
    if count is None and THREADS in os.environ:
        yield
        return
    import torch

    names, before = (THREADS, TOKENIZER_THREADS, AUTOMATIC), torch.get_num_threads()
    kept = {name: os.environ[name] for name in names if name in os.environ}
    use_threads(count)
    if count is None:
        os.environ[AUTOMATIC] = str(before)
    elif count != before:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update(kept)
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


def worthwhile(model: ModelConfig, training: TrainingConfig, runs: int = 1) -> int:
    """The threads that pay for a training of so many runs: a function of its size and the machine, never of its load.

    A resumed run therefore has the threads it had before, and with them the same bits.
    """
    weights = model.layers * (4 + 2 * model.mlp_ratio) * model.width**2
    uses = runs * training.batch_size * training.max_length * weights
    return min(cores(), max(2 if uses >= WORTH_TWO else 1, int(uses / WORTH_MORE)))


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


def others_running() -> int:
    """Threads of other processes beyond the cores that this process can do without; 0 where all of its cores are free.

    The system counts what runs at this moment, so the least of three looks within two milliseconds is taken.
    """
    try:
        looks = []
        for _ in range(3):
            looks.append(int(Path("/proc/loadavg").read_text().split()[3].split("/")[0]))
            time.sleep(0.001)
        running = min(looks) - 1  # without this one
    except (OSError, ValueError, IndexError):  # not Linux
        running = round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return max(0, running - ((os.cpu_count() or 1) - cores()))


def free_cores() -> int:
    """Cores of `cores` that nothing else uses at this moment; at least 1."""
    return max(1, cores() - others_running())
