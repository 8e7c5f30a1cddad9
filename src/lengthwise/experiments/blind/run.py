"""Running a study: every cell climbs the same ladder until four of five seeds fit; no finished rung runs twice."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lengthwise.core.errors import BusyError
from lengthwise.core.files import locked, slug
from lengthwise.experiments.blind.cells import cell_path, list_cells, read_cell, write_cell
from lengthwise.experiments.blind.ladder import BINS, TRAINED, position_scheme
from lengthwise.experiments.blind.measure import measure
from lengthwise.experiments.blind.study import BlindStudy, StudyEntry
from lengthwise.experiments.blind.training import TrainedSeed, train_rung
from lengthwise.experiments.blind.words import SIZE, adversarial_batches, uniform_batches
from lengthwise.experiments.provenance import provenance

FIT_WORDS, PROBE_WORDS = 2000, 200
FIT = 0.995
"""Share of the words of the training lengths that a fitted seed gets right, every prefix of them."""
NEEDED = 4
"""Fitted seeds with which a rung speaks for its cell."""

Note = Callable[[str], None]
"""Called with one line about what is going on."""
CellRunner = Callable[[BlindStudy, str, Sequence[tuple[StudyEntry, str]], Path, Note], None]
"""Runs cells of a table; called with the folder for work that is not finished, too."""


def run_study(
    study: BlindStudy,
    table: str,
    work: Path,
    *,
    encodings: Sequence[str] | None = None,
    note: Note = lambda line: None,
    on_step: Callable[[int, float], None] | None = None,
    runner: CellRunner | None = None,
) -> None:
    """Run what is missing of one table, cell by cell; ``work`` holds the checkpoints of the rungs that are at work.

    Processes that run the same study share it: each passes over the cells at which another one is at work. A
    ``runner`` computes the cells somewhere else, and leaves their result files in the study; it has the study for
    itself and raises `BusyError` otherwise.
    """
    wanted = list(encodings or study.encodings)
    cells = [(entry, encoding) for entry in study.entries(table) for encoding in wanted]
    work.mkdir(parents=True, exist_ok=True)
    if runner is not None:
        with locked(work):
            runner(study, table, cells, work, note)
        for entry, encoding in cells:
            list_cells(study, [cell_path(study, table, entry.name, encoding, r + 1) for r in range(len(study.ladder))])
        return
    for index, (entry, encoding) in enumerate(cells, start=1):
        at = f"[{index}/{len(cells)}] "
        with ExitStack() as claim:
            try:
                claim.enter_context(locked(work, f"{slug(entry.name)}-{encoding}.lock"))
            except BusyError:
                note(f"{at}{entry.name}, {encoding}: another process is at work on it")
                continue
            run_cell(study, table, entry, encoding, work, lambda line, at=at: note(at + line), on_step)


def run_cell(
    study: BlindStudy,
    table: str,
    entry: StudyEntry,
    encoding: str,
    work: Path,
    note: Note = lambda line: None,
    on_step: Callable[[int, float], None] | None = None,
    *,
    listed: bool = True,
) -> None:
    """Climb the ladder with one cell: stop at the first rung at which enough seeds fit, or at the last."""
    for number in range(1, len(study.ladder) + 1):
        path = cell_path(study, table, entry.name, encoding, number)
        result = read_cell(study, path)
        if result is None:
            note(f"{entry.name} ({entry.expression}), {encoding}, rung {number}")
            result = run_rung(study, entry, encoding, number, work, on_step)
            write_cell(study, path, result, listed=listed)
            shutil.rmtree(work_folder(work, entry, encoding, number), ignore_errors=True)
            note(f"{entry.name}, {encoding}, rung {number}: {fits(result)}, {result['seconds']} s")
        if result["speaks"]:
            break


def run_rung(
    study: BlindStudy,
    entry: StudyEntry,
    encoding: str,
    number: int,
    work: Path,
    on_step: Callable[[int, float], None] | None = None,
) -> dict[str, Any]:
    """Train all seeds of one rung (from 1) and measure them.

    Long lengths are measured only where the rung speaks for the cell, and at the last rung.
    """
    rung, task = study.ladder[number - 1], entry.task
    scheme = position_scheme(task, encoding)
    probe_words = list(uniform_batches(task, f"probe {entry.name}", *TRAINED, PROBE_WORDS, every=True))

    def probe(model: Any, seed: int) -> float:
        found = measure(model, scheme, probe_words, seed)
        return found["right"] / found["n"]

    started = time.perf_counter()
    trained = train_rung(
        task, encoding, rung, study.seeds, work_folder(work, entry, encoding, number), probe=probe, on_step=on_step
    )
    fit_words = list(uniform_batches(task, f"fit {entry.name}", *TRAINED, FIT_WORDS, every=True))
    seeds = [_in_distribution(seed, measure(seed.model, scheme, fit_words, seed.seed) if seed.model else None)
             for seed in trained]  # fmt: skip
    fitted = sum(seed["fitted"] for seed in seeds)
    speaks = fitted >= NEEDED
    measured = speaks or number == len(study.ladder)
    if measured:
        _measure_long(entry, scheme, trained, seeds)
    return {
        "name": entry.name,
        "expression": entry.expression,
        "encoding": encoding,
        "rung": number,
        "settings": rung.to_json(),
        "fitted": fitted,
        "speaks": speaks,
        "measured": measured,
        "seeds": seeds,
        "seconds": round(sum(seed.seconds for seed in trained), 1),
        "seconds_this_process": round(time.perf_counter() - started, 1),
        **provenance("cpu"),
    }


def fits(result: dict[str, Any]) -> str:
    """The fitted seeds of a result in words."""
    rates = ["diverged" if seed["fit"] is None else f"{seed['fit']:.4f}" for seed in result["seeds"]]
    return f"{result['fitted']} of {len(rates)} seeds fitted ({', '.join(rates)})"


def work_folder(work: Path, entry: StudyEntry, encoding: str, number: int) -> Path:
    """Where the checkpoint of a rung at work is."""
    return work / f"{slug(entry.name)}-{encoding}-rung{number}"


def _in_distribution(seed: TrainedSeed, found: dict[str, Any] | None) -> dict[str, Any]:
    fit = None if found is None else found["right"] / found["n"]
    return {
        "seed": seed.seed,
        "fit": fit,
        "fitted": fit is not None and fit >= FIT,
        "in_distribution": found,
        "fit_by_step": seed.fit_by_step,
        "sets": {},
    }


def _measure_long(entry: StudyEntry, scheme: Any, trained: Sequence[TrainedSeed], seeds: list[dict[str, Any]]) -> None:
    """Add the long lengths to every seed: by bin, uniform words and, where there are pairs, adversarial ones."""
    for low, high in BINS:
        words = {
            "uniform": list(uniform_batches(entry.task, entry.name, low, high, SIZE)),
            "adversarial": list(adversarial_batches(entry.task, entry.name, low, high, SIZE)),
        }
        for seed, values in zip(trained, seeds, strict=True):
            for name, batches in words.items():
                if seed.model is not None and batches:
                    found = measure(seed.model, scheme.for_evaluation(), batches, seed.seed)
                    values["sets"].setdefault(f"{low}-{high}", {})[name] = found
