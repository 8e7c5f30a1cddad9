"""Train on purpose to find out: `compare` ranks position systems, `verify` holds theory against the frozen ladder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lengthwise.api.cluster import HERE, Cluster
from lengthwise.api.components import changed_task
from lengthwise.api.components import task as build_task
from lengthwise.api.result import COMPARISON, Accuracy, Measured, Result
from lengthwise.core import config as arguments
from lengthwise.core.config import digest, fields_of
from lengthwise.core.errors import LengthwiseError, UnknownNameError, spelled
from lengthwise.core.files import locked, make_folder, remove_unfinished, write_json, write_text
from lengthwise.core.table import NEXT, Table, Tabular
from lengthwise.experiments.blind.study import CUT, cell_row, frozen_study, is_right, listed, write_study
from lengthwise.experiments.events import Event
from lengthwise.positions.schemes import PositionScheme, Sequential
from lengthwise.positions.system import PositionSystem, position_systems
from lengthwise.prediction.predict import predict_task, structure_row
from lengthwise.prediction.target import task_named
from lengthwise.prediction.verdict import SHOWN, SPARSE_IF, Prediction
from lengthwise.report.pages import comparison_finding, comparison_table, outcome_of, what_next
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.language import Language
from lengthwise.testing.own_tasks import refuse_broken

if TYPE_CHECKING:
    from lengthwise.experiments.compare import Budget, Plan
    from lengthwise.report.summary import SystemSummary

RESULT, PICTURE, PAGE = COMPARISON, "comparison.svg", "comparison.html"


class InterruptedComparison(KeyboardInterrupt):
    """Ctrl-C in a comparison whose trainings have begun, with what is known so far."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        super().__init__()


