"""Checkpoints: what is damaged is refused or replaced by the one before it, what can't be written changes nothing."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from lengthwise.core.errors import LengthwiseError, TrainingDivergedError
from lengthwise.models import tensor_files
from lengthwise.models.config import ModelConfig
from lengthwise.models.tensor_files import digest_of
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import Coupled
from lengthwise.tasks import TASKS
from lengthwise.training import checkpoint
from lengthwise.training.checkpoint import FILE, PREVIOUS, CheckpointWarning
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup
from lengthwise.training.runs import Progress, Run, StackProgress
from lengthwise.training.trainer import Trainer
from oracle import SMALL

CONFIG = TrainingConfig(max_length=3, steps=6, batch_size=8, warmup=1, probe_every=2)


class Stop(Exception):
    """Ends a run in the middle."""


def trainer(folder: Path | None, seeds: tuple[int, ...] = (0,), model: ModelConfig = SMALL, stop: int = 0) -> Trainer:
    def on_step(step: int, loss: float) -> None:
        if step == stop:
            raise Stop

    setup = TaskSetup(TASKS.build("addition"), Coupled(max_position=20), ENCODINGS.build("learned"), model)
    return Trainer(setup, CONFIG, seeds, folder=folder, on_step=on_step)


def stopped(folder: Path, step: int = 5, seeds: tuple[int, ...] = (0,)) -> Path:
    """Train up to ``step``; returns the newest checkpoint."""
    with pytest.raises(Stop):
        trainer(folder, seeds, stop=step).run()
    return folder / FILE


def weights(run: Trainer) -> list[bytes]:
    return [p.detach().numpy().tobytes() for state in run.states if state.model for p in state.model.parameters()]


def test_no_checkpoint_is_no_error(tmp_path: Path):
    assert checkpoint.read(tmp_path) is None
    assert checkpoint.load_model(tmp_path, trainer(None).model) is None


@pytest.mark.parametrize("kept", [0.0, 0.001, 0.3, 0.9, 0.9999])
def test_truncated_files_are_refused(tmp_path: Path, kept: float):
    path = stopped(tmp_path, 3)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])
    assert_refused(tmp_path)


@pytest.mark.parametrize("where", [0.0, 0.01, 0.02, 0.05, 0.3, 0.5, 0.7, 0.95])
def test_one_flipped_bit_is_noticed(tmp_path: Path, where: float):
    """In the header, in the progress and in the numbers: a weight that is only a little wrong is wrong too."""
    path = stopped(tmp_path, 3)
    data = bytearray(path.read_bytes())
    data[int(len(data) * where)] ^= 1
    path.write_bytes(data)
    assert_refused(tmp_path)


def test_the_checkpoint_of_another_model_is_refused(tmp_path: Path):
    stopped(tmp_path, 3)
    for changes in ({"layers": 1}, {"width": 32}, {"tied": True}, {"qk_norm": False}):
        assert_refused(tmp_path, ModelConfig(**{**vars(SMALL), **changes}))


def assert_refused(folder: Path, model: ModelConfig = SMALL) -> None:
    for load in (
        trainer(folder, model=model).run,
        lambda: checkpoint.load_model(folder, trainer(None, model=model).model),
    ):
        with pytest.raises(LengthwiseError, match="is damaged or of another model; delete it and run again") as error:
            load()
        assert "\n" not in str(error.value)


def rewritten(path: Path, change: Any, *, digest: bool) -> None:
    """The file with its progress changed, with a digest that fits or the one it had."""
    with safe_open(path, framework="pt") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    old, about = metadata["about"].split(" ", 1)
    values = json.loads(about)
    change(values)
    text = json.dumps(values)
    save_file(tensors, path, {"about": f"{digest_of(tensors, text) if digest else old} {text}"})


CHANGES = {
    "another step": lambda v: v.update(step=1),
    "done": lambda v: v["progress"][0].update(done=True),
    "a negative step": lambda v: (v.update(step=-5), v["progress"][0].update(step=-5)),
    "a step in letters": lambda v: v.update(step="x"),
    "not a number": lambda v: v.update(seconds=float("nan")),
    "negative seconds": lambda v: v["progress"][0].update(seconds=-1e9),
    "no probes": lambda v: v["progress"][0].update(probes=None),
    "no such member": lambda v: v.update(members=[3]),
    "members twice": lambda v: v.update(members=[0, 0]),
    "no members": lambda v: v.update(members=[]),
    "no runs": lambda v: v.update(runs=[]),
    "an unknown field": lambda v: v.update(more=1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_progress_that_was_changed_is_noticed(tmp_path: Path, change: Any):
    path = stopped(tmp_path, 3)
    rewritten(path, change, digest=False)
    assert_refused(tmp_path)


MALFORMED = [name for name in CHANGES if name != "done"]
"""With a digest made anew, a run that says that it is done is one that is done."""


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_progress_is_one_clear_line(tmp_path: Path, name: str):
    path = stopped(tmp_path, 3)
    rewritten(path, CHANGES[name], digest=True)
    assert_refused(tmp_path)


@pytest.mark.parametrize("seeds", [(0,), (0, 1)])
@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: b"", None])
def test_the_one_before_takes_the_place_of_a_damaged_one(tmp_path: Path, damage: Any, seeds: tuple[int, ...]):
    through = trainer(tmp_path / "through", seeds)
    through.run()
    path = stopped(tmp_path / "stopped", 5, seeds)
    if damage is None:
        path.unlink()  # as after a crash between two renames: nothing to warn of
        trainer(tmp_path / "stopped", seeds, stop=1000).run()
    else:
        path.write_bytes(damage(path.read_bytes()))
        again = trainer(tmp_path / "stopped", seeds)
        with pytest.warns(CheckpointWarning, match="is damaged; going on from the one before it, at step 2"):
            again.run()
        assert weights(again) == weights(through)
    last = trainer(tmp_path / "stopped", seeds)
    last.run()
    assert weights(last) == weights(through)
    assert [state.progress.probes for state in last.states] == [state.progress.probes for state in through.states]


def test_two_damaged_ones_are_refused(tmp_path: Path):
    stopped(tmp_path, 5)
    for name in (FILE, PREVIOUS):
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-1])
    assert_refused(tmp_path)


def test_files_get_the_permissions_of_any_new_file(tmp_path: Path):
    before = os.umask(0o027)
    try:
        path = stopped(tmp_path, 5)
    finally:
        os.umask(before)
    assert [(path.with_name(name).stat().st_mode & 0o777) for name in (FILE, PREVIOUS, "log.jsonl")] == [0o640] * 3


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_never_replace_good_ones(tmp_path: Path, value: float):
    path = stopped(tmp_path, 3)
    before = path.read_bytes()
    run = trainer(tmp_path)

    def spoil(step: int, loss: float) -> None:
        with torch.no_grad():
            next(run.stack.parameters()).view(-1)[3] = value

    run.on_step = spoil
    (state,) = run.run()
    with pytest.raises(TrainingDivergedError, match=r"training diverged: .* at step 4; lower training.lr"):
        state.trained()
    tensors = {"stack.w": torch.tensor([value])}
    with pytest.raises(TrainingDivergedError, match=r"training diverged: weights are not finite at step 9"):
        checkpoint.write(tmp_path, tensors, StackProgress(9, 0.0, [Run(0)], [], [Progress(9)], [None]))
    assert path.read_bytes() == before


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), SafetensorError("I/O error: No space left")])
def test_a_full_disk_keeps_the_last_checkpoint(tmp_path: Path, monkeypatch, error: Exception):
    path = stopped(tmp_path, 3)
    before = path.read_bytes()

    def full(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(tensor_files, "save_file", full)
    with pytest.raises(LengthwiseError, match=r"cannot write .*No space left.*free space or choose another folder"):
        trainer(tmp_path).run()
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == [FILE, "log.jsonl"]


def test_a_stack_is_not_the_checkpoint_of_one_run(tmp_path: Path):
    stopped(tmp_path, 3, (0, 1))
    with pytest.raises(LengthwiseError, match="is damaged or of another model"):
        checkpoint.load_model(tmp_path, trainer(None).model)
    with pytest.raises(LengthwiseError, match="is of other runs; choose another folder"):
        dataclasses.replace(trainer(tmp_path), runs=[3, 4]).run()
