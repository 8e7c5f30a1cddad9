"""Checkpoints: what is damaged is refused in one line, what can't be written leaves the last good one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from lengthwise.core.errors import LengthwiseError
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes.coupled import Coupled
from lengthwise.tasks import TASKS
from lengthwise.training import checkpoint
from lengthwise.training.checkpoint import Progress
from lengthwise.training.config import TrainingConfig
from lengthwise.training.trainer import Trainer
from oracle import SMALL


def trainer(model: ModelConfig = SMALL) -> Trainer:
    result = Trainer(
        TASKS.build("addition"),
        Coupled(max_position=20),
        ENCODINGS.build("learned"),
        model,
        TrainingConfig(max_length=3, steps=4, batch_size=8),
        0,
    )
    result.step(0)
    return result


def save(folder: Path, run: Trainer, step: int = 1) -> Path:
    checkpoint.save(folder, run.model, run.optimizer, Progress(step=step, probes=[{"step": 1, "loss": 0.5}]))
    return folder / checkpoint.FILE


def test_everything_comes_back(tmp_path: Path):
    run, other = trainer(), trainer()
    run.step(1)
    save(tmp_path, run, step=2)
    progress = checkpoint.load(tmp_path, other.model, other.optimizer)
    assert progress == Progress(step=2, probes=[{"step": 1, "loss": 0.5}])
    assert other.step(2) == run.step(2)
    for mine, theirs in zip(run.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_no_checkpoint_is_no_error(tmp_path: Path):
    assert checkpoint.load(tmp_path, trainer().model, None) is None


@pytest.mark.parametrize("kept", [0.0, 0.001, 0.3, 0.9, 0.9999])
def test_truncated_files_are_refused(tmp_path: Path, kept: float):
    path = save(tmp_path, trainer())
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])
    assert_refused(tmp_path)


@pytest.mark.parametrize("where", [0.0, 0.02, 0.3, 0.5, 0.7, 0.95])
def test_one_flipped_bit_is_noticed(tmp_path: Path, where: float):
    """In the header and in the numbers: a weight that is only a little wrong is wrong too."""
    path = save(tmp_path, trainer())
    data = bytearray(path.read_bytes())
    data[int(len(data) * where)] ^= 1
    path.write_bytes(data)
    assert_refused(tmp_path)


def test_the_checkpoint_of_another_model_is_refused(tmp_path: Path):
    save(tmp_path, trainer())
    for changes in ({"layers": 1}, {"width": 32}, {"tied": True}, {"qk_norm": False}):
        assert_refused(tmp_path, ModelConfig(**{**vars(SMALL), **changes}))


def assert_refused(folder: Path, model: ModelConfig = SMALL) -> None:
    run = trainer(model)
    with pytest.raises(LengthwiseError, match="is damaged or of another model; delete it and run again") as error:
        checkpoint.load(folder, run.model, run.optimizer)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_never_replace_good_ones(tmp_path: Path, value: float):
    run = trainer()
    path = save(tmp_path, run)
    before = path.read_bytes()
    with torch.no_grad():
        next(run.model.parameters()).view(-1)[3] = value
    with pytest.raises(LengthwiseError, match=r"training diverged: weights are not finite at step 9"):
        save(tmp_path, run, step=9)
    assert path.read_bytes() == before


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), SafetensorError("I/O error: No space left")])
def test_a_full_disk_keeps_the_last_checkpoint(tmp_path: Path, monkeypatch, error: Exception):
    run = trainer()
    path = save(tmp_path, run)
    before = path.read_bytes()

    def full(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(LengthwiseError, match=r"cannot write .*No space left.*free space or choose another folder"):
        save(tmp_path, run, step=2)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [checkpoint.FILE]
