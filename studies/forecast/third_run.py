"""Trains the cells of the third study and their probes, and writes one file for each rung of each cell.

``python studies/forecast/third_run.py --minutes 7 --device auto`` on a machine with a GPU, where cells of one shape
train as one stack; ``--device cpu --jobs 1`` on a processor, cell by cell, with checkpoints below ``--work``. The same
command goes on where it stopped. What is trained and measured is fixed in ``preregistration.json`` of its results.
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
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np
from language_stack import LanguageStack
from probes import DrawnAhead, _begin_drawing

import lengthwise as lw

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results" / "forecast"
PREREGISTRATION = RESULTS / "preregistration.json"
SEEDS = (400, 401, 402, 403, 404)
KINDS = ("probe", "cell")
PROBE_RUNGS = 2
"""A probe climbs so far; see the preregistration."""
STAGES = (("probe", 1), ("cell", 1), ("probe", 2), ("cell", 2), ("cell", 3))
"""What is trained first, where a worker may choose."""
SCORES_AT_A_TIME = {"cuda": 1 << 28, "cpu": 1 << 24}
"""Attention scores of one pass of a test."""
DRAWERS = 2
"""Processes that draw the data of one stack."""
NARROW_TOKENS = 1 << 20
"""Tokens of one pass of a test."""


@dataclass(frozen=True)
class Kind:
    """How cells, or their probes, are trained and measured."""

    name: str
    longest: int
    """The longest training length."""
    seeds: tuple[int, ...]
    needed: int
    ladder: tuple[lw.experiments.blind.ladder.Rung, ...]
    bins: tuple[tuple[int, int], ...]
    always: bool
    """Whether the lengths beyond training are measured at the last rung, too, where too few seeds fit."""


def kind_of(name: str, steps: int | None = None) -> Kind:
    """Cells or probes; with ``steps``, of so many steps a rung, to try it."""
    ladder = lw.experiments.blind.ladder.LADDER if name == "cell" else lw.forecast.probe.SETTINGS.ladder[:PROBE_RUNGS]
    if steps is not None:
        ladder = tuple(dataclasses.replace(rung, steps=steps) for rung in ladder)
    if name == "cell":
        return Kind(
            name,
            lw.experiments.blind.ladder.TRAINED[1],
            SEEDS,
            lw.experiments.blind.run.NEEDED,
            ladder,
            lw.experiments.blind.ladder.BINS,
            True,
        )
    half = lw.experiments.blind.ladder.TRAINED[1] // 2
    middle = (half + lw.experiments.blind.ladder.TRAINED[1]) // 2
    bins = ((half + 1, middle), (middle + 1, lw.experiments.blind.ladder.TRAINED[1]))
    return Kind(name, half, lw.forecast.probe.SETTINGS.seeds, lw.forecast.probe.SETTINGS.needed, ladder, bins, False)


@lru_cache(maxsize=512)
def task_of(language: str, alphabet: str, format: Any) -> lw.tasks.language.Language:
    """The task of a cell."""
    return lw.tasks.language.Language(language=language, alphabet=alphabet, ask=format)


def task_in(cell: dict[str, Any]) -> lw.tasks.language.Language:
    """The task of a cell."""
    return task_of(cell["language"], cell["alphabet"], cell["format"])


def scheme_of(cell: dict[str, Any], kind: Kind) -> lw.schemes.PositionScheme:
    """Position ids: those of the ladder, or modulo m."""
    if cell["modulo"]:
        return lw.schemes.SCHEMES.build({"name": "modulo", "m": cell["modulo"]})
    if kind.name == "probe":
        return lw.forecast.probe.ProbeCell(task_in(cell), cell["encoding"], lw.experiments.blind.ladder.TRAINED[1]).ids
    return lw.experiments.blind.ladder.position_scheme(task_in(cell), cell["encoding"])


def setup_of(cell: dict[str, Any], kind: Kind, rung: lw.experiments.blind.ladder.Rung) -> lw.training.data.TaskSetup:
    """Model and data of a cell at a rung."""

    if kind.name == "probe":
        return lw.forecast.probe.ProbeCell(
            task_in(cell), cell["encoding"], lw.experiments.blind.ladder.TRAINED[1], scheme_of(cell, kind)
        ).setup(rung)
    encoding = cell["encoding"]
    return lw.training.data.TaskSetup(
        task_in(cell),
        scheme_of(cell, kind),
        lw.experiments.blind.ladder.encoding_spec(rung, encoding),
        lw.experiments.blind.ladder.model_config(rung, encoding),
    )


def training_of(kind: Kind, rung: lw.experiments.blind.ladder.Rung) -> lw.TrainingConfig:
    """The training of a rung, up to the longest training length."""
    every = min(500, rung.steps)
    return dataclasses.replace(
        lw.experiments.blind.ladder.training_config(rung), max_length=kind.longest, probe_every=every
    )


def shape_of(cell: dict[str, Any]) -> tuple[Any, ...]:
    """Cells with the same shape can train as one stack."""
    task = task_in(cell)
    return (
        cell["encoding"],
        cell["modulo"],
        cell["format"],
        len(task.vocab),
        tuple(task.lengths(*lw.experiments.blind.ladder.TRAINED)),
    )


# Test words.

Words = dict[str, dict[int, list[np.ndarray | None]]]
"""By set, such as ``51-100 uniform``, and length: symbol numbers ``[words, length]`` of each cell; None: none."""


def words_of(cells: Sequence[dict[str, Any]], kind: Kind, *, long: bool) -> Words:
    """The words on which cells are measured: at the training lengths, or beyond."""
    found: Words = {}
    for place, cell in enumerate(cells):
        task, name = task_in(cell), cell["name"]
        sets: dict[str, Any] = {}
        if kind.name == "probe":
            if long:
                for low, high in kind.bins:
                    sets[f"{low}-{high} uniform"] = lw.experiments.blind.ladder.uniform_batches(
                        task, "forecast test", low, high, lw.forecast.probe.SETTINGS.test_words
                    )
            else:
                sets["fit"] = lw.experiments.blind.ladder.uniform_batches(
                    task,
                    "forecast fit",
                    lw.experiments.blind.ladder.TRAINED[0],
                    kind.longest,
                    lw.forecast.probe.SETTINGS.fit_words,
                    every=True,
                )
        elif long:
            for low, high in kind.bins:
                sets[f"{low}-{high} uniform"] = lw.experiments.blind.ladder.uniform_batches(
                    task, name, low, high, lw.experiments.blind.ladder.SIZE
                )
                sets[f"{low}-{high} adversarial"] = lw.experiments.blind.ladder.adversarial_batches(
                    task, name, low, high, lw.experiments.blind.ladder.SIZE
                )
        else:
            sets["fit"] = lw.experiments.blind.ladder.uniform_batches(
                task,
                f"fit {name}",
                *lw.experiments.blind.ladder.TRAINED,
                lw.experiments.blind.run.FIT_WORDS,
                every=True,
            )
            sets["early"] = lw.experiments.blind.ladder.uniform_batches(
                task,
                f"probe {name}",
                *lw.experiments.blind.ladder.TRAINED,
                lw.experiments.blind.run.PROBE_WORDS,
                every=True,
            )
        for key, batches in sets.items():
            for batch in batches:
                length = batch.layout.length
                own = (batch.input_ids[:, 1 : length + 1] - FIRST_SYMBOL).astype(np.int8)
                each = found.setdefault(key, {}).setdefault(length, [None] * len(cells))
                before = each[place]
                each[place] = own if before is None else np.concatenate([before, own])
    return found


FIRST_SYMBOL = task_of("(a|b)*", "ab", "next").vocab["a"]


def rates(
    stack: LanguageStack,
    schemes: Sequence[lw.schemes.PositionScheme],
    trainer: Any,
    words: dict[int, list[np.ndarray | None]],
    what: str,
) -> dict[int, dict[str, list[int]]]:  # fmt: skip
    """For each run, by length, right words and all words."""

    runs = [trainer.states[index].run.seed for index in trainer.members]
    found: dict[int, dict[str, list[int]]] = {run: {} for run in runs}
    model, device = trainer.stack.model.eval(), trainer.device
    heads = stack.model.heads
    for length, of_cells in sorted(words.items()):
        rows = max(len(own) for own in of_cells if own is not None)
        here = [own for own in of_cells if own is not None]
        # Cells without such words get words of another one, which are not counted.
        filled = np.stack([np.resize(here[0] if own is None else own, (rows, length)) for own in of_cells])
        filled = filled.astype(np.int64)
        if any(own is None for own in of_cells):
            symbols = np.array([len(task.automaton().alphabet) for task in stack.tasks])
            filled = np.minimum(filled, symbols[:, None, None] - 1)
        chunk = max(
            1, min(SCORES_AT_A_TIME[device] // (len(runs) * heads * length**2), NARROW_TOKENS // (len(runs) * length))
        )
        ids = {
            seed: schemes[0].assign(
                np.broadcast_to(np.arange(length + extra(stack))[None, :, None], (rows, length + extra(stack), 1)),
                stack.tasks[0].levels,
                lw.stream(seed, "third", "ids", what, length),
            )
            for seed in sorted({run % lw.forecast.probe.STRIDE for run in runs})
        }
        own_cell = np.array([run // lw.forecast.probe.STRIDE for run in runs])
        for start in range(0, rows, chunk):
            part = slice(start, min(start + chunk, rows))
            inputs = stack.inputs(
                filled[own_cell, part], np.stack([ids[run % lw.forecast.probe.STRIDE][part] for run in runs]), own_cell
            )
            judged = lw.evaluation.accuracy.judge(model, inputs.to(device))
            right = judged.token.all(axis=1).reshape(len(runs), -1)
            for run, row in zip(runs, right, strict=True):
                own = of_cells[run // lw.forecast.probe.STRIDE]
                if own is not None:
                    count = found[run].setdefault(str(length), [0, 0])
                    inside = row[: max(0, len(own) - start)]
                    count[0] += int(inside.sum())
                    count[1] += len(inside)
    trainer.stack.model.train()
    return found


def extra(stack: LanguageStack) -> int:
    """Tokens of a string beside its symbols."""
    return 3 if stack.tasks[0].ask == "state" else 2


def summed(by_length: dict[str, list[int]]) -> dict[str, Any]:
    """Right and all words, with the counts of each length."""
    right, total = (sum(count[place] for count in by_length.values()) for place in (0, 1))
    return {"right": right, "n": total, "by_length": by_length}


# One rung of some cells.


@dataclass(frozen=True)
class Job:
    """Cells of one shape that train one rung together."""

    kind: str
    rung: int
    device: str
    cells: tuple[dict[str, Any], ...]
    graphs: bool = False


def train(job: Job, kind: Kind, ends: float, work: Path) -> dict[str, dict[str, Any]]:
    """The results of one rung by the cells' keys; raises `OutOfTimeError` where the time was too short."""

    began = time.perf_counter()
    rung, cells = kind.ladder[job.rung - 1], list(job.cells)
    stack = LanguageStack(tuple(setup_of(cell, kind, rung) for cell in cells), lw.forecast.probe.STRIDE)
    schemes = [setup.scheme for setup in stack.setups]
    config = training_of(kind, rung)
    runs = [place * lw.forecast.probe.STRIDE + seed for place in range(len(cells)) for seed in kind.seeds]
    last = job.rung == len(kind.ladder)
    seeds: dict[int, dict[str, Any]] = {}
    early: dict[int, float] = {}
    folder = None
    if job.device == "cpu":
        folder = work / f"{job.kind}-{cells[0]['key']}-rung{job.rung}"
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "early.json").exists():
            early = {int(run): rate for run, rate in lw.core.files.read_json(folder / "early.json").items()}
    measured: set[int] = set()
    with contextlib.ExitStack() as after:
        if job.device == "cpu":
            setup: Any = stack
            near, far = Now(words_of, cells, kind, long=False), Now(words_of, cells, kind, long=True)
        else:
            pool = after.enter_context(helpers(stack, config, runs, DRAWERS))
            setup = DrawnAhead(stack, config, runs, pool, DRAWERS)
            tests = after.enter_context(helpers(stack, config, runs, 1))
            near, far = (tests.submit(words_of, cells, kind, long=long) for long in (False, True))

        def on_step(step: int, _: float) -> None:
            if step == rung.steps // 2 and job.rung == 1 and kind.name == "cell":
                found = rates(stack, schemes, trainer, near.result()["early"], "early")
                early.update({run: summed(counts)["right"] / summed(counts)["n"] for run, counts in found.items()})
                if folder is not None:
                    lw.core.files.write_json(folder / "early.json", early)
            if step >= rung.steps:
                measure()
            elif time.time() > ends:
                if folder is not None:
                    trainer.suspend()
                raise lw.core.errors.OutOfTimeError(
                    f"at step {step} of {rung.steps}, {time.perf_counter() - began:.0f} s"
                )

        def measure() -> None:
            for run, counts in rates(stack, schemes, trainer, near.result()["fit"], "fit").items():
                fit = summed(counts)
                seeds[run] = {"fit": fit["right"] / fit["n"], "in_distribution": fit, "sets": {}}
            counted = {
                place: sum(
                    seeds.get(place * lw.forecast.probe.STRIDE + seed, {"fit": 0.0})["fit"]
                    >= lw.experiments.blind.run.FIT
                    for seed in kind.seeds
                )
                for place in range(len(cells))
            }
            measured.update(
                place for place, fitted in counted.items() if fitted >= kind.needed or (last and kind.always)
            )
            if not measured:
                return
            evaluated = [scheme.for_evaluation() for scheme in schemes]
            for key, words in far.result().items():
                bounds, name = key.split(" ")
                for run, counts in rates(stack, evaluated, trainer, words, key).items():
                    if run // lw.forecast.probe.STRIDE in measured and counts:
                        seeds[run]["sets"].setdefault(bounds, {})[name] = summed(counts)

        maker = lw.training.trainer.Trainer
        if job.graphs:
            from graphed_steps import GraphedTrainer as maker
        torch_device = "cuda" if job.device == "cuda" else "cpu"
        trainer = maker(setup, config, runs, folder=folder, device=torch_device, on_step=on_step)
        trainer.run()
    seconds = time.perf_counter() - began
    found = {}
    for place, cell in enumerate(cells):
        own = []
        for seed in kind.seeds:
            values = seeds.get(
                place * lw.forecast.probe.STRIDE + seed, {"fit": None, "in_distribution": None, "sets": {}}
            )
            fitted = values["fit"] is not None and values["fit"] >= lw.experiments.blind.run.FIT
            half = {} if not early else {"early": early.get(place * lw.forecast.probe.STRIDE + seed)}
            own.append({"seed": seed, "fitted": fitted, **half, **values})
        fitted = sum(seed["fitted"] for seed in own)
        found[cell["key"]] = {
            "kind": job.kind,
            "key": cell["key"],
            "name": cell["name"],
            "format": cell["format"],
            "system": cell["system"],
            "rung": job.rung,
            "settings": lw.core.config.fields_of(rung),
            "fitted": fitted,
            "speaks": fitted >= kind.needed,
            "measured": place in measured,
            "seeds": own,
            "together": len(cells),
            "graphs": job.graphs,
            "seconds": round(seconds / len(cells), 1),
            **lw.experiments.provenance.provenance("cuda" if job.device == "cuda" else "cpu"),
        }
    return found


