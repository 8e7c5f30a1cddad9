"""A comparison trains every system alike, chooses settings by training lengths, resumes, and says what is missing."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lengthwise as lw
from lengthwise.api.compare import compare
from lengthwise.cli.main import main
from lengthwise.core.errors import LengthwiseError, OutOfTimeError, TooSmallError, UnknownNameError
from lengthwise.core.files import write_json
from lengthwise.core.rank import reach
from lengthwise.core.result_file import write_sealed
from lengthwise.experiments import compare as comparing
from lengthwise.experiments.compare import (
    GRID,
    Budget,
    ModelSetting,
    Plan,
    default_tests,
    ranked,
    read_plan,
    run_comparison,
    steps_for,
    tuning_file,
)
from lengthwise.experiments.defaults import chosen_systems, coupled_system, sensible_systems, standard_systems
from lengthwise.experiments.events import Event
from lengthwise.experiments.run import check_ids
from lengthwise.experiments.run_directory import run_directory
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES
from lengthwise.positions.system import PositionSystem
from lengthwise.report.pages import comparison_finding, comparison_table, first_at
from lengthwise.tasks import TASKS
from tiny_comparison import make_comparisons_tiny

TINY = (ModelSetting(1, 1e-2, 0.0), ModelSetting(1, 1e-3, 0.0))

OWN_TASK = '''
from functools import cached_property
from lengthwise.core.config import config
from lengthwise.core.vocab import EOS, Vocab
from lengthwise.tasks.base import Task

@config
class Echo(Task):
    """One letter, and the same again."""
    summary = "echo"
    @cached_property
    def vocab(self): return Vocab.of("ab")
    def write(self, seq, layout, rng):
        x = rng.integers(2, size=(layout.length, seq.size)) + 4
        seq.bos()
        given = seq.givens(x)
        seq.sep()
        seq.predicted(x[0], parents=[given[0]])
        seq.eos()
    def answer(self, prompt):
        letters = prompt[1:-1]
        if not letters or prompt[-1] != "<sep>" or not set(letters) <= {"a", "b"}: raise ValueError("no prompt")
        return [prompt[1], EOS]
'''


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings of a few steps on the smallest models."""
    make_comparisons_tiny(monkeypatch, TINY)


def test_reach_ends_at_the_first_length_that_fails():
    assert reach({5: 1.0, 10: 0.96, 20: 0.94, 40: 1.0}) == 10
    assert reach({20: 0.95, 10: 0.95}) == 20
    assert reach({5: 0.9, 10: 1.0}) == 0
    assert reach({}) == 0


@pytest.mark.parametrize("task", ["addition", "sort", "retrieval", "majority"])
def test_every_sensible_system_can_give_ids_up_to_the_longest_test(task: str):
    built = TASKS.build(task)
    systems = sensible_systems(built)
    assert len(set(systems)) == len(systems)
    assert set(standard_systems(built)) <= set(systems)
    plan = Plan(TASKS.describe(built), systems, 4, default_tests(built, 4), 1, 10)
    for system in systems:
        check_ids(plan.experiment(system, GRID[0]), 0)


def test_ids_of_the_answer_are_given_only_where_they_give_nothing_away():
    assert coupled_system(TASKS.build("addition")) == PositionSystem("coupled", "learned")
    assert standard_systems(TASKS.build("addition"))[:2] == (
        PositionSystem("coupled", "local-bias-sink"),
        PositionSystem("coupled", "learned"),
    )
    assert coupled_system(TASKS.build("sort")) == PositionSystem("predictive-coupling", "learned")
    assert all(system.scheme != "coupled" for system in sensible_systems(TASKS.build("sort")))
    with pytest.raises(LengthwiseError, match="would give the answer of task 'sort' away"):
        chosen_systems(TASKS.build("sort"), ["coupled+rope"])


def test_all_systems_are_those_that_can_be_trained_as_they_are():
    names = [system.name for system in sensible_systems(TASKS.build("addition"))]
    assert {"coupled+learned", "abacus+learned", "pose+rope", "nope", "sequential+cope"} <= set(names)
    assert not {"sequential+yarn", "own-rule+learned", "abacus+rope", "sequential+layers"} & set(names)


