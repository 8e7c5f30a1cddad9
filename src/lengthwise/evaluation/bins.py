"""Accuracy on a bin: a range of lengths, as many strings of each, all or some of those that there are."""

from __future__ import annotations

from lengthwise.core.rng import Rng
from lengthwise.evaluation.accuracy import score_batch
from lengthwise.evaluation.score import LengthScore, total
from lengthwise.models.transformer import Transformer
from lengthwise.positions.schemes import PositionScheme
from lengthwise.tasks import Task


def score_bin(
    model: Transformer,
    task: Task,
    scheme: PositionScheme,
    low: int,
    high: int,
    samples: int,
    rng: Rng,
    *,
    adversarial: bool = False,
    as_trained: bool = False,
) -> LengthScore:
    """Measure ``samples`` strings of lengths ``low..high`` under the scheme's ids of evaluation (or of training).

    The score's axes are ``low`` and ``high`` (and ``adversarial``), its ``test_set`` says which strings they are.
    Raises `LengthwiseError` if these lengths have no instances, or the task has no adversarial strings.
    """
    strings = task.test_strings(low, high, samples, rng, adversarial=adversarial)
    used = scheme if as_trained else scheme.for_evaluation()
    score = total(score_batch(model, task, used, batch, rng, answers=False) for batch in strings.batches)
    score.length, score.test_set = high, strings.name
    score.axes = {"low": low, "high": high, **({"adversarial": 1} if adversarial else {})}
    return score
