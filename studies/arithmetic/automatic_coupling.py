"""Found against hand-made places: the same transformer, trained the same way, under both (lengths and sizes are ours).

The places of the *found* systems come from queries to the task at lengths 4, 5 and 6 (`lengthwise couple`); nothing
else differs. If finding the coupling loses nothing, the two lines of a task lie within each other's seeds.
"""

from __future__ import annotations

from functools import lru_cache

import lengthwise as lw

SUMMARY = "places found from queries against places made by hand: copy, reverse, addition, parity with scratchpad"

TASKS_WITH_PLACES: dict[str, lw.Task] = {
    "copy": lw.tasks.copying.Copy(symbols="repeats", letters=10),
    "reverse": lw.tasks.copying.Reverse(symbols="repeats", letters=10),
    "parity-scratchpad": lw.tasks.parity.ParityScratchpad(),
    "addition": lw.tasks.addition.Addition(),
}
OTHER_PLACES: dict[str, dict[str, lw.Task]] = {
    "parity-scratchpad": {"hand-made, offset one": lw.tasks.parity.OffsetOneParityScratchpad()}
}
"""Further hand-made rules of a task, by what their systems are called."""
OTHER_SEEDS = (15, 16, 17, 18, 19)
"""More seeds for those: offset one is, token by token, what is found, so with equal seeds both are the same run."""


@lw.RECIPES.register("automatic-coupling", SUMMARY)
def automatic_coupling(preset: str) -> lw.Recipe:
    """A system per rule of a task, trained on up to 10 (20) symbols, tested on up to 10 times as many.

    Making the recipe searches the four couplings, which takes some seconds the first time. Seeds start at 10: the
    settings were chosen after trials in which test lengths were seen, and those trials had the seeds below.
    """
    quick = preset == "quick"
    longest = 10 if quick else 20
    multiples = (1, 2, 4, 10) if quick else (1, 2, 3, 5, 10)
    seeds = (10, 11, 12, 13, 14)
    jobs = []
    for name, task in TASKS_WITH_PLACES.items():
        # Addition leaves its plateau after 500 to 1500 steps, so fewer steps leave some seeds unfitted.
        steps = 4000 if quick and name == "addition" else 1500 if quick else 5000
        rules = {"hand-made": task, **OTHER_PLACES.get(name, {}), "found": recoupled(name)}
        for places, task_with_places in rules.items():
            experiment = lw.RunConfig(
                task_with_places,
                # One jump per sequence, so that far ids occur together in training too.
                lw.schemes.Coupled(max_position=16 * longest, draw="pose"),
                lw.encodings.LearnedSpec(),
                lw.ModelConfig(layers=1, heads=4, width=128, log_length=4 * longest),
                lw.TrainingConfig(
                    max_length=longest, steps=steps, batch_size=64, lr=1e-3, stacked=quick and name == "addition"
                ),
                lw.EvaluationConfig(lengths=tuple(longest * factor for factor in multiples), samples=200),
            )
            own = (*seeds, *OTHER_SEEDS) if places in OTHER_PLACES.get(name, {}) else seeds
            jobs.append(lw.Job(f"{name}, {places}", experiment, own, f"coupled ids from {places} places"))
    return lw.Recipe("automatic-coupling", SUMMARY, tuple(jobs))


@lru_cache
def recoupled(name: str) -> lw.tasks.recoupled.Recoupled:
    """One of the tasks with the places that the search finds."""
    task, couple = TASKS_WITH_PLACES[name], lw.prediction.couple
    lengths = task.lengths(couple.SHORTEST, couple.SHORTEST + 60)
    _, rule, reason = couple.search(lengths, lambda n: couple.dependencies(task, n))
    lw.core.errors.require(rule is not None, reason)
    return lw.tasks.recoupled.Recoupled(task=task, rule=rule)