class Now:
    """A result that is computed when it is asked for."""

    def __init__(self, of: Any, *values: Any, **named: Any) -> None:
        self.of, self.values, self.named = of, values, named
        self.found: Any = None

    def result(self) -> Any:
        """The result."""
        if self.found is None:
            self.found = self.of(*self.values, **self.named)
        return self.found


@contextlib.contextmanager
def helpers(setup: Any, config: lw.TrainingConfig, runs: Sequence[int], count: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that draw data."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["lengthwise.training.trainer", "lengthwise.experiments.blind.ladder"])
    pool = ProcessPoolExecutor(count, context, _begin_drawing, (setup, config, list(runs)))
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


# Which rung is next.


def result_path(out: Path, kind: str, key: str, rung: int) -> Path:
    """Where a result is."""
    return out / f"{kind}s" / f"{key}-rung{rung}.json"


class Plan:
    """What is done, what is being trained, and what is next."""

    def __init__(self, cells: Sequence[dict[str, Any]], out: Path, kinds: dict[str, Kind], *, grouped: bool) -> None:
        self.cells, self.out, self.kinds, self.grouped = list(cells), out, kinds, grouped
        self.busy: set[tuple[str, str]] = set()
        self.given_up: set[tuple[str, str]] = set()
        self.known: dict[tuple[str, str, int], int] = {}
        """Fitted seeds."""
        for cell in cells:
            for name, kind in kinds.items():
                for rung in range(1, len(kind.ladder) + 1):
                    path = result_path(out, name, cell["key"], rung)
                    if path.exists():
                        self.known[name, cell["key"], rung] = int(lw.core.files.read_json(path)["fitted"])

    def next_rung(self, name: str, key: str) -> int | None:
        """The rung that a cell has to train next; None if it is done."""
        kind = self.kinds[name]
        for rung in range(1, len(kind.ladder) + 1):
            fitted = self.known.get((name, key, rung))
            if fitted is None:
                return rung
            if fitted >= kind.needed:
                return None
        return None

    def take(self, device: str) -> Job | None:
        """The next job of a worker; None if nothing can start now."""
        for name, rung in STAGES:
            groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
            for cell in self.cells:
                mine = (name, cell["key"])
                if name in self.kinds and mine not in self.busy | self.given_up and self.next_rung(*mine) == rung:
                    groups.setdefault(shape_of(cell) if self.grouped else mine, []).append(cell)
            if groups:
                # Ids modulo m come last: they are a table of their own.
                chosen = max(groups.values(), key=lambda group: (not group[0]["modulo"], len(group)))
                self.busy |= {(name, cell["key"]) for cell in chosen}
                return Job(name, rung, device, tuple(chosen))
        return None

    def ended(self, job: Job, fitted: dict[str, int] | None) -> None:
        """A job has ended; without ``fitted`` it has no results."""
        for cell in job.cells:
            self.busy.discard((job.kind, cell["key"]))
            if fitted is None:
                self.given_up.add((job.kind, cell["key"]))
            else:
                self.known[job.kind, cell["key"], job.rung] = fitted[cell["key"]]

    def again(self, job: Job) -> None:
        """Let a job be taken again."""
        self.busy -= {(job.kind, cell["key"]) for cell in job.cells}

    def left(self) -> int:
        """Cells and probes that are not done."""
        return sum(self.next_rung(name, cell["key"]) is not None for cell in self.cells for name in self.kinds)


def work(pipe: Any, out: Path, checkpoints: Path, ends: float, steps: int | None) -> None:
    """Take jobs from ``pipe`` until there are none."""
    import torch

    torch.set_num_threads(1)
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            job: Job | None = pipe.recv()
            if job is None:
                return
            what = (
                f"{job.kind} rung {job.rung}, {len(job.cells)} cells, {job.cells[0]['system']} {job.cells[0]['format']}"
            )
            began = time.time()
            try:
                found = train(job, kind_of(job.kind, steps), ends, checkpoints)
            except lw.core.errors.OutOfTimeError as error:
                pipe.send((None, f"{what}: out of time {error}", False))
                continue
            except Exception:
                # What went wrong on a GPU may have broken it for this process.
                pipe.send((None, f"{what} failed: {traceback.format_exc()}", True))
                return
            for key, values in found.items():
                lw.core.files.write_json(result_path(out, job.kind, key, job.rung), values, dense=True)
            if job.device == "cpu":
                shutil.rmtree(checkpoints / f"{job.kind}-{job.cells[0]['key']}-rung{job.rung}", ignore_errors=True)
            fitted = {key: values["fitted"] for key, values in found.items()}
            carried = sum(values["speaks"] for values in found.values())
            pipe.send((fitted, f"{what}: {carried} of {len(found)} fit; {time.time() - began:.0f} s", False))


def run(
    cells: Sequence[dict[str, Any]], out: Path, checkpoints: Path, *, device: str, jobs: int, ends: float,
    steps: int | None = None, check: GraphCheck | None = None, kinds: Sequence[str] = KINDS,
) -> None:  # fmt: skip
    """Train what is missing with so many worker processes, until ``ends`` (seconds of the clock)."""
    for name in kinds:
        (out / f"{name}s").mkdir(parents=True, exist_ok=True)
    plan = Plan(cells, out, {name: kind_of(name, steps) for name in kinds}, grouped=device != "cpu")
    began = time.time()
    print(f"{plan.left()} of {len(cells) * len(kinds)} cells and probes to do, {jobs} workers on {device}", flush=True)
    context = multiprocessing.get_context("spawn")
    workers: dict[Any, tuple[Any, Job | None]] = {}

    def start() -> None:
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, out, checkpoints, ends, steps))
        process.start()
        theirs.close()
        workers[ours] = process, None

    def lost(job: Job) -> None:
        """A worker has ended; where steps were captured, its cells are trained again by eager ones."""
        if job.graphs and check is not None:
            check.found = []
            plan.again(job)
        else:
            plan.ended(job, None)
        if time.time() < ends:
            start()

    for _ in range(jobs):
        start()
    try:
        while workers and time.time() < ends + 60:
            for pipe, (process, job) in list(workers.items()):
                if job is None and time.time() < ends and (new := plan.take(device)) is not None:
                    new = dataclasses.replace(new, graphs=check is not None and check.works())
                    pipe.send(new)
                    workers[pipe] = process, new
            if all(job is None for _, job in workers.values()):
                break
            for ready in wait(list(workers), timeout=5):
                process, job = workers[ready]  # type: ignore[index]
                if job is None:  # it ended while it had nothing to do
                    del workers[ready]  # type: ignore[arg-type]
                    continue
                try:
                    fitted, text, failed = ready.recv()  # type: ignore[union-attr]
                except EOFError:
                    fitted, text, failed = None, f"a worker ended: {job.kind} rung {job.rung}", True
                if failed:
                    print(f"{time.time() - began:5.0f} s  {text}", flush=True)
                    process.join(5)
                    del workers[ready]  # type: ignore[arg-type]
                    lost(job)
                    continue
                plan.ended(job, fitted)
                workers[ready] = process, None  # type: ignore[index]
                print(f"{time.time() - began:5.0f} s  {text}", flush=True)
    finally:
        for process, _ in workers.values():
            process.terminate()
        if check is not None:
            check.end()
    print(f"{plan.left()} cells and probes left after {time.time() - began:.0f} s", flush=True)


