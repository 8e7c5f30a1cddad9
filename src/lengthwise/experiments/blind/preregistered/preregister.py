"""The content of the preregistration: what is trained, measured, decided and compared, before anything is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lengthwise.experiments.blind import words
from lengthwise.experiments.blind.comparison import scoring
from lengthwise.experiments.blind.preregistered.features import features
from lengthwise.experiments.blind.run import FIT, FIT_WORDS, NEEDED
from lengthwise.experiments.blind.variants import variant
from lengthwise.languages.automaton import Dfa
from lengthwise.prediction.predict import fragment_answer
from lengthwise.tasks import TASKS, Task
from lengthwise.tasks.language import Language

SEEDS = (200, 201, 202, 203, 204)

RULES: dict[str, str] = {
    "ladder": "The same rungs in the same order for every cell. All seeds of a rung are trained for all its steps.",
    "fitted": f"A seed is fitted if at least {FIT} of {FIT_WORDS} words of the training lengths are right, under the "
    "position ids of training. A word is right if the set of symbols and end that may follow is right after every "
    "prefix. A seed whose training diverged is not fitted.",
    "speaks": f"The first rung with at least {NEEDED} of {len(SEEDS)} fitted seeds speaks for the cell. If there is "
    "none, the cell is not fitted and undecided. Long lengths are measured at the rung that speaks; of a cell that is "
    "not fitted they are measured at the last rung, shown, and decide nothing.",
    "words": f"Each bin has {words.SIZE} uniform words and, where there are any, {words.SIZE} adversarial ones, at up "
    f"to {words.LENGTHS} lengths spread evenly over the bin. Adversarial words are pairs that agree on the half of "
    "their length before some place and need different answers at that place. Where a bin has no such pairs only "
    "uniform words are measured. All cells of a language and all seeds have the same words.",
    "score": "The score of a seed is its accuracy on 101-150: the lower one of uniform and adversarial words where "
    "there are both. The score of a cell is the median of its fitted seeds.",
    "decision": f"A cell generalizes if its score is at least {scoring.CUT}. Predicted yes is right if it does, "
    f"predicted no if it does not. The other cuts {list(scoring.CUTS)} are reported beside it, as are uniform words "
    "alone, adversarial words alone, and the other bins.",
    "balanced accuracy": "The mean of two shares among decided cells: generalizing cells that were predicted yes, and "
    "not generalizing ones that were predicted no.",
    "interval": f"{scoring.BOOTSTRAP} bootstrap samples over languages (both cells of a language stay together), "
    "percentiles 2.5 and 97.5.",
    "test": "Exact two-sided McNemar test of our predictor against each rival, on the decided cells that both predict.",
    "undecided": "Undecided cells are counted by predicted class and enter no accuracy. A second count takes them as "
    "wrong for every predictor.",
}


def entry(name: str, task: Task, encodings: Sequence[str], *, expression: str = "") -> Mapping[str, Any]:
    """One language or task: what is trained, what we predict by encoding, and what rivals look at."""
    dfa: Dfa | None = task.automaton() if isinstance(task, Language) else None
    return {
        "name": name,
        "expression": expression or name,
        "task": TASKS.describe(task),
        "predicted": {encoding: fragment_answer(task, variant(encoding).verdict) for encoding in encodings},
        "features": {} if dfa is None else features(dfa),
    }
