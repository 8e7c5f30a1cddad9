"""Seeds side by side: the same results as one after the other, errors in one line, and nobody twice in one folder."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lengthwise.core.errors import LengthwiseError, TrainingDivergedError
from lengthwise.core.files import locked
from lengthwise.experiments.engine import side_by_side, sweep
from lengthwise.experiments.events import Event, Progress
from lengthwise.experiments.execute import Processes, Unit, described, serve
from lengthwise.experiments.recipe import Candidates, Job, Recipe
from lengthwise.experiments.run import run_seed
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import run_directory

TINY = RunConfig.from_json(
    {
        "task": {"name": "copy", "symbols": "repeats", "letters": 3},
        "scheme": {"name": "coupled", "max_position": 24},
        "encoding": {"name": "learned"},
        "model": {"layers": 1, "heads": 2, "width": 16, "mlp_ratio": 1},
        "training": {"max_length": 3, "steps": 4, "batch_size": 8, "groups": 2, "probe_every": 2},
        "evaluation": {"lengths": [2, 3], "samples": 8, "fit_samples": 8, "probe_samples": 6, "unfitted_too": True},
    }
)
RECIPE = Recipe("r", "", (Job("a", TINY, (1,)), Job("b", TINY.edited(["training.lr=0.01"]), (0,))))


def without_clock(results: Any) -> Any:
    values = [[result.to_json() for result in job] for job in results]
    for job in values:
        for result in job:
            for key in ("seconds", "time", "machine", "commit"):
                result.pop(key)
    return values


def test_side_by_side_gives_the_results_of_one_after_the_other(tmp_path: Path) -> None:
    events: list[Event] = []
    together = sweep(RECIPE, tmp_path / "together", on=Processes(2), progress=events.append)
    alone = sweep(RECIPE, tmp_path / "alone")
    assert without_clock(together.results) == without_clock(alone.results)
    ended = [(event.job, event.seed) for event in events if event.phase == "finished"]
    assert sorted(ended) == [("a", 1), ("b", 0)]
    assert not [event for event in events if event.phase == "reused"]
    again: list[Event] = []
    sweep(RECIPE, tmp_path / "together", on=Processes(2), progress=again.append)
    assert [event.phase for event in again] == ["reused"] * 2


def test_a_user_error_in_one_process_is_one_line_here(tmp_path: Path) -> None:
    short = TINY.edited(["scheme.max_position=1"])
    with pytest.raises(LengthwiseError, match="position"):
        sweep(Recipe("r", "", (Job("too short", short, (0,)),)), tmp_path, on=Processes(2))


def test_jobs_are_seeds_unless_seeds_belong_together() -> None:
    stacked = TINY.edited(["training.stacked=true"])
    jobs = (
        Job("plain", TINY, (0, 1, 2)),
        Job("stacked", stacked, (0, 1, 2)),
        Job("search", Candidates((TINY, stacked), needed=2), (0, 1)),
    )
    found = side_by_side(Recipe("r", "", jobs), lambda job, seed: (job.name, seed) == ("plain", 1))
    # Those with most seeds first; among equals, the order of the recipe.
    assert [(job.name, job.seeds) for job in found] == [
        ("stacked", (0, 1, 2)),
        ("search", (0, 1)),
        ("plain", (0,)),
        ("plain", (2,)),
    ]
    for job in found:
        back = Job.from_json(json.loads(json.dumps(job.to_json())))
        assert back == dataclasses.replace(job, claim="")


def test_the_longest_trainings_start_first() -> None:
    changes = {"short": "training.steps=1", "usual": "training.steps=2", "wide": "model.width=64"}
    assert TINY.model.width < 64
    jobs = tuple(Job(name, TINY.edited([change]), (0,)) for name, change in changes.items())
    found = side_by_side(Recipe("r", "", jobs), lambda job, seed: False)
    assert [job.name for job in found] == ["wide", "usual", "short"]


def test_a_folder_in_use_is_refused_and_free_after_its_process_died(tmp_path: Path) -> None:
    folder = run_directory(tmp_path, "r", TINY, 0)
    folder.mkdir(parents=True)
    code = "import sys, time\nfrom pathlib import Path\nfrom lengthwise.core.files import locked\n"
    code += "with locked(Path(sys.argv[1])):\n    print('locked', flush=True)\n    time.sleep(60)\n"
    other = subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(LengthwiseError, match=r"another process is at work in .*; wait for it to end"):
            run_seed(TINY, 0, folder, recipe="r", system="a")
    finally:
        other.kill()
        other.wait()
    with locked(folder):
        pass
    assert run_seed(TINY, 0, folder, recipe="r", system="a").seed == 0


@dataclasses.dataclass(frozen=True)
class Failing(Unit):
    """Reports a step, or ends with an error."""

    error: ClassVar[BaseException | None] = None

    home: Path
    name = "failing"  # type: ignore[assignment]
    leases = Path("nowhere")  # type: ignore[assignment]

    def owned(self, folder: Path) -> list[Path]:
        return []

    def compute(self, folder: Path, progress: Progress) -> None:
        if self.error is not None:
            raise self.error
        progress(Event("failing", 0, "train", 1, 4))
        raise AssertionError("it goes on for nobody")


@pytest.mark.parametrize("error", [None, LengthwiseError("no"), TrainingDivergedError("no"), KeyboardInterrupt()])
def test_a_worker_to_whom_nobody_listens_ends_without_a_word(monkeypatch, error: BaseException | None) -> None:
    """The parent was killed: what the worker reports then finds no reader, its last message neither."""

    monkeypatch.setattr(Failing, "error", error)
    ours, theirs = Pipe(duplex=False)
    ours.close()
    serve(described(Failing(Path("nowhere"))), os.environ.copy(), theirs)
    assert theirs.closed


@pytest.mark.parametrize(
    ("number", "to_all", "code", "says"), [(signal.SIGKILL, False, -9, ""), (signal.SIGINT, True, 130, "interrupted\n")]
)
def test_workers_of_a_parent_that_ends_end_too(number: int, to_all: bool, code: int, says: str) -> None:
    """Killed alone, or by Ctrl-C, which reaches all: no process is left, and no traceback is shown."""
    command = [sys.executable, str(Path(__file__).with_name("reporting_parent.py"))]
    # A test runner in the background may ignore SIGINT, and children inherit that.
    restore = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    parent = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=restore
    )
    try:
        assert parent.stdout is not None
        seen: set[str] = set()
        while seen < {"0\n", "1\n"}:
            seen.add(parent.stdout.readline())
            assert "" not in seen, parent.communicate()
        (os.killpg if to_all else os.kill)(parent.pid, number)
        # The workers have the same standard error: it ends with the last of them.
        _, error = parent.communicate(timeout=30)
        assert (parent.returncode, error) == (code, says)
    finally:
        if parent.poll() is None:
            os.killpg(parent.pid, signal.SIGKILL)
