"""What drives pieces on a cluster: what is tried again and how, one display for the whole sweep, and Ctrl-C.

The schedulers of these tests need no cluster; of Ray only what it would be told is tested here.
"""

from __future__ import annotations

import dataclasses
import io
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from lengthwise.api.progress import SweepProgress
from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments import cluster
from lengthwise.experiments.cluster import LOCAL, Cluster, ClusterOptions, Ray, run_leased, run_on_ray
from lengthwise.experiments.engine import SweepUnit, sweep
from lengthwise.experiments.events import Event
from lengthwise.experiments.execute import Executor, Outcome, Unit, described
from lengthwise.experiments.lease import Lease, acquire
from lengthwise.experiments.recipe import Job, Recipe
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import LEASES, finished, run_directory
from lengthwise.training.trainer import Trainer

TINY = RunConfig.from_json(
    {
        "task": {"name": "copy", "symbols": "repeats", "letters": 3},
        "scheme": {"name": "coupled", "max_position": 24},
        "encoding": {"name": "learned"},
        "model": {"layers": 1, "heads": 2, "width": 16, "mlp_ratio": 1},
        "training": {"max_length": 3, "steps": 6, "batch_size": 8, "groups": 2, "probe_every": 2, "stacked": True},
        "evaluation": {"lengths": [2], "samples": 8, "fit_samples": 8, "probe_samples": 6, "unfitted_too": True},
    }
)
PATIENCE = 0.05
JOB = Job("a", TINY, (0, 1, 2))
RECIPE = Recipe("r", "", (JOB, Job("b", TINY.edited(["training.lr=0.01"]), (0, 1))))


class Scripted(Cluster):
    """Ends each piece at once with what a function says of it; keeps the seeds of all that were started."""

    def __init__(self, outcome: Callable[[SweepUnit], Outcome]) -> None:
        super().__init__(ClusterOptions(LOCAL, patience=PATIENCE))
        self._outcome, self._pieces = outcome, []
        self.stopped = False

    @property
    def started(self) -> list[tuple[int, ...]]:
        return [piece.job.seeds for piece in self._pieces]

    def start(self, piece: Unit) -> int:
        assert isinstance(piece, SweepUnit)
        self._pieces.append(piece)
        return len(self._pieces) - 1

    def done(self, handles: Sequence[Any], seconds: float) -> list[Any]:
        return list(handles)

    def outcome(self, handle: Any) -> Outcome:
        return self._outcome(self._pieces[handle])

    def stop(self, handles: Sequence[Any]) -> None: ...

    def close(self) -> None:
        self.stopped = True


def driven(scheduler: Executor, seeds: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Drives one stack; returns the seeds of the pieces that finished."""
    unit = SweepUnit("r", Path("nowhere"), dataclasses.replace(JOB, seeds=seeds))
    return [unit.job.seeds for unit, _ in scheduler.run([unit])]


def test_a_stack_without_enough_memory_is_halved_until_it_fits() -> None:
    scheduler = Scripted(lambda piece: Outcome("memory" if len(piece.job.seeds) > 2 else "finished"))
    assert driven(scheduler, (0, 1, 2, 3, 4)) == [(0, 1), (2,), (3, 4)]
    assert scheduler.started == [(0, 1, 2, 3, 4), (0, 1), (2, 3, 4), (2,), (3, 4)]


def test_one_seed_without_enough_memory_is_one_line() -> None:
    scheduler = Scripted(lambda piece: Outcome("memory", "not enough memory"))
    with pytest.raises(LengthwiseError, match=r"not enough memory; give each job more memory .* or choose smaller"):
        driven(scheduler, (0, 1))
    assert scheduler.started == [(0, 1), (0,), (1,)]
    assert scheduler.stopped


def test_an_error_of_ours_is_not_tried_again() -> None:
    scheduler = Scripted(lambda piece: Outcome("failed", "max_position is 1"))
    with pytest.raises(LengthwiseError, match="max_position is 1"):
        driven(scheduler, (0, 1))
    assert scheduler.started == [(0, 1)]
    assert scheduler.stopped


def test_what_another_driver_has_is_looked_at_again() -> None:
    ends = iter(["held", "lost", "finished"])
    scheduler = Scripted(lambda piece: Outcome(next(ends)))
    assert driven(scheduler, (0, 1)) == [(0, 1)]
    assert scheduler.started == [(0, 1)] * 3


class Telling(Scripted):
    """Holds the lease of every piece and tells its progress, all at the same time; then does the work at once."""

    def __init__(self, rounds: int) -> None:
        super().__init__(lambda piece: run_leased(piece, PATIENCE))
        self._leases: dict[int, Lease] = {}
        self._round, self._rounds = 0, rounds

    def start(self, piece: Unit) -> int:
        handle = super().start(piece)
        lease = acquire(piece.leases, PATIENCE)
        assert lease is not None
        self._leases[handle] = lease
        return handle

    def done(self, handles: Sequence[Any], seconds: float) -> list[Any]:
        self._round += 1
        for handle in handles:
            lease, job = self._leases[handle], self._pieces[handle].job
            if self._round > self._rounds:
                lease.release()
                continue
            total = job.steps // len(job.seeds)
            event = Event(job.name, job.seeds[0], "train", self._round, total, 0.5, together=job.seeds)
            lease.tell(dataclasses.asdict(event))
            lease._beat(self._round)
        return list(handles) if self._round > self._rounds else []


def test_a_sweep_on_a_cluster_has_one_display(tmp_path: Path) -> None:
    """Two stacks at work side by side in one display: a bar each, one of all steps, and one line for each seed."""
    text = io.StringIO()
    steps, bars = [], []
    with SweepProgress(Console(file=text, width=100), RECIPE) as shown:

        def observe(event: Event) -> None:
            shown(event)
            everything, *own = shown._progress.tasks
            steps.append(everything.completed)
            bars.append(sorted(task.description for task in own))

        sweep(RECIPE, tmp_path, on=Telling(4), progress=observe)
    assert steps == sorted(steps)
    assert steps[:2] == [3, 5], "a step of a stack is one of each of its seeds"
    assert 4 * 5 in steps
    assert steps[-1] == sum(job.steps for job in RECIPE.jobs) == 30
    assert ["a, 3 seeds, train", "b, 2 seeds, train"] in bars
    assert bars[-1] == []
    lines = re.findall(r"^(\w), seed (\d): (?:not )?fitted, in distribution", text.getvalue(), re.M)
    assert sorted(lines) == [(job.name, str(seed)) for job in RECIPE.jobs for seed in job.seeds]


def test_a_stack_on_this_machine_counts_the_steps_of_all_its_seeds(tmp_path: Path) -> None:
    steps = []
    with SweepProgress(Console(file=io.StringIO()), Recipe("r", "", (JOB,))) as shown:

        def observe(event: Event) -> None:
            shown(event)
            if event.phase == "train":
                assert event.together == JOB.seeds
                steps.append(shown._progress.tasks[0].completed)

        sweep(Recipe("r", "", (JOB,)), tmp_path, progress=observe)
    assert steps == [3 * step for step in range(1, 7)]


def test_control_c_ends_all_tasks_at_once(tmp_path: Path) -> None:
    """Also where it comes between two pieces, while the display is drawn."""
    scheduler = Telling(0)

    def interrupt(event: Event) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(RECIPE, tmp_path, on=scheduler, progress=interrupt)
    assert scheduler.stopped


class Inline(Scripted):
    """Does the work of a piece at once in this process."""

    def __init__(self) -> None:
        super().__init__(lambda piece: run_leased(piece, PATIENCE))


def results(out: Path) -> list[dict[str, Any]]:
    found = []
    for seed in JOB.seeds:
        result = finished(run_directory(out, "r", TINY, seed), TINY, seed)
        assert result is not None
        values = result.to_json().items()
        found.append({key: value for key, value in values if key not in ("seconds", "time", "machine")})
    return found


def test_what_halves_train_is_what_their_seeds_train_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch has no memory for more than one seed here."""
    step, recipe = Trainer.step, Recipe("r", "", (JOB,))

    def fails(self: Trainer, number: int):
        if len(self.states) > 1 and number == 3:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return step(self, number)

    scheduler = Inline()
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "step", fails)
        sweep(recipe, tmp_path / "cluster", on=scheduler)
    assert scheduler.started == [(0, 1, 2), (0,), (1, 2), (1,), (2,)]
    for seed in JOB.seeds:
        sweep(Recipe("r", "", (dataclasses.replace(JOB, seeds=(seed,)),)), tmp_path / "local")
    assert results(tmp_path / "cluster") == results(tmp_path / "local")
    assert not (tmp_path / "cluster" / "r" / LEASES).exists()
    assert not list((tmp_path / "cluster" / "r").glob("stack-*"))