# Whether captured steps work here.


def compare_graphs(pipe: Any, cells: Sequence[dict[str, Any]]) -> None:
    """Send milliseconds of an eager and a captured step; nothing if they differ."""
    import torch
    from graphed_steps import GraphedTrainer

    torch.set_num_threads(1)
    kind = kind_of("cell")
    rung, config = kind.ladder[0], training_of(kind, kind.ladder[0])
    stack = LanguageStack(tuple(setup_of(cell, kind, rung) for cell in cells), lw.forecast.probe.STRIDE)
    runs = [place * lw.forecast.probe.STRIDE + seed for place in range(len(cells)) for seed in kind.seeds]
    eager, captured = (
        maker(stack, config, runs, device="cuda") for maker in (lw.training.trainer.Trainer, GraphedTrainer)
    )
    steps = [stack.groups(config, runs, step) for step in range(4)]
    seconds = []
    for trainer in (eager, captured):
        trainer.groups = lambda step: steps[step % 4]  # type: ignore[method-assign]
    for step in range(12):
        ours, theirs = captured.step(step), eager.step(step)
        if not torch.allclose(ours, theirs, rtol=5e-3, atol=5e-4):
            raise ValueError(f"captured steps differ at step {step}")
    for trainer in (eager, captured):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for step in range(20):
            trainer.step(step)
        torch.cuda.synchronize()
        seconds.append(1000 * (time.perf_counter() - began) / 20)
    began = time.perf_counter()
    for step in range(20):
        stack.groups(config, runs, step)
    seconds.append(1000 * (time.perf_counter() - began) / 20)
    pipe.send(seconds)


