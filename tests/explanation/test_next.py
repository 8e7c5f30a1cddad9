"""What an explanation says to do: a command that is understood as it stands, on the shell or in Python, and runs."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import typer

import lengthwise as lw
from lengthwise.cli.main import app, main
from lengthwise.core.result_file import write_sealed
from lengthwise.explanation.advice import Call, _named, _system, advice
from lengthwise.explanation.failures import Failures
from lengthwise.explanation.kinds import KindShare, WeakKind
from lengthwise.explanation.model import FunctionNetwork, Subject, subject_of
from lengthwise.explanation.verdict import LengthShares, Share
from lengthwise.forecast.advice import run_command
from lengthwise.positions.system import SYSTEMS, PositionSystem

COMMAND = re.compile(r"lengthwise (?:explain|run|compare) .*|lengthwise\.\w+[(.].*\)")


def command_in(command: str) -> str:
    """The command of an advice; raises if the shell's parser or Python's does not take it."""
    assert COMMAND.fullmatch(command), command
    if command.startswith("lengthwise."):
        ast.parse(command)
    else:
        _, name, *words = shlex.split(command)
        verb: Any = typer.main.get_command(app)
        verb.commands[name].make_context(name, words)
    return command


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of ours that has not learned."""
    experiment = lw.Experiment(
        "regex:(ab)*", "sequential", "rope", max_length=6, test_lengths=[8], steps=2,
        model={"layers": 1, "width": 8, "heads": 2}, training={"batch_size": 4},
        evaluation={"samples": 4, "fit_samples": 8, "probe_samples": 4},
    )  # fmt: skip
    return experiment.run(1, out=tmp_path_factory.mktemp("runs"), progress=False).folders[0]


ASKED = {"lengths": [4, 6, 8], "samples": 8, "seconds": 4}


def test_a_run_that_never_fitted_is_trained_longer_by_a_command_that_runs(run: Path, tmp_path: Path) -> None:
    found = lw.explain(run, **ASKED)
    assert found.command in found.lines
    assert found.next.startswith("Train longer, 4 steps in place of 2. ")
    command = command_in(found.command)
    assert command == f"lengthwise run --config {run / 'config.json'} --set training.steps=4"
    assert main([*shlex.split(command)[1:], "--out", str(tmp_path)]) == 0
    (again,) = lw.results(tmp_path).runs
    before = json.loads((run / "config.json").read_text())["experiment"]
    assert again.experiment == {**before, "training": {**before["training"], "steps": 4}}
    values = {key: value for key, value in json.loads((run / "result.json").read_text()).items() if key != "digest"}
    probes = [
        {"step": step, "in_distribution": values["in_distribution"]["correct"]["exact_match"] / 8} for step in (1, 2)
    ]
    write_sealed(run / "result.json", {**values, "probes": probes})
    flat = lw.explain(run, **ASKED)
    assert flat.next.startswith("Train with two layers: ")
    assert command_in(flat.command).endswith("--set model.layers=2")
    # In memory it is the same in Python, where no result says how the last half went.
    model = lw.load(run)
    in_python = command_in(lw.explain(model, **ASKED).command)
    assert in_python == "lengthwise.Experiment.of(model.experiment.edited(['training.steps=4'])).run()"
    edited = eval(in_python.removesuffix(".run()"), {"lengthwise": lw, "model": model})
    assert edited.configuration.to_json() == again.experiment