class RayError(Exception):
    """As Ray's, and so are the next two."""


class OutOfMemoryError(RayError): ...


class RayTaskError(RayError): ...


class FakeRay(SimpleNamespace):
    """Takes the calls that our scheduler makes of Ray, and keeps what it is told."""

    def __init__(self) -> None:
        kinds = {kind.__name__: kind for kind in (RayError, OutOfMemoryError, RayTaskError)}
        super().__init__(exceptions=SimpleNamespace(**kinds), told={}, calls=[], alive=True)

    def init(self, **_: Any) -> None: ...

    def nodes(self) -> list[dict[str, Any]]:
        return [{"NodeID": "here", "Alive": self.alive, "Resources": {"CPU": 4, "GPU": 1}}]

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(get_node_id=lambda: "here")

    def wait(self, handles: list[int], timeout: float) -> tuple[list[int], list[int]]:
        return handles, []

    def remote(self, **settings: Any) -> Callable[[Any], Any]:
        self.told |= settings

        def task(function: Any) -> Any:
            assert function is run_on_ray
            return SimpleNamespace(remote=lambda *values: self.calls.append(values) or len(self.calls))

        return task

    def get(self, handle: int) -> tuple[str, str]:
        if handle <= 3:
            raise (OutOfMemoryError(), RayError("The node died.\nIts logs are elsewhere."), RayTaskError())[handle - 1]
        return "finished", "a hash"


def test_ray_is_told_what_to_try_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the system did to a task, for ever; what our code raised, never."""
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    scheduler = Ray(ClusterOptions("local", cpus_per_job=2, gpus_per_job=0.1))
    piece = SweepUnit("r", tmp_path, JOB)
    handles = [scheduler.start(piece) for _ in range(4)]
    assert ray.told == {"max_retries": -1, "retry_exceptions": False, "num_cpus": 2, "num_gpus": 0.1}
    assert ray.calls[0][:3] == (described(piece), 2, scheduler.patience)
    assert scheduler.outcome(handles[0]) == Outcome("memory", "not enough memory")
    with pytest.raises(
        LengthwiseError, match=r"^the Ray cluster failed \(The node died\.\); give the same command again"
    ):
        scheduler.outcome(handles[1])
    with pytest.raises(RayTaskError):
        scheduler.outcome(handles[2])
    assert scheduler.outcome(handles[3]) == Outcome("finished", "a hash")
    monkeypatch.setattr(cluster, "LOOK", -1)
    assert scheduler.done(handles, 0) == handles
    ray.alive = False
    with pytest.raises(LengthwiseError, match="the Ray node of this process has died"):
        scheduler.done(handles, 0)