class GraphCheck:
    """Whether captured steps equal eager ones here, found by a process of its own while the first jobs train."""

    def __init__(self, cells: Sequence[dict[str, Any]]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=compare_graphs, args=(theirs, cells))
        self.process.start()
        theirs.close()
        self.found: list[float] | None = None

    def works(self) -> bool:
        """Whether it is known by now that they are equal, and not much slower."""
        if self.found is None and self.pipe.poll(0):
            self.found = []
            with contextlib.suppress(EOFError):
                self.found = self.pipe.recv()
            rounded = [round(ms, 1) for ms in self.found]
            print(f"ms of a step, eager, captured, and of drawing it: {rounded or 'captured steps fail'}", flush=True)
        return bool(self.found) and self.found[1] < 1.2 * self.found[0]

    def end(self) -> None:
        """End the process."""
        self.process.terminate()


def preregistered_cells() -> list[dict[str, Any]]:
    """The cells in the order of the preregistration."""
    return list(lw.core.files.read_json(PREREGISTRATION, what="preregistration")["content"]["cells"])


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS / "third", help="folder of the results")
    parser.add_argument("--work", type=Path, default=ROOT / "work" / "third", help="folder of checkpoints")
    parser.add_argument("--minutes", type=float, required=True, help="when to stop; the same command goes on")
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda", "auto", "together"),
        default="cpu",
        help="together: as on a GPU, but on the processor, to try it",
    )
    parser.add_argument("--jobs", type=int, help="worker processes; default: half of the cores on a GPU, else one")
    parser.add_argument("--steps", type=int, help="steps of every rung, to try it elsewhere than in the study's folder")
    parser.add_argument("--most", type=int, help="so many cells, to try it")
    parser.add_argument("--only", default="", help="a regular expression that the key of a cell must match")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--graphs", choices=("auto", "no"), default="auto")
    given = parser.parse_args(arguments)
    if given.steps and given.out == RESULTS / "third":
        parser.error("other steps than the preregistered ones need a folder of their own (--out)")
    ends = time.time() + 60 * given.minutes
    os.environ["OMP_NUM_THREADS"] = "1"
    cells = [cell for cell in preregistered_cells() if re.search(given.only, cell["key"])][: given.most]
    device, check = given.device, None
    if device == "auto":
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and given.graphs == "auto":
        first = max(
            ([cell for cell in cells if shape_of(cell) == shape] for shape in {shape_of(cell) for cell in cells}),
            key=len,
        )
        check = GraphCheck(first)
    cores = os.cpu_count() or 1
    jobs = given.jobs or (max(1, cores // 2) if device == "cuda" else 1)
    run(
        cells, given.out, given.work, device=device, jobs=jobs, ends=ends, steps=given.steps, check=check,
        kinds=given.kinds.split(","),
    )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
