"""Runs the probes of the development cells (`cells.json`) in parallel processes, and writes each result as it comes.

Run from the repository's root: ``python studies/forecast/probes.py --out DIR --minutes 5 --device auto``. The
same command goes on where it stopped: a cell with a result is passed over, and on a processor one that was begun goes
on from its checkpoint. On a GPU all cells of one shape train as one stack, with data drawn by other processes, and
steps that are replayed from graphs where a check shows that these equal eager ones. With ``auto`` the processor's cores
take the small groups at the same time, cell by cell.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import multiprocessing
import os
import re
import shutil
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from cells import informative, read_cells

import lengthwise as lw

AHEAD = 20
"""Steps that another process draws at a time."""
CELLS_A_DRAWER = 6
"""Cells for which one process draws the data, at a GPU's speed."""
MOST_CELLS = 64
"""Cells of one stack; beyond them a step takes its groups of lengths one by one."""


GRAPHS = "PROBES_GRAPHS"
"""Set in the environment of the workers where captured steps are used."""


@dataclass(frozen=True)
class Job:
    """Cells that train together; on a processor it is one."""

    device: str
    cells: tuple[dict[str, Any], ...]


def cell_of(values: dict[str, Any]) -> lw.forecast.probe.ProbeCell:
    """The cell of an entry of the list."""
    return lw.forecast.probe.ProbeCell(lw.task(values["task"]), values["encoding"], values["longest"])