def test_systems_by_short_names():
    task = TASKS.build("addition")
    found = chosen_systems(task, ["rope", "ape+rope"[4:], "pose", "learned", "coupled", "nope", "randomized+fire"])
    assert [system.name for system in found] == [
        "sequential+rope", "pose+rope", "random-start+learned", "coupled+learned", "nope", "randomized+fire",
    ]  # fmt: skip
    with pytest.raises(UnknownNameError, match="Did you mean 'rope'"):
        chosen_systems(task, ["rop"])


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if not ENCODINGS.get(name).uses_ids])
def test_an_encoding_that_does_not_see_ids_is_trained_under_no_scheme_that_gives_others(encoding: str):
    for scheme in set(SCHEMES) - {"sequential", "random-start"}:
        with pytest.raises(LengthwiseError, match="does not see ids"):
            chosen_systems(TASKS.build("addition"), [f"{scheme}+{encoding}"])
    for refused in (lw.Experiment, lambda task, scheme, encoding: lw.predict(task, encoding=encoding, scheme=scheme)):
        with pytest.raises(LengthwiseError, match="does not see ids"):
            refused("addition", "modulo", encoding)


def test_a_budget_decides_the_steps():
    assert steps_for(600.0, 1, 0.15) == int(comparing.SHARE * 600 / 0.15) // 50 * 50
    assert steps_for(600.0, 2, 0.15) == pytest.approx(2 * steps_for(600.0, 1, 0.15), abs=100)


def said(error: pytest.ExceptionInfo[LengthwiseError]) -> float:
    found = re.search(r"budget is too small, got \d+s: the smallest is (\d+)m, for \d+ steps of each", str(error.value))
    assert found
    return 60.0 * int(found[1])


def test_one_smallest_budget_is_said_and_it_suffices_however_slow_the_machine_becomes(tmp_path: Path):
    def smallest(budget: float, jobs: int = 2) -> comparing.Smallest:
        return comparing.Smallest(tmp_path / "smallest.json", f"this one, {jobs} jobs", budget, jobs)

    with pytest.raises(LengthwiseError) as refused:
        smallest(10.0).check({"a": 1.0}, comparing.SPARE)
    first = said(refused)
    assert first >= comparing.FEWEST_STEPS / (comparing.SHARE * 2)
    smallest(first).check({"a": 1.0}, comparing.SPARE)
    smallest(first).check({"a": 5.0}, comparing.SPARE)
    assert steps_for(first, 2, 5.0) == comparing.FEWEST_STEPS
    with pytest.raises(LengthwiseError) as again:
        smallest(first - 1).check({"a": 5.0}, comparing.SPARE)
    assert said(again) == first
    with pytest.raises(LengthwiseError) as other:
        smallest(first, jobs=1).check({"a": 5.0}, comparing.SPARE)
    assert said(other) > first


def test_a_budget_that_is_too_small_says_what_it_suffices_for(tmp_path: Path):
    """As many of the first systems as fit; the budget of two where not even two do."""
    alone = {"a": 0.5, "b": 0.5, "slow": 30.0, "c": 0.5}

    def instead(budget: float, given: dict[str, float] = alone) -> dict[str, Any]:
        """The way out, whose text names what it leaves out and promises no fit."""
        smallest = comparing.Smallest(tmp_path / f"{budget}.json", "this one", budget, 1)
        with pytest.raises(TooSmallError) as refused:
            smallest.check(given, comparing.SPARE)
        assert said(refused) > budget
        left = ", ".join(name for name in given if name not in refused.value.instead.get("systems", given))
        enough = f"enough to train all{' but ' * bool(left)}{left}, though no fit is promised: "
        assert enough in str(refused.value)
        return dict(refused.value.instead)

    assert instead(600.0) == {"systems": ["a", "b", "c"]}
    assert instead(360.0) == {"systems": ["a", "b"]}
    assert instead(60.0) == {"systems": ["a", "b"], "budget": "6m"}
    assert instead(61.0, {"a": 0.5}) == {"budget": "3m"}


