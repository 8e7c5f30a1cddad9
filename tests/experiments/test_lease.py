"""Leases: one holder at a time, and a holder that slept can't write once another has taken over."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from lengthwise.core.errors import LengthwiseError
from lengthwise.core.files import write_text
from lengthwise.experiments.lease import Lease, LeaseLostError, acquire, state_of

PATIENCE = 0.5


def held(root: Path, patience: float = PATIENCE) -> Lease:
    lease = acquire(root, patience)
    assert lease is not None
    return lease


def test_one_holder_at_a_time_and_the_token_grows(tmp_path: Path) -> None:
    root = tmp_path / "leases" / "job"
    first = held(root)
    with first.kept():
        first.tell({"step": 3})
        assert acquire(root, PATIENCE) is None
        time.sleep(PATIENCE)
        assert state_of(root) == {"step": 3}
    (first.folder / "work").write_text("half")
    (first.folder / ".lock").touch()
    (first.folder / ".x.tmp").touch()
    second = held(root)
    assert (first.token, second.token) == (1, 2)
    assert (second.folder / "work").read_text() == "half"
    assert not list(second.folder.glob(".lock")) + list(second.folder.glob(".x.tmp"))
    second.release()
    assert not root.parent.exists()


def test_who_lost_the_lease_can_t_write(tmp_path: Path) -> None:
    root = tmp_path / "job"
    old = held(root)
    with old.kept():
        write_text(old.folder / "a", "old")
        new = held(root, 0.01)
        for write in (
            lambda: write_text(old.folder / "a", "late"),
            lambda: write_text(new.folder / "a", "late"),
            old.release,
        ):
            with pytest.raises(LeaseLostError, match="has passed to another process; nothing is written"):
                write()
        with pytest.raises(LeaseLostError):
            old.tell({})
    assert (new.folder / "a").read_text() == "old"
    assert [path.name for path in root.iterdir()] == ["000002"]
    write_text(new.folder / "a", "new")


def test_of_many_that_take_over_one_gets_it(tmp_path: Path) -> None:
    root = tmp_path / "job"
    for _ in range(5):
        found: list[Lease | None] = []
        together = threading.Barrier(8)

        def take(found=found, together=together) -> None:
            together.wait()
            found.append(acquire(root, 0.02))

        threads = [threading.Thread(target=take) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        holders = [lease for lease in found if lease is not None and lease.folder.exists()]
        assert len(holders) == 1


def write_for_ever(root: Path, said) -> None:
    lease = held(root)
    try:
        with lease.kept():
            for number in range(10**6):
                write_text(lease.folder / "counter", str(number))
                said.value = number
                time.sleep(0.01)
    except LengthwiseError as error:
        os.write(2, f"{type(error).__name__}\n".encode())
        os._exit(3)


def test_a_stopped_process_wakes_and_can_t_write(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    said = context.Value("i", -1)
    process = context.Process(target=write_for_ever, args=(tmp_path / "job", said), daemon=True)
    process.start()
    try:
        while said.value < 5:
            time.sleep(0.05)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        while (lease := acquire(tmp_path / "job", PATIENCE)) is None:
            pass  # The signal arrives a little later than it is sent.
        write_text(lease.folder / "counter", "mine")
        os.kill(process.pid, signal.SIGCONT)
        process.join(30)
        assert process.exitcode == 3
        assert (lease.folder / "counter").read_text() == "mine"
        assert sorted(path.name for path in (tmp_path / "job").iterdir()) == ["000002"]
    finally:
        process.kill()