class Comparison(Measured):
    """The position systems of one task, ranked by how far they go; ``values`` are the contents of comparison.json."""

    def __init__(self, values: dict[str, Any], folder: Path) -> None:
        self.values, self.folder = values, folder

    @property
    def page(self) -> Path:
        """The page, with picture, table and settings."""
        return self.folder / PAGE

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per system, best first."""
        return self.values["systems"]

    def table(self) -> Table:
        """The finding, and one row per system, best first; what is next and what a *yes* presupposes is advice."""
        made = comparison_table(self.values)
        conditions = [f"theory's {row['verdict']} for {row['system']}, on the condition: {row['condition']}"
                      for row in self.rows if row.get("condition")]  # fmt: skip
        given = ", ".join(f"{name}={to!r}" for name, to in (self.values["next_options"] or {}).items())
        advice = (f"{NEXT}: {self.values['next']}" + f" ({given})" * bool(given), *made.advice, *conditions)
        return replace(made, caption=comparison_finding(self.values), advice=advice)

    @property
    def accuracy(self) -> Accuracy:
        """Accuracy against length of all systems, best first."""
        return Accuracy(summaries(self.folder, self.rows), "exact_match", [self.values["selection"]])

    @property
    def _curves(self) -> Accuracy:
        return self.accuracy

    def setting(self, system: str | None = None) -> dict[str, Any]:
        """The arguments for `Experiment` that train a system again, by default the best one.

        Raises `UnknownNameError` for a system without a setting.
        """
        known = {row["system"]: row["copy"] for row in self.rows if row["copy"] is not None}
        wanted = next(iter(known), "the best") if system is None else arguments.text("system", system)
        if wanted not in known:
            raise UnknownNameError("system of this comparison", wanted, known)
        return known[wanted]


def compare(
    task: str | Task | dict[str, Any],
    systems: Sequence[str] = (),
    *,
    budget: float | str = "10m",
    seeds: int = 3,
    jobs: int = 1,
    max_length: int = 6,
    test_lengths: Sequence[int] | None = None,
    models: bool = False,
    changes: Sequence[str] = (),
    out: str | Path | None = None,
    on: Cluster = HERE,
    progress: Callable[[Event], None] = lambda event: None,
) -> Comparison:
    """Train every sensible position system on a task within a budget, and rank them by how far they go.

    All systems get the same number of training steps, which the budget decides, and the same small grid of settings,
    of which the fit on training lengths chooses. The same call goes on where the budget ended.

    Arguments:
        task: as of `lengthwise.task`.
        systems: names such as ``"coupled"``, ``"rope"`` or ``"pose+rope"``; by default about eight, ``["all"]`` takes
            every sensible one.
        budget: time for everything, such as ``"90s"``, ``"10m"`` or ``"1h"``.
        seeds: seeds of every system; one at first, if the budget gives so many too few steps. The same call adds them.
        jobs: seeds at the same time, a process each.
        max_length: the longest training length, in the task's unit.
        test_lengths: the lengths to measure, by default 1, 1.5, 2, 3, 4, 6 and 8 times as long.
        models: compare architectures, too: LSTM, state space models, delta rules and hybrids beside attention, with
            equally many parameters within 10 %. Systems may name mixers, such as ``"lstm"`` or
            ``"mamba+attention@rope"``, without it.
        changes: settings of the task, such as ``"task.letters=16"``.
        out: the folder for results, by default one in ``runs/compare``.
        on: a Ray cluster, instead of this machine.
        progress: called with every `Event`.

    Returns: the ranking; ``comparison.json``, ``.svg`` and ``.html`` are in its ``folder``.

    Raises: `LengthwiseError` for unknown names and budgets that are too small; on Ctrl-C, once trainings have begun,
        a ``KeyboardInterrupt`` whose ``comparison`` is what is known so far.
    """
    from lengthwise.experiments.compare import Budget, begun, run_comparison

    built = changed_task(build_task(task), changes)
    refuse_broken(built)
    folder = own_folder(built) if out is None else arguments.path("out", out)
    given = Budget(
        arguments.seconds("budget", budget), arguments.whole("jobs", jobs, 1), arguments.whole("seeds", seeds, 1)
    )
    longest = arguments.whole("max_length", max_length, 1)
    names = arguments.names("systems", systems)
    try:
        plan = run_comparison(
            built,
            folder,
            systems=names,
            budget=given,
            max_length=longest,
            test_lengths=None if test_lengths is None else arguments.whole_numbers("test_lengths", test_lengths),
            models=models,
            on=on.executor(folder),
            progress=progress,
        )
    except KeyboardInterrupt:
        plan = begun(folder)
        if plan is None:
            raise
        raise InterruptedComparison(gathered(built, plan, folder, given)) from None
    return gathered(built, plan, folder, given)


def own_folder(task: Task) -> Path:
    """Where comparisons of a task go: by its name, and by its file where a class of that name in another file has it.

    Raises `LengthwiseError` if the plan in the folder is damaged.
    """
    from lengthwise.experiments.compare import read_plan
    from lengthwise.experiments.defaults import folder_name

    folder, name = Path("runs") / "compare" / folder_name(task), TASKS.describe(task)["name"]
    held = read_plan(folder)
    other = folder.with_name(f"{folder.name}-{digest(name)[:6]}")
    return folder if held is None or held.task["name"] == name else other


def gathered(task: Task, plan: Plan, folder: Path, given: Budget) -> Comparison:
    """The comparison from the files of a folder, with the verdict and the structure of every system."""
    from lengthwise.core.rank import REACH
    from lengthwise.experiments.compare import MOST_STEPS, default_tests, free, ranked
    from lengthwise.experiments.defaults import MULTIPLES, STEPS
    from lengthwise.experiments.provenance import provenance
    from lengthwise.report.figures import draw_accuracy
    from lengthwise.report.pages import comparison_page

    rows = ranked(folder, plan)
    prediction, usual = predict_task(task), plan.tests == default_tests(task, plan.max_length)
    for row in rows:
        system = plan.system(row["system"])
        scheme = plan.experiment(system, plan.grid[0]).scheme
        row |= explained(prediction, system) | structure_under(prediction, task, scheme)
    values = {
        "task": plan.task,
        "name": task.name,
        "trained_to": plan.max_length,
        "tests": list(plan.tests),
        "tests_to": int(MULTIPLES[-1] * plan.max_length) if usual else plan.tests[-1],
        "usual_tests": usual,
        "reach_at": REACH,
        "steps": plan.steps,
        "default_steps": STEPS,
        "most_steps": MOST_STEPS,
        "seeds": plan.seeds,
        "seeds_wanted": given.seeds,
        "budget_seconds": plan.budget or given.seconds,
        "jobs": given.jobs,
        "grid": [fields_of(setting) for setting in plan.grid],
        "selection": plan.selection,
        "systems": rows,
        "equal": plan.equal,
        **provenance("cpu"),
    }
    systems = summaries(folder, rows)
    values["next"], options = what_next(values, systems)
    where = {"out": str(free(folder, options["out"]))} if options and "out" in options else {}
    values["next_options"] = options and {**options, **where}
    write_json(folder / RESULT, values)
    figure = draw_accuracy(systems, band="range")
    if figure is not None:
        write_text(folder / PICTURE, figure.svg())
    write_text(folder / PAGE, comparison_page(values, systems))
    return Comparison(values, folder)


def summaries(folder: Path, rows: Sequence[dict[str, Any]]) -> list[SystemSummary]:
    """The finished runs of the systems of a comparison, in the order of its rows."""
    if not any(row["seeds"] for row in rows):
        return []
    order = [row["system"] for row in rows]
    return sorted(Result.of([folder / "runs"]).systems, key=lambda system: order.index(system.name))


def explained(prediction: Prediction, system: PositionSystem) -> dict[str, Any]:
    """The verdict for a system and its reason; None where theory says nothing."""
    verdict = next((v for v in (*prediction.verdicts, *prediction.models) if v.system == system.known_as), None)
    if verdict is None:
        return {"verdict": None, "condition": "", "why": None}
    shown, condition = SPARSE_IF if verdict.unmet else SHOWN[verdict.answer], verdict.condition
    return {"verdict": shown, "condition": condition if verdict.answer == "yes" else "", "why": verdict.why}


def structure_under(prediction: Prediction, task: Task, scheme: PositionScheme) -> dict[str, Any]:
    """The sparsity and span under the ids of a scheme; None without parents, and without room for ids."""
    plain = "sequential" if isinstance(scheme.for_evaluation(), Sequential) else ""
    same = "coupled" if scheme.equals_places else plain
    row = next((row for row in prediction.structure if row.scheme == same), None)
    if row is None and prediction.structure:
        with suppress(LengthwiseError):
            row = structure_row(task, scheme)
    names = ("sparsity", "span", "structure_lengths")
    found = (None,) * 3 if row is None else map(list, (row.sparsity, row.span, row.lengths))
    return dict(zip(names, found, strict=True))


class Verification(Tabular):
    """Verdict against measurement: one row per encoding, and the page."""

    def __init__(self, target: str, rows: Sequence[dict[str, Any]], page: Path) -> None:
        self.target, self.rows, self.page = target, tuple(rows), page

    @property
    def agrees(self) -> bool | None:
        """Whether no decided row disagrees; None if none is decided."""
        decided = [row["right"] for row in self.rows if row["right"] is not None]
        return all(decided) if decided else None

    def table(self) -> Table:
        """One row per encoding: predicted, seeds that fitted, and whether the two agree."""
        rows = tuple(
            (
                row["encoding"], row["predicted"], row["rung"], row["status"], row["fitted"],
                outcome_of(row), row["reliability"],
            )
            for row in self.rows
        )  # fmt: skip
        columns = ("positions", "predicted", "rung", "status", "fitted", "prediction", "reliability")
        return Table(columns, rows, caption=self.target, sentences=("reliability",))


def verify(
    target: str,
    encodings: Sequence[str] = ("nope", "ape"),
    *,
    budget: float | str = "30m",
    jobs: int | None = None,
    out: str | Path | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Verification:
    """Decide what theory has on a target, train with the frozen ladder of the blind study, and compare the two.

    Training lengths, rungs, seeds and words are those of the blind study; a rung counts when four of five seeds fit.

    Arguments:
        target: a task, ``"FILE.py:Class"``, a published language or ``"regex:EXPRESSION"``.
        encodings: ``"nope"`` or ``"ape"``, or other names of the ladder.
        budget: time for training, such as ``"90s"``, ``"10m"`` or ``"1h"``; tests come on top. Where it ends within a
            rung whose models fit already, they are tested, and the row is *provisional*: it decides nothing. The same
            call goes on from there.
        jobs: rungs at the same time, by default as many as there are cores.
        out: the folder for results, by default one in ``runs/verify``.
        progress: called with a line now and then.

    Returns: a row per encoding; ``report.html`` is its ``page``.

    Raises: `LengthwiseError` for other targets, an unknown encoding, or a language without long words.
    """
    from lengthwise.experiments.blind.ladder import ENCODINGS
    from lengthwise.experiments.blind.run import provisional_row, run_within
    from lengthwise.prediction.reliability import measured_reliability, reliability_line
    from lengthwise.report.pages import verification_page
    from lengthwise.training.threads import cores

    seconds, encodings = arguments.seconds("budget", budget), arguments.names("encodings", encodings)
    encodings = [spelled(name, ENCODINGS) for name in encodings]
    for name in encodings:
        if name not in ENCODINGS:
            raise UnknownNameError("encoding of the frozen ladder", name, ENCODINGS)
    task = task_named(target, "verify")
    refuse_broken(task)
    folder = Path("runs") / "verify" / digest(target) if out is None else arguments.path("out", out)
    # The study of one target, as a file that another process can read.
    study = write_study(folder, listed(frozen_study(), {target: task}, ENCODINGS))
    verdicts = {name: predict_task(task, position_systems([name])).verdicts[0] for name in encodings}
    reasons = [f"{name}: theory says {verdict.answer}: {verdict.why}" for name, verdict in verdicts.items()]
    for reason in reasons:
        progress(reason)

    def note(event: Event) -> None:
        if event.text:
            progress(event.text)

    work = folder / "work"
    make_folder(work)
    with locked(work):
        for part in (folder, folder / "cells"):
            remove_unfinished(part)
        run_within(study, work, encodings, budget=seconds, jobs=jobs or cores(), progress=note)
    (entry,) = study.entries()
    rows = [cell_row(study, "languages", entry, encoding) for encoding in encodings]
    measured = measured_reliability()
    for row in rows:
        if row["status"] == "not run":
            row |= provisional_row(study, work, entry, row["encoding"])
        verdict = verdicts[row["encoding"]]
        line = reliability_line(measured, row["encoding"], row["predicted"], verdict.next_symbols)
        if isinstance(task, Language):
            # The study's own prediction is on membership; models predict next symbols.
            row["membership"], row["predicted"] = row["predicted"], verdict.answer
        outcome = is_right(row["predicted"], row["score"], CUT)
        so_far = row["status"] == "provisional"
        row["right"], row["provisional"] = (None, outcome) if so_far else (outcome, None)
        row["next_symbols"] = verdict.next_symbols
        row["reliability"] = line or "the blind study has no such verdict"
        progress(f"{row['encoding']}: {row['reliability']}")
    page = folder / "report.html"
    write_json(folder / "verification.json", {"target": target, "verdicts": reasons, "rows": rows})
    write_text(page, verification_page(rows, f"Verification of {target}", reasons))
    return Verification(target, rows, page)
