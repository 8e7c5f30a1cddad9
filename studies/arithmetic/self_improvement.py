"""Self-improvement on copied digits: from 8 to 16, one more a round, on labels of the models (Lee et al. 2025)."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import self_labelling

import lengthwise as lw

SUMMARY = "copied digits from 8 to 16 in rounds: models label longer strings themselves; with a control"

SEEDS: dict[str, tuple[int, ...]] = {"quick": (300,), "standard": (300, 301, 302), "full": (300, 301, 302)}
FIRST, LAST = 8, 16
VOTERS = 3
"""Models that vote on each label; those of seed s are trained with seeds 3s to 3s + 2."""
STEPS, MORE, PROMPTS = 3000, 400, 1000
TESTS = (8, 9, 10, 12, 14, 16, 20)
SAMPLES = 200


@lw.study("self-improvement", SUMMARY, keeps=True)
def self_improvement(preset: str, seed: int, report: lw.experiments.events.Report, folder: Path) -> dict[str, Any]:
    """One row per seed and round, and one per seed for the control: as many steps, labels up to the first length only.

    ``labels`` says how many passed the filters, and how many of these are right; it is counted afterwards, for the
    table. ``exact`` is the share of right strings by length, of each voter.
    """
    del seed

    task = lw.tasks.copying.Copy(symbols="repeats", letters=10)
    setup = lw.training.data.TaskSetup(
        task, lw.schemes.Sequential(), lw.encoding("alibi"), lw.ModelConfig(layers=2, log_length=4 * FIRST)
    )
    start = lw.TrainingConfig(max_length=FIRST, steps=STEPS, lr=1e-3, final_lr=0.0)
    rounds = self_labelling.Rounds(FIRST, LAST, start, MORE, PROMPTS)
    alone = self_labelling.Rounds(
        FIRST, FIRST, dataclasses.replace(start, steps=STEPS + MORE * (LAST - FIRST)), MORE, PROMPTS
    )
    rows = []
    for number in SEEDS[preset]:
        voters = [VOTERS * number + voter for voter in range(VOTERS)]

        def tell(round_: int, step: int, steps: int, loss: float, number: int = number) -> None:
            report(f"seed {number}, length {FIRST + round_}", step, steps, loss)

        for system, plan, seeds in (("rounds", rounds, voters), ("control", alone, voters[:1])):
            for each in self_labelling.improve(setup, plan, seeds, folder=folder / system / str(number), report=tell):
                exact = [_exact(model, setup) for model in each.models]
                labels = None if each.labels is None else _judged(task, each.labels)
                about = {"system": system, "seed": number, "longest": each.longest}
                rows.append({**about, "labels": labels, "exact": exact})
    return {"first": FIRST, "last": LAST, "voters": VOTERS, "rows": rows}


def _exact(model: Any, setup: Any) -> dict[str, float]:
    """The share of right strings by length."""

    evaluated = lw.evaluation.accuracy.EvaluatedModel(model.eval(), setup.task, setup.scheme)
    scores = {
        n: lw.evaluation.accuracy.score_layout(evaluated, n, None, SAMPLES, lw.stream(0, "self-improvement", n))
        for n in TESTS
    }
    return {str(n): score.correct["exact_match"] / score.n for n, score in scores.items()}


def _judged(task: Any, labels: Any) -> dict[str, Any]:
    """How many labels there are, how many are right, and how many each filter dropped."""
    text = task.vocab.decode
    pairs = zip(labels.prompts.tolist(), labels.answers.tolist(), strict=True)
    right = sum(task.solve(text(prompt)) == text(answer) for prompt, answer in pairs)
    return {"kept": len(labels.prompts), "right": right, "dropped": labels.dropped}
