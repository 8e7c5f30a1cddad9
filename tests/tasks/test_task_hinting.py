"""Task hinting: what is drawn, what is tested, and which hints are refused."""

from __future__ import annotations

import numpy as np
import pytest

import lengthwise as lw
from lengthwise.core.errors import LengthwiseError
from lengthwise.core.rng import stream
from lengthwise.tasks import TASKS
from lengthwise.tasks.recoupled import HintingLayout, TaskHinting

SPEC = {"name": "task-hinting", "task": {"name": "sort", "letters": 9}, "hint": {"name": "successor", "letters": 9}}


def test_the_share_of_hints_is_drawn_and_tests_are_of_the_task_alone():
    task = TASKS.build({**SPEC, "share": 0.3})
    drawn = [task.layout(4, stream(0, "test", "hint", index)) for index in range(1000)]
    assert 0.25 < np.mean([layout.hint for layout in drawn]) < 0.35
    assert not any(task.layout(1, stream(0, "test", index)).hint for index in range(99)), "a hint has two symbols"
    assert task.test_layouts(4) == [HintingLayout(4, lw.task("sort").layout(4, stream(0, "any")), hint=False)]
    for batch in task.test_strings(3, 5, 40, stream(0, "strings")).batches:
        assert all("after" not in batch.text(row) and batch.text(row)[-1] == "<eos>" for row in range(batch.size))


def test_tokens_and_structure_are_those_of_the_parts():
    task, plain = TASKS.build(SPEC), TASKS.build(SPEC["task"])
    layout = HintingLayout(4, plain.layout(4, stream(0, "any")), hint=False)
    ours, own = task.batch(4, 9, stream(0, "rows"), layout), plain.batch(4, 9, stream(0, "rows"))
    assert (ours.input_ids == own.input_ids).all()
    assert (ours.places == own.places).all()
    assert (ours.parents == own.parents).all()
    assert (ours.selectors == own.selectors).all()
    hint = task.batch(4, 1, stream(0, "rows"), HintingLayout(4, layout.inner, hint=True))
    assert "after" in hint.text(0)


def test_hints_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="addition and successor have different rules of places"):
        TaskHinting(task=TASKS.build("addition"))
    with pytest.raises(ValueError, match="'binary-addition' draws its layouts"):
        TaskHinting(task=TASKS.build("binary-addition"), hint=TASKS.build("binary-addition"))
    both = TaskHinting(hint=TASKS.build("sort"))
    with pytest.raises(ValueError, match="not a prompt of one of sort and sort"):
        both.answer(both.batch(3, 1, stream(0, "rows")).text(0)[:5])
    language = TaskHinting(task=TASKS.build("language"), hint=TASKS.build("language"))
    with pytest.raises(LengthwiseError, match="scores sets of next tokens"):
        language.batch(4, 2, stream(0, "rows"))
