"""Ids modulo m on languages that need a period, against the frozen ladder's cells of plain positions.

Run `lengthwise run studies/forecast/modulo.py:modulo --out results --preset standard`; it goes on where it stopped.

The languages were chosen from those that the frozen ladder had measured: without positions they have no program for
next symbols, with periods they have one, and they failed under plain positions (not fitted, or below 0.95 beyond 150
symbols). m is the smallest period of that program. Settings were fixed before the first training: those of the
ladder's first rung, so that the ids alone differ, with 1,500 of its 6,000 steps.
"""

from __future__ import annotations

import dataclasses

import lengthwise as lw

SUMMARY = "ids modulo m on eight languages that failed under plain positions"
SEEDS = (100, 101, 102, 103, 104)
STEPS = 1500
LANGUAGES = (
    ("(aa)*", 2),
    ("(aaaa)*", 4),
    ("(abab)*", 4),
    ("((a|b)(a|b))*", 2),
    ("((((b|a)b)|(ab)))*", 2),
    ("(((a(bc)))*((bb))*)", 2),
    ("(((a|c))+((c(b|c)))*)", 2),
    ("(aa|b)*", 2),
)
"""Languages with their periods. The last one has to compare two counts exactly, too."""


@lw.RECIPES.register("modulo", SUMMARY)
def modulo(preset: lw.Preset) -> lw.Recipe:
    """At quick two languages with one seed; else all of them with five seeds."""
    ladder = lw.experiments.blind.ladder
    rung, bins = ladder.LADDER[0], ladder.BINS
    training = dataclasses.replace(ladder.training_config(rung), steps=STEPS, probe_every=250)
    evaluation = lw.EvaluationConfig(bins=bins, samples=200, unfitted_too=True, answers=False)
    jobs = []
    for language, m in LANGUAGES if preset != "quick" else LANGUAGES[:2]:
        config = lw.RunConfig(
            lw.task("language", language=language),
            lw.scheme("modulo", m=m),
            lw.encoding("learned", init_std=rung.position_std),
            ladder.model_config(rung),
            training,
            evaluation,
        )
        claim = f"needs the position modulo {m}, which is then an id"
        jobs.append(lw.Job(f"{language} modulo {m}", config, SEEDS[:1] if preset == "quick" else SEEDS, claim))
    return lw.Recipe("modulo", SUMMARY, tuple(jobs))
