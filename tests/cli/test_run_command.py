"""``run``: results in a fixed JSON shape, reuse of finished seeds, and numbers of fitted seeds only."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from terminal import TINY_OPTIONS, Terminal, files_in, tiny_recipe

import lengthwise as lw
from lengthwise.api import theory
from lengthwise.api.experiment import recipe as api_recipe
from lengthwise.cli.run import forecast_line, forecasts_line, instead
from lengthwise.core.result_file import RunResult
from lengthwise.experiments.run_config import RunConfig
from lengthwise.experiments.run_directory import run_directory
from lengthwise.forecast.answer import LIKELY, PROMISING, UNLIKELY

RUN = ["run", "addition", "--only", "coupled", *TINY_OPTIONS]


def pretend(out: Path, seed: int, *, fitted: bool, right: int) -> None:
    """A finished seed of the tiny recipe with made-up counts at length 12."""
    experiment = tiny_recipe(edits=("evaluation.lengths=[3,12]",)).jobs[0].experiment
    folder = run_directory(out, "addition", experiment, seed)
    folder.mkdir(parents=True)
    score = {"axes": {}, "n": 100, "tokens": 1, "tokens_total": 1, "first_error": {}, "first_error_at": []}
    near = {**score, "length": 3, "exact_match": 1.0, "correct": {"exact_match": 100, "answer": 100}}
    far = {**score, "length": 12, "exact_match": right / 100, "correct": {"exact_match": right, "answer": right}}
    result = {
        "format": 1, "recipe": "addition", "system": "coupled", "experiment": experiment.to_json(), "seed": seed,
        "fitted": fitted, "in_distribution": near if fitted else far, "scores": [near, far] if fitted else [near],
        "seconds": 1.0, "commit": "abc", "machine": {}, "time": "",
    }  # fmt: skip
    (folder / "result.json").write_text(json.dumps(result))


def test_json_has_the_agreed_shape_and_nothing_else_is_on_stdout(terminal: Terminal, tmp_path: Path) -> None:
    answer = terminal(*RUN, "--seeds", "2", "--out", tmp_path, "--json")
    assert answer.code == 0
    done = answer.json()
    assert done["recipe"] == "addition"
    assert isinstance(done["commit"], str)
    assert done["train"]["max_length"] == 3
    assert done["train"]["lengths"] == [1, 2, 3]
    (system,) = done["systems"]
    assert (system["name"], system["seeds"], len(system["fitted"])) == ("coupled", [0, 1], 2)
    assert all(isinstance(fitted, bool) for fitted in system["fitted"])
    for score in system["scores"]:
        assert {"seed", "length", "axes", "n", "exact_match", "correct"} <= set(score)
        assert score["exact_match"] == score["correct"]["exact_match"] / score["n"]
    assert "seed 0" in answer.err


def test_finished_seeds_are_reused_and_more_seeds_added(terminal: Terminal, tmp_path: Path) -> None:
    first = terminal(*RUN, "--seeds", "1", "--out", tmp_path, "--json").json()
    before = files_in(tmp_path)
    again = terminal(*RUN, "--seeds", "1", "--out", tmp_path, "--json", "--resume")
    assert again.json() == first
    assert "reused" in again.err
    assert files_in(tmp_path) == before
    more = terminal(*RUN, "--seeds", "2", "--out", tmp_path, "--json").json()
    assert [s for s in more["systems"][0]["scores"] if s["seed"] == 0] == first["systems"][0]["scores"]
    assert before.items() <= files_in(tmp_path).items()


def test_only_fitted_seeds_enter_the_table(terminal: Terminal, tmp_path: Path) -> None:
    for seed, (fitted, right) in enumerate([(True, 90), (True, 70), (False, 5), (True, 80)]):
        pretend(tmp_path, seed, fitted=fitted, right=right)
    options = ["--set", "evaluation.lengths=[3,12]", "--seeds", "4", "--out", tmp_path]
    answer = terminal(*RUN, *options)
    row = next(line for line in answer.out.splitlines() if line.startswith("coupled"))
    assert row.split()[2:] == ["1.00", "0.80", "(0.70–0.90)"]
    assert "Seeds that fitted: 3 of 4" in answer.out


def test_an_unfitted_system_has_no_long_numbers(terminal: Terminal, tmp_path: Path) -> None:
    pretend(tmp_path, 0, fitted=False, right=7)
    answer = terminal(*RUN, "--set", "evaluation.lengths=[3,12]", "--seeds", "1", "--out", tmp_path)
    row = answer.out[answer.out.index("\ncoupled ") :]
    said = "coupled not fitted: right on 7 % of strings of training lengths, 98 % required"
    assert " ".join(row.split()).startswith(said)
    assert all(len(line) <= 80 for line in row.splitlines())
    assert "n = 12" not in answer.out


def test_print_config_prints_what_would_run(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = terminal(*RUN, "--seeds", "2", "--print-config").json()
    (system,) = shown["systems"]
    assert system["seeds"] == [0, 1]
    assert RunConfig.from_json(system["experiment"]) == tiny_recipe().jobs[0].experiment
    assert list(tmp_path.iterdir()) == []


def test_an_edit_need_only_make_sense_for_the_chosen_systems(terminal: Terminal) -> None:
    edit = ["--set", "scheme.draw=permuted", "--print-config"]
    assert terminal("run", "addition", "--only", "coupled", *edit).code == 0
    answer = terminal("run", "addition", *edit)
    assert answer.code == 2
    assert "scheme.draw" in answer.err


def test_control_c_keeps_the_checkpoint_and_the_next_run_goes_on(terminal: Terminal, tmp_path: Path) -> None:
    steps = ["--set", "training.steps=100000", "--seeds", "1", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "lengthwise", *RUN, *steps]
    # A test runner in the background may ignore SIGINT, and children inherit that.
    restore = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    child = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=restore)
    deadline = time.monotonic() + 60
    while not list(tmp_path.rglob("checkpoint.safetensors")):
        assert time.monotonic() < deadline
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    # A slow machine prints a line on the training before.
    assert (child.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted; give the same command again to go on"
    # Between the two steps of writing a checkpoint only the previous one is there, and the next run takes it.
    assert list(tmp_path.rglob("checkpoint*.safetensors"))
    assert not list(tmp_path.rglob("result.json"))


@pytest.mark.parametrize(
    ("words", "systems"),
    [
        (["(aa)*", "--scheme", "modulo", "--set", "scheme.m=2"], [("modulo", "learned")]),
        (["Tomita-4", "--encoding", "nope"], [("sequential", "nope")]),
        (["parity", "--encoding", "rope", "--encoding", "alibi"], [("sequential", "rope"), ("sequential", "alibi")]),
        (["addition", "--scheme", "coupled", "--encoding", "local-bias"], [("coupled", "local-bias")]),
        (["copy", "--scheme", "random-start"], [("sequential", "learned")]),
        (["examples/my_task.py:EverySecond", "--scheme", "pose"], [("pose", "rope")]),
    ],
)
def test_a_task_or_an_expression_trains_under_named_systems(
    terminal: Terminal, words: list[str], systems: list[tuple[str, str]]
) -> None:
    given = terminal("run", *words, "--max-length", "12", "--test-lengths", "12,24", "--print-config").json()
    found = [system["experiment"] for system in given["systems"]]
    assert [(one["scheme"]["name"], one["encoding"]["name"]) for one in found] == systems
    assert {one["training"]["max_length"] for one in found} == {12}
    assert all(one["evaluation"]["lengths"] == [12, 24] for one in found)
    assert "scheme.m=2" not in words or found[0]["scheme"]["m"] == 2


def test_a_language_learns_under_ids_modulo_its_period(terminal: Terminal, tmp_path: Path) -> None:
    """As `predict` names it, with fewer steps: what plain positions do not carry to 24, these ids do."""
    words = ["(aa)*", "--scheme", "modulo", "--set", "scheme.m=2", "--max-length", "8", "--test-lengths", "8,24"]
    small = ["--set", "training.steps=150", "--set", "model.layers=1", "--set", "model.width=32"]
    small += ["--set", "evaluation.samples=8"]
    (system,) = terminal("run", *words, *small, "--out", tmp_path, "--json").json()["systems"]
    assert system["fitted"] == [True]
    assert [score["exact_match"] for score in system["scores"] if score["length"] == 24] == [1.0]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["demo", "--scheme", "modulo"], "--scheme is for a task or an expression; recipe 'demo' has its own"),
        (["demo", "--max-length", "8"], "--max-length is for a task or an expression"),
        (["(aa)*", "--scheme", "modlo"], "unknown scheme 'modlo'. Did you mean 'modulo'?"),
        (["(aa)*", "--scheme", "modulo", "--encoding", "ropee"], "unknown encoding 'ropee'. Did you mean 'rope'?"),
        (["(aa)*", "--scheme", "modulo", "--set", "scheme.m=0"], "m"),
        (["(aa)*", "--scheme", "modulo", "--test-lengths", "long"], "--test-lengths needs whole numbers"),
        (
            ["(ab)*c*", "--max-length", "10", "--test-lengths", "5"],
            "--test-lengths must have one above --max-length 10",
        ),
        (["missing.crasp", "--scheme", "modulo"], "missing.crasp"),
    ],
)
def test_mistakes_in_named_systems(terminal: Terminal, tmp_path: Path, words: list[str], says: str) -> None:
    answer = terminal("run", *words, "--out", tmp_path)
    assert answer.code == 2
    assert says in answer.err
    assert answer.err.count("\n") == 1


def test_a_run_ends_with_the_next_step(terminal: Terminal, tmp_path: Path) -> None:
    for seed, right in enumerate((99, 40)):
        pretend(tmp_path, seed, fitted=True, right=right)
    lengths = ("--set", "evaluation.lengths=[3,12]", "--out", tmp_path)
    said = terminal(*RUN, *lengths, "--seeds", "2").err
    assert "next: see what coupled computes (right at 12 in 1 of 2 seeds):\n" in said
    assert re.search(r"since two may be luck:\n  lengthwise run .* --seeds 4$", said, re.M)
    folder = re.findall(r"^  lengthwise explain (\S+)$", said, re.M)[0]
    assert json.loads((Path(folder) / "result.json").read_text(encoding="utf-8"))["seed"] == 0
    pretend(tmp_path, 2, fitted=False, right=0)
    said = terminal(*RUN, *lengths, "--seed", "2").err
    assert "next: coupled does not fit after 4 steps: more of them" in said
    typed = re.search(r"lengthwise run .* --seed 2 --set training.steps=8$", said, re.M)
    assert typed
    assert "training.steps=4" not in typed[0]


def test_what_did_not_fit_beside_a_matched_partner_has_the_next_step_of_the_table(
    terminal: Terminal, tmp_path: Path
) -> None:
    """More steps of one alone would be no pair any more."""
    pretend(tmp_path, 0, fitted=False, right=0)
    values = json.loads(next(tmp_path.rglob("result.json")).read_text(encoding="utf-8"))
    values["experiment"]["scheme"] = {"name": "sequential"}
    partner = tmp_path / "addition" / "partner"
    partner.mkdir()
    far = {**values["scores"][0], "length": 12}
    values |= {"system": "sequential", "fitted": True, "scores": [values["scores"][0], far]}
    (partner / "result.json").write_text(json.dumps(values), encoding="utf-8")
    said = terminal(*RUN, "--set", "evaluation.lengths=[3,12]", "--out", tmp_path, "--seeds", "1").err
    step = lw.results(tmp_path).wide().advice[0].partition("\n")[0]
    assert step.startswith("next: train")
    assert step in said


def test_where_another_system_of_the_folder_was_right_no_other_is_advised(terminal: Terminal, tmp_path: Path) -> None:
    pretend(tmp_path, 0, fitted=True, right=10)
    lengths = ("--set", "evaluation.lengths=[3,12]", "--out", tmp_path, "--seeds", "1")
    alone = terminal(*RUN, *lengths).err
    assert "lengthwise predict" in alone
    values = json.loads(next(tmp_path.rglob("result.json")).read_text(encoding="utf-8"))
    values["experiment"]["scheme"] = {"name": "sequential"}
    far = {**values["scores"][0], "length": 12}
    values |= {"system": "sequential", "scores": [values["scores"][0], far]}
    other = tmp_path / "addition" / "other"
    other.mkdir()
    (other / "result.json").write_text(json.dumps(values), encoding="utf-8")
    both = terminal(*RUN, *lengths).err
    assert "or: sequential was right there, in the same folder" in both
    assert "lengthwise predict" not in both


def test_encodings_may_stand_in_one_option(terminal: Terminal) -> None:
    words = ["run", "flip-flop", "--print-config"]
    together = terminal(*words, "--encoding", "rope,alibi").json()
    assert together == terminal(*words, "--encoding", "rope", "--encoding", "alibi").json()
    assert [system["name"] for system in together["systems"]] == ["sequential+rope", "sequential+alibi"]


@pytest.mark.parametrize(("right", "fitted"), [(99, True), (40, True), (0, False)])
def test_a_run_says_whether_its_forecast_came_true(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: int, fitted: bool
) -> None:
    pretend(tmp_path, 0, fitted=fitted, right=right)
    words = [*RUN, "--set", "evaluation.lengths=[3,12]", "--out", tmp_path, "--seeds", "1"]
    asked = lw.predict("addition", 3, 12, "coupled+learned")
    assert asked.systems[0].answer not in (PROMISING, UNLIKELY)
    assert "\nforecast " not in terminal(*words).out, "one that says neither yes nor no"
    for answer, says_yes in ((PROMISING, True), (UNLIKELY, False)):
        others = (4, 5) if says_yes else (0, 5)
        made = replace(asked.systems[0], forecast=None, others=others, record=others, accuracy=None, own="",
                       verdict="yes" if says_yes else "no", refusal="no forecast")  # fmt: skip
        assert made.answer == answer
        monkeypatch.setattr(theory, "predict", lambda *_, made=made: replace(asked, systems=(made,)))
        answered = terminal(*words)
        out = " ".join(answered.out.split())
        says = f"forecast `predict` says {'not ' * (not says_yes)}right at 12: {answer} {made.in_brackets}."
        line = f"{says} It came out {'right' if right > 95 else 'wrong'}."
        assert (line in out) == fitted, "few steps make no forecast wrong"
        if not fitted:
            assert (says in out) is not says_yes
            assert ("\n  lengthwise predict addition --train 3 --test 12" in answered.err) is not says_yes


@pytest.mark.parametrize(("scheme", "control"), [("random-start", True), ("sequential", False)])
def test_a_control_that_does_not_fit_is_to_fit_however_unlikely_it_is_to_go_far(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, control: bool
) -> None:
    words = ["run", "addition", "--scheme", scheme, "--encoding", "learned", *TINY_OPTIONS, "--seeds", "1"]
    pretend(tmp_path, 0, fitted=False, right=0)
    (old,) = tmp_path.rglob("result.json")
    (system,) = terminal(*words, "--print-config").json()["systems"]
    values = json.loads(old.read_text()) | {"system": system["name"], "experiment": system["experiment"]}
    old.unlink()
    folder = run_directory(tmp_path, "addition", RunConfig.from_json(system["experiment"]), 0)
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(values))
    asked = lw.predict("addition", 3, 12, "coupled+learned")
    made = replace(asked.systems[0], forecast=None, others=(0, 5), record=(0, 5), accuracy=None, own="", verdict="no",
                   refusal="no forecast")  # fmt: skip
    monkeypatch.setattr("lengthwise.cli.run.forecast_of", lambda _: made)
    said = terminal(*words, "--out", tmp_path).err
    assert f"next: {system['name']} does not fit after" in said
    assert ("\n  lengthwise predict " in said) is not control
    assert ("--set training.steps=" in said.partition("next: ")[2]) is control


@pytest.mark.parametrize(("right", "fitted"), [((99, 99, 40), 3), ((40, 99, 40), 3), ((0, 0, 0), 1)])
def test_a_comparison_says_for_which_systems_the_forecast_came_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: tuple[int, ...], fitted: int
) -> None:
    for seed, rate in enumerate(right):
        pretend(tmp_path, seed, fitted=seed < fitted, right=rate)
    systems = lw.results(tmp_path).systems
    asked = lw.predict("addition", 3, 12, "coupled+learned")
    assert forecasts_line(systems) == "", "one that says neither yes nor no"
    for says_yes in (True, False):
        others = (4, 5) if says_yes else (0, 5)
        made = replace(asked.systems[0], forecast=None, others=others, record=others, accuracy=None, own="",
                       verdict="yes" if says_yes else "no", refusal="no forecast")  # fmt: skip
        monkeypatch.setattr(theory, "predict", lambda *_, made=made: replace(asked, systems=(made,)))
        was = sum(rate > 95 for rate in right) > 1
        came = "came true" if was == says_yes else "did not come true"
        line = (
            f"What `predict` says of length 12 {came} for coupled ({made.answer}, was {'right' if was else 'wrong'})."
        )
        assert forecasts_line(systems) == (line if fitted > 1 else ""), "few steps make no forecast wrong"


def test_what_a_run_says_of_its_forecast_is_measured_by_the_measure_of_the_forecast() -> None:
    """Of a language that is of hard words, too, which the tests by themselves are not."""
    made = api_recipe("(ab)*", encodings=["nope"], max_length=40, test_lengths=[200], seeds=[0])
    sweep: Any = SimpleNamespace(recipe=made, results=[[RunResult.model_construct(fitted=True, scores=[])]])
    one = lw.predict("(ab)*", 40, 200, "nope").systems[0]
    assert one.answer == LIKELY
    said = f"`predict` says right at 200: LIKELY {one.in_brackets}."
    assert forecast_line(sweep, "It is not right.") == f"{said} It is not right."


def test_a_run_may_have_a_comment_behind_it_in_a_shell_that_knows_none(terminal: Terminal) -> None:
    words = ("run", "copy", "--scheme", "coupled", "--print-config")
    assert terminal(*words, "#", "coupled", "ids").out == terminal(*words).out != ""


@pytest.mark.parametrize(("target", "unlikely"), [("(a|c|d(a|c|d))*", True), ("(ab|ba)*", False)])
def test_where_no_positions_are_likely_a_run_does_not_send_to_a_forecast_that_says_so(
    target: str, unlikely: bool
) -> None:
    made = api_recipe(target, encodings=["nope"], max_length=40, test_lengths=[200], seeds=[0]).jobs[0].experiment
    found = lw.predict(target, 40, 200)
    assert (found.systems[0].answer == UNLIKELY) is unlikely
    said = instead(made, "lengthwise predict")
    assert ("  lengthwise predict" in said) is not unlikely
    assert (f"  {found.settle}" in said) is unlikely
