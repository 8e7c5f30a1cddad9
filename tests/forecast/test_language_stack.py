"""Languages that are drawn together: the same strings, ids and answers as drawn one by one."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from language_stack import LanguageStack

from lengthwise.core.errors import LengthwiseError
from lengthwise.experiments.blind.ladder import LADDER, encoding_spec, model_config, position_scheme, training_config
from lengthwise.forecast.probe import Together
from lengthwise.tasks.language import Language
from lengthwise.training.data import TaskSetup

STRIDE = 100_000
NEXT = [Language(language=text, alphabet="abc") for text in ("(a|b|c)*a(b|c)*", "(ab*|c)*", "(a(b|c))*|(b|c)*")]
STATES = [
    Language(language="(a|b)*a(b|a)", alphabet="ab", ask="state"),
    Language(language="(ab|c)*", alphabet="abc", ask="state"),
]


def setups(tasks: list[Language], encoding: str) -> tuple[TaskSetup, ...]:
    rung = LADDER[0]
    return tuple(
        TaskSetup(task, position_scheme(task, encoding), encoding_spec(rung, encoding), model_config(rung))
        for task in tasks
    )


@pytest.mark.parametrize("encoding", ["nope", "ape", "alibi"])
@pytest.mark.parametrize("tasks", [NEXT, STATES], ids=["next", "states"])
def test_the_same_data_as_one_by_one(tasks: list[Language], encoding: str) -> None:
    assert len({len(task.vocab) for task in tasks}) == 1
    own = setups(tasks, encoding)
    config = dataclasses.replace(training_config(LADDER[0]), max_length=20)
    runs = [place * STRIDE + seed for place in range(len(own)) for seed in (400, 401, 404)]
    stack, together = LanguageStack(own, STRIDE), Together(own)
    for kept in (runs, [runs[0], *runs[4:]]):
        for step in (0, 7):
            ours, theirs = stack.groups(config, kept, step), together.groups(config, kept, step)
            for mine, wanted in zip(ours, theirs, strict=True):
                for name, value in vars(wanted).items():
                    found = getattr(mine, name)
                    assert torch.equal(found, value) if isinstance(value, torch.Tensor) else found == value, name


def test_other_tasks_are_refused() -> None:
    with pytest.raises(LengthwiseError, match="next symbols or states"):
        LanguageStack(setups([Language(language="(ab)*", ask="member")], "nope"), STRIDE)
