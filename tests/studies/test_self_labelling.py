"""Self-improvement uses labels of the task up to the first length, filters its own, and goes on where it stopped."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from self_labelling import OwnLabels, Rounds, SelfLabelled, improve, self_labelled

import lengthwise as lw
from lengthwise.core.batch import Layout, SequenceBuilder
from lengthwise.core.config import config
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import Rng, stream
from lengthwise.models.config import ModelConfig
from lengthwise.models.generate import END, Generated
from lengthwise.positions.encodings import ENCODINGS
from lengthwise.positions.schemes import SCHEMES
from lengthwise.tasks.base import Task
from lengthwise.tasks.copying import Copy
from lengthwise.training.config import TrainingConfig
from lengthwise.training.data import TaskSetup

FIRST = 2
ROUNDS = Rounds(FIRST, 4, TrainingConfig(max_length=FIRST, steps=4, warmup=1, batch_size=8), steps=3, prompts=20)
MODEL = ModelConfig(heads=1, width=8)


@config
class WrongBeyond(Copy):
    """Copy whose answers beyond the first length are all its first letter: labels that nobody may learn from."""

    name = "copy"

    def write(self, seq: SequenceBuilder, layout: Layout, rng: Rng) -> None:
        start = len(seq)
        super().write(seq, layout, rng)
        if layout.length > FIRST:
            wrong = int(self.vocab[self.vocab.tokens[-1]])
            seq._written = [
                (at, wrong if isinstance(at, int) and at > start and seq._columns[at].answer else ids, place)
                for at, ids, place in seq._written
            ]


def setup(task: Task | None = None, scheme: str = "sequential") -> TaskSetup:
    return TaskSetup(task or Copy(), SCHEMES.build(scheme), ENCODINGS.build("nope"), MODEL)


def weights(task: Task, seeds: tuple[int, ...] = (0, 1), folder: Path | None = None) -> list[torch.Tensor]:
    """All weights after the last round, with labels of any kind taken so that every round takes place."""
    *_, last = improve(setup(task), ROUNDS, seeds, folder=folder)
    assert last.longest == ROUNDS.last
    return [parameter for model in last.models for parameter in model.parameters()]


def said(tokens: torch.Tensor) -> Generated:
    """What a model generates; its ids play no part."""
    return Generated(tokens, torch.zeros(*tokens.shape, 1, dtype=torch.long))


@pytest.fixture
def talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that answer alike, by the prompt, and always end: nothing is filtered away."""

    def answers(model, tokens, ids, steps, **_) -> Generated:
        made = tokens[:, 1:4] % 2 + 4
        return said(torch.cat([made, torch.full((len(tokens), steps - 3), END)], 1))

    monkeypatch.setattr(lw.models.generate, "generate", answers)


def test_labels_beyond_the_first_length_are_never_used(talkative: None) -> None:
    plain, wrong = Copy(), WrongBeyond()
    right, garbage = (task.batch(4, 3, stream(0, "test")).input_ids for task in (plain, wrong))
    assert (right[:, : right.shape[1] // 2] == garbage[:, : right.shape[1] // 2]).all()
    assert (right != garbage).any()
    for one, other in zip(weights(plain), weights(wrong), strict=True):
        assert torch.equal(one, other)


def test_it_goes_on_where_it_stopped(talkative: None, tmp_path: Path) -> None:
    rounds = improve(setup(), ROUNDS, (0, 1), folder=tmp_path)
    assert [next(rounds).longest for _ in range(2)] == [2, 3]
    rounds.close()
    steps: list[tuple[int, int]] = []
    *_, last = improve(
        setup(), ROUNDS, (0, 1), folder=tmp_path, report=lambda number, step, *_: steps.append((number, step))
    )
    assert {number for number, _ in steps} == {2}
    whole = weights(Copy())
    assert all(
        torch.equal(one, other)
        for one, other in zip((p for model in last.models for p in model.parameters()), whole, strict=True)
    )


def test_it_ends_where_no_label_passes_the_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        lw.models.generate, "generate", lambda m, tokens, ids, steps, **_: said(torch.full((20, steps), 4))
    )
    found = list(improve(setup(), ROUNDS, (0,)))
    assert [each.longest for each in found] == [2, 3]
    assert found[1].labels is not None
    assert found[1].labels.dropped == {"length": 20, "majority": 0}
    assert found[1].models is found[0].models


def test_filters_keep_the_usual_length_and_what_the_majority_says(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(
        torch.tensor(rows)
        for rows in (
            [[4, 5, END], [4, 6, END], [4, END, END], [4, 4, 4], [5, 5, END]],
            [[4, 5, END], [5, 5, END], [4, END, END], [4, 4, 4], [6, 6, END]],
            [[6, 6, END], [5, 5, END], [4, 4, END], [4, END, END], [4, 4, END]],
        )
    )
    monkeypatch.setattr(lw.models.generate, "generate", lambda *_, **__: said(next(answers)))
    task, scheme = Copy(), SCHEMES.build("sequential")
    models = [setup().build(seed) for seed in range(3)]
    labels = self_labelled(models, task, scheme, 2, 5, stream(0, "test"))
    assert labels.answers.tolist() == [[4, 5, END], [5, 5, END]]
    assert labels.dropped == {"length": 1, "majority": 2}
    prompts = task.batch(2, 5, stream(0, "test")).input_ids
    assert (labels.prompts == prompts[:2, : labels.prompts.shape[1]]).all()


def test_sequences_beyond_the_first_length_are_the_labels() -> None:
    own = SelfLabelled(Copy(), FIRST)
    own.labels[3] = OwnLabels(np.array([[1, 4, 5, 6, 3], [1, 6, 6, 6, 3]]), np.array([[4, 4, END], [5, 5, END]]), {})
    assert own.lengths(1, 9) == [1, 2, 3]
    batch = own.batch(3, 50, stream(0, "rows"))
    assert {tuple(row) for row in batch.input_ids.tolist()} == {(1, 4, 5, 6, 3, 4, 4, END), (1, 6, 6, 6, 3, 5, 5, END)}
    assert batch.scored.tolist() == [False] * 5 + [True] * 3
    short, same = (task.batch(2, 4, stream(0, "rows")).input_ids for task in (own, Copy()))
    assert (short == same).all()
    with pytest.raises(ValueError, match="no answers of its own"):
        own.answer([])


def test_a_scheme_that_needs_places_is_refused() -> None:
    with pytest.raises(LengthwiseError, match="needs ids without places, got scheme 'coupled'; use sequential"):
        next(improve(setup(scheme="coupled"), ROUNDS, (0,)))
    assert dataclasses.replace(ROUNDS, last=9).config(5).max_length == 5
