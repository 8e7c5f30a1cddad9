"""Laws of training: batches are a function of (seed, step), and a resumed run is the run itself."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from lengthwise.core.errors import LengthwiseError
from lengthwise.models.config import ModelConfig
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.tasks import TASKS
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup, training_groups, training_lengths
from lengthwise.training.trainer import Trainer
from small import SCHEME_VARIANTS, Echo, fitting_scheme

TASK = TASKS.build("addition")
CONFIG = TrainingConfig(max_length=4, steps=8, batch_size=8, warmup=2, probe_every=3)
schemes = pytest.mark.parametrize("scheme", SCHEME_VARIANTS.values(), ids=SCHEME_VARIANTS.keys())


@schemes
def test_batches_are_a_function_of_seed_and_step(scheme):
    def drawn(seed: int, step: int) -> list:
        torch.rand(3)  # global generators play no part
        groups = training_groups(TASK, scheme, CONFIG, seed, step)
        return [(g.input_ids.tolist(), g.position_ids.tolist(), g.targets.tolist()) for g in groups]

    late = drawn(0, 7)
    assert drawn(0, 3) == drawn(0, 3)
    assert drawn(0, 7) == late, "steps need not be taken in order"
    assert len({str(drawn(seed, step)) for seed in (0, 1) for step in (0, 1)}) == 4
    assert len(late) == CONFIG.groups


def test_lengths_are_mixed_and_stay_in_the_training_range():
    tokens = {
        g.input_ids.shape[1]
        for step in range(30)
        for g in training_groups(TASK, SCHEME_VARIANTS["coupled"], CONFIG, 0, step)
    }
    assert tokens == {3 * n + 5 for n in (1, 2, 3, 4)}


def test_a_curriculum_begins_with_the_shortest_lengths():
    config = dataclasses.replace(CONFIG, steps=100, curriculum=0.5)
    longest = [0] * 10
    for step in range(100):
        for g in training_groups(TASK, SCHEME_VARIANTS["coupled"], config, 0, step):
            longest[step // 10] = max(longest[step // 10], (g.input_ids.shape[1] - 5) // 3)
    assert longest[:2] == [1, 2]
    assert longest == sorted(longest)
    assert longest[5:] == [4] * 5
    alone = training_groups(TASK, SCHEME_VARIANTS["coupled"], dataclasses.replace(config, stacked=True), 3, 30)
    assert max((g.input_ids.shape[1] - 5) // 3 for g in alone) <= 3


def test_priming_adds_a_share_of_longer_strings():
    config = dataclasses.replace(CONFIG, priming=0.1, priming_length=6, stacked=True)

    def lengths(config: TrainingConfig) -> list[int]:
        groups = [g for step in range(200) for g in training_groups(TASK, SCHEME_VARIANTS["coupled"], config, 0, step)]
        return [(g.input_ids.shape[1] - 5) // 3 for g in groups]

    drawn = lengths(config)
    longer = [n for n in drawn if n > CONFIG.max_length]
    assert set(longer) == {5, 6}
    assert 0.06 < len(longer) / len(drawn) < 0.14
    assert config.longest == 6
    assert max(lengths(CONFIG)) == CONFIG.longest == 4
    with pytest.raises(ValueError, match="priming_length must exceed max_length"):
        dataclasses.replace(CONFIG, priming=0.1, priming_length=4)
    few = TASKS.build({"name": "copy", "symbols": "distinct", "letters": 5})
    with pytest.raises(LengthwiseError, match="has no instances of lengths 6 to 7; change"):
        training_lengths(few, TrainingConfig(max_length=5, priming=0.1, priming_length=7), primed=True)


def test_a_range_without_instances_is_refused():
    with pytest.raises(LengthwiseError, match="task 'echo' has no instances of lengths 1 to 1; change training"):
        training_lengths(Echo(), TrainingConfig(max_length=1))


def new_trainer(folder: Path | None, scheme, steps: int = 8) -> Trainer:
    model = ModelConfig(layers=1, heads=2, width=16, mlp_ratio=1, dropout=0.2)
    setup = TaskSetup(TASK, fitting_scheme(scheme, TASK), ENCODINGS.build("learned"), model)
    return Trainer(setup, CONFIG, [0], folder=folder)


class Stop(Exception):
    """Ends a run in the middle."""


@pytest.mark.parametrize("stops", [[1], [3], [4, 5], [3, 6, 7], [1, 2, 3, 4, 5, 6, 7]], ids=str)
@pytest.mark.parametrize("name", ["coupled", "predictive-coupling"])
def test_a_resumed_run_ends_in_the_same_bits(tmp_path: Path, name: str, stops: list[int]):
    scheme = SCHEME_VARIANTS[name]
    through = new_trainer(tmp_path / "through", scheme)
    through.run()
    for stop in stops:
        run = new_trainer(tmp_path / "stopped", scheme)

        def leave(step: int, loss: float, stop: int = stop) -> None:
            if step == stop:
                raise Stop

        run.on_step = leave
        with pytest.raises(Stop):
            run.run()
    last = new_trainer(tmp_path / "stopped", scheme)
    last.run()
    for mine, theirs in zip(through.model.parameters(), last.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert last.progress.probes == through.progress.probes
    assert (tmp_path / "stopped" / "log.jsonl").read_bytes() == (tmp_path / "through" / "log.jsonl").read_bytes()


def test_a_diverging_run_says_so(tmp_path: Path):
    run = new_trainer(tmp_path, SCHEME_VARIANTS["coupled"])
    with torch.no_grad():
        next(run.model.parameters()).fill_(float("nan"))
    with pytest.raises(LengthwiseError, match=r"training diverged: .*lower training.lr"):
        run.run()[0].trained()
    assert not (tmp_path / "checkpoint.safetensors").exists()
