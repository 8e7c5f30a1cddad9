"""Ranks share a batch without losing or doubling a row, and together take the step of one process."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
from torchrun_processes import ended, losses, torchrun

from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.run_config import RunConfig
from lengthwise.training import ranks as ranks_module
from lengthwise.training.data import TaskSetup
from lengthwise.training.ranks import Ranks
from lengthwise.training.trainer import Trainer

EXPERIMENT = RunConfig.from_json(
    {
        "task": {"name": "addition"},
        "scheme": {"name": "coupled", "max_position": 24},
        "encoding": {"name": "learned"},
        "model": {"layers": 1, "heads": 2, "width": 16, "mlp_ratio": 1},
        "training": {
            "max_length": 4, "steps": 6, "batch_size": 16, "groups": 2, "probe_every": 2, "stacked": True,
            "regularizer": 1e-3,
        },
        "evaluation": {"lengths": [2], "samples": 8, "fit_samples": 8, "probe_samples": 6, "unfitted_too": True},
    }
)  # fmt: skip
SETUP = TaskSetup(EXPERIMENT.task, EXPERIMENT.scheme, EXPERIMENT.encoding, EXPERIMENT.model)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("seeds", [(0,), (0, 1, 2)])
def test_the_rows_of_all_ranks_are_those_of_one_process(size: int, seeds: tuple[int, ...]) -> None:
    groups = Trainer(SETUP, EXPERIMENT.training, seeds).groups(3)
    shares = [Ranks(rank, size).share(groups, len(seeds)) for rank in range(size)]
    for index, group in enumerate(groups):
        rows = [share[index].input_ids.reshape(len(seeds), -1, group.input_ids.shape[1]) for share in shares]
        together = torch.cat(rows, dim=1).reshape(group.input_ids.shape)
        assert torch.equal(together, group.input_ids)
        assert sum(share[index].scored for share in shares) == group.scored


def test_gradients_add_up_to_those_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three ranks, one after the other in this process: what they would add up is the gradient of the whole batch."""

    def gradients(ranks: Ranks | None) -> torch.Tensor:
        trainer = Trainer(SETUP, EXPERIMENT.training, (0, 1), ranks=ranks)
        held: list[torch.Tensor] = []
        monkeypatch.setattr(trainer.optimizer, "clip", lambda _: held.append(flat(trainer)))
        trainer.step(0)
        return held[0]

    def flat(trainer: Trainer) -> torch.Tensor:
        found = [p.grad for p in trainer.stack.parameters() if p.grad is not None]
        return torch.cat([gradient.reshape(-1) for gradient in found])

    whole = gradients(None)
    monkeypatch.setattr(ranks_module.dist, "all_reduce", lambda tensor: None)
    parts = [gradients(Ranks(rank, 3)) for rank in range(3)]
    torch.testing.assert_close(sum(parts), whole, rtol=1e-4, atol=1e-6)
    assert all(float((part - whole).abs().max()) > 1e-4 for part in parts)


def test_what_ranks_can_t_share_is_one_line() -> None:
    with pytest.raises(LengthwiseError, match="16 ranks can't share groups of 8 sequences; start fewer ranks"):
        Trainer(SETUP, EXPERIMENT.training, (0,), ranks=Ranks(0, 16))
    dropout = dataclasses.replace(SETUP, model=dataclasses.replace(SETUP.model, dropout=0.1))
    with pytest.raises(LengthwiseError, match=r"dropout must be 0 with several ranks, got 0\.1"):
        Trainer(dropout, EXPERIMENT.training, (0,), ranks=Ranks(0, 2))


@pytest.mark.slow
def test_curves_of_one_two_and_four_ranks_agree_and_a_killed_rank_is_resumed(tmp_path: Path) -> None:
    for count in (1, 2, 4):
        ended(torchrun(count, tmp_path / str(count), steps=300, layers=1))
    one = losses(tmp_path / "1")
    assert len(one) == 15
    for count in (2, 4):
        assert losses(tmp_path / str(count)) == pytest.approx(one, rel=2e-3)
    out = tmp_path / "killed"
    process = torchrun(2, out, steps=300, layers=1)
    while not list(out.glob("*/*/checkpoint.safetensors")):
        assert process.poll() is None
        time.sleep(0.05)
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True)
    os.kill(int(children.stdout.split()[-1]), signal.SIGKILL)
    process.communicate(timeout=200)
    assert process.returncode != 0
    assert not list(out.glob("*/*/result.json"))
    ended(torchrun(4, out, steps=300, layers=1))
    assert losses(out) == pytest.approx(one, rel=2e-3)
