"""Priming, task hinting and Turing programs, each once on the task of its paper, with and without the method."""

from __future__ import annotations

import dataclasses
import statistics

import lengthwise as lw

SUMMARY = "priming, task hinting and a Turing program on the tasks of their papers, each with its control"
SEEDS = (400, 401, 402, 403, 404)
"""Which no other recipe uses."""


@lw.RECIPES.register("three-methods", SUMMARY)
def three_methods(preset: str) -> lw.Recipe:
    """Six systems of five seeds; quick has one seed and a tenth of the steps, and only shows that all of it runs."""
    quick = preset == "quick"
    jobs = []
    for name, plain, method, why in (*_priming(), *_hinting(), *_turing()):
        for system, experiment in ((f"{name}, control", plain), (name, method)):
            training = experiment.training
            steps = training.steps // 10 if quick else training.steps
            made = dataclasses.replace(experiment, training=dataclasses.replace(training, steps=steps))
            jobs.append(lw.Job(system, made, SEEDS[:1] if quick else SEEDS, why))
    return lw.Recipe("three-methods", SUMMARY, tuple(jobs))


Pair = tuple[str, lw.RunConfig, lw.RunConfig, str]


def _run(
    task: lw.Task, scheme: str, encoding: str, tested: tuple[int, ...], training: lw.TrainingConfig, layers: int
) -> lw.RunConfig:
    """Width 128 for all; tests are at single lengths, of unfitted models, too."""
    room = task.batch(tested[-1], 1, lw.stream(0, "three methods")).tokens + 8
    model = lw.ModelConfig(layers=layers, heads=4, width=128)
    random_start = {"random_start": True} if encoding == "learned" else {}
    evaluation = lw.EvaluationConfig(lengths=tested, samples=200, unfitted_too=True)
    ids = lw.scheme(scheme, max_position=room, **random_start)
    return lw.RunConfig(task, ids, lw.encoding(encoding), model, training, evaluation)


def _priming() -> list[Pair]:
    """Products of 5 by 3 digits, primed with one group in a hundred of up to 35 by 3 (Jelassi et al. 2023).

    Published: encoders of six layers on 5,000 problems, 50 of them long; here decoders on fresh problems, read from the
    least significant digit.
    """
    task, tested = lw.task("multiplication", second=3), (5, 10, 20, 35)
    training = lw.TrainingConfig(min_length=1, max_length=5, steps=10_000, batch_size=64, lr=1e-3)
    plain = _run(task, "sequential", "shaw", tested, training, layers=4)
    primed = dataclasses.replace(training, priming=0.01, priming_length=35)
    return [("priming", plain, dataclasses.replace(plain, training=primed), "35 by 3 digits after 5 by 3")]


def _hinting() -> list[Pair]:
    """Sorting up to 20 numbers, tested up to 100, with three strings in ten that ask for a successor.

    Awasthi and Gupta 2023; published at 100: more than 92 % instead of less than 1 % (their abstract).
    """
    task, hint = {"name": "sort", "letters": 150}, {"name": "successor", "letters": 150}
    hinted = lw.task("task-hinting", task=task, hint=hint, share=0.3)
    training = lw.TrainingConfig(min_length=2, max_length=20, steps=5000, batch_size=64, lr=1e-3)
    plain = _run(lw.task(task), "sequential", "learned", (20, 40, 100), training, layers=2)
    return [("task hinting", plain, dataclasses.replace(plain, task=hinted), "100 numbers after 20")]


def _turing() -> list[Pair]:
    """Addition with a scratchpad of whole tapes under Hard-ALiBi (Hou et al. 2024), at a sixth of their 50 digits.

    The tokens of n tapes grow with n squared. The control is addition without any scratchpad.
    """
    training = lw.TrainingConfig(max_length=8, steps=5000, batch_size=32, lr=1e-3)
    made = (lw.task(name) for name in ("addition", "addition-turing"))
    plain, program = (_run(task, "sequential", "hard-alibi", (8, 12, 16), training, layers=4) for task in made)
    return [("Turing program", plain, program, "16 digits after 8")]


def tables() -> dict[str, str]:
    """The tables of the page as Markdown: every seed of what has been trained, by system."""
    from table_parts import markdown, results_of

    found, rows, outcomes, learned = results_of("three-methods"), [], [], []
    for job in three_methods("standard").jobs:
        runs = sorted((run for run in found if run.system == job.name), key=lambda run: run.seed)
        lengths = job.experiment.evaluation.lengths[1:]

        def shares(length: int, runs: list[lw.report.summary.SeedResult] = runs) -> list[float]:
            return [score.rate() for run in runs for score in run.scores if score.length == length]

        def shown(values: list[float]) -> str:
            return " ".join(f"{value:.2f}" for value in values) or "–"

        within = shown([run.in_distribution.rate() for run in runs])
        tests = "; ".join(f"{length}: {shown(shares(length))}" for length in lengths) if runs else "not trained yet"
        rows.append([job.name, within, tests])
        # What is not complete is shown, and not compared.
        outcomes.append(statistics.fmean(shares(lengths[-1])) if len(runs) == len(SEEDS) else None)
        learned.append(any(run.fitted for run in runs))
    said = []
    for at in range(0, len(rows), 2):
        control, method = outcomes[at : at + 2]
        helps = "–" if control is None or method is None else "yes" if method > control else "no"
        if helps == "no" and not any(learned[at : at + 2]):
            helps = "not learned"
        said.append([rows[at + 1][0], *("–" if mean is None else f"{mean:.2f}" for mean in (method, control)), helps])
    return {
        "Does the method help?": markdown(["method", "with", "without", "helps"], said),
        "Every seed": markdown(["system", "trained lengths", "longer tests"], rows),
    }
