"""Problems of a task as windows: the problem, some tokens of its answer, and the next one as the target."""

from __future__ import annotations

import numpy as np

from lengthwise.core.batch import Batch
from lengthwise.core.errors import require
from lengthwise.core.rng import Rng
from lengthwise.influence.text.windows import Windows
from lengthwise.tasks import Task


def problem_windows(task: Task, length: int, size: int, at: int, rng: Rng) -> tuple[Windows, Batch]:
    """``size`` problems of one layout, with ``at`` tokens of the answer before the target; windows and their batch.

    Raises `LengthwiseError` if the length has no instances, or the answer is shorter.
    """
    batch = task.batch(length, size, rng)
    end, most = batch.prompt_length + at, batch.tokens - batch.prompt_length - 1
    require(0 <= at <= most, f"the answers have tokens 0 to {most} at length {length}, got at={at}; choose one of them")
    names = tuple(f"{task.name} {number}" for number in range(size))
    return Windows(batch.input_ids[:, : end + 1].astype(np.int64), np.arange(size), names, np.full(size, end)), batch
