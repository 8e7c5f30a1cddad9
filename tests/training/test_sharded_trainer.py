"""A training spread over ranks takes the steps of one process, and its checkpoints are those of any training."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torchrun_processes import ended, losses, torchrun

from lengthwise.cli.main import main
from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.run_config import RunConfig
from lengthwise.training import checkpoint
from lengthwise.training.data import TaskSetup
from lengthwise.training.distributed import ShardedTrainer
from lengthwise.training.ranks import Ranks
from lengthwise.training.trainer import Trainer

EXPERIMENT = RunConfig.from_json(
    {
        "task": {"name": "addition"},
        "scheme": {"name": "coupled", "max_position": 24},
        "encoding": {"name": "learned"},
        "model": {"layers": 2, "heads": 2, "width": 16, "mlp_ratio": 1, "qk_norm": True, "tied": False},
        "training": {"max_length": 4, "steps": 6, "batch_size": 16, "groups": 2, "probe_every": 2, "clip": 0.1},
        "evaluation": {"lengths": [2], "samples": 8, "fit_samples": 8, "probe_samples": 6, "unfitted_too": True},
    }
)
SETUP = TaskSetup(EXPERIMENT.task, EXPERIMENT.scheme, EXPERIMENT.encoding, EXPERIMENT.model)
ALONE = Ranks(0, 1, shards=True)


class Stopped(Exception):
    pass


@pytest.fixture
def group(tmp_path: Path) -> Iterator[None]:
    """One rank, which has everything to itself and goes through all that several would."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


def probe(model: torch.nn.Module, step: int, seed: int) -> dict[str, Any]:
    return {"weights": float(sum(p.detach().double().abs().sum() for p in model.parameters()))}


def trained(kind: type[Trainer], folder: Path, *, stop: int | None = None) -> list[dict[str, Any]]:
    def on_step(step: int, loss: float) -> None:
        if step == stop:
            raise Stopped

    ranks = ALONE if kind is ShardedTrainer else None
    (state,) = kind(SETUP, EXPERIMENT.training, (0,), probe, folder, on_step=on_step, ranks=ranks).run()
    assert state.model is not None
    assert probe(state.model, 0, 0)["weights"] == state.progress.probes[-1]["weights"]
    return state.progress.probes


def same(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> bool:
    return all(left == pytest.approx(right, rel=1e-6) for left, right in zip(found, wanted, strict=True))


def test_the_steps_of_one_process(group: None, tmp_path: Path) -> None:
    probes = trained(Trainer, tmp_path / "whole")
    assert same(trained(ShardedTrainer, tmp_path / "shards"), probes)
    assert trained(ShardedTrainer, tmp_path / "shards") == trained(Trainer, tmp_path / "shards"), "both read it"
    whole, shards = (checkpoint.read(tmp_path / name) for name in ("whole", "shards"))
    assert whole is not None
    assert shards is not None
    assert set(whole[0]) == set(shards[0])
    for name, tensor in whole[0].items():
        torch.testing.assert_close(shards[0][name], tensor, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("first", "then"), [(Trainer, ShardedTrainer), (ShardedTrainer, Trainer)])
def test_each_goes_on_with_the_other_s_checkpoint(
    group: None, tmp_path: Path, first: type[Trainer], then: type[Trainer]
) -> None:
    probes = trained(Trainer, tmp_path / "whole")
    with pytest.raises(Stopped):
        trained(first, tmp_path / "mixed", stop=5)
    assert same(trained(then, tmp_path / "mixed"), probes)


def test_a_checkpoint_of_another_model_is_refused(group: None, tmp_path: Path) -> None:
    trained(Trainer, tmp_path)
    other = dataclasses.replace(SETUP, model=dataclasses.replace(SETUP.model, layers=1))
    with pytest.raises(LengthwiseError, match="is damaged or of another model"):
        ShardedTrainer(other, EXPERIMENT.training, (0,), folder=tmp_path, ranks=ALONE).run()


def test_what_can_t_be_spread_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(LengthwiseError, match="`shard` trains one seed at a time, got 2; give one of `seeds`"):
        ShardedTrainer(SETUP, EXPERIMENT.training, (0, 1), ranks=ALONE)
    regularized = dataclasses.replace(EXPERIMENT.training, regularizer=1e-3)
    with pytest.raises(LengthwiseError, match=r"training\.regularizer needs whole weights; leave out `shard`"):
        ShardedTrainer(SETUP, regularized, (0,), ranks=ALONE)
    assert main(["run", "addition", "--shard", "--out", str(tmp_path)]) == 2
    assert "--shard needs several ranks; start with `torchrun" in capsys.readouterr().err


@pytest.mark.slow
def test_two_and_three_ranks_agree_with_one_process_and_a_killed_rank_is_resumed_by_fewer(tmp_path: Path) -> None:
    """Three ranks divide no axis of some matrices, which are then on one of them."""
    ended(torchrun(1, tmp_path / "one", steps=200, layers=2))
    one = losses(tmp_path / "one")
    assert len(one) == 10
    for count in (2, 3):
        ended(torchrun(count, tmp_path / str(count), "--shard", steps=200, layers=2))
        assert losses(tmp_path / str(count)) == pytest.approx(one, rel=2e-3)
    out = tmp_path / "killed"
    process = torchrun(2, out, "--shard", steps=200, layers=2)
    while not list(out.glob("*/*/checkpoint.safetensors")):
        assert process.poll() is None
        time.sleep(0.05)
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True)
    os.kill(int(children.stdout.split()[-1]), signal.SIGKILL)
    process.communicate(timeout=200)
    assert not list(out.glob("*/*/result.json"))
    ended(torchrun(1, out, steps=200, layers=2))
    assert losses(out) == pytest.approx(one, rel=2e-3)
