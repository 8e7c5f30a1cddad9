"""Figure 3 of Golowich et al. 2025 with settings fixed beforehand: variable assignment with five new seeds.

Replacements have as many parameters as PPC and are measured to 400 lines, PPC to 1,000; lengths and sizes are ours.
"""

from __future__ import annotations

import dataclasses

from fixed_beforehand import NEEDED, changed, exact_only, seeds
from ppc_ablations import ppc_ablations

import lengthwise as lw

SUMMARY = "variable assignment with settings fixed beforehand: PPC to 1,000 lines, equal replacements, five new seeds"
LENGTHS = (8, 16, 32, 80, 160, 400)
NAMES = 416
SHIFT_WIDTH, ROPE_WIDTH = 152, 176
"""Widths at which three layers have as many parameters as PPC's one of width 256, to a few per cent (a test)."""


@lw.RECIPES.register("golowich-assignment", SUMMARY)
def golowich_assignment(preset: str) -> lw.Recipe:
    """PPC as in ``variable-assignment``; every other system is trained longer until four of five seeds fit.

    Whole traces count; the answer behind a wrong one is not generated.
    """
    own = seeds(preset)
    ppc, far = (
        exact_only(lw.experiments.recipes.variable_assignment(size).jobs[0].experiment) for size in ("standard", "full")
    )
    jobs = (
        lw.Job("scratchpad + PPC", ppc, own, "the model predicts the coupled ids"),
        _shift(preset),
        _rope(preset),
        _without_slots(ppc, preset),
        lw.Job("scratchpad + PPC, 1,000 lines", far, own, "tables for 1,000 lines, longer training"),
        _answers_only(preset),
    )
    return lw.Recipe("golowich-assignment", SUMMARY, jobs[:1] if preset == "quick" else jobs)


def _shift(preset: str) -> lw.Job:
    """Learned positions with a random start; ids for one chain of 400 lines."""
    first = lw.RunConfig(
        lw.tasks.variable_assignment.VariableAssignment(names=NAMES),
        lw.schemes.Sequential(max_position=4 * LENGTHS[-1] + 4, random_start=True),
        lw.encodings.LearnedSpec(),
        lw.ModelConfig(layers=3, heads=4, width=SHIFT_WIDTH, log_length=4 * lw.experiments.recipes.TRAINED),
        lw.TrainingConfig(
            max_length=lw.experiments.recipes.TRAINED, steps=10_000, lr=1e-3, stacked=True, stop_when_fitted=True
        ),
        lw.EvaluationConfig(lengths=LENGTHS, answers=False),
    )
    longer = changed(first, model={}, training={"steps": 20_000})
    return lw.Job(
        "scratchpad + absolute shift",
        lw.Candidates((first, longer), NEEDED),
        seeds(preset),
        "ordinary positions with a random start",
    )


def _rope(preset: str) -> lw.Job:
    """RoPE + PoSE, with a separator behind every line; ids for one chain of 400 lines."""
    first = lw.RunConfig(
        lw.tasks.variable_assignment.VariableAssignment(names=NAMES, slots=False, separators=True),
        lw.schemes.PoSE(max_position=6 * LENGTHS[-1] + 4),
        lw.encodings.RoPESpec(),
        lw.ModelConfig(layers=3, heads=4, width=ROPE_WIDTH, log_length=4 * lw.experiments.recipes.TRAINED),
        lw.TrainingConfig(
            max_length=lw.experiments.recipes.TRAINED, steps=10_000, lr=2e-3, stacked=True, stop_when_fitted=True
        ),
        lw.EvaluationConfig(lengths=LENGTHS, answers=False),
    )
    longer = changed(first, model={}, training={"steps": 15_000, "lr": 1e-3})
    return lw.Job(
        "scratchpad + RoPE + PoSE",
        lw.Candidates((first, longer), NEEDED),
        seeds(preset),
        "relative positions with a random skip",
    )


def _without_slots(ppc: lw.RunConfig, preset: str) -> lw.Job:
    """PPC whose ids do not say which token of a line is the child; one layer cannot see it, so two and three."""
    plain = dataclasses.replace(
        ppc,
        task=lw.tasks.variable_assignment.VariableAssignment(names=NAMES, slots=False),
        model=dataclasses.replace(ppc.model, layers=2, width=128),
        training=lw.TrainingConfig(
            max_length=lw.experiments.recipes.TRAINED, steps=6000, lr=1e-3, stacked=True, stop_when_fitted=True
        ),
    )
    more = (
        changed(plain, model={"layers": 3}, training={"steps": 12_000}),
        changed(plain, model={"layers": 2, "width": 256}, training={"steps": 12_000}),
    )
    return lw.Job(
        "scratchpad + PPC, no slots", lw.Candidates((plain, *more), NEEDED), seeds(preset), "ids of the line only"
    )


def _answers_only(preset: str) -> lw.Job:
    """RoPE + PoSE that says the value at once; measured though it may not fit, as chance is one in four."""
    first = lw.RunConfig(
        lw.tasks.variable_assignment.VariableAssignment(names=NAMES, scratchpad=False, slots=False, separators=True),
        lw.schemes.PoSE(max_position=3 * LENGTHS[-1] + 6),
        lw.encodings.RoPESpec(),
        lw.ModelConfig(layers=3, heads=4, width=ROPE_WIDTH, log_length=4 * lw.experiments.recipes.TRAINED),
        lw.TrainingConfig(
            max_length=lw.experiments.recipes.TRAINED, steps=10_000, lr=1e-3, stacked=True, stop_when_fitted=True
        ),
        lw.EvaluationConfig(lengths=LENGTHS, unfitted_too=True),
    )
    return lw.Job("RoPE + PoSE, no scratchpad", first, seeds(preset), "the value at once, no intermediate steps")


ABLATIONS = "ablations of predictive position coupling with five new seeds, settings as before"


@lw.RECIPES.register("golowich-ablations", ABLATIONS)
def golowich_ablations(preset: str) -> lw.Recipe:
    """The variants of ``ppc-ablations`` as they are, with new seeds."""
    jobs = tuple(
        dataclasses.replace(job, work=exact_only(job.experiment), seeds=seeds(preset))
        for job in ppc_ablations("standard").jobs
    )
    return lw.Recipe("golowich-ablations", ABLATIONS, jobs)