def test_what_is_said_to_suffice_is_not_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its names are those of the same systems, and the next call knows what was said, however slow steps became."""
    task, times = TASKS.build("parity"), [[0.2, 9.0], [0.2, 9.0]]

    def timed(folder: Path, system: PositionSystem, progress: Any, place: Any) -> None:
        write_json(comparing.times_file(folder, system), times)

    def trained(*given: Any) -> None:
        raise OutOfTimeError

    monkeypatch.setattr(comparing, "STAGES", {"time": timed, "tune": trained})
    with pytest.raises(TooSmallError) as refused:
        run_comparison(task, tmp_path, budget=Budget(300.0))
    names = [system.name for system in standard_systems(task)][: len(refused.value.instead["systems"])]
    assert refused.value.instead == {"systems": names}
    assert len(names) >= 2
    # Another refusal of the same, with a larger budget, takes nothing back.
    times = [[2.0, 90.0], [2.0, 90.0]]
    with pytest.raises(TooSmallError):
        run_comparison(task, tmp_path, budget=Budget(350.0))
    times = [[30.0, 0.0], [30.0, 0.0]]
    plan = run_comparison(task, tmp_path, systems=names, budget=Budget(300.0))
    assert (plan.steps, len(plan.systems), plan.seeds) == (comparing.FEWEST_STEPS, len(names), 1)


def test_steps_and_the_time_that_is_said_count_what_timing_took_and_every_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    now, events = [0.0], list[Event]()

    def timed(folder: Path, system: PositionSystem, progress: Any, place: Any) -> None:
        now[0] += 50.0
        write_json(comparing.times_file(folder, system), [[0.1, 0.1], [0.2, 0.2]])

    def trained(*given: Any) -> None:
        raise OutOfTimeError

    monkeypatch.setattr(comparing, "STAGES", {"time": timed, "tune": trained})
    monkeypatch.setattr(comparing, "time", SimpleNamespace(monotonic=lambda: now[0]))
    words: dict[str, Any] = {"systems": ["rope", "nope"], "progress": events.append}
    plan = run_comparison(TASKS.build("parity"), tmp_path / "enough", budget=Budget(1_600.0), **words)
    # A step of both systems: the first seed at both settings, and the others at the slower one.
    assert (plan.steps, plan.seeds) == (steps_for(1_500.0, 1, 2 * (0.1 + 0.2 + 0.2)), 3)
    plan = run_comparison(TASKS.build("parity"), tmp_path / "few", budget=Budget(240.0), **words)
    assert (plan.steps, plan.seeds) == (steps_for(140.0, 1, 2 * (0.1 + 0.2)), 1)
    enough, _, few, warned = [event for event in events if event.phase == "note"]
    assert warned.instead == {"budget": "26m", "seeds": 1, "out": str(tmp_path / "few-2000-steps")}
    enough, few = enough.text, few.text
    assert "min at most: each system is trained 3 times" in enough
    assert "the same command" not in enough
    assert "each system is trained once, " in few
    assert "the same command adds the other seeds later" in few


@pytest.mark.usefixtures("tiny")
def test_seeds_that_had_no_time_are_added_by_the_same_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    words: dict[str, Any] = {"systems": ["nope", "rope"], "max_length": 2, "out": tmp_path / "out"}
    with monkeypatch.context() as patch:
        patch.setattr(comparing, "MOST_STEPS", 20_000)
        patch.setattr(comparing, "steps_for", lambda *_: 6)
        one = compare("parity", budget=600.0, seeds=2, **words)
    assert [(len(row["seeds"]), row["missing"]) for row in one.rows] == [(1, 0)] * 2
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("result.json")}
    two = compare("parity", budget=600.0, seeds=2, **words)
    assert [len(row["seeds"]) for row in two.rows] == [2, 2]
    assert all(path.stat().st_mtime_ns == when for path, when in before.items()), "nothing runs twice"


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("ends", [OutOfTimeError, KeyboardInterrupt])
def test_what_ends_early_tells_what_the_first_setting_gave(
    ends: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Each system has had its first setting before one has its second; the next step is the command that was typed."""
    train, tried = comparing.train, list[str]()

    def until(experiment: Any, *given: Any, **named: Any) -> Any:
        tried.append(f"{experiment.encoding.name} {experiment.training.lr}")
        if len(tried) == 3:
            raise ends
        return train(experiment, *given, **named)

    monkeypatch.setattr(comparing, "train", until)
    words = ["compare", "parity", "--systems", "nope,rope", "--max-length", "2", "--out", str(tmp_path / "out")]
    code = main([*words, "--budget", "10m"])
    assert code == (0 if ends is OutOfTimeError else 130)
    assert tried == ["nope 0.01", "rope 0.01", "nope 0.001"]
    shown, notes = capsys.readouterr()
    assert shown.count("not fitted yet: ") == 2
    assert " ".join(shown.split()).count("setting 1 of 2") == 2
    command = f"lengthwise {' '.join([*words, '--budget', '10m'])}"
    assert command in [line.strip() for line in shown.splitlines()]
    assert ("interrupted" in notes) is (ends is KeyboardInterrupt)
    assert max(map(len, shown.replace(command, "").replace(str(tmp_path), "").splitlines())) <= 80


