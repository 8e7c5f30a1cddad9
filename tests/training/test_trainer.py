"""A stack of runs equals its separate runs, resumes in the same bits, and lets fitted and diverged runs go."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from lengthwise.core.errors import LengthwiseError
from lengthwise.models.config import ModelConfig
from lengthwise.models.stacked import TransformerStack
from lengthwise.models.transformer import Transformer
from lengthwise.positions.encodings import ENCODINGS, ALiBiSpec, EncodingSpec, LearnedSpec, NoPESpec, RoPESpec
from lengthwise.positions.schemes import Coupled, PositionScheme, PredictiveCoupling, Sequential
from lengthwise.tasks.addition import Addition
from lengthwise.training import trainer as training_loop
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup, stacked_groups, training_groups
from lengthwise.training.trainer import Trainer

TASK = Addition()
TINY = ModelConfig(layers=2, heads=2, width=16)
CONFIG = TrainingConfig(max_length=4, steps=6, batch_size=8, groups=2, warmup=2, probe_every=3, stacked=True)
PLAIN, PREDICTED = Sequential(max_position=40), PredictiveCoupling(max_position=30, draw="contiguous")
CASES: list[tuple[PositionScheme, EncodingSpec, ModelConfig]] = [
    (PLAIN, NoPESpec(), TINY),
    (PLAIN, LearnedSpec(), dataclasses.replace(TINY, norm="layer", bias=True, tied=True, qk_norm=False)),
    (PLAIN, RoPESpec(), dataclasses.replace(TINY, log_length=8)),
    (PLAIN, ENCODINGS.build("fire"), TINY),
    (PLAIN, ENCODINGS.build("t5"), TINY),
    (Coupled(max_position=30), ALiBiSpec(), TINY),
    (PREDICTED, ENCODINGS.build("sinusoidal"), TINY),
    (PREDICTED, LearnedSpec(), dataclasses.replace(TINY, log_length=8, init="fan_in")),
    (PLAIN, LearnedSpec(), dataclasses.replace(TINY, norm="peri")),
]


def stack(runs: list[int], case: int = 0, config: TrainingConfig = CONFIG, **more: Any) -> Trainer:
    return Trainer(TaskSetup(TASK, *CASES[case]), config, runs, **more)


def separate(seed: int, case: int = 0, config: TrainingConfig = CONFIG) -> Trainer:
    return stack([seed], case, config)


def distance(first: Transformer, second: Transformer) -> float:
    states = first.state_dict(), second.state_dict()
    assert states[0].keys() == states[1].keys()
    return max(float((states[0][name] - states[1][name]).abs().max()) for name in states[0])


@pytest.mark.parametrize("case", range(len(CASES)))
def test_each_run_equals_its_separate_run_step_by_step(case: int) -> None:
    seeds = [3, 0, 9]
    trainer = stack(list(seeds), case)
    others = [separate(seed, case) for seed in seeds]
    for step in range(CONFIG.steps):
        losses = trainer.step(step)
        assert losses.tolist() == pytest.approx([other.step(step).item() for other in others], rel=1e-4)
        for place, other in enumerate(others):
            assert distance(trainer.stack.unstack(place), other.model) < 5e-4


def test_gradients_are_clipped_by_each_runs_own_norm() -> None:
    trainer = stack([0, 1])
    for parameter in trainer.stack.parameters():
        parameter.grad = torch.ones_like(parameter)
        parameter.grad[0] *= 1e-4
    before = [parameter.grad.clone() for parameter in trainer.stack.parameters() if parameter.grad is not None]
    norms = trainer.optimizer.clip(0.5)
    size = sum(parameter[0].numel() for parameter in trainer.stack.parameters())
    assert norms.tolist() == pytest.approx([1e-4 * size**0.5, size**0.5], rel=1e-4)
    for parameter, old in zip(trainer.stack.parameters(), before, strict=True):
        assert parameter.grad is not None
        assert torch.equal(parameter.grad[0], old[0])
    total = sum(float(p.grad[1].square().sum()) for p in trainer.stack.parameters() if p.grad is not None)
    assert total**0.5 == pytest.approx(0.5, rel=1e-4)


def test_a_seeds_data_do_not_depend_on_the_rest_of_the_stack() -> None:
    alone = training_groups(TASK, PLAIN, CONFIG, 9, 4)
    among = stacked_groups(TASK, PLAIN, CONFIG, [2, 9, 17], 4)
    rows = CONFIG.batch_size // CONFIG.groups
    for one, many in zip(alone, among, strict=True):
        assert torch.equal(one.input_ids, many.input_ids[rows : 2 * rows])
        assert torch.equal(one.targets, many.targets[rows : 2 * rows])


def test_seeds_draw_different_sequences_of_the_same_lengths() -> None:
    config = dataclasses.replace(CONFIG, min_length=4)
    groups = [training_groups(TASK, PLAIN, config, seed, 0) for seed in range(20)]
    shapes = {tuple(group.input_ids.shape for group in one) for one in groups}
    assert len(shapes) == 1
    texts = {one[0].input_ids.numpy().tobytes() for one in groups}
    assert len(texts) == 20


def test_resume_is_bit_identical(tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, steps=9)

    def fitted(model: Transformer, step: int, seed: int) -> dict[str, Any]:
        return {"fitted": seed == 1 and step == 3}

    config = dataclasses.replace(config, stop_when_fitted=True)
    whole = stack([0, 1, 2], 7, config, folder=tmp_path / "whole", probe=fitted)
    whole.run()

    class Killed(Exception):
        pass

    def kill(step: int, loss: float) -> None:
        if step == 5:
            raise Killed

    first = stack([0, 1, 2], 7, config, folder=tmp_path / "parts", probe=fitted, on_step=kill)
    with pytest.raises(Killed):
        first.run()
    second = stack([0, 1, 2], 7, config, folder=tmp_path / "parts", probe=fitted)
    second.run()
    for one, other in zip(whole.states, second.states, strict=True):
        assert one.model is not None
        assert other.model is not None
        assert distance(one.model, other.model) == 0
        assert [probe["step"] for probe in one.progress.probes] == [probe["step"] for probe in other.progress.probes]
    assert [state.progress.step for state in second.states] == [9, 3, 9]


def test_a_fitted_run_leaves_and_the_others_go_on_as_if_alone() -> None:
    config = dataclasses.replace(CONFIG, stop_when_fitted=True)
    trainer = stack([0, 1], config=config, probe=lambda model, step, seed: {"fitted": seed == 0})
    states = trainer.run()
    assert [state.progress.step for state in states] == [3, 6]
    alone = separate(1)
    alone.run()
    assert states[1].model is not None
    assert distance(states[1].model, alone.model) < 1e-4


def test_a_diverged_run_leaves_without_harm_to_the_others() -> None:
    trainer = stack([0, 1])
    with torch.no_grad():
        next(trainer.stack.parameters())[0] = float("nan")
    states = trainer.run()
    assert states[0].model is None
    assert states[0].failure is not None
    assert "lower training.lr" in states[0].failure
    alone = separate(1)
    alone.run()
    assert states[1].model is not None
    assert distance(states[1].model, alone.model) < 1e-4


def test_an_ended_run_leaves_an_ordinary_checkpoint(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    states = stack([4, 5], folder=tmp_path / "stack", run_folders=folders).run()
    for state, folder in zip(states, folders, strict=True):
        trainer = stack([state.run.seed], folder=folder)
        trainer.run()
        assert trainer.progress == state.progress
        assert trainer.progress.done
        assert state.model is not None
        assert distance(trainer.model, state.model) == 0
        assert (folder / "log.jsonl").read_text().count("\n") == 2


def test_a_folder_of_other_runs_is_refused(tmp_path: Path) -> None:
    stack([0, 1], folder=tmp_path).run()
    with pytest.raises(LengthwiseError, match="is of other runs"):
        stack([0, 2], folder=tmp_path).run()


def test_an_empty_stack_is_refused() -> None:
    with pytest.raises(LengthwiseError, match="at least one run"):
        stack([])


def test_the_regularizer_and_bf16_work_in_a_stack() -> None:
    config = dataclasses.replace(CONFIG, regularizer=0.1)
    trainer, other = stack([6, 7], 1, config), separate(7, 1, config)
    for step in range(3):
        trainer.step(step)
        other.step(step)
    assert distance(trainer.stack.unstack(1), other.model) < 1e-4
    for case in (0, -1):
        losses = stack([6, 7], case, dataclasses.replace(CONFIG, precision="bf16")).step(0)
        assert losses.tolist() == pytest.approx(stack([6, 7], case).step(0).tolist(), rel=0.02)


def test_a_large_stack_takes_group_by_group_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    trainers = []
    for limit in (0, training_loop.JOINED):
        monkeypatch.setattr(training_loop, "JOINED", limit)
        trainers.append(stack([0, 1]))
        trainers[-1].step(0)
    assert distance(trainers[0].stack.unstack(1), trainers[1].stack.unstack(1)) < 1e-4


def test_unstacking_gives_back_the_very_models() -> None:
    trainer = stack([0, 1, 2], 7)
    models = [separate(seed, 7).model for seed in (0, 1, 2)]
    again = TransformerStack(models)
    assert again.runs == 3
    for place, model in enumerate(models):
        assert distance(again.unstack(place), model) == 0
        assert distance(trainer.stack.unstack(place), model) == 0
    again.select([2])
    assert again.runs == 1
    assert distance(again.unstack(0), models[2]) == 0
