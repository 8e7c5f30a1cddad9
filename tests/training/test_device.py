"""A training step asks its device for no number and mixes no devices.

The device here is torch's ``meta``: it holds no numbers, and refuses to be asked for one and to work on tensors of
other devices. What it cannot show is speed, copies that block, and bf16, which has no autocast there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from importlib import import_module

import pytest

from lengthwise.core.batch import Batch, Layout
from lengthwise.core.rng import Rng, stream
from lengthwise.models.config import ModelConfig
from lengthwise.models.inputs import Inputs
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import PositionScheme, Sequential
from lengthwise.tasks import Task
from lengthwise.tasks.language import Language
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup
from lengthwise.training.threads import READ_EVERY, reads_loss
from lengthwise.training.trainer import Trainer
from small import ENCODING_NAMES, SCHEME_VARIANTS, Echo, fitting_scheme

CONFIG = TrainingConfig(max_length=4, steps=2, batch_size=8, groups=2, warmup=1, stacked=True)
BARE = ModelConfig(1, 2, 16, mlp_ratio=1)
GPT2 = dataclasses.replace(BARE, norm="layer", bias=True, tied=True, qk_norm=False)


@pytest.fixture(autouse=True)
def fused_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch has a fused AdamW for ``meta``, but its optimizer has no such entry in its list of devices."""
    monkeypatch.setattr(import_module("torch.optim.adam"), "_device_dtype_check_for_fused", lambda *given, **more: None)


class Gaps(Echo):
    """`Echo` with a token in the middle of its answer that is not scored: the scored positions are no slice."""

    def batch(self, length: int, size: int, rng: Rng, layout: Layout | None = None) -> Batch:
        batch = super().batch(length, size, rng, layout)
        columns = list(batch.columns)
        columns[-2] = columns[-2]._replace(scored=False, answer=False)
        return dataclasses.replace(batch, columns=tuple(columns))


def assert_no_waiting(
    task: Task,
    scheme: PositionScheme,
    encoding: str,
    model: ModelConfig = BARE,
    config: TrainingConfig = CONFIG,
    steps: int = 1,
    stacks: Sequence[int] = (1, 2),
) -> None:
    setup = TaskSetup(task, fitting_scheme(scheme, task), ENCODINGS.build(encoding), model)
    for runs in stacks:
        trainer = Trainer(setup, config, range(runs), device="meta")
        assert [trainer.step(step).shape for step in range(steps)] == [(runs,)] * steps
        assert all(parameter.device.type == "meta" for parameter in trainer.stack.parameters())


WAITING = {"dynamic-ntk"}
"""Encodings for models that are trained already: they look at the ids to find queries beyond the trained length."""


@pytest.mark.parametrize("encoding", [name for name in ENCODING_NAMES if name not in WAITING])
def test_no_encoding_makes_a_step_wait(encoding: str) -> None:
    # Two layers, for patterns that name two.
    assert_no_waiting(Echo(), Sequential(max_position=20), encoding, dataclasses.replace(BARE, layers=2))


@pytest.mark.parametrize(
    ("scheme", "id_head", "task", "runs"),
    [
        # Both tasks, and models alone and in a stack, in turn.
        pytest.param(
            scheme, id_head, (Echo(), Gaps())[(number + turn) % 2], 1 + number // 2 % 2, id=f"{name}-{id_head}"
        )
        for number, (name, scheme) in enumerate(SCHEME_VARIANTS.items())
        for turn, id_head in enumerate(("classification", "pointer"))
        if scheme.predicted or id_head == "classification"
    ],
)
def test_no_scheme_makes_a_step_wait(scheme: PositionScheme, id_head: str, task: Task, runs: int) -> None:
    assert_no_waiting(task, scheme, "learned", dataclasses.replace(BARE, id_head=id_head), stacks=[runs])


@pytest.mark.parametrize("model", [GPT2, dataclasses.replace(BARE, norm="peri", log_length=4)], ids=["gpt2", "peri"])
def test_no_kind_of_model_makes_a_step_wait(model: ModelConfig) -> None:
    for task in (Language(language="(aa)*"), Gaps()):
        assert_no_waiting(task, Sequential(max_position=20), "alibi", model, steps=2)


def test_nor_does_the_regularizer() -> None:
    config = dataclasses.replace(CONFIG, regularizer=0.1)
    assert_no_waiting(Echo(), Sequential(max_position=20), "learned", config=config)


def test_a_group_with_gaps_is_no_slice() -> None:
    task, rng = Gaps(), stream(0)
    assert not isinstance(Inputs.of(task.batch(3, 2, rng), Sequential(max_position=20), task.levels, rng).at, slice)


def test_the_loss_is_read_at_every_step_on_a_cpu() -> None:
    told: list[int] = []
    trainer = Trainer(
        TaskSetup(Echo(), Sequential(max_position=20), ENCODINGS.build("nope"), BARE),
        dataclasses.replace(CONFIG, steps=3), [0], on_step=lambda step, loss: told.append(step),
    )  # fmt: skip
    trainer.run()
    assert told == [1, 2, 3]


def test_elsewhere_now_and_then() -> None:
    assert [step for step in range(1, 3 * READ_EVERY) if reads_loss("meta", step)] == [READ_EVERY, 2 * READ_EVERY]