def groups_of(cells: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The cells by shape, the largest group first."""
    shapes: dict[str, list[dict[str, Any]]] = {}
    for values in cells:
        shapes.setdefault(values["shape"], []).append(values)
    parts = [
        group[start : start + MOST_CELLS] for group in shapes.values() for start in range(0, len(group), MOST_CELLS)
    ]
    return sorted(parts, key=len, reverse=True)


# Data drawn ahead.


_DRAWN: dict[str, Any] = {}


def _begin_drawing(setup: lw.training.data.Setup, config: lw.TrainingConfig, runs: Sequence[int]) -> None:
    import torch

    torch.set_num_threads(1)
    _DRAWN.update(setup=setup, config=config, runs=runs)


def _draw(first: int, last: int) -> list[list[dict[str, Any]]]:
    """The steps from ``first`` to before ``last``, in few bytes."""
    return [
        [pack(inputs) for inputs in _DRAWN["setup"].groups(_DRAWN["config"], _DRAWN["runs"], step)]
        for step in range(first, last)
    ]


def pack(inputs: lw.models.inputs.Inputs) -> dict[str, Any]:
    """NumPy arrays of 16 bits; a scored slice stays one."""
    import torch

    return {
        name: value if not isinstance(value, torch.Tensor) else (
            value.numpy() if value.dtype == torch.bool else value.to(torch.int16).numpy()
        )
        for name, value in vars(inputs).items()
    }  # fmt: skip


def unpack(packed: dict[str, Any]) -> lw.models.inputs.Inputs:
    """What `pack` was given."""
    import numpy as np
    import torch

    return lw.models.inputs.Inputs(
        **{
            name: value if not isinstance(value, np.ndarray) else (
                torch.from_numpy(value) if value.dtype == bool else torch.from_numpy(value.astype(np.int64))
            )
            for name, value in packed.items()
        }
    )  # fmt: skip


class DrawnAhead:
    """A `Setup` with the data of another, which other processes draw some steps ahead."""

    def __init__(
        self,
        setup: lw.training.data.Setup,
        config: lw.TrainingConfig,
        runs: Sequence[int],
        pool: ProcessPoolExecutor,
        workers: int,
    ) -> None:
        self.setup, self.config, self.runs = setup, config, list(runs)
        self.pool, self.depth = pool, 2 * workers + 1
        self.waiting: dict[int, Future[Any]] = {}
        self.current: tuple[int, list[Any]] = (-1, [])
        self._submit(0)  # while the stack is made

    @property
    def model(self) -> Any:
        """The configuration of the model."""
        return self.setup.model

    def build(self, seed: int) -> Any:
        """The model of one run."""
        return self.setup.build(seed)

    def groups(self, config: lw.TrainingConfig, seeds: Sequence[int], step: int) -> list[lw.models.inputs.Inputs]:
        """The data of one step; steps are asked for in order."""
        part = step // AHEAD
        if self.current[0] != part:
            self._submit(part)
            self.current = (part, self.waiting.pop(part).result())
        groups = [unpack(packed) for packed in self.current[1][step - part * AHEAD]]
        if len(seeds) == len(self.runs):
            return groups
        # Runs that diverged have left the stack.
        places = [self.runs.index(seed) for seed in seeds]
        each = [len(group.input_ids) // len(self.runs) for group in groups]
        return [
            group.gather([(group, slice(place * rows, (place + 1) * rows)) for place in places])
            for group, rows in zip(groups, each, strict=True)
        ]

    def _submit(self, part: int) -> None:
        for later in range(part, part + self.depth):
            first, last = later * AHEAD, min((later + 1) * AHEAD, self.config.steps)
            if later not in self.waiting and first < last:
                self.waiting[later] = self.pool.submit(_draw, first, last)


@contextlib.contextmanager
def drawn_ahead(
    setup: lw.training.data.Setup, config: lw.TrainingConfig, runs: Sequence[int]
) -> Iterator[lw.training.data.Setup]:
    """`DrawnAhead`, for the time of one rung."""
    cells = len({run // 100_000 for run in runs})
    workers = max(1, min(6, round(cells / CELLS_A_DRAWER + 0.4)))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["lengthwise.forecast.probe", "lengthwise.training.trainer"])
    pool = ProcessPoolExecutor(workers, context, _begin_drawing, (setup, config, list(runs)))
    try:
        yield DrawnAhead(setup, config, runs, pool, workers)  # type: ignore[misc]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


# Worker processes.


def work(pipe: Any, out: Path, ends: float, settings: lw.forecast.probe.ProbeSettings) -> None:
    """Take jobs from ``pipe`` until there are none."""
    try:
        import torch

        torch.set_num_threads(1)
        while True:
            pipe.send("ready")
            job: Job | None = pipe.recv()
            if job is None:
                return
            try:
                for values, found in zip(job.cells, run_job(job, out, ends, settings), strict=True):
                    keep(out, values, found, job)
                    pipe.send(f"{values['key']}: {found.status}, {found.stopped}; {found.seconds:.0f} s, {job.device}")
            except Exception:
                pipe.send(f"{[values['key'] for values in job.cells]} failed: {traceback.format_exc()}")
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        pass


def run_job(
    job: Job, out: Path, ends: float, settings: lw.forecast.probe.ProbeSettings
) -> list[lw.forecast.probe.Probe]:
    """The probes of one job; the time that is left is its budget."""
    budget = max(0.1, ends - time.time())
    cells = [cell_of(values) for values in job.cells]
    if job.device == "cpu":
        (cell,), folder = cells, out / "work" / job.cells[0]["key"]
        found = lw.forecast.probe.probe(cell, budget=budget, folder=folder, settings=settings)
        if found.status != "out of time":
            shutil.rmtree(folder, ignore_errors=True)
        return [found]
    trainer = None
    if os.environ.get(GRAPHS):
        from graphed_steps import GraphedTrainer as trainer
    device = "cpu" if job.device == "together" else job.device
    return lw.forecast.probe.probe_together(
        cells, budget=budget, device=device, settings=settings, prepare=drawn_ahead, trainer=trainer
    )


def keep(out: Path, values: dict[str, Any], found: lw.forecast.probe.Probe, job: Job) -> None:
    """Write the result; one that the time was too short for is partial, and is not passed over later."""
    done = found.status != "out of time"
    path = result_path(out, values["key"], partial=not done)
    lw.core.files.write_json(
        path, {"key": values["key"], "device": job.device, "together": len(job.cells), **found.to_json()}
    )
    if done:
        result_path(out, values["key"], partial=True).unlink(missing_ok=True)


def result_path(out: Path, key: str, *, partial: bool = False) -> Path:
    """Where the result of a cell is."""
    return out / ("partial" if partial else "results") / f"{key}.json"


class Queue:
    """The jobs that are left: a GPU takes the largest group, a core one cell of the smallest."""

    def __init__(self, cells: Sequence[dict[str, Any]], *, grouped: bool) -> None:
        self.groups = groups_of(cells) if grouped else [[values] for values in cells]

    def take(self, device: str) -> Job | None:
        """The next job of a worker on this device."""
        if not self.groups:
            return None
        if device != "cpu":
            return Job(device, tuple(self.groups.pop(0)))
        place = len(self.groups) - 1 if self.largest > 1 else 0
        values = self.groups[place].pop(0)
        if not self.groups[place]:
            self.groups.pop(place)
        return Job(device, (values,))

    @property
    def largest(self) -> int:
        """Cells of the largest group."""
        return max((len(group) for group in self.groups), default=0)


def run(
    cells: Sequence[dict[str, Any]], out: Path, devices: Sequence[str], *, minutes: float,
    settings: lw.forecast.probe.ProbeSettings = lw.forecast.probe.SETTINGS,
) -> None:  # fmt: skip
    """Run the probes of ``cells`` with one worker process for each of ``devices``; stop after so many minutes."""
    ends = time.time() + 60 * minutes
    for name in ("results", "partial", "work"):
        (out / name).mkdir(parents=True, exist_ok=True)
    left = [values for values in cells if not result_path(out, values["key"]).exists()]
    queue, began = Queue(left, grouped=any(device != "cpu" for device in devices)), time.time()
    print(f"{len(left)} of {len(cells)} cells to run, in {len(queue.groups)} groups, on {list(devices)}", flush=True)
    context = multiprocessing.get_context("spawn")
    workers: dict[Any, tuple[Any, str]] = {}
    for device in devices:
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, out, ends, settings))
        process.start()
        theirs.close()
        workers[ours] = process, device
    try:
        while workers and time.time() < ends + 30:
            for ready in wait(list(workers), timeout=5):
                process, device = workers[ready]  # type: ignore[index]
                try:
                    message = ready.recv()  # type: ignore[union-attr]
                except EOFError:
                    process.join()
                    del workers[ready]  # type: ignore[arg-type]
                    continue
                if message != "ready":
                    print(f"{time.time() - began:5.0f} s  {message}", flush=True)
                    continue
                ready.send(queue.take(device) if time.time() < ends else None)  # type: ignore[union-attr]
    finally:
        for process, _ in workers.values():
            process.terminate()
    done = len(list((out / "results").glob("*.json")))
    print(f"{done} results in {out / 'results'} after {time.time() - began:.0f} s", flush=True)


def timed(trainer: Any, steps: int = 40) -> tuple[float, float]:
    """Milliseconds of a step and of drawing its data; the steps take the same eight drawings again and again."""
    import torch

    began = time.perf_counter()
    groups = [trainer.groups(step) for step in range(8)]
    drawing = (time.perf_counter() - began) / 8
    trainer.groups = lambda step: groups[step % 8]
    for step in range(16):
        trainer.step(step)
    began = time.perf_counter()
    for step in range(steps):
        losses = trainer.step(step)
    float(losses.mean())  # waits for a GPU
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - began) / steps, 1000 * drawing


def measured_speed(cells: Sequence[dict[str, Any]], pipe: Any, *, graphs: bool) -> None:
    """Send milliseconds of a step of rung 1: of one cell on the processor, and of one and the largest group on a GPU.

    With ``graphs``, of captured steps, and only if these equal eager ones. In a process of its own, which may fail.
    """
    import torch

    torch.set_num_threads(1)
    group = groups_of(cells)[0]

    def trainer(kind: type[lw.training.trainer.Trainer], device: str, count: int) -> lw.training.trainer.Trainer:
        own, rung = [cell_of(values) for values in group[:count]], lw.forecast.probe.SETTINGS.ladder[0]
        setup = lw.forecast.probe.Together(tuple(cell.setup(rung) for cell in own))
        runs = [
            place * lw.forecast.probe.STRIDE + seed
            for place in range(count)
            for seed in lw.forecast.probe.SETTINGS.seeds
        ]
        return kind(setup, own[0].training(rung, 250), runs, device=device)

    found: dict[str, float] = {}
    if not graphs:
        for device, count in [("cpu", 1), *([("cuda", len(group)), ("cuda", 1)] if torch.cuda.is_available() else [])]:
            found[f"{device} {count}"], found[f"{device} {count}, data"] = timed(
                trainer(lw.training.trainer.Trainer, device, count)
            )
    else:
        from graphed_steps import GraphedTrainer

        eager, captured = (trainer(kind, "cuda", 2) for kind in (lw.training.trainer.Trainer, GraphedTrainer))
        for step in range(12):
            ours, theirs = captured.step(step), eager.step(step)
            if not torch.allclose(ours, theirs, rtol=2e-3, atol=2e-4):
                raise ValueError(f"captured steps differ at step {step}: {ours.tolist()}, {theirs.tolist()}")
        found[f"graphs {len(group)}"], _ = timed(trainer(GraphedTrainer, "cuda", len(group)))
        found["graphs 1"], _ = timed(trainer(GraphedTrainer, "cuda", 1))
    pipe.send({name: round(value, 2) for name, value in found.items()})


def speeds_of(cells: Sequence[dict[str, Any]], *, graphs: bool, wait: float = 60) -> dict[str, float]:
    """What `measured_speed` found in a process of its own; empty if that failed or took too long."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=measured_speed, args=(cells, theirs), kwargs={"graphs": graphs})
    process.start()
    theirs.close()
    found: dict[str, float] = {}
    with contextlib.suppress(EOFError):
        if ours.poll(wait):
            found = ours.recv()
    process.terminate()
    process.join()
    return found


def plan(cells: Sequence[dict[str, Any]], device: str, jobs: int | None, out: Path) -> list[str]:
    """A device for each worker. With ``auto``, by the speeds of a step that are measured here and now."""
    cores = os.cpu_count() or 1
    if device in ("cpu", "together") or not cells:
        return [device] * (jobs or cores)
    speeds = speeds_of(cells, graphs=False)
    if any(name.startswith("cuda") for name in speeds):
        captured = speeds_of(cells, graphs=True)
        if captured and captured["graphs 1"] < speeds["cuda 1"]:
            os.environ[GRAPHS] = "1"
        speeds |= captured
    lw.core.files.write_json(out / "speeds.json", speeds)
    print("milliseconds a step:", speeds, "captured" if os.environ.get(GRAPHS) else "eager", flush=True)
    if device == "cuda":
        return ["cuda"] * (jobs or max(1, cores // 2))
    if "cuda 1" not in speeds:
        return ["cpu"] * (jobs or cores)
    count = max(int(name.split()[1]) for name in speeds if name.startswith("cuda") and "," not in name)
    gpu = {size: min(speeds[f"cuda {size}"], speeds.get(f"graphs {size}", 1e9)) for size in (1, count)}
    # A GPU worker takes a core, and about another one for its data.
    workers = jobs or max(1, cores * 5 // 8)
    if gpu[count] / count > speeds["cpu 1"] / 2:
        return ["cpu"] * (jobs or cores)
    if gpu[1] > speeds["cpu 1"]:
        return ["cuda"] * max(1, workers // 2) + ["cpu"] * (cores - workers // 2)
    return ["cuda"] * workers + ["cpu"] * max(0, cores // 4)


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of results and checkpoints")
    parser.add_argument("--minutes", type=float, required=True, help="when to stop; the same command goes on")
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda", "auto", "together"),
        default="cpu",
        help="together: as on a GPU, but on the processor, to try it",
    )
    parser.add_argument("--jobs", type=int, help="worker processes; default: by the cores")
    parser.add_argument("--steps", type=int, help="steps of every rung, to try it; default: those of the probe")
    parser.add_argument("--only", default="", help="a regular expression that the key of a cell must match")
    parser.add_argument("--order", choices=("longest", "informative"), default="longest")
    given = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = "1"
    given.out.mkdir(parents=True, exist_ok=True)
    cells = [values for values in read_cells() if re.search(given.only, values["key"])]
    if given.order == "informative":
        cells.sort(key=informative)
    else:
        # What took more rungs of the ladder takes longest here, too.
        cells.sort(key=lambda values: -(values["rung"] or 4))
    settings = lw.forecast.probe.SETTINGS
    if given.steps:
        ladder = tuple(dataclasses.replace(rung, steps=given.steps) for rung in lw.forecast.probe.SETTINGS.ladder)
        settings = dataclasses.replace(
            lw.forecast.probe.SETTINGS, ladder=ladder, every=min(lw.forecast.probe.SETTINGS.every, given.steps)
        )
    ends = time.time() + 60 * given.minutes
    devices = plan(cells, given.device, given.jobs, given.out)
    run(cells, given.out, devices, minutes=(ends - time.time()) / 60, settings=settings)


if __name__ == "__main__":
    main(sys.argv[1:])
