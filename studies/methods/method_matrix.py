"""Which positional method where: twelve tasks, seventeen methods, one setting for all of them."""

from __future__ import annotations

import dataclasses

import lengthwise as lw

SUMMARY = "which positional method where: twelve tasks x seventeen methods, one setting"
LONGEST, STEPS = 8, 3000
SEEDS = (300, 301, 302)
TASKS_COMPARED: tuple[tuple[str, dict[str, object]], ...] = (
    ("copy", {"symbols": "distinct", "letters": 80}),
    ("copy", {"symbols": "repeats", "letters": 10}),
    ("reverse", {"symbols": "repeats", "letters": 10}),
    ("sort", {"letters": 80}),
    ("odds-first", {"symbols": "repeats", "letters": 10}),
    ("bucket-sort", {}),
    ("addition", {}),
    ("bitwise-or", {}),
    ("parity-scratchpad", {"end_mark": True}),
    ("majority", {"letters": 2}),
    ("flip-flop", {}),
    ("induction", {"letters": 80}),
)
MORE = tuple(
    lw.PositionSystem("sequential", name) for name in ("sinusoidal", "xpos", "t5", "kerple", "cope", "forgetting")
)
"""Beside those that `compare` tries."""
LOCAL = lw.PositionSystem("coupled", "local-bias")
"""What `compare` tried until its failures here, all of them at the end of the answer, gave the sink its place."""


@lw.RECIPES.register("method-matrix", SUMMARY)
def method_matrix(preset: str) -> lw.Recipe:
    """Quick has one seed and the first two tasks. No setting was chosen on these cells; coupled ids need places.

    One method, the sink, was added after the first two tasks had been seen.
    """
    seeds, tasks = (SEEDS[:1], TASKS_COMPARED[:2]) if preset == "quick" else (SEEDS, TASKS_COMPARED)
    jobs = []
    for name, fields in tasks:
        task = lw.task({"name": name, **fields})
        systems = lw.experiments.defaults.standard_systems(task)
        for system in (*((LOCAL,) if any(each.scheme == "coupled" for each in systems) else ()), *systems, *MORE):
            jobs.append(lw.Job(f"{label(name, fields)}, {system.name}", _run(task, system), seeds))
    return lw.Recipe("method-matrix", SUMMARY, tuple(jobs))


def label(name: str, fields: dict[str, object]) -> str:
    """The task in a system's name; the two kinds of copying differ."""
    return f"{name} of {fields['symbols']}" if name == "copy" else name


def _run(task: lw.Task, system: lw.PositionSystem) -> lw.RunConfig:
    """Two layers of width 64 and 3,000 steps of 64 strings, for every task and method."""
    tests = lw.experiments.compare.default_tests(task, LONGEST)
    made = lw.experiments.defaults.default_experiment(
        task, system.scheme, system.encoding, max_length=LONGEST, test_lengths=tests
    )
    model = dataclasses.replace(made.model, layers=2, width=64)
    training = lw.TrainingConfig(
        max_length=LONGEST, steps=STEPS, lr=1e-3, weight_decay=0.1, final_lr=0.0, stacked=True
    )  # fmt: skip
    return dataclasses.replace(made, model=model, training=training, evaluation=lw.EvaluationConfig(lengths=tests))