def test_command_line_and_python_say_the_same_of_a_run_and_of_its_folder(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(lw.LengthwiseError, match=r"trained on language \(ab\)\*, which has no token 0 or 1; leave out"):
        lw.explain(run, "parity")
    here = json.loads(json.dumps(lw.explain(str(run.parent), **ASKED).to_json()))
    capsys.readouterr()
    asked = ["--lengths", "4,6,8", "--samples", "8", "--seconds", "4", "--json", "--out", str(tmp_path / "out")]
    assert main(["explain", str(run.parent), *asked]) == 0
    assert json.loads(capsys.readouterr().out) == here


def test_a_folder_with_runs_of_several_systems_names_one(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "rope" / run.name)
    configuration = lw.load(run).experiment.edited(["encoding=nope", "training.steps=1"])
    lw.Experiment.of(configuration).run(1, out=tmp_path, progress=False)
    with pytest.raises(
        lw.LengthwiseError, match="holds runs of 2 systems; name a run of one of them, such as"
    ) as error:
        lw.explain(tmp_path)
    assert (Path(str(error.value).partition("such as ")[2]) / "config.json").exists()


def test_a_run_that_is_right_where_it_was_trained_is_told_the_positions_of_the_forecast_and_no_more_steps() -> None:
    run = lw.Experiment("copy", "sequential", "rope", max_length=8, test_lengths=[32]).configuration
    network = FunctionNetwork(lambda tokens, positions: torch.zeros(*tokens.shape, len(lw.task("copy").vocab)))
    subject = dataclasses.replace(subject_of(network, lw.task("copy"), train=8), experiment=run)
    # One wrong string of 256 is no reason to train longer; 40 are.
    for right, says in ((255, "run copy --scheme coupled "), (216, "run --config ")):
        rows = (LengthShares(8, Share(right, 256), Share(0, 0)), LengthShares(32, Share(0, 128), Share(0, 0)))
        _, command = advice(subject, Call("my-run"), Failures(rows, (), None, None, 8))
        assert says in command


def test_a_run_of_which_only_a_kind_fails_beyond_training_is_not_told_to_train_longer() -> None:
    run = lw.Experiment("copy", "sequential", "rope", max_length=8, test_lengths=[32]).configuration
    network = FunctionNetwork(lambda tokens, positions: torch.zeros(*tokens.shape, len(lw.task("copy").vocab)))
    subject = dataclasses.replace(subject_of(network, lw.task("copy"), train=8), experiment=run, scheme=run.scheme)
    rows = tuple(LengthShares(n, Share(128, 128), Share(0, 0)) for n in (8, 32))
    kind = WeakKind("all are equal", (KindShare(32, Share(9, 128), True),), None, None, None, ((32, Share(9, 128)),), 8)
    text, command = advice(subject, Call("my-run"), Failures(rows, (), None, None, 8, kinds=(kind,)))
    assert text.startswith("What mends it is not known.")
    assert command_in(command) == "lengthwise run --config my-run/config.json --seeds 3"


def test_a_break_right_beyond_training_comes_before_edited_strings_that_fail_within() -> None:
    network = FunctionNetwork(lambda tokens, positions: torch.zeros(*tokens.shape, len(lw.task("copy").vocab)))
    edited = LengthShares(8, Share(256, 256), Share(10, 256))
    for scheme, encoding, other in (("sequential", "rope", True), ("coupled", "learned", False)):
        run = lw.Experiment("copy", scheme, encoding, max_length=8, test_lengths=[12]).configuration
        subject = dataclasses.replace(subject_of(network, lw.task("copy"), train=8), experiment=run, scheme=run.scheme)
        rows = (edited, LengthShares(12, Share(0, 128), Share(0, 0)))
        text, _ = advice(subject, Call("my-run"), Failures(rows, (), None, None, 8))
        assert ("steps" not in text) is other


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_a_run_is_not_told_to_train_what_it_is(system: PositionSystem) -> None:
    command = run_command(lw.task("copy"), "copy", system.scheme, system.encoding, 8, 32)
    if command:
        run = lw.Experiment("copy", system.scheme, system.encoding, max_length=8, test_lengths=[32]).configuration
        assert _system(run) == _named(command)


def up_to(last: int, task: lw.Task) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """A model of {a,b}* that is right up to ``last`` symbols."""

    def model(ids: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        late = torch.arange(ids.shape[1]) > last
        return torch.where(late[:, None], -1.0, torch.ones(len(task.vocab))).expand(len(ids), -1, -1)

    return model


@pytest.mark.parametrize(("last", "says"), [(99, "lengths=[6, 12, 24]"), (8, "run 'regex:{a,b}*' --encoding")])
def test_what_holds_is_asked_further_and_what_breaks_gets_what_is_forecast(last: int, says: str) -> None:
    task = lw.task("regex:{a,b}*")
    told = lw.explain(up_to(last, task), task, train=6, lengths=[3, 6, 12], samples=16)
    assert says in command_in(told.command)
    if told.why:
        # That it is not known comes first, then each that was looked for with what came out.
        assert told.why.startswith("Not known.")
    for part in (told.accuracy, told.failures, told.automaton):
        assert len(repr(part)) < 600


def test_a_call_is_typed_again_with_what_was_given() -> None:
    call = Call("my run", {"task": {"name": "copy", "symbols": "repeats"}, "train": 4, "offset": "random"})
    words = shlex.split(call.again(samples=512, lengths=[4, 8]))
    assert words[:3] == ["lengthwise", "explain", "my run"]
    assert json.loads(words[words.index("--task") + 1]) == call.settings["task"]
    assert words[-4:] == ["--samples", "512", "--lengths", "4,8"]
    command_in(call.again(samples=512))
    for settings in ({"vocab": {"a": 1}, "train": 4}, {"task": lw.task("copy")}):
        ast.parse(Call("run", settings).again(samples=512))


def test_a_copy_that_is_trained_on_has_a_name_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [Call(name, {}).copy for name in ("my-adder/", "some/my-adder-2", "9", "a-b")] == [
        "my-adder-2", "some/my-adder-3", "9-2", "a-b-2",
    ]  # fmt: skip
    (tmp_path / "my-adder-2").mkdir()
    assert Call("my-adder", {"train": 8}).after() == "lengthwise explain my-adder-3 --train 8 --before my-adder"


def reach(ids: dict[str, Any]) -> Subject:
    task = lw.task("addition")
    network = FunctionNetwork(lambda tokens, positions: torch.zeros(*tokens.shape, len(task.vocab)))
    made = subject_of(network, task, train=4)
    return dataclasses.replace(made, scheme=lw.scheme(ids) if ids else None)


@pytest.mark.parametrize(
    ("ids", "most", "why"),
    [
        ({}, 12, ""),
        ({"name": "sequential", "max_position": 40}, 12, ""),
        ({"name": "coupled", "draw": "pose", "max_position": 24}, 21, "the model has room for no longer ones"),
        ({"name": "coupled", "draw": "pose", "max_position": 200}, 32, "ids for so long ones and longer"),
        ({"name": "coupled", "draw": "pose", "max_position": 10}, 7, "the model has room for no longer ones"),
    ],
)
def test_strings_are_asked_as_far_as_training_showed_ids(ids: dict[str, Any], most: int, why: str) -> None:
    subject = reach(ids)
    assert subject.most == subject.lengths(None)[-1] == most
    assert [line for line in subject.left_out(None) if why and why in line] == subject.left_out(None)


def test_a_model_that_is_right_to_a_shorter_length_is_asked_whether_that_was_the_trained_one() -> None:
    """Whoever trains on ``range(1, 6)`` says six."""
    task = lw.task("copy")

    def says(ids: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        said, sep = torch.zeros_like(ids), task.vocab["<sep>"]
        for row, tokens in enumerate(ids.tolist()):
            end = tokens.index(sep) + 1
            answer = task.vocab.encode(task.solve(task.vocab.decode(tokens[:end])))
            answer = answer[: len(tokens) - end + 1] if end < 2 + 6 else [0] * (len(tokens) - end + 1)
            said[row, end - 1 : end - 1 + len(answer)] = torch.tensor(answer)
        return torch.nn.functional.one_hot(said, len(task.vocab)).float()

    found = lw.explain(says, task, train=6, lengths=[3, 6, 9], samples=32)
    assert not found.learned
    assert found.next == f"If training ended at length {found.verdict.held}, say so. Else train longer."
    assert found.verdict.held == 5
    assert "train=5" in found.command
