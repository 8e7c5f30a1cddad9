"""Threads: what the user says wins, small models get one, and trainings choose only where our command line says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import lengthwise as lw
from lengthwise.cli.options import number_of_jobs
from lengthwise.core.errors import LengthwiseError
from lengthwise.models.config import ModelConfig
from lengthwise.training import threads
from lengthwise.training.config import TrainingConfig
from lengthwise.training.trainer import Trainer

SMALL, LARGE = ModelConfig(layers=1, heads=1, width=64), ModelConfig(layers=4, heads=4, width=256)
MAJORITY = TrainingConfig(max_length=50, batch_size=64)

OPENMP = next((str(path) for path in Path(torch.__file__).parent.glob("lib/libgomp*")), None)
PROGRAM = """
import os, sys
from lengthwise.training import threads
threads.others_running = lambda: {others}
threads.own_process()
{extra}
{count}
print(count(), os.environ.get("GOMP_SPINCOUNT"), os.environ.get(threads.AUTOMATIC))
"""
BY_TORCH = "import torch; count = torch.get_num_threads"
BY_OPENMP = f"import ctypes; count = ctypes.CDLL({OPENMP!r}).omp_get_max_threads"
"""How a process counts its threads: torch, which takes seconds to load, asks the OpenMP that comes with it."""


def told(
    extra: str = "", others: int = 0, count: str = BY_OPENMP if OPENMP else BY_TORCH, **environment: str
) -> list[str]:
    """Threads of torch, spins, and whether trainings choose, in a new process that our command line owns.

    So many threads of other processes compete with it.
    """
    kept = {k: v for k, v in os.environ.items() if k not in (threads.THREADS, threads.AUTOMATIC, *threads.WAITING)}
    words = [sys.executable, "-c", PROGRAM.format(extra=extra, others=others, count=count)]
    done = subprocess.run(words, env={**kept, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_size_decides_and_never_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 2)
    middle = ModelConfig(layers=1, heads=4, width=128)
    assert [threads.worthwhile(model, MAJORITY) for model in (SMALL, middle, LARGE)] == [1, 2, 2]
    assert threads.worthwhile(ModelConfig(layers=48, width=4096), MAJORITY) == 2
    monkeypatch.setattr(threads, "cores", lambda: 64)
    assert [threads.worthwhile(model, MAJORITY) for model in (SMALL, middle, LARGE)] == [1, 2, 8]
    assert threads.worthwhile(LARGE, MAJORITY, runs=4) == 33
    monkeypatch.setattr(threads, "cores", lambda: 1)
    assert threads.worthwhile(LARGE, MAJORITY) == 1


def test_by_default_threads_start_with_one_and_trainings_choose() -> None:
    expected = ["1", str(threads.SPINS_IDLE), "auto"]
    assert told() == expected
    assert told(count=BY_TORCH) == expected


def test_torch_has_the_threads_that_openmp_is_told() -> None:
    """So the other tests may ask OpenMP alone."""
    expected = ["2", str(threads.SPINS_IDLE), "None"]
    assert told("threads.use_threads(2)", count=BY_TORCH, OMP_NUM_THREADS="1") == expected


def test_threads_wait_briefly_beside_other_busy_processes() -> None:
    assert told(others=1) == ["1", str(threads.SPINS_BUSY), "auto"]
    assert told(others=1, GOMP_SPINCOUNT="7") == ["1", "7", "auto"]


def test_busy_processes_are_counted_where_this_one_needs_their_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter(["5/80", "4/80", "9/80"] * 3)
    monkeypatch.setattr(threads.Path, "read_text", lambda _: f"1.0 1.0 1.0 {next(counts)} 77")
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 8)
    for free, others in ((8, 3), (6, 1), (2, 0)):
        monkeypatch.setattr(threads, "cores", lambda free=free: free)
        assert threads.others_running() == others


@pytest.mark.parametrize(
    ("extra", "environment", "expected"),
    [
        ("", {"OMP_NUM_THREADS": "2"}, ["2", str(threads.SPINS_IDLE), "None"]),
        ("threads.use_threads(2)", {}, ["2", str(threads.SPINS_IDLE), "None"]),
        ("threads.use_threads(2)", {"OMP_NUM_THREADS": "1"}, ["2", str(threads.SPINS_IDLE), "None"]),
        ("threads.use_one_thread_per_job()", {}, ["1", str(threads.SPINS_IDLE), "None"]),
        ("threads.use_one_thread_per_job()", {"OMP_NUM_THREADS": "2"}, ["2", str(threads.SPINS_IDLE), "None"]),
        ("", {"GOMP_SPINCOUNT": "7"}, ["1", "7", "auto"]),
        ("", {"OMP_WAIT_POLICY": "ACTIVE"}, ["1", "None", "auto"]),
    ],
)
def test_what_the_user_says_wins(extra: str, environment: dict[str, str], expected: list[str]) -> None:
    assert told(extra, **environment) == expected


@pytest.mark.parametrize(
    ("chosen", "had", "asked", "pays", "used"),
    [("1", 1, None, 2, 1), (None, 2, None, 1, 1), (None, 2, None, 8, 2), (None, 1, None, 2, 1), ("1", 1, 2, 1, 2)],
)
def test_a_call_of_a_library_has_the_threads_that_pay_and_leaves_torch_as_it_was(
    monkeypatch: pytest.MonkeyPatch, chosen: str | None, had: int, asked: int | None, pays: int, used: int
) -> None:
    """So many are chosen in the environment and set in torch, asked for in the call, and worthwhile."""
    monkeypatch.delenv(threads.AUTOMATIC, raising=False)
    monkeypatch.delenv(threads.THREADS) if chosen is None else monkeypatch.setenv(threads.THREADS, chosen)
    monkeypatch.setattr(threads, "worthwhile", lambda *_: pays)
    before = dict(os.environ)
    try:
        torch.set_num_threads(had)
        with threads.threads_of_a_call(asked), threads.threads_of_a_call():
            threads.adapt_to(LARGE, MAJORITY, 1)
            assert torch.get_num_threads() == used
        assert torch.get_num_threads() == had
        assert dict(os.environ) == before
        threads.adapt_to(LARGE, MAJORITY, 1)
        assert torch.get_num_threads() == had
    finally:
        torch.set_num_threads(1)


def test_an_experiment_is_trained_with_the_threads_that_its_call_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, run = set[int](), Trainer.run

    def watched(trainer: Trainer) -> Any:
        made = run(trainer)
        seen.add(torch.get_num_threads())
        return made

    monkeypatch.setattr(Trainer, "run", watched)
    tiny = lw.Experiment(
        "copy", max_length=2, test_lengths=[2], steps=1, model={"layers": 1, "width": 16, "heads": 2},
        evaluation={"samples": 4, "fit_samples": 4},
    )  # fmt: skip
    tiny.run(out=tmp_path, threads=2, progress=False)
    assert (seen, torch.get_num_threads()) == ({2}, 1)
    with pytest.raises(LengthwiseError, match="threads"):
        tiny.run(out=tmp_path, threads=0, progress=False)


def test_jobs_are_a_number_or_the_free_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert number_of_jobs("3") == 3
    assert 1 <= number_of_jobs("auto") <= threads.cores()
    monkeypatch.setattr(threads, "others_running", lambda: 10**6)
    assert number_of_jobs("auto") == 1
    with pytest.raises(LengthwiseError, match=r"--jobs must be a number or auto, got 'two'"):
        number_of_jobs("two")


def test_the_command_line_starts_without_the_configurations() -> None:
    """`lengthwise --help` and every command begin with this module; pydantic would take a third of the start."""
    program = "import sys; import lengthwise.training.threads; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
