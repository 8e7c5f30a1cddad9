"""Accuracy on a bin, a range of lengths with equally many strings of each."""

from __future__ import annotations

from lengthwise.core.rng import Rng
from lengthwise.evaluation.accuracy import EvaluatedModel, score_batch
from lengthwise.evaluation.score import LengthScore, total


def score_bin(
    evaluated: EvaluatedModel,
    lengths: tuple[int, int],
    samples: int,
    rng: Rng,
    *,
    adversarial: bool = False,
    as_trained: bool = False,
) -> LengthScore:
    """Measure ``samples`` strings of lengths low to high under the scheme's ids of evaluation (or of training).

    The score's axes are ``low`` and ``high`` (and ``adversarial``), and its ``test_set`` names the kind of strings.
    Raises `LengthwiseError` if these lengths have no instances, or the task has no adversarial strings.
    """
    low, high = lengths
    strings = evaluated.task.test_strings(low, high, samples, rng, adversarial=adversarial)
    used = evaluated if as_trained else evaluated.for_evaluation()
    score = total(score_batch(used, batch, rng, answers=False) for batch in strings.batches)
    score.length, score.test_set = high, strings.name
    score.axes = {"low": low, "high": high, **({"adversarial": 1} if adversarial else {})}
    return score