def test_a_budget_that_is_too_small_is_known_before_slow_steps_are_all_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Quick ones are all timed, so that what is said is what was measured."""
    smallest = comparing.Smallest(tmp_path / "smallest.json", "this one", 10.0, 1)
    clock = comparing.Clock(smallest, lambda event: None, time.monotonic() + 100, 16, ("nope", "rope"))
    for index in range(8):
        clock(Event("nope", 0, "time", index, 16, 0.1))
    with pytest.raises(LengthwiseError) as refused:
        clock(Event("rope", 0, "time", 0, 2, 30.0))
    assert said(refused) > 0
    late = comparing.Clock(replace(smallest, of="another"), lambda event: None, time.monotonic() - 1, 16, ("rope",))
    with pytest.raises(LengthwiseError) as refused:
        late(Event("rope", 0, "time", 0, 2, 1.0))
    assert said(refused) > 0
    taken: list[int] = []
    now = iter(range(100))
    monkeypatch.setattr(comparing.time, "perf_counter", lambda: next(now))
    assert comparing._seconds_of(taken.append) == 1.0
    assert taken == [0], "of steps that take a second, one is timed"


def test_a_budget_that_is_too_small_is_refused_after_a_step_of_one_string_where_such_a_step_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As with strings of length 2,000: nothing is trained on whole batches before the answer."""
    now, taken = [0.0], list[int]()

    class Slow:
        def __init__(self, setup: Any, training: Any, seeds: Any, **named: Any) -> None:
            self.strings = training.batch_size * len(seeds)

        def step(self, number: int) -> None:
            taken.append(self.strings)
            now[0] += 2.0 * self.strings

    monkeypatch.setattr("lengthwise.training.trainer.Trainer", Slow)
    clock = SimpleNamespace(monotonic=lambda: now[0], perf_counter=lambda: now[0])
    monkeypatch.setattr(comparing, "time", clock)
    with pytest.raises(TooSmallError) as refused:
        run_comparison(TASKS.build("parity"), tmp_path, budget=Budget(10.0), max_length=2_000)
    assert taken == [1]
    assert said(refused) > 10.0
    assert not list((tmp_path / "runs").rglob("*.json")), "nothing was trained"


def test_the_budget_ends_training_and_timing_is_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    now, spent = [0.0], {"time": 0.0, "tune": 0.0}

    def take(seconds: float, stage: str) -> None:
        now[0] += seconds
        spent[stage] += seconds

    def timed(folder: Path, system: PositionSystem, progress: Any, place: Any) -> None:
        take(100.0, "time")
        write_json(comparing.times_file(folder, system), [[0.1, 0.1], [0.2, 0.2]])

    def trained(folder: Path, system: PositionSystem, progress: Any, place: Any) -> None:
        for step in range(1_000):
            take(5.0, "tune")
            progress(Event(system.name, 0, "train", step, 1_000, 0.1))

    monkeypatch.setattr(comparing, "STAGES", {"time": timed, "tune": trained})
    monkeypatch.setattr(comparing, "time", SimpleNamespace(monotonic=lambda: now[0]))
    words: dict[str, Any] = {"systems": ["rope", "nope"], "budget": Budget(600.0)}
    run_comparison(TASKS.build("parity"), tmp_path, **words)
    assert spent == {"time": 200.0, "tune": 405.0}, "up to the first step that ends behind the budget"
    # The same call has a budget of its own and times nothing again.
    run_comparison(TASKS.build("parity"), tmp_path, **words)
    assert spent == {"time": 200.0, "tune": 405.0 + 605.0}


