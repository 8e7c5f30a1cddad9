"""Figure 2 of Golowich et al. 2025 with settings fixed beforehand: parity with and without a scratchpad.

All systems get ids for 10 times the training length and are measured as far as PPC; lengths and sizes are ours.
"""

from __future__ import annotations

import dataclasses

from fixed_beforehand import NEEDED, changed, exact_only, seeds
from parity_scratchpad import LONGEST, parity_scratchpad

import lengthwise as lw

SUMMARY = "parity with settings fixed beforehand: PPC, given ids and fitted replacements to 200 bits, five new seeds"
LENGTHS = (20, 30, 40, 60, 80, 100, 150, 200)
_LAST = 2 * LENGTHS[-1] + 4
"""The largest position id of a trace: ``<bos>``, bits, ``#``, ``=``, as many parities, and the end."""


@lw.RECIPES.register("golowich-parity", SUMMARY)
def golowich_parity(preset: str) -> lw.Recipe:
    """PPC and given ids as in ``parity-scratchpad``; a replacement grows until four of five seeds fit.

    Whole traces count; the answer behind a wrong one is not generated.
    """
    quick = preset == "quick"
    jobs = {job.name: job.experiment for job in parity_scratchpad("standard").jobs}
    ppc, given = (exact_only(jobs[f"scratchpad + {ids}"]) for ids in ("PPC", "given ids"))
    task = ppc.task
    small = lw.RunConfig(
        task,
        lw.schemes.PoSE(max_position=_LAST),
        lw.encodings.RoPESpec(),
        lw.ModelConfig(layers=2, heads=4, width=128, log_length=2 * LONGEST),
        lw.TrainingConfig(max_length=LONGEST, steps=10_000, stacked=True, stop_when_fitted=True),
        lw.EvaluationConfig(lengths=LENGTHS, answers=False),
    )
    rope = dataclasses.replace(small, scheme=lw.schemes.Sequential())
    shift = dataclasses.replace(
        small, scheme=lw.schemes.Sequential(max_position=_LAST, random_start=True), encoding=lw.encodings.LearnedSpec()
    )
    everywhere = lw.EvaluationConfig(lengths=LENGTHS, samples=2000, unfitted_too=True)
    dense = lw.RunConfig(
        lw.tasks.parity.Parity(),
        lw.schemes.PoSE(max_position=LENGTHS[-1] + 3),
        lw.encodings.RoPESpec(),
        lw.ModelConfig(layers=2, heads=4, width=128, log_length=2 * LONGEST),
        lw.TrainingConfig(max_length=LONGEST, steps=6000, stacked=True),
        everywhere,
    )
    dense_nope = dataclasses.replace(dense, scheme=lw.schemes.Sequential(), encoding=lw.encodings.NoPESpec())
    own = seeds(preset)
    systems = (
        lw.Job("scratchpad + PPC", ppc, own, "the model predicts the coupled ids"),
        lw.Job("scratchpad + given ids", given, own, "coupled ids are given"),
        _replacement("scratchpad + RoPE", rope, "relative positions", preset),
        _replacement("scratchpad + RoPE + PoSE", small, "relative positions with a random skip", preset),
        _replacement("scratchpad + absolute shift", shift, "ordinary positions with a random start", preset),
        lw.Job("RoPE + PoSE, no scratchpad", dense, own, "the paper's main scheme without intermediate steps"),
        lw.Job("NoPE, no scratchpad", dense_nope, own, "dense parity: expected to stay at chance"),
    )
    return lw.Recipe("golowich-parity", SUMMARY, systems[:1] if quick else systems)


def _replacement(name: str, small: lw.RunConfig, claim: str, preset: str) -> lw.Job:
    """Two layers of width 128, then three for twice as long; stopped when fitted."""
    larger = changed(small, model={"layers": 3}, training={"steps": 20_000, "lr": 1e-3})
    return lw.Job(name, lw.Candidates((small, larger), NEEDED), seeds(preset), claim)