def test_what_else_the_machine_does_does_not_make_a_step_longer(monkeypatch: pytest.MonkeyPatch):
    """Each step is timed more than once, and the least counts."""
    now, seen = [0.0], dict[int, int]()

    def take(step: int) -> None:
        seen[step] = seen.get(step, 0) + 1
        now[0] += 0.01 * (step + 1) + 0.3 * (seen[step] == 1 and step > 3)

    monkeypatch.setattr(comparing.time, "perf_counter", lambda: now[0])
    assert comparing._seconds_of(take) <= 0.01 * comparing.TIMED_STEPS
    assert max(seen.values()) == comparing.ROUNDS


@pytest.mark.usefixtures("tiny")
def test_a_task_file_from_nothing_to_a_table(tmp_path: Path):
    (tmp_path / "own.py").write_text(OWN_TASK, encoding="utf-8")
    task = TASKS.build(f"{tmp_path / 'own.py'}:Echo")
    out = tmp_path / "out"
    budget = Budget(seconds=600.0, seeds=2)
    events: list[Event] = []
    words = {"out": out, "seeds": budget.seeds, "max_length": 2, "progress": events.append}
    found = compare(task, ["nope", "rope"], budget=budget.seconds, **words)
    said = {event.text for event in events if event.phase == "train"}
    assert "trying setting 1 of 2" in said
    assert said <= {"", "trying setting 1 of 2", "trying setting 2 of 2"}
    assert [row["missing"] for row in found.rows] == [0, 0]
    assert all(len(row["seeds"]) == 2 and row["setting"] for row in found.rows)
    written = json.loads((out / "comparison.json").read_text(encoding="utf-8"))
    assert written["systems"] == found.rows
    assert "<svg" in (out / "comparison.svg").read_text(encoding="utf-8")
    assert len(comparison_table(written).rows) == 2
    # A point of the grid that fits ends the search, so one or two of them were tried, never with long lengths in view.
    tried = json.loads(tuning_file(out, PositionSystem("sequential", "nope")).read_text(encoding="utf-8"))
    assert set(tried) == {"system", "in_distribution", "chosen", "digest"}
    assert tried["in_distribution"][tried["chosen"]] == max(tried["in_distribution"])

    before = {path: path.stat().st_mtime_ns for path in out.rglob("result.json")}
    again = compare(task, ["nope", "rope"], out=out, budget=1e-6, seeds=2, max_length=2)
    assert [row["seeds"] for row in again.rows] == [row["seeds"] for row in found.rows]
    assert before == {path: path.stat().st_mtime_ns for path in out.rglob("result.json")}, "nothing runs twice"
    with pytest.raises(LengthwiseError, match="holds a comparison of another task, or of other systems"):
        run_comparison(task, out, systems=["nope"], budget=budget, max_length=2)


@pytest.mark.usefixtures("tiny")
def test_what_the_budget_cuts_off_is_named_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    task = TASKS.build("parity")
    wanted = {"systems": ["nope", "rope"], "max_length": 2}
    with monkeypatch.context() as patch:
        patch.setattr(comparing.Smallest, "check", lambda *_: None)
        none = compare(task, out=tmp_path, budget=1e-6, seeds=1, **wanted)
    assert [row["missing"] for row in none.rows] == [1, 1]
    notes = " ".join(comparison_table(none.values).advice)
    assert "seeds that the budget did not reach: nope (1), sequential+rope (1); the same command goes on" in notes
    assert "no theorem covers" not in notes
    silent = {**none.values, "systems": [{**row, "verdict": None} for row in none.values["systems"]]}
    notes = " ".join(comparison_table(silent).advice)
    assert "no theorem covers nope, sequential+rope" in notes
    assert not (tmp_path / "comparison.svg").exists(), "there is nothing to draw yet"
    done = compare(task, out=tmp_path, budget=600.0, seeds=1, **wanted)
    assert [row["missing"] for row in done.rows] == [0, 0]


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_processes_side_by_side_find_the_same(tmp_path: Path):
    task = TASKS.build("parity")
    first = run_comparison(task, tmp_path / "one", systems=["nope", "rope"], budget=Budget(600.0, 1, 2), max_length=2)
    (tmp_path / "two" / "tuning").mkdir(parents=True)
    first.write(tmp_path / "two")
    run_comparison(task, tmp_path / "two", systems=["nope", "rope"], budget=Budget(600.0, 2, 2), max_length=2)
    ours, theirs = (ranked(tmp_path / name, first) for name in ("one", "two"))
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine["system"], mine["tuning"]) == (other["system"], other["tuning"])
        for one, two in zip(mine["seeds"], other["seeds"], strict=True):
            assert {**one, "seconds": 0} == {**two, "seconds": 0}


def _plan_with_results(folder: Path, outcomes: dict[str, list[tuple[bool, dict[int, float]]]]) -> Plan:
    """A folder as if systems had been trained, with a fit and the exact match by length for each seed."""
    task = TASKS.build("parity")
    systems = chosen_systems(task, list(outcomes))
    plan = Plan(TASKS.describe(task), systems, 4, (4, 8, 16), 3, 10)
    plan.write(folder)
    for system, seeds in zip(systems, outcomes.values(), strict=True):
        tuning_file(folder, system).parent.mkdir(exist_ok=True)
        write_sealed(tuning_file(folder, system), {"in_distribution": [1.0], "chosen": 0})
        experiment = plan.experiment(system, plan.grid[0])
        for seed, (fitted, rates) in enumerate(seeds):
            made = run_directory(folder, "runs", experiment, seed)
            made.mkdir(parents=True)
            scores = [_score(length, rate) for length, rate in rates.items()]
            values = {"format": 1, "recipe": "runs", "system": system.name, "experiment": experiment.to_json(),
                      "seed": seed, "fitted": fitted, "in_distribution": _score(4, 1.0 if fitted else 0.5),
                      "scores": scores, "seconds": 1.0}  # fmt: skip
            (made / "result.json").write_text(json.dumps(values), encoding="utf-8")
    return plan


def _score(length: int, rate: float) -> dict[str, Any]:
    right = round(100 * rate)
    return {"length": length, "axes": {}, "n": 100, "exact_match": right / 100, "correct": {"exact_match": right},
            "tokens": 100, "tokens_total": 100, "first_error": {}, "first_error_at": []}  # fmt: skip


def test_ranking_by_the_median_seed_with_unfitted_ones_named(tmp_path: Path):
    far, near, never = {4: 1.0, 8: 1.0, 16: 0.97}, {4: 1.0, 8: 0.5, 16: 0.0}, {4: 0.4}
    plan = _plan_with_results(
        tmp_path,
        {
            "fire": [(False, never)] * 3,
            "rope": [(True, near)] * 3,
            "alibi": [(True, far), (True, far), (False, never)],
            "nope": [(True, far)] * 3,
        },
    )
    assert read_plan(tmp_path) == plan
    rows = ranked(tmp_path, plan)
    assert [(row["system"], row["reach"], row["fitted"]) for row in rows] == [
        ("nope", 16, 3), ("sequential+alibi", 16, 2), ("sequential+rope", 4, 3), ("sequential+fire", 0, 0),
    ]  # fmt: skip
    assert [round(row["mean_beyond"], 3) for row in rows] == [0.985, 0.657, 0.25, 0.0]
    values = {"systems": rows, "tests": list(plan.tests)}
    assert first_at(values, 0.9) == "nope"
    rows[0]["seeds"] = [{**seed, "exact_match": {"4": 0.96, "8": 0.96, "16": 0.96}} for seed in rows[0]["seeds"]]
    assert (first_at(values, 0.95), first_at(values, 0.99)) == ("nope", "sequential+alibi"), "it depends on the cut"
    assert [seed["reach"] for seed in rows[1]["seeds"]] == [16, 16, 0]


@pytest.mark.usefixtures("tiny")
def test_own_test_lengths_are_those_of_the_comparison_and_of_the_command_that_is_next(tmp_path: Path):
    words = {"budget": 600.0, "seeds": 1, "max_length": 2, "out": tmp_path / "out"}
    found = compare("copy", ["nope"], test_lengths=[5, 2], **words)
    assert found.values["tests"] == [2, 5]
    assert "not 16" not in comparison_finding(found.values)
    assert found.values["next"] in Path(found.page).read_text(), "one next everywhere"
    assert found.advice[0].startswith(f"next: {found.values['next']}")
    with pytest.raises(LengthwiseError, match="test_lengths must have one above"):
        compare("copy", ["nope"], test_lengths=[1, 2], **words)
